"""Reads what has __arrow_c_stream__ (polars, pyarrow, DuckDB ...) from its own memory, without pyarrow.
Source: https://arrow.apache.org/docs/format/CStreamInterface.html"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ._columns import Column, numbers, of_codes, of_dates, refuse
from ._npz import Array


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_Schema))), ("dictionary", ctypes.POINTER(_Schema)),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))), ("private_data", ctypes.c_void_p)]
_Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
                   ("dictionary", ctypes.POINTER(_Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))), ("private_data", ctypes.c_void_p)]
_Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
                    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
                    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("private_data", ctypes.c_void_p)]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

NUMBERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4", "g": "f8"}
TEXTS = ("u", "U", "vu")
DATES = {"tdD": ("i4", "D"), "tdm": ("i8", "ms"), "tss": ("i8", "s"), "tsm": ("i8", "ms"), "tsu": ("i8", "us"), "tsn": ("i8", "ns")}


class _Batch:
    """An array of the stream: it is released when nothing of it is used any more."""

    def __init__(self) -> None:
        self.array = _Array()

    def __del__(self) -> None:
        if self.array.release:
            self.array.release(ctypes.byref(self.array))


class _Kept(np.ndarray[Any, Any]):
    """Memory of a batch, which stays as long as any view of it does."""

    batch: Any = None

    def __array_finalize__(self, base: Any) -> None:
        self.batch = getattr(base, "batch", None)


def columns_of(source: Any, what: str) -> dict[str, Column]:
    """By name; one without a name of a source that is no table. `what` names it in errors. Raises KedgeError for types that are no column."""
    capsule = source.__arrow_c_stream__()
    stream = ctypes.cast(_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream))
    schema = _Schema()
    _check(stream, stream.contents.get_schema(stream, ctypes.byref(schema)), what)
    try:
        batches = _batches(stream, what)
        if schema.format != b"+s":
            return {"": _column(schema, [(batch.array, batch) for batch in batches], what)}
        found: dict[str, Column] = {}
        for i in range(schema.n_children):
            child = schema.children[i].contents
            name = (child.name or b"").decode()
            if name in found:
                raise refuse(what, f"has two columns named '{name}'")
            found[name] = _column(child, [(batch.array.children[i].contents, batch) for batch in batches], f"{what}, column '{name}'")
        return found
    finally:
        schema.release(ctypes.byref(schema))


def _check(stream: Any, error: int, what: str) -> None:
    if error:
        words = stream.contents.get_last_error(stream)
        raise refuse(what, f"gives no data: {words.decode(errors='replace') if words else f'error {error}'}")


def _batches(stream: Any, what: str) -> list[_Batch]:
    found: list[_Batch] = []
    while True:
        batch = _Batch()
        _check(stream, stream.contents.get_next(stream, ctypes.byref(batch.array)), what)
        if not batch.array.release:
            return found
        if batch.array.length:
            found.append(batch)


def _memory(array: _Array, buffer: int, dtype: str, count: int, batch: _Batch) -> Array:
    """Elements of a buffer, the first of them the array's own."""
    kind = np.dtype(dtype)
    address = array.buffers[buffer]
    if not address or not count:
        return np.empty(0, kind)
    raw = (ctypes.c_uint8 * (kind.itemsize * count)).from_address(address + kind.itemsize * array.offset)
    found: _Kept = np.frombuffer(memoryview(raw).cast("B"), kind).view(_Kept)
    found.batch = batch
    return found


def _bits(array: _Array, buffer: int) -> Array:
    raw = (ctypes.c_uint8 * ((array.offset + array.length + 7) // 8)).from_address(array.buffers[buffer])
    return np.unpackbits(np.frombuffer(memoryview(raw).cast("B"), np.uint8), bitorder="little")[array.offset:array.offset + array.length].astype(bool)


def _missing(array: _Array) -> Array | None:
    """Which cells are null; None where none is."""
    if not array.null_count or not array.n_buffers or not array.buffers[0]:
        return None
    missing = ~_bits(array, 0)
    return missing if missing.any() else None


def _column(schema: _Schema, arrays: list[tuple[_Array, _Batch]], what: str) -> Column:
    format = schema.format.decode()
    if schema.dictionary:
        return _of_dictionaries(format, schema.dictionary.contents.format.decode(), arrays, what)
    if format in NUMBERS or format in ("b", "n"):
        parts = [_numbers(format, array, batch, what) for array, batch in arrays]
        if len({part.dtype for part in parts}) > 1:   # of integers, where some have gaps
            parts = [part.astype(np.float64) for part in parts]
        return Column(parts or [np.empty(0)])
    if format in TEXTS:
        return _joined([_texts(format, array, batch) for array, batch in arrays])
    if (date := DATES.get(format.split(":")[0])) is not None:
        dates = [_dates(date, array, batch) for array, batch in arrays]
        return of_dates(np.concatenate(dates) if dates else np.empty(0, "M8[s]"))
    raise refuse(what, f"has the Arrow type '{format}', must be numbers, booleans, texts, dates or a dictionary of texts")


def _numbers(format: str, array: _Array, batch: _Batch, what: str) -> Array:
    if format == "n":
        return np.full(array.length, np.nan)
    values = _bits(array, 1) if format == "b" else _memory(array, 1, "<" + NUMBERS[format], array.length, batch)
    missing = _missing(array)
    if missing is not None:
        numbers(values[~missing], what)
        values = np.where(missing, np.nan, values.astype(np.float32 if values.dtype == np.float32 else np.float64))
    return numbers(values, what)


def _dates(date: tuple[str, str], array: _Array, batch: _Batch) -> Array:
    values = _memory(array, 1, "<" + date[0], array.length, batch).astype(np.int64).view(f"M8[{date[1]}]").view(np.ndarray)
    missing = _missing(array)
    if missing is not None:
        values[missing] = np.datetime64("NaT")
    return values


def _texts(format: str, array: _Array, batch: _Batch) -> tuple[Array, list[str]]:
    """Codes in the order in which the texts come first, -1 for null."""
    text_of = _views(array, batch) if format == "vu" else _slices(format, array, batch)
    missing, known = _missing(array), {}   # type: ignore[var-annotated]
    codes = np.empty(array.length, np.int64)
    for i in range(array.length):
        codes[i] = -1 if missing is not None and missing[i] else known.setdefault(text_of(i), len(known))
    return codes, [text.decode() for text in known]


def _slices(format: str, array: _Array, batch: _Batch) -> Callable[[int], bytes]:
    offsets = _memory(array, 1, "<i4" if format == "u" else "<i8", array.length + 1, batch).tolist()
    size = offsets[-1] if offsets else 0
    content = ctypes.string_at(array.buffers[2], size) if size else b""
    return lambda i: content[offsets[i]:offsets[i + 1]]


def _views(array: _Array, batch: _Batch) -> Callable[[int], bytes]:
    """Of up to 12 bytes in the view itself, longer ones by buffer and place."""
    views = _memory(array, 1, "V16", array.length, batch).view(np.ndarray)
    places = views.view("<i4").reshape(-1, 4).tolist()
    raw = views.tobytes()

    def text(i: int) -> bytes:
        size, _, buffer, offset = places[i]
        if size <= 12:
            return raw[16 * i + 4:16 * i + 4 + size]
        return ctypes.string_at(array.buffers[2 + buffer] + offset, size)
    return text


def _of_dictionaries(format: str, of: str, arrays: list[tuple[_Array, _Batch]], what: str) -> Column:
    """Categories in the order of the dictionary, which may differ from batch to batch."""
    if of not in TEXTS or format not in NUMBERS:
        raise refuse(what, f"has a dictionary of the Arrow type '{of}', must be one of texts")
    names: dict[str, int] = {}
    parts = []
    for array, batch in arrays:
        codes = _memory(array, 1, "<" + NUMBERS[format], array.length, batch).astype(np.int64)
        order, known = _texts(of, array.dictionary.contents, batch)
        places = np.array([names.setdefault(known[code], len(names)) if code >= 0 else -1 for code in order.tolist()] or [-1])
        missing = _missing(array)
        codes = places[np.where(missing, 0, codes)] if missing is not None else places[codes]
        parts.append(np.where(missing, -1, codes) if missing is not None else codes)
    return of_codes(np.concatenate(parts) if parts else np.empty(0, np.int64), list(names))


def _joined(parts: list[tuple[Array, list[str]]]) -> Column:
    """One order, that of the sorted texts."""
    categories = sorted({text for _, known in parts for text in known})
    places = {text: i for i, text in enumerate(categories)}
    codes = [np.array([*(places[text] for text in known), -1])[part] for part, known in parts]   # -1 is the last
    return of_codes(np.concatenate(codes) if codes else np.empty(0, np.int64), categories)
