"""Rows on tenants: Q1 equal shares under a flood, Q2 shares by weight, Q3 a quota that many race for.

python3 tenants.py ROW [--long] [--seed N] [--control NAME]"""
import collections
import concurrent.futures
import datetime
import signal
import sys
import threading
import time

from access import Guarded
from rows import FAKE, main, small, spec, wait_for

WORK = spec(dataset={"builtin": "digits"}, steps=[("RandomForestClassifier", {"n_estimators": 10, "random_state": 0})], task={"crossValidate": {"cv": 2}})
OPEN = {"queued", "fetching", "running", "finalizing"}


class Shared(Guarded):
    """A server with a token for each tenant."""

    def __init__(self, row, tenants, *arguments, env=None):
        super().__init__(row, "--devices", "cpu", *arguments, env=env)
        for tenant in tenants:
            self.make(tenant, "read,submit", tenant)
        wait_for(lambda: self.as_tenant(tenants[-1], "GET", "/v1/info").status == 200, 10, "the tokens")

    def as_tenant(self, tenant, method, path, body=None):
        return self.ask(method, path, body, {"Authorization": "Bearer " + self.tokens[tenant]})

    def submit_many(self, tenant, count, job):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: self.as_tenant(tenant, "POST", "/v1/jobs", job), range(count)))
        assert all(a.status == 202 for a in answers), collections.Counter(a.status for a in answers)

    def jobs_of(self, tenant):
        jobs, page = [], ""
        while page is not None:
            reply = self.as_tenant(tenant, "GET", f"/v1/jobs?pageSize=500{page}").json()
            jobs += reply["jobs"]
            page = f"&pageToken={reply['nextPageToken']}" if reply.get("nextPageToken") else None
        return jobs

    def is_idle(self, tenant):
        return all(job["state"] not in OPEN for job in self.jobs_of(tenant))


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(share ** 2 for share in shares))


def seconds_by_tenant(row, server, counts):
    """Of each tenant the seconds that its jobs ran, while every tenant had some that waited. The flood's were all there first."""
    since = time.time()
    for tenant, count in counts.items():
        server.submit_many(tenant, count, WORK)
    wait_for(lambda: any(server.is_idle(tenant) for tenant in counts), 300, "the first tenant to be done")
    jobs = {tenant: [job for job in server.jobs_of(tenant) if moment(job["created"]) >= since] for tenant in counts}
    begin = max(min(moment(job["created"]) for job in of) for of in jobs.values()) + 0.5
    end = min(max(moment(job["ended"]) for job in of) for of in jobs.values() if all(job["state"] not in OPEN for job in of))
    ran = {tenant: [(moment(job["started"]), moment(job["ended"])) for job in of if job.get("ended") and job.get("started")] for tenant, of in jobs.items()}
    row.expect(end - begin > 1, f"the window has {end - begin:.1f} s")
    return {tenant: sum(max(0, min(last, end) - max(first, begin)) for first, last in of) for tenant, of in ran.items()}, end - begin


def q1(row):
    """One of four equal tenants floods the queue: each gets the same time, and a fifth's only job starts after the one that runs."""
    flood, others = (10_000, 500) if row.long else (400, 150)
    tenants = ["flood", "one", "two", "three", "lone"]
    server = Shared(row, tenants)
    try:
        alone = []

        def lone():
            wait_for(lambda: len(server.jobs_of("three")) > 10, 120, "the others")
            job = server.as_tenant("lone", "POST", "/v1/jobs?wait=60s", WORK).json()
            alone.append((moment(job["started"]) - moment(job["created"]), moment(job["ended"]) - moment(job["started"])))
        waiter = threading.Thread(target=lone)
        waiter.start()
        used, window = seconds_by_tenant(row, server, {"flood": flood, "one": others, "two": others, "three": others})
        waiter.join(120)
        index = jain(used.values())
        row.expect(index >= 0.95, f"Jain's index is {index:.3f}: {used}")
        waited, ran = alone[0] if alone else (1e9, 0)
        row.expect(waited <= 5 * ran + 1, f"a tenant's only job waited {waited:.1f} s, and ran {ran:.2f} s")
        return f"{flood} jobs against 3 x {others}: Jain's index {index:.4f} over {window:.0f} s, a lone job waited {waited * 1e3:.0f} ms"
    finally:
        server.kill()


def q2(row):
    """Tenants of weights 1, 2 and 4 that all have work get 1, 2 and 4 sevenths of the time; after a new configuration and SIGHUP what that says."""
    settings, jobs_per_weight, said = row.folder / "kedged.toml", 300 if row.long else 100, []
    shares = [{"one": 1, "two": 2, "four": 4}, {"one": 6, "two": 3, "four": 1}]
    write_weights(settings, shares[0])
    server = Shared(row, list(shares[0]), "--config", settings)
    try:
        for weights in shares:
            write_weights(settings, weights)
            server.child.send_signal(signal.SIGHUP)
            wait_for(lambda: (row.folder / "kedged.log").read_text().count("limits were read again") > len(said), 10, "the new weights")
            used, window = seconds_by_tenant(row, server, {tenant: jobs_per_weight * weight for tenant, weight in weights.items()})
            wait_for(lambda: all(server.is_idle(tenant) for tenant in weights), 300, "the end of all")
            parts = {tenant: used[tenant] / sum(used.values()) * sum(weights.values()) / weight for tenant, weight in weights.items()}
            row.expect(all(abs(part - 1) <= 0.05 for part in parts.values()), f"of its share {weights} each got {parts}")
            said.append(f"{':'.join(map(str, weights.values()))} over {window:.0f} s, of its share each got " + ", ".join(f"{part:.3f}" for part in parts.values()))
        settings.write_text('tenant-weight = ["one=0"]\n')
        server.child.send_signal(signal.SIGHUP)
        wait_for(lambda: "its limits stay: " in (row.folder / "kedged.log").read_text(), 10, "a word about a wrong configuration")
        row.expect(server.as_tenant("one", "POST", "/v1/jobs?wait=30s", WORK).status == 201, "the server does not go on with the limits that it had")
        return "; ".join(said)
    finally:
        server.kill()


def write_weights(file, weights):
    file.write_text("tenant-weight = [" + ", ".join(f'"{tenant}={weight}"' for tenant, weight in weights.items()) + "]\n")


def q3(row):
    """Two hundred submits at once for a quota of fifty: fifty are taken, the others are refused with a time to come again, and one more is taken once one has ended."""
    quota, at_once = 50, 200
    server = Shared(row, ["alice", "bob"], "--worker", FAKE, *([] if row.control == "no-quota" else ["--tenant-jobs", str(quota)]), env={"KEDGE_FAKE_HOW": "WaitForCancel"})
    try:
        for number in range(10 if row.long else 2):
            together = threading.Barrier(at_once)

            def submit(n):
                together.wait()
                return server.as_tenant("alice", "POST", "/v1/jobs", {**small(n), "pipeline": [{"estimator": "GaussianNB"}]})
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                answers = list(pool.map(submit, range(at_once)))
            statuses = collections.Counter(answer.status for answer in answers)
            row.expect(statuses == {202: quota, 429: at_once - quota}, f"answers {dict(statuses)}")
            refused = [answer for answer in answers if answer.status == 429]
            row.expect(all(int(a.headers["Retry-After"]) > 0 and a.json()["code"] == "TOO_MANY_REQUESTS" for a in refused), "no time to come again")
            told = {(a.headers["RateLimit"], a.headers["RateLimit-Policy"]) for a in refused}
            row.expect(told == {('"jobs";r=0', f'"jobs";q={quota};qu="concurrent-requests"')}, f"the quota is shown as {told}")
            row.expect(server.as_tenant("bob", "POST", "/v1/jobs", small()).status == 202, "another tenant's quota is touched")
            taken = [answer.json()["id"] for answer in answers if answer.status == 202]
            for job in taken:
                server.as_tenant("alice", "POST", f"/v1/jobs/{job}/cancel")
            wait_for(lambda: all(job["state"] not in OPEN for job in server.jobs_of("alice")), 30, "the end of all")
            row.expect(server.as_tenant("alice", "POST", "/v1/jobs", small()).status == 202, "the quota is not given back")
            last = server.jobs_of("alice")[0]["id"]
            server.as_tenant("alice", "POST", f"/v1/jobs/{last}/cancel")
            wait_for(lambda: all(job["state"] not in OPEN for job in server.jobs_of("alice")), 30, "the end of all")
        return f"{number + 1} times {at_once} at once: {quota} taken each"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"Q1": q1, "Q2": q2, "Q3": q3}, {"Q1": ["ignore-shares"], "Q2": ["ignore-weights"], "Q3": ["no-quota"]}))
