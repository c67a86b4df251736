"""Rows on what tenants and jobs share: S1 names of data, S2 downloads, S3 room on the disk, S4 columns without values.

python3 sharing.py ROW [--long] [--seed N] [--control NAME]"""
import collections
import concurrent.futures
import http.server
import json
import sys
import threading

from rows import FINAL, main, rss_kib, spec, wait_for
from tenants import Shared

FAR = b"0 2097152:1"   # one column of two million has a value


def table(number, rows=20):
    return b"a,b,kind\n" + b"".join(b"%d,%d,%s\n" % (i % 7 + number, i % 5, b"xy"[i % 2:][:1]) for i in range(rows))


def with_data(job, data):
    parts = [b'--edge\r\nContent-Disposition: form-data; name="spec"\r\n\r\n' + json.dumps(job).encode(),
             b'--edge\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\n' + data, b"--edge--\r\n"]
    return b"\r\n".join(parts), {"Content-Type": "multipart/form-data; boundary=edge"}


def ask_as(server, tenant, method, path, body=None, headers=None):
    return server.ask(method, path, body, {**(headers or {}), "Authorization": "Bearer " + server.tokens[tenant]})


def stored(server):
    return list((server.data_dir / "state" / "datasets").glob("stored-*.kds"))


def s1(row):
    """Many jobs bring their data under one X-Request-Id, some are refused, and the user has a data set of that name: each computes with its own."""
    count = 240 if row.long else 40
    server = Shared(row, ["alice"])
    try:
        answer = ask_as(server, "alice", "PUT", "/v1/datasets/job-abc?format=csv", table(1000))
        row.expect(answer.status == 201, f"the upload: {answer.status}")
        mine = ask_as(server, "alice", "GET", "/v1/datasets/job-abc").json()

        def one(number):
            good = number % 4 != 0
            job = spec(dataset={"stored": "data"}, task={"crossValidate": {"cv": 2}})
            body, headers = with_data(job if good else {**job, "pipeline": [{"estimator": "NoSuchThing"}]}, table(number))
            return good, ask_as(server, "alice", "POST", "/v1/jobs", body, {**headers, "X-Request-Id": "abc"})
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(one, range(count)))
        row.expect(all((answer.status == 202) == good for good, answer in answers), f"answers {collections.Counter(a.status for _, a in answers)}")
        taken = [answer.json()["id"] for _, answer in answers if answer.status == 202]
        jobs = [wait_for(lambda: (lambda job: job if job["state"] in FINAL else None)(ask_as(server, "alice", "GET", f"/v1/jobs/{job}?wait=5s").json()), 120, job)
                for job in taken]
        reasons = collections.Counter(job.get("reason", "") for job in jobs if job["state"] != "succeeded")
        row.expect(not reasons, f"jobs that lost their data: {dict(reasons)}")
        row.expect(ask_as(server, "alice", "GET", "/v1/datasets/job-abc").json() == mine, "the user's data set was replaced or removed")
        row.expect(ask_as(server, "alice", "GET", "/v1/datasets").json() == {"datasets": [mine]}, "data of jobs is listed")
        try:
            wait_for(lambda: len(stored(server)) == 1, 60, "the end of the jobs' data")
        except AssertionError:
            row.expect(False, f"{len(stored(server))} tables are there when all jobs have ended, 1 is the user's")
        return f"{count} jobs with data under one id, {len(taken)} taken, all with their own"
    finally:
        server.kill()


class Drip(http.server.BaseHTTPRequestHandler):
    """/fast answers at once, every other path never ends."""
    stop = threading.Event()

    def do_GET(self):
        body = table(0)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if self.path.startswith("/fast") else 10 ** 9))
        self.end_headers()
        try:
            if self.path.startswith("/fast"):
                self.wfile.write(body)
            while not self.path.startswith("/fast") and not Drip.stop.wait(0.1):
                self.wfile.write(b"1,2,x\n" * 1000)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def s2(row):
    """Forty downloads of one tenant that drip: its other jobs and the other tenants' jobs and downloads end nevertheless."""
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Drip)
    origin.daemon_threads = True
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{origin.server_port}"
    server = Shared(row, ["slow", "quick"], "--allow-fetch", "127.0.0.1", "--fetch-floor", "0")
    try:
        drips = [ask_as(server, "slow", "POST", "/v1/jobs", spec(dataset={"url": {"url": f"{url}/drip{i}"}})) for i in range(40)]
        row.expect(all(answer.status == 202 for answer in drips), "the slow jobs are refused")
        states = lambda: collections.Counter(job["state"] for job in server.jobs_of("slow"))   # noqa: E731
        wait_for(lambda: states()["fetching"] >= 8, 30, "the downloads")
        ended = 0
        for tenant, dataset in (("quick", {"builtin": "iris"}), ("quick", {"inline": {"csv": table(3).decode()}}), ("quick", {"url": {"url": url + "/fast"}}),
                                ("slow", {"builtin": "wine"})):
            job = spec(dataset=dataset, task={"crossValidate": {"cv": 2}})
            answer = ask_as(server, tenant, "POST", "/v1/jobs?wait=30s", job)
            ended += row.expect(answer.status == 201 and answer.json()["state"] == "succeeded",
                                f"a job of {tenant} with {list(dataset)[0]} data waits behind downloads: {answer.status} {answer.json().get('state')}")
            if row.found():
                break
        row.expect(bool(row.control) or states()["fetching"] <= 8, f"one tenant has {states()['fetching']} downloads at a time")
        for answer in drips:
            ask_as(server, "slow", "POST", f"/v1/jobs/{answer.json()['id']}/cancel")
        return f"{len(drips)} downloads that drip, {ended} other jobs ended meanwhile"
    finally:
        Drip.stop.set()
        server.kill()
        origin.shutdown()


def s3(row):
    """Twenty uploads at once, models that jobs leave and models that are uploaded, under a quota of 1 MB: what is stored stays below it."""
    most = 1_000_000
    server = Shared(row, ["alice", "bob"], "--tenant-bytes", str(most), "--devices", "cpu")
    state = server.data_dir / "state"

    def on_disk():
        files = [*stored(server), *(state / "models").glob("*.kedge"), *(f for f in (state / "results").glob("*/*") if not f.parent.name.endswith(".part"))]
        return sum(f.stat().st_size for f in files)
    try:
        together = threading.Barrier(20)

        def upload(number):
            together.wait()
            return ask_as(server, "alice", "PUT", f"/v1/datasets/set{number}.csv", table(number, 30_000)).status
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            statuses = collections.Counter(pool.map(upload, range(20)))
        row.expect(set(statuses) <= {201, 429}, f"answers {dict(statuses)}")
        row.expect(on_disk() <= most, f"{statuses[201]} uploads take {on_disk()} bytes of {most}")
        fit = spec(steps=[("RandomForestClassifier", {"n_estimators": 40, "random_state": 0})], task={"fit": {}})
        models, without = [], 0
        for number in range(40):
            fit["pipeline"][0]["params"]["random_state"] = number
            result = ask_as(server, "alice", "POST", "/v1/jobs?wait=60s", fit).json().get("result") or {}
            models += [result["model"]] if result.get("model") else []
            without += any("was not stored" in warning for warning in result.get("warnings", []))
            row.expect(on_disk() <= most, f"models of jobs: {on_disk()} bytes of {most}")
            if without or row.found():
                break
        row.expect(without == 1, "no job said that its model had no room")
        if models:
            model = ask_as(server, "alice", "GET", f"/v1/models/{models[0]}/download").body
            answer = ask_as(server, "alice", "POST", "/v1/models", model, {"Content-Type": "application/vnd.kedge.model"})
            row.expect(answer.status == 429, f"a model is uploaded beyond the quota: {answer.status}")
            ask_as(server, "alice", "DELETE", f"/v1/models/{models[0]}")
            answer = ask_as(server, "alice", "POST", "/v1/models", model, {"Content-Type": "application/vnd.kedge.model"})
            row.expect(answer.status == 201, f"the room of a model that was removed is not given back: {answer.status}")
        row.expect(ask_as(server, "bob", "PUT", "/v1/datasets/mine.csv", table(1)).status == 201, "another tenant's quota is touched")
        return f"{statuses[201]} of 20 uploads and {len(models)} models stored, {on_disk()} bytes of {most}"
    finally:
        server.kill()


def s4(row):
    """Eleven bytes that name one column in two million, eight at once, during a small upload: little memory, little disk, a right answer."""
    server = Shared(row, ["alice"], "--devices", "cpu")
    try:
        ask_as(server, "alice", "PUT", "/v1/datasets/warm.csv", table(1))
        before = rss_kib(server.child.pid)
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            far = [pool.submit(ask_as, server, "alice", "PUT", f"/v1/datasets/far{i}.libsvm", FAR + b"\n" * (i + 1)) for i in range(8)]
            small = pool.submit(ask_as, server, "alice", "PUT", "/v1/datasets/small.csv", table(2))
            peak = max([rss_kib(server.child.pid)] + [rss_kib(server.child.pid) for job in far if job.result()])
        row.expect(all(job.result().status == 201 for job in far) and small.result().status == 201, "an upload failed")
        row.expect(ask_as(server, "alice", "GET", "/v1/datasets/far0.libsvm").json()["columns"] == 2_097_153, "columns are lost")
        largest = max(file.stat().st_size for file in stored(server))
        row.expect(largest < 64 << 10, f"{len(FAR)} bytes take {largest} bytes of the disk")
        row.expect_cost(peak - before < 64 << 10, f"the server grew by {(peak - before) >> 10} MiB")
        return f"8 tables of two million columns: {largest} bytes each, {max(0, peak - before) >> 10} MiB more memory"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"S1": s1, "S2": s2, "S3": s3, "S4": s4},
                  {"S1": ["keep-data-of-jobs"], "S2": ["share-no-fetches"], "S3": ["store-beyond-quotas"], "S4": ["name-every-column"]}))
