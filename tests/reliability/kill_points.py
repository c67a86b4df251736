"""K1: kedged dies at every fail point; no acknowledged job is lost, none ends twice, event ids have no gaps.

python3 kill_points.py [--seeds 5] [--first-seed 1] [--seconds 150] [--points store.] [--control NAME]

Each round starts kedged with one point armed, works until it dies, starts it again and looks. After --seconds no new seed is begun, but
the first goes through all points. --control NAME switches a promise off: the run must then find broken promises, and exits 0 if it does."""
import argparse
import json
import pathlib
import random
import re
import sys
import tempfile
import time
import urllib.error

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from kedge_server import BIN, FINAL, Kedged, Process, read_port, spec, wait_for  # noqa: E402

DIED = 86   # how a fail point ends the process
PATIENCE = 60
CONTROL_POINTS = {"acknowledge-before-commit": "store.commit.before", "forget-interrupted-jobs": "job.run.after",
                  "skip-event-numbers": "job.run.after"}


def points():
    text = (ROOT / "engine" / "faults" / "fail_point.h").read_text()
    names = re.findall(r'"([a-z.]+\.(?:before|after))"', text)
    assert len(names) >= 40 and len(set(names)) == len(names), names
    return names


class Doomed(Kedged):
    """A server that may die at any moment, also while it starts."""

    def start(self):
        port_file = self.data_dir / "port"
        port_file.unlink(missing_ok=True)
        Process.__init__(self, [BIN / "kedged", "--listen", "127.0.0.1:0", "--port-file", port_file,
                                "--data-dir", self.data_dir / "state", *self.arguments],
                         env=self.extra_env, log=self.data_dir / "kedged.log")
        port = wait_for(lambda: read_port(port_file) or self.child.poll() is not None and -1, PATIENCE, "the port of kedged")
        self.url = f"http://127.0.0.1:{port}" if port > 0 else None


def normal(number):
    return spec(steps=[("GaussianNB", {"var_smoothing": 1e-9 * (1 + number)})], task={"crossValidate": {"cv": 2}})


def with_data(tag):   # of its own, which the server has to file
    rows = "\n".join(f"{i},{i % 2}" for i in range(12))
    job = spec(steps=["GaussianNB"], task={"crossValidate": {"cv": 2}})
    return {**job, "dataset": {"inline": {"csv": f"x,{tag}\n{rows}\n", "target": tag}}}


def long(number):   # long enough to be cancelled
    return spec(steps=[("RandomForestClassifier", {"n_estimators": 3000, "random_state": number})], task={"crossValidate": {"cv": 2}})


def failing(number):
    return spec(steps=[("PCA", {"n_components": 100 + number}), "GaussianNB"])   # iris has 4 columns: the worker says so


class Round:
    """What the client did, and the answers."""

    def __init__(self, tag):
        self.tag = tag
        self.submits = {}       # key -> spec
        self.acknowledged = {}  # key -> id
        self.cancelled = set()  # ids whose cancel was accepted
        self.may_fail = set()   # codes with which a job may rightly end, under what is done to it

    def submit(self, server, key, job):
        self.submits[key] = job
        reply = server.call("POST", "/v1/jobs", job, {"Idempotency-Key": key}, timeout=PATIENCE)
        if reply.status == 202:
            self.acknowledged[key] = reply.json()["id"]
        return self.acknowledged.get(key)

    def work(self, server):
        """Until done or until the server ends."""
        try:
            first = self.submit(server, f"{self.tag}-a", normal(0))
            bad = self.submit(server, f"{self.tag}-b", failing(0))
            last = self.submit(server, f"{self.tag}-c", long(2))
            again = self.submit(server, f"{self.tag}-a", normal(0))
            assert again == first, "a key was given two jobs"
            if server.call("POST", f"/v1/jobs/{last}/cancel", timeout=PATIENCE).status == 202:
                self.cancelled.add(last)
            own = self.submit(server, f"{self.tag}-d", with_data(self.tag))
            for job in (first, bad, own):
                server.call("GET", f"/v1/jobs/{job}?wait=10s", timeout=PATIENCE)
        except (OSError, urllib.error.URLError, json.JSONDecodeError, EOFError, ValueError) as error:
            self.ended = error
        except Exception as error:   # http.client's own, which are no OSErrors
            if type(error).__module__ != "http.client":
                raise


def check(server, done, problems):
    """The promises, for the jobs of one round."""
    for key, job_id in list(done.acknowledged.items()):
        if server.call("GET", f"/v1/jobs/{job_id}").status != 200:
            problems.append(f"{key}: {job_id} was acknowledged and is lost")
            del done.acknowledged[key]
    for key, job in done.submits.items():   # repeating a submit gives the same job, or makes the one that was not acknowledged
        reply = server.call("POST", "/v1/jobs", job, {"Idempotency-Key": key})
        if reply.status != 202:
            problems.append(f"{key}: repeating the submit is answered {reply.status}")
        elif done.acknowledged.setdefault(key, reply.json()["id"]) != reply.json()["id"]:
            problems.append(f"{key}: a second job {reply.json()['id']} in addition to {done.acknowledged[key]}")
    for key, job_id in done.acknowledged.items():
        check_job(server, key, job_id, done, problems)


def check_job(server, key, job_id, done, problems):
    job = server.call("GET", f"/v1/jobs/{job_id}?wait=20s", timeout=PATIENCE).json()
    if job.get("state") not in FINAL:
        problems.append(f"{key}: {job_id} does not end, it is {job.get('state', 'lost')}")
        return
    wanted = "failed" if key.endswith("-b") else "cancelled" if job_id in done.cancelled else None
    if wanted and job["state"] != wanted:
        problems.append(f"{key}: is {job['state']}, not {wanted}")
    if not wanted and job["state"] == "failed" and (job.get("error") or {}).get("code") not in done.may_fail:
        problems.append(f"{key}: failed: {job.get('error')}")
    lines = server.call("GET", f"/v1/jobs/{job_id}/events", headers={"Accept": "application/x-ndjson"}).body.splitlines()
    events = [json.loads(line) for line in lines]
    ids = [event["id"] for event in events]
    if ids != list(range(1, len(ids) + 1)):
        problems.append(f"{key}: event ids {ids}")
    results = sum("result" in event for event in events)
    ends = sum(event.get("state", {}).get("state") in FINAL for event in events)
    if results != (job["state"] == "succeeded") or ends != 1:
        problems.append(f"{key}: {results} results, {ends} final states")


def run_round(folder, point, hit, seed, control, problems):
    """True if the server died at the point."""
    env = {"KEDGE_FAIL_POINT": f"{point}=abort@{hit}"} if point else {}
    if point and point.startswith(("job.retry", "worker.reap")):
        env["KEDGE_FAILPOINT"] = f"worker.run.abort_once:{folder}/crashed-{seed}-{point}"
    if control:
        env["KEDGE_CONTROL"] = control
    before = len(problems)
    options = ["--keep-jobs", "1"] if point and point.startswith("store.remove") else []
    server = Doomed(folder, *options, env=env)
    done = Round(f"{point}-{seed}-{hit}")
    try:
        if server.url:
            done.work(server)
        if options:
            wait_for(lambda: server.child.poll() is not None, PATIENCE, "retention")
            done.acknowledged.clear(), done.submits.clear()   # what is forgotten need not be there
    finally:
        status = server.stop() if server.child.poll() is None else server.child.returncode
    if status not in (0, DIED):
        problems.append(f"{point}: kedged ended with {status}")
    server = Kedged(folder, env={"KEDGE_CONTROL": control} if control else {})
    try:
        check(server, done, problems)
    finally:
        server.stop()
    if len(problems) > before:
        print("\n".join(problems[before:]), file=sys.stderr)
    return status == DIED


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--points", default="")
    parser.add_argument("--control", choices=CONTROL_POINTS)
    options = parser.parse_args()
    chosen = [p for p in points() if p.startswith(options.points)]
    if options.control:
        chosen = [CONTROL_POINTS[options.control]]
    begin, problems, deaths, rounds = time.monotonic(), [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            if seed > options.first_seed and time.monotonic() - begin > options.seconds:
                break
            dice = random.Random(seed)
            for point in chosen:
                hits = range(1, 9) if options.control else [1 if seed == options.first_seed else dice.randint(1, 3)]
                for hit in hits:   # a control is over once it was noticed
                    rounds += 1
                    deaths[point] = deaths.get(point, 0) + run_round(folder, point, hit, seed, options.control, problems)
                    if options.control and problems:
                        break
    never = sorted(point for point, count in deaths.items() if count == 0)
    print(f"{rounds} rounds at {len(chosen)} points, {sum(deaths.values())} deaths, {len(problems)} broken promises, "
          f"{time.monotonic() - begin:.0f} s")
    if options.control:
        return 0 if problems else 1
    if never:
        print(f"never reached: {', '.join(never)}")
    return 1 if problems or never else 0


if __name__ == "__main__":
    sys.exit(main())
