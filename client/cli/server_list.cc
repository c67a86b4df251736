// servers.json.
#include "client/cli/server_list.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "client/cli/whole_file.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string text_of(const ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (const auto* text = std::get_if<std::string>(&value.data); text && name == key) return *text;
  return {};
}

// {"servers": [{"name", "url", "token", "pin"}]}
std::vector<KeptServer> parse(const std::string& text) {
  std::vector<KeptServer> servers;
  const Value root = schema::value_from_json(text);
  for (const auto& [key, list] : std::get<ValueMap>(root.data)) {
    if (key != "servers") continue;
    for (const Value& entry : std::get<ValueList>(list.data)) {
      const auto& map = std::get<ValueMap>(entry.data);
      servers.push_back({.name = text_of(map, "name"),
                         .url = text_of(map, "url"),
                         .token = text_of(map, "token"),
                         .pin = text_of(map, "pin")});
    }
  }
  return servers;
}

void close_to_others(const fs::path& file) {
  struct stat status{};
  constexpr mode_t kOthers = 077;
  if (::stat(file.c_str(), &status) != 0 || (status.st_mode & kOthers) == 0) return;
  ::chmod(file.c_str(), 0600);
  fmt::print(stderr,
             "{} could be read by others; it is for its owner alone now. If others use this machine, have its tokens "
             "revoked.\n",
             file.string());
}

}   // namespace

fs::path ServerList::default_file() {
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty())
    return fs::path(config) / "kedge/servers.json";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".config/kedge/servers.json";
  throw Error(ErrorCode::kInvalidValue,
              "neither XDG_CONFIG_HOME nor HOME is set, so there is no place for the names of servers", "HOME");
}

ServerList::ServerList(fs::path file) : file_(std::move(file)) {
  std::ifstream in(file_, std::ios::binary);
  if (!in) return;   // none were kept so far
  close_to_others(file_);
  try {
    servers_ = parse({std::istreambuf_iterator<char>(in), {}});
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} is not what `kedge login` writes ({}): mend or remove it",
                                                      file_.string(), error.what()));
  }
}

const KeptServer& ServerList::find(const std::string& name) const {
  std::vector<std::string_view> names;
  for (const KeptServer& server : servers_) {
    if (server.name == name) return server;
    names.push_back(server.name);
  }
  const std::string_view near = schema::nearest_name(name, names);
  throw Error(ErrorCode::kNotFound,
              fmt::format("no server is kept as '{}'{}", name,
                          name.find("://") != std::string::npos ? "; an address goes into --url"
                          : near.empty()                        ? "; `kedge login URL` keeps one"
                                                                : fmt::format("; did you mean '{}'?", near)));
}

void ServerList::put(const KeptServer& server) {
  std::erase_if(servers_, [&](const KeptServer& other) { return other.name == server.name; });
  servers_.push_back(server);
  std::ranges::sort(servers_, {}, &KeptServer::name);
  save();
}

void ServerList::remove(const std::string& name) {
  find(name);
  std::erase_if(servers_, [&](const KeptServer& other) { return other.name == name; });
  save();
}

void ServerList::save() const {
  std::error_code error;
  if (fs::create_directories(file_.parent_path(), error))
    fs::permissions(file_.parent_path(), fs::perms::owner_all, error);
  ValueList list;
  for (const KeptServer& server : servers_) {
    ValueMap entry{{"name", server.name}, {"url", server.url}};
    if (!server.token.empty()) entry.emplace_back("token", server.token);
    if (!server.pin.empty()) entry.emplace_back("pin", server.pin);
    list.emplace_back(std::move(entry));
  }
  WholeFile out(file_, 0600);
  out.write(schema::value_to_json(Value(ValueMap{{"servers", std::move(list)}})) + "\n");
  out.finish();
}

void check_server_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= 64 && name.front() != '-' && std::ranges::all_of(name, is_plain)) return;
  throw Error(
      ErrorCode::kInvalidValue,
      fmt::format("--name is '{}', must be 1 to 64 letters, digits, '.', '_' and '-' that begin with no '-'", name),
      "--name");
}

}   // namespace kedge::cli
