"""The rows of folds, as the server's splitters choose them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ._decide import Stays

Array = np.ndarray[Any, Any]
# Of splitters that the server has, what they are made of and the fields of the task. Those that read groups go by the rows.
KNOWN = {
    "KFold": {"n_splits": "cv", "shuffle": "shuffle"},
    "StratifiedKFold": {"n_splits": "cv", "shuffle": "shuffle"},
    "RepeatedKFold": {"n_repeats": "nRepeats"},
    "RepeatedStratifiedKFold": {"n_repeats": "nRepeats"},
    "LeaveOneOut": {},
    "TimeSeriesSplit": {"n_splits": "cv", "gap": "gap", "max_train_size": "maxTrainSize", "test_size": "testSize"},
    "ShuffleSplit": {"n_splits": "cv", "train_size": "trainSize", "test_size": "testSize"},
    "StratifiedShuffleSplit": {"n_splits": "cv", "train_size": "trainSize", "test_size": "testSize"},
}


@dataclass(frozen=True)
class Cut:
    """Folds that one job can cut. rows: the table that it gets, in this order; None for all as they are. groups: that its splitter reads."""

    folds: list[int]
    fields: dict[str, Any]   # of crossValidate
    rows: Array | None = None
    groups: Array | None = None


def cuts_of(cv: Any, y: Any, folds: Sequence[tuple[Array, Array]], n_rows: int, has_groups: bool) -> list[Cut]:
    """A splitter that the server has goes by its name. Whatever cuts the rows into test folds, each against all others, goes as groups of which one
    is left out. Other folds go one by one. has_groups: whether a data set may have groups."""
    whole = list(range(len(folds)))
    if (named := _named(cv)) is not None and _are_of(cv, y, folds, n_rows):
        return [Cut(whole, named)]
    if has_groups and (groups := _groups(folds, n_rows)) is not None:
        return [Cut(whole, {"splitter": "LeaveOneGroupOut"}, groups=groups)]
    return _single(folds)


def _groups(folds: Sequence[tuple[Array, Array]], n_rows: int) -> Array | None:
    groups = np.full(n_rows, -1.0)
    for i, (train, test) in enumerate(folds):
        if (groups[test] >= 0).any() or len(train) + len(test) != n_rows or len(np.union1d(train, test)) != n_rows or (np.diff(train) <= 0).any():
            return None
        groups[test] = i
    return None if (groups < 0).any() or len(folds) < 2 else groups


def _single(folds: Sequence[tuple[Array, Array]]) -> list[Cut]:
    """Each fold as a ShuffleSplit of its own, on rows that are laid so that its draw finds them. Folds that test the same rows and train on the
    first ones of those that another trains on share a table."""
    laid: list[tuple[Array, Array, Array]] = []   # test, train, and the rows of both as they are laid
    cuts: dict[int, Cut] = {}
    for i in sorted(range(len(folds)), key=lambda i: -len(folds[i][0])):
        train, test = folds[i]
        rows = next((rows for other, longer, rows in laid if np.array_equal(other, test) and np.array_equal(longer[:len(train)], train)), None)
        if rows is None:
            if not len(train) or not len(test):
                raise Stays("a fold has no rows to train on, or none to test")
            drawn = np.random.RandomState(0).permutation(len(train) + len(test))   # of which the first ones are tested
            rows = np.empty(len(drawn), np.int64)
            rows[drawn] = np.concatenate([test, train])
            laid.append((test, train, rows))
        sizes = {"cv": 1, "testSize": len(test), "trainSize": len(train)}
        cuts[i] = Cut([i], {"splitter": "ShuffleSplit", **sizes, "randomState": 0}, rows)
    return [cuts[i] for i in range(len(folds))]


def _are_of(cv: Any, y: Any, folds: Sequence[tuple[Array, Array]], n_rows: int) -> bool:
    """Whether the splitter, asked again, gives these folds."""
    again = list(cv.split(np.zeros((n_rows, 1)), y))
    return len(again) == len(folds) and all(np.array_equal(a, b) for one, other in zip(again, folds) for a, b in zip(one, other))


def _named(cv: Any) -> dict[str, Any] | None:
    name = type(cv).__name__
    if name not in KNOWN or not type(cv).__module__.startswith("sklearn.model_selection."):
        return None
    is_random = getattr(cv, "shuffle", name.startswith(("Repeated", "Shuffle", "StratifiedShuffle")))
    if is_random and not isinstance(cv.random_state, Integral):
        return None
    fields = {"splitter": name, **{field: getattr(cv, member) for member, field in KNOWN[name].items() if getattr(cv, member) is not None}}
    if name.startswith("Repeated"):
        fields["cv"] = cv.cvargs["n_splits"]
    if name.endswith("ShuffleSplit") and not {"testSize", "trainSize"} & fields.keys():
        fields["testSize"] = cv._default_test_size
    return {**fields, "randomState": int(cv.random_state)} if is_random else fields
