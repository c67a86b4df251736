"""A fit as a job, and what comes back of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Dataset
from ..model import Model
from ..session import Session
from ._describe import Step
from ._table import Table, Target

Fitted = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A fit as a job. target: of a supervised estimator."""

    table: Table
    target: Target | None
    weights: Any
    pipeline: list[Step]
    y: Any = None             # as it was given
    is_column: bool = False   # y was given as one, which forests take for what it holds

    def dataset(self, session: Session) -> Dataset:
        values = np.zeros(self.table.n_rows, np.float32) if self.target is None else self.target.values   # every data set has a target
        return self.table.dataset(session, values, weights=self.weights)


@dataclass(frozen=True)
class Answer:
    """What there is to fill an estimator from. model: what the job has stored, while the attributes are read."""

    estimator: Any
    fitted: Fitted
    plan: Plan
    model: Model

    @property
    def table(self) -> Table:
        return self.plan.table

    @property
    def X(self) -> Any:
        return self.table.matrix if self.table.sparse is None else self.table.sparse

    @property
    def classes(self) -> np.ndarray[Any, Any] | None:
        return self.plan.target.classes if self.plan.target is not None else None
