// The subcommands of kedge. One row each.
#include "client/cli/commands.h"

#include "client/cli/arguments.h"
#include "client/cli/artifact_commands.h"
#include "client/cli/data_command.h"
#include "client/cli/explain_command.h"
#include "client/cli/help_command.h"
#include "client/cli/host_command.h"
#include "client/cli/host_exec_commands.h"
#include "client/cli/job_commands.h"
#include "client/cli/look_commands.h"
#include "client/cli/machine_commands.h"
#include "client/cli/map_command.h"
#include "client/cli/model_commands.h"
#include "client/cli/registry_commands.h"
#include "client/cli/server_commands.h"
#include "client/cli/server_list_commands.h"

namespace kedge::cli {
namespace {

constexpr const char* kJobs = "Jobs";
constexpr const char* kData = "Models and data";
constexpr const char* kServers = "Servers";
constexpr const char* kMachines = "Machines";
constexpr const char* kHelp = "Help";

constexpr Command kCommands[] = {
    {"run", kJobs, "Submit a job, follow it, print its result",
     "kedge run examples/iris.json\nkedge run --on aws:L4 --max-price 1.00 examples/mnist_forest.json",
     arguments::spec_and_machine, run},
    {"submit", kJobs, "Submit a job and print its id", "kedge submit examples/iris.json\nkedge submit - --json",
     arguments::spec, submit},
    {"map", kJobs, "Run many jobs, some at a time, over one server or several",
     "kedge map examples/iris.json examples/titanic.json\nkedge map grid.json --servers lab,cloud --in-flight 8 --journal grid.journal --json",
     arguments::specs_and_servers, map},
    {"watch", kJobs, "Follow a job that was submitted before",
     "kedge watch job_01K2ZT\nkedge watch job_01K2ZT --after 40 --json", arguments::watched_job, watch},
    {"jobs", kJobs, "List jobs, newest first, with their data, scores and times",
     "kedge jobs\nkedge jobs --state failed --limit 100", arguments::job_filter, jobs},
    {"top", kJobs, "Show the newest jobs live, until it is interrupted",
     "kedge top\nkedge top --state running --limit 40", arguments::job_filter, top},
    {"result", kJobs, "Wait for a job and print its result, or why there is none",
     "kedge result job_01K2ZT\nkedge result job_01K2ZT --json", arguments::job_id, result},
    {"explain", kJobs, "Tell the story of a job: attempts, why one failed, memory, where the time went",
     "kedge explain job_01K2ZT\nkedge explain job_01K2ZT --json", arguments::job_id, explain},
    {"artifacts", kJobs, "List the files that a job has left", "kedge artifacts job_01K2ZT", arguments::job_id,
     artifacts},
    {"download", kJobs, "Fetch a file that a job has left",
     "kedge download job_01K2ZT\nkedge download job_01K2ZT predictions.npy -o answers.npy\nkedge download job_01K2ZT --as parquet",
     arguments::job_artifact, download},
    {"cancel", kJobs, "Cancel a job", "kedge cancel job_01K2ZT", arguments::job_id, cancel},
    {"models", kData, "List the stored models with their sizes, show, delete, download or push one",
     "kedge models\nkedge models mdl_01K2ZT --download forest.kedge\nkedge models push xgboost.ubj\nkedge models serving mdl_01K2ZT --max-delay-us 500\nkedge models drift mdl_01K2ZT\nkedge models rm mdl_01K2ZT mdl_01K2ZV",
     arguments::model, models},
    {"registry", kData, "Names, versions, aliases and tags of stored models",
     "kedge registry\nkedge registry add iris mdl_01K2ZT\nkedge registry alias iris@champion 3\nkedge registry tag iris/3 stage=trial\nkedge registry rm iris/2",
     arguments::registry, registry},
    {"predict", kData, "Ask a stored model",
     "kedge predict iris@champion rows.csv\nkedge predict mdl_01K2ZT rows.csv\nkedge predict mdl_01K2ZT rows.npy --output predict_proba\n"
     "kedge predict mdl_01K2ZT rows.csv --output contributions --background usual.csv",
     arguments::rows, predict},
    {"estimators", kData, "List the estimators, or show one",
     "kedge estimators\nkedge estimators RandomForestClassifier", arguments::estimator_name, estimators},
    {"datasets", kData, "Upload, list or delete data sets of your own, as kedge data add, ls and rm do",
     "kedge datasets\nkedge datasets churn.csv --name churn\nkedge datasets --delete churn", arguments::uploads,
     datasets},
    {"data", kData, "Upload, list and delete data sets, show what one holds and how a job would read it",
     "kedge data add churn.csv\nkedge data ls\nkedge data show iris\nkedge data show job.json --rows 20\nkedge data rm churn.csv",
     arguments::shown_data, data},
    {"login", kServers, "Keep a server's address, token and pin by name, and use it",
     "kedge login https://gpu.example:5334\nkedge login https://gpu.example:5334 --name lab --token-file token.txt",
     arguments::new_server, login},
    {"use", kServers, "List the servers that are kept, or choose the one that commands go to",
     "kedge use\nkedge use lab\nkedge use --none", arguments::server_or_none, use},
    {"logout", kServers, "Forget a server, its token and its pin", "kedge logout lab", arguments::server_name, logout},
    {"ui", kServers, "Print the address of the server's page, and open it where there is a browser",
     "kedge ui\nkedge ui job_01K2ZT --print", arguments::page_of_server, ui},
    {"doctor", kServers, "Check the server and its devices, this machine's GPU, or the ranks of a cluster",
     "kedge doctor\nkedge doctor --wait 2m --json\nkedge doctor --gpu\nkedge doctor --cluster --config cluster.toml",
     arguments::checks, doctor},
    {"up", kMachines, "Rent a machine with a server and make it the current one",
     "kedge up --gpu L4 --max-price 1.00\nkedge up --provider local --idle 30m", arguments::wish_or_dry_run, up},
    {"down", kMachines, "End a rented machine and wait until it has ended", "kedge down\nkedge down --all",
     arguments::machine_or_all, down},
    {"machines", kMachines, "List what is rented, with its cost; gc ends what is no longer wanted",
     "kedge machines\nkedge machines gc", arguments::machine_action, machines},
    {"offers", kMachines, "List what could be rented, cheapest first",
     "kedge offers --gpu H100 --gpus 8\nkedge offers --max-price 0.50 --json", arguments::wish, offers},
    {"host", kMachines, "Run kedged here, and end this machine with it (in rented containers)", "kedge host",
     arguments::nothing, host},
    {"host-agent", kMachines, "Let the other hosts of a cluster start its programs here, without sshd",
     "kedge host-agent --new-key cluster.key\nkedge host-agent --key cluster.key --listen 10.0.0.2:5335",
     arguments::host_agent, host_agent},
    {"host-exec", kMachines,
     "Run a program on another host of a cluster, as mpirun does by ssh: HOST PROGRAM ARGUMENTS",
     "kedge host-exec --key cluster.key 10.0.0.2 orted --version", arguments::remote_command, host_exec},
    {"health", kMachines, "Check that the server of this container lives", "kedge health", arguments::nothing, health},
    {"help", kHelp, "Explain a command", "kedge help\nkedge help models rm\nkedge help --man", arguments::command_names,
     help},
    {"version", kHelp, "Print the version", "kedge version\nkedge version --json", arguments::nothing, print_version},
    {"completion", kHelp, "Print the completions for a shell: bash, zsh or fish",
     "kedge completion bash\nkedge completion zsh\nkedge completion fish", arguments::shell, completion},
};

}   // namespace

std::span<const Command> commands() {
  return kCommands;
}

}   // namespace kedge::cli
