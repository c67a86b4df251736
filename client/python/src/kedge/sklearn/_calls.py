"""The functions of sklearn.model_selection, and fit, with a server behind them."""
from __future__ import annotations

import inspect
from typing import Any, TypeVar

import sklearn.model_selection
from sklearn.model_selection._search import BaseSearchCV

from ..session import Session
from ._batch import Call, calling
from ._decide import Settings

T = TypeVar("T")


def call(settings: Settings, name: str, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function of sklearn.model_selection, whose batches go to the server."""
    try:
        cv = inspect.signature(function).bind(*arguments, **named).arguments.get("cv")
    except TypeError:   # which the function will say
        cv = None
    with calling(Call(settings, name, cv)):
        return function(*arguments, **named)


def cross_validate(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_validate, as one job. more: its other arguments. session: else kedge.connect(); fallback: what happens
    where the server cannot do it: "warn" and "silent" run it here, "raise" raises KedgeError."""
    return call(Settings.of(session, fallback=fallback), "cross_validate", sklearn.model_selection.cross_validate, (estimator, X, y), more)


def cross_val_score(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_val_score, as one job; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "cross_val_score", sklearn.model_selection.cross_val_score, (estimator, X, y), more)


def cross_val_predict(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_val_predict, with a job for each fold; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "cross_val_predict", sklearn.model_selection.cross_val_predict, (estimator, X, y), more)


def validation_curve(estimator: Any, X: Any, y: Any, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.validation_curve, as one job; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "validation_curve", sklearn.model_selection.validation_curve, (estimator, X, y), more)


def fit(estimator: T, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> T:
    """estimator.fit(X, y), and the estimator. A search evaluates its candidates as one job; then it refits the best one. session, fallback: as of
    cross_validate."""
    settings = Settings.of(session, fallback=fallback)
    if isinstance(estimator, BaseSearchCV):
        with calling(Call(settings, type(estimator).__name__, estimator.cv)):
            estimator.fit(X, y, **more)
    else:
        estimator.fit(X, y, **more)   # type: ignore[attr-defined]
    return estimator
