"""What the rows share: options, controls, and a list of what was found broken.

A row is a function that takes a Row, does its worst to a server, calls expect(), and returns its figures as text. A control is a
switch under which the row must find something; then the program exits 0 if it did. 77 means that the row cannot run here."""
import argparse
import os
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from kedge_server import BIN, FINAL, SANITIZED, Kedged, Process, Reply, free_port, read_port, spec, wait_for  # noqa: E402,F401

SKIPPED = 77
FAKE = BIN / "kedge_fake_worker"


class CannotRun(Exception):
    """What is missing on this machine."""


class Row:
    def __init__(self, options, folder):
        self.control, self.long, self.seed, self.folder = options.control, options.long, options.seed, pathlib.Path(folder)
        self.problems = []

    def expect(self, holds, text):
        if not holds:
            self.problems.append(text)
        return holds

    def expect_cost(self, holds, text):
        """A bound on memory or time, which a program under a sanitizer is not held to; main() says so."""
        return bool(SANITIZED) or self.expect(holds, text)

    def found(self):
        """True once a control has been noticed: there is nothing more to see."""
        return bool(self.control and self.problems)

    def environment(self, more=None):
        return {**({"KEDGE_CONTROL": self.control} if self.control else {}), **(more or {})}

    def kedged(self, folder=None, *arguments, env=None):
        return Kedged(folder or self.folder, *arguments, env=self.environment(env))

    def fake(self, *arguments, how="Succeed", env=None):
        """A server whose worker computes nothing: see tests/support/fake_worker.cc."""
        return self.kedged(None, "--worker", FAKE, *arguments, env={"KEDGE_FAKE_HOW": how, **(env or {})})

    def fake_in(self, folder):
        return self.kedged(folder, "--worker", FAKE, env={"KEDGE_FAKE_HOW": "Succeed"})


def small(number=0):
    """A job of its own description, with the same scores for every number."""
    return spec(steps=[("GaussianNB", {"var_smoothing": 1e-9 * (1 + 1e-6 * number)})], task={"crossValidate": {"cv": 2}})


def long_job(seed=0):
    """Minutes of work on any machine."""
    return spec(dataset={"builtin": "digits"}, steps=[("RandomForestClassifier", {"n_estimators": 100_000, "random_state": seed})], task={"crossValidate": {"cv": 2}})


def events_of(server, job_id):
    import json
    body = server.call("GET", f"/v1/jobs/{job_id}/events", headers={"Accept": "application/x-ndjson"}).body
    return [json.loads(line) for line in body.splitlines()]


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])


def accept_each(listener, serve):
    """Calls serve(connection) for each connection in a thread of its own, until the listener is closed."""
    def accept():
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def within(condition, seconds):
    """How long it took until the condition held; None if it did not in time."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.02)
    return None


def main(rows, controls):
    """`controls`: of each row, the switches that it must notice."""
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=rows)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control")
    options = parser.parse_args()
    if options.control and options.control not in controls[options.row]:
        parser.error(f"{options.row} has the controls {', '.join(controls[options.row])}")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        row = Row(options, folder)
        try:
            figures = rows[options.row](row)
        except CannotRun as missing:
            print(f"{options.row}: skipped: {missing}")
            return SKIPPED
        except (AssertionError, KeyError) as error:   # a server that does not come back, a job that is not there
            row.problems.append(repr(error))
            figures = "broken off"
    for problem in row.problems[:20]:
        print(problem, file=sys.stderr)
    print(f"{options.row}: {figures}; {len(row.problems)} broken promises, {time.monotonic() - begin:.0f} s"
          + "; under a sanitizer, so no bound on memory or time was judged" * bool(SANITIZED))
    return 1 if bool(row.problems) != bool(options.control) else 0


def tool(name):
    for folder in [*os.environ["PATH"].split(":"), "/usr/sbin"]:
        if (path := pathlib.Path(folder) / name).exists():
            return path
    raise CannotRun(f"{name} is not installed")
