// Names, versions and aliases of models: see model_registry.h.
#include "server/jobs/model_registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/store/clock.h"
#include "server/store/job_search.h"
#include "server/store/registry_statements.h"
#include "server/store/write_and_wait.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kIdPrefix = "mdl_", kDefaultAlias = "default";
constexpr std::size_t kLongestName = 128, kLongestAlias = 64, kLongestDescription = 5'000;
constexpr std::size_t kMostTags = 64, kLongestTagName = 250, kMostTagBytes = 16 << 10;
constexpr std::size_t kMostKnown = 4'096;   // references that are remembered

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool consists_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return is_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos; });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && (is_letter(text[0]) || is_digit(text[0])) &&
         consists_of(text, "._-") && !text.starts_with(kIdPrefix);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

// "latest" and "v3" are left out, because MLflow gives them a meaning of their own.
void check_alias(std::string_view alias) {
  const bool is_version = alias.size() > 1 && alias[0] == 'v' && number_of(alias.substr(1));
  if (!alias.empty() && alias.size() <= kLongestAlias && is_letter(alias[0]) && consists_of(alias, "_-") &&
      alias != "latest" && !is_version)
    return;
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("the alias is '{}', must be 1 to {} letters, digits, '_' or '-', begin with a letter, and be "
                          "neither 'latest' nor 'v' and a number",
                          alias, kLongestAlias),
              "alias");
}

void check_description(std::string_view text) {
  if (text.size() > kLongestDescription)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("the description has {} bytes, may have {}", text.size(), kLongestDescription),
                "description");
}

// may_remove: whether null stands for the removal of a tag.
void check_tags(const schema::ValueMap& tags, bool may_remove) {
  if (tags.size() > kMostTags)
    throw Error(ErrorCode::kInvalidValue, fmt::format("there are {} tags, may be {}", tags.size(), kMostTags), "tags");
  std::size_t bytes = 0;
  for (const auto& [name, value] : tags) {
    const auto* text = std::get_if<std::string>(&value.data);
    const std::string where = "tags." + name;
    if (name.empty() || name.size() > kLongestTagName)
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("the name of a tag has {} bytes, must have 1 to {}", name.size(), kLongestTagName),
                  "tags");
    if (!text && !(may_remove && value.is_null()))
      throw Error(ErrorCode::kWrongType, fmt::format("{} must be a text{}", where, may_remove ? " or null" : ""),
                  where);
    bytes += name.size() + (text ? text->size() : 0);
  }
  if (bytes > kMostTagBytes)
    throw Error(ErrorCode::kInvalidValue, fmt::format("the tags have {} bytes, may have {}", bytes, kMostTagBytes),
                "tags");
}

void check_edit(const schema::RegistryEdit& edit) {
  if (edit.description) {
    const auto* text = std::get_if<std::string>(&edit.description->data);
    if (!text) throw Error(ErrorCode::kWrongType, "description must be a text", "description");
    check_description(*text);
  }
  check_tags(edit.tags, true);
}

std::string now() {
  return format_time(std::chrono::system_clock::now());
}

[[noreturn]] void throw_no_model(std::string_view reference) {
  throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", reference));
}

// The version that a reference's parts mean; 0: there is no version at all.
std::int64_t version_meant(RegistryReader& reader, std::string_view tenant, std::string_view name,
                           std::string_view alias) {
  const auto named = reader.alias(tenant, name, alias.empty() ? kDefaultAlias : alias);
  if (named) return *named;
  if (!alias.empty())
    throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no alias '{}'", name, alias));
  return reader.highest(tenant, name);
}

void check_name(std::string_view name, std::string_view where) {
  if (is_name(name)) return;
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("the name is '{}', must be 1 to {} letters, digits, '.', '_' or '-', begin with a letter or "
                          "digit, and not with '{}'",
                          name, kLongestName, kIdPrefix),
              std::string(where));
}

// Of the kind that the store keeps: fits of all rows.
struct StoresModel {
  bool operator()(const schema::Fit&) const { return true; }
  bool operator()(const schema::GridSearch& task) const { return task.refit != schema::Value(false); }
  bool operator()(const schema::RandomizedSearch& task) const { return task.refit != schema::Value(false); }
  bool operator()(const schema::HalvingGridSearch& task) const { return task.refit; }
  bool operator()(const schema::PermutationImportance& task) const { return !task.fitScore; }
  bool operator()(const schema::PartialDependence& task) const { return !task.fitScore; }
  bool operator()(const auto&) const { return false; }
};

// What references meant when they were last looked up is kept, so that a prediction by name reads no disk.
class StoreRegistry final : public ModelRegistry {
 public:
  explicit StoreRegistry(Store& store) : store_(store) {}

  std::string resolve(const std::string& tenant, std::string_view reference) const override;
  std::optional<Meaning> known(const std::string& tenant, std::string_view reference) const override;
  schema::RegisteredModelPage list(const std::string& tenant, std::int64_t page_size,
                                   std::string_view token) const override;
  schema::RegisteredModel find(const std::string& tenant, std::string_view name) const override;
  schema::ModelVersionPage versions(const std::string& tenant, std::string_view name, std::int64_t page_size,
                                    std::int64_t before) const override;
  schema::ModelVersion version(const std::string& tenant, std::string_view name, std::int64_t version) const override;
  schema::ModelVersion alias(const std::string& tenant, std::string_view name, std::string_view alias) const override;
  void require_room(const std::string& tenant, std::string_view name) const override;
  Registered add(const std::string& tenant, std::string_view name, schema::NewModelVersion version) override;
  schema::ModelVersion set_alias(const std::string& tenant, std::string_view name, std::string_view alias,
                                 std::int64_t version) override;
  void remove_alias(const std::string& tenant, std::string_view name, std::string_view alias) override;
  schema::RegisteredModel edit(const std::string& tenant, std::string_view name,
                               const schema::RegistryEdit& edit) override;
  schema::ModelVersion edit_version(const std::string& tenant, std::string_view name, std::int64_t version,
                                    const schema::RegistryEdit& edit) override;
  void remove_version(const std::string& tenant, std::string_view name, std::int64_t version) override;
  void remove(const std::string& tenant, std::string_view name) override;

 private:
  Meaning look_up(const std::string& tenant, std::string_view reference) const;
  void write(const std::function<void(RegistryWriter&)>& step);
  void drop_stale() const;

  Store& store_;
  mutable std::mutex mutex_;                                               // guards what follows
  mutable std::map<std::pair<std::string, std::string>, Meaning> known_;   // by tenant and reference
  mutable std::uint64_t known_at_ = 0;   // the store's count of changes that they hold for
};

std::string StoreRegistry::resolve(const std::string& tenant, std::string_view reference) const {
  if (reference.starts_with(kIdPrefix)) return std::string(reference);
  std::pair key(tenant, std::string(reference));
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    drop_stale();
    if (const auto known = known_.find(key); known != known_.end()) return known->second.model;
    before = known_at_;
  }
  Meaning found = look_up(tenant, reference);
  std::string model = found.model;
  const std::lock_guard lock(mutex_);
  drop_stale();
  if (known_.size() >= kMostKnown) known_.clear();
  if (before == known_at_) known_.emplace(std::move(key), std::move(found));
  return model;
}

std::optional<ModelRegistry::Meaning> StoreRegistry::known(const std::string& tenant,
                                                           std::string_view reference) const {
  if (reference.starts_with(kIdPrefix)) return Meaning{.model = std::string(reference)};
  const std::lock_guard lock(mutex_);
  drop_stale();
  const auto found = known_.find(std::pair(tenant, std::string(reference)));
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

ModelRegistry::Meaning StoreRegistry::look_up(const std::string& tenant, std::string_view reference) const {
  const std::size_t mark = reference.find_first_of("@/");
  const std::string_view name = reference.substr(0, mark);
  const bool has_alias = mark != std::string_view::npos && reference[mark] == '@';
  const std::string_view rest = mark == std::string_view::npos ? std::string_view() : reference.substr(mark + 1);
  const std::optional<std::int64_t> number = number_of(rest);
  if (!is_name(name) || (mark != std::string_view::npos && (has_alias ? rest.empty() : !number)))
    throw_no_model(reference);
  Meaning meaning;
  store_.read_registry([&](RegistryReader& reader) {
    if (!reader.find(tenant, name)) throw_no_model(reference);
    const std::int64_t version = number && !has_alias ? *number : version_meant(reader, tenant, name, rest);
    const std::optional<schema::ModelVersion> found = reader.version(tenant, name, version);
    if (!found && version == 0)
      throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no version", name));
    if (!found)
      throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no version {}", name, version));
    meaning = {.model = found->model, .version = found->version};
  });
  return meaning;
}

// Under the lock. Jobs register models as well, so the store counts the changes.
void StoreRegistry::drop_stale() const {
  const std::uint64_t changes = store_.registry_changes();
  if (changes != std::exchange(known_at_, changes)) known_.clear();
}

void StoreRegistry::write(const std::function<void(RegistryWriter&)>& step) {
  write_and_wait(store_, [&](StoreWriter& writer) { step(writer.registry()); });
}

schema::RegisteredModelPage StoreRegistry::list(const std::string& tenant, std::int64_t page_size,
                                                std::string_view token) const {
  schema::RegisteredModelPage page;
  store_.read_registry([&](RegistryReader& reader) { page = reader.list(tenant, page_size, token); });
  return page;
}

schema::RegisteredModel StoreRegistry::find(const std::string& tenant, std::string_view name) const {
  std::optional<schema::RegisteredModel> found;
  store_.read_registry([&](RegistryReader& reader) { found = reader.find(tenant, name); });
  if (!found) throw Error(ErrorCode::kNotFound, fmt::format("there is no registered model '{}'", name));
  return std::move(*found);
}

schema::ModelVersionPage StoreRegistry::versions(const std::string& tenant, std::string_view name,
                                                 std::int64_t page_size, std::int64_t before) const {
  find(tenant, name);
  schema::ModelVersionPage page;
  store_.read_registry([&](RegistryReader& reader) { page = reader.versions(tenant, name, page_size, before); });
  return page;
}

schema::ModelVersion StoreRegistry::version(const std::string& tenant, std::string_view name,
                                            std::int64_t version) const {
  find(tenant, name);
  std::optional<schema::ModelVersion> found;
  store_.read_registry([&](RegistryReader& reader) { found = reader.version(tenant, name, version); });
  if (!found)
    throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no version {}", name, version));
  return std::move(*found);
}

schema::ModelVersion StoreRegistry::alias(const std::string& tenant, std::string_view name,
                                          std::string_view alias) const {
  find(tenant, name);
  std::optional<schema::ModelVersion> found;
  store_.read_registry([&](RegistryReader& reader) {
    if (const auto version = reader.alias(tenant, name, alias)) found = reader.version(tenant, name, *version);
  });
  if (!found)
    throw Error(ErrorCode::kNotFound, fmt::format("the registered model '{}' has no alias '{}'", name, alias));
  return std::move(*found);
}

void StoreRegistry::require_room(const std::string& tenant, std::string_view name) const {
  store_.read_registry([&](RegistryReader& reader) { reader.require_room(tenant, name); });
}

ModelRegistry::Registered StoreRegistry::add(const std::string& tenant, std::string_view name,
                                             schema::NewModelVersion version) {
  check_name(name, "name");
  check_description(version.description);
  check_tags(version.tags, false);
  const schema::ModelVersion made{.name = std::string(name),
                                  .model = std::move(version.model),
                                  .created = now(),
                                  .description = std::move(version.description),
                                  .tags = std::move(version.tags)};
  RegistryWriter::Added added;
  write([&](RegistryWriter& writer) { added = writer.add_version(tenant, made); });
  return {.version = std::move(added.version), .is_new = added.is_new};
}

schema::ModelVersion StoreRegistry::set_alias(const std::string& tenant, std::string_view name, std::string_view alias,
                                              std::int64_t version) {
  check_alias(alias);
  schema::ModelVersion named;
  write([&, time = now()](RegistryWriter& writer) { named = writer.set_alias(tenant, name, alias, version, time); });
  return named;
}

void StoreRegistry::remove_alias(const std::string& tenant, std::string_view name, std::string_view alias) {
  write([&, time = now()](RegistryWriter& writer) { writer.remove_alias(tenant, name, alias, time); });
}

schema::RegisteredModel StoreRegistry::edit(const std::string& tenant, std::string_view name,
                                            const schema::RegistryEdit& edit) {
  check_edit(edit);
  write([&, time = now()](RegistryWriter& writer) { writer.edit(tenant, name, edit, time); });
  return find(tenant, name);
}

schema::ModelVersion StoreRegistry::edit_version(const std::string& tenant, std::string_view name, std::int64_t version,
                                                 const schema::RegistryEdit& edit) {
  check_edit(edit);
  write([&, time = now()](RegistryWriter& writer) { writer.edit_version(tenant, name, version, edit, time); });
  return this->version(tenant, name, version);
}

void StoreRegistry::remove_version(const std::string& tenant, std::string_view name, std::int64_t version) {
  write([&, time = now()](RegistryWriter& writer) { writer.remove_version(tenant, name, version, time); });
}

void StoreRegistry::remove(const std::string& tenant, std::string_view name) {
  write([&](RegistryWriter& writer) { writer.remove(tenant, name); });
}

}   // namespace

void check_registration(const schema::JobSpec& spec) {
  if (spec.registerAs.empty()) return;
  check_name(spec.registerAs, "register");
  if (std::visit(StoresModel(), spec.task)) return;
  throw Error(
      ErrorCode::kInvalidValue,
      fmt::format(
          "register is '{}', but this {} stores no model: fit does, searches with refit, and inspections without fitScore",
          spec.registerAs, task_name(spec.task)),
      "register");
}

std::unique_ptr<ModelRegistry> make_model_registry(Store& store) {
  return std::make_unique<StoreRegistry>(store);
}

}   // namespace kedge::server
