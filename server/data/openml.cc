// What OpenML's API says about a data set. Its JSON writes numbers and booleans as strings, and lists of one as a string.
#include "server/data/openml.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "engine/core/require.h"
#include "schemas/codec.h"
#include "server/data/cell.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

[[noreturn]] void senseless(const std::string& what) {
  throw Error(ErrorCode::kDatasetUnavailable, fmt::format("openml: the answer makes no sense: {}", what));
}

Value parse(std::string_view json) {
  try {
    return schema::value_from_json(json);
  } catch (const Error& error) {
    senseless(error.message);
  }
}

const Value* member(const Value& object, std::string_view key) {
  const auto* map = std::get_if<schema::ValueMap>(&object.data);
  if (!map) return nullptr;
  const auto found = std::ranges::find_if(*map, [&](const auto& entry) { return entry.first == key; });
  return found == map->end() ? nullptr : &found->second;
}

// "a.b.c" from nested objects; must be there.
const Value& need(const Value& object, std::string_view first, std::string_view second) {
  const Value* outer = member(object, first);
  const Value* inner = outer ? member(*outer, second) : nullptr;
  if (!inner) senseless(fmt::format("'{}.{}' is missing", first, second));
  return *inner;
}

std::string text(const Value* value) {
  if (!value) return {};
  if (const auto* s = std::get_if<std::string>(&value->data)) return *s;
  if (const auto* n = std::get_if<std::int64_t>(&value->data)) return std::to_string(*n);
  if (const auto* b = std::get_if<bool>(&value->data)) return *b ? "true" : "false";
  return {};
}

std::int64_t integer(const Value* value) {
  const std::string digits = text(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

// An array, or one string; either may also hold several names with commas between.
std::vector<std::string> names(const Value* value) {
  std::vector<std::string> result;
  const auto add = [&](std::string_view list) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (const auto name = trimmed(list.substr(0, comma)); !name.empty()) result.emplace_back(name);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  };
  const auto* list = value ? std::get_if<schema::ValueList>(&value->data) : nullptr;
  if (list) for (const Value& item : *list) result.push_back(text(&item));
  else add(text(value));
  return result;
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (!name.empty() && std::ranges::find(list, name) == list.end()) list.push_back(name);
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                       c == '.' || c == '~';
    if (plain) result += c;
    else result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

std::string reason(const FetchedText& answer) {
  const Value json = parse(answer.body);
  const Value* error = member(json, "error");
  return fmt::format("{}, code {}", error ? text(member(*error, "message")) : "", error ? text(member(*error, "code")) : "");
}

}  // namespace

std::string OpenmlDataset::title() const { return fmt::format("openml {} version {}", name, version); }

OpenmlDataset read_description(std::string_view json) {
  const Value root = parse(json);
  const Value* fields = member(root, "data_set_description");
  if (!fields) senseless("'data_set_description' is missing");
  OpenmlDataset dataset{.id = integer(member(*fields, "id")),
                        .version = integer(member(*fields, "version")),
                        .file_id = integer(member(*fields, "file_id")),
                        .name = text(member(*fields, "name")),
                        .md5 = text(member(*fields, "md5_checksum")),
                        .status = text(member(*fields, "status"))};
  if (dataset.id <= 0 || dataset.file_id <= 0) senseless("the id or the file's id is missing");
  dataset.targets = names(member(*fields, "default_target_attribute"));
  for (const char* key : {"row_id_attribute", "ignore_attribute"})
    for (const std::string& name : names(member(*fields, key))) add_once(dataset.ignored, name);
  return dataset;
}

void add_features(std::string_view json, OpenmlDataset& dataset) {
  const Value root = parse(json);
  const auto* features = std::get_if<schema::ValueList>(&need(root, "data_features", "feature").data);
  if (!features) senseless("'data_features.feature' is no list");
  std::vector<std::string> targets;
  for (const Value& feature : *features) {
    const auto is = [&](const char* key) { return text(member(feature, key)) == "true"; };
    const std::string name = text(member(feature, "name"));
    if (is("is_target")) targets.push_back(name);
    if (is("is_ignore") || is("is_row_identifier")) add_once(dataset.ignored, name);
  }
  // A name with a comma in it looks like two in the description, and like one here.
  if (!targets.empty()) dataset.targets = std::move(targets);
}

std::int64_t pick_dataset(std::string_view list_json, const std::string& name, std::int64_t version) {
  const Value root = parse(list_json);
  const auto* list = std::get_if<schema::ValueList>(&need(root, "data", "dataset").data);
  if (!list) senseless("'data.dataset' is no list");
  std::int64_t best_id = 0, best_version = 0;
  bool best_exact = false;
  for (const Value& entry : *list) {
    const std::string entry_name = text(member(entry, "name"));
    const std::int64_t entry_version = integer(member(entry, "version"));
    const bool exact = entry_name == name;
    if (!same_ignoring_case(entry_name, name) || text(member(entry, "status")) != "active") continue;
    if (version != 0 && entry_version != version) continue;
    if (best_id != 0 && std::pair(exact, entry_version) <= std::pair(best_exact, best_version)) continue;
    best_id = integer(member(entry, "did")), best_version = entry_version, best_exact = exact;
  }
  return best_id;
}

OpenmlClient::OpenmlClient(const Fetcher& fetcher, std::string base_url, std::string trace)
    : fetcher_(fetcher), trace_(std::move(trace)), base_url_(std::move(base_url)) {
  while (base_url_.ends_with('/')) base_url_.pop_back();
}

std::int64_t OpenmlClient::find(const std::string& name, std::int64_t version, std::stop_token stop) const {
  std::string url = fmt::format("{}/api/v1/json/data/list/data_name/{}/status/active", base_url_, percent_encoded(name));
  if (version != 0) url += fmt::format("/data_version/{}", version);
  const FetchedText answer = fetcher_.text({.what = "openml", .url = url, .trace = trace_}, stop);
  const std::int64_t id = answer.status == 412 ? 0 : pick_dataset(answer.body, name, version);
  if (id != 0) return id;
  const std::string wanted = version != 0 ? fmt::format("'{}' version {}", name, version) : fmt::format("'{}'", name);
  throw Error(ErrorCode::kDatasetNotFound, fmt::format("openml: there is no active data set {}", wanted), "dataset.openml");
}

FetchedText OpenmlClient::ask(const char* what, std::int64_t id, std::stop_token stop) const {
  return fetcher_.text({.what = "openml", .url = fmt::format("{}/api/v1/json/data/{}{}", base_url_, what, id), .trace = trace_}, stop);
}

OpenmlDataset OpenmlClient::describe(std::int64_t id, std::stop_token stop) const {
  const FetchedText description = ask("", id, stop);
  if (description.status == 412)
    throw Error(ErrorCode::kDatasetNotFound, fmt::format("openml: there is no data set {} ({})", id, reason(description)),
                "dataset.openml.id");
  return read_description(description.body);
}

OpenmlDataset OpenmlClient::with_features(OpenmlDataset dataset, std::stop_token stop) const {
  const FetchedText features = ask("features/", dataset.id, stop);
  if (features.status != 412) add_features(features.body, dataset);   // not every data set has been analysed
  return dataset;
}

std::string OpenmlClient::download_url(const OpenmlDataset& dataset) const {
  return fmt::format("{}/data/v1/download/{}", base_url_, dataset.file_id);
}

}  // namespace kedge::server
