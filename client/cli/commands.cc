// The subcommands of kedge. One row each.
#include "client/cli/commands.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cmath>

#include "client/cli/host_command.h"
#include "client/cli/job_commands.h"
#include "client/cli/machine_commands.h"
#include "client/cli/model_commands.h"
#include "client/cli/server_commands.h"
#include "schemas/duration.h"

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
  app.add_option("--format", options.format, "csv, arff, libsvm or npy; else by the name's ending");
  app.add_option("--delete", options.forget, "Forget this upload");
}
void nothing(CLI::App&, Options&) {}

constexpr double kDay = 24 * 3600;

// USD. Not CLI::NonNegativeNumber, which lets NaN through: no price is above such a cap.
std::string amount_problem(const std::string& text) {
  double value = -1;
  return CLI::detail::lexical_cast(text, value) && value >= 0 && std::isfinite(value) ? "" : fmt::format("{} is no number of USD, at least 0", text);
}
const CLI::Validator kAmount(amount_problem, "USD");

// Takes 90s, 2m, 1h; a number without a unit counts `bare` seconds each, as it always did.
struct Span {
  double least, most, bare;   // s
};
void duration(CLI::App& app, const char* flag, double& seconds, Span span, const std::string& help) {
  const auto read = [flag, span, &seconds](const std::string& text) {
    const std::optional<double> given = schema::parse_duration(text, span.bare);
    if (!given || *given < span.least || *given > span.most)
      throw CLI::ValidationError(flag, fmt::format("is '{}', must be a time from {} to {}, such as 90s, 2m or 1h; a number without a unit counts {}", text,
                                                   schema::duration_text(span.least), schema::duration_text(span.most),
                                                   span.bare == 1 ? "seconds" : span.bare == 60 ? "minutes" : "hours"));
    seconds = *given;
  };
  app.add_option_function<std::string>(flag, read, fmt::format("{} (default {})", help, schema::duration_text(seconds)))->type_name("TIME");
}

// How long a rented machine may live and what it may cost.
void lease(CLI::App& app, Options& options) {
  RentOptions& rent = options.rent;
  app.add_option("--max-price", rent.max_price, "USD an hour, at most, in the market that is used")->check(kAmount);
  app.add_option("--region", rent.region, "Only regions that begin so");
  app.add_flag("--spot", rent.spot, "Spot machines first, which the provider may take away; then on-demand");
  app.add_flag("--spot-only", rent.spot_only, "Spot machines alone");
  duration(app, "--idle", rent.idle_s, {.least = 3, .most = 7 * kDay, .bare = 60}, "Time without use after which the machine ends: 90s, 2m, 1h");
  duration(app, "--life", rent.life_s, {.least = 36, .most = 30 * kDay, .bare = 3600}, "Time after which it ends whatever it does");
  app.add_option("--max-spend", rent.max_spend, "USD for this machine, at most")->check(kAmount);
  app.add_option("--spend-cap", rent.spend_cap, "USD for all machines: those rented now and 30 days of past ones; else KEDGE_SPEND_CAP")
      ->check(kAmount);
  app.add_option("--image", rent.image, "The container image of the server; else KEDGE_IMAGE");
  duration(app, "--boot-limit", rent.boot_limit_s, {.least = 1, .most = 2 * 3600, .bare = 1}, "Time within which the server must answer");
}
void wish(CLI::App& app, Options& options) {
  RentOptions& rent = options.rent;
  app.add_option("--gpu", rent.gpu, "GPU model, such as L4; else the cheapest machine of all");
  app.add_option("--gpus", rent.gpus, "How many GPUs, at least")->check(CLI::Range(1, 64));
  app.add_option("--provider", rent.provider, "Only this provider (local, docker and ssh must be named)");
  lease(app, options);
}
void wish_or_dry_run(CLI::App& app, Options& options) {
  wish(app, options);
  app.add_flag("--dry-run", options.rent.dry_run, "Show what would be tried and what would not, and why; change nothing");
}
void spec_and_machine(CLI::App& app, Options& options) {
  spec(app, options);
  app.add_option("--on", options.rent.on, "PROVIDER[:GPU]: rent a machine for this job alone, and give it back");
  lease(app, options);
}
void machine_or_all(CLI::App& app, Options& options) {
  app.add_option("machine", options.argument, "Its id, or the end of it; else the current one");
  app.add_flag("--all", options.rent.all, "Every machine of yours, known here or not");
}
void machine_action(CLI::App& app, Options& options) {
  app.add_option("action", options.argument, "gc: end what nobody wants; else what is rented is listed");
}

constexpr Command kCommands[] = {
    {"run", "Submit a job, follow it, print its result", spec_and_machine, run},
    {"submit", "Submit a job and print its id", spec, submit},
    {"watch", "Follow a job that was submitted before", watched_job, watch},
    {"jobs", "List jobs, newest first", job_filter, jobs},
    {"result", "Wait for a job and print its result", job_id, result},
    {"cancel", "Cancel a job", job_id, cancel},
    {"models", "List the stored models, show, delete, download or upload one", model, models},
    {"predict", "Ask a stored model", rows, predict},
    {"estimators", "List the estimators, or show one", estimator_name, estimators},
    {"datasets", "Upload, list or delete data sets of your own", uploads, datasets},
    {"up", "Rent a machine with a server and make it the current one", wish_or_dry_run, up},
    {"down", "End a rented machine and wait until it is gone", machine_or_all, down},
    {"machines", "List what is rented, with its cost; gc ends what nobody wants", machine_action, machines},
    {"offers", "List what could be rented, cheapest first", wish, offers},
    {"host", "Run kedged here, and end this machine with it (in rented containers)", nothing, host},
    {"health", "Check that the server of this container lives", nothing, health},
    {"doctor", "Check the server and its devices", nothing, doctor},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace kedge::cli
