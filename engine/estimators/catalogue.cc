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
CatalogueEntry row() {
  return {.info = E<float>::info(),
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
      row<StandardScaler>(),
      row<MinMaxScaler>(),
      row<ColumnTransformer>(),
      row<FeatureUnion>(),
      row<OneHotEncoder>(),
      row<OrdinalEncoder>(),
      row<SimpleImputer>(),
      row<MissingIndicator>(),
      row<MaxAbsScaler>(),
      row<RobustScaler>(),
      row<Normalizer>(),
      row<Binarizer>(),
      row<PolynomialFeatures>(),
      row<SplineTransformer>(),
      row<KBinsDiscretizer>(),
      row<QuantileTransformer>(),
      row<PowerTransformer>(),
      row<VarianceThreshold>(),
      row<SelectKBest>(),
      row<SelectPercentile>(),
      row<Nystroem>(),
      row<PCA>(),
      row<IncrementalPCA>(),
      row<TruncatedSVD>(),
      row<LinearRegression>(),
      row<Ridge>(),
      row<RidgeCV>(),
      row<RidgeClassifier>(),
      row<Lasso>(),
      row<ElasticNet>(),
      row<LassoCV>(),
      row<ElasticNetCV>(),
      row<LogisticRegression>(),
      row<KNeighborsClassifier>(),
      row<KNeighborsRegressor>(),
      row<RadiusNeighborsClassifier>(),
      row<RadiusNeighborsRegressor>(),
      row<NearestNeighbors>(),
      row<KMeans>(),
      row<MiniBatchKMeans>(),
      row<DBSCAN>(),
      row<GaussianNB>(),
      row<MultinomialNB>(),
      row<ComplementNB>(),
      row<BernoulliNB>(),
      row<CategoricalNB>(),
      row<LinearDiscriminantAnalysis>(),
      row<QuadraticDiscriminantAnalysis>(),
      row<DecisionTreeClassifier>(),
      row<DecisionTreeRegressor>(),
      row<RandomForestClassifier>(),
      row<RandomForestRegressor>(),
      row<ExtraTreesClassifier>(),
      row<ExtraTreesRegressor>(),
      row<DummyClassifier>(),
      row<DummyRegressor>(),
  };
  return rows;
}

const CatalogueEntry* find_estimator(std::string_view name) {
  for (const CatalogueEntry& entry : catalogue())
    if (entry.info.name == name) return &entry;
  return nullptr;
}

}  // namespace kedge::engine
