"""A pytest plugin that runs tests of others with scikit-learn's fits on a server: pytest -p kedge.testing --pyargs sklearn.model_selection.

The server is the one that KEDGE_URL names; without it, kedged from KEDGE_BIN or the PATH runs for as long as the tests do. All that can be sent is
sent, and the summary says how much that was, and why the rest stayed.

--kedge-expected FILE names tests that fail with a server, in groups with reasons, and the share of calls of each module that went:

    expected:
      - reason: forests draw other numbers than numpy
        release: ">=1.9"        # of scikit-learn; else all
        tests: ["sklearn.ensemble.tests.test_forest::test_distribution"]      # without [...], all parameters of a test
    share: {sklearn.ensemble.tests.test_forest: 0.79}

A test of these that passes is a failure, and so are a name that no test has, more than --kedge-most of them, and a smaller share."""
from __future__ import annotations

import collections
import contextlib
import logging
import os
import zlib
from collections.abc import Iterator
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


class Expected:
    """What a file says of tests that fail, and of shares. `problems`: what is otherwise."""

    def __init__(self, path: str, most: int) -> None:
        import yaml   # type: ignore[import-untyped, unused-ignore]   # of the tests alone

        with open(path, encoding="utf-8") as file:
            said = yaml.safe_load(file)
        self._most = most
        self._reasons = {test: group["reason"] for group in said["expected"] if _is_release(group.get("release")) for test in group["tests"]}
        self._share: dict[str, float] = said.get("share", {})
        self._passed: dict[str, Counts] = {}
        self._before = (0, 0)
        self.problems: list[str] = []

    def mark(self, items: list[Any], is_whole: bool) -> None:
        """is_whole: whether all tests of the modules are among them."""
        import pytest

        matched, n_marked, modules = set(), 0, set()
        for item in items:
            name = name_of(item)
            modules.add(name.partition("::")[0])
            found = next((one for one in (name, name.partition("[")[0]) if one in self._reasons), None)
            if found is not None:
                matched.add(found)
                n_marked += 1
                item.add_marker(pytest.mark.xfail(reason=self._reasons[found], strict=True))
        if is_whole:
            self.problems += [f"no test is {name}" for name in self._reasons if name.partition("::")[0] in modules and name not in matched]
        if n_marked > self._most:
            self.problems.append(f"{n_marked} tests are expected to fail, at most {self._most} may be")

    def ran(self, module: str) -> None:
        """A test of this module has ended."""
        of_module, now = self._passed.setdefault(module, Counts()), (counts.remote, counts.local)
        of_module.remote += now[0] - self._before[0]
        of_module.reasons[""] += now[1] - self._before[1]
        self._before = now

    def lines(self) -> Iterator[str]:
        for module, found in self._passed.items():
            least = self._share.get(module)
            yield f"kedge: {module}: {found.remote} of {found.remote + found.local} calls went" + (f", at least {least:.0%}" if least is not None else "")

    def judge(self, is_whole: bool) -> None:
        """After all tests."""
        for module, found in self._passed.items():
            if is_whole and found.share < self._share.get(module, 0.0):
                self.problems.append(f"{module}: {found.share:.3f} of its calls went, it was {self._share[module]}")


def _is_release(bound: str | None) -> bool:
    from packaging.specifiers import SpecifierSet   # which pytest brings
    from sklearn import __version__

    return bound is None or SpecifierSet(bound).contains(__version__, prereleases=True)


def name_of(item: Any) -> str:
    """MODULE::TEST[PARAMETERS], wherever the module lies."""
    return f"{item.module.__name__}::{item.nodeid.partition('::')[2]}"


counts = Counts()
_ends = contextlib.ExitStack()
_expected: list[Expected] = []


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("kedge")
    group.addoption("--kedge-expected", metavar="FILE", help="names tests that fail with a server, and the share of calls that go")
    group.addoption("--kedge-most", metavar="N", type=int, default=60, help="so many tests may be expected to fail (60)")
    group.addoption("--kedge-part", metavar="N/M", help="run the Nth of M parts of the tests, which hold the same tests in each run")


def pytest_configure(config: Any) -> None:
    log = logging.getLogger("kedge.sklearn")
    log.addHandler(counts)
    log.setLevel(logging.INFO)
    if path := config.getoption("--kedge-expected"):
        _expected.append(Expected(path, config.getoption("--kedge-most")))
    session = None if os.environ.get("KEDGE_URL") else _ends.enter_context(server())
    sklearn.patch(session, policy="always", fallback="silent")
    _ends.callback(sklearn.unpatch)


def pytest_unconfigure(config: Any) -> None:
    _ends.close()


def _is_whole(config: Any) -> bool:
    return not (config.option.keyword or config.option.markexpr or any("::" in one for one in config.args))


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    for expected in _expected:
        expected.mark(items, _is_whole(config))
    if part := config.getoption("--kedge-part"):
        which, _, parts = part.partition("/")
        taken = [item for item in items if zlib.crc32(name_of(item).encode()) % int(parts) == int(which) - 1]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(taken)])
        items[:] = taken


def pytest_runtest_teardown(item: Any) -> None:
    for expected in _expected:
        expected.ran(item.module.__name__)


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    for expected in _expected:
        expected.judge(_is_whole(session.config) and not session.config.getoption("--kedge-part") and not session.shouldstop)
        if expected.problems:
            session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"kedge: {counts.remote} calls went to the server, {counts.local} stayed ({counts.share:.2f} went)")
    for reason, count in counts.reasons.most_common(10):
        terminalreporter.write_line(f"{count:8} {reason}")
    for expected in _expected:
        for line in [*expected.lines(), *(f"kedge: {problem}" for problem in expected.problems)]:
            terminalreporter.write_line(line)
