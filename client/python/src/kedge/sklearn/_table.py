"""X, y and groups as a data set of the server: numbers as they are, labels and texts as codes in their sorted order."""
from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.utils.multiclass import type_of_target

from .. import data
from .._columns import Column, numbers, of_codes
from .._npz import Member
from ..data import Dataset
from ..errors import KedgeError
from ..session import Session
from ._decide import Stays
from ._texts import documents_of
from ._texts import upload_of as upload_of_texts

Array = np.ndarray[Any, Any]


class Table:
    """What X holds. `names`: of its columns, or None; `size`: in bytes."""

    def __init__(self, X: Any) -> None:
        self.source = X
        self.names: list[Any] | None = None
        self.matrix: Array | None = None
        self.sparse: Any = None
        self.columns: list[Array] = []     # of a frame that is not all numbers
        self.texts: set[int] = set()       # which of them hold texts
        self.documents = documents_of(X)   # where X is texts, which vectorizers take
        if self.documents is not None:
            self.columns, self.texts = [self.documents], {0}
        elif hasattr(X, "tocsr"):
            self._take_sparse(X)
        elif hasattr(X, "columns") and hasattr(X, "shape"):
            self._take_frame(X)
        else:
            self._take_matrix(X)
        self.n_rows, self.n_columns = self.shape
        if not self.n_rows or not self.n_columns:
            raise Stays(f"X has {self.n_rows} rows and {self.n_columns} columns")
        whole = self.sparse.data if self.sparse is not None else self.matrix
        floats = [part for part in ([self.columns[i] for i in self._numbers()] if whole is None else [whole]) if part.dtype.kind == "f"]
        if any(np.isinf(part).any() for part in floats):
            raise Stays("X holds infinite values, which scikit-learn refuses")
        self.has_nan = any(np.isnan(part).any() for part in floats) or any(_is_missing(self.columns[i]).any() for i in self.texts)

    def _numbers(self) -> list[int]:
        return [i for i in range(len(self.columns)) if i not in self.texts]

    @property
    def shape(self) -> tuple[int, int]:
        if self.sparse is not None:
            return int(self.sparse.shape[0]), int(self.sparse.shape[1])
        if self.matrix is not None:
            return int(self.matrix.shape[0]), int(self.matrix.shape[1])
        return len(self.columns[0]), len(self.columns)

    @property
    def dtype(self) -> str:
        """In which the server computes: as scikit-learn does, in X's own precision."""
        values = self.sparse if self.sparse is not None else self.matrix
        return "float32" if values is not None and values.dtype == np.float32 else "float64"

    def as_float32(self) -> Table:
        """This, rounded. Raises Stays for what is beyond."""
        for name in ("sparse", "matrix"):
            if (values := getattr(self, name)) is not None:
                with np.errstate(over="ignore"):
                    setattr(self, name, values.astype(np.float32))
        rounded = self.matrix if self.sparse is None else self.sparse.data
        if rounded is not None and np.isinf(rounded).any():
            raise Stays("X holds values beyond float32, which scikit-learn refuses")
        return self

    def as_float64(self) -> Table:
        """This, in which the server computes in doubles."""
        for name in ("sparse", "matrix"):
            if (values := getattr(self, name)) is not None:
                setattr(self, name, values.astype(np.float64))
        return self

    def take(self, rows: Array) -> Table:
        """Some of the rows, in this order."""
        part = copy.copy(self)
        part.source, part.n_rows = None, len(rows)
        if self.sparse is not None:
            part.sparse = self.sparse[rows]
        elif self.matrix is not None:
            part.matrix = self.matrix[rows]
        else:
            part.columns = [column[rows] for column in self.columns]
            part.documents = None if self.documents is None else self.documents[rows]
        return part

    def _take_sparse(self, X: Any) -> None:
        self.sparse = X.tocsr()
        _check_numbers(self.sparse.data, "X")

    def _take_matrix(self, X: Any) -> None:
        try:
            table = np.asarray(X)
        except ValueError as error:   # rows of different lengths
            raise Stays(f"X is no table: {error}") from None
        if isinstance(X, np.ma.MaskedArray):
            raise Stays("X is a masked array")
        if table.ndim != 2:
            raise Stays(f"X has {table.ndim} dimensions")
        _check_numbers(table, "X")
        self.matrix = table

    def _take_frame(self, X: Any) -> None:
        self.names = list(X.columns)
        if len({str(name) for name in self.names}) < len(self.names):
            raise Stays("X has two columns of one name")
        self.columns = [np.asarray(X[name]) for name in self.names]
        if not self.columns:
            raise Stays("X has no columns")
        self.texts = {i for i, column in enumerate(self.columns) if _is_text(column, self.names[i])}
        for i in self._numbers():
            _check_numbers(self.columns[i], f"column '{self.names[i]}'")
        if not self.texts:
            self.matrix, self.columns = np.column_stack(self.columns), []

    def dataset(self, session: Session, y: Array, groups: Array | None = None, weights: Array | None = None) -> Dataset:
        """Uploads. y, groups and weights: numbers, one for each row; a y of several columns is that many targets."""
        if any(part is not None and len(part) != self.n_rows for part in (y, groups, weights)):
            raise Stays("X and y have different numbers of rows")
        if y.ndim == 2:
            return self._beside(y)._uploaded(session, {"groups": groups, "sample_weight": weights}).select(dtype=self.dtype, targets=self._names_behind(y.shape[1]))
        return self._uploaded(session, {"y": y, "groups": groups, "sample_weight": weights})

    def _beside(self, more: Array) -> Table:
        """With further columns, which are numbers."""
        whole = copy.copy(self)
        if self.documents is not None:
            raise Stays("X holds texts beside several targets")
        if self.sparse is not None:
            whole.sparse = hstack([self.sparse, csr_matrix(more)], format="csr")
        elif self.matrix is not None:
            whole.matrix = np.column_stack([self.matrix, more])
        else:
            whole.columns = [*self.columns, *more.T]
        return whole

    def _names_behind(self, n: int) -> list[str]:
        """What the server calls the columns behind those of X."""
        return [f"{'' if self.sparse is not None else 'x'}{self.n_columns + i}" for i in range(n)]

    def _uploaded(self, session: Session, extra: dict[str, Array | None]) -> Dataset:
        if self.documents is not None:
            return session.content(upload_of_texts(self.documents, extra)).select(dtype=self.dtype)
        whole = self.sparse if self.sparse is not None else self.matrix
        upload = data.upload_of(whole, **extra) if whole is not None else data.archive_of(self.n_rows, self._members(), **extra)
        return session.content(upload).select(dtype=self.dtype)

    def _members(self) -> list[Member]:
        """Of columns that are named by their place, so that no name has two meanings; texts go as codes, which are neither numbers nor missing."""
        found = [_codes(column) if i in self.texts else Column([column]) for i, column in enumerate(self.columns)]
        return [member for i, column in enumerate(found) for member in column.members(f"columns.{i}", f"categories.{i}")]


def _check_numbers(values: Array, what: str) -> None:
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise Stays(f"{what} holds {values.dtype}, must be numbers")
    try:
        numbers(values, what)
    except KedgeError as error:
        raise Stays(error.message) from None


def _is_missing(column: Array) -> Array:
    return np.array([value is None or value != value or type(value).__name__ == "NAType" for value in column.tolist()], bool)


def _is_text(column: Array, name: Any) -> bool:
    if column.dtype.kind in "biufc":
        return False
    if column.dtype.kind not in "OUT":
        raise Stays(f"column '{name}' holds {column.dtype}")
    kinds = {type(value).__name__ for value, missing in zip(column.tolist(), _is_missing(column)) if not missing}
    if kinds - {"str"}:
        raise Stays(f"column '{name}' holds objects ({', '.join(sorted(kinds))})")
    return True


def texts_in(column: Array) -> list[str]:
    """The different ones, in their order."""
    return sorted({str(value) for value, gone in zip(column.tolist(), _is_missing(column)) if not gone})


def _codes(column: Array) -> Column:
    missing = _is_missing(column)
    texts = [str(value) for value in column.tolist()]
    places = {text: i for i, text in enumerate(texts_in(column))}
    width = len(str(len(places)))
    return of_codes(np.array([-1 if gone else places[text] for text, gone in zip(texts, missing)]), [f"c{i:0{width}}" for i in range(len(places))])


class Target:
    """y as numbers. `classes`: of a classifier, whose labels go as 0, 1 ... in their order."""

    def __init__(self, y: Any, is_classifier: bool) -> None:
        values = np.asarray(y)
        if values.ndim != 1:
            raise Stays(f"y has {values.ndim} dimensions, and the server fits several targets with MultiOutputClassifier and MultiOutputRegressor, "
                        "and for linear models that fit each column by itself")
        self.classes: Array | None = None
        if not is_classifier:
            _check_numbers(values, "y")
            self.values = values.astype(np.float64)
            if not np.isfinite(self.values).all():
                raise Stays("y holds NaN or infinite values, which scikit-learn refuses")
            return
        try:
            kind = type_of_target(values)
        except ValueError as error:
            raise Stays(f"y is not known to scikit-learn: {error}") from None
        if kind not in ("binary", "multiclass"):
            raise Stays(f"y is {kind}")
        self.classes, codes = np.unique(values, return_inverse=True)
        self.values = codes.astype(np.float32)

    @property
    def says_positive(self) -> bool:
        """Whether the greater of two labels is 1, which scorers such as f1 count."""
        return self.classes is None or (len(self.classes) == 2 and self.classes[1] == 1 and self.classes.dtype.kind in "biuf")

    def lacks_class(self, rows: Array) -> bool:
        """Whether these rows have not all classes."""
        return self.classes is not None and len(np.unique(self.values[rows])) < len(self.classes)


class Targets:
    """y of several columns, each one a target. `values`: of shape (rows, columns); `columns`: each as it is alone."""

    classes = None   # of all together

    def __init__(self, y: Any, is_classifier: bool) -> None:
        if hasattr(y, "tocsr"):
            raise Stays("y is sparse")
        values = np.asarray(y)
        if values.ndim != 2 or values.shape[1] < 2:
            raise Stays(f"y has {values.ndim} dimensions" if values.ndim != 2 else "y has one column, and several targets are two or more")
        self.columns = [Target(column, is_classifier) for column in values.T]
        self.values = np.column_stack([column.values for column in self.columns])
        self.is_indicator = is_classifier and type_of_target(values) == "multilabel-indicator"   # of which scikit-learn has scores

    @property
    def says_positive(self) -> bool:
        """Whether each column is a label: both zeros and ones."""
        return self.is_indicator and all(column.says_positive for column in self.columns)

    def lacks_class(self, rows: Array) -> bool:
        return any(column.lacks_class(rows) for column in self.columns)


def weights_of(sample_weight: Any) -> Any:
    """As the server takes them. Raises Stays."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim != 1 or weights.dtype.kind not in "biuf" or not np.isfinite(weights).all() or (weights < 0).any():
        raise Stays("sample_weight is not one number for each row, finite and not negative")
    return weights.astype(np.float64)
