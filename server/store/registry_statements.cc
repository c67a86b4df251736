// Reading and writing the model registry: see registry_statements.h.
#include "server/store/registry_statements.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMostNames = 10'000;      // of a tenant
constexpr std::int64_t kMostVersions = 10'000;   // that a name has at a time
constexpr std::int64_t kMostAliases = 100;       // of a name

constexpr std::string_view kNameColumns =
    "SELECT name, created, updated, description, tags, "
    "(SELECT COALESCE(MAX(version), 0) FROM model_versions v WHERE v.tenant = r.tenant AND v.name = r.name), "
    "(SELECT COUNT(*) FROM model_versions v WHERE v.tenant = r.tenant AND v.name = r.name) FROM registered_models r";

std::string tags_text(const schema::ValueMap& tags) {
  return schema::value_to_json(schema::Value(tags));
}

schema::ValueMap tags_of(const std::string& text) {
  schema::Value value = schema::value_from_json(text);
  auto* tags = std::get_if<schema::ValueMap>(&value.data);
  return tags ? std::move(*tags) : schema::ValueMap();
}

// Changed ones in their place, new ones at the end, those that are null removed.
schema::ValueMap merged(schema::ValueMap tags, const schema::ValueMap& changes) {
  for (const auto& [name, value] : changes) {
    const auto found = std::ranges::find(tags, name, [](const auto& tag) { return tag.first; });
    if (value.is_null()) {
      if (found != tags.end()) tags.erase(found);
    } else if (found != tags.end()) {
      found->second = value;
    } else {
      tags.emplace_back(name, value);
    }
  }
  return tags;
}

std::string edited(const std::string& description, const schema::RegistryEdit& edit) {
  const std::string* text = edit.description ? std::get_if<std::string>(&edit.description->data) : nullptr;
  return text ? *text : description;
}

void run_to_end(SqliteStatement::Rows& rows) {   // a statement with RETURNING takes effect for good only then
  while (rows.next()) {
  }
}

}   // namespace

RegistryReader::RegistryReader(SqliteConnection& connection)
    : connection_(connection),
      find_(connection, fmt::format("{} WHERE tenant = ?1 AND name = ?2", kNameColumns)),
      list_(connection, fmt::format("{} WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT ?3", kNameColumns)),
      versions_(connection,
                "SELECT version, model, created, description, tags FROM model_versions "
                "WHERE tenant = ?1 AND name = ?2 AND version <= ?3 ORDER BY version DESC LIMIT ?4"),
      aliases_(connection, "SELECT alias, version FROM model_aliases WHERE tenant = ?1 AND name = ?2 ORDER BY alias"),
      version_aliases_(connection,
                       "SELECT alias FROM model_aliases WHERE tenant = ?1 AND name = ?2 AND version = ?3 "
                       "ORDER BY alias"),
      alias_(connection, "SELECT version FROM model_aliases WHERE tenant = ?1 AND name = ?2 AND alias = ?3"),
      highest_(connection, "SELECT COALESCE(MAX(version), 0) FROM model_versions WHERE tenant = ?1 AND name = ?2"),
      version_of_(connection, "SELECT version FROM model_versions WHERE model = ?3 AND tenant = ?1 AND name = ?2"),
      registration_(connection, "SELECT name, version FROM model_versions WHERE model = ?1 LIMIT 1"),
      count_names_(connection, "SELECT COUNT(*) FROM registered_models WHERE tenant = ?1") {}

schema::RegisteredModel RegistryReader::read_model(const SqliteStatement::Rows& rows, std::string_view tenant) {
  schema::RegisteredModel model{.name = rows.text(0),
                                .created = rows.text(1),
                                .updated = rows.text(2),
                                .description = rows.text(3),
                                .tags = tags_of(rows.text(4)),
                                .latestVersion = rows.integer(5),
                                .versions = rows.integer(6)};
  for (SqliteStatement::Rows aliases = aliases_.open(tenant, model.name); aliases.next();)
    model.aliases.emplace_back(aliases.text(0), aliases.integer(1));
  return model;
}

schema::ModelVersion RegistryReader::read_version(const SqliteStatement::Rows& rows, std::string_view tenant,
                                                  std::string_view name) {
  schema::ModelVersion version{.name = std::string(name),
                               .version = rows.integer(0),
                               .model = rows.text(1),
                               .created = rows.text(2),
                               .description = rows.text(3),
                               .tags = tags_of(rows.text(4))};
  for (SqliteStatement::Rows aliases = version_aliases_.open(tenant, name, version.version); aliases.next();)
    version.aliases.push_back(aliases.text(0));
  return version;
}

std::optional<schema::RegisteredModel> RegistryReader::find(std::string_view tenant, std::string_view name) {
  SqliteStatement::Rows rows = find_.open(tenant, name);
  if (!rows.next()) return std::nullopt;
  return read_model(rows, tenant);
}

schema::RegisteredModelPage RegistryReader::list(std::string_view tenant, std::int64_t page_size,
                                                 std::string_view after) {
  schema::RegisteredModelPage page;
  SqliteStatement::Rows rows =
      list_.open(tenant, after, page_size + 1);   // one more shows whether there is a next page
  while (rows.next()) {
    if (static_cast<std::int64_t>(page.models.size()) == page_size) {
      page.nextPageToken = page.models.back().name;
      break;
    }
    page.models.push_back(read_model(rows, tenant));
  }
  return page;
}

std::optional<schema::ModelVersion> RegistryReader::version(std::string_view tenant, std::string_view name,
                                                            std::int64_t version) {
  SqliteStatement::Rows rows = versions_.open(tenant, name, version, std::int64_t{1});
  if (!rows.next() || rows.integer(0) != version) return std::nullopt;
  return read_version(rows, tenant, name);
}

schema::ModelVersionPage RegistryReader::versions(std::string_view tenant, std::string_view name,
                                                  std::int64_t page_size, std::int64_t before) {
  schema::ModelVersionPage page;
  const std::int64_t most = before > 0 ? before - 1 : std::numeric_limits<std::int64_t>::max();
  SqliteStatement::Rows rows = versions_.open(tenant, name, most, page_size + 1);
  while (rows.next()) {
    if (static_cast<std::int64_t>(page.versions.size()) == page_size) {
      page.nextPageToken = std::to_string(page.versions.back().version);
      break;
    }
    page.versions.push_back(read_version(rows, tenant, name));
  }
  return page;
}

std::optional<std::int64_t> RegistryReader::alias(std::string_view tenant, std::string_view name,
                                                  std::string_view alias) {
  SqliteStatement::Rows rows = alias_.open(tenant, name, alias);
  return rows.next() ? std::optional(rows.integer(0)) : std::nullopt;
}

std::int64_t RegistryReader::highest(std::string_view tenant, std::string_view name) {
  SqliteStatement::Rows rows = highest_.open(tenant, name);
  return rows.next() ? rows.integer(0) : 0;
}

std::optional<std::int64_t> RegistryReader::version_of(std::string_view tenant, std::string_view name,
                                                       std::string_view model) {
  SqliteStatement::Rows rows = version_of_.open(tenant, name, model);
  return rows.next() ? std::optional(rows.integer(0)) : std::nullopt;
}

std::string RegistryReader::registration_of(std::string_view model) {
  SqliteStatement::Rows rows = registration_.open(model);
  return rows.next() ? fmt::format("{}/{}", rows.text(0), rows.integer(1)) : std::string();
}

void RegistryReader::require_room(std::string_view tenant, std::string_view name) {
  if (const std::optional<schema::RegisteredModel> registered = find(tenant, name)) {
    if (registered->versions < kMostVersions) return;
    throw Error(ErrorCode::kConflict, fmt::format("'{}' has {} versions, may have {}; delete some", name,
                                                  registered->versions, kMostVersions));
  }
  SqliteStatement::Rows count = count_names_.open(tenant);
  if (count.next() && count.integer(0) >= kMostNames)
    throw Error(ErrorCode::kConflict,
                fmt::format("{} names are registered, at most {} may be", count.integer(0), kMostNames));
}

std::set<std::string> RegistryReader::registered_models() {
  SqliteStatement statement(connection_, "SELECT DISTINCT model FROM model_versions");
  std::set<std::string> models;
  for (SqliteStatement::Rows rows = statement.open(); rows.next();) models.insert(rows.text(0));
  return models;
}

RegistryWriter::RegistryWriter(SqliteConnection& connection)
    : reader_(connection),
      has_model_(connection, "SELECT 1 FROM models WHERE id = ?1"),
      insert_name_(connection,
                   "INSERT INTO registered_models (tenant, name, created, updated) VALUES (?1, ?2, ?3, ?3)"),
      take_number_(connection,
                   "UPDATE registered_models SET last_version = last_version + 1, updated = ?3 "
                   "WHERE tenant = ?1 AND name = ?2 RETURNING last_version"),
      insert_version_(connection,
                      "INSERT INTO model_versions (tenant, name, version, model, created, description, tags) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
      touch_(connection, "UPDATE registered_models SET updated = ?3 WHERE tenant = ?1 AND name = ?2"),
      set_alias_(connection,
                 "INSERT INTO model_aliases (tenant, name, alias, version) VALUES (?1, ?2, ?3, ?4) "
                 "ON CONFLICT (tenant, name, alias) DO UPDATE SET version = ?4"),
      count_aliases_(connection, "SELECT COUNT(*) FROM model_aliases WHERE tenant = ?1 AND name = ?2"),
      remove_alias_(connection, "DELETE FROM model_aliases WHERE tenant = ?1 AND name = ?2 AND alias = ?3"),
      edit_name_(connection,
                 "UPDATE registered_models SET description = ?3, tags = ?4, updated = ?5 "
                 "WHERE tenant = ?1 AND name = ?2"),
      edit_version_(connection,
                    "UPDATE model_versions SET description = ?4, tags = ?5 "
                    "WHERE tenant = ?1 AND name = ?2 AND version = ?3"),
      remove_version_(connection, "DELETE FROM model_versions WHERE tenant = ?1 AND name = ?2 AND version = ?3"),
      remove_name_(connection, "DELETE FROM registered_models WHERE tenant = ?1 AND name = ?2"),
      remove_versions_(connection, "DELETE FROM model_versions WHERE tenant = ?1 AND name = ?2"),
      remove_aliases_(connection, "DELETE FROM model_aliases WHERE tenant = ?1 AND name = ?2") {}

schema::RegisteredModel RegistryWriter::existing(std::string_view tenant, std::string_view name) {
  std::optional<schema::RegisteredModel> found = reader_.find(tenant, name);
  if (!found) throw Error(ErrorCode::kNotFound, fmt::format("there is no registered model '{}'", name));
  return std::move(*found);
}

schema::ModelVersion RegistryWriter::existing_version(std::string_view tenant, std::string_view name,
                                                      std::int64_t version) {
  existing(tenant, name);
  std::optional<schema::ModelVersion> found = reader_.version(tenant, name, version);
  if (!found)
    throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no version {}", name, version),
                "version");
  return std::move(*found);
}

RegistryWriter::Added RegistryWriter::add_version(std::string_view tenant, schema::ModelVersion version) {
  const std::string& name = version.name;
  if (const auto known = reader_.version_of(tenant, name, version.model))
    return {.version = existing_version(tenant, name, *known), .is_new = false};
  if (SqliteStatement::Rows rows = has_model_.open(version.model); !rows.next())
    throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", version.model), "model");
  reader_.require_room(tenant, name);
  if (!reader_.find(tenant, name)) insert_name_.run(tenant, name, version.created);
  {
    SqliteStatement::Rows rows = take_number_.open(tenant, name, version.created);
    if (rows.next()) version.version = rows.integer(0);
    run_to_end(rows);
  }
  insert_version_.run(tenant, name, version.version, version.model, version.created, version.description,
                      tags_text(version.tags));
  return {.version = std::move(version)};
}

schema::ModelVersion RegistryWriter::set_alias(std::string_view tenant, std::string_view name, std::string_view alias,
                                               std::int64_t version, std::string_view time) {
  existing_version(tenant, name, version);
  if (!reader_.alias(tenant, name, alias)) {
    SqliteStatement::Rows count = count_aliases_.open(tenant, name);
    if (count.next() && count.integer(0) >= kMostAliases)
      throw Error(ErrorCode::kConflict,
                  fmt::format("'{}' has {} aliases, may have {}", name, count.integer(0), kMostAliases));
  }
  set_alias_.run(tenant, name, alias, version);
  touch_.run(tenant, name, time);
  return existing_version(tenant, name, version);
}

void RegistryWriter::remove_alias(std::string_view tenant, std::string_view name, std::string_view alias,
                                  std::string_view time) {
  existing(tenant, name);
  if (!reader_.alias(tenant, name, alias))
    throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no alias '{}'", name, alias));
  remove_alias_.run(tenant, name, alias);
  touch_.run(tenant, name, time);
}

void RegistryWriter::edit(std::string_view tenant, std::string_view name, const schema::RegistryEdit& edit,
                          std::string_view time) {
  const schema::RegisteredModel model = existing(tenant, name);
  edit_name_.run(tenant, name, edited(model.description, edit), tags_text(merged(model.tags, edit.tags)), time);
}

void RegistryWriter::edit_version(std::string_view tenant, std::string_view name, std::int64_t version,
                                  const schema::RegistryEdit& edit, std::string_view time) {
  const schema::ModelVersion found = existing_version(tenant, name, version);
  edit_version_.run(tenant, name, version, edited(found.description, edit), tags_text(merged(found.tags, edit.tags)));
  touch_.run(tenant, name, time);
}

void RegistryWriter::remove_version(std::string_view tenant, std::string_view name, std::int64_t version,
                                    std::string_view time) {
  const schema::ModelVersion found = existing_version(tenant, name, version);
  if (!found.aliases.empty())
    throw Error(ErrorCode::kConflict,
                fmt::format("version {} of '{}' has the alias '{}'; move or delete the alias first", version, name,
                            found.aliases.front()));
  remove_version_.run(tenant, name, version);
  touch_.run(tenant, name, time);
}

void RegistryWriter::remove(std::string_view tenant, std::string_view name) {
  existing(tenant, name);
  remove_aliases_.run(tenant, name);
  remove_versions_.run(tenant, name);
  remove_name_.run(tenant, name);
}

void RegistryWriter::require_unregistered(std::string_view model) {
  if (const std::string version = reader_.registration_of(model); !version.empty())
    throw Error(ErrorCode::kConflict,
                fmt::format("the model '{}' is registered as {}; delete that version first", model, version));
}

}   // namespace kedge::server
