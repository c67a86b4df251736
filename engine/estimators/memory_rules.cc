// What the estimators hold at their worst moment, in terms of rows x columns, columns x columns and outputs. The factors were
// measured: see tests/unit/engine/estimators/memory_test.cc, which holds them to it.
#include "engine/estimators/memory_rules.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "engine/core/params.h"
#include "engine/estimators/composition/column_choice.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/sparse_choice.h"

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

// Of a list how many it has.
std::int64_t count(const Step& step, std::string_view name, std::int64_t fallback) {
  const Value* const value = find_value(step.params, name);
  const auto list = value ? numbers_of(*value) : std::nullopt;
  return list ? static_cast<std::int64_t>(list->size()) : integer(step, name, fallback);
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
  return {.rows = X.rows,
          .cols = std::min(cols, kMost),
          .value_bytes = X.value_bytes,
          .n_outputs = X.n_outputs,
          .in_place = true,
          .on_host = X.on_host};
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
MemoryNeed maps_cells(const SampleShape& X, const Step& step) {
  MemoryNeed need = makes_alike(X, X.cols, X.copy() + X.value_size());
  need.out.features = X.features;
  for (Feature& feature : need.out.features) feature.is_nominal = false;   // codes and marks are numbers
  need.is_exact =
      step.estimator == "Binarizer";   // columns without any value are dropped, those without a missing one not told of
  return need;
}

MemoryNeed imputed(const SampleShape& X, const Step& step) {
  MemoryNeed need = maps_cells(X, step);
  need.out.features = X.features;   // a category is filled by a category
  const std::string strategy = text(step, "strategy", "mean");
  need.refuses_categories = strategy == "mean" || strategy == "median";
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
  MemoryNeed need = makes_alike(X, cols, std::max(X.copy(), block(X)) + X.rows * X.n_outputs * kDouble);
  need.out.has_few_values = X.has_few_values;
  need.is_exact = step.estimator == "SelectKBest";
  return need;
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
  const std::int64_t basis = knots + integer(step, "degree", 3) - 1, places = bytes_of(knots, X.cols, kDouble);
  MemoryNeed need = makes(X, X.cols * basis, X.copy() + X.value_size() / 2 + 2 * places);
  need.sure = places;
  return need;
}

MemoryNeed bins(const SampleShape& X, const Step& step) {
  std::int64_t most = integer(step, "n_bins", 5);
  if (const Value* const given = find_value(step.params, "n_bins"))
    if (const auto each = numbers_of(*given); each && !each->empty())
      most = static_cast<std::int64_t>(std::min(*std::ranges::max_element(*each), static_cast<double>(kMost)));
  const bool is_wide = text(step, "encode", "onehot") != "ordinal";
  MemoryNeed need = makes(X, is_wide ? X.cols * most : X.cols, X.copy() + 3 * X.value_size() / 2 + bytes_of(most, X.cols, 2 * kDouble));
  need.sure = bytes_of(most, 1, kDouble);   // of the column with most
  need.is_exact = !is_wide;   // bins without rows are left out
  return need;
}

// Columns that one of categories becomes at most, by max_categories and min_frequency: the rare ones are one together.
std::int64_t most_categories(const SampleShape& X, const Step& step) {
  std::int64_t most = integer(step, "max_categories", kMost);
  const Value* const rare = find_value(step.params, "min_frequency");
  const double* const share = rare ? std::get_if<double>(&rare->data) : nullptr;
  const double least = share ? *share * static_cast<double>(X.rows) : static_cast<double>(integer(step, "min_frequency", 0));
  if (least > 1) most = std::min(most, static_cast<std::int64_t>(static_cast<double>(X.rows) / least) + 1);
  return std::max<std::int64_t>(most, 1);
}

// Of a column of numbers nobody knows the categories: as many as rows would be refused for nothing.
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

MemoryNeed landmarks(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kKernelRows = 4096;
  const std::int64_t k = std::min(X.rows, integer(step, "n_components", 100)), rows = std::min(X.rows, kKernelRows);
  return makes(X, k, (rows * (k + 2 * X.cols) + 4 * k * (k + X.cols)) * X.value_bytes + X.rows * 2 * kDouble);
}

MemoryNeed components(const SampleShape& X, const Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols);
  if (step.estimator == "TruncatedSVD") {
    const std::int64_t k = std::min(small, integer(step, "n_components", 2));
    return makes(X, k, bytes_of(X.rows + X.cols, std::min(small, k + integer(step, "n_oversamples", 10)), 4 * kDouble) + block(X));
  }
  const std::int64_t k = std::min(small, integer(step, "n_components", small));
  if (step.estimator == "IncrementalPCA") {
    const std::int64_t batch = std::min(X.rows, integer(step, "batch_size", 5 * X.cols));
    return makes(X, k, 6 * (batch + k) * X.cols * kDouble + block(X));
  }
  const std::int64_t spectrum = X.rows < X.cols ? 4 * doubles(X) + 2 * square(X.rows) : 4 * square(X.cols);
  MemoryNeed need = makes(X, k, spectrum + block(X) + k * X.cols * 2 * kDouble);
  const Value* const wanted = find_value(step.params, "n_components");
  need.is_exact = !wanted || !(std::holds_alternative<double>(wanted->data) || std::holds_alternative<std::string>(wanted->data));
  return need;
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
    all.out.uses = X.uses;
    MemoryNeed need = memory_need(all.out, step);
    all.work = std::max(all.work, all.made + need.work);
    all.made += need.made;
    all.is_exact = all.is_exact && need.is_exact;
    all.out = std::move(need.out);
  }
  return all;
}

// Results of parts side by side: all of them, and the matrix that they go into.
void add_part(MemoryNeed part, MemoryNeed& all) {
  all.work = std::max(all.work, all.kept + part.work) + part.made;
  all.kept += part.made;
  all.is_exact = all.is_exact && part.is_exact;
  if (part.out.is_sparse() || all.out.is_sparse()) {
    const auto entries_of = [](const SampleShape& X) { return X.is_sparse() ? X.entries : X.rows * X.cols; };
    all.out.entries = entries_of(all.out) + entries_of(part.out);
  }
  all.out.rows = part.out.rows;
  all.out.cols += part.out.cols;
  if (part.out.features.empty()) part.out.features.resize(static_cast<std::size_t>(part.out.cols));
  std::ranges::move(part.out.features, std::back_inserter(all.out.features));
}

MemoryNeed joined(const SampleShape& X, MemoryNeed all) {
  const bool is_sparse = X.on_host && all.out.is_sparse() && is_better_sparse(X.rows, all.out.cols, all.out.entries, X.value_bytes);
  all.out = {.rows = X.rows,
             .cols = all.out.cols,
             .entries = is_sparse ? all.out.entries : -1,
             .value_bytes = X.value_bytes,
             .n_outputs = X.n_outputs,
             .in_place = true,
             .features = std::move(all.out.features),
             .on_host = X.on_host};
  all.made = all.out.value_size();
  if (is_sparse) all.work += all.made;   // while it is copied
  all.kept = 0;
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
  const std::int64_t least = X.rows < X.cols ? doubles(X) : gram(X, X.cols), factor = X.rows < X.cols ? 7 : 4;
  return {.work = block(X) + answers(X) + factor * (X.rows < X.cols ? least : gram(X, X.cols + 1)),
          .sure = X.is_sparse() ? 0 : least};
}

MemoryNeed ridge(const SampleShape& X, const Step& step) {
  const std::int64_t side = std::min(X.rows, X.cols) + X.n_outputs, squares = 6 * gram(X, side);
  const bool keeps_rows = X.rows < X.cols || step.estimator == "RidgeCV";
  const std::int64_t rows = keeps_rows ? doubles(X) : 0;
  return {.work = block(X) + 2 * rows + squares + answers(X),
          .sure = X.is_sparse() ? 0 : square(std::min(X.rows, X.cols)),
          .kept = rows + gram(X, side)};
}

MemoryNeed coordinate_descent(const SampleShape& X, const Step& step) {
  const std::int64_t rows = X.rows < X.cols ? 7 * doubles(X) : 4 * gram(X, X.cols + 1);
  MemoryNeed need{.work = block(X) + rows + answers(X), .kept = rows};
  if (!step.estimator.ends_with("CV")) return need;
  const std::int64_t folds = std::min(integer(step, "cv", 5), X.rows);   // more are refused
  const std::int64_t errors = bytes_of(count(step, "alphas", 100), count(step, "l1_ratio", 1), folds * kDouble);
  need.work += bytes_of(folds, 1, rows) + bytes_of(X.cols + 4, 1, errors);   // with the coefficients of each
  need.sure = errors;
  return need;
}

MemoryNeed logistic(const SampleShape& X, const Step&) {
  constexpr std::int64_t kVectors = 40;   // of L-BFGS, each of the size of the coefficients
  const std::int64_t coef = X.cols * X.n_outputs * kDouble, second = std::min(square(X.cols), kSparseBlock);
  return {.work = X.copy() + X.rows * X.n_outputs * 4 * kDouble + answers(X) + kVectors * coef + second,
          .sure = X.is_sparse() ? 0 : X.copy(),
          .kept = coef};
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
  return {.work = 2 * X.copy() + X.value_size() + lists + answers(X), .sure = X.copy(), .kept = X.value_size() + lists};
}

MemoryNeed clusters(const SampleShape& X, const Step& step) {
  const std::int64_t k = std::min(X.rows, integer(step, "n_clusters", 8));
  MemoryNeed need = makes(X, k, 0);
  need.sure = X.copy();
  need.work = X.copy() + block(X) + X.rows * 4 * kDouble + std::min(X.rows, kBlockRows) * k * kDouble + 8 * k * X.cols * kDouble;
  return need;
}

MemoryNeed density(const SampleShape& X, const Step&) {
  constexpr std::int64_t kMostPairs = std::int64_t{512} << 20, kUsualPairs = 64;   // of a row
  return {.work = 2 * X.copy() + X.value_size() + X.rows * 8 * kDouble + std::min(kMostPairs, X.rows * kUsualPairs * kDouble),
          .sure = X.copy()};
}

// --- trees ---

namespace {

// A count, or a share of the rows; none where the parameter is not set.
std::optional<std::int64_t> rows_in(const Step& step, std::string_view name, std::int64_t rows) {
  const Value* const value = find_value(step.params, name);
  const auto* const share = value ? std::get_if<double>(&value->data) : nullptr;
  if (share && *share > 0 && *share <= 1)
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(*share * static_cast<double>(rows)));
  if (value && std::holds_alternative<std::int64_t>(value->data)) return std::max<std::int64_t>(1, integer(step, name, rows));
  return std::nullopt;
}

// Of a tree: of a regressor up to one for each drawn row and those above them, of a classifier fewer, as most rows agree.
std::int64_t nodes_of(const SampleShape& X, const Step& step) {
  const std::int64_t rows = std::min(X.rows, rows_in(step, "max_samples", X.rows).value_or(X.rows));
  const std::int64_t depth = std::min<std::int64_t>(integer(step, "max_depth", 40), 40);
  std::int64_t nodes = step.estimator.ends_with("Regressor") ? 13 * rows / 10 : rows / 2;
  if (!step.estimator.starts_with("RandomForest")) nodes *= 2;   // nothing is drawn, every row is there
  nodes = std::min(nodes, std::int64_t{2} << depth);
  nodes = std::min(nodes, 2 * integer(step, "max_leaf_nodes", rows));
  return std::max<std::int64_t>(1, std::min(nodes, 2 * rows / rows_in(step, "min_samples_leaf", rows).value_or(1)));
}

std::int64_t threads_for(std::int64_t tasks) {
  return std::min<std::int64_t>(tasks, std::max(1U, std::thread::hardware_concurrency()));
}

// The whole table as bytes by column, by row and as records; of columns with many values one on each thread is sorted.
std::int64_t binned_size(const SampleShape& X) {
  const std::int64_t rows = std::max(X.rows, X.table_rows);
  const std::int64_t sorted = X.has_few_values.value_or(false) ? 0 : threads_for((X.cols + 15) / 16);
  return bytes_of(rows, (X.cols + 63) / 64 * 64, 3) + bytes_of(rows, sorted, 3 * X.value_bytes);
}

}   // namespace

// A single tree looks at every value of columns that have more than 256: their ranks, values and rows in order.
MemoryNeed trees(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kOfDraft = 256, kOfRow = 128;     // of a node, and of a row, while a tree grows
  constexpr std::int64_t kOfRank = 28, kOfSureRank = 12;   // of a cell
  const bool is_single = step.estimator.starts_with("DecisionTree");
  const bool is_exact = is_single && text(step, "splitter", "best") == "best" && !X.has_few_values.value_or(false);
  const std::int64_t n_trees = is_single ? 1 : integer(step, "n_estimators", 100), nodes = nodes_of(X, step);
  const std::int64_t of_node = 41 + std::max<std::int64_t>(8, 8 * X.n_outputs);
  const std::int64_t forest = bytes_of(n_trees, nodes, of_node);
  const std::int64_t growing = threads_for(n_trees) * (nodes * (kOfDraft + 8 * X.n_outputs) + X.rows * kOfRow);
  const std::int64_t exact = is_exact ? X.copy() + bytes_of(X.rows, X.cols, kOfRank) : 0;
  const bool is_surely_exact = is_exact && X.has_few_values.has_value();
  return {.work = binned_size(X) + exact + forest / 2 * 3 + growing + answers(X),
          .sure = bytes_of(std::max(X.rows, X.table_rows), X.cols, 1) + bytes_of(n_trees, 1, of_node) +
                  (is_surely_exact ? X.copy() + bytes_of(X.rows, X.cols, kOfSureRank) : 0),
          .use = X.copy() + answers(X),
          .kept = forest};
}

}   // namespace kedge::engine::memory
