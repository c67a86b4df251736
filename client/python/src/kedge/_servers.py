"""The servers that the command `kedge` keeps, and the one that it uses now."""
from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import KedgeError


@dataclass(frozen=True)
class Kept:
    url: str
    token: str = ""
    pin: str = ""


# Servers of this program's own (`with kedge.server()`, `with kedge.machine()`), the innermost one last.
_running: list[Kept] = []


@contextlib.contextmanager
def meant(server: Kept) -> Iterator[None]:
    """Within, kedge.connect() means this one."""
    _running.append(server)
    try:
        yield
    finally:
        _running.remove(server)


def innermost() -> str:
    """Its URL, or ""."""
    return _running[-1].url if _running else ""


def kept(name: str) -> Kept:
    """As `kedge login` keeps it."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    found = _read(Path(folder) / "kedge" / "servers.json")
    servers = found["servers"] if found else []
    for server in servers:
        if server["name"] == name:
            return Kept(server["url"], server.get("token", ""), server.get("pin", ""))
    raise KedgeError("NOT_FOUND", f"no server is kept as '{name}', there are: {', '.join(s['name'] for s in servers) or 'none'}", "name")


def current() -> Kept | None:
    """The one of `with kedge.server()` or `with kedge.machine()`, KEDGE_URL, or what `kedge use`, `kedge login` or `kedge up` has chosen last."""
    if _running:
        return _running[-1]
    if url := os.environ.get("KEDGE_URL", ""):
        return Kept(url, token_of_environment())
    chosen = chosen_last()
    if chosen.startswith("server:"):
        return kept(chosen.removeprefix("server:"))
    return rented(chosen) if chosen else None


def chosen_last() -> str:
    """The name of a machine, "server:NAME", or ""."""
    try:
        return (_state() / "current").read_text().strip()
    except OSError:
        return ""


def rented(name: str) -> Kept | None:
    """A machine that `kedge up` has rented; None where there is no record of it."""
    machine = _read(_state() / "intents" / f"{name}.json")
    if machine is None:
        return None
    if not machine["address"]:
        raise KedgeError("UNAVAILABLE", f"where {name} answers is not known yet: `kedge machines` looks", "name")
    host = f"[{machine['address']}]" if ":" in machine["address"] else machine["address"]
    return Kept(f"https://{host}:{machine['port']:.0f}", machine["identity"]["token"], machine["identity"]["pin"])


def _state() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(os.environ.get("KEDGE_STATE_DIR") or Path(state) / "kedge" / "machines")


def token_of_environment() -> str:
    file = os.environ.get("KEDGE_TOKEN_FILE", "")
    return os.environ.get("KEDGE_TOKEN", "") or (Path(file).read_text().strip() if file else "")


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise KedgeError("INVALID_VALUE", f"{file} cannot be read: {error}", "name") from None
    return found
