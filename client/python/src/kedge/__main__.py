"""python -m kedge [options] script.py [arguments]: runs a program with scikit-learn's fits on a server."""
from __future__ import annotations

import argparse
import logging
import os
import runpy
import sys

from .errors import KedgeError


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m kedge", description="Runs a Python program. Its fits, searches and cross-validation of scikit-learn go to the server that "
        "KEDGE_URL names, where it can do them. The program is not changed.")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line on stderr for each call: where it ran, and why (also KEDGE_VERBOSE=1)")
    parser.add_argument("--policy", choices=("auto", "always", "never"), default="auto", help="auto keeps small fits on this machine")
    parser.add_argument("--fallback", choices=("warn", "raise", "silent"), default="warn", help="what happens where the server cannot do a call")
    parser.add_argument("--threshold", type=int, default=1 << 20, metavar="BYTES", help="of X, from which auto sends a fit (%(default)s)")
    parser.add_argument("--profile", action="store_true", help="at the end a table on stderr: calls and seconds by method, remote and local, and why")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module in place of a script, with its arguments")
    parser.add_argument("script", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    found = parser.parse_args()
    if not (found.module or found.script):
        parser.error("a script, or -m and a module")
    return found


def main() -> None:
    given = _arguments()
    if given.verbose or os.environ.get("KEDGE_VERBOSE", "") not in ("", "0"):
        logging.getLogger("kedge.sklearn").addHandler(logging.StreamHandler())
        logging.getLogger("kedge.sklearn").setLevel(logging.INFO)
    from . import sklearn
    try:
        profile = sklearn.Profile() if given.profile else None
        sklearn.patch(policy=given.policy, fallback=given.fallback, threshold=given.threshold, profile=profile)
    except KedgeError as error:   # an address or a pin that is none
        sys.exit(f"kedge: {error}")
    try:
        _run(given)
    finally:
        if profile is not None:
            print(profile.table(), file=sys.stderr)


def _run(given: argparse.Namespace) -> None:
    if given.module:
        sys.argv[:] = given.module
        sys.path.insert(0, os.getcwd())
        runpy.run_module(given.module[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = [given.script, *given.arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(given.script))
        runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
