"""What single estimators of scikit-learn have learned, as the server keeps it: one writer for each class, in the order in which the engine's state() reads."""
from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ..errors import KedgeError
from ._boosted_categories import Categories, sets_of

Array = np.ndarray[Any, Any]
Params = dict[str, Any]   # of the step: those that its answers depend on


class Refused(KedgeError):
    """The model has no form that the server would answer equally."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_VALUE", f"export: {message}", "model")


@dataclass(frozen=True)
class Feature:
    """A column on its way through the steps."""

    name: str
    categories: list[str] | None = None   # None: it holds numbers


class State:
    """What the steps learned, in the order in which the server reads it."""

    def __init__(self) -> None:
        self.given: list[Feature] = []   # what the step that is written reads
        self.labels: Array | None = None   # of the rows around a part, in order; None: those that the step knows
        self.records: list[dict[str, Any]] = []
        self.arrays: dict[str, bytes] = {}

    def value(self, name: str, type: str, value: Any) -> None:
        self.records.append({"name": name, "type": type, "value": value})

    def number(self, name: str, value: Any) -> None:
        self.value(name, "number", int(value))

    def real(self, name: str, value: Any) -> None:
        self.value(name, "real", float(value))

    def array(self, name: str, values: Any, dtype: str = "float64") -> None:
        """One or two dimensions."""
        found = np.ascontiguousarray(values, dtype)
        file, out = f"{len(self.records)}.{name}.npy", io.BytesIO()
        np.save(out, found)
        self.arrays[file] = out.getvalue()
        rows, columns = found.shape if found.ndim == 2 else (found.size, 1)
        self.records.append({"name": name, "type": dtype, "rows": rows, "cols": columns, "file": file})

    def texts(self, name: str, values: Sequence[str]) -> None:
        self.value(name, "texts", list(values))

    def features(self, features: Sequence[Feature]) -> None:
        self.value("features_out", "count", len(features))
        for feature in features:
            self.value("name", "text", feature.name)
            self.value("is_nominal", "bool", feature.categories is not None)
            self.texts("categories", feature.categories or [])

    def places(self, known: Array) -> Array:
        """Of these classes among all."""
        return np.arange(len(known)) if self.labels is None else np.searchsorted(self.labels, known)

    def classes(self, known: Array) -> None:
        self.array("codes", self.places(known), "int32")
        self.array("counts", np.zeros(len(known)), "int64")   # rows of each, which the object does not say
        self.texts("names", [str(one) for one in known.tolist()])


SEVERAL = "the model has several targets at once; wrap it in MultiOutputRegressor or MultiOutputClassifier before the fit, so that it has a part for each"


# Trees

def _row_limit(threshold: Array) -> Array:
    """The largest doubles that float32 rounds to no more than `threshold`: scikit-learn compares rows as float32, the server as they come."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2   # exact; float32 rounds it to the even one
    is_even = below.view(np.int32) % 2 == 0
    return np.where(np.isfinite(above), np.where(is_even, middle, np.nextafter(middle, -np.inf)), threshold)


def _trees(state: State, trees: Sequence[Any], n_classes: int, places: Array | None = None) -> None:
    """n_classes: 0 for values. places: of the classes that the trees know, where they are fewer."""
    for tree in trees:
        if tree.value.shape[1] != 1:
            raise Refused(SEVERAL)
    offset = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])

    def joined(part: Callable[[Any], Array]) -> Array:
        return np.concatenate([part(tree) for tree in trees])

    is_leaf = joined(lambda tree: tree.children_left) < 0
    base = np.repeat(offset[:-1], np.diff(offset))
    value = joined(lambda tree: tree.value[:, 0, :])
    if places is not None:
        known, value = value, np.zeros((len(value), n_classes))
        value[:, places] = known
    state.number("n_classes", n_classes)
    state.number("n_nodes", offset[-1])
    state.array("tree_offset", offset, "int64")
    state.array("feature", np.where(is_leaf, -1, joined(lambda tree: tree.feature)), "int32")
    state.array("bin", np.zeros(offset[-1]), "uint8")   # of the server's own fit
    state.array("threshold", np.where(is_leaf, 0.0, _row_limit(joined(lambda tree: tree.threshold))))
    for name in ("left", "right"):
        state.array(name, np.where(is_leaf, -1, joined(lambda tree: getattr(tree, f"children_{name}")) + base), "int32")
    state.array("value", value if n_classes else np.empty((offset[-1], 0)))
    state.array("mean", [] if n_classes else value[:, 0])
    state.array("impurity", joined(lambda tree: tree.impurity))
    state.array("weight", joined(lambda tree: tree.weighted_n_node_samples))
    state.array("n_rows", joined(lambda tree: tree.n_node_samples), "int32")


def _forest(state: State, model: Any) -> Params:
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    if is_classifier(model) and state.labels is not None:
        _trees(state, trees, len(state.labels), state.places(model.classes_))
    else:
        _trees(state, trees, len(model.classes_) if is_classifier(model) else 0)
    if is_regressor(model):
        state.array("oob_prediction", [])
    state.real("oob_score", 0.0)
    return {"n_estimators": len(trees)} if hasattr(model, "estimators_") else {}


def _gradient(state: State, model: Any) -> Params:
    row = np.zeros((1, model.n_features_in_), np.float32)
    if model.init not in (None, "zero"):
        raise Refused("init is an estimator")
    state.number("n_stages", len(model.estimators_))
    state.number("max_features", model.max_features_)
    state.array("first", np.ravel(model._raw_predict_init(row)))
    state.array("importances", model.feature_importances_)
    state.array("train_score", model.train_score_)
    state.array("oob_scores", [])
    state.array("oob_improvement", [])
    for k in range(model.estimators_.shape[1]):
        _trees(state, [one.tree_ for one in model.estimators_[:, k]], 0)
    return {"loss": model.loss, "learning_rate": float(model.learning_rate), "n_estimators": len(model.estimators_)}


def _siblings_together(nodes: Array) -> Array:
    """The nodes of a tree in an order in which the right child comes behind the left one."""
    order = [0]
    for node in order:
        if not nodes["is_leaf"][node]:
            order += [int(nodes["left"][node]), int(nodes["right"][node])]
    return np.asarray(order)


def _histograms(state: State, model: Any) -> Params:
    categories, predictors = Categories(model), [one for stage in model._predictors for one in stage]
    sets, first_set = sets_of(predictors)
    parts, left, of_set, sizes = [], [], [], [0]
    for predictor, first in zip(predictors, first_set):
        order = _siblings_together(predictor.nodes)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        nodes = predictor.nodes[order]
        parts.append(nodes)
        left.append(np.where(nodes["is_leaf"], 0, place[nodes["left"]] + sizes[-1]))
        of_set.append(np.where(~nodes["is_leaf"].astype(bool) & nodes["is_categorical"].astype(bool), nodes["bitset_idx"].astype(np.int64) + first, -1))
        sizes.append(sizes[-1] + len(order))
    nodes, n_outputs, of_node = np.concatenate(parts), len(model._predictors[0]), np.concatenate(of_set)
    is_leaf, n_features = nodes["is_leaf"].astype(bool), model.n_features_in_
    values = [categories.values(column) for column in range(n_features)]
    state.number("n_outputs", n_outputs)
    state.number("n_nodes", len(nodes))
    state.number("n_sets", len(sets))
    state.array("tree_offset", sizes, "int64")
    state.array("feature", np.where(is_leaf, -1, categories.columns[np.where(is_leaf, 0, nodes["feature_idx"])]), "int32")
    state.array("threshold", np.where(is_leaf | (of_node >= 0), 0.0, nodes["num_threshold"]))
    state.array("left", np.concatenate(left), "int32")
    state.array("missing_left", np.where(is_leaf, 0, nodes["missing_go_to_left"]), "uint8")
    state.array("set", of_node, "int32")
    state.array("value", np.where(is_leaf, nodes["value"], 0.0))
    state.array("gain", np.where(is_leaf, 0.0, nodes["gain"]))
    state.array("n_rows", nodes["count"], "int32")
    state.array("sets", np.ravel(sets), "uint8")
    state.array("categories", np.concatenate(values))
    state.array("category_offset", np.concatenate([[0], np.cumsum([len(one) for one in values])]), "int32")
    state.array("baseline", np.ravel(model._baseline_prediction))
    state.array("is_category", categories.mask, "uint8")
    for column in range(n_features):
        state.texts("names", categories.names(column) or [])
    state.array("train_score", [])
    state.array("validation_score", [])
    state.value("stops_early", "bool", False)
    named = {"categorical_features": np.flatnonzero(categories.mask).tolist()} if categories.mask.any() else {}
    return {"loss": model.loss, "max_iter": len(model._predictors), **named}


# Lines

def _line(state: State, model: Any) -> None:
    state.array("coef", np.atleast_2d(model.coef_))
    state.array("intercept", np.broadcast_to(np.ravel(model.intercept_), np.atleast_2d(model.coef_).shape[:1]))


def _logistic(state: State, model: Any) -> Params:
    is_ovr = getattr(model, "multi_class", "deprecated") == "ovr" or (model.solver == "liblinear" and len(model.classes_) > 2)
    if is_ovr and len(model.classes_) > 2:
        raise Refused("LogisticRegression with one line against the rest has other probabilities than the server's")
    _line(state, model)
    state.number("n_iter", np.max(model.n_iter_))
    return {}


def _margin(state: State, model: Any) -> Params:
    _line(state, model)
    state.number("n_iter", np.max(model.n_iter_))
    return {}


def _stochastic(state: State, model: Any) -> Params:
    _line(state, model)
    state.number("n_iter", model.n_iter_)
    state.number("n_rows", 1)
    return {"loss": model.loss} if type(model).__name__ == "SGDClassifier" else {}


def _ridge(state: State, model: Any) -> Params:
    if np.ndim(model.coef_) == 2 and not is_classifier(model):
        raise Refused(SEVERAL)
    _line(state, model)
    state.value("solver", "text", "cholesky")
    return {}


def linear_regression(state: State, model: Any) -> Params:
    if np.ndim(model.coef_) != 1:
        raise Refused(SEVERAL)
    state.array("coef", model.coef_)
    state.real("intercept", np.ravel(model.intercept_)[0])
    state.number("rank", len(model.coef_))
    state.array("singular", [])
    return {}


# Naive Bayes, neighbours, vectors

def _gaussian(state: State, model: Any) -> Params:
    state.array("class_count", model.class_count_)
    state.array("class_prior", model.class_prior_)
    state.array("theta", model.theta_)
    state.array("variance", model.var_)
    state.real("epsilon", model.epsilon_)
    return {}


def _discrete(state: State, model: Any) -> Params:
    """Weights and biases are what a row is multiplied by, and what is added."""
    name, weights = type(model).__name__, model.feature_log_prob_
    biases = np.zeros(len(model.classes_)) if name == "ComplementNB" and len(model.classes_) > 1 else model.class_log_prior_
    if name == "BernoulliNB":
        absent = np.log(1 - np.exp(weights))
        weights, biases = weights - absent, biases + absent.sum(axis=1)
    if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
        raise Refused(f"{name} has probabilities of 0")
    state.array("class_count", model.class_count_)
    state.array("class_log_prior", model.class_log_prior_)
    state.array("feature_count", model.feature_count_)
    state.array("feature_log_prob", model.feature_log_prob_)
    state.array("weights", weights)
    state.array("biases", biases)
    return {"binarize": None if model.binarize is None else float(model.binarize)} if name == "BernoulliNB" else {}


def _support(state: State, model: Any) -> Params:
    if model._sparse or callable(model.kernel) or model.kernel == "precomputed":
        raise Refused("the support vectors are sparse" if model._sparse else "the kernel is not one of linear, poly, rbf and sigmoid")
    is_of_classes = is_classifier(model)
    n_lines = len(np.ravel(model.intercept_))
    starts = np.concatenate([[0], np.cumsum(model.n_support_)[:-1]]) if n_lines > 1 else [0]   # of each class, where they are more than two
    state.value("kernel", "text", model.kernel)
    state.real("gamma", model._gamma)
    state.real("coef0", model.coef0)
    state.real("degree", model.degree)
    state.value("in_double", "bool", True)
    state.value("has_converged", "bool", True)
    state.number("n_rows", model.shape_fit_[0])
    state.array("support", model.support_, "int64")
    state.array("first", starts, "int64")
    state.array("vectors", model.support_vectors_)
    sign = -1.0 if is_of_classes and n_lines == 1 else 1.0   # scikit-learn turns those of two classes round
    state.array("coefs", sign * model.dual_coef_)
    state.array("intercept", sign * np.ravel(model.intercept_))
    for name in ("n_iter", "gaps", "objectives"):
        state.array(name, np.zeros(n_lines))
    if is_of_classes:
        has_probabilities = len(model._probA) > 0
        state.array("n_support", model.n_support_)
        state.array("class_weight", [])
        state.array("probA", model._probA)
        state.array("probB", model._probB)
        return {"kernel": model.kernel, "break_ties": model.break_ties, "decision_function_shape": model.decision_function_shape,
                **({"probability": True} if has_probabilities else {})}
    return {"kernel": model.kernel}


def _neighbors(state: State, model: Any) -> Params:
    if not isinstance(model._fit_X, np.ndarray):
        raise Refused("the rows that it was fitted on are sparse")
    if model.weights not in ("uniform", "distance") or not isinstance(model.metric, str) or model.metric_params:
        raise Refused("weights or metric is a function")
    if np.ndim(model._y) != 1:
        raise Refused(SEVERAL)
    state.number("n_rows", len(model._fit_X))
    state.array("points", model._fit_X)
    if is_classifier(model):
        state.array("codes", state.places(model.classes_)[model._y], "int32")
    else:
        state.array("values", model._y)
    return {"n_neighbors": int(model.n_neighbors), "weights": model.weights, "metric": model.metric, "p": float(model.p)}


def _k_means(state: State, model: Any) -> Params:
    state.array("centers", model.cluster_centers_)
    state.array("labels", model.labels_, "int32")
    state.real("inertia", model.inertia_)
    state.number("n_iter", model.n_iter_)
    return {"n_clusters": len(model.cluster_centers_)}


def _network(state: State, model: Any) -> Params:
    if is_classifier(model) and model.out_activation_ == "logistic" and len(model.classes_) > 2 or np.ndim(model.intercepts_[-1]) != 1:
        raise Refused(SEVERAL)
    if is_regressor(model) and model.n_outputs_ != 1:
        raise Refused(SEVERAL)
    state.array("parameters", np.concatenate([np.ravel(one) for one in (*model.coefs_, *model.intercepts_)]))
    state.number("n_iter", model.n_iter_)
    state.number("t", model.t_)
    state.real("loss", model.loss_)
    state.array("loss_curve", model.loss_curve_)
    state.array("validation_scores", [])
    state.real("best", model.loss_)
    return {"hidden_layer_sizes": [len(one) for one in model.intercepts_[:-1]], "activation": model.activation}


# Transformers

def _numbers(*names: str, **more: str) -> Callable[[State, Any], Params]:
    """One array for each attribute, then n_samples_seen where `more` names it."""
    def write(state: State, model: Any) -> Params:
        n = model.n_features_in_
        for name in names:
            member, attribute, default = name.split(":")
            value = getattr(model, attribute, None)
            state.array(member, np.full(n, float(default)) if value is None else value)
        if "seen" in more:
            state.value("n_samples_seen", more["seen"], int(np.max(model.n_samples_seen_)))
        return {name: getattr(model, name) for name in more.get("params", "").split()}
    return write


def _min_max(state: State, model: Any) -> Params:
    for name in ("data_min", "data_max", "scale"):
        state.array(name, getattr(model, f"{name}_"))
    state.number("n_samples_seen", model.n_samples_seen_)
    return {"feature_range": list(map(float, model.feature_range)), "clip": model.clip}


def _robust(state: State, model: Any) -> Params:
    state.array("center", np.zeros(model.n_features_in_) if model.center_ is None else model.center_)
    state.array("scale", np.ones(model.n_features_in_) if model.scale_ is None else model.scale_)
    return {"with_centering": model.with_centering, "with_scaling": model.with_scaling}


def _pca(state: State, model: Any) -> Params:
    state.number("n_components", len(model.components_))
    state.number("n_samples", model.n_samples_)
    state.array("mean", model.mean_)
    for name in ("components", "explained_variance", "explained_variance_ratio", "singular_values"):
        state.array(name, getattr(model, f"{name}_"))
    state.real("noise_variance", model.noise_variance_)
    return {"n_components": len(model.components_), "whiten": model.whiten}


def _svd(state: State, model: Any) -> Params:
    state.number("n_components", len(model.components_))
    for name in ("components", "singular_values", "explained_variance", "explained_variance_ratio"):
        state.array(name, getattr(model, f"{name}_"))
    return {"n_components": len(model.components_)}


def _imputer(state: State, model: Any) -> Params:
    if not (isinstance(model.missing_values, float) and np.isnan(model.missing_values)) or model.add_indicator:
        raise Refused("SimpleImputer of other cells than NaN, or with add_indicator")
    statistics = model.statistics_.tolist()
    if any(one is None or one != one for one in statistics):
        raise Refused("a column of SimpleImputer had no value")
    state.value("columns", "count", len(statistics))
    for statistic, feature in zip(statistics, state.given):
        state.value("statistic", "value", statistic)
        state.value("is_nominal", "bool", feature.categories is not None)
        state.value("lacks", "bool", False)
    return {"strategy": "most_frequent" if isinstance(statistics[0], str) else "mean"}


def nominal_names(categories: Array) -> list[str] | None:
    """The categories of a column, if they are texts."""
    return categories.tolist() if categories.dtype.kind in "OU" else None


def _categories(state: State, model: Any) -> None:
    if getattr(model, "_infrequent_enabled", False):
        raise Refused("an encoder with min_frequency or max_categories")
    state.value("categories", "count", len(model.categories_))
    for categories in model.categories_:
        names = nominal_names(categories)
        if any(not isinstance(one, str) for one in names) if names is not None else np.isnan(categories.astype(float)).any():
            raise Refused("an encoder's categories are texts and others, or have a missing one")
        state.value("is_nominal", "bool", names is not None)
        state.value("has_missing", "bool", False)
        state.texts("names", names or [])
        state.array("numbers", [] if names is not None else categories)
        state.array("counts", [], "int64")


def _one_hot(state: State, model: Any) -> Params:
    _categories(state, model)
    dropped = model.drop_idx_ if model.drop_idx_ is not None else [None] * len(model.categories_)
    for categories, drop in zip(model.categories_, dropped):
        state.number("n_groups", len(categories))
        state.array("group", np.arange(len(categories)), "int64")
        state.array("rare", [], "int64")
        state.number("dropped", -1 if drop is None else drop)
    names = [feature.name for feature in state.given]
    state.features([Feature(str(name)) for name in model.get_feature_names_out(names if not hasattr(model, "feature_names_in_") else None)])
    state.value("feature_names_in", "value", names)
    return {"handle_unknown": model.handle_unknown}


def _ordinal(state: State, model: Any) -> Params:
    _categories(state, model)
    for categories in model.categories_:
        state.array("rare", [], "int64")
        state.array("codes", np.arange(len(categories)), "int64")
    names = [feature.name for feature in state.given]
    state.features([Feature(name) for name in names])
    state.value("feature_names_in", "value", names)
    is_open = model.handle_unknown == "use_encoded_value"
    return {"handle_unknown": model.handle_unknown, **({"unknown_value": float(model.unknown_value)} if is_open else {})}


def _normalizer(state: State, model: Any) -> Params:
    return {"norm": model.norm}


def _variance(state: State, model: Any) -> Params:
    state.array("variances", model.variances_)
    return {"threshold": float(model.threshold)}


WRITERS: dict[str, Callable[[State, Any], Params]] = {
    **dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier",
                     "ExtraTreesRegressor"), _forest),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _gradient),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _histograms),
    "LogisticRegression": _logistic,
    "LinearSVC": _margin,
    **dict.fromkeys(("SGDClassifier", "Perceptron"), _stochastic),
    **dict.fromkeys(("Ridge", "RidgeClassifier"), _ridge),
    "LinearRegression": linear_regression,
    "GaussianNB": _gaussian,
    **dict.fromkeys(("MultinomialNB", "BernoulliNB", "ComplementNB"), _discrete),
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR"), _support),
    **dict.fromkeys(("KNeighborsClassifier", "KNeighborsRegressor"), _neighbors),
    "KMeans": _k_means,
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _network),
    "StandardScaler": _numbers("mean:mean_:0", "variance:var_:1", "scale:scale_:1", seen="value", params="with_mean with_std"),
    "MaxAbsScaler": _numbers("max_abs:max_abs_:1", "scale:scale_:1", seen="number"),
    "MinMaxScaler": _min_max,
    "RobustScaler": _robust,
    "PCA": _pca,
    "TruncatedSVD": _svd,
    "SimpleImputer": _imputer,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "Normalizer": _normalizer,
    "VarianceThreshold": _variance,
}
# Their rows times coef_ and intercept_ are what they predict, so the server has them as LinearRegression.
LINES = frozenset({"ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars", "LarsCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV",
                   "LassoLarsIC", "LinearSVR", "OrthogonalMatchingPursuit", "PassiveAggressiveRegressor", "QuantileRegressor", "RidgeCV", "SGDRegressor",
                   "TheilSenRegressor"})
