// Checks the arguments of splitters, and calls them.
#include "engine/job/split_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

constexpr std::int64_t kMaxSeed = 0xffffffff;

// Which arguments a splitter has in scikit-learn.
struct SplitterRule {
  std::string_view name;
  bool shuffles = false;   // takes `shuffle`, and randomState with it
  bool draws = false;      // takes randomState, and needs no `shuffle`
  bool counts = true;      // takes cv
  bool repeats = false, sizes = false, is_ordered = false;   // nRepeats; testSize and trainSize; gap, maxTrainSize and testSize in rows
  bool groups = false;     // needs select.groups
  std::int64_t least = 2;  // of cv
};
constexpr std::array kSplitters = {
    SplitterRule{.name = "auto", .shuffles = true},
    SplitterRule{.name = "KFold", .shuffles = true},
    SplitterRule{.name = "StratifiedKFold", .shuffles = true},
    SplitterRule{.name = "RepeatedKFold", .draws = true, .repeats = true},
    SplitterRule{.name = "RepeatedStratifiedKFold", .draws = true, .repeats = true},
    SplitterRule{.name = "GroupKFold", .shuffles = true, .groups = true},
    SplitterRule{.name = "LeaveOneGroupOut", .counts = false, .groups = true},
    SplitterRule{.name = "LeaveOneOut", .counts = false},
    SplitterRule{.name = "ShuffleSplit", .draws = true, .sizes = true, .least = 1},
    SplitterRule{.name = "StratifiedShuffleSplit", .draws = true, .sizes = true, .least = 1},
    SplitterRule{.name = "TimeSeriesSplit", .is_ordered = true},
};

const SplitterRule& find_splitter(const std::string& name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const SplitterRule& rule : kSplitters) {
    if (rule.name == name) return rule;
    names.push_back(rule.name);
  }
  refuse(where + ".splitter", fmt::format("splitter is '{}', must be one of {}{}", name, fmt::join(names, ", "), suggestion(name, names)));
}

// 0 for an absent size or a number of rows, otherwise the fraction.
double check_size(const std::optional<Value>& size, const std::string& where, const char* name) {
  if (!size || size->is_null()) return 0;
  const std::string path = where + "." + name;
  if (const auto* rows = std::get_if<std::int64_t>(&size->data)) {
    if (*rows < 1) refuse(path, fmt::format("{} is {}, must be at least 1 row or a fraction between 0 and 1", name, *rows));
    return 0;
  }
  const auto* fraction = std::get_if<double>(&size->data);
  if (!fraction) refuse(path, fmt::format("{} is {}, must be a number", name, schema::to_string(*size)), ErrorCode::kWrongType);
  if (!(*fraction > 0 && *fraction < 1)) {
    refuse(path, fmt::format("{} is {}, must be a fraction between 0 and 1 or a whole number of rows", name, *fraction));
  }
  return *fraction;
}

void check_sizes(const std::optional<Value>& test_size, const std::optional<Value>& train_size, const std::string& where) {
  const double sum = check_size(test_size, where, "testSize") + check_size(train_size, where, "trainSize");
  if (sum > 1) refuse(where + ".trainSize", fmt::format("testSize and trainSize are {} together, must be at most 1", sum));
}

void refuse_unused_seed(const std::optional<std::int64_t>& seed, bool shuffle, const std::string& where) {
  check_seed(seed, where + ".randomState");
  if (seed && !shuffle) refuse(where + ".randomState", "randomState has no effect without shuffle: leave it out or set shuffle to true");
}

void refuse_foreign(bool is_set, bool is_known, const SplitterRule& rule, const std::string& where, const char* field) {
  if (is_set && !is_known) refuse(where + "." + field, fmt::format("{} is set, but {} has no such argument", field, rule.name));
}

void check_at_least(const std::optional<std::int64_t>& value, std::int64_t least, const std::string& where, const char* field) {
  if (value && *value < least) refuse(where + "." + field, fmt::format("{} is {}, must be at least {}", field, *value, least));
}

bool is_set(const std::optional<Value>& value) { return value && !value->is_null(); }

void check_ordered(const schema::CrossValidate& task, const std::string& where) {
  if (is_set(task.testSize) && !std::holds_alternative<std::int64_t>(task.testSize->data)) {
    refuse(where + ".testSize", fmt::format("testSize is {}, TimeSeriesSplit takes a number of rows", schema::to_string(*task.testSize)));
  }
  check_size(task.testSize, where, "testSize");
  check_at_least(task.gap, 0, where, "gap");
  check_at_least(task.maxTrainSize, 1, where, "maxTrainSize");
}

std::uint32_t seed_of(const Context& ctx, const std::optional<std::int64_t>& random_state) {
  return static_cast<std::uint32_t>(random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
}

std::optional<SplitSize> size_of(const std::optional<Value>& size) {
  if (!size || size->is_null()) return std::nullopt;
  if (const auto* rows = std::get_if<std::int64_t>(&size->data)) return SplitSize(*rows);
  return SplitSize(std::get<double>(size->data));
}

}  // namespace

void check_seed(const std::optional<std::int64_t>& seed, const std::string& where) {
  if (seed && (*seed < 0 || *seed > kMaxSeed)) refuse(where, fmt::format("randomState is {}, must be from 0 to {}", *seed, kMaxSeed));
}

void check_splitter(const schema::CrossValidate& task, const schema::Select& select, const std::string& where) {
  const SplitterRule& rule = find_splitter(task.splitter, where);
  if (rule.counts && task.cv < rule.least) refuse(where + ".cv", fmt::format("cv is {}, must be at least {}", task.cv, rule.least));
  refuse_foreign(!rule.counts && task.cv != schema::CrossValidate{}.cv, false, rule, where, "cv");
  refuse_foreign(task.shuffle, rule.shuffles, rule, where, "shuffle");
  refuse_foreign(task.nRepeats.has_value(), rule.repeats, rule, where, "nRepeats");
  refuse_foreign(is_set(task.testSize), rule.sizes || rule.is_ordered, rule, where, "testSize");
  refuse_foreign(is_set(task.trainSize), rule.sizes, rule, where, "trainSize");
  refuse_foreign(task.gap.has_value(), rule.is_ordered, rule, where, "gap");
  refuse_foreign(task.maxTrainSize.has_value(), rule.is_ordered, rule, where, "maxTrainSize");
  check_at_least(task.nRepeats, 1, where, "nRepeats");
  if (rule.sizes) check_sizes(task.testSize, task.trainSize, where);
  if (rule.is_ordered) check_ordered(task, where);
  if (rule.groups && !select.groups) refuse("select.groups", fmt::format("{} needs groups: name their column in select.groups", rule.name));
  refuse_unused_seed(task.randomState, task.shuffle || rule.draws, where);
}

void check_split(const schema::FitScore& task, const std::string& where) {
  check_sizes(task.testSize, task.trainSize, where);
  if (task.stratify && !task.shuffle) refuse(where + ".stratify", "stratify needs shuffle: rows in order keep no shares");
  refuse_unused_seed(task.randomState, task.shuffle, where);
}

Split make_split(const Context& ctx, const schema::FitScore& task, std::int64_t n_rows, const TaskTarget& target) {
  const SplitCounts counts = split_counts(n_rows, size_of(task.testSize), size_of(task.trainSize));
  if (!task.shuffle) return ordered_split(counts);
  const std::uint32_t seed = seed_of(ctx, task.randomState);
  if (!task.stratify) return shuffled_split(n_rows, counts, seed);
  if (target.codes.empty()) refuse("task.fitScore.stratify", "stratify needs a target of classes");
  return stratified_split(target.codes, static_cast<std::int32_t>(target.classes.size()), counts, seed);
}

std::vector<Split> make_splits(const Context& ctx, const schema::CrossValidate& task, std::int64_t n_rows, const TaskTarget& target,
                               bool classifies) {
  const std::string name = task.splitter != "auto"                ? task.splitter
                           : classifies && target.outputs.empty() ? "StratifiedKFold"
                                                                  : "KFold";
  if (name.find("Stratified") != std::string::npos && target.codes.empty()) {
    refuse("task.crossValidate.splitter", fmt::format("{} needs a target of classes", name));
  }
  const auto n_classes = static_cast<std::int32_t>(target.classes.size());
  const std::uint32_t seed = seed_of(ctx, task.randomState);
  const std::optional<std::uint32_t> shuffle = task.shuffle ? std::optional(seed) : std::nullopt;
  const std::int64_t n_repeats = task.nRepeats.value_or(10);
  const auto counts = [&] {
    return split_counts(n_rows, {.test = size_of(task.testSize), .train = size_of(task.trainSize), .default_test = 0.1, .task = "task.crossValidate"});
  };
  std::string warning;
  std::vector<Split> splits;
  if (name == "KFold") splits = k_fold(n_rows, task.cv, shuffle);
  if (name == "StratifiedKFold") splits = stratified_k_fold(target.codes, n_classes, task.cv, shuffle, warning);
  if (name == "RepeatedKFold") splits = repeated_k_fold(n_rows, task.cv, n_repeats, seed);
  if (name == "RepeatedStratifiedKFold") splits = repeated_stratified_k_fold(target.codes, n_classes, task.cv, n_repeats, seed, warning);
  if (name == "GroupKFold") splits = group_k_fold(target.groups, task.cv, shuffle);
  if (name == "LeaveOneGroupOut") splits = leave_one_group_out(target.groups);
  if (name == "LeaveOneOut") splits = leave_one_out(n_rows);
  if (name == "ShuffleSplit") splits = shuffle_split(n_rows, task.cv, counts(), seed);
  if (name == "StratifiedShuffleSplit") splits = stratified_shuffle_split(target.codes, n_classes, task.cv, counts(), seed);
  if (name == "TimeSeriesSplit") {
    const std::optional<SplitSize> test = size_of(task.testSize);
    splits = time_series_split(n_rows, {.n_splits = task.cv, .max_train_size = task.maxTrainSize,
                                        .test_size = test ? std::optional(std::get<std::int64_t>(*test)) : std::nullopt,
                                        .gap = task.gap.value_or(0)});
  }
  if (!warning.empty()) ctx.warn(warning);
  return splits;
}

}  // namespace kedge::engine
