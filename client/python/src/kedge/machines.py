"""A rented machine, for as long as it is needed."""
from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any, TextIO

from ._servers import chosen_last, meant, rented
from .errors import KedgeError, known
from .local import program
from .session import Session, connect


@contextlib.contextmanager
def machine(gpu: str = "", *, gpus: int | None = None, max_price: float | None = None, max_spend: float | None = None, provider: str = "", region: str = "",
            spot: bool = False, idle: str = "", life: str = "", image: str = "", boot_limit: str = "", log: TextIO | None = None) -> Iterator[Session]:
    """`with kedge.machine("L4", max_price=1.0) as session:` rents the cheapest machine that fits, and gives it back at the end of the block, also after an
    exception or Ctrl-C. Within, kedge.connect() and kedge.sklearn mean it. The arguments are the options of `kedge up`: prices in USD, times such as "30m".
    If this program is killed, the machine ends by itself after `idle` without use, at the latest after `life`. log: gets a line for each phase; else stderr.
    Raises KedgeError where nothing could be rented, and where the provider does not say that the machine has ended."""
    options = {"gpu": gpu, "gpus": gpus, "max-price": max_price, "max-spend": max_spend, "provider": provider, "region": region, "idle": idle, "life": life,
               "image": image, "boot-limit": boot_limit}
    arguments = [f"--{name}={value}" for name, value in options.items() if value not in ("", None)] + (["--spot"] if spot else [])
    with contextlib.ExitStack() as ends:
        rental = _Rental(log or sys.stderr)
        ends.callback(rental.give_back)
        rental.up(arguments)
        found = rented(rental.name)
        if found is None:
            raise KedgeError("NOT_FOUND", f"there is no record of {rental.name}", "name")
        ends.enter_context(meant(found))
        session = connect()
        ends.callback(session.close)
        yield session


class _Rental:
    """What `kedge up` has rented, or is about to. The commands run in sessions of their own, so that Ctrl-C comes to this program alone, which then ends them
    in order."""

    def __init__(self, log: TextIO) -> None:
        self.log, self.name = log, ""
        self.before = chosen_last()   # `kedge up` makes the machine the current server
        self.child: subprocess.Popen[str] | None = None
        self.problem: dict[str, Any] = {}

    def up(self, arguments: list[str]) -> None:
        with tempfile.TemporaryFile("w+") as said:
            self.child = _start(["--json", "up", *arguments], subprocess.PIPE, said)
            self._read()
            if self.child.wait() != 0:
                said.seek(0)
                raise KedgeError(*known({"code": "UNAVAILABLE", "detail": said.read().strip(), **self.problem}))

    def _read(self) -> None:
        assert self.child is not None and self.child.stdout is not None
        for line in self.child.stdout:
            found = json.loads(line)
            if "phase" in found:
                print(f"{found['phase']:<8} {found['seconds']:7.1f} s  {found['note']}", file=self.log, flush=True)
            elif "code" in found:
                self.problem = found
            else:
                self.name = found["id"]
                print(f"{self.name}: {found['url']}, {found['priceUsdPerHour']:.3f} USD/h", file=self.log, flush=True)

    def give_back(self) -> None:
        if self.child is None:
            return
        if self.child.poll() is None:   # interrupted: it ends what it has begun to rent
            self.child.send_signal(signal.SIGINT)
            _to_its_end(self.child, self.log)
        self._read()   # ready after all
        if not self.name:
            return
        with tempfile.TemporaryFile("w+") as said:
            failed = _to_its_end(_start(["down", self.name], said, said), self.log)
            said.seek(0)
            text = said.read().strip()
        if failed:
            raise KedgeError("UNAVAILABLE", f"{self.name} may still cost money: `kedge machines gc` ends it: {text}", "name")
        print(text, file=self.log, flush=True)
        if self.before and self.before != self.name and not chosen_last():
            subprocess.run([program("kedge"), "use", self.before.removeprefix("server:")], capture_output=True, stdin=subprocess.DEVNULL)


def _start(arguments: list[str], out: int | IO[str], err: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen([program("kedge"), *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, start_new_session=True)


def _to_its_end(child: subprocess.Popen[str], log: TextIO) -> int:
    """The exit code. One Ctrl-C is kept for afterwards; a second one leaves the command, which continues."""
    interrupted: KeyboardInterrupt | None = None
    while True:
        try:
            code = child.wait()
            break
        except KeyboardInterrupt as caught:
            if interrupted is not None:
                raise
            interrupted = caught
            print("the machine is being given back; Ctrl-C again to not wait for it", file=log, flush=True)
    if interrupted is not None and code == 0:
        raise interrupted
    return code
