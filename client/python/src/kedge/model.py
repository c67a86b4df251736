"""Stored models: asked, fetched, removed."""
from __future__ import annotations

import io
import json
import math
import os
import pathlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from ._http import JSON, LONG_S, Call, Transport
from .data import rows_of
from .errors import KedgeError

if TYPE_CHECKING:
    import numpy as np

NPY, CSV, MODEL = "application/x-npy", "text/csv", "application/vnd.kedge.model"
NDJSON = "application/x-ndjson"
OPEN_MODEL = MODEL + "+zip"
MOST_OF_HEADER = 1 << 16   # bytes of a .npy before its numbers
EXPECTED = "expected_value"


class Contributions(NamedTuple):
    """What each column adds to the answer of a row. expected and a row of values together are the row's answer."""
    values: np.ndarray[Any, Any]     # (rows, columns), of several outputs (rows, outputs, columns)
    expected: np.ndarray[Any, Any]   # the answer that is expected of any row: (), of several outputs (outputs,)
    columns: list[str]               # that the model's last step reads
    outputs: list[str]               # classes; empty of one output


class Interactions(NamedTuple):
    """What each pair of columns adds to the answer of a row. The matrices are symmetric, and a row of one adds up to the contribution of its column."""
    values: np.ndarray[Any, Any]     # (rows, columns, columns), of several outputs (rows, outputs, columns, columns)
    expected: np.ndarray[Any, Any]   # as of Contributions, like what follows
    columns: list[str]
    outputs: list[str]


class Model:
    """A handle to a stored model."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport, self.id = transport, id

    def __repr__(self) -> str:
        return f"Model({self.id!r})"

    def _repr_html_(self) -> str | None:
        from . import _html
        return _html.of_model(self.id, _html.ask(self._transport, self._path()))

    def _path(self, rest: str = "") -> str:
        return f"/v1/models/{quote(self.id, safe='')}{rest}"

    def info(self) -> dict[str, Any]:
        """Pipeline, columns, classes, size."""
        found: dict[str, Any] = self._transport.call(Call("GET", self._path())).json()
        return found

    def predict(self, X: Any, output: str = "predict") -> np.ndarray[Any, Any]:
        """Of rows: an array or list of lists (columns by position), a list of dicts or a data frame (columns by name). output: predict (shape (n,), of several targets
        (n, targets); classes by name), predict_proba, decision_function, score_samples, contributions or interactions. Raises KedgeError, which names the column and row."""
        return self._ask("/predict?" + urlencode({"output": output}), X)

    def contributions(self, X: Any, background: Any = None) -> Contributions:
        """What each column that the last step reads contributes to the answers of rows (as predict() takes them): Shapley values of trees, as
        shap.TreeExplainer(feature_perturbation="tree_path_dependent") has them. background: 1 to 1,000 rows in one of the same forms, that the contributions are
        counted against, as with feature_perturbation="interventional". Raises KedgeError for a model that has none, or a background that does not fit."""
        path = "/predict?output=contributions"
        return _parts(self._answer(path, X) if background is None else self._asked(path, {"rows": _list_of_rows(X), "background": _list_of_rows(background)}))

    def interactions(self, X: Any) -> Interactions:
        """How the contributions of each column that the last step reads divide among pairs of columns: Shapley interaction values of trees, as
        shap.TreeExplainer(model).shap_interaction_values() has them. Off the diagonal of a matrix is half of what the two columns add together, on it what
        the column adds by itself. Raises KedgeError for a model that has none, and for more than 8,000,000 numbers (rows * outputs * columns ** 2)."""
        parts = _parts(self._answer("/predict?output=interactions", X))
        n = math.isqrt(len(parts.columns))
        columns = [name[:len(name) // 2] for name in parts.columns[::n + 1]]   # of "x*x"
        return Interactions(parts.values.reshape(*parts.values.shape[:-1], n, n), parts.expected, columns, parts.outputs)

    def transform(self, X: Any) -> np.ndarray[Any, Any]:
        """The rows as the model's transformers transform them."""
        return self._ask("/transform", X)

    def _ask(self, path: str, X: Any) -> np.ndarray[Any, Any]:
        import numpy as np
        return np.asarray(self._answer(path, X)["values"])

    def _answer(self, path: str, X: Any) -> dict[str, Any]:
        if hasattr(X, "toarray"):   # of SciPy: rows to be asked about are few
            X = X.toarray()
        if not hasattr(X, "columns") and not hasattr(X, "dtype"):
            return self._asked(path, {"rows": _list_of_rows(X)})
        rows = rows_of(X)
        call = Call("POST", self._path(path), rows.pieces, content_type=NPY if rows.format == "npy" else CSV, timeout=LONG_S, repeats=False)
        call.size = rows.size
        answer: dict[str, Any] = self._transport.call(call).json()
        return answer

    def _asked(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._transport.call(Call("POST", self._path(path), json.dumps(body, default=_date).encode(), content_type=JSON, timeout=LONG_S, repeats=False)).json()
        return answer

    def download(self, open: bool = False) -> bytes:
        """The file, for Session.upload_model() on another server. open: a ZIP of model.json and .npy files, which any program reads; it can be
        uploaded, too."""
        return self._transport.call(Call("GET", self._path("/download"), accept=OPEN_MODEL if open else MODEL, timeout=LONG_S)).body

    def members(self) -> list[tuple[str, Any]]:
        """What the steps learned, by name, in the order in which they keep it; each step begins with n_features. Then what drift() compares with, as
        profile_rows and others. Numbers are arrays, of shape (n,) where there
        is one column. Raises KedgeError for a version of the open form that this client does not know."""
        content = self.download(open=True)
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            description = json.loads(file.read("model.json"))
            if description["version"] != 1:
                raise KedgeError("INVALID_VALUE", f"the open form has version {description['version']}, this client reads version 1", "version")
            places = {one.filename: one for one in file.infolist()}
        return [(member["name"], _array_in(content, places[member["file"]]) if "file" in member else member["value"]) for member in description["state"]]

    def serving(self) -> dict[str, Any]:
        """How the questions to the model are answered: maxBatchRows, maxDelayUs, and log where some are logged."""
        found: dict[str, Any] = self._transport.call(Call("GET", self._path("/serving"))).json()
        return found

    def set_serving(self, *, max_batch_rows: int | None = None, max_delay_us: int | None = None, log: dict[str, Any] | None = None) -> dict[str, Any]:
        """max_batch_rows: rows of waiting questions that the model is asked in one go, 0 for any number; max_delay_us: how long a question waits for
        others; log: {"fraction": 0.01, "maxBytes": 1048576}, the questions that log() shows. What is None gets the server's default. On the disk when this returns. Raises KedgeError, which names the field."""
        wanted = {"maxBatchRows": max_batch_rows, "maxDelayUs": max_delay_us, "log": log}
        body = json.dumps({name: value for name, value in wanted.items() if value is not None}).encode()
        now: dict[str, Any] = self._transport.call(Call("PUT", self._path("/serving"), body, content_type=JSON)).json()
        return now

    def log(self) -> list[dict[str, Any]]:
        """What was logged of the questions to the model, the oldest first: time, output, input, answer or error."""
        lines = self._transport.call(Call("GET", self._path("/log"), accept=NDJSON)).body
        return [json.loads(line) for line in lines.splitlines()]

    def drift(self) -> dict[str, Any]:
        """How the rows that the model was asked about differ from those that it was fitted on: rows, since, psi (the largest), and columns with their name, kind,
        psi, shares of missing cells, edges or categories of their bins, and the shares of those in the rows that were fitted (trained) and asked (seen)."""
        found: dict[str, Any] = self._transport.call(Call("GET", self._path("/drift"))).json()
        return found

    def reset_drift(self) -> None:
        """Forgets what drift() has counted, and begins again."""
        self._transport.call(Call("DELETE", self._path("/drift")))

    def remove(self) -> None:
        """Jobs that have opened the model go on with it."""
        self._transport.call(Call("DELETE", self._path()))


class Models:
    """The stored models of a server: called, it lists them."""

    def __init__(self, transport: Transport, pages: Callable[[int], Iterator[dict[str, Any]]]) -> None:
        self._transport, self._pages = transport, pages

    def __call__(self, page_size: int = 50) -> Iterator[dict[str, Any]]:
        """Newest first."""
        return self._pages(page_size)

    def push(self, path: str | os.PathLike[str]) -> Model:
        """Stores the model in a file: of Kedge, of XGBoost (JSON or UBJSON, as save_model() writes it), LightGBM (text), CatBoost (JSON) or ONNX. upload(kedge.export(model))
        stores one of scikit-learn. Raises KedgeError, which names
        the place in the file, for what is malformed or of a kind that is not taken."""
        return self.upload(pathlib.Path(path).read_bytes())

    def upload(self, content: bytes) -> Model:
        """The same for the bytes of such a file."""
        call = Call("POST", "/v1/models", content, content_type=MODEL, timeout=LONG_S, repeats=False)
        return Model(self._transport, self._transport.call(call).json()["id"])


def export(model: Any) -> bytes:
    """A fitted object of scikit-learn as a model for session.upload_model(), which answers as the object does: a Pipeline, a search (its best_estimator_), or one
    of the estimators that docs/serving.md lists. Columns are those of feature_names_in_, else x0, x1, ...; those that go to an encoder of texts have its categories. model: the object, or the path of a
    .skops file. Raises KedgeError (INVALID_VALUE) for what the server would answer otherwise, with the reason; NotFittedError."""
    from .sklearn._export import exported   # needs scikit-learn
    return exported(model)


def _array_in(content: bytes, place: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """A stored .npy: zipfile and np.load() would copy it three times. Raises KedgeError (MODEL_CORRUPT)."""
    import numpy as np
    n_name, n_extra = struct.unpack_from("<HH", content, place.header_offset + 26)
    begin = place.header_offset + 30 + n_name + n_extra
    bytes_ = memoryview(content)[begin:begin + place.file_size]
    if place.compress_type != zipfile.ZIP_STORED or len(bytes_) != place.file_size or zlib.crc32(bytes_) != place.CRC:
        raise KedgeError("MODEL_CORRUPT", f"'{place.filename}' of the open form is packed or damaged", place.filename)
    head = io.BytesIO(bytes_[:MOST_OF_HEADER])
    shape, is_by_column, dtype = (np.lib.format.read_array_header_1_0 if np.lib.format.read_magic(head) == (1, 0) else
                                  np.lib.format.read_array_header_2_0)(head)
    if dtype.hasobject or is_by_column and len(shape) > 1:
        raise KedgeError("MODEL_CORRUPT", f"'{place.filename}' of the open form is no array by rows of numbers", place.filename)
    return np.frombuffer(bytes_, dtype, math.prod(shape), head.tell()).reshape(shape).copy()   # at an address as numpy wants it


def _parts(answer: dict[str, Any]) -> Contributions:
    """Of one output or several, by the names of an answer's columns."""
    import numpy as np
    values, names = np.asarray(answer["values"], float), answer["columns"]
    if names[-1] == EXPECTED:
        return Contributions(values[:, :-1], values[0, -1], names[:-1], [])
    width = 1 + next(i for i, name in enumerate(names) if name.endswith(":" + EXPECTED))
    outputs = [name.removesuffix(":" + EXPECTED) for name in names[width - 1::width]]
    values = values.reshape(len(values), len(outputs), width)
    columns = [name.removeprefix(outputs[0] + ":") for name in names[:width - 1]]
    return Contributions(values[:, :, :-1], values[0, :, -1], columns, outputs)


def _list_of_rows(X: Any) -> list[Any]:
    """Of an array, lists or dicts, or a data frame, for JSON: the rows of a frame by the names of its columns."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    if hasattr(X, "columns"):
        X = X.to_dicts() if hasattr(X, "to_dicts") else X.to_pylist() if hasattr(X, "to_pylist") else X.to_dict("records")   # Polars, Arrow, pandas
    elif hasattr(X, "dtype"):
        X = X.tolist()
    return [_row(row) for row in X]


def _date(value: Any) -> str:
    """What JSON has no form for; other values than dates are refused."""
    if not hasattr(value, "isoformat"):
        raise TypeError(f"a cell is a {type(value).__name__}, must be a number, a text, a date or None")
    return str(value.isoformat())


def _row(row: Any) -> Any:
    """NaN is a missing cell, which JSON has as null."""
    if isinstance(row, dict):
        return {name: None if value != value else value for name, value in row.items()}
    return [None if value != value else value for value in row]


def npy(content: bytes) -> np.ndarray[Any, Any]:
    """An artifact such as predictions.npy."""
    import numpy as np
    array: np.ndarray[Any, Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return array
