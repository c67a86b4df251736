"""Data sets: where one comes from, which part of it a job reads, and arrays as the server takes them."""
from __future__ import annotations

import dataclasses
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import KedgeError

if TYPE_CHECKING:
    import numpy as np

PIECE = 1 << 20


@dataclass(frozen=True)
class Dataset:
    """A reference with a selection. A value: `select()` and the shorthands return another."""

    reference: dict[str, Any]
    selection: dict[str, Any] = field(default_factory=dict)

    def select(self, **fields: Any) -> Dataset:
        """Fields of the selection: rows, columns, target, weights, groups, na_values, keep_default_na, types, dtype, scale."""
        from .tasks import given
        return dataclasses.replace(self, selection={**self.selection, **given(fields)})

    def rows(self, n: int) -> Dataset:
        return self.select(rows=n)

    def target(self, column: str) -> Dataset:
        return self.select(target=column)

    def columns(self, *names: str) -> Dataset:
        return self.select(columns=list(names))

    def types(self, **columns: str) -> Dataset:
        """What a column is: number, category, date, date:parts, drop ... `select(types={...})` takes names that are no identifiers."""
        return self.select(types={**self.selection.get("types", {}), **columns})

    def _repr_html_(self) -> str:
        """Its description, and what is in it if the server that kedge.connect() takes has it and says so at once."""
        from . import _html
        return _html.of_dataset(self.document(), _html.preview(self))

    def document(self) -> dict[str, Any]:
        return {"dataset": self.reference, **({"select": self.selection} if self.selection else {})}


def openml(name: str | int, version: int = 0) -> Dataset:
    """OpenML, by name and version (0: the newest active one), or by id."""
    reference: dict[str, Any] = {"id": name} if isinstance(name, int) else {"name": name, **({"version": version} if version else {})}
    return Dataset({"openml": reference})


def builtin(name: str) -> Dataset:
    """Inside the server: digits, iris, wine, breast_cancer, diabetes, mnist_10k."""
    return Dataset({"builtin": name})


def stored(name: str) -> Dataset:
    """An upload, by its name."""
    return Dataset({"stored": name})


def url(address: str, format: str = "csv", *, sha256: str = "", target: str = "") -> Dataset:
    """A file that the server downloads."""
    return Dataset({"url": {"url": address, "format": format, **({"sha256": sha256} if sha256 else {}), **({"target": target} if target else {})}})


def inline(csv: str, target: str = "") -> Dataset:
    """A small table with a header line, in the job itself."""
    return Dataset({"inline": {"csv": csv, **({"target": target} if target else {})}})


@dataclass
class Upload:
    """Bytes in one of the server's formats. pieces() may be asked several times."""

    format: str
    size: int
    pieces: Callable[[], Iterator[bytes | memoryview]]
    target: str = ""

    def digest(self) -> str:
        """As the server counts it: over the format, a line end and the bytes."""
        digest = hashlib.sha256(self.format.encode() + b"\n")
        for piece in self.pieces():
            digest.update(piece)
        return digest.hexdigest()


def upload_of(X: Any, y: Any = None) -> Upload:
    """A matrix, data frame or sparse matrix, with the column of the target behind the others. Copies it only where its rows are not one block of
    memory of a type that the server reads, or where y comes along. Raises KedgeError for what is no table of numbers or columns."""
    if hasattr(X, "tocsr"):
        return _of_text("libsvm", _libsvm(X.tocsr(), y), "label" if y is not None else "")
    if hasattr(X, "columns"):
        return _of_frame(X, y)
    import numpy as np
    if isinstance(X, np.ma.MaskedArray):   # what is masked is missing
        X = np.ma.filled(X.astype(np.float64), np.nan)
    table = np.asarray(X)
    if table.ndim != 2:
        raise KedgeError("INVALID_VALUE", f"X has {table.ndim} dimensions, must have 2 (rows and columns)", "X")
    if y is not None:
        return _of_matrix_and_target(table, np.asarray(y))
    return _of_matrix(readable(table, "X"))


def readable(table: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Numbers as float32 or float64. Raises KedgeError for what is not, or does not fit."""
    import numpy as np
    if table.dtype in (np.float32, np.float64):
        return table
    if table.dtype.kind in "biuf":
        if table.dtype.kind in "iu" and table.size and max(abs(int(table.max())), abs(int(table.min()))) > 2 ** 53:
            raise KedgeError("INVALID_VALUE", f"{what} has integers beyond 2^53, which a double does not hold", what)
        return table.astype(np.float64)
    raise KedgeError("INVALID_VALUE", f"{what} has the type {table.dtype}, must be numbers (a data frame may have texts)", what)


def _of_matrix(table: np.ndarray[Any, Any], target: str = "") -> Upload:
    import numpy as np
    head = io.BytesIO()
    is_fortran = table.flags.f_contiguous and not table.flags.c_contiguous
    if not (table.flags.c_contiguous or is_fortran):
        table = np.ascontiguousarray(table)
    np.lib.format.write_array_header_1_0(head, {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": is_fortran, "shape": table.shape})
    content = (table.T if is_fortran else table).reshape(-1).view(np.uint8).data

    def pieces() -> Iterator[bytes | memoryview]:
        yield head.getvalue()
        for at in range(0, len(content), PIECE):
            yield content[at:at + PIECE]
    return Upload("npy", len(head.getvalue()) + len(content), pieces, target)


def _of_matrix_and_target(table: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Upload:
    import numpy as np
    if y.shape != (table.shape[0],):
        raise KedgeError("INVALID_VALUE", f"y has the shape {y.shape}, must have {table.shape[0]} values, one for each row of X", "y")
    if y.dtype.kind in "biuf" and table.dtype.kind in "biuf":
        table, y = readable(table, "X"), readable(y, "y")
        joined = np.empty((table.shape[0], table.shape[1] + 1), np.result_type(table, y))
        joined[:, :-1], joined[:, -1] = table, y
        return _of_matrix(joined, f"x{table.shape[1]}")
    header = [f"x{i}" for i in range(table.shape[1])] + ["target"]
    return _of_text("csv", csv(header, ([*row, label] for row, label in zip(table.tolist(), y.tolist()))), "target")


def _of_frame(X: Any, y: Any) -> Upload:
    """pandas, polars and what is like them: by columns."""
    names = [str(name) for name in X.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise KedgeError("INVALID_VALUE", f"X has two columns named '{twice[0]}'", "X")
    columns = [_values(X[name]) for name in X.columns]
    target = ""
    if y is not None:
        target = str(getattr(y, "name", None) or "target")
        if target in names:
            raise KedgeError("INVALID_VALUE", f"y is named '{target}', as a column of X is", "y")
        names.append(target)
        columns.append(_values(y))
    if len({len(column) for column in columns}) > 1:
        raise KedgeError("INVALID_VALUE", f"y has {len(columns[-1])} values, X has {len(columns[0])} rows", "y")
    return _of_text("csv", csv(names, zip(*columns)), target)


def _values(column: Any) -> list[Any]:
    for name in ("to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _of_text(format: str, text: bytes, target: str) -> Upload:
    def pieces() -> Iterator[bytes | memoryview]:
        yield text
    return Upload(format, len(text), pieces, target)


def _cell(value: Any) -> str:
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):   # NaN is not equal to itself
        return ""
    if isinstance(value, bool):
        return str(int(value))
    text = repr(value) if isinstance(value, float) else value.isoformat() if hasattr(value, "isoformat") else str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') or text != text.strip() else text


def csv(header: list[str], rows: Any) -> bytes:
    """A table with a header line; None and NaN are empty cells."""
    lines = [",".join(map(_cell, header)), *(",".join(map(_cell, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _libsvm(X: Any, y: Any) -> bytes:
    """Indices count from 1, and each row's first says so; labels 0 without a target."""
    labels = [0] * X.shape[0] if y is None else _values(y)
    if len(labels) != X.shape[0]:
        raise KedgeError("INVALID_VALUE", f"y has {len(labels)} values, X has {X.shape[0]} rows", "y")
    lines = []
    for i, label in enumerate(labels):
        begin, end = X.indptr[i], X.indptr[i + 1]
        pairs = dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist()))
        if i == 0:
            pairs.setdefault(X.shape[1] - 1, 0.0)   # the file knows its columns by the largest index alone
        entries = " ".join(f"{j + 1}:{v!r}" for j, v in sorted(pairs.items()))
        lines.append(f"{label} {entries}".rstrip())
    return ("\n".join(lines) + "\n").encode()
