"""A connection to a server: submits jobs, uploads data, lists what there is."""
from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from . import data
from ._http import JSON, LONG_S, Call, Transport, Trust
from ._servers import current, kept, token_of_environment
from ._upload import CONTENT_TYPES, Progress, Sender, file_upload, path_of
from .data import Dataset, Upload
from .errors import KedgeError
from .job import Job
from .mapping import Mapped, map_jobs
from .model import Model, Models
from .registry import Registry
from .steps import pipeline_of, value_of
from .tasks import Task

RESUMES_FROM = 16 << 20   # bytes


class Preview(dict[str, Any]):
    """A data set's columns and first rows."""

    def _repr_html_(self) -> str:
        from . import _html
        return _html.of_preview(self)


class Session:
    """Thread safe. Calls are tried again for a minute where that is safe, while the server is away or busy. All raise KedgeError."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"Session({self.url!r})"

    def _repr_html_(self) -> str | None:
        from . import _html
        info = _html.ask(self._transport, "/v1/info")
        return _html.of_session(self.url, info, _html.ask(self._transport, "/v1/jobs?pageSize=5") if info else None)

    @property
    def url(self) -> str:
        return self._transport.url

    def _get(self, path: str) -> Any:
        return self._transport.call(Call("GET", path)).json()

    # Jobs

    def submit(self, dataset: Dataset | dict[str, Any], pipeline: Any = None, task: Task | None = None, *, device: str = "auto",
               deadlines: dict[str, float] | None = None, register: str = "") -> Job:
        """Returns when the server has the job on disk: once, however often the call had to be repeated, for it carries a key. dataset: a Dataset, or a whole
        job as a dict; pipeline: estimators (see kedge.estimators), scikit-learn's, or names; deadlines: seconds of queue, fetch and
        run; register: a name of the registry, of which the model of a fit or a search becomes a new version when the job ends."""
        spec = dict(dataset) if isinstance(dataset, dict) else self._spec(dataset, pipeline, task, device, deadlines)
        if register:
            spec["register"] = register
        return self._submit(spec, secrets.token_hex(16))

    def _submit(self, spec: dict[str, Any], key: str) -> Job:
        call = Call("POST", "/v1/jobs", json.dumps(value_of(spec)).encode(), content_type=JSON, key=key, timeout=LONG_S)
        return Job(self._transport, self._transport.call(call).json()["id"])

    def map(self, specs: Iterable[dict[str, Any]], *, in_flight: int = 4, ordered: bool = True, key: str = "") -> Iterator[Mapped]:
        """Many jobs, some at a time: kedge.map_jobs(), which takes several sessions, with this one."""
        return map_jobs([self], specs, in_flight=in_flight, ordered=ordered, key=key)

    @staticmethod
    def _spec(dataset: Dataset, pipeline: Any, task: Task | None, device: str, deadlines: dict[str, float] | None) -> dict[str, Any]:
        if task is None:
            raise KedgeError("INVALID_VALUE", "the job has no task: kedge.fit(), kedge.cross_validate() ...", "task")
        return {**dataset.document(), **({"pipeline": pipeline_of(pipeline)} if pipeline is not None else {}), "task": task.document(), "device": device,
                **({"deadlines": deadlines} if deadlines else {})}

    def run(self, dataset: Dataset | dict[str, Any], pipeline: Any = None, task: Task | None = None, **more: Any) -> Any:
        """submit() and the result."""
        return self.submit(dataset, pipeline, task, **more).result()

    def job(self, id: str) -> Job:
        return Job(self._transport, id)

    def jobs(self, state: str = "", page_size: int = 50) -> Iterator[dict[str, Any]]:
        """Newest first, page by page as they are read."""
        yield from self._pages("/v1/jobs", "jobs", {"pageSize": page_size, **({"state": state} if state else {})})

    def _pages(self, path: str, member: str, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        while True:
            page = self._get(f"{path}?{urlencode(query)}")
            yield from page[member]
            if not page.get("nextPageToken"):
                return
            query = {**query, "pageToken": page["nextPageToken"]}

    # Data

    def dataset(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, progress: Progress | None = None) -> Dataset:
        """An array, data frame or sparse matrix as a data set, with y as its target, and weights and groups of its rows. Uploaded without a name, once:
        equal data is not sent again."""
        return self.content(data.upload_of(X, y, sample_weight=sample_weight, groups=groups), progress)

    def content(self, upload: Upload, progress: Progress | None = None) -> Dataset:
        """Bytes as a data set that its digest names: sent where the server does not have them. A connection that breaks is taken up where it ended, for as long
        as something arrives within a minute. progress(bytes, of all): else a line on stderr, where that is a terminal."""
        sender = Sender(self._transport, upload, progress)
        sender.send()
        return data.stored(sender.name).select(**upload.selection)

    def upload(self, name: str, source: Any, *, format: str = "", progress: Progress | None = None) -> dict[str, Any]:
        """Stores a data set under a name: a file by its path (CSV, ARFF, libsvm, NPY, NPZ, Parquet or Arrow, also packed by gzip or zstd; format: where neither the file's name nor
        its content says it), an array or a data frame. Large ones as content() does."""
        if isinstance(source, (str, os.PathLike)):
            upload = file_upload(Path(source), format or _format_of(Path(source).name))
        else:
            upload = data.upload_of(source)
        if upload.size >= RESUMES_FROM and upload.format:   # else it takes a moment to send it again
            return self._name(name, upload, progress)
        call = Call("PUT", path_of(name, format=upload.format), upload.pieces, upload.size, CONTENT_TYPES.get(upload.format, "application/octet-stream"), timeout=600.0)
        stored: dict[str, Any] = self._transport.call(call).json()
        return stored

    def _name(self, name: str, upload: Upload, progress: Progress | None) -> dict[str, Any]:
        content = self.content(upload, progress).reference["stored"]
        stored: dict[str, Any] = self._transport.call(Call("PUT", path_of(name, content=content), b"", timeout=LONG_S)).json()
        self._transport.call(Call("DELETE", path_of(content), allowed=(404,)))   # the name leads to it; counted twice it would take room
        return stored

    def datasets(self) -> list[dict[str, Any]]:
        return list(self._pages("/v1/datasets", "datasets", {}))

    def remove_dataset(self, name: str) -> None:
        self._transport.call(Call("DELETE", path_of(name)))

    def preview(self, dataset: Dataset, rows: int = 10) -> Preview:
        """What a data set holds and how a job would read its columns, with 1 to 100 first rows."""
        call = Call("POST", f"/v1/datasets/preview?rows={rows}", json.dumps(dataset.document()).encode(), content_type=JSON, timeout=60.0)
        return Preview(self._transport.call(call).json())

    # Models

    def model(self, id: str) -> Model:
        """id: as a result or a list has it, or a name of the registry: "iris" (its alias `default`, else its highest version), "iris@champion", "iris/3"."""
        return Model(self._transport, id)

    @property
    def models(self) -> Models:
        """models() lists them, newest first; models.push(path) stores one."""
        return Models(self._transport, lambda page_size: self._pages("/v1/models", "models", {"pageSize": page_size}))

    @property
    def registry(self) -> Registry:
        """Names, versions and aliases of stored models."""
        return Registry(self._transport, lambda path, member, page_size: self._pages(path, member, {"pageSize": page_size}))

    def upload_model(self, content: bytes) -> Model:
        """A file that Model.download() gave, or the bytes of another that models.push() takes."""
        return self.models.upload(content)

    # The server

    def info(self) -> dict[str, Any]:
        """Version, devices, built-in data sets, scorers."""
        found: dict[str, Any] = self._get("/v1/info")
        return found

    def estimators(self) -> list[dict[str, Any]]:
        return list(self._get("/v1/estimators")["estimators"])

    def close(self) -> None:
        """The connection of this thread."""
        self._transport.close()


def _format_of(file_name: str) -> str:
    name = file_name.removesuffix(".gz").removesuffix(".zst")
    return next((format for format in CONTENT_TYPES if name.endswith("." + format)), "")


def connect(url: str = "", token: str = "", *, pin: str = "", name: str = "") -> Session:
    """url: else that of `with kedge.server()`, or KEDGE_URL, or the server that `kedge use` has chosen, or http://127.0.0.1:5334; token: else KEDGE_TOKEN, or
    the file KEDGE_TOKEN_FILE; pin: SHA-256 of the server's certificate, else KEDGE_PIN. name: a server that `kedge login` keeps, in place of the three.
    Nothing is sent yet."""
    found = kept(name) if name else None if url else current()
    if found is not None:
        return Session(Transport(found.url, token or found.token, Trust.from_environment(pin or found.pin)))
    return Session(Transport(url or "http://127.0.0.1:5334", token or token_of_environment(), Trust.from_environment(pin)))
