// Splitters that leave out groups, single rows, or what lies in the future (sklearn/model_selection/_split.py).
#include <algorithm>
#include <numeric>

#include "engine/core/legacy_random.h"
#include "engine/model_selection/split_checks.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr const char* kGroupsPath = "select.groups";

// Groups renumbered 0, 1, ... in ascending order, of each row.
std::vector<std::int32_t> numbered(std::span<const std::int32_t> groups, std::int64_t& n_groups) {
  std::vector<std::int32_t> distinct(groups.begin(), groups.end()), number(groups.size());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  n_groups = static_cast<std::int64_t>(distinct.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    number[i] = static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), groups[i]) - distinct.begin());
  }
  return number;
}

// Largest group first (of equal ones the last), each to the fold with the fewest rows so far (of equal ones the first).
std::vector<std::int32_t> balanced_folds(const std::vector<std::int32_t>& group_of, std::int64_t n_groups, std::int64_t n_splits) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n_groups)), rows_in_fold(static_cast<std::size_t>(n_splits));
  for (std::int32_t group : group_of) ++rows[static_cast<std::size_t>(group)];
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rows[a] != rows[b] ? rows[a] > rows[b] : a > b; });
  std::vector<std::int32_t> fold_of_group(rows.size());
  for (std::size_t group : order) {
    const auto lightest = std::min_element(rows_in_fold.begin(), rows_in_fold.end());
    *lightest += rows[group];
    fold_of_group[group] = static_cast<std::int32_t>(lightest - rows_in_fold.begin());
  }
  return fold_of_group;
}

// Shuffled groups, cut into folds of nearly equally many.
std::vector<std::int32_t> shuffled_folds(std::int64_t n_groups, std::int64_t n_splits, std::uint32_t seed) {
  const std::vector<std::int64_t> order = LegacyRandom(seed).permutation(n_groups);
  std::vector<std::int32_t> fold_of_group(order.size());
  std::size_t at = 0;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    for (std::int64_t i = 0; i < n_groups / n_splits + (k < n_groups % n_splits ? 1 : 0); ++i) {
      fold_of_group[static_cast<std::size_t>(order[at++])] = static_cast<std::int32_t>(k);
    }
  }
  return fold_of_group;
}

void append_range(std::vector<std::int32_t>& rows, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) rows.push_back(static_cast<std::int32_t>(i));
}

}  // namespace

std::vector<Split> group_k_fold(std::span<const std::int32_t> groups, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed) {
  require_splits(n_splits, 2);
  std::int64_t n_groups = 0;
  std::vector<std::int32_t> fold_of = numbered(groups, n_groups);
  require_split(n_splits <= n_groups, ErrorCode::kBadData, kCvPath, "cv is {}, but there are only {} groups: every fold needs one",
                n_splits, n_groups);
  const std::vector<std::int32_t> fold_of_group =
      shuffle_seed ? shuffled_folds(n_groups, n_splits, *shuffle_seed) : balanced_folds(fold_of, n_groups, n_splits);
  for (std::int32_t& group : fold_of) group = fold_of_group[static_cast<std::size_t>(group)];
  return splits_from_folds(fold_of, n_splits);
}

std::vector<Split> leave_one_group_out(std::span<const std::int32_t> groups) {
  std::int64_t n_groups = 0;
  const std::vector<std::int32_t> fold_of = numbered(groups, n_groups);
  require_split(n_groups >= 2, ErrorCode::kBadData, kGroupsPath, "LeaveOneGroupOut: there are {} groups, must be at least 2", n_groups);
  return splits_from_folds(fold_of, n_groups);
}

std::vector<Split> leave_one_out(std::int64_t n_samples) {
  require_split(n_samples >= 2, ErrorCode::kBadData, "task.crossValidate.splitter", "LeaveOneOut: there are {} rows, must be at least 2",
                n_samples);
  require_split(n_samples <= kMaxLeaveOneOutRows, ErrorCode::kBadData, "task.crossValidate.splitter",
                "LeaveOneOut: there are {} rows, must be at most {}; KFold with a large cv comes close to it", n_samples,
                kMaxLeaveOneOutRows);
  std::vector<Split> splits(static_cast<std::size_t>(n_samples));
  for (std::int64_t i = 0; i < n_samples; ++i) {
    Split& split = splits[static_cast<std::size_t>(i)];
    split.train.reserve(static_cast<std::size_t>(n_samples - 1));
    append_range(split.train, 0, i);
    append_range(split.train, i + 1, n_samples);
    split.test = {static_cast<std::int32_t>(i)};
  }
  return splits;
}

std::vector<Split> time_series_split(std::int64_t n_samples, const TimeSeriesOptions& options) {
  const auto& [n_splits, max_train_size, wanted_test_size, gap] = options;
  require_splits(n_splits, 2);
  require_split(gap >= 0, ErrorCode::kInvalidValue, "task.crossValidate.gap", "gap is {}, must be at least 0", gap);
  require_split(wanted_test_size.value_or(1) >= 1, ErrorCode::kInvalidValue, "task.crossValidate.testSize",
                "testSize is {}, must be at least 1 row", wanted_test_size.value_or(1));
  require_split(max_train_size.value_or(0) >= 0, ErrorCode::kInvalidValue, "task.crossValidate.maxTrainSize",
                "maxTrainSize is {}, must be at least 1 row", max_train_size.value_or(0));
  require_split(n_splits + 1 <= n_samples, ErrorCode::kBadData, kCvPath,
                "cv is {}, but there are only {} rows: TimeSeriesSplit needs one more than splits", n_splits, n_samples);
  const std::int64_t test_size = wanted_test_size.value_or(n_samples / (n_splits + 1));
  require_split(test_size <= (n_samples - 1) / n_splits && n_samples - gap - test_size * n_splits > 0, ErrorCode::kBadData, kCvPath,
                "cv is {}: {} test parts of {} rows and a gap of {} leave nothing of {} rows to train on", n_splits, n_splits,
                test_size, gap, n_samples);
  std::vector<Split> splits;
  for (std::int64_t start = n_samples - n_splits * test_size; start < n_samples; start += test_size) {
    const std::int64_t end = start - gap, kept = max_train_size.value_or(0);
    Split& split = splits.emplace_back();
    append_range(split.train, kept > 0 && kept < end ? end - kept : 0, end);
    append_range(split.test, start, start + test_size);
  }
  return splits;
}

}  // namespace kedge::engine
