// One table of settings serves flags, environment and file.
#include "server/config.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <array>
#include <map>

#include "schemas/error.h"
#include "server/config_cluster.h"
#include "server/config_values.h"
#include "server/manual.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using Values = std::vector<std::string>;

bool is_address(const std::string& host) {
  in6_addr buffer{};
  return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

// "127.0.0.1:5334", "[::1]:0", "localhost:0"
void set_listen(Config& config, const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) refuse(text, "must be ADDRESS:PORT, such as 127.0.0.1:5334 or [::1]:5334");
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!is_address(host) || bracketed != (host.find(':') != std::string::npos))
    refuse(text, "must be ADDRESS:PORT with an IP address, such as 127.0.0.1:5334 or [::1]:5334");
  config.listen_host = host;
  config.listen_port = static_cast<std::uint16_t>(to_integer(text.substr(colon + 1), 0, 65535));
}

void set_log_level(Config& config, const std::string& text) {
  constexpr std::array<std::string_view, 5> kLevels{"debug", "info", "warning", "error", "off"};
  if (std::find(kLevels.begin(), kLevels.end(), text) == kLevels.end())
    refuse(text, "must be debug, info, warning, error or off");
  config.log_level = text;
}

void set_log_format(Config& config, const std::string& text) {
  if (text != "text" && text != "json") refuse(text, "must be text or json");
  config.json_log = text == "json";
}

std::string to_digest(const std::string& text) {
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    refuse("...", "must be 64 lower-case hexadecimal digits");   // not the text: it might be the token itself
  return text;
}

// "alice=4": greater than 0, since a tenant without a share would wait forever.
void set_weights(Config& config, const Values& values) {
  constexpr double kLeast = 0.001, kMost = 1000;
  config.tenant_weights.clear();   // those of the file, if a flag has others
  for (const std::string& text : values) {
    const auto equals = text.rfind('=');   // names in client certificates may hold one
    const auto weight = equals == std::string::npos || equals == 0
                            ? std::nullopt
                            : number_of(std::string_view(text).substr(equals + 1));
    if (!weight || !(*weight >= kLeast && *weight <= kMost))
      refuse(text, fmt::format("must be TENANT=WEIGHT, a number from {} to {}, such as alice=4", kLeast, kMost));
    config.tenant_weights[text.substr(0, equals)] = *weight;
  }
}

constexpr std::int64_t kMostCount = std::int64_t{1} << 50;
constexpr std::int64_t kLongestLease = 366 * 24 * 3600;

enum class Kind { kValue, kList, kSwitch };

struct Setting {
  std::string_view name;  // the flag; the variable is KEDGE_NAME, the key of the file name, '-' and '_' being
                          // the same there
  Kind kind;
  std::string_view doc;
  void (*set)(Config&, const Values&);
};

constexpr std::array kSettings{
    Setting{"listen", Kind::kValue, "ADDRESS:PORT to listen on; port 0 takes a free one (default 127.0.0.1:5334)",
            [](Config& c, const Values& v) { set_listen(c, v[0]); }},
    Setting{"insecure-listen", Kind::kSwitch,
            "allow to listen beyond loopback without tokens: every caller that reaches the port may run jobs",
            [](Config& c, const Values& v) { c.insecure_listen = to_switch(v[0]); }},
    Setting{
        "allowed-host", Kind::kList,
        "name or address by which clients call this server, *.NAME for all below; requests whose Host is another get 421; may be "
        "repeated (default: on loopback its own names, else any)",
        [](Config& c, const Values& v) { c.allowed_hosts = v; }},
    Setting{
        "allowed-origin", Kind::kList,
        "origin of web pages that may call this server through a browser, such as https://notes.example; may be repeated (default: only "
        "the server's own pages)",
        [](Config& c, const Values& v) { c.allowed_origins = v; }},
    Setting{"tls-cert", Kind::kValue,
            "certificate of the server, then its intermediates: a PEM file, read again at SIGHUP, or PEM text (default "
            "tls/cert.pem in the data directory, where 'kedged init' puts one; plain HTTP when it is not there)",
            [](Config& c, const Values& v) { c.tls_cert = v[0]; }},
    Setting{"tls-key", Kind::kValue, "private key of the certificate, likewise",
            [](Config& c, const Values& v) { c.tls_key = v[0]; }},
    Setting{"tls-client-ca", Kind::kValue,
            "demand client certificates signed by this one, likewise; the name in a certificate is its tenant",
            [](Config& c, const Values& v) { c.tls_client_ca = v[0]; }},
    Setting{"token-sha256", Kind::kValue,
            "SHA-256, in hex, of one token more than 'kedged token' knows; it may do everything",
            [](Config& c, const Values& v) { c.token_sha256 = to_digest(v[0]); }},
    Setting{
        "tenant-jobs", Kind::kValue, "jobs of one tenant that wait or run, at most; 0: no bound (default 20000)",
        [](Config& c, const Values& v) { c.tenant_jobs = static_cast<std::size_t>(to_integer(v[0], 0, kMostCount)); }},
    Setting{"tenant-streams", Kind::kValue, "open event streams of one tenant, at most; 0: no bound (default 12000)",
            [](Config& c, const Values& v) {
              c.tenant_streams = static_cast<std::size_t>(to_integer(v[0], 0, kMostCount));
            }},
    Setting{"tenant-bytes", Kind::kValue,
            "bytes of one tenant's data sets, models and artifacts on the disk, at most; 0: no bound (default 64 GiB)",
            [](Config& c, const Values& v) {
              c.tenant_bytes = static_cast<std::uint64_t>(to_integer(v[0], 0, kMostCount));
            }},
    Setting{
        "tenant-content-mib", Kind::kValue,
        "MiB of one tenant's data sets without a name, such as those of Python's arrays, beyond which those used longest ago go; 0: no "
        "bound (default 16384)",
        [](Config& c, const Values& v) { c.tenant_content_mib = to_integer(v[0], 0, std::int64_t{1099511627776}); }},
    Setting{"tenant-fetches", Kind::kValue,
            "data sets that are downloaded for one tenant at a time, at most; 0: no bound (default 8)",
            [](Config& c, const Values& v) {
              c.tenant_fetches = static_cast<std::size_t>(to_integer(v[0], 0, kMostCount));
            }},
    Setting{
        "tenant-weight", Kind::kList,
        "TENANT=WEIGHT: its share of the devices while others wait too; a tenant that is not named has 1; may be repeated",
        [](Config& c, const Values& v) { set_weights(c, v); }},
    Setting{"tenant-rate", Kind::kValue, "requests of one tenant in a second, at most; 0: no bound (default 0)",
            [](Config& c, const Values& v) { c.tenant_rate = static_cast<double>(to_integer(v[0], 0, 1'000'000)); }},
    Setting{"log-format", Kind::kValue, "text or json, one object a line (default text)",
            [](Config& c, const Values& v) { set_log_format(c, v[0]); }},
    Setting{"port-file", Kind::kValue, "write the port to this file once it is open",
            [](Config& c, const Values& v) { c.port_file = v[0]; }},
    Setting{"data-dir", Kind::kValue,
            "where jobs, data sets and results are kept (default $XDG_STATE_HOME/kedge or ~/.local/state/kedge)",
            [](Config& c, const Values& v) { c.data_dir = v[0]; }},
    Setting{"openml-url", Kind::kValue, "OpenML or a mirror of it; its host counts as allowed",
            [](Config& c, const Values& v) { c.openml_url = v[0]; }},
    Setting{"allow-fetch", Kind::kList,
            "host, host:port or CIDR range that data may come from although it is private; may be repeated",
            [](Config& c, const Values& v) { c.allow_fetch = v; }},
    Setting{"stores", Kind::kValue,
            "file of the object stores that s3:// and gs:// addresses lead to, with the keys for them (TOML)",
            [](Config& c, const Values& v) { c.stores = v[0]; }},
    Setting{"worker", Kind::kValue, "program that owns a device (default kedge-worker in the folder of kedged)",
            [](Config& c, const Values& v) { c.worker = v[0]; }},
    Setting{"devices", Kind::kList, "devices to run workers for, such as cpu,cuda:0 (default every one that is there)",
            [](Config& c, const Values& v) { c.devices = v; }},
    Setting{"cluster-ranks", Kind::kValue,
            "processes that share a job with the device cluster (default 0: there is no such device)",
            [](Config& c, const Values& v) { c.cluster_ranks = static_cast<int>(to_integer(v[0], 0, 4096)); }},
    Setting{"cluster-launcher", Kind::kValue,
            "what starts them: mpirun (of Open MPI), srun, or command for cluster-command (default mpirun)",
            [](Config& c, const Values& v) { set_cluster_launcher(c, v[0]); }},
    Setting{
        "cluster-device", Kind::kValue,
        "what they compute on: cpu, cuda (a GPU of its own for each), or auto for cuda where that is possible, else "
        "cpu (default cpu)",
        [](Config& c, const Values& v) { set_cluster_device(c, v[0]); }},
    Setting{
        "cluster-hosts", Kind::kList,
        "with mpirun: HOST or HOST:RANKS, such as n1:4,n2:4; this machine must be the first (default: this machine alone)",
        [](Config& c, const Values& v) { c.cluster_hosts = v; }},
    Setting{
        "cluster-key", Kind::kValue,
        "with mpirun: file of `kedge host-agent --new-key`; the ranks of other hosts are then started by the agents "
        "there, in place of ssh",
        [](Config& c, const Values& v) { set_cluster_key(c, v[0]); }},
    Setting{
        "cluster-command", Kind::kValue,
        "with the launcher command: its command line; {ranks} becomes their number, {worker} the worker with its arguments; such as "
        "'mpiexec.mpich -n {ranks} {worker}'",
        [](Config& c, const Values& v) { set_cluster_command(c, v[0]); }},
    Setting{"threads", Kind::kValue, "threads that a worker computes with (default: all cores)",
            [](Config& c, const Values& v) { c.threads = to_integer(v[0], 0, 4096); }},
    Setting{
        "worker-memory", Kind::kValue,
        "MiB of address space that a job may have on a worker without a GPU, in addition to what the worker holds; with more, it fails with "
        "OUT_OF_MEMORY (default 0: no bound)",
        [](Config& c, const Values& v) { c.worker_memory_mib = to_integer(v[0], 0, std::int64_t{1073741824}); }},
    Setting{"keep-jobs", Kind::kValue,
            "how long a job is kept after its end: 30d, 12h, or seconds; 0: forever (default 30d)",
            [](Config& c, const Values& v) { c.keep_jobs_s = to_seconds(v[0]); }},
    Setting{"keep-events", Kind::kValue,
            "how long a job's events are kept after its end, except its result and last state; 0: forever (default 7d)",
            [](Config& c, const Values& v) { c.keep_events_s = to_seconds(v[0]); }},
    Setting{
        "keep-uploads", Kind::kValue,
        "how long the begin of an upload by content waits for the rest after its connection has broken; 0: not at all (default 1h)",
        [](Config& c, const Values& v) { c.keep_uploads_s = to_seconds(v[0]); }},
    Setting{"keep-mib", Kind::kValue,
            "MiB of jobs, events and results beyond which the oldest are forgotten; 0: no bound (default 8192)",
            [](Config& c, const Values& v) { c.keep_mib = to_integer(v[0], 0, std::int64_t{1099511627776}); }},
    Setting{
        "keep-models-mib", Kind::kValue,
        "MiB of models that jobs have left, of all tenants, beyond which those used longest ago go; uploaded models stay; 0: no bound "
        "(default 32768)",
        [](Config& c, const Values& v) { c.keep_models_mib = to_integer(v[0], 0, std::int64_t{1099511627776}); }},
    Setting{"tenant-models-mib", Kind::kValue, "the same of one tenant (default 8192)",
            [](Config& c, const Values& v) { c.tenant_models_mib = to_integer(v[0], 0, std::int64_t{1099511627776}); }},
    Setting{"predict-workers", Kind::kValue,
            "processes that answer predictions, 1 to 64; each keeps four models loaded (default 2)",
            [](Config& c, const Values& v) { c.predict_workers = to_integer(v[0], 1, 64); }},
    Setting{"predict-batch", Kind::kValue,
            "predictions that wait and go to their worker together, 1 to 256 (default 64)",
            [](Config& c, const Values& v) { c.predict_batch = to_integer(v[0], 1, 256); }},
    Setting{"predict-delay-us", Kind::kValue,
            "microseconds that a prediction waits for others to go with it, 0 to 100000 (default 0)",
            [](Config& c, const Values& v) { c.predict_delay_us = to_integer(v[0], 0, 100'000); }},
    Setting{
        "cache-mib", Kind::kValue,
        "MiB of downloaded and inline data sets, parsed, beyond which those that no job has go, the ones used longest ago first; 0: no "
        "bound (default 65536)",
        [](Config& c, const Values& v) { c.cache_mib = to_integer(v[0], 0, std::int64_t{1099511627776}); }},
    Setting{"cache-by-tenant", Kind::kSwitch,
            "share no data set between tenants: none can tell from times or reports what another has fetched or sent",
            [](Config& c, const Values& v) { c.cache_by_tenant = to_switch(v[0]); }},
    Setting{"fetch-floor", Kind::kValue,
            "bytes per second: a download that is slower for 30 s ends; 0: none does (default 16384)",
            [](Config& c, const Values& v) { c.fetch_floor = to_integer(v[0], 0, kMostCount); }},
    Setting{"queue-deadline", Kind::kValue, "how long a job may wait for its turn; 0: any time (default 0)",
            [](Config& c, const Values& v) { c.queue_deadline_s = to_seconds(v[0]); }},
    Setting{"fetch-deadline", Kind::kValue, "how long a job's data may take; 0: any time (default 4h)",
            [](Config& c, const Values& v) { c.fetch_deadline_s = to_seconds(v[0]); }},
    Setting{"run-deadline", Kind::kValue, "how long a job may run; 0: any time (default 7d)",
            [](Config& c, const Values& v) { c.run_deadline_s = to_seconds(v[0]); }},
    Setting{"drain", Kind::kValue,
            "how long running jobs may go on when the server stops; then they are queued again (default 30s)",
            [](Config& c, const Values& v) { c.drain_s = to_seconds(v[0], 24 * 3600); }},
    Setting{"idle-end", Kind::kValue,
            "end after so long without a job and without a request: 15m, or seconds; 0: never (default 0)",
            [](Config& c, const Values& v) { c.idle_end = to_seconds(v[0], kLongestLease); }},
    Setting{"life-end", Kind::kValue, "end so long after the start, even if jobs run; 0: never (default 0)",
            [](Config& c, const Values& v) { c.life_end = to_seconds(v[0], kLongestLease); }},
    Setting{"price-per-hour", Kind::kValue,
            "USD that an hour of this machine costs, for the page; 0: not known (default 0)",
            [](Config& c, const Values& v) { c.price_per_hour = to_price(v[0]); }},
    Setting{
        "nvml", Kind::kValue,
        "library that /metrics reads figures of GPUs from; off: none (default libnvidia-ml.so.1, where there is one)",
        [](Config& c, const Values& v) { c.nvml = v[0] == "off" ? std::string() : v[0]; }},
    Setting{"log-level", Kind::kValue, "debug, info, warning, error or off (default info)",
            [](Config& c, const Values& v) { set_log_level(c, v[0]); }},
};

Values split(std::string_view text) {
  Values parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

void apply(Config& config, const Setting& setting, Values values, const std::string& where) {
  if (setting.kind == Kind::kList) {
    Values parts;
    for (const auto& value : values)
      for (auto& part : split(value)) parts.push_back(std::move(part));
    values = std::move(parts);
  } else if (values.size() != 1 || values[0].empty()) {
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} needs one value", where), where);
  }
  try {
    setting.set(config, values);
  } catch (const Error& e) {
    throw Error(e.code, fmt::format("{} {}", where, e.message), where);
  }
}

std::string with(std::string_view name, char from, char to) {
  std::string out(name);
  std::replace(out.begin(), out.end(), from, to);
  return out;
}

std::string toml_text(const toml::node& node, const std::string& where) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  throw Error(ErrorCode::kWrongType, fmt::format("{} must be text, an integer, true or false", where), where);
}

Values toml_values(const toml::node& node, const Setting& setting, const std::string& where) {
  if (!node.is_array()) return {toml_text(node, where)};
  if (setting.kind != Kind::kList)
    throw Error(ErrorCode::kWrongType, fmt::format("{} takes one value, not a list", where), where);
  Values values;
  for (const auto& element : *node.as_array()) values.push_back(toml_text(element, where));
  return values;
}

const Setting& find_setting(const std::string& name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) {
    if (setting.name == name) return setting;
    names.push_back(setting.name);
  }
  const std::string_view near = schema::nearest_name(name, names);
  throw Error(ErrorCode::kUnknownField,
              fmt::format("{}: there is no setting '{}'{}", where, name,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
              where);
}

void apply_table(Config& config, const toml::table& table, const std::string& name, const std::string& where_table) {
  for (const auto& [key, node] : table) {
    const std::string where = fmt::format("{}.{}", where_table, key.str());
    const Setting& setting = find_setting(with(name + "-" + std::string(key.str()), '_', '-'), where);
    apply(config, setting, toml_values(node, setting, where), where);
  }
}

void apply_file(Config& config, const std::string& file) {
  try {
    for (const auto& [key, node] : toml::parse_file(file)) {
      const std::string where = fmt::format("{}: {}", file, key.str());
      if (node.is_table()) {   // [cluster] with ranks is cluster-ranks
        apply_table(config, *node.as_table(), std::string(key.str()), where);
        continue;
      }
      const Setting& setting = find_setting(with(key.str(), '_', '-'), where);
      apply(config, setting, toml_values(node, setting, where), where);
    }
  } catch (const toml::parse_error& e) {
    throw Error(ErrorCode::kMalformed,
                fmt::format("{}, line {}: {}", file, e.source().begin.line, e.description()), file);
  }
}

std::string variable_of(const Setting& setting) {
  std::string name = "KEDGE_" + with(setting.name, '-', '_');
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::filesystem::path default_data_dir(const Environment& environment) {
  if (const auto state = environment("XDG_STATE_HOME"); state && !state->empty())
    return std::filesystem::path(*state) / "kedge";
  if (const auto home = environment("HOME"); home && !home->empty())
    return std::filesystem::path(*home) / ".local/state/kedge";
  throw Error(ErrorCode::kInvalidValue, "--data-dir is not set, and neither are XDG_STATE_HOME and HOME",
              "--data-dir");
}

// The certificate that `kedged init` has made.
void take_own_certificate(Config& config) {
  const auto certificate = config.data_dir / "tls" / "cert.pem", key = config.data_dir / "tls" / "key.pem";
  std::error_code ignored;
  if (!config.tls_cert.empty() || !std::filesystem::exists(certificate, ignored)) return;
  config.tls_cert = certificate.string(), config.tls_key = key.string();
}

std::string manual() {
  std::vector<ManualRow> rows{{"config", true, "TOML file with settings"}, {"help", false, "print all settings"}, {"version", false, "print the version"},
                              {"man", false, "print this page"}};
  for (const Setting& setting : kSettings) rows.push_back({setting.name, setting.kind != Kind::kSwitch, setting.doc});
  return manual_page(rows, version());
}

// Flags as given, by setting; `config_file`, or help and version in `print`.
std::map<std::string, Values> parse_flags(const std::vector<std::string>& arguments, std::string& config_file,
                                          std::string& print) {
  CLI::App app{"The Kedge server: runs scikit-learn pipelines that clients describe.", "kedged"};
  app.footer(
      "kedged init makes a certificate and a token; kedged token create|list|revoke keeps the tokens.\n"
      "kedged check-cluster starts the ranks of a cluster, compares them and measures the lines between them.\n"
      "Each setting is also read from KEDGE_NAME and from the TOML file of --config.");
  std::map<std::string, Values> given;
  bool show_version = false, show_manual = false;
  app.add_flag("--version", show_version, "print the version");
  app.add_flag("--man", show_manual, "print the manual page kedged(8)");
  app.add_option("--config", config_file, "TOML file with settings");
  for (const Setting& setting : kSettings) {
    const std::string name(setting.name);
    if (setting.kind == Kind::kSwitch)
      app.add_flag_callback(
          "--" + name, [&given, name] { given[name] = {"true"}; }, std::string(setting.doc));
    else
      app.add_option("--" + name, given[name], std::string(setting.doc))->allow_extra_args(false);
  }
  try {
    app.parse(Values(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    print = app.help();
  } catch (const CLI::ExtrasError&) {
    for (const auto& extra : app.remaining())
      if (extra.starts_with("--")) find_setting(extra.substr(2, extra.find('=') - 2), extra);
    throw Error(ErrorCode::kUnknownField, fmt::format("there is no argument '{}'", app.remaining().front()),
                app.remaining().front());
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorCode::kInvalidValue, e.what());
  }
  if (show_manual) print = manual();
  if (show_version) print = fmt::format("kedged {}\n", version());
  return given;
}

}  // namespace

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

std::string_view version() {
  return KEDGE_VERSION;
}
std::string_view commit() {
  return KEDGE_COMMIT;
}
std::string_view cuda_version() {
  return KEDGE_CUDA_VERSION;
}

Config load_config(const std::vector<std::string>& arguments, const Environment& environment) {
  Config config;
  std::string file;
  const auto flags = parse_flags(arguments, file, config.print);
  if (!config.print.empty()) return config;
  if (file.empty()) file = environment("KEDGE_CONFIG").value_or("");
  if (!file.empty()) apply_file(config, file);
  for (const Setting& setting : kSettings) {
    const std::string variable = variable_of(setting);
    if (const auto value = environment(variable.c_str()); value && !value->empty())
      apply(config, setting, {*value}, variable);
  }
  for (const Setting& setting : kSettings)
    if (const auto found = flags.find(std::string(setting.name));
        found != flags.end() && !found->second.empty())
      apply(config, setting, found->second, "--" + found->first);
  if (config.data_dir.empty()) config.data_dir = default_data_dir(environment);
  if (config.tls_cert.empty() != config.tls_key.empty())
    throw Error(ErrorCode::kInvalidValue, "--tls-cert and --tls-key must be given together", "--tls-cert");
  take_own_certificate(config);
  check_cluster(config);
  return config;
}

}  // namespace kedge::server
