"""Rows on event streams and their clients: E1 reconnects, E3 readers that stop, E4 peers that vanish, E5 calls cut short, E6 proxies, E7 retries.

python3 streams.py ROW [--long] [--seed N] [--control NAME]"""
import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import select
import socket
import sys
import time

from rows import FAKE, Process, free_port, long_job, main, rss_kib, small, spec, tool, wait_for, within


def port_of(server):
    return int(server.url.rsplit(":", 1)[1])


def follow(port, job, last_id, until, receive_buffer=None):
    """Reads the stream from after last_id until until(bytes so far) or its end; returns whole events as (id, data)."""
    text, events = b"", []
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                               f"Last-Event-ID: {last_id}\r\nConnection: close\r\n\r\n".encode())
            while not until(text) and (piece := connection.recv(512)):
                text += piece
    except OSError:
        pass
    head, _, body = text.partition(b"\r\n\r\n")
    for block in unchunk(body).decode(errors="replace").split("\n\n")[:-1]:   # the last is not whole
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "id" in fields:
            events.append((int(fields["id"]), fields["data"]))
    return events


def unchunk(body):
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        try:
            count = int(size, 16)
        except ValueError:
            break
        whole += rest[:count]
        body = rest[count + 2:]
    return whole


def e1(row):
    """A stream is cut after any number of bytes, and the server killed now and then: what was read is the log, byte for byte."""
    reconnects, dice = (1000 if row.long else 150), random.Random(row.seed)
    server = row.fake(how="Tick")
    try:
        job, read, done = server.submit(spec()), [], 0
        while done < reconnects:
            done += 1
            limit = dice.randrange(1, 1500)
            deadline = time.monotonic() + dice.uniform(0.01, 0.12)
            read += follow_briefly(server, job, read[-1][0] if read else 0, limit, deadline)
            if dice.random() < 0.02:
                server.kill()
                server.start()
        server.call("POST", f"/v1/jobs/{job}/cancel")
        server.wait(job)
        read += follow(port_of(server), job, read[-1][0] if read else 0, lambda text: False)
        log = server.call("GET", f"/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"}).body.decode().splitlines()
        row.expect([data for _, data in read] == log, f"read {len(read)} events, ids {[i for i, _ in read][:50]}..., the log has {len(log)}")
        row.expect([number for number, _ in read] == list(range(1, len(read) + 1)), "the numbers have gaps or repeats")
        return f"{reconnects} reconnects, {len(log)} events"
    finally:
        server.kill()


def follow_briefly(server, job, last_id, limit, deadline):
    """At most so many bytes, and not beyond the deadline."""
    text = b""
    try:
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=5) as connection:
            connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                               f"Last-Event-ID: {last_id}\r\n\r\n".encode())
            while len(text) < limit and (left := deadline - time.monotonic()) > 0:
                connection.settimeout(left)
                if not (piece := connection.recv(limit - len(text))):
                    break
                text += piece
    except OSError:
        pass
    events = []
    for block in unchunk(text.partition(b"\r\n\r\n")[2]).decode(errors="replace").split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "id" in fields:
            events.append((int(fields["id"]), fields["data"]))
    return events


def e3(row):
    """Readers that request far more events than what the system buffers, and read nothing: they cost little, delay no other stream, and are cut after 30 s, which is counted."""
    readers, asked = (500 if row.long else 60), 20
    server, held = row.kedged(), []
    try:
        job = server.run({**small(), "dataset": {"builtin": "breast_cancer"}, "task": {"crossValidate": {"splitter": "LeaveOneOut"}}})   # of 548 KB of events
        server.stop()   # and again with jobs that report something each second, for the streams that are read
        devices = {"devices": [{"id": f"cuda:{number}"} for number in range(10)]}
        server.arguments, server.extra_env = ("--worker", FAKE), row.environment({"KEDGE_FAKE_HOW": "Tick", "KEDGE_FAKE_DEVICES": json.dumps(devices)})
        server.start()
        ticking = [server.submit(spec(task={"crossValidate": {"cv": 2 + number}})) for number in range(10)]
        alone = p99(lags(row, server, ticking, 5))
        request = f"GET /v1/jobs/{job['id']}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
        before = rss_kib(server.child.pid)
        for _ in range(readers):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.connect(("127.0.0.1", port_of(server)))
            reader.sendall(request * asked)
            held.append(reader)
        row.expect(within(lambda: established(server) == readers, 10) is not None, "not all are there")
        begin = time.monotonic()
        time.sleep(3)   # in which the server sends what it will
        each = (rss_kib(server.child.pid) - before) / readers
        beside = p99(lags(row, server, ticking, 5))
        row.expect(established(server) == readers, "they are closed already")
        row.expect_cost(each <= 256, f"{each:.0f} KiB held for each")
        row.expect_cost(beside <= 1.1 * alone + 50, f"other streams lag {beside:.0f} ms, {alone:.0f} ms without them")   # 50: other programs on the machine
        gone = within(lambda: established(server) == 0, 40)
        row.expect(gone is not None, f"{established(server)} readers still have their connections after 43 s")
        row.expect(cut_as_slow(server) == readers, f"{cut_as_slow(server)} of {readers} are counted as slow readers")
        return (f"{readers} readers that read nothing: {each:.0f} KiB each, cut after {time.monotonic() - begin:.0f} s; "
                f"p99 lag of other streams {beside:.0f} ms, {alone:.0f} ms before")
    finally:
        for reader in held:
            reader.close()
        server.kill()


def lags(row, server, jobs, seconds, each=5):
    """Of `each` streams of every job, for so long: how many ms after its time each new event came."""
    begin, found, texts = time.time(), [], {}
    with contextlib.ExitStack() as stack:
        for job in jobs * each:
            stream = stack.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), 5))
            stream.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
            texts[stream] = b""
        while (left := begin + seconds - time.time()) > 0:
            for stream in select.select(list(texts), [], [], left)[0]:
                arrived, piece = time.time(), stream.recv(65536)
                if not row.expect(piece, "a stream ended"):
                    return found
                whole, _, texts[stream] = (texts[stream] + piece).rpartition(b"\n\n")
                times = [datetime.datetime.fromisoformat(text.decode() + "+00:00").timestamp() for text in re.findall(rb'"time":"([^"]+)Z"', whole)]
                found += [1e3 * (arrived - when) for when in times if when > begin + 1]   # the streams are open then
    row.expect(len(found) >= (seconds - 3) * len(texts), f"{len(found)} events came to {len(texts)} streams in {seconds} s")
    return found


def p99(values):
    return sorted(values)[len(values) * 99 // 100] if values else 0


def cut_as_slow(server):
    return int(re.search(r'kedge_event_stream_dropped_total{reason="slow_reader"} (\d+)', server.call("GET", "/metrics").body.decode())[1])


def established(server):
    """Connections that the server has open."""
    folder = pathlib.Path(f"/proc/{server.child.pid}/fd")
    port, inodes = f":{port_of(server):04X}", set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(port) and fields[3] == "01":
            inodes.add(fields[9])
    return sum(target_of(entry).removeprefix("socket:[").rstrip("]") in inodes for entry in folder.iterdir())


def target_of(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:   # closed in the meantime
        return ""


def e5(row):
    """Submits that are cut anywhere, by the client and before the answer: a repeat under the same key gives one job."""
    cuts, dice = (600 if row.long else 120), random.Random(row.seed)
    server = row.fake()
    try:
        body = json.dumps(small()).encode()
        whole = len(request_bytes("key", body))
        for number in range(cuts):
            text = request_bytes(f"e5-{number}", body)
            with socket.create_connection(("127.0.0.1", port_of(server)), timeout=5) as connection:
                connection.sendall(text[:dice.randrange(1, whole + 1) if number % 4 else whole])
                if number % 3 == 0:
                    time.sleep(dice.uniform(0, 0.005))
        first = [server.call("POST", "/v1/jobs", body, {"Idempotency-Key": f"e5-{number}"}).json()["id"] for number in range(cuts)]
        other = "-again" if row.control == "another-key" else ""
        again = [server.call("POST", "/v1/jobs", body, {"Idempotency-Key": f"e5-{number}{other}"}).json()["id"] for number in range(cuts)]
        row.expect(first == again, "a key was given two jobs")
        total, page = 0, ""
        while True:
            listed = server.call("GET", f"/v1/jobs?pageSize=500{page}").json()
            total += len(listed["jobs"])
            if not listed.get("nextPageToken"):
                break
            page = f"&pageToken={listed['nextPageToken']}"
        row.expect(total == cuts, f"{cuts} keys made {total} jobs")
        uploads_cut(row, server, dice)
    finally:
        server.kill()
    asks_cut(row, dice)
    return f"{cuts} submits, 40 uploads, 60 predictions and 60 waits cut short, {total} jobs"


def request_bytes(key, body):
    return (f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def uploads_cut(row, server, dice):
    table = b"a,b\n" + b"1,2\n" * 50_000
    for number in range(40):
        head = f"PUT /v1/datasets/cut{number} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {len(table)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=5) as connection:
            connection.sendall(head.encode() + table[:dice.randrange(len(table) - 1)])
    left = within(lambda: not [p for p in (server.data_dir / "state").rglob("*") if p.is_file() and (p.suffix == ".part" or "cut" in p.name)], 10)
    files = [str(p) for p in (server.data_dir / "state").rglob("*.part")]
    row.expect(left is not None, f"uploads that were cut left {files[:5]}")
    names = [d["name"] for d in server.call("GET", "/v1/datasets").json().get("datasets", [])]
    row.expect(not [n for n in names if n.startswith("cut")], f"uploads that were cut are listed: {names[:5]}")


def asks_cut(row, dice):
    """Predictions and waits whose clients disconnect, anywhere and in both ways: their connections are free at once, the model answers as before, nothing is left."""
    (row.folder / "asks").mkdir()
    server, held = row.kedged(row.folder / "asks"), []
    try:
        model = server.run(spec(task={"fit": {}}))["result"]["model"]
        job = server.submit(long_job())
        wait_for(lambda: server.job(job)["state"] == "running", 30, "running")
        body = json.dumps({"rows": [[5.1, 3.5, 1.4, 0.2]] * 2000}).encode()
        path = f"/v1/models/{model}/predict"
        answer, files = server.call("POST", path, body).body, state_of(server)
        predict = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        wait = f"GET /v1/jobs/{job}?wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        for number in range(120):
            text = predict if number % 2 else wait
            connection = socket.create_connection(("127.0.0.1", port_of(server)), timeout=5)
            connection.sendall(text if number % 4 < 2 else text[:dice.randrange(1, len(text))])
            held.append(connection)
            if row.control == "hang-on":
                continue
            if number % 8 < 4:   # reset it, where others only say that no more comes
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            time.sleep(dice.uniform(0, 0.01))
            connection.close()
        free = within(lambda: connections(server) <= 1, 5)   # that of the question
        row.expect(free is not None, f"the server holds {connections(server)} connections 5 s after the last client went")
        row.expect(server.call("POST", path, body).body == answer, "a prediction is another after those that were cut")
        row.expect(state_of(server) == files, f"predictions and waits that were cut left {sorted(state_of(server) - files)[:5]}")
        row.expect(server.job(job)["state"] == "running", "a job whose waiting clients went does not go on")
        listed = [one["id"] for one in server.call("GET", "/v1/jobs").json()["jobs"]]
        row.expect(len(listed) == 2, f"{len(listed)} jobs are listed, of 2")
    finally:
        for connection in held:
            connection.close()
        server.kill()


def state_of(server):
    """Every file that the server keeps."""
    return {str(p) for p in (server.data_dir / "state").rglob("*") if p.is_file()}


def connections(server):
    return sum(int(float(value)) for value in re.findall(r"^kedge_http_connections(?:\{[^}]*\})? (\S+)", server.call("GET", "/metrics").body.decode(), re.M))


PROXIES = {
    "nginx": """daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{ }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s; server {{ listen 127.0.0.1:{port}; location / {{ proxy_http_version 1.1; proxy_pass http://127.0.0.1:{behind}; }} }} }}
""",
    "haproxy": """defaults
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server 50s
{more}
listen kedge
  bind 127.0.0.1:{port}
  server one 127.0.0.1:{behind}
""",
}


def e6(row):
    """Through nginx (with HTTP/1.1) and HAProxy (with no delay): each event passes at once, and a quiet stream is not cut."""
    seconds, figures = (75 if row.long else 3), []
    more = "" if row.control == "hold-back" else "  option http-no-delay"   # else HAProxy holds a small piece back for 200 ms
    server = row.fake(how="Tick" if not row.long else "WaitForCancel")
    proxies = []
    try:
        job = server.submit(spec())
        wait_for(lambda: server.job(job)["state"] == "running", 10, "running")
        for name, text in PROXIES.items():
            program = tool(name)
            port = free_port()
            folder = row.folder / name
            folder.mkdir()
            os.chmod(row.folder, 0o755)
            (folder / "conf").write_text(text.format(folder=folder, port=port, behind=port_of(server), more=more))
            flags = ["-c", folder / "conf", "-p", folder] if name == "nginx" else ["-db", "-f", folder / "conf"]
            proxies.append(Process([program, *flags], log=folder / "log"))
            wait_for(lambda: accepts(port), 10, name)
            figures.append(f"{name} {worst_lag(row, server, name, port, job, seconds)}")
        return ", ".join(figures)
    finally:
        for proxy in proxies:
            proxy.stop()
        server.kill()


def worst_lag(row, server, name, port, job, seconds):
    """How much later an event comes through the proxy than on a stream without it."""
    ask = f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
    arrived, begin = {"direct": {}, "proxy": {}}, time.monotonic()
    with socket.create_connection(("127.0.0.1", port_of(server)), 5) as direct, socket.create_connection(("127.0.0.1", port), 5) as proxy:
        for connection in (direct, proxy):
            connection.sendall(ask)
        while (left := begin + seconds - time.monotonic()) > 0:
            for ready in select.select([direct, proxy], [], [], left)[0]:
                piece = ready.recv(65536)
                if not row.expect(piece, f"{name} or the server cut the stream after {time.monotonic() - begin:.0f} s"):
                    return "cut"
                for number in re.findall(rb"^id: (\d+)", piece, re.M):
                    arrived["proxy" if ready is proxy else "direct"].setdefault(int(number), time.monotonic())
    later = [1e3 * (when - arrived["direct"].get(number, when)) for number, when in arrived["proxy"].items()]
    row.expect(len(later) >= len(arrived["direct"]) - 1, f"{name}: {len(later)} events came, {len(arrived['direct'])} without it")
    row.expect(max(later, default=1e9) <= 100, f"{name}: an event came {max(later, default=-1):.0f} ms later than without it")
    return f"{len(later)} events, {max(later, default=-1):.0f} ms later at most, {seconds} s open"


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    sys.exit(main({"E1": e1, "E3": e3, "E5": e5, "E6": e6}, {"E1": ["repeat-events", "skip-event-numbers"], "E3": ["keep-slow-readers"], "E5": ["another-key", "hang-on"], "E6": ["hold-back"]}))
