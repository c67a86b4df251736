// Which rows train and which rows test: the splitters of sklearn.model_selection (1.9), index for index.
//
// A seed stands for random_state, an absent one for shuffle=False. Row numbers are 0 .. n_samples - 1, below 2^31. Errors of all:
// kBadData or kInvalidValue at the field of "task.crossValidate" (cv is scikit-learn's n_splits) that the rows do not allow.
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

// --- folds: every row is tested once; train and test ascending; n_splits >= 2 ---

// n_splits folds of nearly equal size, in order or shuffled. Errors: when n_splits > n_samples.
std::vector<Split> k_fold(std::int64_t n_samples, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed);

// Folds with the classes in equal shares. codes: class codes of the rows, 0 .. n_classes - 1, in the order of scikit-learn's sorted
// classes. `warning` is set when a class has fewer members than folds. Errors: when every class has (or there are fewer rows).
std::vector<Split> stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                     std::optional<std::uint32_t> shuffle_seed, std::string& warning);

// The same n_repeats times, shuffled each time with the next numbers of one generator.
std::vector<Split> repeated_k_fold(std::int64_t n_samples, std::int64_t n_splits, std::int64_t n_repeats, std::uint32_t seed);
std::vector<Split> repeated_stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                              std::int64_t n_repeats, std::uint32_t seed, std::string& warning);

// Folds that keep groups together. groups: any integer for each row. In order, large groups go to the fold that is smallest so far;
// shuffled, folds get equally many groups. Errors: when n_splits exceeds the number of groups.
std::vector<Split> group_k_fold(std::span<const std::int32_t> groups, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed);

// Each group tested once, in ascending order. Errors: for fewer than two groups.
std::vector<Split> leave_one_group_out(std::span<const std::int32_t> groups);
// Each row tested once. Memory: 4 n^2 bytes. Errors: for one row, and for more than kMaxLeaveOneOutRows.
std::vector<Split> leave_one_out(std::int64_t n_samples);
inline constexpr std::int64_t kMaxLeaveOneOutRows = 16384;   // 1 GiB of row numbers

// --- in order of time ---

struct TimeSeriesOptions {
  std::int64_t n_splits = 5;
  std::optional<std::int64_t> max_train_size;   // rows; unset (or 0): all rows before the test part
  std::optional<std::int64_t> test_size;        // rows; unset: n_samples / (n_splits + 1)
  std::int64_t gap = 0;                         // rows left out between train and test
};
// Each split trains on rows before those it tests; the test parts follow each other up to the last row.
// Errors: when the rows do not suffice for n_splits + 1 parts, or for n_splits test parts, the gap and a row to train on.
std::vector<Split> time_series_split(std::int64_t n_samples, const TimeSeriesOptions& options);

// --- random parts; rows in drawn order; n_splits >= 1 ---

struct SplitCounts {
  std::int64_t train = 0, test = 0;
};
// The requested split, and where an error about it points: "task.fitScore" for train_test_split, "task.crossValidate"
// for the others.
struct SplitSizes {
  std::optional<SplitSize> test, train;
  double default_test = 0.25;   // if both are unset; 0.1 for ShuffleSplit and StratifiedShuffleSplit
  const char* task = "task.fitScore";
};
// scikit-learn's rounding: the test part rounds up, the train part down. Errors: kBadData naming the sizes, at their fields.
SplitCounts split_counts(std::int64_t n_samples, const SplitSizes& sizes);

std::vector<Split> shuffle_split(std::int64_t n_samples, std::int64_t n_splits, const SplitCounts& counts, std::uint32_t seed);
// With the classes in equal shares. Errors: kBadData when a class has one member or a part is smaller than the number of classes.
std::vector<Split> stratified_shuffle_split(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                            const SplitCounts& counts, std::uint32_t seed);

// --- train_test_split ---

// sizes with train_test_split's default and paths.
SplitCounts split_counts(std::int64_t n_samples, const std::optional<SplitSize>& test_size,
                         const std::optional<SplitSize>& train_size);
// The first `train` rows and the `test` rows after them.
Split ordered_split(const SplitCounts& counts);
// The first split of shuffle_split and stratified_shuffle_split.
Split shuffled_split(std::int64_t n_samples, const SplitCounts& counts, std::uint32_t seed);
Split stratified_split(std::span<const std::int32_t> codes, std::int32_t n_classes, const SplitCounts& counts,
                       std::uint32_t seed);

}  // namespace kedge::engine
