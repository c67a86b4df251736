"""Rows on data sets: D1 downloads that break off, D2 origins that misbehave, D4 names, D6 many jobs and one file, D7 a cache that is damaged.

python3 data.py ROW [--long] [--seed N] [--control NAME]"""
import array
import collections
import concurrent.futures
import gzip
import hashlib
import os
import pathlib
import random
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from email.utils import formatdate

from rows import FINAL, accept_each, main, small, wait_for, within

ROWS = 4000


def table(version, number):
    """CSV of ROWS rows; the first column is the version, the second the row."""
    return b"version,row,label\n" + b"".join(b"%d,%d,%s\n" % (version, i, b"ab"[i % 2:i % 2 + 1]) for i in range(ROWS + number))


class Origin:
    """An HTTP server whose paths are given as functions of (connection, request head, how often the path was requested)."""

    def __init__(self, tls=None):
        self.paths, self.asked, self.lock, self.tls = {}, collections.Counter(), threading.Lock(), tls
        self.otherwise = lambda stream, head, count: answer(stream, b"404 Not Found", b"")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        accept_each(self.listener, self.one)

    def url(self, path, name="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{name}:{self.port}{path}"

    def one(self, connection):
        try:
            with self.tls.wrap_socket(connection, server_side=True) if self.tls else connection as stream:
                head = b""
                while b"\r\n\r\n" not in head:
                    if not (piece := stream.recv(4096)):
                        return
                    head += piece
                path = head.split(b" ", 2)[1].decode()
                with self.lock:
                    self.asked[path] += 1
                    count = self.asked[path]
                self.paths.get(path.split("?")[0], self.otherwise)(stream, head, count)
        except OSError:   # the client has had enough
            pass


def field(head, name):
    for line in head.split(b"\r\n")[1:]:
        if line.lower().startswith(name.lower() + b":"):
            return line.split(b":", 1)[1].strip()
    return b""


def answer(stream, status, body, *fields, length=None):
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % (len(body) if length is None else length), b"Connection: close", *fields]
    stream.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)


def cut(stream, reset):
    if reset:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def breaking(dice, number):
    """A file that breaks off twice at most: with ranges or without, and with another version after the first break or not. An origin that gives
    the rest of another file, despite If-Range, has another ETag."""
    ranges, changes, heeds = dice.random() < 0.7, dice.random() < 0.4, dice.random() < 0.6
    zipped, cuts = dice.random() < 0.3, [dice.choice([0, 0.01, 0.5, 0.99, dice.random()]) for _ in range(2)]
    bodies = [table(version, number) for version in (1, 2)]
    bodies = [gzip.compress(b, 1, mtime=0) for b in bodies] if zipped else bodies
    coding = [b"Content-Encoding: gzip"] if zipped else []

    def serve(stream, head, count):
        version = 1 if changes and count > 1 else 0
        body, tag = bodies[version], b'"%d"' % version
        asked, expects = field(head, b"Range"), field(head, b"If-Range")
        partial = ranges and asked and (not heeds or expects == tag)
        first = int(asked[6:].rstrip(b"-")) if partial else 0
        rest, fields = body[first:], [b"ETag: " + tag, b"Accept-Ranges: bytes" if ranges else b"X: y", *coding]
        if partial:
            fields.append(b"Content-Range: bytes %d-%d/%d" % (first, len(body) - 1, len(body)))
        keep = int(len(rest) * cuts[count - 1]) if count <= len(cuts) else len(rest)
        answer(stream, b"206 Partial Content" if partial else b"200 OK", rest[:keep], *fields, length=len(rest))
        if keep < len(rest):
            cut(stream, dice.random() < 0.5)
    return serve


def url_job(url, **more):
    return {"dataset": {"url": {"url": url, "format": "csv", "target": "label", **more}}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"crossValidate": {"cv": 2}}}


def files_of(server):
    return sorted((server.data_dir / "state").rglob("*.kds"))


def values_of(file):
    """The value matrix of a data set file of float32."""
    content = file.read_bytes()
    size = struct.unpack_from("<q", content, 24)[0]
    return array.array("f", content[4096:4096 + size])


def d1(row):
    """Downloads that break off anywhere, once or twice, while the file changes or not: each ends with one version, whole, or is refused."""
    runs, dice, origin = (200 if row.long else 40), random.Random(row.seed), Origin()
    server = row.fake("--allow-fetch", "127.0.0.1")
    try:
        for number in range(runs):
            origin.paths[f"/{number}.csv"] = breaking(dice, number)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = list(pool.map(lambda number: server.run(url_job(origin.url(f"/{number}.csv"))), range(runs)))
        done = sum(job["state"] == "succeeded" for job in jobs)
        codes = {(job.get("error") or {}).get("code") for job in jobs if job["state"] != "succeeded"}
        row.expect(codes <= {"DATASET_UNAVAILABLE"}, f"failed with {codes}")
        row.expect(done >= 0.7 * runs, f"only {done} of {runs} downloads came to an end")   # a download from an origin that never gives what is requested may fail
        files = files_of(server)
        row.expect(len(files) == done, f"{done} downloads left {len(files)} files")
        for file in files:
            values = values_of(file)
            versions, rows = set(values[0::3]), list(values[1::3])
            row.expect(len(versions) == 1 and rows == list(range(len(rows))) and len(rows) >= ROWS, f"{file.name}: versions {versions}, {len(rows)} rows in no order")
        resumed = sum(1 for job in origin.asked.values() if job > 1)
        return f"{runs} downloads, {resumed} in several parts, {done} whole, {runs - done} given up"
    finally:
        origin.listener.close()
        server.kill()


def certificate(folder, name, *more):
    key, file = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", file, *more],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return context


def drip(stream, head, count):
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(120):
        stream.sendall(b"1")
        time.sleep(1)


def endless(stream, head, count):
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nversion,row,label\n")
    while True:
        stream.sendall(b"1,2,a\n" * 20_000)
        time.sleep(0.01)


def failing(status, times, *fields):
    def serve(stream, head, count):
        answer(stream, *((status, b"later") if count <= times else (b"200 OK", table(1, 0))), *(fields if count <= times else ()))
    return serve


def d2(row):
    """Origins that misbehave: each ends with its reason, in time, after few attempts, and leaves nothing in the cache."""
    good, origin, silent = table(1, 0), Origin(), socket.create_server(("127.0.0.1", 0))
    zipped = gzip.compress(good, mtime=0)
    soon = formatdate(time.time() + 2, usegmt=True).encode()
    unavailable, corrupt = {"DATASET_UNAVAILABLE"}, {"DATASET_CORRUPT"}
    cases = {   # path: how, the codes that are right, more of the reference; no codes: it succeeds
        "/longer": (lambda s, h, c: answer(s, b"200 OK", good, length=len(good) + 100), unavailable, {}),
        "/another": (lambda s, h, c: answer(s, b"200 OK", good), corrupt, {"sha256": "0" * 64}),
        "/half-zipped": (lambda s, h, c: answer(s, b"200 OK", zipped[:-9], b"Content-Encoding: gzip"), unavailable | corrupt, {}),
        "/not-zipped": (lambda s, h, c: answer(s, b"200 OK", good, b"Content-Encoding: gzip"), corrupt | unavailable, {}),
        "/page": (lambda s, h, c: answer(s, b"200 OK", b"<!DOCTYPE html><html><body><h1>Sorry</h1>, <p>not now</p></body></html>", b"Content-Type: text/html"), corrupt | {"INVALID_VALUE"}, {}),
        "/500": (failing(b"500 Broken", 1000), unavailable, {}),
        "/503-twice": (failing(b"503 Busy", 2), set(), {}),
        "/429-date": (failing(b"429 Later", 1, b"Retry-After: " + soon), set(), {}),
        "/404": (lambda s, h, c: answer(s, b"404 No", b""), {"DATASET_NOT_FOUND"}, {}),
        "/drip": (drip, unavailable, {}),
        "/endless": (endless, {"DEADLINE_EXCEEDED"}, {}),
        "/loop": (lambda s, h, c: answer(s, b"302 Found", b"", b"Location: /loop"), unavailable, {}),
        "/brotli": (lambda s, h, c: answer(s, b"200 OK", good, b"Content-Encoding: br"), unavailable, {}),
        "/nothing": (lambda s, h, c: None, unavailable, {}),
        "/no-http": (lambda s, h, c: s.sendall(b"SSH-2.0-x\r\n"), unavailable, {}),
    }
    if not row.long:   # three attempts of 15 s each
        cases = {path: case for path, case in cases.items() if path not in ("/drip", "/endless")}
    if row.control == "behave":
        cases = {path: (lambda s, h, c: answer(s, b"200 OK", good), codes, {}) for path, (_, codes, _) in cases.items()}
    server = row.fake("--allow-fetch", "127.0.0.1", "--fetch-deadline", "70")
    try:
        origin.paths = {path: how for path, (how, _, _) in cases.items()}
        urls = {path: (origin.url(path), codes, more) for path, (_, codes, more) in cases.items()}
        others = [Origin(certificate(row.folder, name, *more)) for name, more in
                  {"self-signed": ("-days", "2", "-addext", "subjectAltName=IP:127.0.0.1"), "other.example": ("-days", "2")}.items()]
        for number, other in enumerate(others):
            other.paths["/tls"] = lambda s, h, c: answer(s, b"200 OK", good)
            urls[f"/tls{number}"] = (other.url("/tls"), unavailable, {})
        if row.long:
            urls["/stalled-handshake"] = (f"https://127.0.0.1:{silent.getsockname()[1]}/", unavailable, {})
        begin, took = time.monotonic(), {}

        def one(path):
            url, codes, more = urls[path]
            job = server.run(url_job(url, **more), 120)
            took[path] = time.monotonic() - begin
            code = (job.get("error") or {}).get("code")
            row.expect(code in codes if codes else job["state"] == "succeeded", f"{path}: {job['state']} {code}, not {codes or 'succeeded'}: {job.get('error')}")
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            list(pool.map(one, urls))
        requests = {path: count / (6 if path == "/loop" else 1) for path, count in origin.asked.items()}   # a loop of redirects ends at the sixth
        row.expect(max(requests.values()) <= 3, f"more than three attempts: {requests}")
        slow = {path: seconds for path, seconds in took.items() if seconds > 3 * 20 and path != "/endless"}
        row.expect_cost(not slow, f"took too long: {slow}")
        right = sum(not codes for _, codes, _ in urls.values())
        row.expect(len(files_of(server)) == right, f"{len(files_of(server))} files are in the cache, and {right} answers were right")
        gone = within(lambda: not list((server.data_dir / "state").rglob("*.part")), 5)   # a deadline ends the job first, then the fetch
        row.expect(gone is not None, "files are left that are not whole")
        return f"{len(urls)} origins, the longest {max(took, key=took.get)} {max(took.values()):.0f} s"
    finally:
        origin.listener.close()
        server.kill()


NAMES = ["..", "../up", "../../up", "/etc/passwd", "..%2fup", "%2e%2e", "%2e%2e%2fup", "a%00b", "a" * 256, "CON", "nul.csv", "dot.", "Case", "case", ".hidden", "a%5cb", "~", "%0a",
         "a b", "%ff", "x.kds", "x.part", "state", "*", "a:b", "-rf", "$(id)", "%252e%252e%252fup", "..;", "%c0%ae%c0%ae"]


def d4(row):
    """Names of uploads, URLs and data sets that lead elsewhere, and links in the cache: nothing appears or changes outside the data directory."""
    origin, outside = Origin(), row.folder / "outside"
    home = row.folder / "home"
    home.mkdir(), outside.mkdir()
    victim = outside / "victim"
    victim.write_bytes(b"untouched")
    server = row.kedged(home, "--allow-fetch", "127.0.0.1", "--openml-url", origin.url("/openml"))
    origin.otherwise = lambda s, h, c: answer(s, b"404 Not Found", b"") if b"/openml/" in h else answer(
        s, b"200 OK", table(1, 0), b'Content-Disposition: attachment; filename="../../up"')
    ours = lambda: {str(p.relative_to(row.folder)) for p in row.folder.rglob("*") if "state" not in p.parts and "home" not in p.parts[-1:]}   # noqa: E731
    try:
        before, statuses = ours(), collections.Counter()
        for name in NAMES:
            statuses[server.call("PUT", f"/v1/datasets/{name}".replace(" ", "%20"), table(1, 0), {"Content-Type": "text/csv"}).status] += 1
            server.run(url_job(origin.url("/" + name.replace(" ", "%20"))))
            server.run({**small(), "dataset": {"openml": {"name": name}}})
            server.run({**small(), "dataset": {"builtin": name}})
        stored = [d["name"] for d in server.call("GET", "/v1/datasets").json()["datasets"]]
        row.expect({"Case", "case"} <= set(stored), f"names that differ in case are one: {stored}")
        row.expect(set(statuses) <= {200, 201, 400, 404, 405, 422}, f"answers {statuses}")
        files = [p.name for p in files_of(server)]
        row.expect(not [f for f in files if any(n and n.strip("./%") and n.strip("./%") in f for n in ("passwd", "CON", "Case", "hidden"))], f"names of users name files: {files}")
        cached = [p for p in files_of(server) if server.run(url_job(origin.url("/Case")))["state"] == "succeeded" and "uploads" not in p.parts]
        for file in cached:
            file.unlink()
            file.symlink_to(victim)
            pathlib.Path(f"{file}.part").symlink_to(victim)
        row.expect(server.run(url_job(origin.url("/Case")))["state"] == "succeeded" and server.run(small())["state"] == "succeeded", "a link in the cache is in the way")
        if row.control == "touch":
            victim.write_bytes(b"touched")
            (row.folder / "up").write_text("")
        row.expect(victim.read_bytes() == b"untouched", "a file outside was written to through a link in the cache")
        row.expect(ours() == before, f"new outside: {ours() - before}")
        return f"{len(NAMES)} names in four places ({dict(statuses)} to uploads), {len(cached)} links"
    finally:
        origin.listener.close()
        server.kill()


def d6(row):
    """Fifty jobs want one file at once, one of them is cancelled, and the server is killed in the middle: one transfer before and one after, and all the others succeed."""
    origin, body, transfers = Origin(), table(1, 0), []

    def slow(stream, head, count):
        if field(head, b"If-None-Match") == b'"1"':
            return answer(stream, b"304 Not Modified", b"", b'ETag: "1"')
        transfers.append(time.monotonic())
        stream.sendall(b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 4096):
            stream.sendall(body[at:at + 4096])
            time.sleep(0.3)
    origin.paths["/slow"] = slow
    server = row.fake("--allow-fetch", "127.0.0.1")
    try:
        other = "?{}" if row.control == "many-files" else ""
        jobs = [server.submit({**url_job(origin.url("/slow" + other.format(n))), "pipeline": [{"estimator": "GaussianNB", "params": {"var_smoothing": 1e-9 * (n + 1)}}]}) for n in range(50)]
        wait_for(lambda: sum(server.job(job)["state"] == "fetching" for job in jobs) > 1, 10, "two jobs that wait for the file")
        row.expect(server.call("POST", f"/v1/jobs/{jobs[0]}/cancel").status == 202, "the first job cannot be cancelled")
        time.sleep(0.5)
        row.expect(len(transfers) == 1, f"{len(transfers)} transfers for 50 jobs")
        server.kill()
        server.start()
        states = collections.Counter(server.wait(job)["state"] for job in jobs)
        row.expect(states == {"cancelled": 1, "succeeded": 49}, f"the jobs ended {dict(states)}")
        row.expect(len(transfers) == 2, f"{len(transfers)} transfers, with one restart")
        row.expect(len(files_of(server)) == 1 and not list((server.data_dir / "state").rglob("*.part")), "more is left than the one file")
        return f"50 jobs, {len(transfers)} transfers, {dict(states)}"
    finally:
        origin.listener.close()
        server.kill()


def d7(row):
    """A cached file is changed in place, or replaced while a job reads it: noticed before its next use, fetched again, and no job sees a mixture."""
    trials, dice, origin, body = (200 if row.long else 30), random.Random(row.seed), Origin(), table(1, 0)
    origin.paths["/table"] = lambda s, h, c: answer(s, b"200 OK", body)
    server = row.kedged(None, "--allow-fetch", "127.0.0.1")
    reference = url_job(origin.url("/table"), sha256=hashlib.sha256(body).hexdigest())
    try:
        expected = server.run(reference)["result"]["scores"]
        file = files_of(server)[0]
        size = struct.unpack_from("<q", file.read_bytes(), 24)[0]
        for number in range(trials):
            if row.found():
                break
            at = dice.randrange(4096, 4096 + size)
            damage(file, at, 1 << dice.randrange(8))
            if number % 5 == 4:
                server.stop()
                server.start()
            job = server.run(reference)
            row.expect(job["state"] == "succeeded" and job["result"]["scores"] == expected, f"byte {at} of the file was changed, and the job ended {job['state']} with other scores")
            row.expect(origin.asked["/table"] == number + 2, f"{origin.asked['/table']} transfers after {number + 1} changes")
        replaced = replace_while_read(row, server, file) if not row.control else 0
        return f"{trials} changed bits, each noticed, {replaced} files replaced under a job"
    finally:
        origin.listener.close()
        server.kill()


def damage(file, at, bits):
    with open(file, "r+b") as content:
        content.seek(at)
        byte = content.read(1)[0]
        content.seek(at)
        content.write(bytes([byte ^ bits]))


def replace_while_read(row, server, file):
    """Another whole file takes the place of one that is being read."""
    job = {"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 200, "random_state": 0}}], "task": {"crossValidate": {"cv": 2}}}
    expected, count = server.run(job)["result"]["scores"], 3
    digits = next(p for p in files_of(server) if p != file and p.stat().st_size > 100_000)
    for _ in range(count):
        running = server.submit(job)
        within(lambda: server.job(running)["state"] in {"running", *FINAL}, 10)
        other = digits.with_name("other")
        other.write_bytes(digits.read_bytes()[:4096] + bytes(1000) + digits.read_bytes()[5096:])
        os.replace(other, digits)
        row.expect(server.wait(running)["result"]["scores"] == expected, "a job saw the file that took the place of its own")
        row.expect(server.run(job)["result"]["scores"] == expected, "the next job used the file that took its place")
    return count


if __name__ == "__main__":
    sys.exit(main({"D1": d1, "D2": d2, "D4": d4, "D6": d6, "D7": d7},
                  {"D1": ["mix-versions"], "D2": ["behave"], "D4": ["touch"], "D6": ["many-files"], "D7": ["trust-the-cache"]}))
