// Which rows train and which rows test: KFold, StratifiedKFold and train_test_split, index for index as in scikit-learn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace kedge::engine {

// Row numbers of one division of the data.
struct Split {
  std::vector<std::int32_t> train, test;
  friend bool operator==(const Split&, const Split&) = default;
};

// A fraction of the rows in (0, 1), or a number of rows >= 1.
using SplitSize = std::variant<double, std::int64_t>;

// n_splits folds of nearly equal size, in order; train and test ascending. With a seed the rows are shuffled first
// (random_state). Errors: kBadData when n_splits > n_samples, at "task.crossValidate.cv".
std::vector<Split> k_fold(std::int64_t n_samples, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed);

// Folds with the classes in equal shares. codes: class codes of the rows, 0 .. n_classes - 1. `warning` is set when a class has
// fewer members than folds. Errors: kBadData when every class has (or there are fewer rows), at "task.crossValidate.cv".
std::vector<Split> stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                     std::optional<std::uint32_t> shuffle_seed, std::string& warning);

struct SplitCounts {
  std::int64_t train = 0, test = 0;
};
// scikit-learn's rounding: the test part rounds up, the train part down; both absent means a quarter for testing.
// Errors: kBadData naming the sizes, at "task.fitScore.testSize" or "trainSize".
SplitCounts split_counts(std::int64_t n_samples, const std::optional<SplitSize>& test_size,
                         const std::optional<SplitSize>& train_size);

// The first `train` rows and the `test` rows after them.
Split ordered_split(const SplitCounts& counts);
// Rows drawn without replacement, as ShuffleSplit draws them; in drawn order.
Split shuffled_split(std::int64_t n_samples, const SplitCounts& counts, std::uint32_t seed);
// The same with the classes in equal shares, as StratifiedShuffleSplit draws them. Errors: kBadData when a class has one
// member or a part is smaller than the number of classes.
Split stratified_split(std::span<const std::int32_t> codes, std::int32_t n_classes, const SplitCounts& counts,
                       std::uint32_t seed);

}  // namespace kedge::engine
