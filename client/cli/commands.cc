// The subcommands of kedge. One row each.
#include "client/cli/commands.h"

#include <CLI/CLI.hpp>

#include "client/cli/job_commands.h"
#include "client/cli/model_commands.h"
#include "client/cli/server_commands.h"

namespace kedge::cli {
namespace {

void spec(CLI::App& app, Options& options) {
  app.add_option("spec", options.argument, "The job as a JSON file; - reads stdin")->required();
}
void job_id(CLI::App& app, Options& options) { app.add_option("job", options.argument, "The job's id")->required(); }
void watched_job(CLI::App& app, Options& options) {
  job_id(app, options);
  app.add_option("--after", options.after, "Only events after this number")->check(CLI::NonNegativeNumber);
}
void job_filter(CLI::App& app, Options& options) {
  app.add_option("--state", options.state, "Only jobs in this state (queued, running, succeeded ...)");
  app.add_option("--limit", options.limit, "How many, newest first")->check(CLI::Range(1, 500));
}
void estimator_name(CLI::App& app, Options& options) {
  app.add_option("name", options.argument, "One estimator, with its parameters; else all are listed");
}
void model(CLI::App& app, Options& options) {
  CLI::Option* id = app.add_option("model", options.argument, "One model; else all are listed");
  CLI::Option* remove = app.add_flag("--delete", options.remove, "Delete the model")->needs(id);
  CLI::Option* download = app.add_option("--download", options.file, "Write the model to this file")->needs(id)->excludes(remove);
  app.add_option("--upload", options.input, "Store the model in this file")->excludes(id)->excludes(download);
}
void rows(CLI::App& app, Options& options) {
  app.add_option("model", options.argument, "The model's id")->required();
  app.add_option("rows", options.input, "CSV with a header line, .json or .npy; - reads CSV from stdin")->required();
  app.add_option("--output", options.output, "What to ask")
      ->check(CLI::IsMember({"predict", "predict_proba", "decision_function", "transform"}));
}
void uploads(CLI::App& app, Options& options) {
  app.add_option("file", options.upload, "Upload this file; - reads stdin. Without it the uploads are listed");
  app.add_option("--name", options.name, "What to call it; else the file's name");
  app.add_option("--format", options.format, "csv, arff or npy; else by the name's ending");
  app.add_option("--delete", options.forget, "Forget this upload");
}
void nothing(CLI::App&, Options&) {}

constexpr Command kCommands[] = {
    {"run", "Submit a job, follow it, print its result", spec, run},
    {"submit", "Submit a job and print its id", spec, submit},
    {"watch", "Follow a job that was submitted before", watched_job, watch},
    {"jobs", "List jobs, newest first", job_filter, jobs},
    {"result", "Wait for a job and print its result", job_id, result},
    {"cancel", "Cancel a job", job_id, cancel},
    {"models", "List the stored models, show, delete, download or upload one", model, models},
    {"predict", "Ask a stored model", rows, predict},
    {"estimators", "List the estimators, or show one", estimator_name, estimators},
    {"datasets", "Upload, list or delete data sets of your own", uploads, datasets},
    {"doctor", "Check the server and its devices", nothing, doctor},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace kedge::cli
