// What the operator can set: flags over environment (KEDGE_...) over a TOML file over defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

struct Config {
  std::string listen_host = "127.0.0.1";  // an IP address
  std::uint16_t listen_port = 5334;       // 0: a free one
  bool insecure_listen = false;           // beyond loopback, although there is no authentication
  std::vector<std::string> allowed_origins;   // of web pages that may call the server, in addition to its own
  std::vector<std::string> allowed_hosts;     // that Host may name in addition to loopback; empty: beyond loopback any
  std::string tls_cert, tls_key;   // PEM file or text; empty: those in data_dir/tls, if there, otherwise plain HTTP
  std::string tls_client_ca;              // PEM file or text; empty: clients need no certificate
  std::string token_sha256;               // hex, of one more token; empty: none
  std::size_t tenant_jobs = 20'000;       // open jobs, event streams, downloads and stored bytes of one tenant; 0: no bound
  std::size_t tenant_fetches = 8;
  std::size_t tenant_streams = 12'000;
  std::uint64_t tenant_bytes = std::uint64_t{64} << 30;
  std::map<std::string, double> tenant_weights;   // shares of the devices; a tenant that is not named has 1
  double tenant_rate = 0;                 // requests per second of one tenant; 0: no bound
  bool json_log = false;
  std::filesystem::path port_file;        // gets the port once it is open; empty: none
  std::filesystem::path data_dir;
  std::string openml_url = "https://www.openml.org";
  std::vector<std::string> allow_fetch;
  std::filesystem::path stores;      // file of object stores and their keys; empty: none
  std::filesystem::path worker;      // empty: kedge-worker in the folder of kedged
  std::vector<std::string> devices;  // empty: every one that is there
  int cluster_ranks = 0;             // of the device "cluster"; 0: there is none
  std::string cluster_launcher = "mpirun", cluster_device = "cpu", cluster_command;
  std::vector<std::string> cluster_hosts;
  std::filesystem::path cluster_key;   // of the hosts' agents; empty: mpirun uses ssh
  std::int64_t threads = 0;          // of a worker's computation; 0: all cores
  std::int64_t worker_memory_mib = 0;   // address space of a worker without a GPU; 0: no bound
  std::int64_t keep_jobs_s = 30 * 24 * 3600, keep_events_s = 7 * 24 * 3600;   // after a job's end; 0: forever
  std::int64_t keep_mib = 8 * 1024;     // of jobs, events and results; 0: no bound
  std::int64_t keep_models_mib = 32 * 1024, tenant_models_mib = 8 * 1024;   // that jobs have left, in all and of one tenant; 0: no bound
  std::int64_t predict_workers = 2;                                         // processes that answer questions to models
  std::int64_t predict_batch = 64,
               predict_delay_us =
                   0;   // questions to models that go to their worker together, and how long one waits for others
  std::int64_t keep_uploads_s = 3600;                                       // that were broken off; 0: not
  std::int64_t tenant_content_mib = 16 * 1024;   // of one tenant's uploads without a name; 0: no bound
  std::int64_t queue_deadline_s = 0, fetch_deadline_s = 4 * 3600, run_deadline_s = 7 * 24 * 3600;   // of any job; 0: none
  std::int64_t cache_mib = 64 * 1024;   // of parsed data sets without uploads; 0: no bound
  bool cache_by_tenant = false;         // tenants share no data sets
  std::int64_t fetch_floor = 16 * 1024;   // bytes per second; 0: none
  std::int64_t drain_s = 30;            // for running jobs when the server stops
  std::int64_t idle_end = 0, life_end = 0;  // s; see lease.h; 0: never
  double price_per_hour = 0;                // USD, of the rented machine with the others of its gang; 0: not known
  std::string nvml = "libnvidia-ml.so.1";   // that figures of GPUs are read from; empty: none
  std::string log_level = "info";
  std::string print;  // not empty: print this (help, version) and exit
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// `arguments` without the program's name. Errors: kUnknownField for a flag or key that does not exist
// (nearest name suggested), kInvalidValue for what cannot be used; `where` names the flag, the variable, or
// file and key.
Config load_config(const std::vector<std::string>& arguments, const Environment& environment);

// True for the addresses that only this machine reaches.
bool is_loopback(const std::string& host);

std::string_view version();
std::string_view commit();         // "unknown" where the sources came without git
std::string_view cuda_version();   // of the toolkit that the kernels were built with; "none" without

}  // namespace kedge::server
