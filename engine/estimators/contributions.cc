// Forests as contributions read them, and lines.
#include "engine/estimators/contributions.h"


#include "engine/core/params.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

// Numbers of any nesting, row after row.
void append_numbers(const schema::Value& value, std::vector<double>& numbers) {
  if (const auto* rows = std::get_if<schema::ValueList>(&value.data)) {
    for (const schema::Value& row : *rows) append_numbers(row, numbers);
  } else if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) {
    numbers.insert(numbers.end(), flat->begin(), flat->end());
  } else if (const auto* number = std::get_if<double>(&value.data)) {
    numbers.push_back(*number);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value.data)) {
    numbers.push_back(static_cast<double>(*whole));
  }
}

std::vector<double> numbers_in(const schema::ValueMap& attributes, std::string_view name) {
  std::vector<double> numbers;
  if (const schema::Value* value = find_value(attributes, name)) append_numbers(*value, numbers);
  return numbers;
}

// Of the columns of the background.
std::vector<double> means_of(const AskedCells& asked) {
  const auto n_rows = static_cast<std::size_t>(asked.n_background), n_cols = asked.background.size() / n_rows;
  std::vector<double> means(n_cols);
  for (std::size_t i = 0; i < asked.background.size(); ++i) means[i % n_cols] += asked.background[i];
  for (double& mean : means) mean /= static_cast<double>(n_rows);
  return means;
}

}   // namespace

template <class T>
AskedCells asked_cells(const Context& ctx, const Samples<T>& X, const Division<T>& division) {
  AskedCells asked{.n_rows = X.n_rows(), .rows = host_values(ctx, X), .among_pairs = division.among_pairs};
  if (const Samples<T>* background = division.background)
    asked.n_background = background->n_rows(), asked.background = host_values(ctx, *background);
  return asked;
}
template AskedCells asked_cells(const Context&, const Samples<float>&, const Division<float>&);
template AskedCells asked_cells(const Context&, const Samples<double>&, const Division<double>&);

Contributions line_contributions(const schema::ValueMap& attributes, const std::vector<double>& fitted_means,
                                 const AskedCells& asked) {
  const std::vector<double>& rows = asked.rows;
  const std::vector<double> means = asked.n_background > 0 ? means_of(asked) : fitted_means;
  const std::vector<double> coef = numbers_in(attributes, "coef_");
  std::vector<double> expected = numbers_in(attributes, "intercept_");
  const std::size_t n_cols = means.size(), n_outputs = n_cols > 0 ? coef.size() / n_cols : 0;
  if (expected.empty() || (expected.size() == 1 && n_outputs > 1))
    expected.resize(n_outputs, 0.0);   // without an intercept
  require(
      n_outputs > 0 && coef.size() == n_outputs * n_cols && rows.size() % n_cols == 0 && expected.size() == n_outputs,
      schema::ErrorCode::kBadData, "contributions: {} coefficients and {} intercepts for {} columns", coef.size(),
      expected.size(), n_cols);
  for (std::size_t k = 0; k < n_outputs; ++k)
    for (std::size_t j = 0; j < n_cols; ++j) expected[k] += coef[k * n_cols + j] * means[j];
  const auto n = static_cast<double>(n_cols);
  if (asked.among_pairs) require_few_interactions(asked.n_rows, static_cast<double>(n_outputs) * (n * n + 1));
  const std::size_t apart = asked.among_pairs ? n_cols + 1 : 1;   // from a column's own part to the next one's
  const std::size_t width = asked.among_pairs ? n_cols * n_cols : n_cols;
  Contributions found{.n_outputs = static_cast<std::int64_t>(n_outputs)};
  found.values.resize(rows.size() / n_cols * n_outputs * (width + 1));
  double* part = found.values.data();
  for (std::size_t row = 0; row < rows.size(); row += n_cols) {
    for (std::size_t k = 0; k < n_outputs; ++k, part += width + 1) {
      for (std::size_t j = 0; j < n_cols; ++j) part[j * apart] = coef[k * n_cols + j] * (rows[row + j] - means[j]);
      part[width] = expected[k];
    }
  }
  return found;
}

// Children keep their numbers within `all`, because forests are appended whole.
void append_shap_trees(const Forest& forest, std::int32_t output, ShapTrees& all) {
  const auto before = static_cast<std::int64_t>(all.feature.size());
  const std::int64_t k = forest.n_outputs(), kept = all.leaf_values();
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    all.tree_offset.push_back(before + forest.tree_offset[static_cast<std::size_t>(t) + 1]);
    if (output >= 0) all.tree_output.push_back(output);
  }
  all.feature.insert(all.feature.end(), forest.feature.begin(), forest.feature.end());
  all.cuts.threshold.insert(all.cuts.threshold.end(), forest.threshold.begin(), forest.threshold.end());
  all.cover.insert(all.cover.end(), forest.weight.begin(), forest.weight.end());
  for (std::size_t i = 0; i < forest.feature.size(); ++i) {
    all.left.push_back(static_cast<std::int32_t>(before) + forest.left[i]);
    all.right.push_back(static_cast<std::int32_t>(before) + forest.right[i]);
    if (forest.n_classes == 0) {
      all.value.push_back(forest.mean[i]);
      continue;
    }
    const std::size_t own = i * static_cast<std::size_t>(k);
    for (std::int64_t c = k - kept; c < k; ++c) all.value.push_back(forest.value[own + static_cast<std::size_t>(c)]);
  }
}

ShapTrees shap_trees(const Forest& forest) {
  ShapTrees trees{.n_cols = forest.n_cols, .n_outputs = forest.n_classes > 2 ? forest.n_classes : 1};
  trees.scale = 1.0 / static_cast<double>(forest.n_trees());
  append_shap_trees(forest, -1, trees);
  return trees;
}

template <class T>
std::optional<std::vector<double>> device_contributions(const Context& ctx, const Samples<T>& X,
                                                        const Division<T>& division, KeptShap& kept,
                                                        const std::function<ShapTrees()>& trees,
                                                        const std::function<CellKeys()>& keys) {
  TreeShapOps* const ops = tree_shap_ops(ctx.device.trees());
  if (!ops || division.background || division.among_pairs || X.n_rows() == 0) return std::nullopt;
  if (kept.on != &ctx.device) kept = {ops->prepare_shap(trees()), &ctx.device};
  Matrix<T> scratch;
  Matrix<double> parts(ctx.memory(), X.n_rows(), kept.ready->numbers_a_row());
  kept.ready->contributions(X.values(ctx, scratch), keys ? keys() : CellKeys{}, parts.view());
  return parts.to_host();
}

template <class T>
std::vector<double> contributions_of(const Context& ctx, const Samples<T>& X, const Division<T>& division,
                                     KeptShap& kept, const std::function<ShapTrees()>& trees) {
  if (auto found = device_contributions(ctx, X, division, kept, trees)) return *std::move(found);
  return tree_contributions(trees(), asked_cells(ctx, X, division));
}

#define KEDGE_INSTANTIATE(T)                                                                                      \
  template std::optional<std::vector<double>> device_contributions(                                               \
      const Context&, const Samples<T>&, const Division<T>&, KeptShap&, const std::function<ShapTrees()>&,        \
      const std::function<CellKeys()>&);                                                                          \
  template std::vector<double> contributions_of(const Context&, const Samples<T>&, const Division<T>&, KeptShap&, \
                                                const std::function<ShapTrees()>&);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

Contributions of_both_classes(const std::vector<double>& second, std::int64_t numbers_a_row) {
  const auto width = static_cast<std::size_t>(numbers_a_row);
  Contributions both{.n_outputs = 2};
  both.values.reserve(2 * second.size());
  for (std::size_t row = 0; row < second.size(); row += width) {
    for (std::size_t j = 0; j + 1 < width; ++j) both.values.push_back(0.0 - second[row + j]);
    both.values.push_back(1 - second[row + width - 1]);
    both.values.insert(both.values.end(), second.begin() + static_cast<std::ptrdiff_t>(row),
                       second.begin() + static_cast<std::ptrdiff_t>(row + width));
  }
  return both;
}

}   // namespace kedge::engine
