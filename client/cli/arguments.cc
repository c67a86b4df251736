// The arguments of the subcommands. Each says its unit, its bounds and its default.
#include "client/cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>

#include "schemas/duration.h"
#include "schemas/job.h"

namespace kedge::cli::arguments {
namespace {

// The bounds are in the words of the help, so the validator does not name them again.
CLI::Validator within(std::int64_t least, std::int64_t most) {
  return CLI::Range(least, most).description("");
}

constexpr double kDay = 24 * 3600;

// Not CLI::NonNegativeNumber, which lets NaN through: no price is above such a cap.
std::string amount_problem(const std::string& text) {
  double value = -1;
  return CLI::detail::lexical_cast(text, value) && value >= 0 && std::isfinite(value)
             ? ""
             : fmt::format("{} is no number of USD, at least 0", text);
}
const CLI::Validator kAmount(amount_problem, "");

void amount(CLI::App& app, const char* flag, std::optional<double>& usd, const std::string& help) {
  app.add_option(flag, usd, help + ", at least 0")->check(kAmount)->type_name("USD");
}

// Takes 90s, 2m, 1h; a number without a unit counts `bare` seconds each, as it always did.
struct Span {
  double least, most, bare;   // s
};
const char* bare_unit(double bare) {
  return bare == 1 ? "seconds" : bare == 60 ? "minutes" : "hours";
}

CLI::Option* duration(CLI::App& app, const char* flag, double& seconds, Span span, const std::string& help) {
  const std::string least = schema::duration_text(span.least), most = schema::duration_text(span.most);
  const auto read = [=, &seconds](const std::string& text) {
    const std::optional<double> given = schema::parse_duration(text, span.bare);
    if (!given || *given < span.least || *given > span.most)
      throw CLI::ValidationError(
          flag,
          fmt::format("is '{}', must be a time from {} to {}, such as 90s, 2m or 1h; a number without a unit counts {}",
                      text, least, most, bare_unit(span.bare)));
    seconds = *given;
  };
  const std::string words =
      fmt::format("{}: {} to {}, such as 90s, 2m or 1h; a number without a unit counts {} (default {})", help, least,
                  most, bare_unit(span.bare), schema::duration_text(seconds));
  return app.add_option_function<std::string>(flag, read, words)->type_name("TIME");
}

std::vector<std::string> states() {
  std::vector<std::string> names;
  for (int state = 0; state <= static_cast<int>(schema::JobState::kCancelled); ++state)
    names.emplace_back(schema::job_state_name(static_cast<schema::JobState>(state)));
  return names;
}

// How long a rented machine may live and what it may cost.
void lease(CLI::App& app, Options& options) {
  RentOptions& rent = options.rent;
  amount(app, "--max-price", rent.max_price, "What an hour may cost at most, in the market that is used");
  app.add_option("--region", rent.region, "Only regions that begin so")->type_name("NAME");
  app.add_flag("--spot", rent.spot, "Spot machines first, which the provider may take away; then on-demand");
  app.add_flag("--spot-only", rent.spot_only, "Spot machines alone");
  duration(app, "--idle", rent.idle_s, {.least = 3, .most = 7 * kDay, .bare = 60},
           "Time without use after which the machine ends");
  duration(app, "--life", rent.life_s, {.least = 36, .most = 30 * kDay, .bare = 3600},
           "Time after which it ends, even if jobs run");
  amount(app, "--max-spend", rent.max_spend, "What this machine may cost at most");
  amount(app, "--spend-cap", rent.spend_cap,
         "What all machines may cost: those rented now and 30 days of past ones; else KEDGE_SPEND_CAP");
  app.add_option("--image", rent.image, "The container image of the server; else KEDGE_IMAGE")->type_name("IMAGE");
  duration(app, "--boot-limit", rent.boot_limit_s, {.least = 1, .most = 2 * 3600, .bare = 1},
           "Time within which the server must answer");
}

}   // namespace

void nothing(CLI::App&, Options&) {}

void spec(CLI::App& app, Options& options) {
  app.add_option("spec", options.argument, "The job as a JSON file; - reads stdin")->required()->type_name("FILE");
  app.add_option("--register", options.register_as,
                 "Make the job's model a new version of this registered model when the job ends")
      ->type_name("NAME");
  app.add_option("--device", options.device,
                 "Where the job runs, in place of what the file says: auto, cpu, cuda, cuda:N or cluster")
      ->type_name("DEVICE");
}

void spec_and_machine(CLI::App& app, Options& options) {
  spec(app, options);
  app.add_option("--on", options.rent.on, "Rent a machine for this job alone, and give it back")
      ->type_name("PROVIDER[:GPU]");
  lease(app, options);
}

void specs_and_servers(CLI::App& app, Options& options) {
  app.add_option("specs", options.arguments, "JSON files with a job, or a list of jobs; - reads stdin")
      ->required()
      ->type_name("FILE");
  app.add_option("--servers", options.servers,
                 "Servers that `kedge login` has kept, with commas between their names (default: the current one)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  app.add_option("--in-flight", options.in_flight, "Jobs at a time on each server: 1 to 1000 (default 4)")
      ->check(within(1, 1000))
      ->type_name("N");
  app.add_flag("--as-they-come", options.as_they_come,
               "Print each job when it ends, and not in the order of the specs");
  app.add_option(
         "--journal", options.file,
         "Note in this file which server has which job; a run with the same file and specs goes on where it stopped")
      ->type_name("FILE");
}

void job_id(CLI::App& app, Options& options) {
  app.add_option("job", options.argument, "The job's id")->required()->type_name("ID");
}

void watched_job(CLI::App& app, Options& options) {
  job_id(app, options);
  app.add_option("--after", options.after, "Only events after this number, at least 0 (default 0: all)")
      ->check(within(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
}

void job_filter(CLI::App& app, Options& options) {
  app.add_option("--state", options.state, "Only jobs in this state")
      ->check(CLI::IsMember(states()))
      ->type_name("STATE");
  app.add_option("--limit", options.limit, "How many jobs, newest first: 1 to 500 (default 20)")
      ->check(within(1, 500))
      ->type_name("N");
}

void job_artifact(CLI::App& app, Options& options) {
  job_id(app, options);
  app.add_option("name", options.artifact,
                 "Its name, as `kedge artifacts` lists it; may be left out where there is one")
      ->type_name("NAME");
  app.add_option("-o,--out", options.file, "Write to this file, - for stdout (default: its name, in this directory)")
      ->type_name("FILE");
  app.add_option("--as", options.format, "A table as parquet, arrow or arrow-stream (default: as it is)")
      ->check(CLI::IsMember({"parquet", "arrow", "arrow-stream"}))
      ->type_name("FORM");
}

void shown_data(CLI::App& app, Options& options) {
  CLI::App* add = app.add_subcommand("add", "Upload a file, and show what it holds");
  add->add_option("file", options.upload, "The file; - reads stdin")->required()->type_name("FILE");
  add->add_option("--name", options.name, "What to call it (default: the file's name)")->type_name("NAME");
  add->add_option("--format", options.format,
                  "csv, arff, libsvm, npy, npz, parquet or arrow (default: by the name's ending or the content)")
      ->type_name("FORMAT");
  app.add_subcommand("ls", "List your uploads");
  CLI::App* rm = app.add_subcommand("rm", "Delete uploads");
  rm->add_option("names", options.arguments, "Their names")->required()->type_name("NAME");
  CLI::App* show = app.add_subcommand("show", "Columns, types, missing and distinct values, first rows");
  app.require_subcommand(1);
  show->add_option("data", options.argument, "An upload or a built-in set by its name, a JSON file with a job, or a reference as JSON")
      ->required()
      ->type_name("DATA");
  show->add_option("--rows", options.rows, "How many first rows: 1 to 100 (default 10)")->type_name("N")->check(within(1, 100));
}

void model(CLI::App& app, Options& options) {
  CLI::Option* id =
      app.add_option("model", options.argument, "One model; else all are listed, with their sizes")->type_name("ID");
  CLI::Option* remove = app.add_flag("--delete", options.remove, "Delete the model, as rm does")->needs(id);
  CLI::Option* download = app.add_option("--download", options.file, "Write the model to this file")
                              ->needs(id)
                              ->excludes(remove)
                              ->type_name("FILE");
  app.add_option("--upload", options.input, "Store the model in this file")
      ->excludes(id)
      ->excludes(download)
      ->type_name("FILE");
  CLI::App* push = app.add_subcommand(
      "push", "Store a model: a file of Kedge, of XGBoost (JSON, UBJSON), LightGBM (text), CatBoost (JSON) or ONNX");
  push->add_option("file", options.input, "The model's file; - reads stdin")->required()->type_name("FILE");
  CLI::App* serving =
      app.add_subcommand("serving", "Show or set how a model is served: questions answered together, a log");
  serving->callback([&options] { options.action = "serving"; });
  serving->add_option("model", options.argument, "The model's id, or a registered name")->required()->type_name("ID");
  serving->add_option("--max-batch-rows", options.max_batch_rows, "Rows of one call of the model; 0: no bound")
      ->type_name("ROWS");
  serving->add_option("--max-delay-us", options.max_delay_us, "How long a question waits for others")
      ->type_name("MICROSECONDS");
  serving->add_option("--log-fraction", options.log_fraction, "Part of the questions that is logged; 0: none")
      ->type_name("0..1");
  serving->add_option("--log-max-bytes", options.log_max_bytes, "What the log may take; the newest entries stay")
      ->type_name("BYTES");
  CLI::App* log = app.add_subcommand("log", "Print what was logged of the questions to a model, as JSON lines");
  log->callback([&options] { options.action = "log"; });
  log->add_option("model", options.argument, "The model's id, or a registered name")->required()->type_name("ID");
  CLI::App* drift =
      app.add_subcommand("drift", "Show how the rows that a model was asked about differ from those it was fitted on");
  drift->callback([&options] { options.action = "drift"; });
  drift->add_option("model", options.argument, "The model's id, or a registered name")->required()->type_name("ID");
  drift->add_flag("--reset", options.reset, "Forget what was counted, and begin again");
  CLI::App* rm = app.add_subcommand("rm", "Delete models");
  rm->add_option("models", options.arguments, "Their ids")->required()->type_name("ID");
}

namespace {

// A verb of `kedge registry`, with the registered model that it is about.
CLI::App* registry_verb(CLI::App& app, Options& options, const char* verb, const char* help, const char* what,
                        const char* type) {
  CLI::App* sub = app.add_subcommand(verb, help);
  sub->callback([&options, verb] { options.action = verb; });
  sub->add_option("name", options.argument, what)->required()->type_name(type);
  return sub;
}

}   // namespace

void registry(CLI::App& app, Options& options) {
  app.add_option("name", options.argument, "A registered model, or a version of one; else all are listed")
      ->type_name("NAME[@ALIAS|/VERSION]");
  CLI::App* add = registry_verb(app, options, "add", "Give a stored model the next version of a name",
                                "The name, which the first version creates", "NAME");
  add->add_option("model", options.input, "The stored model's id")->required()->type_name("ID");
  add->add_option("--description", options.name, "What it is")->type_name("WORDS");
  CLI::App* alias = registry_verb(app, options, "alias", "Let an alias name a version, or delete an alias",
                                  "The alias; `default` is what the name alone means", "NAME@ALIAS");
  CLI::Option* version = alias->add_option("version", options.input, "The version's number")->type_name("VERSION");
  alias->add_flag("--delete", options.remove, "Delete the alias")->excludes(version);
  CLI::App* tag = registry_verb(app, options, "tag", "Write tags and the description of a name or a version",
                                "The name or the version", "NAME[@ALIAS|/VERSION]");
  tag->add_option("tags", options.arguments, "Tags; one without a value is removed")->type_name("KEY=VALUE");
  tag->add_option("--description", options.name, "What it is")->type_name("WORDS");
  registry_verb(app, options, "rm", "Delete a version, an alias, or a name with its versions; the models stay",
                "What to delete", "NAME[@ALIAS|/VERSION]");
}

void rows(CLI::App& app, Options& options) {
  app.add_option("model", options.argument, "The model's id, or a registered name")->required()->type_name("ID");
  app.add_option("rows", options.input, "CSV with a header line, .json or .npy; - reads CSV from stdin")
      ->required()
      ->type_name("FILE");
  app.add_option("--output", options.output, "What to ask (default predict)")
      ->check(CLI::IsMember({"predict", "predict_proba", "decision_function", "score_samples", "contributions",
                             "interactions", "transform"}))
      ->type_name("WHAT");
  app.add_option("--background", options.file,
                 "With --output contributions: rows that they are counted against, 1 to 1,000, as CSV or .json; then "
                 "FILE is of these forms, too")
      ->type_name("FILE");
}

void estimator_name(CLI::App& app, Options& options) {
  app.add_option("name", options.argument, "One estimator, with its parameters; else all are listed")
      ->type_name("NAME");
}

void uploads(CLI::App& app, Options& options) {
  app.add_option("file", options.upload, "Upload this file; - reads stdin. Without it the uploads are listed")
      ->type_name("FILE");
  app.add_option("--name", options.name, "What to call it (default: the file's name)")->type_name("NAME");
  app.add_option("--format", options.format,
                 "csv, arff, libsvm, npy, npz, parquet or arrow (default: by the name's ending)")
      ->type_name("FORMAT");
  app.add_option("--delete", options.forget, "Forget this upload")->type_name("NAME");
}

void checks(CLI::App& app, Options& options) {
  duration(app, "--wait", options.wait_s, {.least = 0, .most = 3600, .bare = 1},
           "How long to wait for a server that starts, and for its devices; without it, for the devices alone")
      ->each([&options](const std::string&) { options.waits_for_server = true; });
  CLI::Option* const gpu =
      app.add_flag("--gpu", options.gpu,
                   "Ask no server: compare what the GPU of this machine computes with what its CPU does, in a minute");
  CLI::Option* const cluster =
      app.add_flag("--cluster", options.cluster,
                   "Start a group of ranks as kedged does, compare their machines and versions, and measure the lines "
                   "between them: here with --config or the variables of kedged, else by the server")
          ->excludes(gpu);
  app.add_option(
         "--config", options.file,
         "With --cluster: the file of kedged's settings on this machine (default: KEDGE_CONFIG and KEDGE_CLUSTER_...)")
      ->type_name("FILE")
      ->needs(cluster);
}

namespace {

void host_key(CLI::App& app, Options& options) {
  app.add_option("--key", options.file, "The key of the cluster's hosts, which `kedge host-agent --new-key` makes")
      ->type_name("FILE");
}

}   // namespace

// What follows the host is not ours: no option of it is parsed, nor given to kedge itself.
void remote_command(CLI::App& app, Options& options) {
  host_key(app, options);
  app.add_option("--port", options.port, "The agent's port: 1 to 65535 (default 5335)")
      ->check(within(1, 65535))
      ->type_name("N");
  app.fallthrough(false);
  app.prefix_command();
  app.parse_complete_callback([&app, &options] { options.arguments = app.remaining(); });
}

void host_agent(CLI::App& app, Options& options) {
  host_key(app, options);
  app.add_option("--listen", options.listen,
                 "ADDRESS:PORT or :PORT to listen at, [ADDRESS]:PORT for IPv6 (default :5335)")
      ->type_name("ADDRESS");
  app.add_option("--allow", options.allowed,
                 "A program that may be started, by name or path; may be repeated (default orted, of Open MPI)")
      ->type_name("PROGRAM")
      ->allow_extra_args(false);
  duration(app, "--idle-end", options.agent_idle_s, {.least = 0, .most = 7 * kDay, .bare = 1},
           "Time without a connection after which the agent ends; 0 is never");
  duration(app, "--life-end", options.agent_life_s, {.least = 0, .most = 30 * kDay, .bare = 1},
           "Time after which it ends, even if programs run; 0 is never");
  app.add_option("--new-key", options.new_key, "Make a key in this file, which must not be there, and end")
      ->type_name("FILE");
}

void wish(CLI::App& app, Options& options) {
  RentOptions& rent = options.rent;
  app.add_option("--gpu", rent.gpu, "GPU model, such as L4, or with a number H100:8; else the cheapest machine of all")
      ->type_name("GPU");
  app.add_option("--gpus", rent.gpus, "How many GPUs at least: 1 to 64 (default 1)")
      ->check(within(1, 64))
      ->type_name("N");
  app.add_option("--provider", rent.provider, "Only this provider (local, docker and ssh must be named)")
      ->type_name("PROVIDER");
  lease(app, options);
}

void wish_or_dry_run(CLI::App& app, Options& options) {
  wish(app, options);
  app.add_flag("--dry-run", options.rent.dry_run,
               "Show what would be tried and what would not, and why; change nothing");
  app.add_option("--nodes", options.rent.nodes,
                 "How many machines, 1 to 64: all or none, in one place, with one lease (default 1)")
      ->check(within(1, 64))
      ->type_name("N");
  app.add_flag("--cluster", options.rent.cluster,
               "Make the machines one cluster, on which jobs with the device cluster run; the image needs Open MPI");
}

void machine_or_all(CLI::App& app, Options& options) {
  app.add_option("machine", options.argument, "Its id, or the end of it; else the current one")->type_name("ID");
  app.add_flag("--all", options.rent.all, "Every machine of yours, known here or not");
}

void machine_action(CLI::App& app, Options& options) {
  app.add_option("action", options.argument, "gc: end what is no longer wanted; else what is rented is listed")
      ->type_name("gc");
}

void page_of_server(CLI::App& app, Options& options) {
  app.add_option("job", options.argument, "A job that the page is to show; else its list")->type_name("ID");
  app.add_flag("--print", options.none, "Only print the address");
}

void server_or_none(CLI::App& app, Options& options) {
  CLI::Option* name =
      app.add_option("name", options.argument, "A kept server, or a rented machine; else all are listed")
          ->type_name("NAME");
  app.add_flag("--none", options.none, "No server by name: back to a rented machine, or this machine's own server")
      ->excludes(name);
}

void new_server(CLI::App& app, Options& options) {
  app.add_option("address", options.argument, "Its address, such as https://gpu.example:5334")
      ->required()
      ->type_name("URL");
  app.add_option("--name", options.name,
                 "What to call it: letters, digits, '.', '_' and '-' (default: the host's name)")
      ->type_name("NAME");
  app.add_option("--token-file", options.token_file,
                 "File with the token; - reads stdin (default: KEDGE_TOKEN; without it, a prompt)")
      ->type_name("FILE");
  app.add_option("--pin", options.pin, "SHA-256 of its certificate, 64 hexadecimal digits (default: KEDGE_PIN)")
      ->type_name("SHA256");
}

void server_name(CLI::App& app, Options& options) {
  app.add_option("name", options.argument, "Its name, as `kedge use` lists it")->required()->type_name("NAME");
}

void command_names(CLI::App& app, Options& options) {
  app.add_option("command", options.arguments, "One command; else all are listed")->type_name("COMMAND");
  app.add_flag("--man", options.man, "All of it as a manual page, kedge(1)");
}

void shell(CLI::App& app, Options& options) {
  app.add_option("shell", options.argument, "For which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
}

}   // namespace kedge::cli::arguments
