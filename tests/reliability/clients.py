"""Rows on clients that come late, vanish or meet a bad network: E2 events that are no longer kept, E4 peers that vanish without a word, E7 the SDK's retries.

python3 clients.py ROW [--long] [--seed N] [--control NAME]"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

from rows import BIN, CannotRun, Kedged, accept_each, main, rss_kib, small, spec, wait_for, within
from streams import follow, port_of

KEPT = 2   # events of a job that ended long ago: its result and its last state


def e2(row):
    """A client that comes back for events that are no longer kept gets a message that says so, with the job as it is now, from every place."""
    server = row.kedged(None, "--keep-events", "1")
    try:
        jobs = [server.run(spec(task={"crossValidate": {"cv": folds}}))["id"] for folds in (2, 3)]
        for job in jobs:
            whole = wait_for(lambda: (lambda e: e if len(e) <= KEPT + 1 else None)(lines(server, f"/v1/jobs/{job}/events")), 90, "the events to be dropped")
            first = whole[-KEPT]["id"]
            row.expect(first > 3 and len(whole) == KEPT + (not row.control), f"{len(whole)} events are left of {whole[-1]['id']}")
            for after in range(whole[-1]["id"]):
                told(row, after, first, lines(server, f"/v1/jobs/{job}/events?after={after}"))
                told(row, after, first, [json.loads(data) for _, data in follow(port_of(server), job, after, lambda text: False)])
        both = lines(server, f"/v1/events?jobs={','.join(jobs)}")
        row.expect([e["job"] for e in both if "gap" in e] == jobs, "the stream of two jobs does not tell both gaps")
        return f"{len(jobs)} jobs of {whole[-1]['id']} events, of which {KEPT} are kept; every place, two forms"
    finally:
        server.kill()


def lines(server, path):
    return [json.loads(line) for line in server.call("GET", path, headers={"Accept": "application/x-ndjson"}).body.splitlines()]


def told(row, after, first, events):
    numbers = [event["id"] for event in events]
    if after + 1 >= first:
        row.expect(numbers and numbers[0] == after + 1 and "gap" not in events[0], f"after {after}, with no event missing: {numbers}")
        return
    gap = events[0].get("gap") if events else None
    if row.expect(gap, f"after {after}: nothing says that {after + 1} to {first - 1} are missing"):
        row.expect((gap["from"], gap["to"]) == (after + 1, first - 1) and numbers == list(range(first - 1, first + KEPT)), f"after {after}: {gap} {numbers}")
        row.expect(gap["job"]["state"] == "succeeded" and gap["job"]["result"]["scores"], f"after {after}: the gap does not say how the job is")


class Exposed(Kedged):
    """On every address of a network of its own, without other hosts."""

    listen = "0.0.0.0:0"


HOLDER = """import socket, sys
held = []
for number in range(int(sys.argv[2])):
    c = socket.create_connection(("10.8.0.1", int(sys.argv[1])), timeout=10, source_address=(f"10.8.0.{2 + number % 8}", 0))   # 256 of one may connect
    c.sendall(b"GET /v1/jobs/%s/events HTTP/1.1\\r\\nHost: localhost\\r\\nAccept: text/event-stream\\r\\n\\r\\n" % sys.argv[3].encode())
    assert c.recv(100).startswith(b"HTTP/1.1 200")
    held.append(c)
print("held", flush=True)
sys.stdin.read()"""


def e4(row):
    """Peers that vanish at once: no FIN, no RST, no answer. Their connections end within 45 s, and cost little until then."""
    if "KEDGE_E4" not in os.environ:
        return in_networks(row)
    here, there = os.environ["KEDGE_E4"].split()
    peers = 1000 if row.long else 100
    server = Exposed(row.folder, "--insecure-listen", "--worker", BIN / "kedge_fake_worker", env=row.environment({"KEDGE_FAKE_HOW": "WaitForCancel"}))
    try:
        job = server.submit(spec())
        before = rss_kib(server.child.pid)
        holder = subprocess.Popen(["ip", "netns", "exec", there, sys.executable, "-c", HOLDER, str(port_of(server)), str(peers), job], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        assert holder.stdout.readline() == b"held\n"
        row.expect(from_outside(server) == peers, f"{from_outside(server)} connections of {peers}")
        subprocess.run(["ip", "-n", there, "addr", "flush", "dev", "kedge-b"], check=True)   # what arrives there has no receiver now
        cost = rss_kib(server.child.pid) - before
        row.expect_cost(cost <= (8 if row.long else 2) * 1024, f"{peers} peers cost {cost} KiB")
        gone = within(lambda: from_outside(server) == 0, 45)
        row.expect(gone is not None, f"{from_outside(server)} of {peers} peers are still held")
        row.expect(server.call("GET", "/livez").status == 200, "the server does not answer others")
        holder.kill()
        return f"{peers} peers of {cost / peers:.1f} KiB each, disconnected after {gone or -1:.0f} s"
    finally:
        server.kill()


def from_outside(server):
    text = pathlib.Path(f"/proc/{server.child.pid}/net/tcp").read_text()
    return len(re.findall(rf": 0100080A:{port_of(server):04X} 0[2-9]00080A:[0-9A-F]+ 0[14] ", text))


def in_networks(row):
    """Runs the row again in a network of its own, with a cable to another one."""
    here, there = f"kedge-{os.getpid()}-a", f"kedge-{os.getpid()}-b"
    if subprocess.run(["ip", "netns", "add", here], capture_output=True).returncode:
        raise CannotRun("this user may not make network namespaces, or ip is not installed")
    try:
        for command in [f"netns add {there}", f"-n {here} link add kedge-a type veth peer name kedge-b netns {there}", f"-n {here} link set lo up",
                        f"-n {here} addr add 10.8.0.1/24 dev kedge-a", f"-n {here} link set kedge-a up", f"-n {there} link set kedge-b address 02:00:00:00:00:01 up",
                        *(f"-n {here} neigh replace 10.8.0.{number} lladdr 02:00:00:00:00:01 dev kedge-a nud permanent" for number in range(2, 10)),
                        *(f"-n {there} addr add 10.8.0.{number}/24 dev kedge-b" for number in range(2, 10))]:
            if subprocess.run(["ip", *command.split()], capture_output=True).returncode:
                raise CannotRun(f"ip {command}")
        done = subprocess.run(["ip", "netns", "exec", here, sys.executable, __file__, "E4", *(["--long"] if row.long else []), *(["--control", row.control] if row.control else [])],
                              env={**os.environ, "KEDGE_E4": f"{here} {there}"}, capture_output=True, text=True, timeout=120)
        row.problems += done.stderr.splitlines()
        row.expect(bool(row.problems) == bool(row.control) and done.returncode == 0, f"ended with {done.returncode}")
        return done.stdout.strip().removeprefix("E4: ")
    finally:
        for name in (here, there):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class BadNetwork:
    """A proxy that spoils a share of the calls: an answer that says later, a connection reset before or after the call, a stream cut."""

    KINDS = ["429", "503", "502", "reset", "lost", "cut"]

    def __init__(self, port, share, seed, drop_keys=False):
        self.port, self.share, self.dice, self.drop_keys = port, share, random.Random(seed), drop_keys
        self.spoilt, self.calls = collections.Counter(), []   # of each call: when, its key and path, and how it was spoilt
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.lock = threading.Lock()
        accept_each(self.listener, self.one)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def one(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            try:
                while head := read_head(client):
                    length = int((re.search(rb"(?i)\r\ncontent-length: *(\d+)", head) or [0, 0])[1])
                    body = client.recv(length, socket.MSG_WAITALL) if length else b""
                    if not self.pass_on(client, server, head, body):
                        return
            except OSError:
                pass

    def pass_on(self, client, server, head, body):
        key = re.search(rb"(?i)\r\nidempotency-key: *(\S+)", head)
        with self.lock:
            kind = self.dice.choice(self.KINDS + ["lost"] * 3 * bool(key)) if self.dice.random() < self.share else ""
            self.spoilt[kind] += 1
            self.calls.append((time.monotonic(), (key[1] if key else b"") + head.split(b" ", 2)[1], kind))
        if kind in ("429", "503", "502"):
            later = b"Retry-After: 1\r\n" if kind != "502" else b""
            client.sendall(b"HTTP/1.1 " + kind.encode() + b" Spoilt\r\nContent-Type: text/html\r\n" + later + b"Content-Length: 4\r\n\r\nbad\n")
            return True
        if kind == "reset":
            return reset(client)
        if self.drop_keys:
            head = re.sub(rb"(?i)\r\nidempotency-key: *\S+", b"", head)
        server.sendall(re.sub(rb"(?i)\r\nconnection: *\S+", b"", head).replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + body)
        if kind == "lost":   # the call is carried out, and its answer is lost
            server.recv(1)
            return reset(client)
        sent, most = 0, self.dice.randrange(1, 2000) if kind == "cut" else 1 << 40
        while (piece := server.recv(65536)) and sent < most:
            client.sendall(piece[:most - sent])
            sent += len(piece)
        return reset(client) if kind == "cut" else False


def read_head(connection):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (byte := connection.recv(1)):
            return b""
        head += byte
    return head


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def e7(row):
    """The SDK behind a network that spoils three calls of ten: every job succeeds, none exists twice, and no call comes before the time that the server named."""
    runs = 300 if row.long else 60
    server = row.fake()
    network = BadNetwork(port_of(server), 0.3, row.seed, drop_keys=row.control == "lost-keys")
    try:
        def run(number):
            path = row.folder / f"spec{number}.json"
            path.write_text(json.dumps(small(number)))
            return subprocess.run([BIN / "kedge", "--json", "run", path], env={**os.environ, "KEDGE_URL": network.url}, capture_output=True, text=True, timeout=180)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = list(pool.map(run, range(runs)))
        failed = [d.stderr[-200:] for d in done if d.returncode != 0]
        row.expect(not failed, f"{len(failed)} of {runs} runs failed: {failed[:3]}")
        listed, page = [], ""
        while page is not None:
            reply = server.call("GET", f"/v1/jobs?pageSize=500{page}").json()
            listed += reply["jobs"]
            page = f"&pageToken={reply['nextPageToken']}" if reply.get("nextPageToken") else None
        row.expect(len(listed) == runs, f"{runs} runs made {len(listed)} jobs")
        pauses = pauses_after(network.calls)
        early = [p for p in pauses["429"] + pauses["503"] if p < 1]
        row.expect(not early, f"{len(early)} calls came before the time that the server named: {early[:5]}")
        longest = max(pauses["502"] + pauses["reset"] + pauses["lost"], default=0)
        row.expect_cost(longest <= 5 + 3, f"a pause of {longest:.1f} s, the longest is to be 5 s")   # 3 s: of a machine that does other work
        return f"{runs} runs, {sum(network.spoilt.values())} calls, spoilt: {dict(sorted((k, v) for k, v in network.spoilt.items() if k))}"
    finally:
        network.listener.close()
        server.kill()


def pauses_after(calls):
    """Of each kind of spoilt submit, the times until the same key came again."""
    pauses, last = collections.defaultdict(list), {}
    for when, key, kind in calls:
        if b"/v1/jobs" == key[-8:] and len(key) > 8:
            if key in last:
                pauses[last[key][1]].append(when - last[key][0])
            last[key] = (when, kind)
    return pauses


if __name__ == "__main__":
    sys.exit(main({"E2": e2, "E4": e4, "E7": e7}, {"E2": ["hide-gaps"], "E4": ["keep-dead-peers"], "E7": ["lost-keys"]}))
