// The statements of the model registry, on a connection of the job store: names, versions, aliases.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "schemas/registry.h"
#include "server/store/sqlite.h"

namespace kedge::server {

// For one thread at a time. Names belong to tenants: equal names of two tenants have nothing to do with each other.
class RegistryReader {
 public:
  explicit RegistryReader(SqliteConnection& connection);

  std::optional<schema::RegisteredModel> find(std::string_view tenant, std::string_view name);
  // By name, after `after`.
  schema::RegisteredModelPage list(std::string_view tenant, std::int64_t page_size, std::string_view after);
  std::optional<schema::ModelVersion> version(std::string_view tenant, std::string_view name, std::int64_t version);
  // The highest first, below `before`; 0: from the top.
  schema::ModelVersionPage versions(std::string_view tenant, std::string_view name, std::int64_t page_size,
                                    std::int64_t before);
  std::optional<std::int64_t> alias(std::string_view tenant, std::string_view name, std::string_view alias);
  std::int64_t highest(std::string_view tenant, std::string_view name);   // 0: there is no version
  // Errors: kConflict when the name can have no further version, or the tenant no further name.
  void require_room(std::string_view tenant, std::string_view name);
  std::optional<std::int64_t> version_of(std::string_view tenant, std::string_view name, std::string_view model);
  // "iris/3" of a registered model, of any tenant; empty: it is not registered.
  std::string registration_of(std::string_view model);
  std::set<std::string> registered_models();   // ids of stored models that have a version

 private:
  schema::RegisteredModel read_model(const SqliteStatement::Rows& rows, std::string_view tenant);
  schema::ModelVersion read_version(const SqliteStatement::Rows& rows, std::string_view tenant, std::string_view name);

  SqliteConnection& connection_;
  SqliteStatement find_, list_, versions_, aliases_, version_aliases_, alias_, highest_, version_of_, registration_,
      count_names_;
};

// Steps of one transaction. What does not hold is thrown as schema::Error, and then nothing of the write takes place.
class RegistryWriter {
 public:
  explicit RegistryWriter(SqliteConnection& connection);

  // Gives version.model the next number of version.name, which the first version creates. A model that has a version
  // of this name gets that one again, unchanged: `is_new` says so. Errors: kNotFound when the model is not stored,
  // kConflict beyond the bounds of names and versions.
  struct Added {
    schema::ModelVersion version;
    bool is_new = true;
  };
  Added add_version(std::string_view tenant, schema::ModelVersion version);
  // Errors of the next ones: kNotFound for a name, version or alias that is not there.
  schema::ModelVersion set_alias(std::string_view tenant, std::string_view name, std::string_view alias,
                                 std::int64_t version, std::string_view time);
  void remove_alias(std::string_view tenant, std::string_view name, std::string_view alias, std::string_view time);
  void edit(std::string_view tenant, std::string_view name, const schema::RegistryEdit& edit, std::string_view time);
  void edit_version(std::string_view tenant, std::string_view name, std::int64_t version,
                    const schema::RegistryEdit& edit, std::string_view time);
  // kConflict when an alias names the version.
  void remove_version(std::string_view tenant, std::string_view name, std::int64_t version, std::string_view time);
  void remove(std::string_view tenant, std::string_view name);   // with its versions and aliases
  // Errors: kConflict, which names the version, when the stored model is registered.
  void require_unregistered(std::string_view model);

 private:
  schema::RegisteredModel existing(std::string_view tenant, std::string_view name);
  schema::ModelVersion existing_version(std::string_view tenant, std::string_view name, std::int64_t version);

  RegistryReader reader_;
  SqliteStatement has_model_, insert_name_, take_number_, insert_version_, touch_, set_alias_, count_aliases_,
      remove_alias_, edit_name_, edit_version_, remove_version_, remove_name_, remove_versions_, remove_aliases_;
};

}   // namespace kedge::server
