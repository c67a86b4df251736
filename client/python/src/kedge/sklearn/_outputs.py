"""MultiOutputClassifier and MultiOutputRegressor: one job fits all columns of y, and each of their estimators is filled from its part of the model."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

from ..errors import KedgeError
from . import _by_column
from ._answer import Answer, Fitted, Plan, Stored
from ._decide import Remote, Stays
from ._describe import Describer, Seeds, is_pipeline, leaves
from ._table import Target, Targets, weights_of
from ._words import warn_of_parameters

NAMES = frozenset({"MultiOutputClassifier", "MultiOutputRegressor"})
FIRST = ("classes", "n_features", "width")   # members with which the part of a column begins
Members = list[tuple[str, Any]]


def fits_columns(estimator: Any) -> bool:
    """Whether it, or the last step of it, fits each column of y."""
    return any(type(leaf).__name__ in NAMES for leaf in leaves(estimator)[-1:])


def target_of(estimator: Any, y: Any) -> Target | Targets:
    """y as the job of an estimator has it. Raises Stays."""
    if _by_column.is_column(estimator, y):
        return _by_column.column_of(y)
    return (Targets if fits_columns(estimator) else Target)(y, is_classifier(estimator))


def plan_of(plan: Callable[..., Plan], remote: Remote, estimator: Any, X: Any, y: Any, sample_weight: Any) -> Plan:
    """plan: makes that of a single estimator. Raises Stays for what cannot be one job."""
    if is_classifier(estimator.estimator) != is_classifier(estimator):
        raise Stays(f"{type(estimator).__name__}: estimator is a {type(estimator.estimator).__name__}")
    if is_pipeline(estimator.estimator):
        raise Stays("its estimator is a Pipeline, whose steps come back one by one")
    if sample_weight is not None and not has_fit_parameter(estimator.estimator, "sample_weight"):
        raise Stays(f"{type(estimator.estimator).__name__} takes no sample_weight")
    target = Targets(y, is_classifier(estimator))
    if is_classifier(estimator):
        try:
            check_classification_targets(np.asarray(y))
        except ValueError as error:
            raise Stays(f"scikit-learn refuses y: {error}") from None
    base = clone(estimator.estimator)
    whole = plan(remote, base, X, np.asarray(y)[:, 0], sample_weight)   # which says why it would stay
    steps = Describer(remote, whole.table, Seeds(advances=False)).pipeline(estimator)
    described = steps[0]["params"]["estimator"]
    if "random_state" in described.get("params", {}):
        base.set_params(random_state=described["params"]["random_state"])
    plans = [plan(remote, base, X, column, sample_weight).of_table(whole.table) for column in np.asarray(y).T]
    return Plan(whole.table, target, weights_of(sample_weight), steps, y, outputs=plans)


class _Part:
    """Of a stored model what belongs to one column. In the place of a Model."""

    def __init__(self, members: Members) -> None:
        self._members = members

    def members(self) -> Members:
        return self._members


def _parts(model: Stored, n: int) -> list[_Part]:
    """As single estimators have them. Raises KedgeError (BAD_DATA) where there is not one for each column."""
    members = model.members()
    names = [name for name, _ in members]
    begins = [i for i in range(len(names)) if tuple(names[i:i + len(FIRST)]) == FIRST]
    if len(begins) != n:
        raise KedgeError("BAD_DATA", f"the model has estimators of {len(begins)} targets, y has {n} columns", "members")
    ends = [*begins[1:], len(members)]
    return [_Part([members[begin + 1], *members[begin + len(FIRST):end]]) for begin, end in zip(begins, ends)]


def filled(answer: Answer, attributes_of: Callable[[Answer], Fitted]) -> Fitted:
    """attributes_of: of a single estimator."""
    plans, fitted = answer.plan.outputs, answer.fitted.pop("estimators_")
    answer.fitted.pop("classes_", None)
    estimators = []
    for plan, one, part in zip(plans, fitted, _parts(answer.model, len(plans)), strict=True):
        estimator = clone(answer.estimator.estimator)
        vars(estimator).update(attributes_of(Answer(estimator, one, plan, part)))
        warn_of_parameters(estimator)
        estimators.append(estimator)
    return {"estimators_": estimators, **({"classes_": [one.classes_ for one in estimators]} if is_classifier(answer.estimator) else {})}
