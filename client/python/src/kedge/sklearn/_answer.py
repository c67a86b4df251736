"""A fit as a job, and what comes back of it."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..data import Dataset
from ..session import Session
from ._describe import Step
from ._table import Table, Target, Targets

Fitted = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A fit as a job. target: of a supervised estimator. outputs: of an estimator of several targets, what a fit to each alone would be."""

    table: Table
    target: Target | Targets | None
    weights: Any
    pipeline: list[Step]
    y: Any = None             # as it was given
    is_column: bool = False   # y was given as one, which forests take for what it holds
    outputs: list[Plan] = dataclasses.field(default_factory=list)
    is_split: bool = False    # each of the outputs is a job of its own

    def of_table(self, table: Table) -> Plan:
        """This, which keeps no copy of X of its own."""
        return dataclasses.replace(self, table=table)

    def dataset(self, session: Session) -> Dataset:
        values = np.zeros(self.table.n_rows, np.float32) if self.target is None else self.target.values   # every data set has a target
        return self.table.dataset(session, values, weights=self.weights)


class Stored(Protocol):
    """A stored model, or a part of it."""

    def members(self) -> list[tuple[str, Any]]: ...


@dataclass(frozen=True)
class Answer:
    """What there is to fill an estimator from. model: what the job has stored, while the attributes are read."""

    estimator: Any
    fitted: Fitted
    plan: Plan
    model: Stored

    @property
    def table(self) -> Table:
        return self.plan.table

    @property
    def X(self) -> Any:
        return self.table.matrix if self.table.sparse is None else self.table.sparse

    @property
    def classes(self) -> np.ndarray[Any, Any] | None:
        """Of a classifier of one target."""
        return self.plan.target.classes if self.plan.target is not None else None
