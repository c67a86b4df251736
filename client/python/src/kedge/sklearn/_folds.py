"""The rows of folds, as the server's splitters choose them."""
from __future__ import annotations

from collections.abc import Sequence
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


def fields_of(cv: Any, y: Any, folds: Sequence[tuple[Array, Array]], n_rows: int) -> tuple[dict[str, Any], Array | None]:
    """Fields of crossValidate, and the groups that they need. A splitter that the server has goes by its name. Whatever cuts the rows into test
    folds, each against all others, goes as groups of which one is left out."""
    if (named := _named(cv)) is not None and _are_of(cv, y, folds, n_rows):
        return named, None
    groups = np.full(n_rows, -1.0)
    for i, (train, test) in enumerate(folds):
        if (groups[test] >= 0).any() or len(train) + len(test) != n_rows or len(np.union1d(train, test)) != n_rows or (np.diff(train) <= 0).any():
            raise Stays(f"the folds of {type(cv).__name__} cannot be told to the server: they do not cut the rows into parts")
        groups[test] = i
    if (groups < 0).any() or len(folds) < 2:
        raise Stays(f"the folds of {type(cv).__name__} cannot be told to the server: they leave rows out")
    return {"splitter": "LeaveOneGroupOut"}, groups


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
