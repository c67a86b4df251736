"""The programs of Kedge's server, in one folder: each finds the others beside itself."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

__version__ = "0.1.0"
PROGRAMS = Path(__file__).resolve().parent / "bin"


def _become(name: str) -> NoReturn:
    """This process becomes the program, so that signals and the exit code are its own."""
    program = str(PROGRAMS / name)
    os.execv(program, [program, *sys.argv[1:]])


def kedged() -> NoReturn:
    _become("kedged")


def kedge() -> NoReturn:
    _become("kedge")


def kedge_worker() -> NoReturn:
    _become("kedge-worker")
