"""Fills of what replaces cells of a table: an encoder of categories, an imputer."""
from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from ._answer import Answer, Fitted
from ._decide import Stays
from ._describe import Step
from ._table import Table, Target, texts_in

Array = np.ndarray[Any, Any]

# ------------------------------------------------------------------ TargetEncoder

OF_LABELS = ("binary", "multiclass")
DRAWS = ("cv", "shuffle", "random_state")   # of fit_transform() alone


def encoded_target(estimator: Any, y: Any) -> Target:
    """Raises Stays for a y that the encoder does not take."""
    if y is None:
        raise Stays("there is no y")
    kind = estimator.target_type
    if kind == "auto":
        kind = type_of_target(y)
    if kind not in ("continuous", *OF_LABELS):
        raise Stays(f"TargetEncoder: y is {kind}")
    target = Target(y, kind in OF_LABELS)
    if target.classes is not None and (len(target.classes) <= 2) != (kind == "binary"):
        raise Stays(f"TargetEncoder: target_type is {kind}, and y has {len(target.classes)} classes")
    return target


def check_target_encoder(estimator: Any, table: Table) -> None:
    """Raises Stays."""
    if not isinstance(estimator.categories, str):
        raise Stays("TargetEncoder: rows of categories that the given ones lack count in the first to scikit-learn, and in none to the server")
    if table.texts and table.has_nan:
        raise Stays("X holds texts and missing values, and None and NaN are one category to the server")


def encoder_step(step: Step, target: Target | None) -> Step:
    """The kind of the target, and nothing of the folds: the encoding of all rows has none."""
    classes = None if target is None else target.classes
    kind = "continuous" if classes is None else "binary" if len(classes) <= 2 else "multiclass"
    params = {name: value for name, value in step.get("params", {}).items() if name not in DRAWS}
    return {**step, "params": {**params, "target_type": kind}}


def target_encoder(answer: Answer) -> Fitted:
    estimator, fitted, table = answer.estimator, answer.fitted, answer.table
    estimator._check_infrequent_enabled()
    fitted.pop("feature_names_in_", None)   # which columns without names have there
    mean = fitted.pop("target_mean_")
    return {"categories_": [_categories(table, place, column) for place, column in enumerate(fitted.pop("categories_"))],
            "encodings_": [np.asarray(one, np.float64) for one in fitted.pop("encodings_")],
            "target_mean_": np.asarray(mean, np.float64) if isinstance(mean, list) else np.float64(mean), "classes_": answer.classes}


def _categories(table: Table, place: int, found: list[Any]) -> Array:
    """Of a column, in its own type. Texts went as codes in their order."""
    if place in table.texts:
        return np.array(texts_in(table.columns[place]), object)
    dtype = table.matrix.dtype if table.matrix is not None else table.columns[place].dtype
    return np.array([np.nan if one is None else one for one in found], np.float64).astype(dtype)


# ------------------------------------------------------------------ IterativeImputer


def check_iterative_imputer(estimator: Any) -> None:
    """Raises Stays."""
    if estimator.estimator is not None:
        raise Stays(f"IterativeImputer: estimator is {type(estimator.estimator).__name__}, the server has BayesianRidge with its defaults")
    if estimator.sample_posterior:
        raise Stays("IterativeImputer: the server does not draw, which sample_posterior wants")


def iterative_imputer(answer: Answer) -> Fitted:
    """The first filling is scikit-learn's own here, one pass over X; the regressions of all rounds are the server's. They know what predicts: no variances."""
    estimator, n_rounds = answer.estimator, int(answer.fitted["n_iter_"])
    estimator.initial_imputer_ = None
    X, filled, mask, complete_mask = estimator._initial_imputation(np.array(answer.X, np.float64), in_fit=True)
    estimator._fit_indicator(complete_mask)
    n_with_missing = answer.fitted.pop("n_features_with_missing_")
    answer.fitted.pop("indicator_", None)
    found: Fitted = {"random_state_": check_random_state(estimator.random_state), "_estimator": BayesianRidge(), "imputation_sequence_": [],
                     "n_iter_": n_rounds}
    if n_rounds == 0:
        return found
    limits = {f"_{end}_value": _limit(estimator, end, answer.table.n_columns, filled.shape[1]) for end in ("min", "max")}
    return {**found, **limits, "n_features_with_missing_": n_with_missing, "imputation_sequence_": _sequence(answer, filled.shape[1])}


def _limit(estimator: Any, end: str, n_columns: int, n_kept: int) -> Array:
    """Of each column that comes out."""
    given = getattr(estimator, f"{end}_value")
    if given is None:
        given = np.inf if end == "max" else -np.inf
    limits = np.array(np.broadcast_to(np.asarray(given), n_columns))
    return limits if n_kept == n_columns else limits[~estimator._is_empty_feature]


def _sequence(answer: Answer, n_kept: int) -> list[Any]:
    from sklearn.impute._iterative import _ImputerTriplet

    members = answer.model.members()
    columns, intercepts, coefs = ([np.asarray(value, np.float64) for name, value in members if name == wanted] for wanted in ("column", "intercept", "coef"))
    takes_all = answer.estimator.n_nearest_features is None or answer.estimator.n_nearest_features >= n_kept
    base, sequence = BayesianRidge(), []
    for column, intercept, coef in zip(columns, intercepts, coefs, strict=True):
        place = int(column)
        neighbours = np.delete(np.arange(n_kept), place) if takes_all else np.flatnonzero(coef)
        one = clone(base)
        vars(one).update(coef_=coef[neighbours], intercept_=np.float64(intercept), n_features_in_=len(neighbours))
        sequence.append(_ImputerTriplet(place, neighbours, one))
    return sequence
