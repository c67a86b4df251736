// The list of all estimators: one row each.
#include "engine/estimators/catalogue.h"

#include <array>
#include <vector>

#include "engine/core/estimator_names.h"
#include "engine/estimators/bayes/discrete_bayes.h"
#include "engine/estimators/bayes/gaussian_nb.h"
#include "engine/estimators/bayes/memory.h"
#include "engine/estimators/cluster/dbscan.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/cluster/memory.h"
#include "engine/estimators/cluster/mini_batch_k_means.h"
#include "engine/estimators/composition/column_transformer.h"
#include "engine/estimators/composition/feature_union.h"
#include "engine/estimators/composition/memory.h"
#include "engine/estimators/decomposition/incremental_pca.h"
#include "engine/estimators/decomposition/memory.h"
#include "engine/estimators/decomposition/pca.h"
#include "engine/estimators/decomposition/truncated_svd.h"
#include "engine/estimators/discriminant/discriminant_analysis.h"
#include "engine/estimators/discriminant/memory.h"
#include "engine/estimators/discriminant/quadratic_discriminant_analysis.h"
#include "engine/estimators/dummy/dummy.h"
#include "engine/estimators/dummy/memory.h"
#include "engine/estimators/kernels/memory.h"
#include "engine/estimators/kernels/nystroem.h"
#include "engine/estimators/linear/elastic_net.h"
#include "engine/estimators/linear/elastic_net_cv.h"
#include "engine/estimators/linear/linear_regression.h"
#include "engine/estimators/linear/logistic_regression.h"
#include "engine/estimators/linear/memory.h"
#include "engine/estimators/linear/ridge.h"
#include "engine/estimators/linear/ridge_classifier.h"
#include "engine/estimators/linear/ridge_cv.h"
#include "engine/estimators/neighbors/k_neighbors_classifier.h"
#include "engine/estimators/neighbors/memory.h"
#include "engine/estimators/neighbors/neighbor_estimators.h"
#include "engine/estimators/preprocessing/column_scalers.h"
#include "engine/estimators/preprocessing/element_maps.h"
#include "engine/estimators/preprocessing/k_bins_discretizer.h"
#include "engine/estimators/preprocessing/memory.h"
#include "engine/estimators/preprocessing/min_max_scaler.h"
#include "engine/estimators/preprocessing/missing_indicator.h"
#include "engine/estimators/preprocessing/one_hot_encoder.h"
#include "engine/estimators/preprocessing/ordinal_encoder.h"
#include "engine/estimators/preprocessing/polynomial_features.h"
#include "engine/estimators/preprocessing/power_transformer.h"
#include "engine/estimators/preprocessing/quantile_transformer.h"
#include "engine/estimators/preprocessing/simple_imputer.h"
#include "engine/estimators/preprocessing/spline_transformer.h"
#include "engine/estimators/preprocessing/standard_scaler.h"
#include "engine/estimators/selection/feature_selection.h"
#include "engine/estimators/selection/memory.h"
#include "engine/estimators/trees/memory.h"
#include "engine/estimators/trees/tree_estimators.h"

namespace kedge::engine {
namespace {

// What require_magnitudes() refuses is a deviation of every estimator that squares.
template <template <class> class E>
void add_bounds(schema::EstimatorInfo& info) {
  if (info.family == "compose" || info.family == "pipeline") return;   // need parameters; what is in them is checked by itself
  const E<double> made{schema::ValueMap{}};
  if (made.squares() != Squares::kNone)
    info.deviations.emplace_back("Columns whose squares leave the type in which they are summed (beyond 1e150 in float64) are refused "
                                 "by name.");
  if (made.squares_target())
    info.deviations.emplace_back("A target whose squares leave float64 (beyond 1e150, below 1e-153) is refused.");
}

// E<T> has a constructor from the parameters that the user set, and a static info().
template <template <class> class E>
CatalogueEntry row(MemoryRule memory) {
  schema::EstimatorInfo info = E<float>::info();
  info.attributes.emplace_back(kFeaturesIn);
  add_bounds<E>(info);
  return {.info = std::move(info),
          .memory = memory,
          .make_f32 = [](const schema::ValueMap& params) -> std::unique_ptr<Estimator<float>> {
            return std::make_unique<E<float>>(params);
          },
          .make_f64 = [](const schema::ValueMap& params) -> std::unique_ptr<Estimator<double>> {
            return std::make_unique<E<double>>(params);
          }};
}

}  // namespace

std::span<const CatalogueEntry> catalogue() {
  static const std::array rows{
      row<StandardScaler>(memory::affine),
      row<MinMaxScaler>(memory::affine),
      row<ColumnTransformer>(memory::column_transformer),
      row<FeatureUnion>(memory::feature_union),
      row<OneHotEncoder>(memory::categories),
      row<OrdinalEncoder>(memory::maps_cells),
      row<SimpleImputer>(memory::imputed),
      row<MissingIndicator>(memory::maps_cells),
      row<MaxAbsScaler>(memory::affine),
      row<RobustScaler>(memory::sorted_affine),
      row<Normalizer>(memory::scales_rows),
      row<Binarizer>(memory::maps_numbers),
      row<PolynomialFeatures>(memory::polynomial),
      row<SplineTransformer>(memory::splines),
      row<KBinsDiscretizer>(memory::bins),
      row<QuantileTransformer>(memory::quantiles),
      row<PowerTransformer>(memory::power),
      row<VarianceThreshold>(memory::takes_columns),
      row<SelectKBest>(memory::k_best),
      row<SelectPercentile>(memory::takes_columns),
      row<Nystroem>(memory::landmarks),
      row<PCA>(memory::principal_components),
      row<IncrementalPCA>(memory::incremental_components),
      row<TruncatedSVD>(memory::truncated_components),
      row<LinearRegression>(memory::least_squares),
      row<Ridge>(memory::ridge),
      row<RidgeCV>(memory::ridge_cv),
      row<RidgeClassifier>(memory::ridge),
      row<Lasso>(memory::coordinate_descent),
      row<ElasticNet>(memory::coordinate_descent),
      row<LassoCV>(memory::coordinate_descent_cv),
      row<ElasticNetCV>(memory::coordinate_descent_cv),
      row<LogisticRegression>(memory::logistic),
      row<KNeighborsClassifier>(memory::neighbours),
      row<KNeighborsRegressor>(memory::neighbours),
      row<RadiusNeighborsClassifier>(memory::neighbours),
      row<RadiusNeighborsRegressor>(memory::neighbours),
      row<NearestNeighbors>(memory::neighbours),
      row<KMeans>(memory::clusters),
      row<MiniBatchKMeans>(memory::clusters),
      row<DBSCAN>(memory::density),
      row<GaussianNB>(memory::bayes),
      row<MultinomialNB>(memory::bayes),
      row<ComplementNB>(memory::bayes),
      row<BernoulliNB>(memory::bayes),
      row<CategoricalNB>(memory::category_bayes),
      row<LinearDiscriminantAnalysis>(memory::linear_discriminant),
      row<QuadraticDiscriminantAnalysis>(memory::quadratic_discriminant),
      row<DecisionTreeClassifier>(memory::tree_classifier),
      row<DecisionTreeRegressor>(memory::tree_regressor),
      row<RandomForestClassifier>(memory::forest_classifier),
      row<RandomForestRegressor>(memory::forest_regressor),
      row<ExtraTreesClassifier>(memory::extra_trees_classifier),
      row<ExtraTreesRegressor>(memory::extra_trees_regressor),
      row<DummyClassifier>(memory::constant),
      row<DummyRegressor>(memory::constant),
  };
  return rows;
}

const CatalogueEntry* find_estimator(std::string_view name) {
  for (const CatalogueEntry& entry : catalogue())
    if (entry.info.name == name) return &entry;
  return nullptr;
}

const CatalogueEntry& known_estimator(std::string_view name, const std::string& where) {
  if (const CatalogueEntry* entry = find_estimator(name)) return *entry;
  std::vector<EstimatorName> here;
  for (const CatalogueEntry& entry : catalogue()) here.push_back({entry.info.name, entry.info.kind});
  throw schema::Error(schema::ErrorCode::kUnknownEstimator, "unknown estimator " + unknown_estimator(name, here), where);
}

}  // namespace kedge::engine
