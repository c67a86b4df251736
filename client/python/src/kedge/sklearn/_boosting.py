"""Boosted trees, isolation forests and boosted estimators of scikit-learn from the arrays of a stored model."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from ..errors import KedgeError
from ._answer import Answer, Fitted
from ._decide import Stays
from ._trees import Fit, Members, Nodes, counted, max_features_of, trees_of

Array = np.ndarray[Any, Any]
MOST = np.iinfo(np.int32).max   # of seeds


def blocks(members: Members, first: str) -> Iterator[Members]:
    """The parts that begin with a member of this name, without what comes before."""
    begins = [i for i, (name, _) in enumerate(members) if name == first] + [len(members)]
    for begin, end in zip(begins, begins[1:]):
        yield members[begin:end]


def _seed_of(answer: Answer) -> int:
    return int(answer.plan.pipeline[0].get("params", {}).get("random_state", 0))


def _filled_tree(like: Any, tree: Any, n_features: int, seed: int, n_classes: int = 0, classes: Any = None) -> Any:
    """A tree of scikit-learn with these nodes. n_classes: 0 for values."""
    one = clone(like).set_params(random_state=seed)
    vars(one).update(n_features_in_=n_features, n_outputs_=1, max_features_=max_features_of(like.max_features, n_features), tree_=tree)
    if n_classes:
        vars(one).update(classes_=classes, n_classes_=np.int64(n_classes))
    return one


def _seeds(answer: Answer, n: int) -> list[int]:
    drawn: list[int] = np.random.RandomState(_seed_of(answer)).randint(MOST, size=n).tolist()
    return drawn


# ------------------------------------------------------------------ GradientBoosting

def check_gradient(estimator: Any, sample_weight: Any) -> None:
    """Raises Stays."""
    if estimator.init is not None and not isinstance(estimator.init, str):
        raise Stays(f"{type(estimator).__name__}: init is an estimator")
    if sample_weight is not None and estimator.subsample < 1:
        raise Stays("the server does not say which rows each stage drew, and with weights they cannot be counted")


def gradient(answer: Answer) -> Fitted:
    estimator, X, classes, weights = answer.estimator, answer.X, answer.classes, answer.plan.weights
    n_features, n_outputs = answer.table.n_columns, int(answer.fitted["n_trees_per_iteration_"])
    made = clone(estimator)   # what scikit-learn derives from parameters and y, it derives here
    made.n_features_in_ = n_features
    y = made._encode_y(y=np.asarray(answer.plan.y).ravel(), sample_weight=weights)
    made._set_max_features()
    made._loss = made._get_loss(sample_weight=weights)
    made._init_state()
    if made.init_ != "zero":
        made.init_.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    members = answer.model.members()
    if estimator.n_iter_no_change is not None and made.init_ != "zero":
        _start_at(made.init_, np.asarray(dict(members)["first"], np.float64))
    n_stages = int(answer.fitted["n_estimators_"])
    stages = np.empty((n_stages, n_outputs), dtype=object)
    like = DecisionTreeRegressor(**{name: getattr(estimator, name) for name in (
        "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "min_impurity_decrease", "max_features",
        "max_leaf_nodes", "ccp_alpha")})
    seeds = _seeds(answer, n_stages * n_outputs)
    for k, part in enumerate(blocks(members, "n_classes")):
        nodes = Nodes(part, n_features, 0)
        n_rows = nodes.n_rows if nodes.n_rows is not None else (
            np.rint(nodes.weight).astype(np.int64) if weights is None else counted(nodes, n_features, 1, Fit(X, weights, 0)))
        for i, tree in enumerate(trees_of(nodes, n_features, 1, n_rows)):
            stages[i, k] = _filled_tree(like, tree, n_features, seeds[i * n_outputs + k])
    answer.fitted.pop("feature_importances_", None)   # which scikit-learn takes from the trees
    found: Fitted = {"_loss": made._loss, "init_": made.init_, "estimators_": stages, "max_features_": made.max_features_, "n_estimators_": n_stages,
                     "_rng": np.random.RandomState(_seed_of(answer))}
    if classes is not None:
        found["n_classes_"] = len(classes)
    return found


def _start_at(init: Any, first: Array) -> None:
    """The dummy was fitted on all rows; stages that stop early begin with what they left for validation out."""
    if hasattr(init, "class_prior_"):
        odds = np.exp(np.append(0.0, first) if first.size == 1 else first - first.max())
        init.class_prior_ = odds / odds.sum()
    else:
        init.constant_ = first.reshape(1, -1)


# ------------------------------------------------------------------ AdaBoost

def check_ada(estimator: Any) -> None:
    """Raises Stays."""
    if type(estimator.estimator) not in (type(None), DecisionTreeClassifier, DecisionTreeRegressor):
        raise Stays(f"{type(estimator).__name__}: parts that are no trees do not come back")


def ada(answer: Answer) -> Fitted:
    made, classes, n_features = clone(answer.estimator), answer.classes, answer.table.n_columns
    made._validate_estimator()
    n_classes = 0 if classes is None else len(classes)
    parts = list(blocks(answer.model.members(), "n_features"))[1:]
    estimators = []
    for seed, part in zip(_seeds(answer, len(parts)), parts):
        nodes = Nodes(part, n_features, n_classes)
        n_rows = nodes.n_rows if nodes.n_rows is not None else np.rint(nodes.weight).astype(np.int64)
        tree = trees_of(nodes, n_features, max(1, n_classes), n_rows)[0]
        estimators.append(_filled_tree(made.estimator_, tree, n_features, seed, n_classes, classes))
    for name in ("feature_importances_", "estimators_"):
        answer.fitted.pop(name, None)
    found: Fitted = {"estimator_": made.estimator_, "estimators_": estimators}
    for name, rest in (("estimator_weights_", 0.0), ("estimator_errors_", 1.0)):   # scikit-learn's are as long as was asked for
        values = np.full(answer.estimator.n_estimators, rest)
        values[:len(answer.fitted[name])] = answer.fitted[name]
        found[name] = values
    return {**found, **({"n_classes_": n_classes} if n_classes else {})}


# ------------------------------------------------------------------ IsolationForest

def _renumber(nodes: Nodes, columns: Array, n_features: int) -> None:
    """Nodes name columns of the table; in scikit-learn those of each tree are numbered by themselves."""
    if columns.shape[1] == n_features and (columns == np.arange(n_features)).all():
        return
    tree_of = np.repeat(np.arange(len(columns)), np.diff(nodes.offset))[nodes.inner]
    place = np.full((len(columns), n_features), -1)
    np.put_along_axis(place, columns, np.arange(columns.shape[1])[None], axis=1)
    nodes.feature[nodes.inner] = own = place[tree_of, nodes.feature[nodes.inner]]
    if (own < 0).any():
        raise KedgeError("BAD_DATA", "a tree asks for a feature that it did not get", "feature")


def isolation(answer: Answer) -> Fitted:
    from sklearn.ensemble._iforest import _average_path_length
    n_features = answer.table.n_columns
    nodes = Nodes(answer.model.members(), n_features, 0)
    columns = np.asarray(answer.fitted["estimators_features_"], np.int64)
    _renumber(nodes, columns, n_features)
    max_samples = int(answer.fitted["max_samples_"])
    like = ExtraTreeRegressor(max_depth=int(np.ceil(np.log2(max(max_samples, 2)))), max_features=1, splitter="random")
    grown = trees_of(nodes, columns.shape[1], 1, np.rint(nodes.weight).astype(np.int64))
    seeds = np.random.RandomState(_seed_of(answer)).randint(MOST, size=len(columns))   # from which scikit-learn draws rows, and the server too
    trees = [_filled_tree(like, tree, columns.shape[1], int(np.random.RandomState(seed).randint(MOST))) for seed, tree in zip(seeds, grown)]
    paths = [(_average_path_length(one.tree_.n_node_samples), one.tree_.compute_node_depths()) for one in trees]
    lengths, depths = zip(*paths)
    return {"estimator_": like, "estimators_": trees, "estimators_features_": list(columns), "_average_path_length_per_tree": lengths,
            "_decision_path_lengths": depths, "max_samples_": max_samples, "_max_samples": max_samples, "_max_features": columns.shape[1],
            "offset_": float(answer.fitted["offset_"]), "_n_samples": answer.table.n_rows, "_sample_weight": None, "_seeds": seeds}


# ------------------------------------------------------------------ HistGradientBoosting

def check_hist(estimator: Any) -> None:
    """Raises Stays."""
    if estimator.categorical_features is not None and not (isinstance(estimator.categorical_features, str) and estimator.categorical_features == "from_dtype"):
        raise Stays(f"{type(estimator).__name__}: categorical_features names columns")


def hist(answer: Answer) -> Fitted:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    estimator, n_features, found = answer.estimator, answer.table.n_columns, dict(answer.model.members())
    n_outputs = int(answer.fitted["n_trees_per_iteration_"])
    offset, feature = np.asarray(found["tree_offset"], np.int64), np.asarray(found["feature"], np.int64)
    n, is_leaf, left, threshold = len(feature), feature < 0, np.asarray(found["left"], np.int64), np.asarray(found["threshold"], np.float64)
    starts = np.repeat(offset[:-1], np.diff(offset))
    ends = np.repeat(offset[1:], np.diff(offset))
    inner = np.flatnonzero(~is_leaf)
    if offset[-1] != n or (feature >= n_features).any() or (left[inner] <= inner).any() or (left[inner] + 1 >= ends[inner]).any():
        raise KedgeError("BAD_DATA", "the model's trees are none", "left")
    nodes = np.zeros(n, PREDICTOR_RECORD_DTYPE)
    depth = np.zeros(n, np.int64)
    for i in inner.tolist():   # children are behind their parents
        depth[left[i]] = depth[left[i] + 1] = depth[i] + 1
    nodes["value"], nodes["count"], nodes["depth"] = found["value"], found["n_rows"], depth
    nodes["is_leaf"], nodes["gain"] = is_leaf, np.where(is_leaf, -1.0, found["gain"])
    nodes["feature_idx"][inner], nodes["num_threshold"][inner] = feature[inner], threshold[inner]
    nodes["missing_go_to_left"][inner] = np.asarray(found["missing_left"])[inner]
    nodes["left"][inner], nodes["right"][inner] = left[inner] - starts[inner], left[inner] + 1 - starts[inner]
    cuts = [np.unique(threshold[inner[feature[inner] == column]]) for column in range(n_features)]
    for column, values in enumerate(cuts):
        of = inner[feature[inner] == column]
        nodes["bin_threshold"][of] = np.searchsorted(values, threshold[of])
    none = np.zeros((0, 8), np.uint32)
    trees = [TreePredictor(nodes[begin:end].copy(), none, none) for begin, end in zip(offset[:-1].tolist(), offset[1:].tolist())]
    mapper = _BinMapper(n_bins=estimator.max_bins + 1, is_categorical=None, known_categories=None, random_state=_seed_of(answer))
    # Bins that end where the trees cut: all that the trees can tell apart.
    vars(mapper).update(bin_thresholds_=[values[np.isfinite(values)] for values in cuts], is_categorical_=np.zeros(n_features, np.uint8),
                        n_bins_non_missing_=np.array([np.isfinite(values).sum() + 1 for values in cuts], np.uint32), missing_values_bin_idx_=estimator.max_bins)
    made = clone(estimator)
    made.n_trees_per_iteration_ = n_outputs
    stops_early = bool(answer.fitted["do_early_stopping_"])
    more: Fitted = {"_n_features": n_features, "is_categorical_": None, "_preprocessor": None, "_is_categorical_remapped": None,
                    "_loss": made._get_loss(sample_weight=answer.plan.weights), "_baseline_prediction": np.asarray(found["baseline"], np.float64).reshape(1, -1),
                    "_predictors": [trees[i:i + n_outputs] for i in range(0, len(trees), n_outputs)], "_bin_mapper": mapper,
                    "_use_validation_data": stops_early and estimator.validation_fraction is not None, "_scorer": None, "_random_seed": np.uint64(_seed_of(answer)),
                    "_feature_subsample_rng": np.random.default_rng(_seed_of(answer))}
    if answer.plan.weights is not None:
        more["_fitted_with_sw"] = True
    if answer.classes is not None:
        from sklearn.preprocessing import LabelEncoder
        more["_label_encoder"] = LabelEncoder().fit(answer.classes)
    return more
