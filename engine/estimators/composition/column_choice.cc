// Parses and resolves a choice of columns.
#include "engine/estimators/composition/column_choice.h"

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

constexpr std::size_t kLongestPattern = 1000;
constexpr std::int64_t kPatternMemory = std::int64_t{1} << 20;   // of a compiled pattern, and of its cache while it matches

[[noreturn]] void refuse(ErrorCode code, const std::string& where, std::string message) {
  throw Error(code, std::move(message), where);
}

// "number" or "category" for what pandas calls them.
std::string type_of(const Value& value, const std::string& path) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text && *text == "number") return *text;
  if (text && (*text == "category" || *text == "object" || *text == "string")) return "category";
  refuse(ErrorCode::kInvalidValue, path, fmt::format("is {}, must be \"number\" or \"category\"", schema::to_string(value)));
}

std::vector<std::string> types_of(const Value& value, const std::string& path) {
  std::vector<std::string> types;
  if (value.is_null()) return types;
  if (const auto* list = std::get_if<schema::ValueList>(&value.data)) {
    for (const Value& item : *list) types.push_back(type_of(item, path));
  } else {
    types.push_back(type_of(value, path));
  }
  return types;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// RE2's words, and what they mean where others' patterns have more than it does.
std::string problem_of(const RE2& pattern) {
  const std::string& part = pattern.error_arg();
  const bool is_lookaround = part.starts_with("(?=") || part.starts_with("(?!") || part.starts_with("(?<");
  if (pattern.error_code() == RE2::ErrorPatternTooLarge) return fmt::format("it takes more than {} KiB when compiled", kPatternMemory >> 10);
  if (pattern.error_code() == RE2::ErrorBadPerlOp && is_lookaround) return fmt::format("'{}' is not supported: no lookahead and no lookbehind", part);
  const bool is_reference = part.size() == 2 && part[0] == '\\' && part[1] >= '1' && part[1] <= '9';
  if (pattern.error_code() == RE2::ErrorBadEscape && is_reference) return fmt::format("'{}' is not supported: no backreferences", part);
  return pattern.error();
}

// RE2 takes time in proportion to the pattern and to the text, for any pattern, and no stack.
std::shared_ptr<const RE2> pattern_of(const Value& value, const std::string& path) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (!text) refuse(ErrorCode::kWrongType, path, fmt::format("pattern is {}, must be a string", schema::to_string(value)));
  if (text->size() > kLongestPattern)
    refuse(ErrorCode::kInvalidValue, path, fmt::format("pattern has {} characters, at most {}", text->size(), kLongestPattern));
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto pattern = std::make_shared<const RE2>(*text, options);
  if (!pattern->ok())
    refuse(ErrorCode::kInvalidValue, path, fmt::format("pattern '{}' is no regular expression: {}", *text, problem_of(*pattern)));
  return pattern;
}

std::int64_t find_name(const std::string& owner, const std::string& name, const std::vector<Feature>& features) {
  for (std::size_t j = 0; j < features.size(); ++j)
    if (features[j].name == name) return static_cast<std::int64_t>(j);
  std::vector<std::string_view> names;
  for (const Feature& feature : features) names.push_back(feature.name);
  const std::string_view nearest = schema::nearest_name(name, names);
  throw Error(ErrorCode::kBadData, fmt::format("{}: the data have no feature column '{}'{}", owner, name,
                                               nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

}  // namespace

ColumnChoice::ColumnChoice(const Value& value, const std::string& path) {
  if (const auto* map = std::get_if<schema::ValueMap>(&value.data)) {
    selector_ = selector_of(*map, path);
    return;
  }
  const auto numbers = numbers_of(value);
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!numbers && !list) {
    refuse(
        ErrorCode::kWrongType, path,
        fmt::format("columns is {}, must be a list of names or places, or an object with dtypeInclude, dtypeExclude or pattern",
                    schema::to_string(value)));
  }
  for (std::size_t i = 0; numbers && i < numbers->size(); ++i) {
    const double place = (*numbers)[i];
    if (std::abs(place) > 0x1p31 || place != std::trunc(place))
      refuse(ErrorCode::kInvalidValue, path, fmt::format("place {} is not a whole number within 2^31", place));
    places_.push_back(static_cast<std::int64_t>(place));
  }
  for (std::size_t i = 0; !numbers && i < list->size(); ++i) {
    const auto* name = std::get_if<std::string>(&(*list)[i].data);
    const auto* flag = std::get_if<bool>(&(*list)[i].data);
    if (name)
      names_.push_back(*name);
    else if (flag)
      mask_.push_back(*flag);
    else
      refuse(ErrorCode::kWrongType, path,
             fmt::format("columns has {}, must be all names, all places or all true and false", schema::to_string((*list)[i])));
  }
  if (!names_.empty() && !mask_.empty()) refuse(ErrorCode::kWrongType, path, "columns mixes names with true and false");
}

ColumnChoice::Selector ColumnChoice::selector_of(const schema::ValueMap& map, const std::string& path) const {
  Selector selector;
  static const std::vector<std::string_view> known = {"dtypeInclude", "dtypeExclude", "pattern"};
  for (const auto& [key, value] : map) {
    const std::string field = path + "." + key;
    if (key == "dtypeInclude")
      selector.include = types_of(value, field);
    else if (key == "dtypeExclude")
      selector.exclude = types_of(value, field);
    else if (key == "pattern") {
      if (!value.is_null()) selector.pattern = pattern_of(value, field);
    } else {
      const std::string_view nearest = schema::nearest_name(key, known);
      refuse(ErrorCode::kUnknownParameter, field,
             fmt::format("unknown field \"{}\"{}", key, nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
    }
  }
  return selector;
}

bool ColumnChoice::Selector::takes(const Feature& feature) const {
  const std::string_view type = feature.is_nominal ? "category" : "number";
  if (!include.empty() && !contains(include, type)) return false;
  if (contains(exclude, type)) return false;
  return !pattern || RE2::PartialMatch(feature.name, *pattern);
}

std::vector<std::int64_t> ColumnChoice::resolve(const std::string& owner, const std::vector<Feature>& features) const {
  const auto n = static_cast<std::int64_t>(features.size());
  std::vector<std::int64_t> columns;
  for (const std::string& name : names_) columns.push_back(find_name(owner, name, features));
  for (const std::int64_t place : places_) {
    require(place >= -n && place < n, ErrorCode::kBadData, "{}: column {} does not exist, the data have {} columns", owner, place,
            n);
    columns.push_back(place < 0 ? place + n : place);
  }
  require(mask_.empty() || static_cast<std::int64_t>(mask_.size()) == n, ErrorCode::kBadData,
          "{}: columns has {} marks, but the data have {} columns", owner, mask_.size(), n);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if ((!mask_.empty() && mask_[at]) || (selector_ && selector_->takes(features[at]))) columns.push_back(j);
  }
  return columns;
}

std::vector<schema::ParamForm> ColumnChoice::forms() {
  const std::vector<schema::ParamForm> types = {string_form({"number", "category"}),
                                                array_form({string_form({"number", "category"})}), null_form()};
  return {array_form({string_form(), integer_form(), boolean_form()}),
          object_form({{"dtypeInclude", "Only columns of this type.", nullptr, types},
                       {"dtypeExclude", "No columns of this type.", nullptr, types},
                       {"pattern",
                        "Only columns whose name has a match for this regular expression, in RE2's syntax.",
                        nullptr,
                        {string_form(), null_form()}}})};
}

}  // namespace kedge::engine
