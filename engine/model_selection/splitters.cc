// KFold and StratifiedKFold, once and repeated. The algorithms are scikit-learn's (sklearn/model_selection/_split.py), so that folds
// are equal.
#include "engine/model_selection/splitters.h"

#include <algorithm>
#include <numeric>

#include "engine/core/legacy_random.h"
#include "engine/model_selection/split_checks.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr std::int64_t kMinFolds = 2;

void require_rows_for_folds(std::int64_t n_samples, std::int64_t n_splits) {
  require_splits(n_splits, kMinFolds);
  require_split(n_splits <= n_samples, ErrorCode::kBadData, kCvPath,
                "cv is {}, but there are only {} rows: every fold needs one", n_splits, n_samples);
}

void require_repeats(std::int64_t n_repeats) {
  require_split(n_repeats >= 1, ErrorCode::kInvalidValue, "task.crossValidate.nRepeats", "nRepeats is {}, must be at least 1",
                n_repeats);
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

// random: null for folds in order.
std::vector<Split> draw_k_fold(std::int64_t n_samples, std::int64_t n_splits, LegacyRandom* random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n_samples));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (random) random->shuffle(std::span(order));
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

// The rows of each class, in row order, and the fold of each: blocks of folds, that a shuffle mixes.
struct Strata {
  std::vector<std::int32_t> class_of;                  // of each row
  std::vector<std::vector<std::int32_t>> folds_of;     // by class
};

Strata allocate(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits, std::string& warning) {
  require_rows_for_folds(static_cast<std::int64_t>(codes.size()), n_splits);
  std::int32_t n_seen = 0;
  Strata strata{by_appearance(codes, n_classes, n_seen), {}};
  std::vector<std::int64_t> count(static_cast<std::size_t>(n_seen));
  for (std::int32_t c : strata.class_of) ++count[static_cast<std::size_t>(c)];
  const auto [smallest, largest] = std::minmax_element(count.begin(), count.end());
  require_split(n_splits <= *largest, ErrorCode::kBadData, kCvPath, "cv is {}, but no class has more than {} members", n_splits,
                *largest);
  if (n_splits > *smallest) {
    warning = fmt::format("The least populated class in y has only {} members, which is less than cv={}.", *smallest, n_splits);
  }
  // Round robin over the rows sorted by class decides how many rows of a class each fold tests.
  const auto folds = static_cast<std::size_t>(n_splits);
  strata.folds_of.resize(count.size());
  std::size_t sorted_position = 0;
  for (std::size_t c = 0; c < count.size(); ++c) {
    std::vector<std::int64_t> allocation(folds);
    for (std::int64_t i = 0; i < count[c]; ++i) ++allocation[sorted_position++ % folds];
    for (std::size_t k = 0; k < folds; ++k) {
      strata.folds_of[c].insert(strata.folds_of[c].end(), static_cast<std::size_t>(allocation[k]), static_cast<std::int32_t>(k));
    }
  }
  return strata;
}

std::vector<Split> draw_stratified(const Strata& strata, std::int64_t n_splits, LegacyRandom* random) {
  std::vector<std::vector<std::int32_t>> folds_of = strata.folds_of;
  if (random) {
    for (auto& blocks : folds_of) random->shuffle(std::span(blocks));
  }
  std::vector<std::size_t> used(folds_of.size());
  std::vector<std::int32_t> fold_of(strata.class_of.size());
  for (std::size_t i = 0; i < fold_of.size(); ++i) {
    const auto c = static_cast<std::size_t>(strata.class_of[i]);
    fold_of[i] = folds_of[c][used[c]++];
  }
  return splits_from_folds(fold_of, n_splits);
}

// draw(): the splits of one repeat.
template <class Draw>
std::vector<Split> repeat(std::int64_t n_repeats, const Draw& draw) {
  std::vector<Split> all;
  for (std::int64_t r = 0; r < n_repeats; ++r) {
    for (Split& split : draw()) all.push_back(std::move(split));
  }
  return all;
}

}  // namespace

std::vector<Split> k_fold(std::int64_t n_samples, std::int64_t n_splits, std::optional<std::uint32_t> shuffle_seed) {
  require_rows_for_folds(n_samples, n_splits);
  if (!shuffle_seed) return draw_k_fold(n_samples, n_splits, nullptr);
  LegacyRandom random(*shuffle_seed);
  return draw_k_fold(n_samples, n_splits, &random);
}

std::vector<Split> repeated_k_fold(std::int64_t n_samples, std::int64_t n_splits, std::int64_t n_repeats, std::uint32_t seed) {
  require_rows_for_folds(n_samples, n_splits);
  require_repeats(n_repeats);
  LegacyRandom random(seed);
  return repeat(n_repeats, [&] { return draw_k_fold(n_samples, n_splits, &random); });
}

std::vector<Split> stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                     std::optional<std::uint32_t> shuffle_seed, std::string& warning) {
  const Strata strata = allocate(codes, n_classes, n_splits, warning);
  if (!shuffle_seed) return draw_stratified(strata, n_splits, nullptr);
  LegacyRandom random(*shuffle_seed);
  return draw_stratified(strata, n_splits, &random);
}

std::vector<Split> repeated_stratified_k_fold(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                              std::int64_t n_repeats, std::uint32_t seed, std::string& warning) {
  require_repeats(n_repeats);
  const Strata strata = allocate(codes, n_classes, n_splits, warning);
  LegacyRandom random(seed);
  return repeat(n_repeats, [&] { return draw_stratified(strata, n_splits, &random); });
}

}  // namespace kedge::engine
