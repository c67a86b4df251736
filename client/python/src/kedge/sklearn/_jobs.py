"""What calls of all kinds share: the size of X, the end of a job."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..errors import KedgeError
from ..job import Event, Job, Result
from ..session import Session
from ._decide import log


def size_of(X: Any) -> int:
    """Bytes, of what says so."""
    size = getattr(X, "nbytes", None)
    if size is None and hasattr(X, "memory_usage"):
        size = X.memory_usage().sum()
    if size is None and hasattr(X, "data"):   # of SciPy
        size = getattr(X.data, "nbytes", None)
    return int(size) if size is not None else 8 * len(X) if hasattr(X, "__len__") else 0


OnEvent = Callable[[Event], None]


def run(session: Session, job: Job, on_event: OnEvent | None = None) -> Result:
    """Waits. After Ctrl-C a message says where the job is. on_event: gets the job's events as they come; what it raises cancels the job."""
    try:
        if on_event is not None:
            _follow(job, on_event)
        return job.result()
    except KeyboardInterrupt:
        log.warning("%s goes on; kedge.connect(%r).job(%r) finds it, and its cancel() ends it", job.id, session.url, job.id)
        raise


def _follow(job: Job, on_event: OnEvent) -> None:
    for event in job.events():
        try:
            on_event(event)
        except Exception:
            cancel([job])
            raise


def run_all(session: Session, jobs: list[Job], on_event: OnEvent | None = None) -> list[Result]:
    """Waits for all. Where one fails, the others are cancelled; after Ctrl-C they go on."""
    results: list[Result] = []
    try:
        for job in jobs:
            results.append(run(session, job, on_event))
    except KedgeError:
        cancel(jobs[len(results) + 1:])
        raise
    except KeyboardInterrupt:
        if others := jobs[len(results) + 1:]:
            log.warning("so do %s", ", ".join(job.id for job in others))
        raise
    return results


def cancel(jobs: list[Job]) -> None:
    """As far as they have not ended and the server answers."""
    for job in jobs:
        with contextlib.suppress(KedgeError):
            job.cancel()
