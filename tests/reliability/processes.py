"""Rows on the server as a process: K2 random kills, K3 suspensions, K8 no descriptors, K9 no memory, K10 clocks, K12 a second server, K13 the order of syncs.

python3 processes.py ROW [--long] [--seed N] [--control NAME]"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error

from kill_points import Round, check
from rows import (BIN, FINAL, SANITIZED, CannotRun, Kedged, Process, events_of, long_job, main, small, spec, tool, wait_for, within)

CLIENTS = 4


class Client(threading.Thread):
    """Submits a job under a key, again and again until it is acknowledged, waits for its end, and submits the next."""

    def __init__(self, server, name, stop):
        super().__init__(daemon=True)
        self.server, self.stop, self.done, self.dice = server, stop, Round(name), random.Random(name)

    def run(self):
        number = 0
        while not self.stop.is_set():
            number += 1
            self.one(f"{self.done.tag}-{number}", number)

    def one(self, key, number):
        job_id = None
        while not self.stop.is_set() or key in self.done.acknowledged:
            try:
                job_id = job_id or self.done.submit(self.server, key, small(number))
                if job_id and self.server.call("GET", f"/v1/jobs/{job_id}?wait=5s", timeout=20).json().get("state") in FINAL:
                    return
            except Exception:   # the server is away: for every kind of error the call is repeated
                time.sleep(0.01)
            if self.stop.is_set():
                return


def k2(row):
    """kill -9 of the server or of its worker, at random, under load."""
    kills, pause = (1000, 0.8) if row.long else (15, 0.6)
    dice, stop = random.Random(row.seed), threading.Event()
    server = row.kedged()
    clients = [Client(server, f"c{row.seed}-{i}", stop) for i in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        for _ in range(kills):
            time.sleep(dice.uniform(0.05, pause))
            kill_one(server, dice)
        stop.set()
        for client in clients:
            client.join(30)
        jobs = 0
        for client in clients:
            client.done.may_fail = {"WORKER_CRASHED"}   # one that lost two workers
            check(server, client.done, row.problems)
            jobs += len(client.done.acknowledged)
    finally:
        stop.set()
        server.kill()
    return f"{kills} kills, {jobs} jobs acknowledged"


def kill_one(server, dice):
    workers = server.workers()
    if workers and dice.random() < 0.3:
        try:
            os.kill(dice.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            pass
        return
    server.kill()
    server.start()


SILENCE = 10   # seconds after which a worker that says nothing is given up
WHO = ["a worker", "the server", "both"]


def k3(row):
    """A worker, the server or both are suspended for longer than a worker may be silent, and continue: a worker that was given up cannot
    report, a worker that could not report is not given up, and each result is right.
    Then workers that report under the lease of another attempt, as one that was given up would."""
    trials, stale = (200, 1000) if row.long else (6, 100)
    job = spec(dataset={"builtin": "digits"}, steps=[("RandomForestClassifier", {"n_estimators": 1000, "random_state": 0})], task={"crossValidate": {"cv": 2}})
    if not row.control:
        server = row.kedged()
        expected = server.run(job)["result"]["scores"]
        server.kill()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: suspend(row, number, job, expected), range(trials)))
    server = row.fake(how="StaleToken")
    try:
        for number in range(stale):
            done = server.run(small(number))
            row.expect(done["state"] == "succeeded" and "stale" not in done["result"].get("warnings", []), f"what was said under another lease counts: {done}")
            row.expect([e["id"] for e in events_of(server, done["id"])] == list(range(1, 1 + len(events_of(server, done["id"])))), "event ids have gaps")
            if row.found():
                break
        return f"{0 if row.control else trials} suspensions, {stale} workers under a stale lease"
    finally:
        server.kill()


def go_on(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:   # it was killed, as it should be
        pass


def suspend(row, number, job, expected):
    folder, dice = row.folder / f"suspended{number}", random.Random(f"{row.seed} {number}")
    folder.mkdir()
    server = row.kedged(folder, "--devices", "cpu")
    try:
        job_id = server.submit(job)
        wait_for(lambda: server.job(job_id)["state"] == "running", 60, "running")
        time.sleep(dice.uniform(0, 0.3))
        suspended = WHO[number % 3]
        whom = {"a worker": server.workers()[:1], "the server": [server.child.pid], "both": [server.child.pid, *server.workers()]}[suspended]
        for pid in whom:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(SILENCE + 1 + dice.random())
        for pid in whom:
            go_on(pid)
            time.sleep(0.1)   # the server has time to judge before its worker can speak
        done = server.wait(job_id, 120)
        row.expect(done["state"] == "succeeded" and done["result"]["scores"] == expected, f"after {suspended} was suspended: {done}")
        attempts = 2 if suspended == "a worker" else 1
        row.expect(done["attempts"] == attempts, f"{done['attempts']} attempts, not {attempts}, where {suspended} was suspended for {SILENCE + 1} s")
        finals = [e for e in events_of(server, job_id) if e.get("state", {}).get("state") in FINAL]
        row.expect(len(finals) == 1, f"{len(finals)} final states")
    finally:
        server.kill()


def k8(row):
    """Far more connections than descriptors: open streams continue, nothing spins, and the server recovers when they close."""
    server = Kedged(row.folder, "--worker", BIN / "kedge_fake_worker", env={"KEDGE_FAKE_HOW": "Tick"})
    held = []
    try:
        job = server.submit(spec())
        stream = open_stream(server, job)
        wait_for(lambda: count_events(stream, 0.2), 10, "the stream")
        resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (64, 64))
        port = int(server.url.rsplit(":", 1)[1])
        for _ in range(150):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=2))
        time.sleep(0.3)
        if row.control == "suspended":
            server.child.send_signal(signal.SIGSTOP)
        spent = cpu_seconds(server.child.pid)
        begin = time.monotonic()
        row.expect(count_events(stream, 2.5) >= 2, "an open stream does not go on while there are no descriptors")
        share = (cpu_seconds(server.child.pid) - spent) / (time.monotonic() - begin)
        row.expect(share <= 0.10, f"the server spins without descriptors: {share:.0%} of a core")
        for connection in held:
            connection.close()
        back = within(lambda: answers(server), 5)
        row.expect(back is not None, "does not answer within 5 s after the connections went")
        return f"150 connections with 64 descriptors: {share:.1%} of a core, back after {back or -1:.2f} s"
    finally:
        server.child.send_signal(signal.SIGCONT)
        server.kill()


def open_stream(server, job):
    port = int(server.url.rsplit(":", 1)[1])
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
    connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
    return connection


def count_events(connection, seconds):
    end, text = time.monotonic() + seconds, b""
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if not (piece := connection.recv(65536)):
                break
            text += piece
        except TimeoutError:
            break
    return text.count(b"event: metric")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answers(server):
    try:
        return server.call("GET", "/livez", timeout=1).status == 200
    except OSError:
        return False


def k9(row):
    """A job that takes more memory than a worker may: it fails alone, with a reason."""
    limit = [] if row.control == "no-limit" else ["--worker-memory", "700"]
    server = Kedged(row.folder, *limit)
    hungry = spec(dataset={"builtin": "mnist_10k"}, steps=[("RandomForestClassifier", {"n_estimators": 2})] if row.control else
                  [("PolynomialFeatures", {"degree": 2}), "GaussianNB"], task={"crossValidate": {"cv": 2}})
    try:
        pid = server.child.pid
        job = server.run(hungry, 120)
        code = (job.get("error") or {}).get("code")
        row.expect(job["state"] == "failed" and code == "OUT_OF_MEMORY", f"ended {job['state']} with {code}, not OUT_OF_MEMORY")
        row.expect(server.run(small())["state"] == "succeeded", "the next job does not run")
        row.expect(server.child.poll() is None and server.child.pid == pid, "the server died")
        return f"a table of 10,000 x 308,505 with 700 MiB: {code}"
    finally:
        server.kill()


def k10(row):
    """The wall clock jumps while jobs run: they end as usual, nothing is forgotten, and the times of a job's events never go back."""
    library = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
    if not library:
        raise CannotRun("faketime is not installed")
    if SANITIZED:
        raise CannotRun("libfaketime and a sanitizer wait for each other when a program starts")
    jump = row.folder / "jump"
    jump.write_text("+0")
    env = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(jump), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1",
           "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    server = row.fake("--run-deadline", "60", "--keep-jobs", "0", "--keep-events", "0", how="Tick", env=env)
    jumps = ["+3600", "-3600", "+315360000", "-315360000", "+0"]
    try:
        for offset in jumps:
            job = server.submit(spec())
            wait_for(lambda: server.job(job)["state"] == "running", 10, "running")
            jump.write_text(offset)
            time.sleep(1.3)   # the worker says something in each second
            row.expect(server.job(job)["state"] == "running", f"after a jump to {offset} s the job is {server.job(job)['state']}")
            server.call("POST", f"/v1/jobs/{job}/cancel")
            row.expect(server.wait(job, 10)["state"] == "cancelled", f"after a jump to {offset} s the cancel does not work")
            times = [event["time"] for event in events_of(server, job)]
            row.expect(times == sorted(times), f"the times of a job go back: {times}")
        return f"{len(jumps)} jumps, up to ten years"
    finally:
        server.kill()


def k12(row):
    """A second server on the same data directory."""
    server = row.kedged()
    try:
        job = server.submit(long_job())
        begin = time.monotonic()
        other = subprocess.Popen([BIN / "kedged", "--listen", "127.0.0.1:0", "--data-dir", server.data_dir / "state"],
                                 stderr=subprocess.PIPE, text=True, env={**os.environ, **row.environment()})
        try:
            text = other.communicate(timeout=5)[1]
        except subprocess.TimeoutExpired:
            other.kill()
            text = other.communicate()[1]
        took = time.monotonic() - begin
        row.expect(other.returncode == 74, f"the second server ended with {other.returncode}")
        row.expect(str(server.child.pid) in text and "in use" in text, f"it does not name the process that has the directory: {text[-300:]}")
        row.expect(server.job(job)["state"] not in FINAL, "the first server's job has ended")
        row.expect(server.run(small())["state"] == "succeeded" if server.call("POST", f"/v1/jobs/{job}/cancel").status == 202 else False,
                   "the first server runs no more jobs")
        return f"refused with 74 after {took:.2f} s"
    finally:
        server.kill()


def k13(row):
    """No answer to a submit is sent before a sync that began after the request has succeeded."""
    count, trace = (1000 if row.long else 200), row.folder / "trace"
    server = row.fake("--devices", "cpu", how="WaitForCancel")
    strace = None
    try:
        ahead = [server.submit(spec()) for _ in range(20)]   # one runs forever; nothing is written for the jobs behind it whose data is there
        within(lambda: server.call("GET", f"/v1/jobs/{ahead[0]}").json().get("state") == "running", 2)
        time.sleep(0.5)
        strace = subprocess.Popen([tool("strace"), "-f", "-qq", "-s", "24", "-e", "trace=fdatasync,fsync,sendmsg,sendto,recvmsg,recvfrom",
                                   "-o", trace, "-p", str(server.child.pid)])
        wait_for(lambda: trace.exists() and answers(server) and trace.stat().st_size, 10, "strace")
        for number in range(count):
            job = server.submit(small(number))
            wait_for(lambda: server.call("GET", f"/v1/jobs/{job}").status == 200, 10, "the job")   # all that is written of it
        strace.send_signal(signal.SIGINT)
        strace.wait(10)
        asked, early, answered = order_of(trace.read_text(errors="replace").splitlines())
        row.expect(asked == answered == count, f"{asked} requests and {answered} answers seen, not {count}")
        row.expect(early == 0, f"{early} of {answered} answers left before the sync")
        return f"{answered} submits, {early} answered too early"
    finally:
        if strace and strace.poll() is None:
            strace.kill()
        server.kill()


def order_of(lines):
    """Numbers of requests, of answers without a sync since their request, and of answers."""
    asked = early = answered = 0
    synced = False
    for line in lines:
        if '"POST ' in line:
            synced, asked = False, asked + 1
        elif re.search(r"(fdatasync|fsync)(\(\d+\)| resumed>\)) += 0", line):
            synced = True
        elif '"HTTP/1.1 202' in line:
            answered += 1
            early += not synced
    return asked, early, answered


if __name__ == "__main__":
    sys.exit(main({"K2": k2, "K3": k3, "K8": k8, "K9": k9, "K10": k10, "K12": k12, "K13": k13},
                  {"K2": ["acknowledge-before-commit", "forget-interrupted-jobs", "skip-event-numbers"], "K3": ["publish-stale-results"], "K8": ["suspended"], "K9": ["no-limit"],
                   "K10": ["times-go-back"], "K12": ["share-data-directory"], "K13": ["acknowledge-before-commit"]}))
