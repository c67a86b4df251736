// KFold and StratifiedKFold. The algorithms are scikit-learn's (sklearn/model_selection/_split.py), so that folds are equal.
#include "engine/model_selection/splitters.h"

#include <algorithm>
#include <numeric>

#include "engine/core/require.h"
#include "engine/model_selection/legacy_random.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr const char* kCvPath = "task.crossValidate.cv";

void require_rows_for_folds(std::int64_t n_samples, std::int64_t n_splits) {
  if (n_splits > n_samples) {
    throw Error(ErrorCode::kBadData,
                fmt::format("cv is {}, but there are only {} rows: every fold needs one", n_splits, n_samples), kCvPath);
  }
}

// fold_of[i]: the fold in which row i is tested.
std::vector<Split> splits_from_folds(const std::vector<std::int32_t>& fold_of, std::int64_t n_splits) {
  std::vector<Split> splits(static_cast<std::size_t>(n_splits));
  for (std::size_t k = 0; k < splits.size(); ++k) {
    for (std::size_t i = 0; i < fold_of.size(); ++i) {
      const bool tested = fold_of[i] == static_cast<std::int32_t>(k);
      (tested ? splits[k].test : splits[k].train).push_back(static_cast<std::int32_t>(i));
    }
  }
  return splits;
}

// Classes renumbered by first appearance; scikit-learn does it so that folds do not depend on how classes are named.
std::vector<std::int32_t> by_appearance(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int32_t& n_seen) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(n_classes), -1), renumbered(codes.size());
  n_seen = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::int32_t& own = number[static_cast<std::size_t>(codes[i])];
    if (own < 0) own = n_seen++;
    renumbered[i] = own;
  }
  return renumbered;
}

}  // namespace

std::vector<Split> k_fold(std::int64_t n_samples, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed) {
  require_rows_for_folds(n_samples, n_splits);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n_samples));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (shuffle_seed) LegacyRandom(*shuffle_seed).shuffle(std::span(order));
  std::vector<std::int32_t> fold_of(order.size());
  const std::int64_t base = n_samples / n_splits, larger = n_samples % n_splits;
  std::size_t at = 0;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    for (std::int64_t i = 0; i < base + (k < larger ? 1 : 0); ++i) {
      fold_of[static_cast<std::size_t>(order[at++])] = static_cast<std::int32_t>(k);
    }
  }
  return splits_from_folds(fold_of, n_splits);
}

std::vector<Split> stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                     std::optional<std::uint32_t> shuffle_seed, std::string& warning) {
  const auto n_samples = static_cast<std::int64_t>(codes.size());
  require_rows_for_folds(n_samples, n_splits);
  std::int32_t n_seen = 0;
  const std::vector<std::int32_t> y = by_appearance(codes, n_classes, n_seen);
  std::vector<std::int64_t> count(static_cast<std::size_t>(n_seen));
  for (std::int32_t c : y) ++count[static_cast<std::size_t>(c)];
  const auto [smallest, largest] = std::minmax_element(count.begin(), count.end());
  if (n_splits > *largest) {
    throw Error(ErrorCode::kBadData,
                fmt::format("cv is {}, but no class has more than {} members", n_splits, *largest), kCvPath);
  }
  if (n_splits > *smallest) {
    warning = fmt::format("The least populated class in y has only {} members, which is less than cv={}.", *smallest, n_splits);
  }

  // Round robin over the rows sorted by class tells how many rows of a class each fold tests; within a class, folds get blocks.
  const auto folds = static_cast<std::size_t>(n_splits);
  std::vector<std::vector<std::int32_t>> folds_of_class(count.size());
  std::size_t sorted_position = 0;
  for (std::size_t c = 0; c < count.size(); ++c) {
    std::vector<std::int64_t> allocation(folds);
    for (std::int64_t i = 0; i < count[c]; ++i) ++allocation[sorted_position++ % folds];
    for (std::size_t k = 0; k < folds; ++k) {
      folds_of_class[c].insert(folds_of_class[c].end(), static_cast<std::size_t>(allocation[k]), static_cast<std::int32_t>(k));
    }
  }
  if (shuffle_seed) {
    LegacyRandom random(*shuffle_seed);
    for (auto& blocks : folds_of_class) random.shuffle(std::span(blocks));
  }
  std::vector<std::size_t> used(count.size());
  std::vector<std::int32_t> fold_of(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto c = static_cast<std::size_t>(y[i]);
    fold_of[i] = folds_of_class[c][used[c]++];
  }
  return splits_from_folds(fold_of, n_splits);
}

}  // namespace kedge::engine
