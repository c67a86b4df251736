// How a family adds its estimators to the catalogue: rows.cc of its folder.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/core/estimator_names.h"
#include "engine/estimators/catalogue.h"

namespace kedge::engine {

using Rows = std::vector<CatalogueEntry>;

// What require_magnitudes() refuses is a deviation of every estimator that squares.
template <template <class> class E>
void add_bounds(schema::EstimatorInfo& info) {
  const E<double> made{schema::ValueMap{}};
  if (made.squares() != Squares::kNone)
    info.deviations.emplace_back("Columns whose squares leave the type in which they are summed (beyond 1e150 in float64) are refused "
                                 "by name.");
  if (made.squares_target())
    info.deviations.emplace_back("A target whose squares leave float64 (beyond 1e150, below 1e-153) is refused.");
}

// What few rows say of themselves.
struct RowTraits {
  bool wants_value_counts = false;   // see CatalogueEntry
  const char* host_part = "";        // see EstimatorInfo
  DealtFit dealt = DealtFit::kNothing;
  RowsLeft leaves = RowsLeft::kWhole;
  std::string_view inside = {};      // see CatalogueEntry
  bool is_composed = false;          // of other estimators, which are made, checked and bounded by themselves
  // It answers with a line, or with one for each class, whose coef_ and intercept_ it has as attributes: its prediction
  // before the link of a generalised linear model, of a classifier its decision function.
  bool is_line = false;
};

// E<T> has a constructor from the parameters that the user set, and a static info().
template <template <class> class E>
void add(Rows& rows, MemoryRule memory, SyncBudget syncs, RowTraits traits = {}) {
  schema::EstimatorInfo info = E<float>::info();
  info.hostPart = traits.host_part;
  info.attributes.emplace_back(kFeaturesIn);
  if (!traits.is_composed) add_bounds<E>(info);
  rows.push_back({.info = std::move(info),
                  .memory = memory,
                  .syncs = syncs,
                  .dealt = traits.dealt,
                  .leaves = traits.leaves,
                  .inside = traits.inside,
                  .wants_value_counts = traits.wants_value_counts,
                  .is_line = traits.is_line,
                  .make_f32 = [](const schema::ValueMap& params) -> std::unique_ptr<Estimator<float>> {
                    return std::make_unique<E<float>>(params);
                  },
                  .make_f64 = [](const schema::ValueMap& params) -> std::unique_ptr<Estimator<double>> {
                    return std::make_unique<E<double>>(params);
                  }});
}

// One function for each family, in the order of the list.
void add_preprocessing(Rows& rows);
void add_composition(Rows& rows);
void add_text(Rows& rows);
void add_selection(Rows& rows);
void add_resampling(Rows& rows);
void add_kernels(Rows& rows);
void add_svm(Rows& rows);
void add_decomposition(Rows& rows);
void add_linear(Rows& rows);
void add_neighbors(Rows& rows);
void add_cluster(Rows& rows);
void add_manifold(Rows& rows);
void add_mixture(Rows& rows);
void add_covariance(Rows& rows);
void add_outliers(Rows& rows);
void add_bayes(Rows& rows);
void add_discriminant(Rows& rows);
void add_trees(Rows& rows);
void add_meta(Rows& rows);
void add_boosting(Rows& rows);
void add_neural_network(Rows& rows);
void add_dummy(Rows& rows);

}  // namespace kedge::engine
