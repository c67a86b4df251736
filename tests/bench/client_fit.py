#!/usr/bin/env python3
"""Times a fit of 100 MB that the client holds: `kedge.sklearn`, from the array to scikit-learn's fitted object, beside a C++ program, from an .npz file
of the same table to the model's file. In turn, one server, other data in each round. Times `import kedge` and the first connect(), too. Prints
tables for docs/performance/python.md.

    KEDGE_BIN=build/release/bin python tests/bench/client_fit.py [--rounds N] [--rows N] [--only import]
"""
import argparse
import datetime
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("KEDGE_BIN", str(ROOT / "build" / "release" / "bin"))
SOURCES = str(ROOT / "client" / "python" / "src")
sys.path.insert(0, SOURCES)
import kedge  # noqa: E402

import kedge.sklearn  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402

COLUMNS = 30


def fits(session, rounds, rows, folder):
    """Seconds of C++ and of Python by round; the first round warms both up and is not among them."""
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, COLUMNS))
    y = X @ random.standard_normal(COLUMNS) + random.standard_normal(rows)
    environment = {**os.environ, "KEDGE_URL": session.url}
    bench = subprocess.Popen([os.environ["KEDGE_BIN"] + "/kedge_client_fit_bench"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    times = []
    for i in range(rounds + 1):
        X[0, 0] = 2 * i
        file = pathlib.Path(folder, "table.npz")
        np.savez(file, X=X, y=y)
        bench.stdin.write(f"{file}\n")
        bench.stdin.flush()
        native = float(bench.stdout.readline())
        X[0, 0] = 2 * i + 1   # else the server has it already
        begun = time.perf_counter()
        model = kedge.sklearn.fit(LinearRegression(), X, y, session=session, fallback="raise")
        wrapped = time.perf_counter() - begun
        assert model.coef_.shape == (COLUMNS,)
        times.append((native, wrapped))
    bench.stdin.close()
    if bench.wait(timeout=60):
        sys.exit("kedge_client_fit_bench failed")
    return times[1:]


IMPORTS = {"nothing": "pass", "import kedge": "import kedge", "import kedge and connect()": "import kedge; kedge.connect('http://127.0.0.1:1')"}


def starts(rounds):
    """Prints what the imports add to the start of an interpreter: medians over rounds, in each of which all start in turn."""
    times = {what: [] for what in IMPORTS}
    for _ in range(rounds):
        for what, code in IMPORTS.items():
            times[what].append(start(code))
    print(f"| a new interpreter, {rounds} rounds | processor ms | ms by the clock | more than nothing (of pairs) |\n|---|---|---|---|")
    for what, found in times.items():
        processor, clock = (statistics.median(column) * 1000 for column in zip(*found, strict=True))
        added = [statistics.median((one[i] - base[i]) * 1000 for one, base in zip(found, times["nothing"], strict=True)) for i in (0, 1)]
        print(f"| {what} | {processor:.0f} | {clock:.0f} | {added[0]:.0f} and {added[1]:.0f} |")


def start(code):
    """Seconds of an interpreter that runs code: of the processor, and by the clock."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SOURCES}, check=True)
    clock, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=416_667)
    parser.add_argument("--only", choices=["import"])
    given = parser.parse_args()
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {given.rounds} rounds\n")
    starts(20)
    if given.only:
        return
    with kedge.server() as session, tempfile.TemporaryDirectory() as folder:
        times = fits(session, given.rounds, given.rows, folder)
    native, wrapped = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = [b / a for a, b in times]
    print("\n| what | C++ s | Python s | ratio of pairs (range) |\n|---|---|---|---|")
    print(f"| LinearRegression on {given.rows:,} x {COLUMNS} float64 ({given.rows * COLUMNS * 8 / 1e6:.0f} MB), sent, fitted, back | {native:.3f} | {wrapped:.3f} | "
          f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f}) |")


if __name__ == "__main__":
    main()
