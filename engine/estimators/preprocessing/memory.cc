// What transformers of single columns hold at their worst moment.
#include "engine/estimators/preprocessing/memory.h"

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/sparse_choice.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

MemoryNeed affine(const SampleShape& X, const Step&) {
  SampleShape out = X;
  out.in_place = false;
  return {.work = block(X), .out = std::move(out)};
}

MemoryNeed sorted_affine(const SampleShape& X, const Step& step) {
  MemoryNeed need = affine(X, step);
  need.work += X.copy() + X.value_size() / 2;
  return need;
}

MemoryNeed scales_rows(const SampleShape& X, const Step&) {
  return makes_alike(X, X.cols, 0);
}

namespace {

// The same shape, each cell by itself. Names and categories stay known.
MemoryNeed mapped(const SampleShape& X, bool is_exact) {
  MemoryNeed need = makes_alike(X, X.cols, X.copy() + X.value_size());
  need.out.features = X.features;
  for (Feature& feature : need.out.features) feature.is_nominal = false;   // codes and marks are numbers
  need.is_exact = is_exact;
  return need;
}

}  // namespace

MemoryNeed maps_numbers(const SampleShape& X, const Step&) { return mapped(X, true); }

// At most: columns without any value are dropped, and an indicator leaves out columns without a missing cell.
MemoryNeed maps_cells(const SampleShape& X, const Step&) { return mapped(X, false); }

MemoryNeed imputed(const SampleShape& X, const Step& step) {
  MemoryNeed need = maps_cells(X, step);
  need.out.features = X.features;   // a category is filled by a category
  const std::string strategy = text(step, "strategy");
  need.refuses_categories = strategy == "mean" || strategy == "median";
  return need;
}

MemoryNeed power(const SampleShape& X, const Step&) {
  return makes(X, X.cols, X.copy() + 5 * X.value_size() / 4);
}

MemoryNeed quantiles(const SampleShape& X, const Step& step) {
  const std::int64_t n_quantiles = std::min(X.rows, integer(step, "n_quantiles"));
  return makes(X, X.cols, X.copy() + X.value_size() / 2 + 4 * n_quantiles * X.cols * kDouble);
}

MemoryNeed polynomial(const SampleShape& X, const Step& step) {
  std::int64_t degree = integer(step, "degree");
  if (const Value* const given = find_value(step.params, "degree"))
    if (const auto range = numbers_of(*given); range && range->size() == 2) degree = static_cast<std::int64_t>((*range)[1]);
  double all = 1, of_degree = 1;
  const bool interactions = flag(step, "interaction_only");
  for (std::int64_t g = 1; g <= degree && all < 4e9; ++g) {
    of_degree *=
        std::max(0.0, static_cast<double>(X.cols) + static_cast<double>(interactions ? 1 - g : g - 1)) / static_cast<double>(g);
    all += of_degree;
  }
  const auto cols = static_cast<std::int64_t>(std::min(all, 2147483647.0));   // fit() refuses more
  return makes(X, cols, X.copy() + cols * 48);
}

MemoryNeed splines(const SampleShape& X, const Step& step) {
  std::int64_t knots = integer(step, "n_knots");
  if (const Value* const given = find_value(step.params, "knots"))
    if (const auto rows = rows_of(*given)) knots = static_cast<std::int64_t>(rows->size());
  const std::int64_t basis = knots + integer(step, "degree") - 1, places = bytes_of(knots, X.cols, kDouble);
  MemoryNeed need = makes(X, X.cols * basis, X.copy() + X.value_size() / 2 + 2 * places);
  need.minimum = places;
  return need;
}

MemoryNeed bins(const SampleShape& X, const Step& step) {
  std::int64_t most = integer(step, "n_bins");
  if (const Value* const given = find_value(step.params, "n_bins"))
    if (const auto each = numbers_of(*given); each && !each->empty())
      most = static_cast<std::int64_t>(std::min(*std::ranges::max_element(*each), static_cast<double>(kMost)));
  const bool is_wide = text(step, "encode") != "ordinal";
  MemoryNeed need = makes(X, is_wide ? X.cols * most : X.cols, X.copy() + 3 * X.value_size() / 2 + bytes_of(most, X.cols, 2 * kDouble));
  need.minimum = bytes_of(most, 1, kDouble);   // of the column with most
  need.is_exact = !is_wide;   // bins without rows are left out
  return need;
}

namespace {

// Columns that one of categories becomes at most, by max_categories and min_frequency: the rare ones are one together.
std::int64_t most_categories(const SampleShape& X, const Step& step) {
  std::int64_t most = integer(step, "max_categories", kMost);
  const Value* const rare = find_value(step.params, "min_frequency");
  const double* const share = rare ? std::get_if<double>(&rare->data) : nullptr;
  const double least = share ? *share * static_cast<double>(X.rows) : static_cast<double>(integer(step, "min_frequency", 0));
  if (least > 1) most = std::min(most, static_cast<std::int64_t>(static_cast<double>(X.rows) / least) + 1);
  return std::max<std::int64_t>(most, 1);
}

}  // namespace

// Only the data tell the categories of a column of numbers. As many as rows would refuse jobs that fit.
MemoryNeed categories(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kOfNumbers = 2;
  std::int64_t cols = kOfNumbers * X.cols;
  if (!X.features.empty()) {
    const std::int64_t most = most_categories(X, step);
    cols = 0;
    for (const Feature& feature : X.features)
      cols += feature.is_nominal ? std::min(static_cast<std::int64_t>(feature.categories.size()) + 1, most) : kOfNumbers;
  }
  MemoryNeed need = makes(X, cols, X.copy() + 2 * X.value_size());
  const std::int64_t entries = X.rows * X.cols;
  if (X.on_host && is_better_sparse(X.rows, cols, entries, X.value_bytes)) {
    need.out.entries = entries;
    need.made = need.out.value_size();
    need.work += need.made;   // while it is copied
  }
  need.is_exact = false;
  return need;
}

}  // namespace kedge::engine::memory
