// Reads a sampling strategy against the classes of the rows.
#include "engine/estimators/resampling/sampling_strategy.h"

#include <algorithm>
#include <string>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
constexpr const char* kParam = "sampling_strategy";

std::size_t majority_of(const PresentClasses& present) {
  return static_cast<std::size_t>(std::ranges::max_element(present.counts) - present.counts.begin());
}

std::size_t minority_of(const PresentClasses& present) {
  return static_cast<std::size_t>(std::ranges::min_element(present.counts) - present.counts.begin());
}

// The classes that a word names, made as frequent as the majority, or as rare as the minority.
std::vector<ClassSample> by_word(Sampling sampling, std::string word, const PresentClasses& present) {
  if (word == "auto") word = sampling == Sampling::kOver ? "not majority" : "not minority";
  const std::size_t majority = majority_of(present), minority = minority_of(present);
  const auto is_named = [&](std::size_t c) {
    if (word == "majority") return c == majority;
    if (word == "minority") return c == minority;
    if (word == "not majority") return c != majority;
    return word == "all" || c != minority;
  };
  std::vector<ClassSample> samples;
  for (std::size_t c = 0; c < present.codes.size(); ++c)
    if (is_named(c))
      samples.push_back({present.codes[c], sampling == Sampling::kOver ? present.counts[majority] - present.counts[c]
                                                                       : present.counts[minority]});
  return samples;
}

// The minority becomes this share of the majority.
std::vector<ClassSample> by_ratio(std::string_view owner, Sampling sampling, double ratio,
                                  const PresentClasses& present) {
  require(present.size() == 2, ErrorCode::kBadData,
          "{}: {} is {}, but the target has {} classes; with more than 2 it must be a word or {{class: rows}}", owner,
          kParam, ratio, present.size());
  const std::size_t majority = majority_of(present), minority = minority_of(present);
  const auto most = static_cast<double>(present.counts[majority]),
             least = static_cast<double>(present.counts[minority]);
  std::vector<ClassSample> samples;
  for (std::size_t c = 0; c < 2; ++c) {
    const auto count = static_cast<double>(present.counts[c]);
    if (sampling == Sampling::kOver && c != majority) {
      const auto made = static_cast<std::int64_t>(most * ratio - count);
      require(made > 0, ErrorCode::kBadData,
              "{}: {} is {}, but class '{}' has {} rows and the other {} already; make it larger", owner, kParam, ratio,
              present.names[c], present.counts[c], present.counts[majority]);
      samples.push_back({present.codes[c], made});
    }
    if (sampling == Sampling::kUnder && c != minority) {
      const double kept = least / ratio;
      require(kept < count + 1, ErrorCode::kBadData,
              "{}: {} is {}, but class '{}' has {} rows and the other {} already; make it larger", owner, kParam, ratio,
              present.names[c], present.counts[c], present.counts[minority]);
      samples.push_back({present.codes[c], static_cast<std::int64_t>(kept)});
    }
  }
  return samples;
}

std::vector<ClassSample> by_class(std::string_view owner, Sampling sampling, const schema::ValueMap& rows,
                                  const Value& strategy, const PresentClasses& present, const Target& y) {
  std::vector<ClassSample> samples;
  for (const auto& [name, value] : rows) {
    if (std::ranges::find(y.classes, name) == y.classes.end())
      refuse_param(owner, kParam, strategy, "but the data has no class \"" + name + "\"");
    const auto found = std::ranges::find(present.names, name);
    require(found != present.names.end(), ErrorCode::kBadData, "{}: {} names class '{}', which these rows lack", owner,
            kParam, name);
    const auto c = static_cast<std::size_t>(found - present.names.begin());
    const std::int64_t wanted = std::get<std::int64_t>(value.data), has = present.counts[c];
    const bool is_over = sampling == Sampling::kOver;
    require(is_over ? wanted >= has : wanted <= has, ErrorCode::kBadData,
            "{}: {} wants {} rows of class '{}', which has {}; must be at {} that", owner, kParam, wanted, name, has,
            is_over ? "least" : "most");
    samples.push_back({present.codes[c], is_over ? wanted - has : wanted});
  }
  std::ranges::sort(samples, {}, &ClassSample::code);
  return samples;
}

}   // namespace

std::vector<schema::ParamForm> sampling_strategy_forms(Sampling sampling) {
  std::vector<std::string> words{"auto", "all", "not majority", "not minority"};
  words.emplace_back(sampling == Sampling::kOver ? "minority" : "majority");
  return {string_form(std::move(words)), number_form(above_up_to(0, 1)), object_form()};
}

void check_sampling_strategy(std::string_view owner, const Value& strategy) {
  const auto* rows = std::get_if<schema::ValueMap>(&strategy.data);
  if (!rows) return;
  for (const auto& [name, value] : *rows) {
    const auto* count = std::get_if<std::int64_t>(&value.data);
    if (!count || *count < 0)
      refuse_param(owner, kParam, strategy, "must have a whole number of rows, at least 0, for class \"" + name + "\"");
  }
}

std::vector<ClassSample> class_samples(std::string_view owner, Sampling sampling, const Value& strategy,
                                       const PresentClasses& present, const Target& y) {
  require(present.size() >= 2, ErrorCode::kBadData, "{}: the target has {} class, needs at least 2", owner,
          present.size());
  if (const auto* word = std::get_if<std::string>(&strategy.data)) return by_word(sampling, *word, present);
  if (const auto* rows = std::get_if<schema::ValueMap>(&strategy.data))
    return by_class(owner, sampling, *rows, strategy, present, y);
  return by_ratio(owner, sampling, std::get<double>(strategy.data), present);
}

}   // namespace kedge::engine
