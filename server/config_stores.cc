// Keys have a file of their own, so that the configuration can be shown and a process's arguments say nothing.
#include "server/config_stores.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <toml++/toml.h>
#include <array>
#include <string>
#include <utility>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
  throw Error(ErrorCode::kInvalidValue, fmt::format("{}: {}", file.string(), problem), "stores");
}

std::array<std::pair<std::string_view, std::string*>, 6> fields_of(ObjectStore& store) {
  return {{{"prefix", &store.prefix},
           {"endpoint", &store.endpoint},
           {"region", &store.signing.region},
           {"access-key-id", &store.signing.key_id},
           {"secret-access-key", &store.signing.secret},
           {"session-token", &store.signing.token}}};
}

void check(const std::filesystem::path& file, std::size_t number, const ObjectStore& store) {
  const auto fail = [&](const std::string& problem) { refuse(file, fmt::format("store {}: {}", number, problem)); };
  if (!is_object_url(store.prefix) && !store.prefix.starts_with("hf://") && !store.prefix.starts_with("sklearn://"))
    fail(fmt::format("prefix is '{}', must begin with s3://, gs://, hf:// or sklearn://", store.prefix));
  const bool is_http = store.endpoint.starts_with("http://") || store.endpoint.starts_with("https://");
  if (!store.endpoint.empty() && (!is_http || store.endpoint.back() == '/'))
    fail(fmt::format("endpoint is '{}', must be http:// or https:// and a host, without a slash at the end",
                     store.endpoint));
  if (store.signing.key_id.empty() != store.signing.secret.empty())
    fail("access-key-id and secret-access-key go together");
  for (const std::string* text :
       {&store.signing.region, &store.signing.key_id, &store.signing.secret, &store.signing.token})
    if (text->find_first_of("\r\n") != std::string::npos) fail("a value has a line break");
}

ObjectStore read_store(const std::filesystem::path& file, std::size_t number, const toml::table& table) {
  ObjectStore store;
  for (const auto& [key, value] : table) {
    std::string* target = nullptr;
    for (const auto& [name, field] : fields_of(store))
      if (key.str() == name) target = field;
    const auto text = value.value<std::string>();
    if (!target) refuse(file, fmt::format("store {}: there is no setting '{}'", number, std::string_view(key.str())));
    if (!text) refuse(file, fmt::format("store {}: {} must be a text", number, std::string_view(key.str())));
    *target = *text;
  }
  check(file, number, store);
  return store;
}

void require_private(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) refuse(file, "cannot be read");
  constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
  if ((status.st_mode & kOfOthers) != 0) refuse(file, "holds keys, and others than its owner may read it: chmod 600");
}

}   // namespace

std::vector<ObjectStore> read_stores(const std::filesystem::path& file) {
  std::vector<ObjectStore> stores;
  if (file.empty()) return stores;
  require_private(file);
  toml::table table;
  try {
    table = toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    refuse(file, fmt::format("line {}: {}", error.source().begin.line, std::string_view(error.description())));
  }
  const toml::array* const entries = table["store"].as_array();
  if (!entries || table.size() != 1) refuse(file, "must have [[store]] tables and nothing else");
  for (const toml::node& entry : *entries) {
    if (!entry.is_table()) refuse(file, "must have [[store]] tables and nothing else");
    stores.push_back(read_store(file, stores.size() + 1, *entry.as_table()));
  }
  return stores;
}

}   // namespace kedge::server
