"""Rows on stops: C1 cancels in every state, C2 and C3 signals, C4 a job that kills its worker, C5 jobs without end or with too much data.

python3 stops.py ROW [--long] [--seed N] [--control NAME]"""
import http.client
import random
import signal
import socket
import sys
import threading
import time

from rows import FINAL, Kedged, events_of, long_job, main, rss_kib, small, spec, wait_for, within

COOPERATIVE, FORCED = 1.0, 3.0   # seconds that a cancel may take


def c1(row):
    """Cancels at random moments of a job's life, twice, and after its end: one final state, in time."""
    rounds, dice, took = (400 if row.long else 40), random.Random(row.seed), []
    server = row.kedged()
    try:
        for number in range(rounds):
            if row.found():
                break
            job = server.submit(long_job(number) if number % 2 else small(number))
            time.sleep(dice.choice([0, dice.uniform(0, 0.01), dice.uniform(0, 0.15)]))
            begin = time.monotonic()
            status = server.call("POST", f"/v1/jobs/{job}/cancel").status
            again = server.call("DELETE", f"/v1/jobs/{job}").status
            row.expect(status in (202, 409) and again in (202, 409), f"cancels are answered {status} and {again}")
            end = within(lambda: server.job(job)["state"] in FINAL, 5)
            if not row.expect(end is not None, f"a cancel was acknowledged and the job continues: {server.job(job)['state']}"):
                break
            took.append(time.monotonic() - begin)
            state = server.job(job)["state"]
            row.expect(state == ("cancelled" if status == 202 else "succeeded"), f"answered {status}, ended {state}")
            finals = [e for e in events_of(server, job) if e.get("state", {}).get("state") in FINAL]
            row.expect(len(finals) == 1, f"{len(finals)} final states")
            row.expect(server.call("POST", f"/v1/jobs/{job}/cancel").status == 409, "a job that has ended can be cancelled")
        took.sort()
        row.expect_cost(took[int(0.99 * (len(took) - 1))] <= COOPERATIVE if took else False, f"cancels took up to {took[-1:]} s")
        forced = 0 if row.found() else force(row)
        return f"{rounds} cancels: median {took[len(took) // 2] * 1e3:.0f} ms, worst {took[-1] * 1e3:.0f} ms; of a job that does not listen {forced:.2f} s"
    finally:
        server.kill()


def force(row):
    folder = row.folder / "deaf"
    folder.mkdir()
    from rows import FAKE
    server = row.kedged(folder, "--worker", FAKE, env={"KEDGE_FAKE_HOW": "IgnoreCancel"})
    try:
        job = server.submit(spec())
        wait_for(lambda: server.job(job)["state"] == "running", 10, "running")
        begin = time.monotonic()
        server.call("POST", f"/v1/jobs/{job}/cancel")
        row.expect(within(lambda: server.job(job)["state"] == "cancelled", FORCED + 0.5) is not None, "a job that does not listen is not ended")
        return time.monotonic() - begin
    finally:
        server.kill()


def c2(row):
    """SIGTERM under load, again and again: streams get a message, nothing acknowledged is lost, uploads end or are cut, repeated calls succeed."""
    from kill_points import check
    from processes import Client
    rounds, readers, senders = (20, 200, 8) if row.long else (3, 20, 4)
    server, stop = row.kedged(None, "--drain", "2"), threading.Event()
    clients, uploads = [Client(server, f"c2-{i}", stop) for i in range(3)], []
    try:
        for client in clients:
            client.start()
        for number in range(rounds):
            if row.found():
                break
            lasting = server.submit(long_job(number))
            streams = [open_stream(server, lasting) for _ in range(readers)]
            wait_for(lambda: server.job(lasting)["state"] in ("running", "fetching", "queued"), 10, "accepted")
            uploads += [Upload(server, f"c2-{number}-{i}", (0.2, 1.5, 4, 15 if number % 4 == 0 else 3)[i % 4]) for i in range(senders)]
            time.sleep(0.3)
            begin = time.monotonic()
            server.child.send_signal(signal.SIGTERM)
            status = server.child.wait(20)
            row.expect(status == 0, f"ended with {status}")
            row.expect_cost(time.monotonic() - begin < 2 + 10 + 1, f"took {time.monotonic() - begin:.0f} s to stop")
            told = sum(b"event: shutdown" in drain(stream) for stream in streams)
            row.expect(told == len(streams), f"{told} of {len(streams)} streams got a message")
            server.start()
            job = server.job(lasting)
            row.expect(job["state"] not in FINAL or job["state"] == "succeeded", f"the running job is {job['state']}")
            row.expect(within(lambda: server.job(lasting)["state"] == "running", 10) is not None, "the job that ran does not run again")
            server.call("POST", f"/v1/jobs/{lasting}/cancel")
        stop.set()
        for upload in uploads:
            upload.join(30)
            row.expect(upload.status in (200, 201), f"upload {upload.name}: {upload.status}, after {upload.answers}")
        kept = {one["name"]: one["rows"] for one in server.call("GET", "/v1/datasets").json()["datasets"]}
        row.expect(all(kept.get(upload.name) == Upload.ROWS for upload in uploads), f"of uploads is kept {kept}")
        for client in clients:
            client.join(30)
            if not row.found():
                check(server, client.done, row.problems)
        return (f"{rounds} restarts, {sum(len(c.done.acknowledged) for c in clients)} jobs acknowledged meanwhile, "
                f"{len(uploads)} uploads, of which {sum(len(upload.answers) > 1 for upload in uploads)} were sent again")
    finally:
        stop.set()
        server.kill()


class Upload(threading.Thread):
    """A table that takes so many seconds to send, and is sent again, at once, until the server says that it has it."""

    ROWS = 2000

    def __init__(self, server, name, seconds):
        super().__init__(daemon=True)
        self.server, self.name, self.seconds, self.status, self.answers = server, name, seconds, None, []
        self.start()

    def run(self):
        text, deadline = b"a,b\n" + b"1,2\n" * self.ROWS, time.monotonic() + 60
        while self.status not in (200, 201) and time.monotonic() < deadline:
            connection = http.client.HTTPConnection("127.0.0.1", int(self.server.url.rsplit(":", 1)[1]), timeout=20)
            try:
                connection.putrequest("PUT", f"/v1/datasets/{self.name}")
                connection.putheader("Content-Type", "text/csv")
                connection.putheader("Content-Length", str(len(text)))
                connection.endheaders()
                for at in range(0, len(text), 100):
                    connection.send(text[at:at + 100])
                    time.sleep(0 if self.answers else self.seconds * 100 / len(text))
                self.status = connection.getresponse().status
            except (OSError, http.client.HTTPException) as error:
                self.status = type(error).__name__
                time.sleep(0.05)
            self.answers.append(self.status)
            connection.close()


def open_stream(server, job):
    connection = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=5)
    connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
    return connection


def drain(connection):
    text = b""
    try:
        while piece := connection.recv(65536):
            text += piece
    except OSError:
        pass
    connection.close()
    return text


def c3(row):
    """A second SIGTERM ends it at once, and nothing is lost by it."""
    server, took = row.kedged(None, "--drain", "60"), []
    try:
        for number in range(10 if row.long else 3):
            if row.found():
                break
            job = server.submit(long_job(number))
            wait_for(lambda: server.job(job)["state"] == "running", 20, "running")
            server.child.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            row.expect(server.child.poll() is None, "it does not wait for the running job")
            begin = time.monotonic()
            if row.control != "one-signal":
                server.child.send_signal(signal.SIGTERM)
            end = within(lambda: server.child.poll() is not None, 1)
            if not row.expect(end is not None, "a second signal does not end it within 1 s"):
                server.kill()
            took.append(time.monotonic() - begin)
            server.start()
            row.expect(within(lambda: server.job(job)["state"] == "running", 20) is not None, "the job that ran does not run again")
            server.call("POST", f"/v1/jobs/{job}/cancel")
            server.wait(job)
        return f"{len(took)} times, {max(took) * 1e3:.0f} ms at most"
    finally:
        server.kill()


def c4(row):
    """A job that kills its worker: tried once more, then failed; the fourth of its kind is not tried at all; the server continues."""
    server = row.kedged(env={"KEDGE_FAILPOINT": "worker.run.abort"})
    try:
        pid, attempts = server.child.pid, []
        for number in range(4):
            job_id = server.submit(small())
            if not row.expect(within(lambda: server.job(job_id)["state"] in FINAL, 20) is not None, "a job that kills its worker never ends"):
                break
            job = server.job(job_id)
            attempts.append(job["attempts"])
            row.expect(job["state"] == "failed" and job["error"]["code"] == "WORKER_CRASHED", f"ended {job['state']}: {job.get('error')}")
        row.expect(attempts == [2, 2, 2, 0], f"attempts {attempts}, not two each and then none")
        row.expect(server.child.poll() is None and server.child.pid == pid, "the server ended")
        server.stop()
        healthy = row.kedged()   # on the same store, which remembers
        other = healthy.run(small(1), 30)["state"]
        row.expect(other == "succeeded", f"another job is {other}")
        healthy.kill()
        return f"attempts {attempts}"
    finally:
        server.kill()


def c5(row):
    """Jobs without end or with too much data: each ends at its own limit, with its own reason, and the server stays as it was."""
    deadline = [] if row.control == "no-deadline" else ["--run-deadline", "1"]
    server = Kedged(row.folder, "--worker-memory", "700", *deadline)
    try:
        server.run(small())
        before, codes = rss_kib(server.child.pid), []
        for name, job, wanted in [
                ("endless", spec(dataset={"builtin": "digits"}, steps=[("KMeans", {"n_clusters": 200, "n_init": 100_000})], task={"fit": {}}), "DEADLINE_EXCEEDED"),
                ("too large", spec(dataset={"builtin": "mnist_10k"}, steps=[("PolynomialFeatures", {"degree": 2}), "GaussianNB"]), "OUT_OF_MEMORY")]:
            job_id = server.submit(job)
            end = within(lambda: server.job(job_id)["state"] in FINAL, 8)
            if not row.expect(end is not None, f"the {name} job continues"):
                server.call("POST", f"/v1/jobs/{job_id}/cancel")
                continue
            code = (server.job(job_id).get("error") or {}).get("code")
            codes.append(code)
            row.expect(code == wanted, f"the {name} job ended with {code}, not {wanted}")
        row.expect(server.run(small())["state"] == "succeeded", "the next job does not run")
        grown = rss_kib(server.child.pid) - before
        row.expect_cost(grown < 16 * 1024, f"the server grew by {grown} KiB")
        return f"{', '.join(map(str, codes))}; the server grew by {grown} KiB"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"C1": c1, "C2": c2, "C3": c3, "C4": c4, "C5": c5},
                  {"C1": ["forget-cancels"], "C2": ["forget-interrupted-jobs"], "C3": ["one-signal"], "C4": ["retry-for-ever"], "C5": ["no-deadline"]}))
