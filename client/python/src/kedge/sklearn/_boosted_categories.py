"""Columns of categories of HistGradientBoosting as the server keeps them: categories of each column, and for each cut the set of those that go left."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BYTES = 32   # of a set: bit c % 8 of byte c / 8 is category c


class Categories:
    """Of a fitted model. columns: in the order in which its trees count them, which has those of categories first."""

    def __init__(self, model: Any) -> None:
        mask = getattr(model, "is_categorical_", None)
        self.mask = np.zeros(model.n_features_in_, bool) if mask is None else np.asarray(mask, bool)
        self.columns = np.concatenate([np.flatnonzero(self.mask), np.flatnonzero(~self.mask)])
        self._known: dict[int, Array] = {}
        if self.mask.any():
            encoder = model._preprocessor.named_transformers_["encoder"]
            self._known = {int(column): _present(known) for column, known in zip(np.flatnonzero(self.mask), encoder.categories_)}

    def names(self, column: int) -> list[str] | None:
        """Of a column of texts."""
        known = self._known.get(column)
        return None if known is None or known.dtype.kind not in "OUT" else [str(one) for one in known]

    def values(self, column: int) -> Array:
        """What a cell of the column holds, ascending: a text is its place."""
        known = self._known.get(column, np.empty(0))
        return np.arange(float(len(known))) if self.names(column) is not None else known.astype(np.float64)


def _present(known: Array) -> Array:
    """Without the missing one, which is the last."""
    return known[:-1] if len(known) and (known[-1] is None or known[-1] != known[-1]) else known


def sets_of(predictors: list[Any]) -> tuple[Array, list[int]]:
    """The sets of all trees, a line each, and where those of each tree begin."""
    sets = [np.ascontiguousarray(one.raw_left_cat_bitsets, "<u4").reshape(-1, BYTES // 4).view(np.uint8).reshape(-1, BYTES) for one in predictors]
    return np.concatenate(sets), np.concatenate([[0], np.cumsum([len(one) for one in sets])])[:-1].tolist()
