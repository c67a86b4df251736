"""A server on this machine, for as long as it is needed."""
from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ._http import Transport, Trust
from ._servers import Kept, meant
from .errors import ConnectionFailed, KedgeError
from .session import Session


def program(name: str) -> str:
    """The path of kedged or kedge: from KEDGE_BIN, or the wheel kedge-server of this environment, or the PATH."""
    folder = os.environ.get("KEDGE_BIN", "")
    wheel = importlib.util.find_spec("kedge_server")
    in_wheel = str(Path(wheel.origin).parent / "bin") if wheel and wheel.origin else ""
    found = shutil.which(name, path=folder) if folder else shutil.which(name, path=in_wheel) if in_wheel else shutil.which(name)
    if not found:
        where = f"in {folder or in_wheel}" if folder or in_wheel else "on the PATH"
        raise KedgeError("NOT_FOUND", f"{name} is not {where}; the wheel kedge-server has it, and KEDGE_BIN names another folder", "KEDGE_BIN")
    return found


@contextlib.contextmanager
def server(*arguments: str, data_dir: str | os.PathLike[str] | None = None, timeout: float = 60.0) -> Iterator[Session]:
    """`with kedge.server() as session:` starts kedged on a free port of loopback and ends it.
    Within, kedge.connect() and kedge.sklearn mean it. data_dir: kept; else a temporary one.
    arguments: of kedged."""
    with contextlib.ExitStack() as ends:
        folder = Path(data_dir) if data_dir is not None else Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="kedge-")))
        folder.mkdir(parents=True, exist_ok=True)
        port_file = folder / "port"
        port_file.unlink(missing_ok=True)
        log = ends.enter_context(open(folder / "kedged.log", "ab"))
        child = subprocess.Popen([program("kedged"), "--listen", "127.0.0.1:0", "--port-file", str(port_file), "--data-dir", str(folder / "state"), *arguments],
                                 stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        ends.callback(_end, child)
        session = Session(Transport(f"http://127.0.0.1:{_port(child, port_file, folder, timeout)}", "", Trust()))
        ends.callback(session.close)
        ends.enter_context(meant(Kept(session.url)))
        yield session


def _port(child: subprocess.Popen[bytes], file: Path, folder: Path, timeout: float) -> str:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if child.poll() is not None:
            raise ConnectionFailed("CONNECTION", f"kedged ended with {child.returncode}: {(folder / 'kedged.log').read_text(errors='replace')[-2000:]}")
        if file.exists() and (port := file.read_text().strip()):
            return port
        time.sleep(0.01)
    raise ConnectionFailed("CONNECTION", f"kedged does not listen after {timeout} s")


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
