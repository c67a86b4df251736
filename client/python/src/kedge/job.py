"""Jobs on the server: their events, their end, what they leave."""
from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._http import JSON, PATIENCE_S, Backoff, Call, Transport, means_later
from .errors import JobFailed, KedgeError, known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .model import Model

FINAL = frozenset({"succeeded", "failed", "cancelled"})
# Of tables: what download(format=...) asks for.
FORMS = {"parquet": "application/vnd.apache.parquet", "arrow": "application/vnd.apache.arrow.file", "arrow-stream": "application/vnd.apache.arrow.stream"}


class Result(dict[str, Any]):
    """A job's result, as the server writes it, with shorthands."""

    def _repr_html_(self) -> str:
        from . import _html
        return _html.of_result(self)

    def plot(self, what: str | None = None, ax: Axes | None = None) -> Figure:
        """With matplotlib: "scores" of the folds, "timings", "confusion_matrix", "roc", "search", "learning_curve" (of halving searches), or all that the
        result has. Into `ax`, or a figure of its own, which is returned. Raises KedgeError (NOT_FOUND) for what the result has no data for."""
        from . import _plot
        return _plot.plot(self, what, ax)

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """By scorer: perFold, mean, std."""
        return dict(self.get("scores", {}))

    def mean(self, scorer: str) -> float:
        if scorer not in self.scores:
            raise KedgeError("NOT_FOUND", f"the result has no score '{scorer}', it has {', '.join(self.scores) or 'none'}", "scorer")
        return float(self.scores[scorer]["mean"])

    @property
    def fitted(self) -> dict[str, dict[str, Any]]:
        """By step its fitted attributes."""
        return dict(self.get("fitted", {}))

    @property
    def model(self) -> str:
        """Id of the model that the job has stored, or ""."""
        return str(self.get("model", ""))

    @property
    def registered(self) -> str:
        """"NAME/VERSION" that the model has become (submit(register=...)), or ""."""
        return str(self.get("registered", ""))

    @property
    def best_params(self) -> dict[str, Any]:
        """Of a search."""
        return dict(self.get("search", {}).get("bestParams", {}))

    @property
    def best_score(self) -> float:
        return float(self["search"]["bestScore"])

    @property
    def cv_results(self) -> dict[str, Any]:
        """cv_results_ of a search."""
        return dict(self["search"]["cvResults"])

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds by phase."""
        return dict(self.get("timings", {}))

    @property
    def warnings(self) -> list[str]:
        return list(self.get("warnings", []))


class Event(dict[str, Any]):
    """{"id", "time", and one of "state", "progress", "metric", "timing", "log", "result", "gap"}."""

    @property
    def id(self) -> int:
        return int(self["id"])

    @property
    def kind(self) -> str:
        return next(name for name in ("state", "progress", "metric", "timing", "log", "result", "gap") if name in self)

    @property
    def is_last(self) -> bool:
        return self.kind == "state" and self["state"]["state"] in FINAL


class Job:
    """A handle. Losing it does not cancel the job: `session.job(id)` finds it again."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport, self.id = transport, id

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def _repr_html_(self) -> str | None:
        """Of a notebook: as it is now; None where the server does not answer."""
        from . import _html
        return _html.of_job(self.id, _html.ask(self._transport, self._path()))

    def _path(self, rest: str = "") -> str:
        return f"/v1/jobs/{quote(self.id, safe='')}{rest}"

    def status(self) -> dict[str, Any]:
        """The job as it is now: state, spec, attempts, times; error or result once it has ended."""
        found: dict[str, Any] = self._transport.call(Call("GET", self._path())).json()
        return found

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """The job when it has ended. Raises TimeoutError after so many seconds; the job continues."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = 30.0 if end is None else min(30.0, max(0.0, end - time.monotonic()))
            found: dict[str, Any] = self._transport.call(Call("GET", self._path(f"?wait={left * 1000:.0f}ms"), timeout=left + 30)).json()
            if found["state"] in FINAL:
                return found
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"{self.id} is {found['state']} after {timeout} s; it continues")

    def result(self, timeout: float | None = None) -> Result:
        """Waits. Raises JobFailed for a job that failed or was cancelled."""
        ended = self.wait(timeout)
        if ended.get("error"):
            raise JobFailed(*known(ended["error"]))
        if ended["state"] == "cancelled":
            raise JobFailed("CANCELLED", f"{self.id} was cancelled")
        return Result(ended["result"])

    def events(self, after: int = 0, follow: bool = True) -> Iterator[Event]:
        """The events behind number `after`, to the job's end, or only those that are stored now. A connection that breaks is taken up again without
        gap or repeat. Raises ConnectionFailed when the server stays away for a minute."""
        backoff, give_up = Backoff(), 0.0   # from the first failure on
        while True:
            begun = time.monotonic()
            try:
                for line in self._transport.lines(self._path(f"/events?after={after}{'' if follow else '&follow=false'}")):
                    event = Event(json.loads(line))
                    if event.id <= after:
                        continue
                    after, give_up, backoff = event.id, 0.0, Backoff()
                    yield event
                    if event.is_last:
                        return
                if not follow:
                    return
            except KedgeError as error:
                if not means_later(error.status):
                    raise
            except (OSError, http.client.HTTPException):
                pass
            if not give_up or time.monotonic() - begun > PATIENCE_S:   # a stream that lasted was whole, though the job said nothing
                give_up = time.monotonic() + PATIENCE_S
            if time.monotonic() > give_up:
                raise self._transport._unreachable(TimeoutError("the events broke off"))
            time.sleep(backoff.next())

    def watch(self) -> Result:
        """The result, while a line shows how far the job is: in a notebook, or on stderr if it is a terminal. Ctrl-C leaves the job running."""
        from . import _watch
        return _watch.watch(self)

    def plot(self, what: str | None = None, ax: Axes | None = None) -> Figure:
        """Result.plot(). Waits."""
        return self.result().plot(what, ax)

    def cancel(self) -> None:
        """Raises KedgeError (CONFLICT) when it has ended."""
        self._transport.call(Call("POST", self._path("/cancel"), b"", content_type=JSON))

    def model(self) -> Model:
        """The model that the job has stored. Waits."""
        from .model import Model
        id = self.result().model
        if not id:
            raise KedgeError("NOT_FOUND", f"{self.id} has stored no model")
        return Model(self._transport, id)

    def artifacts(self) -> dict[str, int]:
        """The files that the job has left, with their bytes. Waits."""
        return {one["name"]: one["bytes"] for one in self.result().get("artifacts", [])}

    def download(self, name: str, to: str | Path | Callable[[bytes], object], format: str | None = None) -> None:
        """A file that the job has left, to a file (whole, or not there) or in pieces to a function. format: "parquet", "arrow" or "arrow-stream" for a table
        in that form; None: as it is. Raises KedgeError: NOT_FOUND for another name, NOT_ACCEPTABLE where the server has no kedge-arrow."""
        if format is not None and format not in FORMS:
            raise KedgeError("INVALID_VALUE", f"format is {format!r}, must be one of {', '.join(FORMS)}", "format")
        accept = FORMS[format] if format else "*/*"
        path = self._path(f"/artifacts/{quote(name, safe='')}")
        if callable(to):
            self._transport.call(Call("GET", path, accept=accept, take=to, timeout=60))
            return
        whole, part = Path(to), Path(f"{to}.part")
        try:
            with open(part, "wb") as out:
                self._transport.call(Call("GET", path, accept=accept, take=out.write, timeout=60))
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)
