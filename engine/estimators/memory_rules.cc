// What the estimators hold at their worst moment, in terms of rows x columns, columns x columns and outputs. The factors were
// measured: see tests/unit/engine/estimators/memory_test.cc, which holds them to it.
#include "engine/estimators/memory_rules.h"

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/estimators/column_choice.h"
#include "engine/estimators/nested.h"

namespace kedge::engine::memory {
namespace {

using schema::Step;
using schema::Value;

constexpr std::int64_t kDouble = 8;
constexpr std::int64_t kMost = std::int64_t{1} << 31;   // of columns, and of what a parameter counts: more is refused elsewhere
constexpr std::int64_t kSparseBlock = std::int64_t{64} << 20;   // of sparse rows made dense, and of what is made of them
constexpr std::int64_t kBlockRows = 8192;                       // rows that are gathered or multiplied together

std::int64_t integer(const Step& step, std::string_view name, std::int64_t fallback) {
  const Value* const value = find_value(step.params, name);
  if (!value) return fallback;
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) return std::min(*whole, kMost);
  return fallback;
}

bool flag(const Step& step, std::string_view name, bool fallback) {
  const Value* const value = find_value(step.params, name);
  const bool* const given = value ? std::get_if<bool>(&value->data) : nullptr;
  return given ? *given : fallback;
}

std::string text(const Step& step, std::string_view name, std::string fallback) {
  const Value* const value = find_value(step.params, name);
  const auto* const given = value ? std::get_if<std::string>(&value->data) : nullptr;
  return given ? *given : fallback;
}

// Gathered rows of a pass in blocks, in double.
std::int64_t block(const SampleShape& X) {
  const std::int64_t size = bytes_of(std::min(X.rows, kBlockRows), X.cols, kDouble);
  return X.is_sparse() ? std::min(size, kSparseBlock) : size;
}

std::int64_t doubles(const SampleShape& X) {
  return X.is_sparse() ? 2 * X.value_size() : bytes_of(X.rows, X.cols, kDouble);
}

// Predictions and what they are made of, on the device and on the host.
std::int64_t answers(const SampleShape& X) {
  return bytes_of(X.rows, X.n_outputs + 2, 2 * kDouble);
}

std::int64_t square(std::int64_t side) {
  return bytes_of(side, side, kDouble);
}

// A Gram matrix of this side; sparse designs are not squared beyond a block.
std::int64_t gram(const SampleShape& X, std::int64_t side) {
  return X.is_sparse() ? std::min(square(side), kSparseBlock) : square(side);
}

SampleShape made_of(const SampleShape& X, std::int64_t cols) {
  return {
      .rows = X.rows, .cols = std::min(cols, kMost), .value_bytes = X.value_bytes, .n_outputs = X.n_outputs, .in_place = true};
}

// A transformer that makes a matrix of `cols` columns and holds `work` more while it does.
MemoryNeed makes(const SampleShape& X, std::int64_t cols, std::int64_t work) {
  const SampleShape out = made_of(X, cols);
  return {.work = work, .made = out.value_size(), .out = out};
}

// The same for what leaves sparse samples sparse.
MemoryNeed makes_alike(const SampleShape& X, std::int64_t cols, std::int64_t work) {
  MemoryNeed need = makes(X, cols, work);
  need.out.entries = X.entries;
  need.made = need.out.value_size();
  return need;
}

}   // namespace

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

// Names and categories stay known.
MemoryNeed maps_cells(const SampleShape& X, const Step&) {
  MemoryNeed need = makes_alike(X, X.cols, X.copy() + X.value_size());
  need.out.features = X.features;
  return need;
}

MemoryNeed power(const SampleShape& X, const Step&) {
  return makes(X, X.cols, X.copy() + 5 * X.value_size() / 4);
}

MemoryNeed quantiles(const SampleShape& X, const Step& step) {
  const std::int64_t n_quantiles = std::min(X.rows, integer(step, "n_quantiles", 1000));
  return makes(X, X.cols, X.copy() + X.value_size() / 2 + 4 * n_quantiles * X.cols * kDouble);
}

MemoryNeed takes_columns(const SampleShape& X, const Step& step) {
  std::int64_t cols = X.cols;
  if (step.estimator == "SelectKBest") cols = std::min(cols, integer(step, "k", text(step, "k", "10") == "all" ? cols : 10));
  return makes_alike(X, cols, std::max(X.copy(), block(X)) + X.rows * X.n_outputs * kDouble);
}

MemoryNeed polynomial(const SampleShape& X, const Step& step) {
  std::int64_t degree = integer(step, "degree", 2);
  if (const Value* const given = find_value(step.params, "degree"))
    if (const auto range = numbers_of(*given); range && range->size() == 2) degree = static_cast<std::int64_t>((*range)[1]);
  double all = 1, of_degree = 1;
  const bool interactions = flag(step, "interaction_only", false);
  for (std::int64_t g = 1; g <= degree && all < 4e9; ++g) {
    of_degree *=
        std::max(0.0, static_cast<double>(X.cols) + static_cast<double>(interactions ? 1 - g : g - 1)) / static_cast<double>(g);
    all += of_degree;
  }
  const auto cols = static_cast<std::int64_t>(std::min(all, 2147483647.0));   // fit() refuses more
  return makes(X, cols, X.copy() + cols * 48);
}

MemoryNeed splines(const SampleShape& X, const Step& step) {
  std::int64_t knots = integer(step, "n_knots", 5);
  if (const Value* const given = find_value(step.params, "knots"))
    if (const auto rows = rows_of(*given)) knots = static_cast<std::int64_t>(rows->size());
  const std::int64_t basis = knots + integer(step, "degree", 3) - 1;
  return makes(X, X.cols * basis, X.copy() + X.value_size() / 2);
}

MemoryNeed bins(const SampleShape& X, const Step& step) {
  std::int64_t most = integer(step, "n_bins", 5);
  if (const Value* const given = find_value(step.params, "n_bins"))
    if (const auto each = numbers_of(*given); each && !each->empty())
      most = static_cast<std::int64_t>(*std::ranges::max_element(*each));
  const bool is_wide = text(step, "encode", "onehot") != "ordinal";
  return makes(X, is_wide ? X.cols * most : X.cols, X.copy() + 3 * X.value_size() / 2);
}

// Of a column of numbers nobody knows the categories: as many as rows would be refused for nothing.
MemoryNeed categories(const SampleShape& X, const Step&) {
  constexpr std::int64_t kOfNumbers = 2;
  std::int64_t cols = kOfNumbers * X.cols;
  if (!X.features.empty()) {
    cols = 0;
    for (const Feature& feature : X.features)
      cols += feature.is_nominal ? static_cast<std::int64_t>(feature.categories.size()) + 1 : kOfNumbers;
  }
  return makes(X, cols, X.copy() + 2 * X.value_size());
}

MemoryNeed landmarks(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kKernelRows = 4096;
  const std::int64_t k = std::min(X.rows, integer(step, "n_components", 100)), rows = std::min(X.rows, kKernelRows);
  return makes(X, k, (rows * (k + 2 * X.cols) + 4 * k * (k + X.cols)) * X.value_bytes + X.rows * 2 * kDouble);
}

MemoryNeed components(const SampleShape& X, const Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols), oversampled = 10;
  if (step.estimator == "TruncatedSVD") {
    const std::int64_t k = std::min(small, integer(step, "n_components", 2));
    return makes(X, k, 4 * (X.rows + X.cols) * (k + oversampled) * kDouble + block(X));
  }
  const std::int64_t k = std::min(small, integer(step, "n_components", small));
  if (step.estimator == "IncrementalPCA") {
    const std::int64_t batch = std::min(X.rows, integer(step, "batch_size", 5 * X.cols));
    return makes(X, k, 6 * (batch + k) * X.cols * kDouble + block(X));
  }
  const std::int64_t spectrum = X.rows < X.cols ? 4 * doubles(X) + 2 * square(X.rows) : 4 * square(X.cols);
  return makes(X, k, spectrum + block(X) + k * X.cols * 2 * kDouble);
}

// --- transformers inside others ---

namespace {

// A transformer as named_transformers() found it, on these columns.
MemoryNeed nested(const SampleShape& X, const Value& value) {
  MemoryNeed all{.out = X};
  std::vector<Step> steps;
  if (const auto* list = std::get_if<schema::ValueList>(&value.data)) {
    for (const Value& one : *list) steps.push_back(step_of(one, "params"));
  } else if (std::holds_alternative<schema::ValueMap>(value.data)) {
    steps.push_back(step_of(value, "params"));
  } else if (value == Value("drop")) {
    all.out.cols = 0, all.out.features.clear();
  }
  for (const Step& step : steps) {
    MemoryNeed need = memory_need(all.out, step);
    all.work = std::max(all.work, all.made + need.work);
    all.made += need.made;
    all.out = std::move(need.out);
  }
  return all;
}

// Results of parts side by side: all of them, and the matrix that they go into.
void add_part(MemoryNeed part, MemoryNeed& all) {
  all.work = std::max(all.work, all.kept + part.work) + part.made;
  all.kept += part.made;
  all.out.cols += part.out.cols;
  if (part.out.features.empty()) part.out.features.resize(static_cast<std::size_t>(part.out.cols));
  std::ranges::move(part.out.features, std::back_inserter(all.out.features));
}

MemoryNeed joined(const SampleShape& X, MemoryNeed all) {
  all.out = {.rows = X.rows,
             .cols = all.out.cols,
             .value_bytes = X.value_bytes,
             .n_outputs = X.n_outputs,
             .in_place = true,
             .features = std::move(all.out.features)};
  all.made = all.out.value_size(), all.kept = 0;
  return all;
}

SampleShape part_of(const SampleShape& X, const std::vector<std::int64_t>& columns) {
  SampleShape part = X;
  part.cols = static_cast<std::int64_t>(columns.size()), part.entries = -1, part.features.clear();
  for (const std::int64_t j : columns)
    if (!X.features.empty()) part.features.push_back(X.features[static_cast<std::size_t>(j)]);
  return part;
}

}   // namespace

// Its columns are copied once for each part.
MemoryNeed column_transformer(const SampleShape& X, const Step& step) {
  const Value* const list = find_value(step.params, "transformers");
  const Value* const remainder = find_value(step.params, "remainder");
  std::vector<Feature> features = X.features;
  for (std::size_t j = features.size(); j < static_cast<std::size_t>(X.cols); ++j)
    features.push_back({.name = "x" + std::to_string(j)});
  std::vector<char> is_taken(features.size(), 0);
  MemoryNeed all;
  for (const NamedValue& part :
       named_transformers(step.estimator, "transformers", list ? *list : Value(schema::ValueList{}), true)) {
    const auto columns = ColumnChoice(part.columns, part.columns_path).resolve(step.estimator, features);
    for (const std::int64_t j : columns) is_taken[static_cast<std::size_t>(j)] = 1;
    const SampleShape X_part = part_of(X, columns);
    all.work += X_part.value_size(), all.kept += X_part.value_size();
    add_part(nested(X_part, part.transformer), all);
  }
  std::vector<std::int64_t> rest;
  for (std::size_t j = 0; j < is_taken.size(); ++j)
    if (!is_taken[j]) rest.push_back(static_cast<std::int64_t>(j));
  const SampleShape X_rest = part_of(X, rest);
  if (remainder && *remainder != Value("drop")) all.work += X_rest.value_size(), all.kept += X_rest.value_size();
  add_part(nested(X_rest, remainder ? *remainder : Value("drop")), all);
  return joined(X, std::move(all));
}

MemoryNeed feature_union(const SampleShape& X, const Step& step) {
  const Value* const list = find_value(step.params, "transformer_list");
  MemoryNeed all;
  for (const NamedValue& part :
       named_transformers(step.estimator, "transformer_list", list ? *list : Value(schema::ValueList{}), false))
    add_part(nested(X, part.transformer), all);
  return joined(X, std::move(all));
}

// --- what ends a pipeline ---

MemoryNeed constant(const SampleShape& X, const Step&) {
  return {.work = answers(X)};
}

// Tall designs are read in blocks; what is ill-conditioned beyond them is rare, and its copy is checked where it is made.
MemoryNeed least_squares(const SampleShape& X, const Step&) {
  return {.work = block(X) + answers(X) + (X.rows < X.cols ? 7 * doubles(X) : 4 * gram(X, X.cols + 1))};
}

MemoryNeed ridge(const SampleShape& X, const Step& step) {
  const std::int64_t side = std::min(X.rows, X.cols) + X.n_outputs, squares = 6 * gram(X, side);
  const bool keeps_rows = X.rows < X.cols || step.estimator == "RidgeCV";
  const std::int64_t rows = keeps_rows ? doubles(X) : 0;
  return {.work = block(X) + 2 * rows + squares + answers(X), .kept = rows + gram(X, side)};
}

MemoryNeed coordinate_descent(const SampleShape& X, const Step& step) {
  const std::int64_t fits = step.estimator.ends_with("CV") ? 1 + integer(step, "cv", 5) : 1;
  const std::int64_t rows = X.rows < X.cols ? 7 * doubles(X) : 4 * gram(X, X.cols + 1);
  return {.work = block(X) + fits * rows + answers(X), .kept = rows};
}

MemoryNeed logistic(const SampleShape& X, const Step&) {
  constexpr std::int64_t kVectors = 40;   // of L-BFGS, each of the size of the coefficients
  const std::int64_t coef = X.cols * X.n_outputs * kDouble, second = std::min(square(X.cols), kSparseBlock);
  return {.work = X.copy() + X.rows * X.n_outputs * 4 * kDouble + answers(X) + kVectors * coef + second, .kept = coef};
}

MemoryNeed bayes(const SampleShape& X, const Step&) {
  return {.work = X.copy() + block(X) / 2 + answers(X)};
}

MemoryNeed category_bayes(const SampleShape& X, const Step&) {
  constexpr std::int64_t kCategories = 10;   // of a column; who has more shows in the data alone
  return {.work = X.value_size() + kCategories * block(X) + answers(X)};
}

MemoryNeed discriminant(const SampleShape& X, const Step& step) {
  const std::int64_t rows = X.rows < X.cols ? 17 * doubles(X) : 0;
  const std::int64_t each = step.estimator == "QuadraticDiscriminantAnalysis" ? 3 * X.n_outputs : 6;
  return makes(X, std::min(X.cols, X.n_outputs), rows + doubles(X) + block(X) + each * square(X.cols) + answers(X));
}

MemoryNeed neighbours(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kMostAnswers = std::int64_t{1} << 24;
  const std::int64_t lists = std::min(kMostAnswers, X.rows * integer(step, "n_neighbors", 5)) * 40;
  return {.work = 2 * X.copy() + X.value_size() + lists + answers(X), .kept = X.value_size() + lists};
}

MemoryNeed clusters(const SampleShape& X, const Step& step) {
  const std::int64_t k = std::min(X.rows, integer(step, "n_clusters", 8));
  MemoryNeed need = makes(X, k, 0);
  need.work = X.copy() + block(X) + X.rows * 4 * kDouble + std::min(X.rows, kBlockRows) * k * kDouble + 8 * k * X.cols * kDouble;
  return need;
}

MemoryNeed density(const SampleShape& X, const Step&) {
  constexpr std::int64_t kMostPairs = std::int64_t{512} << 20, kUsualPairs = 64;   // of a row
  return {.work = 2 * X.copy() + X.value_size() + X.rows * 8 * kDouble + std::min(kMostPairs, X.rows * kUsualPairs * kDouble)};
}

// Nodes of a tree: of a regressor up to one for each drawn row and those above them, of a classifier fewer, as most rows agree.
static std::int64_t nodes_of(const SampleShape& X, const Step& step) {
  const std::int64_t depth = std::min<std::int64_t>(integer(step, "max_depth", 40), 40);
  std::int64_t nodes = step.estimator.ends_with("Regressor") ? 13 * X.rows / 10 : X.rows / 2;
  if (step.estimator.starts_with("DecisionTree")) nodes *= 2;   // nothing is drawn, every row is there
  nodes = std::min(nodes, std::int64_t{2} << depth);
  nodes = std::min(nodes, 2 * integer(step, "max_leaf_nodes", X.rows));
  return std::min(nodes, 2 * X.rows / std::max<std::int64_t>(1, integer(step, "min_samples_leaf", 1)));
}

MemoryNeed trees(const SampleShape& X, const Step& step) {
  const bool is_single = step.estimator.starts_with("DecisionTree");
  const std::int64_t of_cell = is_single ? 48 : 10;          // sorted columns with their order; bytes by row and by column
  const std::int64_t of_node = 2 * (40 + 4 * X.n_outputs);   // the vectors of a forest double when they grow
  const std::int64_t n_trees = is_single ? 1 : integer(step, "n_estimators", 100);
  const std::int64_t nodes = n_trees * nodes_of(X, step) * of_node;
  return {.work = X.copy() + bytes_of(X.rows, X.cols, of_cell) + nodes + answers(X), .kept = nodes};
}

}   // namespace kedge::engine::memory
