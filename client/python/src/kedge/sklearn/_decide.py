"""What stays local, why, and what is said about it."""
from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .._servers import innermost
from ..errors import ConnectionFailed, KedgeError
from ..job import Event, Job
from ..session import Session, connect
from ._profile import Profile

log = logging.getLogger("kedge.sklearn")

AWAY_S = 60.0                # for which a server that did not answer is not asked again
FALLBACKS = ("warn", "raise", "silent")
POLICIES = ("auto", "always", "never")
# What a user has to mend. Such errors are never hidden behind a local fit.
MEND = frozenset({"UNAUTHENTICATED", "FORBIDDEN"})
MEND_WHERE = frozenset({"KEDGE_PIN", "KEDGE_CA", "KEDGE_CLIENT_CERT", "url", "name"})


class Stays(Exception):
    """Why a call is not sent. The text is the reason, as a sentence without its end."""


class FitsAlone(Stays):
    """Why a batch cannot be jobs as a whole, though its fits may be sent one by one."""


class NotSent(UserWarning):
    """A call stayed local, or came back from a server that could not do it."""


@dataclass(frozen=True)
class Decision:
    """Where a call runs: on the server (`goes`), or here, for a reason."""

    goes: bool
    reason: str

    def __str__(self) -> str:
        return f"{'goes to the server' if self.goes else 'stays local'}: {self.reason}"


class Remote:
    """A server, with what it offers, which is asked once."""

    def __init__(self, session: Session) -> None:
        self._session = weakref.ref(session)
        self._estimators: dict[str, dict[str, dict[str, Any]]] | None = None
        self._scorers: list[str] = []
        self._families: dict[str, str] = {}
        self._away_until = 0.0

    @property
    def session(self) -> Session:
        session = self._session()
        assert session is not None
        return session

    def _ask(self) -> dict[str, dict[str, dict[str, Any]]]:
        if self._estimators is None:
            self._scorers = list(self.session.info()["scorers"])
            listed = self.session.estimators()
            self._families = {one["name"]: one["family"] for one in listed}
            self._estimators = {one["name"]: {param["name"]: param for param in one["params"]} for one in listed}
        return self._estimators

    @property
    def estimators(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By class the parameters by name, as GET /v1/estimators has them."""
        return self._ask()

    @property
    def scorers(self) -> list[str]:
        self._ask()
        return self._scorers

    def family(self, estimator: str) -> str:
        self._ask()
        return self._families.get(estimator, "")

    def was_away(self) -> None:
        self._away_until = time.monotonic() + AWAY_S

    @property
    def is_away(self) -> bool:
        return time.monotonic() < self._away_until


_remotes: weakref.WeakKeyDictionary[Session, Remote] = weakref.WeakKeyDictionary()


def remote_of(session: Session) -> Remote:
    return _remotes.setdefault(session, Remote(session))


_defaults: dict[tuple[tuple[str, str], ...], Session] = {}


def _default_session() -> Session:
    """What the environment says now, connected to once."""
    said = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("KEDGE_"))) + (("", innermost()),)
    if said not in _defaults:
        _defaults[said] = connect()
    return _defaults[said]


@dataclass
class Settings:
    """How calls are treated. policy: "always" sends whatever can be sent, "auto" only what is large enough; fallback: what happens to a
    call that should have gone and did not ("warn", "raise", "silent")."""

    session: Session
    policy: str = "always"
    fallback: str = "warn"
    threshold: int = 1 << 20
    quiet_below: int = 0      # calls on fewer bytes stay local without a warning
    n_sent: int = 0           # calls so far
    profile: Profile | None = None
    on_event: Callable[[Event], None] | None = None   # gets the events of the jobs
    _said: set[tuple[str, str]] = field(default_factory=set)

    @staticmethod
    def of(session: Session | None, **more: Any) -> Settings:
        for name, choices in (("policy", POLICIES), ("fallback", FALLBACKS)):
            if more.get(name, choices[0]) not in choices:
                raise KedgeError("INVALID_VALUE", f"{name} is {more[name]!r}, must be one of {', '.join(choices)}", name)
        return Settings(session if session is not None else _default_session(), **more)

    def for_fits(self) -> Settings:
        """Of the fits of a batch: what reads X once stays here."""
        return replace(self, policy="auto", threshold=self.threshold if self.policy == "auto" else 0, n_sent=0)

    @property
    def remote(self) -> Remote:
        return remote_of(self.session)

    def check_policy(self, size: int, is_heavy: bool) -> None:
        """Raises Stays for what the policy keeps here."""
        if self.policy == "never":
            raise Stays("policy is 'never'")
        if self.policy == "auto" and not is_heavy and size < self.threshold:
            raise Stays(f"{size} bytes are less than the threshold of {self.threshold}")
        if self.policy == "auto" and self.remote.is_away:
            raise Stays(f"{self.session.url} did not answer within the last {AWAY_S:.0f} s")

    def check_family(self, estimator: str, reasons: dict[str, str]) -> None:
        """Raises Stays for families of which no fit is worth sending."""
        if self.policy == "auto" and (family := self.remote.family(estimator)) in reasons:
            raise Stays(reasons[family])

    def phase(self, what: str, name: str) -> contextlib.AbstractContextManager[None]:
        """What is done within belongs to a phase of the profile."""
        return self.profile.phase(what, name) if self.profile is not None else contextlib.nullcontext()

    def took(self, what: str, went: bool, begun: float) -> None:
        """A call that began at that time.perf_counter() has ended."""
        if self.profile is not None:
            self.profile.took(what, went, time.perf_counter() - begun)

    def sent(self, what: str, jobs: list[Job]) -> None:
        self.n_sent += 1
        log.info("%s: remote, %s%s", what, ", ".join(job.id for job in jobs[:3]), f" and {len(jobs) - 3} more" if len(jobs) > 3 else "")

    def kept(self, what: str, size: int, error: Stays | KedgeError, by_policy: bool = False, raises: bool = True) -> None:
        """Logs, warns once for each class and reason, or raises, as the user wants it. What is for the user to mend is raised always.
        raises: whether a reason of the client's own may be raised."""
        if isinstance(error, KedgeError):
            if error.code in MEND or (isinstance(error, ConnectionFailed) and error.where in MEND_WHERE):
                raise error
            if isinstance(error, ConnectionFailed):
                self.remote.was_away()
            reason = f"the server could not do it: {error}"
        else:
            reason = str(error)
        log.info("%s: local, %s", what, reason)
        if self.profile is not None:
            self.profile.stayed(what, reason)
        if by_policy:
            return
        if self.fallback == "raise" and (raises or isinstance(error, KedgeError)):
            raise error if isinstance(error, KedgeError) else KedgeError("STAYS_LOCAL", f"{what} stays local: {reason}") from None
        if self.fallback != "silent" and size >= self.quiet_below and (what, reason) not in self._said:
            self._said.add((what, reason))
            warnings.warn(f"{what} stays local: {reason}", NotSent, stacklevel=4)


@dataclass(frozen=True)
class Call:
    """What is going on: with which settings batches are judged, and whether fits are, too; the estimator whose fit was asked for, if one was."""

    settings: Settings
    with_fits: bool = True
    estimator: Any = None
