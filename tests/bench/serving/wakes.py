#!/usr/bin/env python3
"""Where the time of a one-row prediction goes: latency, and for each request the wake-ups, the processor time and the time in the run queue of the threads that serve
it (/proc/PID/task/TID/schedstat). With several builds they are asked in turns, so that a change of the machine's load meets all of them.

needs: kedge_ask_load (-DKEDGE_BENCH=ON) in the first folder of programs
run:   python3 tests/bench/serving/wakes.py [--ahead] SECONDS ROUNDS BIN [BIN_OF_ANOTHER_BUILD]
--ahead: server, worker and client run by SCHED_FIFO (needs root), before everything else on the machine: what a machine without other load would show"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import kedge_server  # noqa: E402

AHEAD = ("chrt", "-f", "10")
ROW = [5.1, 3.5, 1.4, 0.2]


class Asked:
    """A server with a model, and its threads."""

    def __init__(self, programs, load):
        self.load = load
        self.folder = tempfile.TemporaryDirectory()
        self.server = kedge_server.Kedged(self.folder.name, "--devices", "cpu", programs=pathlib.Path(programs).absolute())
        job = self.server.run({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "LogisticRegression"}], "task": {"fit": {}}})
        model = job["result"]["model"]
        self.bodies = {f"/v1/models/{model}/predict": {"rows": [ROW]},
                       f"/v2/models/{model}/infer": {"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP64", "data": ROW}]}}
        for path in self.bodies:
            self.ask(path, 1, "0.1", ())

    def ask(self, path, clients, seconds, before):
        address = urllib.parse.urlsplit(self.server.url)
        said = subprocess.run([*before, self.load, address.hostname, str(address.port), str(clients), seconds, path, "application/json", json.dumps(self.bodies[path])],
                              capture_output=True, text=True)
        if said.returncode:
            raise SystemExit(said.stdout + said.stderr)
        return json.loads(said.stdout)

    def processes(self):
        return [self.server.child.pid, *self.server.workers()]

    def threads(self):
        """Processor time and time in the run queue in ns, and how often it went to sleep, by thread."""
        found = {}
        for process in self.processes():
            for task in pathlib.Path(f"/proc/{process}/task").iterdir():
                numbers, status = kedge_server.text_of(task / "schedstat").split(), kedge_server.text_of(task / "status")
                if numbers and status:
                    found[task.name] = (int(numbers[0]), int(numbers[1]), int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0]))
        return found

    def measure(self, path, clients, seconds, before):
        start = self.threads()
        found = self.ask(path, clients, seconds, before)
        n = found["requests"] * (float(seconds) + 0.5) / float(seconds)   # ask_load begins half a second earlier than it counts
        spent = [[now - was for now, was in zip(end, start.get(name, (0, 0, 0)))] for name, end in self.threads().items()]
        return {**found, "processor_us": sum(one[0] for one in spent) / n / 1e3, "run_queue_us": sum(one[1] for one in spent) / n / 1e3, "wakes": sum(one[2] for one in spent) / n}


def main():
    arguments = [one for one in sys.argv[1:] if one != "--ahead"]
    ahead = AHEAD if "--ahead" in sys.argv else ()
    seconds, rounds, builds = arguments[0], int(arguments[1]), arguments[2:]
    load = pathlib.Path(builds[0]) / "kedge_ask_load"
    servers = []
    try:
        for build in builds:
            servers.append(Asked(build, load))
        for pid in (pid for one in servers for pid in one.processes() if ahead):
            subprocess.run(["chrt", "-a", "-f", "-p", "10", str(pid)], check=True)
        for call in ("predict", "infer"):
            for clients in (1, 4, 64):
                found = [[] for _ in servers]
                for _ in range(rounds):
                    for one, rows in zip(servers, found):
                        path = next(path for path in one.bodies if path.endswith(call))
                        rows.append(one.measure(path, clients, seconds, ahead))
                for build, rows in zip(builds, found):
                    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
                    print(f"{build:24} {call:8}{clients:3} clients  p50 {middle['p50_ms']:7.3f} ms  p99 {middle['p99_ms']:7.3f} ms  {middle['per_s']:7,.0f} rows/s   a request: "
                          f"{middle['wakes']:5.2f} wake-ups, {middle['processor_us']:6.1f} us of processor, {middle['run_queue_us']:7.1f} us in the run queue", flush=True)
    finally:
        for one in servers:
            one.server.stop()


if __name__ == "__main__":
    main()
