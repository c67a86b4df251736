"""Sends a data set by its content: asks first, and goes on where a connection broke."""
from __future__ import annotations

import http.client
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from ._http import PATIENCE_S, Backoff, Call, Transport, means_later
from .data import Upload
from .errors import ConnectionFailed, KedgeError

CONTENT_TYPES = {"npy": "application/x-npy", "npz": "application/x-npz", "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "arrow": "application/vnd.apache.arrow.file", "libsvm": "text/plain", "arff": "text/plain"}
SILENCE_S = 12.0        # after which the server knows that a connection has broken
SHOWN_FROM = 8 << 20    # bytes: less is sent before a line could be read
ANSWER_S = 600.0        # for a large table to be parsed
Progress = Callable[[int, int], object]


def path_of(name: str, **query: str) -> str:
    said = "&".join(f"{key}={quote(value)}" for key, value in query.items() if value)
    return f"/v1/datasets/{quote(name, safe='')}" + (f"?{said}" if said else "")


class Line:
    """Shows bytes of all: a line on stderr, where that is a terminal, or one that is written again in a notebook."""

    PAUSE_S, QUIET_S = 0.2, 0.5   # between two; what is sent sooner is not worth a line

    def __init__(self) -> None:
        self._begun = self._said = time.monotonic()
        self._shown: Any = None   # of a notebook

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if total < SHOWN_FROM or now - self._begun < self.QUIET_S or (done < total and now - self._said < self.PAUSE_S):
            return
        self._said = now
        text = f"upload {done / total:4.0%} of {total / (1 << 20):.0f} MiB, {done / (now - self._begun) / (1 << 20):.1f} MiB/s"
        if sys.stderr.isatty():
            sys.stderr.write("\r" + text + ("\n" if done == total else ""))
            sys.stderr.flush()
        elif is_notebook():
            self._show(text)

    def _show(self, text: str) -> None:
        said = {"text/plain": text, "text/html": f"<pre>{text}</pre>"}
        if self._shown is None:
            self._shown = importlib.import_module("IPython.display").display(said, raw=True, display_id=True)
        else:
            self._shown.update(said, raw=True)


def is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, whose front end shows what is displayed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


class Sender:
    """One data set on its way. progress(bytes, of all) is called as they are handed to the network."""

    def __init__(self, transport: Transport, upload: Upload, progress: Progress | None = None) -> None:
        self._transport, self._upload, self._progress = transport, upload, progress or Line()
        self.name = f"sha256:{upload.digest}"

    def send(self) -> None:
        """Returns when the server has it. Raises ConnectionFailed where nothing more arrives for a minute."""
        backoff, give_up, most = Backoff(), 0.0, -1
        start = self._ask()
        while start is not None:
            if start > most:
                most, give_up, backoff = start, time.monotonic() + PATIENCE_S, Backoff()
            try:
                self._put(start)
                return
            except (KedgeError, OSError, http.client.HTTPException) as error:
                is_worth_it = isinstance(error, ConnectionFailed) or not isinstance(error, KedgeError) or error.status == 409 or means_later(error.status)
                pause = backoff.next()
                if not is_worth_it or time.monotonic() + pause > give_up:
                    raise
            time.sleep(pause)
            start = self._ask_after_break()

    def _ask(self) -> int | None:
        """How many bytes the server has; None: all."""
        reply = self._transport.call(Call("GET", path_of(self.name), allowed=(404,)))   # not HEAD, whose errors would say nothing
        return None if reply.status != 404 else int(reply.headers.get("Upload-Offset", "0"))

    def _ask_after_break(self) -> int | None:
        """The server may take some seconds to know that the connection is gone."""
        end = time.monotonic() + SILENCE_S
        while (start := self._ask()) == 0 and time.monotonic() < end:
            time.sleep(1.0)
        return start

    def _put(self, start: int) -> None:
        size = self._upload.size
        part = {"Content-Range": f"bytes {start}-{size - 1}/{size}"} if start else {}
        self._transport.call(Call("PUT", path_of(self.name, format=self._upload.format), lambda: self._pieces(start), size - start,
                                  CONTENT_TYPES.get(self._upload.format, "application/octet-stream"), timeout=ANSWER_S, repeats=False, extra=part))

    def _pieces(self, start: int) -> Iterator[bytes | memoryview]:
        done = start
        for piece in self._upload.rest(start):
            yield piece
            done += len(piece)
            self._progress(done, self._upload.size)


def file_upload(path: Any, format: str) -> Upload:
    """A file of one of the server's formats, which is read as it is sent."""
    def pieces() -> Iterator[bytes]:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                yield piece
    return Upload(format, path.stat().st_size, pieces)
