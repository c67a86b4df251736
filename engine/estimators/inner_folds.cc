// See inner_folds.h.
#include "engine/estimators/inner_folds.h"

#include <algorithm>
#include <numeric>

#include "engine/core/chosen.h"
#include "engine/core/legacy_random.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

// Classes by their first appearance, so that folds do not depend on the classes' names.
std::vector<std::int32_t> by_appearance(std::span<const std::int32_t> codes, std::int32_t n_classes) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(n_classes), -1), renumbered;
  std::int32_t n_seen = 0;
  renumbered.reserve(codes.size());
  for (const std::int32_t code : codes) {
    std::int32_t& own = number[static_cast<std::size_t>(code)];
    if (own < 0) own = n_seen++;
    renumbered.push_back(own);
  }
  return renumbered;
}

}   // namespace

std::vector<std::int32_t> k_fold_numbers(std::int64_t n_rows, std::int64_t n_folds, LegacyRandom* shuffle) {
  std::vector<std::int32_t> fold_of;
  fold_of.reserve(static_cast<std::size_t>(n_rows));
  for (std::int64_t k = 0; k < n_folds; ++k)
    fold_of.insert(fold_of.end(), static_cast<std::size_t>(n_rows / n_folds + (k < n_rows % n_folds ? 1 : 0)),
                   static_cast<std::int32_t>(k));
  if (!shuffle) return fold_of;
  const std::vector<std::int64_t> order = shuffle->permutation(n_rows);
  std::vector<std::int32_t> shuffled(fold_of.size());
  for (std::size_t i = 0; i < order.size(); ++i) shuffled[static_cast<std::size_t>(order[i])] = fold_of[i];
  return shuffled;
}

std::vector<std::int32_t> stratified_fold_numbers(std::span<const std::int32_t> codes, std::int32_t n_classes,
                                                  std::int64_t n_folds, LegacyRandom* shuffle) {
  const std::vector<std::int32_t> class_of = by_appearance(codes, n_classes);
  std::vector<std::int64_t> count(static_cast<std::size_t>(n_classes));
  for (const std::int32_t c : class_of) ++count[static_cast<std::size_t>(c)];
  // Round robin over the rows sorted by class decides how many rows of a class each fold gets.
  std::vector<std::vector<std::int32_t>> folds(count.size());
  std::int64_t sorted_position = 0;
  for (std::size_t c = 0; c < count.size(); ++c) {
    std::vector<std::int64_t> allocation(static_cast<std::size_t>(n_folds));
    for (std::int64_t i = 0; i < count[c]; ++i) ++allocation[static_cast<std::size_t>(sorted_position++ % n_folds)];
    for (std::size_t k = 0; k < allocation.size(); ++k)
      folds[c].insert(folds[c].end(), static_cast<std::size_t>(allocation[k]), static_cast<std::int32_t>(k));
    if (shuffle) shuffle->shuffle(std::span(folds[c]));
  }
  std::vector<std::size_t> used(count.size());
  std::vector<std::int32_t> fold_of;
  fold_of.reserve(class_of.size());
  for (const std::int32_t c : class_of)
    fold_of.push_back(folds[static_cast<std::size_t>(c)][used[static_cast<std::size_t>(c)]++]);
  return fold_of;
}

std::vector<std::int32_t> fold_numbers(const char* owner, const Target& y, std::int64_t n_folds,
                                       LegacyRandom* shuffle) {
  const auto n_rows = static_cast<std::int64_t>(std::max(y.codes.size(), y.values.size()));
  require(n_folds <= n_rows, schema::ErrorCode::kBadData,
          "{}: cv is {}, but there are only {} rows: every fold needs one", owner, n_folds, n_rows);
  if (y.n_classes() == 0 || y.codes.empty()) return k_fold_numbers(n_rows, n_folds, shuffle);
  std::vector<std::int64_t> count(static_cast<std::size_t>(y.n_classes()));
  for (const std::int32_t code : y.codes) ++count[static_cast<std::size_t>(code)];
  const std::int64_t most = *std::ranges::max_element(count);
  require(n_folds <= most, schema::ErrorCode::kBadData, "{}: cv is {}, but no class has more than {} rows", owner,
          n_folds, most);
  return stratified_fold_numbers(y.codes, y.n_classes(), n_folds, shuffle);
}

std::vector<std::int32_t> rows_in_fold(std::span<const std::int32_t> fold_of, std::int32_t fold, bool inside) {
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < fold_of.size(); ++i)
    if ((fold_of[i] == fold) == inside) positions.push_back(static_cast<std::int32_t>(i));
  return positions;
}

template <class T>
Samples<T> rows_at(const Context& ctx, const Samples<T>& X, std::span<const std::int32_t> positions) {
  Samples<T> some = X;
  some.content.clear();
  std::vector<std::int32_t> rows(positions.begin(), positions.end());
  if (X.rows) rows = chosen(X.rows->to_host(), positions);
  some.rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(rows));
  return some;
}

Target rows_at(const Target& y, std::span<const std::int32_t> positions) {
  return {.codes = chosen(y.codes, positions),
          .classes = y.classes,
          .values = chosen(y.values, positions),
          .weights = chosen(y.weights, positions)};
}

template Samples<float> rows_at(const Context&, const Samples<float>&, std::span<const std::int32_t>);
template Samples<double> rows_at(const Context&, const Samples<double>&, std::span<const std::int32_t>);

}   // namespace kedge::engine
