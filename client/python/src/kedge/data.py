"""Data sets: where one comes from, which part of it a job reads, and arrays as the server takes them."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import KedgeError

PIECE = 1 << 20


@dataclass(frozen=True)
class Dataset:
    """A reference with a selection. A value: `select()` and the shorthands return another."""

    reference: dict[str, Any]
    selection: dict[str, Any] = field(default_factory=dict)

    def select(self, **fields: Any) -> Dataset:
        """Fields of the selection: rows, columns, target, targets, weights, groups, na_values, keep_default_na, types, dtype, scale, where, dropna,
        drop_duplicates, sample, sample_seed."""
        from .tasks import given
        return dataclasses.replace(self, selection={**self.selection, **given(fields)})

    def rows(self, n: int) -> Dataset:
        return self.select(rows=n)

    def where(self, *conditions: str) -> Dataset:
        """Only rows that meet all conditions: where("age >= 30", "city in ['Paris', 'Rome']", "`net income` notna")."""
        return self.select(where=[*self.selection.get("where", []), *conditions])

    def sample(self, n: int, random_state: int = 0) -> Dataset:
        """So many rows at random, those that pandas' sample() draws."""
        return self.select(sample=n, sample_seed=random_state)

    def target(self, column: str) -> Dataset:
        return self.select(target=column)

    def targets(self, *columns: str) -> Dataset:
        """Several target columns, for MultiOutputClassifier, MultiOutputRegressor and chains of them."""
        return self.select(targets=list(columns))

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


def generate(name: str, **params: Any) -> Dataset:
    """Made by the server as scikit-learn's function makes it: generate("make_blobs", n_samples=1000, random_state=7)."""
    return Dataset({"generate": {"name": name, "params": params}})


def stored(name: str) -> Dataset:
    """An upload, by its name."""
    return Dataset({"stored": name})


def url(address: str | Sequence[str], format: str = "csv", *, sha256: str = "", target: str = "") -> Dataset:
    """A file that the server downloads: http(s)://, s3:// or gs://, where `*` in an object's key names several parts of one table. Parquet and Arrow files are known
    by their content, whatever format says. A list of http(s) addresses is one table of their rows, in this order."""
    if not address:
        raise ValueError("url: there is no address")
    place = {"url": address} if isinstance(address, str) else {"urls": list(address)}
    return Dataset({"url": {**place, "format": format, **({"sha256": sha256} if sha256 else {}), **({"target": target} if target else {})}})


def sklearn_dataset(name: str) -> Dataset:
    """What scikit-learn's fetch_ function of that name fetches, which the server downloads: sklearn_dataset("covtype")."""
    return Dataset({"sklearn": name})


def inline(csv: str, target: str = "") -> Dataset:
    """A small table with a header line, in the job itself."""
    return Dataset({"inline": {"csv": csv, **({"target": target} if target else {})}})


@dataclass
class Upload:
    """Bytes in one of the server's formats. pieces() may be asked several times, and gives the same each time."""

    format: str
    size: int
    pieces: Callable[[], Iterator[bytes | memoryview]]
    selection: dict[str, Any] = field(default_factory=dict)   # what of it is the target, weights and groups

    @functools.cached_property
    def digest(self) -> str:
        """As the server counts it: over the format, a line end and the bytes."""
        digest = hashlib.sha256(self.format.encode() + b"\n")
        for piece in self.pieces():
            digest.update(piece)
        return digest.hexdigest()

    def rest(self, start: int) -> Iterator[bytes | memoryview]:
        """The pieces without the first bytes."""
        for piece in self.pieces():
            if start < len(piece):
                yield memoryview(piece)[start:]
            start = max(0, start - len(piece))


def upload_of(X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Upload:
    """A matrix of any layout, a data frame (pandas, polars, what has __arrow_c_stream__) or a sparse matrix, with the target, weights and groups of its rows,
    as an .npz file that is sent from their own memory. Equal values of one type are equal bytes, however they lie. Raises KedgeError, with the argument as
    `where`, for what is no table of numbers or columns."""
    return archive_of(*_members_of(X), y, sample_weight=sample_weight, groups=groups)


def archive_of(n_rows: int, members: list[Any], y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Upload:
    """The same of X as members (_npz.Member)."""
    from ._npz import Archive
    extras = {name: values for name, values in (("y", y), ("sample_weight", sample_weight), ("groups", groups)) if values is not None}
    selection: dict[str, Any] = {}
    if extras:
        from ._columns import column, same_rows
        found = {name: column(values, name) for name, values in extras.items()}
        same_rows(n_rows, found)
        members += _extra_members(found, target_name(y), _names(members))
        selection = {role: name for role, name in (("target", target_name(y)), ("weights", "sample_weight"), ("groups", "groups"))
                     if {"target": "y", "weights": "sample_weight", "groups": "groups"}[role] in found}
    archive = Archive(members)
    return Upload("npz", archive.size, archive.pieces, selection)


def target_name(y: Any) -> str:
    """What a series is called, else "y"."""
    return str(getattr(y, "name", None) or "y")


def _names(members: list[Any]) -> set[str]:
    named = [member for member in members if member.name == "feature_names"]
    return set(named[0].parts[0].tolist()) if named else set()


def _extra_members(found: dict[str, Any], target: str, names: set[str]) -> list[Any]:
    from ._columns import texts
    from ._npz import Member
    members: list[Any] = []
    for name, column in found.items():
        called = target if name == "y" else name
        if called in names:
            raise KedgeError("INVALID_VALUE", f"{name} is named '{called}', as a column of X is", name)
        if name != "y" and column.categories is not None:
            raise KedgeError("INVALID_VALUE", f"{name} holds texts, must be numbers", name)
        members += column.members(name, "categories.y")
        if name == "y" and target != "y":
            members.append(Member.of("target_name", texts([target])))
    return members


def _members_of(X: Any) -> tuple[int, list[Any]]:
    """Rows, and the members of X. Imports numpy only here, so that `import kedge` is fast."""
    import numpy as np

    from ._columns import numbers
    from ._npz import Member
    if hasattr(X, "tocsr"):
        return _of_sparse(X)
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns"):
        return _of_frame(X)
    if isinstance(X, np.ma.MaskedArray):   # what is masked is missing
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        table = np.asarray(X)
    except ValueError as error:   # rows of different lengths
        raise KedgeError("INVALID_VALUE", f"X is no table: {error}", "X") from None
    if table.ndim != 2:
        raise KedgeError("INVALID_VALUE", f"X has {table.ndim} dimensions, must have 2 (rows and columns)", "X")
    _check_size(*table.shape)
    return table.shape[0], [Member.of("X", numbers(table, "X"))]


def _check_size(n_rows: int, n_columns: int) -> None:
    if not n_rows or not n_columns:
        raise KedgeError("INVALID_VALUE", f"X has {n_rows} rows and {n_columns} columns, must have at least one of each", "X")


def _of_sparse(X: Any) -> tuple[int, list[Any]]:
    import numpy as np

    from ._columns import numbers
    from ._npz import Member
    if len(X.shape) != 2:
        raise KedgeError("INVALID_VALUE", f"X has {len(X.shape)} dimensions, must have 2 (rows and columns)", "X")
    _check_size(*X.shape)
    numbers(X.data if hasattr(X.data, "dtype") else np.empty(0, X.dtype), "X")
    X = X.tocsr()
    if not X.has_canonical_format:   # rows in the order of their columns, each once
        X = X.copy()
        X.sum_duplicates()
    return X.shape[0], [Member.of("data", X.data), Member.of("indices", X.indices), Member.of("indptr", X.indptr), Member.of("shape", np.array(X.shape, np.int64))]


def _of_frame(X: Any) -> tuple[int, list[Any]]:
    """By columns, each of its own type and memory."""
    from ._columns import column, texts
    from ._npz import Member
    if type(X).__module__.split(".")[0] != "pandas" and hasattr(X, "__arrow_c_stream__"):
        from ._arrow import columns_of
        columns = columns_of(X, "X")
    else:
        names = [str(name) for name in X.columns]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise KedgeError("INVALID_VALUE", f"X has two columns named '{twice[0]}'", "X")
        columns = {str(name): column(X[name], f"X, column '{name}'") for name in X.columns}
    n_rows = len(next(iter(columns.values()))) if columns else 0
    _check_size(n_rows, len(columns))
    members = [member for i, found in enumerate(columns.values()) for member in found.members(f"columns.{i}", f"categories.{i}")]
    return n_rows, [*members, Member.of("feature_names", texts(list(columns)))]


def rows_of(X: Any) -> Upload:
    """A matrix or data frame as a model takes rows to be asked about: NPY, or CSV with the columns' names. Raises KedgeError."""
    if hasattr(X, "columns"):
        columns = [X[name] for name in X.columns]
        return _of_text("csv", csv([str(name) for name in X.columns], zip(*map(_values, columns))))
    import numpy as np

    from ._columns import numbers
    from ._npz import Member
    table = np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if table.ndim != 2:
        raise KedgeError("INVALID_VALUE", f"X has {table.ndim} dimensions, must have 2 (rows and columns)", "X")
    member = Member.of("X", numbers(table, "X"))
    return Upload("npy", member.size, member.pieces)


def _values(column: Any) -> list[Any]:
    for name in ("to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _of_text(format: str, text: bytes) -> Upload:
    def pieces() -> Iterator[bytes | memoryview]:
        yield text
    return Upload(format, len(text), pieces)


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
