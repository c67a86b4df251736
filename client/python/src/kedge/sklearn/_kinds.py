"""Fills of linear models, mixtures, networks, clusters and selectors: what scikit-learn's objects have beside the public attributes of the job."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import KernelCenterer, LabelBinarizer
from sklearn.utils import check_symmetric
from sklearn.utils.class_weight import compute_class_weight

from ._answer import Answer, Fitted
from ._decide import Stays
from ._describe import RELEASE
from ._table import Table


def generalized(answer: Answer) -> Fitted:
    return {"_base_loss": answer.estimator._get_loss()}


def bayesian(answer: Answer) -> Fitted:
    return {} if answer.estimator.compute_score else {"scores_": []}   # scikit-learn's is an array only then


def check_sgd(estimator: Any) -> None:
    """Raises Stays."""
    if getattr(estimator, "average", False):
        raise Stays(f"{type(estimator).__name__}: average keeps further coefficients, which the server does not give")


def stochastic(answer: Answer) -> Fitted:
    """What partial_fit() goes on with."""
    estimator, plan = answer.estimator, answer.plan
    if not hasattr(estimator, "_get_loss_function"):   # before 1.6
        return {}
    weights = {} if plan.weights is None or RELEASE < (1, 9) else {"sample_weight": plan.weights}
    return {"_loss_function_": estimator._get_loss_function(estimator.loss),
            "_expanded_class_weight": compute_class_weight(estimator.class_weight, classes=answer.classes, y=np.asarray(plan.y), **weights)}


def factor_analysis(answer: Answer) -> Fitted:
    return {"loglike_": [np.float64(one) for one in answer.fitted["loglike_"]]}


def mixture(answer: Answer) -> Fitted:
    estimator, fitted = answer.estimator, answer.fitted
    found: Fitted = {"lower_bounds_": [np.float64(one) for one in fitted["lower_bounds_"]]}
    if getattr(estimator, "degrees_of_freedom_prior", 0) is None:
        found["degrees_of_freedom_prior_"] = answer.table.n_columns
    concentration = fitted.pop("weight_concentration_", None)
    if concentration is not None and estimator.weight_concentration_prior_type == "dirichlet_process":
        found["weight_concentration_"] = tuple(np.asarray(part, np.float64) for part in concentration)
    elif concentration is not None:
        found["weight_concentration_"] = np.asarray(concentration, np.float64)
    return found


def covariance(answer: Answer) -> Fitted:
    return {} if answer.estimator.store_precision else {"precision_": None}


def network(answer: Answer) -> Fitted:
    """Without the moments of the optimizer: partial_fit() makes one of its own."""
    estimator, fitted = answer.estimator, answer.fitted
    found: Fitted = {name: [np.asarray(part, np.float64) for part in fitted.pop(name)] for name in ("coefs_", "intercepts_")}
    by_steps = ("loss_curve_", "validation_scores_", "best_loss_", "best_validation_score_")
    if estimator.solver == "lbfgs":
        for name in by_steps:
            fitted.pop(name, None)
    else:
        given = {name: fitted.pop(name, None) for name in by_steps}
        found.update({name: [np.float64(one) for one in value] if isinstance(value, list) else None if value is None else np.float64(value)
                      for name, value in given.items()})
        found["_no_improvement_count"] = 0
    found.update(_best_coefs=[part.copy() for part in found["coefs_"]], _best_intercepts=[part.copy() for part in found["intercepts_"]],
                 _random_state=np.random.RandomState(answer.plan.pipeline[0].get("params", {}).get("random_state", 0)))
    if answer.classes is not None:
        found["_label_binarizer"] = LabelBinarizer().fit(answer.classes)
    return found


def lars(answer: Answer) -> Fitted:
    """Without a path scikit-learn leaves the two attributes of it out."""
    active, path = answer.fitted.pop("active_", None), answer.fitted.pop("coef_path_", None)
    if active is None or not getattr(answer.estimator, "fit_path", True):
        return {}
    return {"active_": [np.int64(one) for one in active], "coef_path_": np.asarray(path, np.float64)}


def least_squares(answer: Answer) -> Fitted:
    """Without what scikit-learn knows of dense rows and free coefficients alone."""
    if answer.table.sparse is not None or answer.estimator.positive:
        answer.fitted.pop("rank_", None), answer.fitted.pop("singular_", None)
    return {}


def ridge(answer: Answer) -> Fitted:
    """solver_ is what scikit-learn would have taken: the server has one way to the same minimum."""
    estimator = answer.estimator
    answer.fitted.pop("solver_", None)
    chosen = "lbfgs" if estimator.positive else "sparse_cg" if answer.table.sparse is not None else "cholesky"
    return {"solver_": chosen if estimator.solver == "auto" else estimator.solver} if RELEASE >= (1, 5) else {}


def ridge_classifier(answer: Answer) -> Fitted:
    solver = {} if type(answer.estimator).__name__.endswith("CV") else ridge(answer)
    if RELEASE < (1, 6):   # which keeps one line of coefficients where there are two classes, and predicts from it
        solver["coef_"] = np.atleast_2d(np.asarray(answer.fitted["coef_"], np.float64))
    return {"_label_binarizer": LabelBinarizer(pos_label=1, neg_label=-1).fit(answer.classes), **solver}


def logistic_cv(answer: Answer) -> Fitted:
    """Lines and scores by class, or as one array where the object asks for that."""
    fitted, classes = answer.fitted, answer.classes
    assert classes is not None
    found: Fitted = {"Cs_": np.asarray(fitted["Cs_"], np.float64)}
    if (given := answer.estimator.l1_ratios) is None or isinstance(given, str):
        found["l1_ratios_"] = np.array([None])
    else:
        found["l1_ratios_"] = np.asarray(given)
    if isinstance(fitted["scores_"], dict):
        by_code = {str(code): label for code, label in enumerate(classes)}
        for name in ("scores_", "coefs_paths_"):
            found[name] = {by_code[str(int(float(code)))]: np.asarray(values, np.float64) for code, values in fitted[name].items()}
        has_none = answer.estimator.refit and found["l1_ratios_"].dtype == object
        found["l1_ratio_"] = np.array([None] * len(fitted["l1_ratio_"])) if has_none else np.asarray(fitted["l1_ratio_"], np.float64)
    else:
        lines = np.asarray(fitted["coefs_paths_"], np.float64)
        width = answer.table.n_columns + bool(answer.estimator.fit_intercept)
        found |= {"coefs_paths_": lines.reshape(*lines.shape[:3], -1, width), "C_": float(fitted["C_"]), "l1_ratio_": fitted["l1_ratio_"]}
    return found


def ransac(answer: Answer) -> Fitted:
    """The estimator on the inliers is fitted here, as scikit-learn does at the end: one fit of many."""
    inliers = np.asarray(answer.fitted["inlier_mask_"], bool)
    answer.fitted.pop("estimator_")
    base = LinearRegression() if answer.estimator.estimator is None else clone(answer.estimator.estimator)
    weights = {} if answer.plan.weights is None else {"sample_weight": answer.plan.weights[inliers]}
    return {"inlier_mask_": inliers, "estimator_": base.fit(answer.X[inliers], np.asarray(answer.plan.y)[inliers], **weights)}


def partial_least_squares(answer: Answer) -> Fitted:
    members, fitted = dict(answer.model.members()), answer.fitted
    y = np.asarray(answer.plan.y, np.float64)
    deviation = float(y.std(ddof=1)) if answer.estimator.scale and len(y) > 1 else 1.0
    return {"_x_mean": np.asarray(members["x_mean"], np.float64), "_x_std": np.asarray(members["x_scale"], np.float64),
            "_y_mean": np.asarray([members["y_mean"]], np.float64), "_y_std": np.array([deviation or 1.0]),
            "_x_scores": np.asarray(fitted["x_scores_"], np.float64), "_y_scores": np.asarray(fitted["y_scores_"], np.float64),
            "_n_features_out": len(fitted["x_rotations_"][0]), "_norm_y_weights": False, "_predict_1d": True,
            "n_iter_": [int(one) for one in fitted["n_iter_"]]}


def check_kernel_pca(estimator: Any) -> None:
    """Raises Stays."""
    if getattr(estimator, "fit_inverse_transform", False):
        raise Stays("KernelPCA: the server makes no inverse_transform")


def kernel_pca(answer: Answer) -> Fitted:
    members, centerer = dict(answer.model.members()), KernelCenterer().set_output(transform="default")
    centerer.K_fit_rows_, centerer.K_fit_all_ = np.asarray(members["row_means"], np.float64), np.float64(members["mean"])
    centerer.n_features_in_ = answer.table.n_rows
    return {"X_fit_": answer.X, "_centerer": centerer}


def parts(answer: Answer) -> Fitted:
    """NMF."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # the job has the same warning
        answer.estimator._check_params(answer.X)   # sets _beta_loss
    return {"_n_components": answer.fitted["n_components_"]}


# ------------------------------------------------------------------ clusters, places


def merged(answer: Answer) -> Fitted:
    """AgglomerativeClustering, and of columns FeatureAgglomeration."""
    found: Fitted = {"children_": np.asarray(answer.fitted["children_"], np.int64).reshape(-1, 2)}
    return {**found, "_n_features_out": answer.fitted["n_clusters_"]} if hasattr(answer.estimator, "pooling_func") else found


def embedding(answer: Answer) -> Fitted:
    rate = answer.fitted["learning_rate_"]
    return {"embedding_": np.asarray(answer.fitted["embedding_"], np.float32),
            "learning_rate_": np.float64(rate) if answer.estimator.learning_rate == "auto" else rate}


MOST_NEIGHBOURS = 1024   # of a graph of the server


def check_spectral(estimator: Any, table: Table) -> None:
    """Raises Stays. For SpectralEmbedding and SpectralClustering."""
    name, (n_rows, n_columns) = type(estimator).__name__, table.shape
    is_of_neighbours = estimator.affinity == "nearest_neighbors"
    if name == "SpectralEmbedding" and is_of_neighbours and table.sparse is not None:
        raise Stays("SpectralEmbedding: scikit-learn takes affinity rbf where X is sparse")
    if is_of_neighbours and estimator.n_neighbors is None and n_rows // 10 > MOST_NEIGHBOURS:
        raise Stays(f"{name}: a tenth of the rows are more than the {MOST_NEIGHBOURS} neighbours that the server looks for")
    if name == "SpectralClustering" and n_rows == n_columns and estimator.affinity != "precomputed":
        raise Stays("SpectralClustering: X is a square, and scikit-learn warns that it may be one of affinities")


def spectral_embedding(answer: Answer) -> Fitted:
    """The graph is made here by scikit-learn's own code, and costs little beside its eigenvectors."""
    answer.fitted.pop("n_neighbors_", None), answer.fitted.pop("gamma_", None)
    check_symmetric(answer.estimator._get_affinity_matrix(answer.X))   # which warns
    return {}


def spectral_clustering(answer: Answer) -> Fitted:
    estimator, X = answer.estimator, answer.X
    if estimator.affinity == "precomputed":
        affinities = X
        check_symmetric(X)   # which warns
    elif estimator.affinity == "nearest_neighbors":
        edges = kneighbors_graph(X, n_neighbors=estimator.n_neighbors, include_self=True, n_jobs=estimator.n_jobs)
        affinities = 0.5 * (edges + edges.T)
    else:
        affinities = pairwise_kernels(X, metric=estimator.affinity, filter_params=True, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0)
    labels = np.asarray(answer.fitted["labels_"])
    return {"affinity_matrix_": affinities, "labels_": labels.astype(np.int32 if estimator.assign_labels == "kmeans" else np.int64)}


def transformed(estimator: Any, X: Any) -> Any:
    """What fit_transform() gives after the fit. An embedding has no places for other rows, so no transform()."""
    return estimator.transform(X) if hasattr(estimator, "transform") else estimator.embedding_


# ------------------------------------------------------------------ selectors

OF_CLASSES = frozenset({"f_classif", "chi2", "mutual_info_classif"})   # scores of columns for labels; the others are for values
UNIVARIATE = frozenset({"SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect"})
OF_ESTIMATORS = frozenset({"RFE", "RFECV", "SequentialFeatureSelector"})


def judge(estimator: Any) -> Any:
    """What says whether y holds labels or values: for a selector its estimator, else itself."""
    return estimator.estimator if type(estimator).__name__ in OF_ESTIMATORS else estimator


def selected_by_estimator(answer: Answer) -> Fitted:
    """RFE and RFECV. The estimator on the chosen columns is fitted here, as scikit-learn does at the end: one fit of many."""
    support = np.asarray(answer.fitted["support_"], bool)
    answer.fitted.pop("estimator_"), answer.fitted.pop("classes_", None)
    fitted = clone(answer.estimator.estimator).fit(answer.X[:, np.flatnonzero(support)], answer.plan.y)
    found: Fitted = {"support_": support, "ranking_": np.asarray(answer.fitted["ranking_"], np.int64), "n_features_": np.int64(support.sum()),
                     "estimator_": fitted}
    if "cv_results_" in answer.fitted:
        found["cv_results_"] = {name: np.asarray(values, np.int64 if name == "n_features" else np.float64)
                                for name, values in answer.fitted["cv_results_"].items()}
    return found


def sequentially_selected(answer: Answer) -> Fitted:
    support = np.asarray(answer.fitted["support_"], bool)
    return {"support_": support, "n_features_to_select_": support.sum()}


# ------------------------------------------------------------------ what stays

ONE_PASS = "its fit reads X once, which costs less than sending it"
KEEPS_X = "its fit keeps X and no more"
BY_PARTS = "the estimators that it is made of are fitted one by one, and go as they can"
OTHER_ROWS = "each of its parts is fitted on other rows, columns or labels, which would be sent anew"
DRAWS = "its fit draws numbers and reads of X the number of columns"

NO_DATA = "its fit reads nothing of X"
NOT_YET = "the object does not come back yet"   # of the newest

# Estimators of the catalogue whose fit does not go, and why. Every other one is in FILLED: a test compares both with the catalogue.
LOCAL: dict[str, str] = {
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "Normalizer", "Binarizer", "PolynomialFeatures", "SplineTransformer", "KBinsDiscretizer",
                     "QuantileTransformer", "PowerTransformer", "SimpleImputer", "MissingIndicator", "VarianceThreshold", "DummyClassifier",
                     "DummyRegressor", "IsotonicRegression", "NearestCentroid", "CountVectorizer", "TfidfVectorizer", "TfidfTransformer"), ONE_PASS),
    "HashingVectorizer": NO_DATA,
    **dict.fromkeys(("DictVectorizer", "FeatureHasher"), "its rows are dictionaries, and no table"),
    "FunctionTransformer": "its functions are Python's",
    **dict.fromkeys(("KNeighborsClassifier", "KNeighborsRegressor", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "KernelDensity",
                     "NearestNeighbors", "KNNImputer"), KEEPS_X),
    "HDBSCAN": "scikit-learn keeps the tree of all rows, for dbscan_clustering(), and the server's model has the clusters alone",
    "LocalOutlierFactor": "scikit-learn keeps the distances of all neighbours, which are more than X",
    **dict.fromkeys(("PolynomialCountSketch", "RBFSampler", "SkewedChi2Sampler", "GaussianRandomProjection", "SparseRandomProjection"), DRAWS),
    **dict.fromkeys(("ColumnTransformer", "FeatureUnion", "VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor",
                     "TransformedTargetRegressor", "SelectFromModel", "FixedThresholdClassifier", "ClassifierChain", "RegressorChain"), BY_PARTS),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor", "OneVsRestClassifier", "OneVsOneClassifier", "CalibratedClassifierCV",
                     "TunedThresholdClassifierCV"), OTHER_ROWS),
    "UMAP": "it is not one of scikit-learn's",
    **dict.fromkeys(("SMOTE", "RandomOverSampler", "RandomUnderSampler"), "it resamples rows here; cross-validation and searches send it as a step of a pipeline"),
}
# Of those that are filled, whose fit_transform() is not fit() and transform().
OTHERWISE = {"TargetEncoder": "fit_transform encodes each part of the rows by the others, and the model that comes back has the encoding of all"}
# Of those that are filled, what a policy of "auto" keeps here.
CHEAP = {**dict.fromkeys(("preprocessing", "impute", "feature_selection", "naive_bayes", "dummy"), ONE_PASS), "neighbors": KEEPS_X}
