// The list of all estimators: one row each.
#include "engine/estimators/catalogue.h"

#include <array>

#include "engine/estimators/column_scalers.h"
#include "engine/estimators/column_transformer.h"
#include "engine/estimators/dbscan.h"
#include "engine/estimators/discrete_bayes.h"
#include "engine/estimators/discriminant_analysis.h"
#include "engine/estimators/dummy.h"
#include "engine/estimators/elastic_net.h"
#include "engine/estimators/elastic_net_cv.h"
#include "engine/estimators/element_maps.h"
#include "engine/estimators/feature_selection.h"
#include "engine/estimators/feature_union.h"
#include "engine/estimators/gaussian_nb.h"
#include "engine/estimators/incremental_pca.h"
#include "engine/estimators/k_bins_discretizer.h"
#include "engine/estimators/k_means.h"
#include "engine/estimators/k_neighbors_classifier.h"
#include "engine/estimators/linear_regression.h"
#include "engine/estimators/logistic_regression.h"
#include "engine/estimators/memory_rules.h"
#include "engine/estimators/min_max_scaler.h"
#include "engine/estimators/mini_batch_k_means.h"
#include "engine/estimators/missing_indicator.h"
#include "engine/estimators/neighbor_estimators.h"
#include "engine/estimators/nystroem.h"
#include "engine/estimators/one_hot_encoder.h"
#include "engine/estimators/ordinal_encoder.h"
#include "engine/estimators/pca.h"
#include "engine/estimators/polynomial_features.h"
#include "engine/estimators/power_transformer.h"
#include "engine/estimators/quadratic_discriminant_analysis.h"
#include "engine/estimators/quantile_transformer.h"
#include "engine/estimators/ridge.h"
#include "engine/estimators/ridge_classifier.h"
#include "engine/estimators/ridge_cv.h"
#include "engine/estimators/simple_imputer.h"
#include "engine/estimators/spline_transformer.h"
#include "engine/estimators/standard_scaler.h"
#include "engine/estimators/tree_estimators.h"
#include "engine/estimators/truncated_svd.h"

namespace kedge::engine {
namespace {

// E<T> has a constructor from the parameters that the user set, and a static info().
template <template <class> class E>
CatalogueEntry row(MemoryRule memory) {
  schema::EstimatorInfo info = E<float>::info();
  info.attributes.emplace_back(kFeaturesIn);
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
      row<SimpleImputer>(memory::maps_cells),
      row<MissingIndicator>(memory::maps_cells),
      row<MaxAbsScaler>(memory::affine),
      row<RobustScaler>(memory::sorted_affine),
      row<Normalizer>(memory::scales_rows),
      row<Binarizer>(memory::maps_cells),
      row<PolynomialFeatures>(memory::polynomial),
      row<SplineTransformer>(memory::splines),
      row<KBinsDiscretizer>(memory::bins),
      row<QuantileTransformer>(memory::quantiles),
      row<PowerTransformer>(memory::power),
      row<VarianceThreshold>(memory::takes_columns),
      row<SelectKBest>(memory::takes_columns),
      row<SelectPercentile>(memory::takes_columns),
      row<Nystroem>(memory::landmarks),
      row<PCA>(memory::components),
      row<IncrementalPCA>(memory::components),
      row<TruncatedSVD>(memory::components),
      row<LinearRegression>(memory::least_squares),
      row<Ridge>(memory::ridge),
      row<RidgeCV>(memory::ridge),
      row<RidgeClassifier>(memory::ridge),
      row<Lasso>(memory::coordinate_descent),
      row<ElasticNet>(memory::coordinate_descent),
      row<LassoCV>(memory::coordinate_descent),
      row<ElasticNetCV>(memory::coordinate_descent),
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
      row<LinearDiscriminantAnalysis>(memory::discriminant),
      row<QuadraticDiscriminantAnalysis>(memory::discriminant),
      row<DecisionTreeClassifier>(memory::trees),
      row<DecisionTreeRegressor>(memory::trees),
      row<RandomForestClassifier>(memory::trees),
      row<RandomForestRegressor>(memory::trees),
      row<ExtraTreesClassifier>(memory::trees),
      row<ExtraTreesRegressor>(memory::trees),
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

}  // namespace kedge::engine
