"""X as texts, one a row: what CountVectorizer and its kin take. They go as a column of a CSV file, which is as long as the texts are."""
from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data import Upload
from ._decide import Stays

Array = np.ndarray[Any, Any]
VECTORIZERS = frozenset({"CountVectorizer", "TfidfVectorizer", "HashingVectorizer"})
TEXT = "text"
ROWS = 4096   # of a piece


def documents_of(X: Any) -> Array | None:
    """The texts, or None where X is something else. Raises Stays for texts that a CSV file does not hold."""
    is_series = type(X).__module__.split(".")[0] in ("pandas", "polars") and getattr(X, "ndim", 1) == 1 and not hasattr(X, "columns")
    if isinstance(X, np.ndarray):
        if X.ndim != 1 or X.dtype.kind not in "OU":
            return None
    elif not (is_series or isinstance(X, (list, tuple))):
        return None
    values = list(X)
    if not values or not all(isinstance(value, str) for value in values):
        return None
    texts = np.empty(len(values), object)
    texts[:] = values
    if any("\0" in text for text in values):
        raise Stays("a text of X holds the character U+0000")
    try:
        for text in values:
            text.encode()
    except UnicodeEncodeError:
        raise Stays("a text of X is no Unicode text") from None
    return texts


def upload_of(texts: Array, roles: dict[str, Array | None]) -> Upload:
    """roles: numbers for each row, by what they are: y, groups, sample_weight."""
    given = {name: [repr(value) for value in np.asarray(values, np.float64).tolist()] for name, values in roles.items() if values is not None}

    def pieces() -> Iterator[bytes]:
        yield (",".join([TEXT, *given]) + "\n").encode()
        for begin in range(0, len(texts), ROWS):
            file = io.StringIO()
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows(zip(texts[begin:begin + ROWS], *(column[begin:begin + ROWS] for column in given.values())))
            yield file.getvalue().encode()
    names = {"target": "y", "groups": "groups", "weights": "sample_weight"}
    selection: dict[str, Any] = {"columns": [TEXT], "types": {TEXT: "category"}, "keep_default_na": False}
    selection |= {role: name for role, name in names.items() if name in given}
    return Upload("csv", sum(len(piece) for piece in pieces()), pieces, selection)
