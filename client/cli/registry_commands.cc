// registry: lists what is registered, adds versions, moves aliases, writes tags.
#include "client/cli/registry_commands.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <variant>

#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::ErrorCode;

// NAME, NAME@ALIAS or NAME/VERSION, as it was typed.
struct Reference {
  std::string name, alias;
  std::int64_t version = 0;
};

Reference reference_of(const std::string& text) {
  Reference reference{.name = text.substr(0, text.find_first_of("@/"))};
  if (reference.name.size() == text.size()) return reference;
  const std::string rest = text.substr(reference.name.size() + 1);
  if (text[reference.name.size()] == '@') return reference.alias = rest, reference;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), reference.version);
  if (error != std::errc() || end != rest.data() + rest.size() || reference.version < 1)
    throw Error(ErrorCode::kInvalidValue, fmt::format("'{}' is not NAME/VERSION: the version is '{}'", text, rest));
  return reference;
}

// The version that NAME@ALIAS or NAME/VERSION names.
schema::ModelVersion version_of(const Registry& registry, const std::string& text) {
  const Reference reference = reference_of(text);
  if (!reference.alias.empty()) return registry.alias(reference.name, reference.alias);
  if (reference.version > 0) return registry.version(reference.name, reference.version);
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("'{}' names no version: write {}/VERSION or {}@ALIAS", text, text, text));
}

std::string tags_text(const schema::ValueMap& tags) {
  std::string text;
  for (const auto& [name, value] : tags) {
    const auto* word = std::get_if<std::string>(&value.data);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, word ? *word : "");
  }
  return text;
}

std::string aliases_text(const schema::ValueMap& aliases) {
  std::string text;
  for (const auto& [alias, version] : aliases)
    text += fmt::format("{}@{} = {}", text.empty() ? "" : ", ", alias, std::get<std::int64_t>(version.data));
  return text;
}

int list(const Registry& registry, const Options& options) {
  constexpr std::int64_t kPage = 500;
  schema::RegisteredModelPage all;
  std::string token;
  do {
    schema::RegisteredModelPage page = registry.list(kPage, token);
    std::ranges::move(page.models, std::back_inserter(all.models));
    token = page.nextPageToken;
  } while (!token.empty());
  if (options.json) return fmt::print("{}\n", schema::to_json(all)), kSucceeded;
  using Align = TextTable::Align;
  TextTable table({{"name"},
                   {"versions", Align::kRight},
                   {"latest", Align::kRight},
                   {"aliases", Align::kLeft, TextTable::Fit::kCut},
                   {"updated"}});
  for (const schema::RegisteredModel& model : all.models)
    table.row({model.name, std::to_string(model.versions), std::to_string(model.latestVersion),
               aliases_text(model.aliases), model.updated});
  fmt::print("{}", table.text(page_of(STDOUT_FILENO)));
  return kSucceeded;
}

void print_version(const schema::ModelVersion& version) {
  fmt::print("{}/{}  {}  {}\n", version.name, version.version, version.model, version.created);
  if (!version.aliases.empty()) fmt::print("aliases  @{}\n", fmt::join(version.aliases, ", @"));
  if (!version.tags.empty()) fmt::print("tags  {}\n", tags_text(version.tags));
  if (!version.description.empty()) fmt::print("{}\n", version.description);
}

int show_name(const Registry& registry, const std::string& name, const Options& options) {
  const schema::RegisteredModel model = registry.find(name);
  if (options.json) return fmt::print("{}\n", schema::to_json(model)), kSucceeded;
  fmt::print("{}  {} versions, created {}, updated {}\n", model.name, model.versions, model.created, model.updated);
  if (!model.tags.empty()) fmt::print("tags  {}\n", tags_text(model.tags));
  if (!model.description.empty()) fmt::print("{}\n", model.description);
  TextTable table({{"version", TextTable::Align::kRight},
                   {"model"},
                   {"aliases"},
                   {"created"},
                   {"description", TextTable::Align::kLeft, TextTable::Fit::kCut}});
  for (const schema::ModelVersion& version : registry.versions(name, 100).versions)
    table.row({std::to_string(version.version), version.model, fmt::format("{}", fmt::join(version.aliases, ", ")),
               version.created, version.description});
  fmt::print("{}", table.text(page_of(STDOUT_FILENO)));
  return kSucceeded;
}

int show(const Registry& registry, const Options& options) {
  const Reference reference = reference_of(options.argument);
  if (reference.alias.empty() && reference.version == 0) return show_name(registry, reference.name, options);
  const schema::ModelVersion version = version_of(registry, options.argument);
  if (options.json) fmt::print("{}\n", schema::to_json(version));
  else print_version(version);
  return kSucceeded;
}

int print(const schema::ModelVersion& version, const Options& options) {
  if (options.json) fmt::print("{}\n", schema::to_json(version));
  else fmt::print("{}/{}\n", version.name, version.version);
  return kSucceeded;
}

int add(const Registry& registry, const Options& options) {
  return print(registry.add(options.argument, {.model = options.input, .description = options.name}), options);
}

// NAME@ALIAS VERSION, or with --delete NAME@ALIAS.
int alias(const Registry& registry, const Options& options) {
  const Reference reference = reference_of(options.argument);
  if (reference.alias.empty())
    throw Error(ErrorCode::kInvalidValue, fmt::format("'{}' is not NAME@ALIAS", options.argument));
  if (options.remove) {
    registry.remove_alias(reference.name, reference.alias);
    if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", options.argument}}));
    return kSucceeded;
  }
  const Reference target = reference_of(fmt::format("{}/{}", reference.name, options.input));
  return print(registry.set_alias(reference.name, reference.alias, target.version), options);
}

// KEY=VALUE sets a tag, KEY= with nothing behind it removes one.
int tag(const Registry& registry, const Options& options) {
  schema::RegistryEdit edit;
  if (!options.name.empty()) edit.description = options.name;
  for (const std::string& text : options.arguments) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorCode::kInvalidValue, fmt::format("'{}' is not KEY=VALUE", text));
    const std::string value = text.substr(equals + 1);
    edit.tags.emplace_back(text.substr(0, equals), value.empty() ? schema::Value() : schema::Value(value));
  }
  const Reference reference = reference_of(options.argument);
  if (reference.alias.empty() && reference.version == 0) {
    const schema::RegisteredModel model = registry.edit(reference.name, edit);
    fmt::print("{}\n", options.json ? schema::to_json(model) : tags_text(model.tags));
    return kSucceeded;
  }
  const schema::ModelVersion version =
      registry.edit(reference.name, version_of(registry, options.argument).version, edit);
  fmt::print("{}\n", options.json ? schema::to_json(version) : tags_text(version.tags));
  return kSucceeded;
}

int remove(const Registry& registry, const Options& options) {
  const Reference reference = reference_of(options.argument);
  if (!reference.alias.empty()) registry.remove_alias(reference.name, reference.alias);
  else if (reference.version > 0) registry.remove_version(reference.name, reference.version);
  else registry.remove(reference.name);
  if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", options.argument}}));
  return kSucceeded;
}

}   // namespace

int registry(const Options& options) {
  const Registry registry = connect_server(options).registry();
  const std::string& action = options.action;
  if (action == "add") return add(registry, options);
  if (action == "alias") return alias(registry, options);
  if (action == "tag") return tag(registry, options);
  if (action == "rm") return remove(registry, options);
  return options.argument.empty() ? list(registry, options) : show(registry, options);
}

}   // namespace kedge::cli
