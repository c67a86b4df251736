// The servers that `kedge login` keeps: address, token and pin by name, in one file for its owner alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kedge::cli {

struct KeptServer {
  std::string name, url;
  std::string token, pin;   // empty: none
};

class ServerList {
 public:
  // A file that others can read is closed to them, which stderr says. Errors: kInvalidValue, with the file's name, for
  // one that cannot be read.
  explicit ServerList(std::filesystem::path file = default_file());

  const std::vector<KeptServer>& servers() const { return servers_; }
  const KeptServer& find(const std::string& name) const;   // kNotFound, with the nearest name
  const std::filesystem::path& file() const { return file_; }
  // Both are on disk when they return. Errors: kUnavailable.
  void put(const KeptServer& server);     // in place of the one with its name
  void remove(const std::string& name);   // kNotFound

  // kedge/servers.json below XDG_CONFIG_HOME or ~/.config.
  static std::filesystem::path default_file();

 private:
  void save() const;

  std::filesystem::path file_;
  std::vector<KeptServer> servers_;   // by name
};

// Errors: kInvalidValue unless it has 1 to 64 letters, digits, '.', '_' and '-', and begins with no '-'.
void check_server_name(const std::string& name);

}   // namespace kedge::cli
