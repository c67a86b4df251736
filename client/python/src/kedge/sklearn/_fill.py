"""Fits of single estimators: the job's fitted attributes become those of scikit-learn's own object, which then needs no server."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.tree._tree import NODE_DTYPE, Tree

from ..data import Dataset
from ..errors import KedgeError
from ..session import Session
from ..tasks import Task
from ._batch import run, size_of, warn_as_scikit_learn
from ._decide import Call, Remote, Stays
from ._describe import RELEASE, Describer, Seeds, Step
from ._table import Table, Target

Fitted = dict[str, Any]
# Attributes that are not what a list of numbers or a number becomes: arrays of integers, numbers of numpy, lists of arrays.
INTEGERS = {"labels_": np.int32, "n_iter_": np.int32, "core_sample_indices_": np.int64, "component_indices_": np.int64, "n_categories_": np.int64}
SCALARS = {"intercept_", "dual_gap_", "best_score_", "l1_ratio_", "epsilon_"}
LISTS = {"QuadraticDiscriminantAnalysis": ("rotations_", "scalings_", "covariance_"), "CategoricalNB": ("category_count_", "feature_log_prob_")}
# Families of which no fit is worth sending, and why.
ONE_PASS = "its fit reads X once, which costs less than sending it"
CHEAP = {**dict.fromkeys(("preprocessing", "impute", "feature_selection", "naive_bayes", "dummy"), ONE_PASS),
         "neighbors": "its fit keeps X and no more"}


def _nothing(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    return {}


def _k_means(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
    estimator._check_params_vs_input(table.matrix if table.sparse is None else table.sparse)   # sets _tol, _n_init, _algorithm; warns
    return {"_n_features_out": len(fitted["cluster_centers_"]), "_n_threads": _openmp_effective_n_threads()}


def _pca(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    """The solver that scikit-learn would have chosen, and components that are two-dimensional without rows, too."""
    n_components, (n_rows, n_columns) = estimator.n_components, table.shape
    solver = estimator.svd_solver
    if solver == "auto" and RELEASE >= (1, 5) and n_columns <= 1000 and n_rows >= 10 * n_columns:
        solver = "covariance_eigh"
    elif solver == "auto":
        is_small = max(n_rows, n_columns) <= 500 or not isinstance(n_components, (int, np.integer))
        solver = "randomized" if not is_small and 1 <= n_components < 0.8 * min(n_rows, n_columns) else "full"
    return {"_fit_svd_solver": solver, "components_": np.asarray(fitted["components_"], np.float64).reshape(-1, n_columns)}


def _dbscan(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    X = table.matrix if table.sparse is None else table.sparse
    core = np.asarray(fitted["core_sample_indices_"], np.int64)
    return {"components_": X[core].copy() if X is not None and len(core) else np.empty((0, table.n_columns))}


def _ridge_classifier(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    assert target is not None
    return {"_label_binarizer": LabelBinarizer(pos_label=1, neg_label=-1).fit(target.classes)}


def _discriminant(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    most = min(len(fitted["classes_"]) - 1, table.n_columns)
    n_components = most if estimator.n_components is None else estimator.n_components
    return {"_max_components": n_components, **({"_n_features_out": n_components} if estimator.solver != "lsqr" else {})}


def _tree(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    for name in ("n_leaves_", "depth_"):   # which scikit-learn takes from the tree
        fitted.pop(name, None)
    n_classes = 1 if target is None or target.classes is None else len(target.classes)
    more = {} if n_classes == 1 and not is_classifier(estimator) else {"n_classes_": np.int64(n_classes)}
    return {"tree_": tree_of(fitted["tree_"], table.n_columns, n_classes), **more}


# The estimators that can be filled, each with what predict needs beside the public attributes.
FILLED: dict[str, Callable[[Any, Fitted, Table, Target | None], Fitted]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "IncrementalPCA", "TruncatedSVD", "LinearRegression", "Ridge",
                     "RidgeCV", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "LogisticRegression", "GaussianNB", "MultinomialNB",
                     "ComplementNB", "BernoulliNB", "CategoricalNB", "QuadraticDiscriminantAnalysis"), _nothing),
    "PCA": _pca,
    "Nystroem": lambda estimator, fitted, *_: {"_n_features_out": len(fitted["components_"])},
    "KMeans": _k_means,
    "DBSCAN": _dbscan,
    "RidgeClassifier": _ridge_classifier,
    "LinearDiscriminantAnalysis": _discriminant,
    "DecisionTreeClassifier": _tree,
    "DecisionTreeRegressor": _tree,
}


def tree_of(nodes: dict[str, Any], n_features: int, n_classes: int) -> Tree:
    """A tree of scikit-learn from flat arrays. Children and features are checked, for scikit-learn follows them as they are."""
    members = {"left_child": "children_left", "right_child": "children_right", "missing_go_to_left": "missing_go_to_left"}
    n = int(nodes["node_count"])
    array = np.zeros(n, NODE_DTYPE)
    for field in NODE_DTYPE.names:
        if (name := members.get(field, field)) in nodes:
            array[field] = np.asarray(nodes[name], np.float64)
        elif field not in ("missing_go_to_left", "leaf_value"):
            raise Stays(f"trees of this scikit-learn have the field {field}, which the server does not give")
    is_leaf = array["left_child"] == -1
    for child in ("left_child", "right_child"):
        if (array[child][~is_leaf] <= np.flatnonzero(~is_leaf)).any() or (array[child] >= n).any() or (array[child][is_leaf] != -1).any():
            raise KedgeError("BAD_DATA", f"the tree's {child} is no child", "tree_")
    if ((array["feature"][~is_leaf] < 0) | (array["feature"][~is_leaf] >= n_features)).any():
        raise KedgeError("BAD_DATA", f"the tree asks for a feature beyond {n_features}", "tree_")
    values = np.asarray(nodes["value"], np.float64).reshape(n, 1, n_classes)
    tree = Tree(n_features, np.array([n_classes], np.intp), 1)
    tree.__setstate__({"max_depth": int(nodes["max_depth"]), "node_count": n, "nodes": array, "values": np.ascontiguousarray(values)})
    return tree


@dataclass(frozen=True)
class Plan:
    """A fit as a job. target: of a supervised estimator."""

    table: Table
    target: Target | None
    weights: Any
    pipeline: list[Step]

    def dataset(self, session: Session) -> Dataset:
        values = np.zeros(self.table.n_rows, np.float32) if self.target is None else self.target.values   # every data set has a target
        return self.table.dataset(session, values, weights=self.weights)


def plan(remote: Remote, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Plan:
    """What a fit would send. Raises Stays."""
    name = type(estimator).__name__
    if given := [argument for argument, value in more.items() if value is not None]:
        raise Stays(f"fit gets {', '.join(given)}")
    if getattr(estimator, "warm_start", False):
        raise Stays("warm_start goes on from a fit here")
    if name not in FILLED:
        raise Stays(f"a fitted {name} does not come back yet" if name in remote.estimators else f"the server has no {name}")
    table = Table(X).as_float32() if FILLED[name] is _tree else Table(X)   # in which scikit-learn's trees read X
    if table.names is not None and len({isinstance(one, str) for one in table.names}) > 1:
        raise Stays("names of columns are texts and others")
    if table.dtype == "float32" and FILLED[name] is not _tree:
        raise Stays("X is float32, and fitted arrays come back as float64")
    if table.texts:
        raise Stays("X holds texts")
    if table.sparse is not None and name == "PCA":
        raise Stays("X is sparse, which the server's PCA samples at random")
    is_supervised = is_classifier(estimator) or is_regressor(estimator)
    if is_supervised and y is None:
        raise Stays("there is no y")
    target = Target(y, is_classifier(estimator)) if is_supervised else None
    return Plan(table, target, _weights(sample_weight), Describer(remote, table, Seeds(advances=True)).pipeline(estimator))


def _weights(sample_weight: Any) -> Any:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim != 1 or weights.dtype.kind not in "biuf" or not np.isfinite(weights).all() or (weights < 0).any():
        raise Stays("sample_weight is not one number for each row, finite and not negative")
    return weights.astype(np.float64)


def fit(call: Call, estimator: Any, X: Any, y: Any = None, **more: Any) -> bool:
    """Whether the estimator is fitted now, by the server."""
    settings = call.settings
    name, size, by_policy = type(estimator).__name__, size_of(X), True
    try:
        settings.check_policy(size, is_heavy=False)
        settings.check_family(name, CHEAP)
        by_policy = False
        job_of = plan(settings.remote, estimator, X, y, **more)
        job = settings.session.submit(job_of.dataset(settings.session), job_of.pipeline, Task("fit", {}))
        result = run(settings.session, job)
        if result.model:   # the object has all of it
            settings.session.model(result.model).remove()
        attributes = _attributes(estimator, next(iter(result.fitted.values())), job_of.table, job_of.target)
    except (Stays, KedgeError) as error:
        settings.kept(f"{name}.fit", size, error, by_policy, raises=call.estimator is estimator)
        return False
    settings.sent(f"{name}.fit", job.id)
    estimator.__dict__.pop("feature_names_in_", None)
    vars(estimator).update(attributes)
    warn_as_scikit_learn(result)
    return True


def _attributes(estimator: Any, fitted: Fitted, table: Table, target: Target | None) -> Fitted:
    name = type(estimator).__name__
    more = FILLED[name](estimator, fitted, table, target)
    found = {attribute: _value(name, attribute, value) for attribute, value in fitted.items() if not _is_property(estimator, attribute)}
    if "classes_" in found and target is not None:
        found["classes_"] = target.classes
    if table.names is not None and all(isinstance(one, str) for one in table.names):
        found["feature_names_in_"] = np.asarray(table.names, object)
    return {**found, **more}


def _is_property(estimator: Any, attribute: str) -> bool:
    return isinstance(getattr(type(estimator), attribute, None), property)


def _value(owner: str, attribute: str, value: Any) -> Any:
    """JSON as scikit-learn has it."""
    if attribute in LISTS.get(owner, ()):
        return [np.asarray(part, np.float64) for part in value]
    if isinstance(value, list) and all(isinstance(part, (int, float, list)) or part in (None, "NaN", "Infinity", "-Infinity") for part in value):
        return np.asarray(value, np.float64).astype(np.int64 if owner == "DBSCAN" and attribute == "labels_" else INTEGERS.get(attribute, np.float64))
    if attribute == "n_samples_seen_" and owner in ("StandardScaler", "IncrementalPCA"):
        return np.int64(value)
    return np.float64(value) if attribute in SCALARS and isinstance(value, (int, float)) else value
