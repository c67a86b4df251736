"""Pipelines as the server reads them, from this package's estimators, from scikit-learn's, or from plain descriptions."""
from __future__ import annotations

import inspect
import math
from typing import Any

from .errors import KedgeError


class Estimator:
    """One step: the name of an estimator and the parameters that were set. The classes of kedge.estimators derive from it."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.params.items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Estimator) and self.params == other.params

    __hash__ = None  # type: ignore[assignment]


def pipeline_of(steps: Any) -> list[dict[str, Any]]:
    """One estimator, a list of them, (name, estimator) pairs, or a scikit-learn Pipeline."""
    if hasattr(steps, "steps") and hasattr(steps, "get_params"):
        steps = steps.steps
    return [step_of(step) for step in (steps if isinstance(steps, (list, tuple)) and not _is_named(steps) else [steps])]


def _is_named(step: Any) -> bool:
    return isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)


def step_of(step: Any) -> dict[str, Any]:
    if _is_named(step):
        return {"name": step[0], **step_of(step[1])}
    if isinstance(step, dict):
        return step
    if isinstance(step, str):
        return {"estimator": step}
    if isinstance(step, Estimator):
        return _described(type(step).__name__, step.params)
    if hasattr(step, "get_params") and not isinstance(step, type):
        return _described(type(step).__name__, _changed(step))
    raise KedgeError("INVALID_VALUE", f"a step is {step!r}, must be an estimator, its name, or a description", "pipeline")


def _described(name: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"estimator": name, **({"params": {key: value_of(value) for key, value in params.items()}} if params else {})}


def _changed(estimator: Any) -> dict[str, Any]:
    """Of a scikit-learn estimator, what is not its default: the server has the same defaults."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(estimator).__init__).parameters.items()}
    params: dict[str, Any] = estimator.get_params(deep=False)
    return {name: value for name, value in params.items() if not _is_same(value, defaults.get(name, inspect.Parameter.empty))}


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default or value != value and default != default)
    except (TypeError, ValueError):   # an array
        return False


def value_of(value: Any) -> Any:
    """A parameter as JSON has it; estimators within others become steps."""
    if isinstance(value, Estimator) or (hasattr(value, "get_params") and not isinstance(value, type)):
        return pipeline_of(value) if hasattr(value, "steps") else step_of(value)
    if isinstance(value, dict):
        return {str(key): value_of(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [value_of(inner) for inner in value]
    if hasattr(value, "tolist"):   # numpy
        return value_of(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise KedgeError("INVALID_VALUE", f"{value!r} cannot be sent: a parameter is a number, a text, a list, a mapping or an estimator", "pipeline")


def grid_of(value: Any) -> Any:
    """The candidates of a search, in which estimators may stand, too."""
    return value_of(value)
