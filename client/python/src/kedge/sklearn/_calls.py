"""The functions of sklearn.model_selection, and fit, with a server behind them."""
from __future__ import annotations

from typing import Any, TypeVar

import sklearn.model_selection
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from ..session import Session
from ._decide import Call, Settings, Stays
from ._hook import calling, hook
from ._jobs import OnEvent, size_of
from ._kinds import BY_PARTS, LOCAL

T = TypeVar("T")


def call(settings: Settings, name: str, *arguments: Any, **named: Any) -> Any:
    """A function of sklearn.model_selection, whose batches go to the server."""
    with calling(Call(settings, with_fits=False)):
        return getattr(sklearn.model_selection, name)(*arguments, **named)


def cross_validate(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_validate, as one job. more: its other arguments. session: else kedge.connect(); fallback: what happens
    where the server cannot do it: "warn" and "silent" run it here, "raise" raises KedgeError."""
    return call(Settings.of(session, fallback=fallback), "cross_validate", estimator, X, y, **more)


def cross_val_score(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_val_score, as one job; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "cross_val_score", estimator, X, y, **more)


def cross_val_predict(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.cross_val_predict, with a job for each fold; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "cross_val_predict", estimator, X, y, **more)


def validation_curve(estimator: Any, X: Any, y: Any, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.validation_curve, as one job; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "validation_curve", estimator, X, y, **more)


def learning_curve(estimator: Any, X: Any, y: Any, *, session: Session | None = None, fallback: str = "warn", **more: Any) -> Any:
    """sklearn.model_selection.learning_curve, with a job for each fold and size; arguments as of cross_validate."""
    return call(Settings.of(session, fallback=fallback), "learning_curve", estimator, X, y, **more)


def fit(estimator: T, X: Any, y: Any = None, *, session: Session | None = None, fallback: str = "warn", on_event: OnEvent | None = None, **more: Any) -> T:
    """estimator.fit(X, y), and the estimator. A search evaluates its candidates as one job; then it refits the best one. A pipeline is
    fitted step by step. session, fallback: as of cross_validate. on_event(event) gets each event of the jobs as it comes, such as
    {"progress": {"unit": "epochs", "done": 7, "total": 200, ...}} of a network; what it raises cancels the job."""
    name = type(estimator).__name__
    is_single = not isinstance(estimator, (BaseSearchCV, Pipeline)) and LOCAL.get(name) != BY_PARTS
    settings = Settings.of(session, fallback=fallback, policy="always" if is_single else "auto", on_event=on_event)
    with calling(Call(settings, estimator=estimator)):
        if is_single and not hook.wraps(type(estimator)):
            settings.kept(f"{name}.fit", size_of(X), Stays(LOCAL.get(name, f"the server has no {name}")))
        estimator.fit(X, y, **more)   # type: ignore[attr-defined]
    return estimator
