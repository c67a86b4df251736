"""A pytest plugin that runs tests of others with scikit-learn's fits on a server: pytest -p kedge.testing --pyargs sklearn.model_selection.

The server is the one that KEDGE_URL names; without it, kedged from KEDGE_BIN or the PATH runs for as long as the tests do. All that can be sent is
sent, and the summary says how much that was, and why the rest stayed."""
from __future__ import annotations

import collections
import contextlib
import logging
import os
from typing import Any

from . import sklearn
from .local import server


class Counts(logging.Handler):
    """Of calls, from the log of kedge.sklearn."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.remote = 0
        self.reasons: collections.Counter[str] = collections.Counter()

    def emit(self, record: logging.LogRecord) -> None:
        _, _, where = record.getMessage().partition(": ")
        if where.startswith("remote, "):
            self.remote += 1
        elif where.startswith("local, "):
            self.reasons[where.removeprefix("local, ")[:100]] += 1

    @property
    def local(self) -> int:
        return sum(self.reasons.values())

    @property
    def share(self) -> float:
        """Of calls, the part that went."""
        return self.remote / max(1, self.remote + self.local)


counts = Counts()
_ends = contextlib.ExitStack()


def pytest_configure(config: Any) -> None:
    log = logging.getLogger("kedge.sklearn")
    log.addHandler(counts)
    log.setLevel(logging.INFO)
    session = None if os.environ.get("KEDGE_URL") else _ends.enter_context(server())
    sklearn.patch(session, policy="always", fallback="silent")
    _ends.callback(sklearn.unpatch)


def pytest_unconfigure(config: Any) -> None:
    _ends.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"kedge: {counts.remote} calls went to the server, {counts.local} stayed ({counts.share:.2f} went)")
    for reason, count in counts.reasons.most_common(10):
        terminalreporter.write_line(f"{count:8} {reason}")
