// What predictors made of predictors hold at their worst moment.
#include "engine/estimators/meta/memory.h"

#include <algorithm>

#include "engine/core/params.h"
#include "engine/estimators/composition/memory.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

namespace {

constexpr std::int64_t kModelShare = 4;   // a fitted copy keeps at most one part of so many of what its fit took

std::vector<NamedValue> estimators(const Step& step) {
  const Value* const list = find_value(step.params, "estimators");
  return named_values(step.estimator, "estimators", "estimator", list ? *list : Value(schema::ValueList{}));
}

// Of all estimators of a list, one after the other: what each takes, and what those before have left.
MemoryNeed of_all(const SampleShape& X, const Step& step) {
  MemoryNeed all{.out = X, .is_exact = false};
  for (const NamedValue& one : estimators(step)) {
    if (is_dropped(one.value)) continue;
    const std::int64_t work = nested(X, one.value).work;
    all.work = std::max(all.work, all.kept + work);
    all.kept += work / kModelShare;
  }
  return all;
}

Value step_with(const Step& step, const char* name, const char* otherwise) {
  const Value* const value = find_value(step.params, name);
  return value && !value->is_null() ? *value : Value(schema::ValueMap{{"estimator", otherwise}});
}

bool is_classifier(const Step& step) {
  return step.estimator.find("Classifier") != std::string::npos;   // ClassifierChain among them
}

}   // namespace

MemoryNeed voting(const SampleShape& X, const Step& step) {
  MemoryNeed need = of_all(X, step);
  need.work += 2 * X.rows * X.n_outputs * kDouble;   // sums, and what one estimator says
  need.kept = 0;
  return need;
}

MemoryNeed stacking(const SampleShape& X, const Step& step) {
  MemoryNeed need = of_all(X, step);
  const auto n = static_cast<std::int64_t>(estimators(step).size());
  SampleShape table = X;   // of their answers
  table.cols = std::max<std::int64_t>(1, n * (is_classifier(step) ? X.n_outputs : 1));
  table.features.clear(), table.entries = -1, table.in_place = true, table.table_rows = 0;
  const std::int64_t made = table.value_size() * 2 + X.rows * table.cols * kDouble;
  if (flag(step, "passthrough")) table.cols += X.cols;
  const Value last = step_with(step, "final_estimator", is_classifier(step) ? "LogisticRegression" : "RidgeCV");
  need.work = std::max(need.work, need.kept + nested(table, last).work) + made +
              (flag(step, "passthrough") ? table.value_size() : 0);
  need.kept = 0;
  return need;
}

MemoryNeed bagging(const SampleShape& X, const Step& step) {
  const Value copied =
      step_with(step, "estimator", is_classifier(step) ? "DecisionTreeClassifier" : "DecisionTreeRegressor");
  const std::int64_t one = nested(X, copied).work, n = std::min(integer(step, "n_estimators", 10), kMost);
  MemoryNeed need{.out = X, .is_exact = false};
  need.work = one + bytes_of(n - 1, one / kModelShare, 1) + 2 * X.rows * X.n_outputs * kDouble;
  const Value* const columns = find_value(step.params, "max_features");
  if (columns && *columns != Value(1.0)) need.work += X.value_size();   // a copy of those that were drawn
  return need;
}

namespace {

// `n` fitted copies that answer one after the other.
MemoryNeed copies(const SampleShape& X, std::int64_t one, std::int64_t n) {
  MemoryNeed need{.out = X, .is_exact = false};
  need.work = one + bytes_of(n - 1, one / kModelShare, 1) + 2 * X.rows * X.n_outputs * kDouble;
  return need;
}

}   // namespace

MemoryNeed one_vs_rest(const SampleShape& X, const Step& step) {
  SampleShape two = X;
  two.n_outputs = 2;
  return copies(X, nested(two, step_with(step, "estimator", "LogisticRegression")).work, X.n_outputs);
}

MemoryNeed one_vs_one(const SampleShape& X, const Step& step) {
  const std::int64_t n = std::max<std::int64_t>(2, std::min(X.n_outputs, kMost));
  SampleShape pair = X;   // any two of the classes may have all rows
  pair.n_outputs = 2;
  const std::int64_t one = nested(pair, step_with(step, "estimator", "LogisticRegression")).work;
  MemoryNeed need = copies(X, one, 1);
  need.work += bytes_of(n, one / kModelShare, 1);   // each row is in n - 1 of the pairs
  return need;
}

MemoryNeed multi_output(const SampleShape& X, const Step& step) {
  const Value copied = step_with(step, "estimator", is_classifier(step) ? "LogisticRegression" : "LinearRegression");
  MemoryNeed need = copies(X, nested(X, copied).work, X.n_targets);
  need.work += bytes_of(X.rows, X.n_targets, 3 * kDouble);   // targets of a fit, and answers
  return need;
}

// Each link reads a copy of the table with a column for each link before it; the last one reads most.
MemoryNeed target_chain(const SampleShape& X, const Step& step) {
  const Value copied = step_with(step, "estimator", is_classifier(step) ? "LogisticRegression" : "LinearRegression");
  const Value* const cv = find_value(step.params, "cv");
  const bool has_folds = cv && !cv->is_null();
  SampleShape read = X;
  read.cols += std::max<std::int64_t>(X.n_targets, 1) - 1;
  read.entries = -1, read.in_place = !has_folds, read.table_rows = has_folds ? X.rows : 0;
  if (!read.features.empty()) read.features.resize(static_cast<std::size_t>(read.cols));
  MemoryNeed need = copies(X, nested(read, copied).work, X.n_targets + (has_folds ? 1 : 0));
  if (X.n_targets > 1) need.work += read.value_size();
  need.work += bytes_of(X.rows, X.n_targets, 6 * kDouble);   // targets, what links pass on, and answers
  return need;
}

// The regressor fits rows that it draws, and keeps what every copy says of the rows.
MemoryNeed boosted_copies(const SampleShape& X, const Step& step) {
  const bool classes = is_classifier(step);
  const Value copied = step_with(step, "estimator", classes ? "DecisionTreeClassifier" : "DecisionTreeRegressor");
  const std::int64_t n = std::min(integer(step, "n_estimators", 50), kMost);
  MemoryNeed need = copies(X, nested(X, copied).work, n);
  need.work += bytes_of(X.rows, classes ? 6 : n + 6, kDouble);
  return need;
}

MemoryNeed calibrated(const SampleShape& X, const Step& step) {
  return copies(X, nested(X, step_with(step, "estimator", "LogisticRegression")).work, integer(step, "cv", 5));
}

MemoryNeed model_selector(const SampleShape& X, const Step& step) {
  const std::int64_t judge = nested(X, step_with(step, "estimator", "LogisticRegression")).work;
  MemoryNeed need = makes_alike(X, X.cols, std::max(X.copy() + judge, block(X)));
  need.is_exact = false;
  return need;
}

MemoryNeed transformed_target(const SampleShape& X, const Step& step) {
  MemoryNeed need = nested(X, step_with(step, "regressor", "LinearRegression"));
  need.work += 2 * X.rows * kDouble, need.use = -1, need.kept = 0;
  return need;
}

// The models of some subsets judge all rows at a time.
MemoryNeed ransac(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kCells = std::int64_t{1} << 22;
  MemoryNeed need = nested(X, step_with(step, "estimator", "LinearRegression"));
  need.work += X.value_size() + (10 * X.rows + 2 * std::min(16 * X.rows, std::max(kCells, X.rows))) * kDouble;
  need.use = -1, need.kept = 0;
  return need;
}

// Beside the judge, a copy of some columns, and the targets and answers of folds.
MemoryNeed scored_selector(const SampleShape& X, const Step& step) {
  const std::int64_t judge = nested(X, step_with(step, "estimator", "RidgeClassifier")).work;
  MemoryNeed need = makes_alike(X, X.cols, 2 * X.value_size() + judge + answers(X) + 6 * X.rows * kDouble);
  need.is_exact = false;
  return need;
}

}   // namespace kedge::engine::memory
