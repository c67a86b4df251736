// The estimators of scikit-learn 1.9 that are not in our catalogue. A row whose estimator has come since is passed
// over. tests/estimators/sklearn_names.py compares the names with an installed scikit-learn and says which rows are
// missing. The second word of a row is ours to choose: what does most nearly the same job.
#include <array>

#include "engine/core/estimator_names.h"

namespace kedge::engine {

namespace {

constexpr std::string_view kProcesses =
    "a fit takes time by the cube of the rows, and a search of the kernel's parameters many fits";
constexpr std::string_view kDictionaries = "sparse codes take a lasso for each row in each step";

}   // namespace

std::span<const SklearnName> sklearn_names() {
  static constexpr auto kNames = std::to_array<SklearnName>({
      {"AdditiveChi2Sampler", "Nystroem"},
      {"AffinityPropagation",
       "HDBSCAN",
       {},
       "its messages between all pairs of rows take memory by the square of the rows"},
      {"AgglomerativeClustering", "KMeans"},
      {"BernoulliRBM", "PCA"},
      {"Birch", "MiniBatchKMeans"},
      {"BisectingKMeans", "KMeans"},
      {"CCA", "PLSRegression"},
      {"ClassicalMDS", "PCA"},
      {"DictionaryLearning", "NMF", {}, kDictionaries},
      {"ExtraTreeClassifier", "ExtraTreesClassifier"},
      {"ExtraTreeRegressor", "ExtraTreesRegressor"},
      {"FeatureAgglomeration", "PCA"},
      {"FixedThresholdClassifier"},
      {"FrozenEstimator"},
      {"FunctionTransformer", "PowerTransformer"},
      {"GaussianProcessClassifier", "SVC", {}, kProcesses},
      {"GaussianProcessRegressor", "KernelRidge", {}, kProcesses},
      {"GraphicalLasso", "LedoitWolf"},
      {"GraphicalLassoCV", "LedoitWolf"},
      {"GridSearchCV", {}, "the task gridSearch"},
      {"HDBSCAN", "DBSCAN"},
      {"HalvingGridSearchCV", {}, "the task halvingGridSearch"},
      {"HalvingRandomSearchCV", {}, "the task halvingGridSearch with a grid"},
      {"Isomap", "UMAP", {}, "it needs the shortest paths between all pairs of rows"},
      {"IsotonicRegression", "DecisionTreeRegressor"},
      {"IterativeImputer", "KNNImputer"},
      {"KNeighborsTransformer", "NearestNeighbors"},
      {"KernelCenterer", "StandardScaler"},
      {"LabelBinarizer", {}, "done by the classifiers themselves: a target of text needs no encoder"},
      {"LabelEncoder", {}, "done by the classifiers themselves: a target of text needs no encoder"},
      {"LabelPropagation", "KNeighborsClassifier"},
      {"LabelSpreading", "KNeighborsClassifier"},
      {"LatentDirichletAllocation",
       "NMF",
       {},
       "its topics come from another iteration than NMF's, which is not written yet"},
      {"LocallyLinearEmbedding",
       "UMAP",
       {},
       "it needs the smallest eigenvectors of a singular matrix, for which a solver is missing"},
      {"MDS", "TSNE", {}, "its stress compares all pairs of rows in each step"},
      {"MeanShift", "DBSCAN"},
      {"MiniBatchDictionaryLearning", "NMF", {}, kDictionaries},
      {"MiniBatchNMF", "NMF"},
      {"MiniBatchSparsePCA", "IncrementalPCA"},
      {"MultiLabelBinarizer", {}, "done by select.targets, with a column of two classes for each label"},
      {"MultiTaskElasticNet", "ElasticNet"},
      {"MultiTaskElasticNetCV", "ElasticNetCV"},
      {"MultiTaskLasso", "Lasso"},
      {"MultiTaskLassoCV", "LassoCV"},
      {"NMF", "TruncatedSVD"},
      {"NeighborhoodComponentsAnalysis", "LinearDiscriminantAnalysis"},
      {"OPTICS", "DBSCAN"},
      {"OrthogonalMatchingPursuitCV", "OrthogonalMatchingPursuit"},
      {"OutputCodeClassifier", "OneVsRestClassifier"},
      {"PLSCanonical", "PLSRegression"},
      {"PLSSVD", "TruncatedSVD"},
      {"PatchExtractor"},
      {"Pipeline", {}, "the list \"pipeline\" of the job, or a list of steps where a transformer stands"},
      {"RBFSampler", "Nystroem"},
      {"RadiusNeighborsTransformer", "NearestNeighbors"},
      {"RandomTreesEmbedding", "KBinsDiscretizer"},
      {"RandomizedSearchCV", {}, "the task randomizedSearch"},
      {"SGDOneClassSVM", "OneClassSVM"},
      {"SelfTrainingClassifier"},
      {"SkewedChi2Sampler", "Nystroem"},
      {"SparseCoder", "NMF", {}, kDictionaries},
      {"SparsePCA", "PCA"},
      {"SpectralBiclustering", "SpectralClustering"},
      {"SpectralClustering", "DBSCAN"},
      {"SpectralCoclustering", "SpectralClustering"},
      {"SpectralEmbedding", "PCA"},
      {"TSNE", "PCA"},
      {"TargetEncoder", "OrdinalEncoder"},
      {"TfidfTransformer", "Normalizer"},
      {"TunedThresholdClassifierCV"},
  });
  return kNames;
}

std::span<const PeerName> peer_names() {
  static constexpr auto kNames = std::to_array<PeerName>({
      {"CatBoostClassifier", "CatBoost", "HistGradientBoostingClassifier"},
      {"CatBoostRegressor", "CatBoost", "HistGradientBoostingRegressor"},
      {"LGBMClassifier", "LightGBM", "HistGradientBoostingClassifier"},
      {"LGBMRegressor", "LightGBM", "HistGradientBoostingRegressor"},
      {"MBSGDClassifier", "cuML", "SGDClassifier"},
      {"MBSGDRegressor", "cuML", "SGDRegressor"},
      {"NeuralNetClassifier", "skorch", "MLPClassifier"},
      {"NeuralNetRegressor", "skorch", "MLPRegressor"},
      {"XGBClassifier", "XGBoost", "HistGradientBoostingClassifier"},
      {"XGBRFClassifier", "XGBoost", "RandomForestClassifier"},
      {"XGBRFRegressor", "XGBoost", "RandomForestRegressor"},
      {"XGBRegressor", "XGBoost", "HistGradientBoostingRegressor"},
  });
  return kNames;
}

}  // namespace kedge::engine
