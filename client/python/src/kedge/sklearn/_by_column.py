"""Estimators that take y of several columns by themselves and fit each column by itself: one job of a MultiOutputRegressor, whose answers become one object."""
from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import type_of_target

from ..errors import KedgeError
from ._answer import Answer, Fitted, Plan
from ._decide import FitsAlone, Remote, Stays
from ._describe import RELEASE, is_pipeline
from ._table import Target, Targets

Array = np.ndarray[Any, Any]
NAMES = frozenset({"LinearRegression", "Ridge", "RidgeCV", "RidgeClassifier", "Lasso", "ElasticNet", "Lars", "LassoLars", "OrthogonalMatchingPursuit", "KernelRidge",
                   "PLSRegression"})
LISTED = frozenset({"n_iter_", "alphas_", "active_", "coef_path_"})   # which hold what each column has, in a list
ROWS = frozenset({"dual_gap_", "alpha_", "best_score_"})   # a number for each column
COLUMNS = {"dual_coef_": 1, "cv_results_": 1, "cv_values_": 1}        # the axis on which the columns lie side by side


def _width(y: Any) -> int:
    """The number of columns of a table, or 0."""
    if hasattr(y, "tocsr"):
        return 0
    try:
        shape = np.asarray(y).shape
    except ValueError:   # lines of different lengths
        return 0
    return shape[1] if len(shape) == 2 else 0


def takes(estimator: Any, y: Any) -> bool:
    """Whether it is one of these, and y a table. A RidgeClassifier takes one column for labels."""
    name = type(estimator).__name__
    return name in NAMES and _width(y) > (1 if name == "RidgeClassifier" else 0)


def is_column(estimator: Any, y: Any) -> bool:
    """Whether y is one column that the estimator, or the last step of it, takes for what it holds."""
    return takes(_last(estimator), y) and _width(y) == 1


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if is_pipeline(estimator) else estimator


def _check(estimator: Any, values: Array) -> None:
    """Raises Stays where scikit-learn refuses a parameter, and where one column has a part in what is fitted to another."""
    try:
        estimator._validate_params()
    except ValueError as error:
        raise Stays(f"scikit-learn refuses it: {error}") from None
    name, n_targets = type(estimator).__name__, values.shape[1]
    if name == "LinearRegression" and not estimator.copy_X:
        raise Stays("LinearRegression: copy_X is False, so that scikit-learn's fit leaves X centred")
    if name == "RidgeClassifier" and (kind := type_of_target(values)) != "multilabel-indicator":
        raise Stays(f"y is {kind}")
    if name == "RidgeClassifier" and estimator.class_weight is not None:
        raise Stays("RidgeClassifier: class_weight weighs a row by all columns of y")
    if name == "RidgeCV" and estimator.alpha_per_target and estimator.cv is not None:
        raise Stays("RidgeCV: scikit-learn refuses alpha_per_target with cv")
    if n_targets == 1:
        return
    if name == "RidgeCV" and not estimator.alpha_per_target:
        raise Stays("RidgeCV: alpha_per_target is False, so that one alpha is chosen for all columns of y")
    if name == "PLSRegression":
        raise Stays("PLSRegression: its directions are those of all columns of y at once, and the server's are those of one")
    if getattr(estimator, "jitter", None) is not None:
        raise Stays(f"{name}: jitter draws numbers for all columns of y")


def _alphas(estimator: Any, n_targets: int) -> Array | None:
    """Penalties, where each column has its own."""
    alpha = getattr(estimator, "alpha", None)
    if alpha is None or np.ndim(alpha) == 0:
        return None
    alphas = np.ravel(alpha)
    if len(alphas) not in (1, n_targets):
        raise Stays(f"alpha has {len(alphas)} numbers, y has {n_targets} columns")
    return np.broadcast_to(alphas, n_targets)


def _single(estimator: Any, alpha: Any = None) -> Any:
    """What a column of numbers is fitted by."""
    if type(estimator).__name__ == "RidgeClassifier":
        found = Ridge(**{name: value for name, value in estimator.get_params(deep=False).items() if name != "class_weight"})
    else:
        found = copy.copy(estimator)   # with the generator of random_state, which a fit advances
    if alpha is not None:
        found.alpha = float(alpha)
    return found


def plan_of(plan: Callable[..., Plan], remote: Remote, estimator: Any, X: Any, y: Any, sample_weight: Any) -> Plan:
    """plan: makes that of a single column. Raises Stays for what cannot be fitted by column."""
    values = np.asarray(y)
    n_targets = values.shape[1]
    _check(estimator, values)
    if type(estimator).__name__ == "RidgeClassifier":
        values = LabelBinarizer(pos_label=1, neg_label=-1).fit_transform(values)
    alphas = _alphas(estimator, n_targets)
    whole = plan(remote, _single(estimator, None if alphas is None else alphas[0]), X, values[:, 0], sample_weight)   # which says why it would stay
    if n_targets == 1:
        return dataclasses.replace(whole, y=y, outputs=[whole])
    if type(estimator).__name__ == "OrthogonalMatchingPursuit" and whole.table.n_columns == 1:
        raise Stays("OrthogonalMatchingPursuit: X has one column, of which scikit-learn makes coefficients of another shape")
    target = Targets(values, False)
    columns = [dataclasses.replace(whole, target=one, y=column) for one, column in zip(target.columns, values.T)]
    step = {name: value for name, value in whole.pipeline[0].items() if name != "name"}
    if alphas is not None and (alphas != alphas[0]).any():   # one job cannot have several penalties
        own = [{**step, "params": {**step.get("params", {}), "alpha": float(alpha)}} for alpha in alphas]
        return dataclasses.replace(whole, y=y, outputs=[dataclasses.replace(one, pipeline=[{"name": "estimator", **of_one}]) for one, of_one in zip(columns, own)],
                                   is_split=True)
    if "MultiOutputRegressor" not in remote.estimators:
        raise Stays("the server has no MultiOutputRegressor")
    steps = [{"name": "estimator", "estimator": "MultiOutputRegressor", "params": {"estimator": step}}]
    return dataclasses.replace(whole, target=target, pipeline=steps, y=y, outputs=columns)


def filled(answer: Answer, attributes_of: Callable[[Answer], Fitted]) -> Fitted:
    """attributes_of: of a single column."""
    estimator, plans = answer.estimator, answer.plan.outputs
    given = [answer.fitted] if len(plans) == 1 else answer.fitted["estimators_"]
    if len(given) != len(plans):
        raise KedgeError("BAD_DATA", f"the model has estimators of {len(given)} targets, y has {len(plans)} columns", "fitted")
    columns = [attributes_of(Answer(_single(estimator), one, plan, answer.model)) for one, plan in zip(given, plans)]
    found = {name: _joined(estimator, name, [one[name] for one in columns]) for name in columns[0]}
    if type(estimator).__name__ == "RidgeClassifier":
        found["_label_binarizer"] = LabelBinarizer(pos_label=1, neg_label=-1).fit(np.asarray(answer.plan.y))
        if not isinstance(getattr(type(estimator), "classes_", None), property):
            found["classes_"] = found["_label_binarizer"].classes_
    return found


def _joined(estimator: Any, name: str, parts: list[Any]) -> Any:
    """An attribute as scikit-learn has it of all columns."""
    if name == "intercept_":   # a number, where there is none
        return np.ravel(parts) if getattr(estimator, "fit_intercept", True) else 0.0
    if name in COLUMNS:
        return np.stack(parts, axis=COLUMNS[name])
    if name == "best_score_" and estimator.alpha_per_target:
        return np.stack(parts)
    if len(parts) == 1:
        return _of_one(estimator, name, parts[0])
    if name == "n_iter_" and not isinstance(parts[0], int):   # of Ridge: None, or numbers of numpy
        return None if parts[0] is None else np.concatenate([np.atleast_1d(part) for part in parts])
    if name == "coef_":
        return np.stack([np.ravel(part) for part in parts])
    return list(parts) if name in LISTED else np.stack(parts) if name in ROWS else parts[0]


def _of_one(estimator: Any, name: str, part: Any) -> Any:
    owner = type(estimator).__name__
    if name == "coef_" and (owner == "LinearRegression" or owner in ("Ridge", "RidgeCV") and RELEASE < (1, 6)):
        return part.reshape(1, -1)
    return False if name == "_predict_1d" else part


# ------------------------------------------------------------------ searches and cross-validation

def in_columns(estimator: Any, y: Any) -> Any:
    """The estimator, the last step of it in a MultiOutput… of its kind where it takes y's columns by itself. Raises Stays and FitsAlone."""
    last = _last(estimator)
    if not takes(last, y) or _width(y) == 1:
        return estimator
    values = np.asarray(y)
    _check(last, values)
    if _alphas(last, values.shape[1]) is not None:
        raise FitsAlone("alpha has a number for each column of y")
    is_of_labels = type(last).__name__ == "RidgeClassifier"
    if is_of_labels and any(len(np.unique(column)) != 2 or column.min() != 0 or column.max() != 1 for column in values.T):
        raise FitsAlone("a column of y is not both zeros and ones")
    wrapped = (MultiOutputClassifier if is_of_labels else MultiOutputRegressor)(last)
    if not is_pipeline(estimator):
        return wrapped
    whole = copy.copy(estimator)
    whole.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], wrapped)]
    return whole


def column_of(y: Any) -> Target:
    """One column, as numbers."""
    return Target(np.ravel(np.asarray(y)), False)
