"""Columns as the server takes them: numbers as they lie in memory, everything else as codes of texts. Errors name the column."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._npz import Array, Member, as_sent
from .errors import KedgeError

LARGEST_EXACT = 2 ** 53


@dataclass
class Column:
    """Numbers, in one or several arrays that lie one behind the other; or codes with their categories, -1 for a missing cell."""

    parts: Sequence[Array]
    categories: list[str] | None = None

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def members(self, name: str, categories_name: str) -> list[Member]:
        found = [Member.of(name, *self.parts)]
        if self.categories is not None:
            found.append(Member.of(categories_name, texts(self.categories)))
        return found


def texts(values: Sequence[str]) -> Array:
    return np.array(values if len(values) else [], dtype=np.str_).astype(np.dtype(f"<U{max([1, *map(len, values)])}"))


def refuse(what: str, message: str) -> KedgeError:
    return KedgeError("INVALID_VALUE", f"{what} {message}", what.split(" ")[0].rstrip(","))


def numbers(array: Array, what: str) -> Array:
    """As the server reads them, without a copy. Raises KedgeError for what is no number, or is not exact in a double."""
    if array.dtype.kind == "c":
        raise refuse(what, f"has the type {array.dtype}, must be real numbers: send the real and the imaginary part as two columns")
    if array.dtype.kind not in "biuf":
        raise refuse(what, f"has the type {array.dtype}, must be numbers (a data frame may have texts)")
    is_long = array.dtype.kind in "iu" and array.dtype.itemsize == 8
    if is_long and array.size and (int(array.max()) > LARGEST_EXACT or int(array.min()) < -LARGEST_EXACT):
        raise refuse(what, "has integers beyond 2^53, which a double does not hold")
    return array


def column(values: Any, what: str) -> Column:
    """Of a numpy array, a pandas or polars series, an Arrow array or a list; `what` names it in errors, as "X, column 'age'"."""
    if type(values).__module__.split(".")[0] == "pandas":
        return _of_pandas(values, what)
    if hasattr(values, "__arrow_c_stream__"):
        from ._arrow import columns_of
        return next(iter(columns_of(values, what).values()))
    array = np.ma.filled(values.astype(np.float64), np.nan) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise refuse(what, f"has {array.ndim} dimensions, must have 1")
    return of_array(array, what)


def of_array(array: Array, what: str) -> Column:
    if array.dtype.kind == "M":
        return of_dates(array)
    if array.dtype.kind == "U":
        return _of_texts(array)
    if array.dtype.kind == "O":
        return _of_objects(array, what)
    return Column([numbers(array, what)])


def of_codes(codes: Array, categories: list[str]) -> Column:
    """Of as few bytes as the number of categories needs, so that equal columns are equal bytes."""
    bits = next(bits for bits in (8, 16, 32, 64) if len(categories) < 2 ** (bits - 1))
    return Column([codes.astype(np.dtype(f"i{bits // 8}"), copy=False)], categories)


def _of_texts(array: Array, missing: Array | None = None) -> Column:
    if missing is None or not missing.any():
        found, codes = np.unique(array, return_inverse=True)
        return of_codes(codes.reshape(-1), found.tolist())
    found, known = np.unique(array[~missing], return_inverse=True)
    codes = np.full(len(array), -1)
    codes[~missing] = known.reshape(-1)
    return of_codes(codes, found.tolist())


def of_dates(array: Array) -> Column:
    """As texts in ISO 8601, as short as they are exact; a job takes them as dates with types={"...": "date"}."""
    missing = np.isnat(array)
    found, known = np.unique(array[~missing], return_inverse=True)
    unit: Any = next((unit for unit in ("D", "s", "ms", "us") if (found.astype(f"M8[{unit}]") == found).all()), "ns")
    codes = np.full(len(array), -1)
    codes[~missing] = known.reshape(-1)
    return of_codes(codes, [str(text) for text in np.datetime_as_string(found, unit=unit)] if len(found) else [])


def is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _of_objects(array: Array, what: str) -> Column:
    """Texts, dates, or numbers with gaps; not a mixture, which would mean something else on the server than here."""
    missing = np.fromiter((is_missing(value) for value in array), bool, len(array))
    kinds = {type(value) for value in array[~missing]}
    if all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds):
        filled = np.full(len(array), np.nan)
        for i in np.flatnonzero(~missing):
            if isinstance(array[i], (int, np.integer)) and abs(int(array[i])) > LARGEST_EXACT:
                raise refuse(what, "has integers beyond 2^53, which a double does not hold")
            filled[i] = array[i]
        return Column([filled])
    if all(hasattr(kind, "isoformat") for kind in kinds):
        return _of_texts(np.array(["" if gone else value.isoformat() for value, gone in zip(array, missing)]), missing)
    if not all(issubclass(kind, str) for kind in kinds):
        raise refuse(what, f"holds objects ({', '.join(sorted(kind.__name__ for kind in kinds))}), must be numbers or texts")
    return _of_texts(np.array(["" if gone else value for value, gone in zip(array, missing)], dtype=np.str_), missing)


def _of_pandas(series: Any, what: str) -> Column:
    dtype = series.dtype
    if hasattr(series, "cat"):
        categories = [str(name) for name in series.cat.categories]
        return of_codes(series.cat.codes.to_numpy(), categories)
    if not isinstance(dtype, np.dtype):   # pandas' own: numbers with gaps, texts, dates with a zone
        if getattr(dtype, "kind", "O") in "biuf":
            values = series.to_numpy(dtype=np.float64, na_value=np.nan) if series.hasnans else series.to_numpy(dtype=dtype.numpy_dtype)
            return Column([numbers(values, what)])
        if getattr(dtype, "tz", None) is not None:
            return of_dates(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return _of_objects(series.to_numpy(dtype=object), what)
    return of_array(series.to_numpy(), what)


def same_rows(n: int, columns: dict[str, Column]) -> None:
    """Raises KedgeError for y, sample_weight or groups of another length than X."""
    for name, found in columns.items():
        if len(found) != n:
            raise refuse(name, f"has {len(found)} values, X has {n} rows")


def is_one_type(parts: Sequence[Array]) -> bool:
    return len({as_sent(part.dtype) for part in parts}) == 1
