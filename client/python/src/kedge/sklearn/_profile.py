"""Where the time of a program's calls went: python -m kedge --profile, or patch(profile=Profile())."""
from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

PHASES = ("upload", "server", "download")


@dataclass
class Row:
    """Of one method."""

    n_remote: int = 0
    n_local: int = 0
    remote_s: float = 0.0
    local_s: float = 0.0
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)


class Profile:
    """Seconds and calls by method. Thread safe. Calls within others, such as the fits of a search, are rows of their own and part of the outer one's
    seconds, too."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self._lock = threading.Lock()

    def row(self, what: str) -> Row:
        with self._lock:
            return self.rows.setdefault(what, Row())

    @contextlib.contextmanager
    def phase(self, what: str, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            row, took = self.row(what), time.perf_counter() - begun
            with self._lock:
                row.phases[name] += took

    def stayed(self, what: str, reason: str) -> None:
        row = self.row(what)
        with self._lock:
            row.reasons[reason] += 1

    def took(self, what: str, went: bool, seconds: float) -> None:
        row = self.row(what)
        with self._lock:
            if went:
                row.n_remote, row.remote_s = row.n_remote + 1, row.remote_s + seconds
            else:
                row.n_local, row.local_s = row.n_local + 1, row.local_s + seconds

    def table(self) -> str:
        """For people, the longest first."""
        titles = ("method", "remote", "seconds", *PHASES, "local", "seconds", "why local")
        rows = sorted(self.rows.items(), key=lambda item: -(item[1].remote_s + item[1].local_s))
        cells = [(what, str(row.n_remote), f"{row.remote_s:.3f}", *(f"{row.phases[name]:.3f}" for name in PHASES), str(row.n_local), f"{row.local_s:.3f}",
                  "; ".join(f"{reason} ({count})" if count > 1 else reason for reason, count in row.reasons.most_common(3))) for what, row in rows]
        widths = [max(len(line[i]) for line in [titles, *cells]) for i in range(len(titles) - 1)]
        lines = ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:])), line[-1]]).rstrip()
                 for line in [titles, *cells]]
        return "\n".join(lines)
