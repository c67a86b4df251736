"""The same for asyncio: calls run on threads, so that the loop is not blocked. Cancelling a task leaves its job; `await job.cancel()` ends it.

    session = kedge.aio.connect()
    job = await session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.cross_validate())
    async for event in job.events(): ...
    result = await job
"""
from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from . import job as _job
from . import model as _model
from . import registry as _registry
from . import session as _session
from ._upload import Progress
from .data import Dataset, Upload
from .job import Event, Result
from .mapping import Mapped

T = TypeVar("T")
_END = object()


async def _on_thread(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """On a thread that nothing waits for: a task that is cancelled leaves its call behind, and the program may end."""
    loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def tell(error: BaseException | None, value: Any) -> None:
        if not answer.done():
            answer.set_exception(error) if error else answer.set_result(value)

    def call() -> None:
        error, value = None, None
        try:
            value = function(*arguments, **named)
        except BaseException as caught:   # raised again where it is awaited
            error = caught
        with contextlib.suppress(RuntimeError):   # the loop has ended
            loop.call_soon_threadsafe(tell, error, value)

    threading.Thread(target=call, daemon=True).start()
    return await answer  # type: ignore[no-any-return]


async def _each(items: Iterator[T]) -> AsyncIterator[T]:
    """One item at a time from a thread, which ends when its reader has ended."""
    loop, queue, gone = asyncio.get_running_loop(), asyncio.Queue[Any](1), threading.Event()

    def read() -> None:
        try:
            for item in items:
                if gone.is_set():
                    return
                asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()
            end: Any = _END
        except BaseException as error:   # raised again in the reader
            end = error
        if not gone.is_set():
            asyncio.run_coroutine_threadsafe(queue.put(end), loop).result()

    threading.Thread(target=read, daemon=True).start()
    try:
        while (item := await queue.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        gone.set()
        while not queue.empty():
            queue.get_nowait()


class Registry:
    """As Session.registry."""

    def __init__(self, registry: _registry.Registry) -> None:
        self._registry = registry

    def __call__(self, page_size: int = 50) -> AsyncIterator[dict[str, Any]]:
        return _each(self._registry(page_size))

    async def get(self, name: str) -> dict[str, Any]:
        return await _on_thread(self._registry.get, name)

    def versions(self, name: str, page_size: int = 50) -> AsyncIterator[dict[str, Any]]:
        return _each(self._registry.versions(name, page_size))

    async def version(self, name: str, version: int) -> dict[str, Any]:
        return await _on_thread(self._registry.version, name, version)

    async def alias(self, name: str, alias: str) -> dict[str, Any]:
        return await _on_thread(self._registry.alias, name, alias)

    async def add(self, name: str, model: Model | str, **more: Any) -> dict[str, Any]:
        return await _on_thread(self._registry.add, name, getattr(model, "id", str(model)), **more)

    async def set_alias(self, name: str, alias: str, version: int) -> dict[str, Any]:
        return await _on_thread(self._registry.set_alias, name, alias, version)

    async def remove_alias(self, name: str, alias: str) -> None:
        await _on_thread(self._registry.remove_alias, name, alias)

    async def edit(self, name: str, version: int | None = None, **more: Any) -> dict[str, Any]:
        return await _on_thread(self._registry.edit, name, version, **more)

    async def remove(self, name: str, version: int | None = None) -> None:
        await _on_thread(self._registry.remove, name, version)


class Model:
    """As kedge.Model."""

    def __init__(self, model: _model.Model) -> None:
        self._model, self.id = model, model.id

    def __repr__(self) -> str:
        return f"aio.Model({self.id!r})"

    async def info(self) -> dict[str, Any]:
        return await _on_thread(self._model.info)

    async def predict(self, X: Any, output: str = "predict") -> Any:
        return await _on_thread(self._model.predict, X, output)

    async def contributions(self, X: Any, background: Any = None) -> Any:
        return await _on_thread(self._model.contributions, X, background)

    async def interactions(self, X: Any) -> Any:
        return await _on_thread(self._model.interactions, X)

    async def transform(self, X: Any) -> Any:
        return await _on_thread(self._model.transform, X)

    async def download(self, open: bool = False) -> bytes:
        return await _on_thread(self._model.download, open)

    async def members(self) -> list[tuple[str, Any]]:
        return await _on_thread(self._model.members)

    async def serving(self) -> dict[str, Any]:
        return await _on_thread(self._model.serving)

    async def set_serving(self, *, max_batch_rows: int | None = None, max_delay_us: int | None = None, log: dict[str, Any] | None = None) -> dict[str, Any]:
        return await _on_thread(self._model.set_serving, max_batch_rows=max_batch_rows, max_delay_us=max_delay_us, log=log)

    async def log(self) -> list[dict[str, Any]]:
        return await _on_thread(self._model.log)

    async def drift(self) -> dict[str, Any]:
        return await _on_thread(self._model.drift)

    async def reset_drift(self) -> None:
        await _on_thread(self._model.reset_drift)

    async def remove(self) -> None:
        await _on_thread(self._model.remove)


class Job:
    """As kedge.Job. `await job` is its result."""

    def __init__(self, job: _job.Job) -> None:
        self._job, self.id = job, job.id

    def __repr__(self) -> str:
        return f"aio.Job({self.id!r})"

    def __await__(self) -> Generator[Any, None, Result]:
        return self.result().__await__()

    async def result(self, timeout: float | None = None) -> Result:
        return await _on_thread(self._job.result, timeout)

    async def wait(self, timeout: float | None = None) -> dict[str, Any]:
        return await _on_thread(self._job.wait, timeout)

    async def status(self) -> dict[str, Any]:
        return await _on_thread(self._job.status)

    async def cancel(self) -> None:
        await _on_thread(self._job.cancel)

    def events(self, after: int = 0, follow: bool = True) -> AsyncIterator[Event]:
        return _each(self._job.events(after, follow))

    async def watch(self) -> Result:
        return await _on_thread(self._job.watch)

    async def plot(self, what: str | None = None, ax: Any = None) -> Any:
        return await _on_thread(self._job.plot, what, ax)

    async def model(self) -> Model:
        return Model(await _on_thread(self._job.model))

    async def artifacts(self) -> dict[str, int]:
        return await _on_thread(self._job.artifacts)

    async def download(self, name: str, to: str | Path | Callable[[bytes], object], format: str | None = None) -> None:
        """to: a file, or a function, which is called on another thread."""
        await _on_thread(self._job.download, name, to, format)


class Session:
    """As kedge.Session. What lists, such as models(), is for `async for`."""

    def __init__(self, session: _session.Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"aio.Session({self.url!r})"

    @property
    def url(self) -> str:
        return self._session.url

    async def submit(self, *arguments: Any, **named: Any) -> Job:
        return Job(await _on_thread(self._session.submit, *arguments, **named))

    async def run(self, *arguments: Any, **named: Any) -> Result:
        return await (await self.submit(*arguments, **named))

    def map(self, specs: Iterable[dict[str, Any]], **more: Any) -> AsyncIterator[Mapped]:
        """As kedge.Session.map(), for `async for`."""
        return _each(self._session.map(specs, **more))

    def job(self, id: str) -> Job:
        return Job(self._session.job(id))

    def jobs(self, state: str = "", page_size: int = 50) -> AsyncIterator[dict[str, Any]]:
        return _each(self._session.jobs(state, page_size))

    async def dataset(self, X: Any, y: Any = None, **more: Any) -> Dataset:
        return await _on_thread(self._session.dataset, X, y, **more)

    async def content(self, upload: Upload, progress: Progress | None = None) -> Dataset:
        return await _on_thread(self._session.content, upload, progress)

    async def upload(self, name: str, source: Any, **more: Any) -> dict[str, Any]:
        return await _on_thread(self._session.upload, name, source, **more)

    async def datasets(self) -> list[dict[str, Any]]:
        return await _on_thread(self._session.datasets)

    async def remove_dataset(self, name: str) -> None:
        await _on_thread(self._session.remove_dataset, name)

    async def preview(self, dataset: Dataset, rows: int = 10) -> dict[str, Any]:
        return await _on_thread(self._session.preview, dataset, rows)

    def model(self, id: str) -> Model:
        return Model(self._session.model(id))

    def models(self, page_size: int = 50) -> AsyncIterator[dict[str, Any]]:
        return _each(self._session.models(page_size))

    @property
    def registry(self) -> Registry:
        return Registry(self._session.registry)

    async def upload_model(self, content: bytes) -> Model:
        return Model(await _on_thread(self._session.upload_model, content))

    async def info(self) -> dict[str, Any]:
        return await _on_thread(self._session.info)

    async def estimators(self) -> list[dict[str, Any]]:
        return await _on_thread(self._session.estimators)

    def close(self) -> None:
        """Of the connection of this thread; those of calls have ended with them."""
        self._session.close()


def connect(*arguments: Any, **named: Any) -> Session:
    """As kedge.connect()."""
    return Session(_session.connect(*arguments, **named))
