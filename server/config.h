// What the operator can set: flags over environment (KEDGE_...) over a TOML file over defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

struct Config {
  std::string listen_host = "127.0.0.1";  // an IP address
  std::uint16_t listen_port = 5334;       // 0: a free one
  bool insecure_listen = false;           // beyond loopback, although there is no authentication
  std::filesystem::path port_file;        // gets the port once it is open; empty: none
  std::filesystem::path data_dir;
  std::string openml_url = "https://www.openml.org";
  std::vector<std::string> allow_fetch;
  std::filesystem::path worker;      // empty: kedge-worker beside kedged
  std::vector<std::string> devices;  // empty: every one that is there
  std::int64_t threads = 0;          // of a worker's computation; 0: all cores
  std::int64_t idle_end = 0, life_end = 0;  // s; see lease.h; 0: never
  std::string log_level = "info";
  std::string print;  // not empty: print this (help, version) and exit
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// `arguments` without the program's name. Errors: kUnknownField for a flag or key that does not exist
// (nearest name suggested), kInvalidValue for what cannot be used; `where` names the flag, the variable, or
// file and key.
Config load_config(const std::vector<std::string>& arguments, const Environment& environment);

std::string_view version();

}  // namespace kedge::server
