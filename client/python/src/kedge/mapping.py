"""Many jobs over one server or several: some at a time, in order or as they come."""
from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ConnectionFailed, KedgeError

if TYPE_CHECKING:
    from .job import Job, Result
    from .session import Session


@dataclass(frozen=True)
class Mapped:
    """A job that has ended, or one that no server took. There is a result or an error."""

    spec: int               # by position
    session: Session | None = None
    job: Job | None = None
    result: Result | None = None
    error: KedgeError | None = None


class _Run:
    """Threads that submit jobs and wait for them; what ends is read by one reader."""

    def __init__(self, sessions: list[Session], specs: list[dict[str, Any]], in_flight: int, key: str) -> None:
        self.sessions, self.specs, self.key = sessions, specs, key
        self.waiting = deque(range(len(specs)))
        self.ended: dict[int, Mapped] = {}
        self.changed = threading.Condition()   # guards what follows and what is above
        self.away: set[int] = set()
        self.submitting = 0
        self.stopped = False
        for number in range(len(sessions)):
            for _ in range(min(in_flight, len(specs))):
                threading.Thread(target=self.work, args=(number,), daemon=True).start()

    def take(self, server: int) -> int | None:
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or server in self.away or self.waiting or self.submitting == 0)
            if self.stopped or server in self.away or not self.waiting:
                return None
            self.submitting += 1
            return self.waiting.popleft()

    def work(self, server: int) -> None:
        session = self.sessions[server]
        while (spec := self.take(server)) is not None:
            job = None
            try:
                job = session._submit(self.specs[spec], f"{self.key}-{spec}")
                self.submitted()
                mapped = Mapped(spec, session, job, result=job.result())
            except KedgeError as error:
                if job is None and isinstance(error, ConnectionFailed) and self.put_back(spec, server):
                    continue
                if job is None:
                    self.submitted()
                mapped = Mapped(spec, session if job else None, job, error=error)
            self.end(mapped)

    def submitted(self) -> None:
        with self.changed:
            self.submitting -= 1
            self.changed.notify_all()

    def put_back(self, spec: int, server: int) -> bool:
        """Whether another server may take it."""
        with self.changed:
            self.away.add(server)
            if len(self.away) == len(self.sessions):
                return False
            self.waiting.appendleft(spec)
            self.submitting -= 1
            self.changed.notify_all()
            return True

    def end(self, mapped: Mapped) -> None:
        with self.changed:
            self.ended[mapped.spec] = mapped
            self.changed.notify_all()

    def readable(self, wanted: int | None) -> int | None:
        """Under the lock: a job that can be read; the wanted one, if one is."""
        if self.waiting and self.submitting == 0 and len(self.away) == len(self.sessions):   # nothing takes these any more
            for spec in self.waiting:
                self.ended[spec] = Mapped(spec, error=ConnectionFailed("CONNECTION", "no server answers"))
            self.waiting.clear()
        if wanted is not None:
            return wanted if wanted in self.ended else None
        return next(iter(self.ended), None)

    def read(self, wanted: int | None) -> Mapped:
        with self.changed:
            while (spec := self.readable(wanted)) is None:
                self.changed.wait()
            return self.ended.pop(spec)

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def map_jobs(sessions: Iterable[Session], specs: Iterable[dict[str, Any]], *, in_flight: int = 4, ordered: bool = True, key: str = "") -> Iterator[Mapped]:
    """Runs jobs, given as dicts, on the sessions' servers and yields what ends: in the order of the specs, or as it comes. in_flight: jobs at a time on each
    server. key: a name for this list of jobs, with which a second run gets the jobs of the first from the same server instead of new ones. A job goes to
    the server that has room first; what a server that is away has not taken goes to the others. Leaving the loop leaves submitted jobs to the servers."""
    servers, jobs = list(sessions), [dict(spec) for spec in specs]
    if not servers:
        raise KedgeError("INVALID_VALUE", "map: there are no sessions", "sessions")
    if in_flight < 1:
        raise KedgeError("INVALID_VALUE", f"map: in_flight is {in_flight}, must be at least 1", "in_flight")
    return _results(servers, jobs, in_flight, ordered, key or secrets.token_hex(16))


def _results(servers: list[Session], jobs: list[dict[str, Any]], in_flight: int, ordered: bool, key: str) -> Iterator[Mapped]:
    run = _Run(servers, jobs, in_flight, key)
    try:
        for number in range(len(jobs)):
            yield run.read(number if ordered else None)
    finally:
        run.stop()
