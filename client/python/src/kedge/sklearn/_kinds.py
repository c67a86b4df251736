"""Fills of linear models, mixtures, networks and selectors: what scikit-learn's objects have beside the public attributes of the job."""
from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.class_weight import compute_class_weight

from ._answer import Answer, Fitted
from ._decide import Stays
from ._describe import RELEASE


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


# ------------------------------------------------------------------ selectors

OF_CLASSES = frozenset({"f_classif", "chi2", "mutual_info_classif"})   # scores of columns for labels; the others are for values
UNIVARIATE = frozenset({"SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe"})
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

# Estimators of the catalogue whose fit does not go, and why. Every other one is in FILLED: a test compares both with the catalogue.
NOT_YET = "a fitted one does not come back yet"
LOCAL: dict[str, str] = {
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "Normalizer", "Binarizer", "PolynomialFeatures", "SplineTransformer", "KBinsDiscretizer",
                     "QuantileTransformer", "PowerTransformer", "SimpleImputer", "MissingIndicator", "VarianceThreshold", "DummyClassifier",
                     "DummyRegressor", "NearestCentroid"), ONE_PASS),
    **dict.fromkeys(("KNeighborsClassifier", "KNeighborsRegressor", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "KernelDensity",
                     "NearestNeighbors"), KEEPS_X),
    "LocalOutlierFactor": "scikit-learn keeps the distances of all neighbours, which are more than X",
    **dict.fromkeys(("PolynomialCountSketch", "GaussianRandomProjection", "SparseRandomProjection"), DRAWS),
    **dict.fromkeys(("ColumnTransformer", "FeatureUnion", "VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor",
                     "TransformedTargetRegressor", "SelectFromModel"), BY_PARTS),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor", "OneVsRestClassifier", "OneVsOneClassifier", "CalibratedClassifierCV"), OTHER_ROWS),
    **dict.fromkeys(("CountVectorizer", "TfidfVectorizer", "TfidfTransformer", "HashingVectorizer"), "it takes lists of texts, and arrays go to the server"),
    **dict.fromkeys(("RidgeClassifierCV", "LogisticRegressionCV", "Lars", "LassoLars", "LassoLarsIC", "LarsCV", "LassoLarsCV", "QuantileRegressor",
                     "TheilSenRegressor", "RANSACRegressor", "PLSRegression", "KNNImputer", "KernelPCA", "HDBSCAN", "AgglomerativeClustering", "MeanShift",
                     "TSNE", "FeatureAgglomeration"), NOT_YET),
}
# Of those that are filled, what a policy of "auto" keeps here.
CHEAP = {**dict.fromkeys(("preprocessing", "impute", "feature_selection", "naive_bayes", "dummy"), ONE_PASS), "neighbors": KEEPS_X}
