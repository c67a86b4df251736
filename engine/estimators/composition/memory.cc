// What transformers of transformers hold at their worst moment.
#include "engine/estimators/composition/memory.h"

#include <algorithm>
#include <iterator>

#include "engine/core/params.h"
#include "engine/estimators/composition/column_choice.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/sparse_choice.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

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

namespace {

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
       named_values(step.estimator, "transformers", "transformer", list ? *list : Value(schema::ValueList{}), true)) {
    const auto columns = ColumnChoice(part.columns, part.columns_path).resolve(step.estimator, features);
    for (const std::int64_t j : columns) is_taken[static_cast<std::size_t>(j)] = 1;
    const SampleShape X_part = part_of(X, columns);
    all.work += X_part.value_size(), all.kept += X_part.value_size();
    add_part(nested(X_part, part.value), all);
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
       named_values(step.estimator, "transformer_list", "transformer", list ? *list : Value(schema::ValueList{})))
    add_part(nested(X, part.value), all);
  return joined(X, std::move(all));
}

}  // namespace kedge::engine::memory
