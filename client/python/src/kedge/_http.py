"""HTTP, on the standard library: trust, retries, streams. The rules are those of the C++ client (client/sdk/transport.cc)."""
from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Union
from urllib.parse import urlsplit

from .errors import ConnectionFailed, KedgeError, known

JSON = "application/json"
PATIENCE_S = 60.0          # for which a call is tried again
QUIET_S = 45.0             # a stream without a byte for so long is broken
LONG_S = 120.0
MOST_FAILURES = 9          # of a server that never answered; one for which no connection came about counts as three
Pieces = Iterable[Union[bytes, memoryview]]
Body = Union[bytes, Callable[[], Pieces], None]   # pieces are made again for each try


@dataclass(frozen=True)
class Trust:
    """What the client trusts: the system's authorities, those of a file, or the one certificate whose SHA-256 is the pin."""

    ca: str = ""
    pin: str = ""
    certificate: str = ""
    key: str = ""

    @staticmethod
    def from_environment(pin: str = "") -> Trust:
        pin = (pin or os.environ.get("KEDGE_PIN", "")).replace(":", "").lower()
        if pin and (len(pin) != 64 or set(pin) - set("0123456789abcdef")):
            raise KedgeError("INVALID_VALUE", "KEDGE_PIN: must be the SHA-256 of a certificate, 64 hexadecimal digits", "KEDGE_PIN")
        return Trust(os.environ.get("KEDGE_CA", ""), pin, os.environ.get("KEDGE_CLIENT_CERT", ""), os.environ.get("KEDGE_CLIENT_KEY", ""))

    def context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
        except OSError as error:   # of a file that is missing or has no certificate, too
            raise KedgeError("INVALID_VALUE", f"KEDGE_CA: {self.ca} cannot be read: {error}", "KEDGE_CA") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.pin:   # which says more than a name, an authority or a date
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate:
            try:
                context.load_cert_chain(self.certificate, self.key or None)
            except OSError as error:
                raise KedgeError("INVALID_VALUE", f"KEDGE_CLIENT_CERT: {self.certificate} cannot be read: {error}", "KEDGE_CLIENT_CERT") from None
        return context


class _PinnedConnection(http.client.HTTPSConnection):
    """Looks at the certificate before anything is sent."""

    pin = ""

    def connect(self) -> None:
        super().connect()
        if not self.pin:
            return
        certificate = self.sock.getpeercert(True)
        found = hashlib.sha256(certificate or b"").hexdigest()
        if found != self.pin:
            self.close()
            raise ConnectionFailed(
                "CONNECTION", f"the server's certificate has the SHA-256 {found}, but the pin is {self.pin}: another server answers there, or this one has "
                "a new certificate; do not send it a token before you have the new pin from its operator", "KEDGE_PIN")


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Backoff:
    """Exponential pauses with full jitter, so that clients that failed together do not return together."""

    FIRST_S, LONGEST_S, LONGEST_ASKED_S = 0.1, 5.0, 60.0

    def __init__(self) -> None:
        self.tries = 0

    def next(self, asked: float = 0.0) -> float:
        bound = min(self.LONGEST_S, self.FIRST_S * 2 ** min(self.tries, 10))
        self.tries += 1
        return random.uniform(0, bound) + min(asked, self.LONGEST_ASKED_S)


def means_later(status: int) -> bool:
    return status in (429, 502, 503, 504, 507)


def problem(status: int, body: bytes) -> KedgeError:
    try:
        code, message, where = known(json.loads(body))
        return KedgeError(code, message, where, status)
    except (ValueError, AttributeError):   # not the server's own: a gateway's
        return KedgeError("UNAVAILABLE" if means_later(status) else "INTERNAL", f"the server answered {status}: {body[:200].decode(errors='replace')}", "", status)


@dataclass
class Call:
    method: str
    path: str
    body: Body = None
    size: int = -1                       # of a body in pieces
    content_type: str = ""
    accept: str = JSON
    key: str = ""                        # with it the server does a repeated call once
    timeout: float = 30.0
    repeats: bool = True                 # whether it may be sent again
    take: Callable[[bytes], object] | None = None   # gets the body of a good answer in pieces
    extra: dict[str, str] = field(default_factory=dict)
    allowed: tuple[int, ...] = ()        # statuses of failure that are an answer

    def headers(self, token: str) -> dict[str, str]:
        named = {"Accept": self.accept, "Content-Type": self.content_type, "Idempotency-Key": self.key, "Authorization": f"Bearer {token}" if token else "",
                 "User-Agent": "kedge-python", "Content-Length": str(self.size) if self.size >= 0 else "", **self.extra}
        return {name: value for name, value in named.items() if value}


class _Kept:
    """The connection that a thread of a process keeps. It is closed when the thread or the transport goes."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection, self.process = connection, os.getpid()

    def __del__(self) -> None:
        self.connection.close()


class Transport:
    """Calls to one server. Thread safe: each thread has a connection of its own, which is kept."""

    def __init__(self, url: str, token: str, trust: Trust) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise KedgeError("INVALID_VALUE", f"the address is '{url}', must be http://HOST:PORT or https://HOST:PORT", "url")
        self.url, self.token, self.trust = url.rstrip("/"), token, trust
        self._host, self._port, self._is_tls, self._prefix = parts.hostname, parts.port, parts.scheme == "https", parts.path.rstrip("/")
        self._context = trust.context() if self._is_tls else None
        self._local = threading.local()
        self._has_answered, self._failures = False, 0

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        if not self._is_tls:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        made = _PinnedConnection(self._host, self._port, timeout=timeout, context=self._context)
        made.pin = self.trust.pin
        return made

    # One try on the thread's connection; on a new one for what may not be sent twice, since a kept one may have been closed meanwhile.
    def _attempt(self, call: Call) -> Reply:
        if not self._has_kept() or not call.repeats or call.take:
            self._local.kept = _Kept(self.connection(call.timeout))
        kept: http.client.HTTPConnection = self._local.kept.connection
        kept.timeout = call.timeout
        if kept.sock:
            kept.sock.settimeout(call.timeout)
        try:
            answer = self._answer(kept, call)
            if call.take and answer.status < 300:
                self._hand_on(answer, call.take)
                return Reply(answer.status, answer.headers, b"")
            return Reply(answer.status, answer.headers, answer.read())
        except BaseException:
            self.close()   # what is left of an answer must not be read as the next one
            raise

    # A server may refuse a long body while it is still being sent, and say why.
    def _answer(self, kept: http.client.HTTPConnection, call: Call) -> http.client.HTTPResponse:
        try:
            kept.request(call.method, self._prefix + call.path, body=call.body() if callable(call.body) else call.body, headers=call.headers(self.token))
        except (BrokenPipeError, ConnectionResetError) as broken:
            early = http.client.HTTPResponse(kept.sock, method=call.method) if kept.sock else None
            try:
                if early is None:
                    raise broken
                early.begin()
            except (OSError, http.client.HTTPException):
                raise broken from None
            early.will_close = True
            return early
        return kept.getresponse()

    def _hand_on(self, answer: http.client.HTTPResponse, take: Callable[[bytes], Any]) -> None:
        has_begun = False
        while True:
            try:
                piece = answer.read(1 << 20)
                if not piece and answer.length:   # http.client takes an early end for the end
                    raise http.client.IncompleteRead(b"", answer.length)
            except (OSError, http.client.HTTPException) as caught:
                if has_begun:   # what was handed on cannot come twice
                    raise self._unreachable(caught) from caught
                raise
            if not piece:
                return
            has_begun = True
            take(piece)

    def close(self) -> None:
        """The connection of this thread."""
        self._local.kept = None

    def _has_kept(self) -> bool:
        kept: _Kept | None = getattr(self._local, "kept", None)
        return kept is not None and kept.process == os.getpid()   # after a fork it is the parent's, whose answers come on it

    def call(self, call: Call) -> Reply:
        give_up, backoff = time.monotonic() + PATIENCE_S, Backoff()
        is_first = True
        while True:
            asked = 0.0
            was_kept = self._has_kept() and call.repeats
            try:
                reply = self._attempt(call)
                self._has_answered = True
                if reply.status < 400 or reply.status in call.allowed:
                    return reply
                error = problem(reply.status, reply.body)
                if not means_later(reply.status):
                    raise error
                asked = retry_after(reply)
            except (OSError, http.client.HTTPException) as caught:
                if isinstance(caught, ssl.SSLCertVerificationError):
                    raise self._distrust(caught) from None
                if was_kept and is_first:   # the server had closed it between two calls
                    is_first = False
                    continue
                self._failures += 3 if isinstance(caught, (ConnectionRefusedError, socket.gaierror, TimeoutError)) else 1
                error = self._unreachable(caught)
            is_absent = isinstance(error, ConnectionFailed) and not self._has_answered and self._failures > MOST_FAILURES
            pause = backoff.next(asked)
            if not call.repeats or is_absent or time.monotonic() + pause > give_up:
                raise error
            time.sleep(pause)

    def _unreachable(self, caught: BaseException) -> ConnectionFailed:
        return ConnectionFailed("CONNECTION", f"{self.url}: {caught or type(caught).__name__}; is kedged running there? (KEDGE_URL names the server)")

    def _distrust(self, caught: BaseException) -> ConnectionFailed:
        return ConnectionFailed("CONNECTION", f"{self.url}: the server's certificate is signed by no authority that is known here, or is for another name ({caught}): "
                                "KEDGE_PIN takes its SHA-256 ('kedged init' prints it), KEDGE_CA a file with its authority", "KEDGE_CA")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a long answer as they come, on a connection of their own. Raises OSError or HTTPException where it breaks off."""
        connection = self.connection(QUIET_S)
        try:
            connection.request("GET", self._prefix + path, headers=Call("GET", path, accept="application/x-ndjson").headers(self.token))
            answer = connection.getresponse()
            if answer.status >= 300:
                raise problem(answer.status, answer.read())
            while line := answer.readline():
                if not line.endswith(b"\n"):
                    raise http.client.IncompleteRead(line)
                if line.strip():
                    yield line
        finally:
            connection.close()


def retry_after(reply: Reply) -> float:
    try:
        return float(reply.headers.get("Retry-After", "0"))
    except ValueError:   # a date
        return 0.0
