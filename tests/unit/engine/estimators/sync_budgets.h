// How often each estimator may wait for the device: in a fit on 40 rows of 6 columns and 3 classes, and in using it on
// them (transform, or predict and predict_proba, and fetching what they gave). And how many bytes a fit may fetch from
// the device for each row: 0 where nothing on the host grows with the rows.
#pragma once

#include <string_view>

namespace kedge::engine::testing {

struct SyncBudget {
  std::string_view estimator;
  int fit, use;
  int row_bytes = 0;
};

inline constexpr SyncBudget kSyncBudgets[] = {
    {"StandardScaler", 3, 1},
    {"MinMaxScaler", 2, 1},
    {"ColumnTransformer", 2, 1},
    {"FeatureUnion", 2, 1},
    {"OneHotEncoder", 4, 2},
    {"OrdinalEncoder", 4, 2},
    {"SimpleImputer", 2, 1},
    {"MissingIndicator", 1, 1},
    {"MaxAbsScaler", 2, 1},
    {"RobustScaler", 1, 1},
    {"Normalizer", 0, 1},
    {"Binarizer", 0, 1},
    {"PolynomialFeatures", 0, 1},
    {"SplineTransformer", 2, 1},
    {"KBinsDiscretizer", 1, 1},
    {"QuantileTransformer", 1, 1, 48},
    {"PowerTransformer", 52, 1},
    {"VarianceThreshold", 4, 1},
    {"SelectKBest", 4, 1},
    {"SelectPercentile", 4, 1},
    {"Nystroem", 5, 2, 1744},
    {"KernelRidge", 4, 2, 56},
    {"PolynomialCountSketch", 0, 1},
    {"GaussianRandomProjection", 0, 1},
    {"SparseRandomProjection", 0, 1},
    {"PCA", 6, 1},
    {"IncrementalPCA", 12, 1, 34},
    {"FactorAnalysis", 38, 1, 6},
    {"FastICA", 260, 1},
    {"TruncatedSVD", 7, 1},
    {"LinearRegression", 9, 1, 48},
    {"Ridge", 3, 1},
    {"RidgeCV", 10, 1},
    {"RidgeClassifier", 4, 2},
    {"Lasso", 5, 1},
    {"ElasticNet", 5, 1},
    {"LassoCV", 16, 1},
    {"ElasticNetCV", 16, 1},
    {"LogisticRegression", 55, 3, 9},
    {"SVC", 10, 3, 1500},
    {"NuSVC", 10, 3, 1500},
    {"SVR", 10, 2, 1500},
    {"NuSVR", 10, 2, 1500},
    {"OneClassSVM", 10, 2, 1500},
    {"PoissonRegressor", 40, 1},
    {"GammaRegressor", 40, 1},
    {"TweedieRegressor", 20, 1},
    {"HuberRegressor", 60, 1, 8},
    {"LinearSVC", 60, 3, 16},
    {"LinearSVR", 200, 1, 64},
    {"SGDClassifier", 1, 1, 48},
    {"SGDRegressor", 1, 1, 48},
    {"Perceptron", 1, 1, 48},
    {"PassiveAggressiveClassifier", 1, 1, 48},
    {"PassiveAggressiveRegressor", 1, 1, 48},
    {"BayesianRidge", 40, 1},
    {"ARDRegression", 300, 1, 6},
    {"KNeighborsClassifier", 0, 6},
    {"KNeighborsRegressor", 0, 2},
    {"RadiusNeighborsClassifier", 0, 8},
    {"RadiusNeighborsRegressor", 0, 3},
    {"NearestNeighbors", 0, 0},
    {"NearestCentroid", 4, 3},
    {"KernelDensity", 1, 1},
    {"LocalOutlierFactor", 4, 6, 24},
    {"KMeans", 16, 3, 4},
    {"MiniBatchKMeans", 61, 3, 29},
    {"DBSCAN", 5, 0, 34},
    {"GaussianMixture", 26, 9, 8},
    {"BayesianGaussianMixture", 27, 9, 8},
    {"EmpiricalCovariance", 4, 0},
    {"ShrunkCovariance", 4, 0},
    {"LedoitWolf", 5, 0},
    {"OAS", 4, 0},
    {"MinCovDet", 7, 0, 56},
    {"EllipticEnvelope", 8, 9, 56},
    {"IsolationForest", 1, 3, 144},
    {"GaussianNB", 2, 4},
    {"MultinomialNB", 4, 4},
    {"ComplementNB", 4, 4},
    {"BernoulliNB", 2, 4},
    {"CategoricalNB", 6, 8},
    {"LinearDiscriminantAnalysis", 13, 5},
    {"QuadraticDiscriminantAnalysis", 14, 10},
    {"RandomForestClassifier", 8, 2, 52},
    {"RandomForestRegressor", 9, 1, 48},
    {"ExtraTreesClassifier", 16, 2, 52},
    {"ExtraTreesRegressor", 13, 1, 48},
    {"DecisionTreeClassifier", 8, 2, 52},
    {"DecisionTreeRegressor", 9, 1, 48},
    {"VotingClassifier", 7, 3, 52},
    {"VotingRegressor", 10, 3, 48},
    {"StackingClassifier", 62, 14, 179},
    {"StackingRegressor", 49, 5, 120},
    {"BaggingClassifier", 21, 8, 60},
    {"BaggingRegressor", 30, 3, 48},
    {"OneVsRestClassifier", 157, 13, 2},
    {"OneVsOneClassifier", 135, 9, 8},
    {"CalibratedClassifierCV", 285, 22, 51},
    {"SelectFromModel", 55, 1, 9},
    {"RFE", 208, 1, 11},
    {"HistGradientBoostingClassifier", 1, 3, 48},
    {"HistGradientBoostingRegressor", 1, 1, 48},
    {"DummyClassifier", 0, 2},
    {"DummyRegressor", 0, 0},
};

// Estimators whose fit gives something for each row (labels), or fetches what parameters bound: quantiles, components,
// and what an iteration needs.
inline bool fetches_its_answer(std::string_view estimator) {
  for (const std::string_view name :
       {"KMeans", "MiniBatchKMeans", "DBSCAN", "QuantileTransformer", "Nystroem", "LogisticRegression", "SelectFromModel",
        "RFE", "FactorAnalysis", "HuberRegressor", "ARDRegression", "LinearSVC", "LinearSVR"})
    if (estimator == name) return true;
  return false;
}

}  // namespace kedge::engine::testing
