"""Rows on small requests that cause much work: B1 checks that take long, B2 candidates that hold much, B3 names, patterns and model files.

python3 descriptions.py ROW [--long] [--seed N] [--control NAME]"""
import json
import pathlib
import socket
import struct
import sys
import time
import urllib.request

from rows import main, spec, wait_for, within

KIB = 1 << 10
MEMORY_KIB = 256 * KIB   # of kedged and of a worker, for any request
GRID = "task.gridSearch.paramGrid"


def most_kib(pid):
    """The most that a process ever held."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def expect_memory(row, server, what):
    held = {pid: most_kib(pid) for pid in [server.child.pid, *server.workers()]}
    row.expect_cost(all(kib <= MEMORY_KIB for kib in held.values()), f"{what}: the processes held {[kib >> 10 for kib in held.values()]} MiB")
    return max(held.values()) >> 10


def search(pipeline, grid, cv=2):
    return {"dataset": {"builtin": "iris"}, "pipeline": pipeline, "task": {"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": cv}}}}


# --- B1 ---


def slow_to_check():
    """Two KiB: 32,768 forms of a step, each with patterns that take a millisecond to compile."""
    names, flags = "abcd", [True, False]
    parts = [[name, {"estimator": "StandardScaler"}, {"pattern": "(.{40}[a-z]{40}" + f"{name}){{10}}"}] for name in names]
    grid = {f"columntransformer__{name}__{param}": flags for name in names for param in ("with_mean", "with_std", "copy")}
    grid |= {f"columntransformer__{param}": flags for param in ("verbose_feature_names_out", "verbose")} | {"columntransformer__remainder": ["drop", "passthrough"]}
    return search([{"estimator": "ColumnTransformer", "params": {"transformers": parts}}, {"estimator": "GaussianNB"}], grid)


class Leaving:
    """A request whose client does not wait for the answer."""

    def __init__(self, server, body):
        data = json.dumps(body).encode()
        host, port = server.url.removeprefix("http://").split(":")
        self.stream = socket.create_connection((host, int(port)))
        self.stream.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data)


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def is_idle(pid):
    before = processor_seconds(pid)
    time.sleep(0.5)
    return processor_seconds(pid) - before < 0.1


def b1(row):
    """Six searches of two KiB whose checks take longer than any may: cancels, reads and small jobs continue, and the checks end with their clients."""
    body, slowest, count = slow_to_check(), 0.0, 40 if row.long else 8
    server = row.fake("--devices", "cpu", how="WaitForCancel")
    try:
        attacks = [Leaving(server, body) for _ in range(6)]
        wait_for(lambda: processor_seconds(server.child.pid) > 0.5, 60, "the checks have begun")
        for number in range(count):
            begin = time.monotonic()
            job = server.submit(spec())
            row.expect(server.job(job)["id"] == job, "the job is not there")
            row.expect(server.call("POST", f"/v1/jobs/{job}/cancel").status == 202, "the cancel was refused")
            row.expect(server.call("GET", "/livez").status == 200, "not alive")
            slowest = max(slowest, time.monotonic() - begin)
            if row.found() or slowest > 2:
                break
        row.expect_cost(slowest <= 2, f"a submit, a read, a cancel and a look at its health took {slowest:.1f} s")
        for attack in attacks:
            attack.stream.close()
        idle = within(lambda: is_idle(server.child.pid), 8)
        row.expect_cost(idle is not None or row.found(), "the checks of clients that disconnected continue")
        if row.found():
            return "found"
        begin = time.monotonic()
        reply = server.call("POST", "/v1/jobs", body)
        row.expect(reply.status == 400 and reply.json().get("where") == GRID and "more than 10 s" in reply.json()["detail"],
                   f"the long check: {reply.status} {reply.body[:300]}")
        return f"{count} rounds of four requests during six long checks at most {slowest:.2f} s, the checks ended {idle or 0:.1f} s after their clients; one alone refused after {time.monotonic() - begin:.0f} s"
    finally:
        server.kill()


# --- B2 ---


def large_step(kib):
    """A step of so many KiB of parameters, which does nothing."""
    parts, size = [], 0
    while size < kib * KIB:
        parts.append([f"part{len(parts)}" + "x" * 1000, "drop", []])
        size += len(json.dumps(parts[-1])) + 2
    return {"estimator": "ColumnTransformer", "params": {"transformers": parts, "remainder": "passthrough"}}


class Following:
    """The events of a job, line by line."""

    def __init__(self, server, job):
        request = urllib.request.Request(f"{server.url}/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"})
        self.stream = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def until(self, word, seconds):
        wait_for(lambda: word in self.stream.readline().decode(), seconds, word)


def b2(row):
    """10,000 candidates of a pipeline with 500 KiB of parameters: shared where the candidates do not change them, refused with the field's name where they do."""
    step, many = large_step(500), [1e-9 * n for n in range(1, 10_001)]
    server = row.kedged(None, "--devices", "cpu")
    try:
        server.run(spec())   # everything that a first job loads
        refused = {GRID: search([step, {"estimator": "GaussianNB"}], {"columntransformer__verbose_feature_names_out": [True, False],
                                                                    "columntransformer__transformer_weights": [{step["params"]["transformers"][0][0]: n} for n in many[:5000]]}),
                   f"{GRID}.standardscaler": search([{"estimator": "StandardScaler"}, {"estimator": "GaussianNB"}],
                                                    {"standardscaler": [step, "passthrough"], "gaussiannb__var_smoothing": many[:5000]})}
        for where, body in refused.items():
            reply = server.call("POST", "/v1/jobs", body)
            answer = reply.json()
            row.expect(reply.status == 400 and answer.get("where") == where and "MiB" in answer.get("detail", ""), f"{where}: {reply.status} {reply.body[:300]}")
            if reply.status == 202:
                server.call("POST", f"/v1/jobs/{answer['id']}/cancel")
        job = server.submit(search([step, {"estimator": "GaussianNB"}], {"gaussiannb__var_smoothing": many}))

        with Following(server, job) as events:
            events.until('"candidate"', 300)   # the first has been scored: what all take together is there
        most = expect_memory(row, server, "10,000 candidates")
        row.expect(server.call("POST", f"/v1/jobs/{job}/cancel").status == 202, "the cancel was refused")
        end = server.wait(job, 30)
        row.expect(end["state"] == "cancelled", f"the search: {end['state']} {end.get('error')}")
        most = max(most, expect_memory(row, server, "10,000 candidates, cancelled"))
        return f"two of three refused by their field, the third ran; at most {most} MiB in a process"
    finally:
        server.kill()


# --- B3 ---

MASK = (1 << 64) - 1
FIRST, SECOND = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
HEADER = struct.Struct("<8sII6Q")   # magic, version, byte order, size of the file, of tensors, state and description, reserved, checksum


def rotated(word, by):
    return (word << by | word >> (64 - by)) & MASK


def checksum(header, rest):
    """As engine/core/model_file.cc has it: of what follows the header, then of the header without its checksum."""
    lanes = [1, 2, 3, 4]
    for words in (struct.unpack(f"<{len(rest) // 8}Q", rest), struct.unpack("<8Q", header[:56] + bytes(8))):
        for at in range(0, len(words) - 3, 4):
            lanes = [rotated((lane + words[at + i] * SECOND) & MASK, 31) * FIRST & MASK for i, lane in enumerate(lanes)]
    mixed = 0
    for lane in lanes:
        mixed = (rotated(mixed ^ lane, 29) * FIRST + SECOND) & MASK
    return mixed ^ mixed >> 32


def padded(part):
    return part + bytes(-len(part) % 64)


def nested_lists(size, depth=47):
    out = b""
    for _ in range(depth):
        out += b"\x06" + struct.pack("<I", size - len(out) - 5)
    return out + bytes(size - len(out))


def with_bomb(model, size):
    """The model, with nested lists in place of the first statistic of its imputer."""
    magic, version, order, _, n_tensors, n_state, n_info, reserved, _ = HEADER.unpack(model[:64])
    tensors, rest = model[64:64 + n_tensors], model[64 + n_tensors:]
    state, info = rest[:n_state], padded(rest[:n_state])
    info = rest[len(info):][:n_info]
    at = state.index(b"statistic") + len(b"statistic") + 1   # behind its type
    length = struct.unpack_from("<I", state, at)[0]
    bomb = nested_lists(size)
    state = state[:at] + struct.pack("<I", len(bomb)) + bomb + state[at + 4 + length:]
    body = tensors + padded(state) + padded(info)
    header = HEADER.pack(magic, version, order, 64 + len(body), n_tensors, len(state), n_info, reserved, 0)
    return header[:56] + struct.pack("<Q", checksum(header, body)) + body


def hostile_job(pattern):
    """A table whose columns have names as long as they may be, chosen by a pattern."""
    names = [letter * 999 + str(n) for n, letter in enumerate("aab")]
    csv = ",".join([*names, "label"]) + "\n" + "".join(f"{n},{n % 3},{n % 5},{'xy'[n % 2]}\n" for n in range(40))
    return {"dataset": {"inline": {"csv": csv, "target": "label"}}, "task": {"crossValidate": {"cv": 2}},
            "pipeline": [{"estimator": "ColumnTransformer", "params": {"transformers": [["t", {"estimator": "StandardScaler"}, {"pattern": pattern}]],
                                                                       "remainder": "passthrough"}}, {"estimator": "GaussianNB"}]}


def b3(row):
    """Names of 100,000 characters, patterns that would run without end, and a model file of 500 KiB that says it has 47 times as much."""
    server = row.kedged(None, "--devices", "cpu")
    try:
        put = server.call("PUT", "/v1/datasets/long", f"a,{'n' * 100_000},label\n1,2,x\n".encode(), {"Content-Type": "text/csv"})
        row.expect(put.status == 422 and "column 2 ('nnn" in put.json()["detail"] and "at most 1000" in put.json()["detail"], f"the long name: {put.status} {put.body[:300]}")
        where = "pipeline[0].params.transformers[0][2].pattern"
        for pattern, words in (("(?=a)a", "no lookahead"), ("(a)\\1", "no backreferences"), ("(", "no regular expression")):
            reply = server.call("POST", "/v1/jobs", hostile_job(pattern))
            row.expect(reply.status == 400 and reply.json()["where"] == where and words in reply.json()["detail"], f"{pattern}: {reply.status} {reply.body[:300]}")
        for pattern in ("(a*)*b", "(a|aa)+$", "^(a+)+$", "(.*a){12}b", "(x+x+)+y"):
            end = server.run(hostile_job(pattern), 60)
            row.expect(end["state"] == "succeeded" and end["attempts"] == 1, f"{pattern}: {end['state']} {end.get('error')}")
        fitted = server.run(spec(steps=["SimpleImputer", "GaussianNB"], task={"fit": {}}))["result"]["model"]
        model = server.call("GET", f"/v1/models/{fitted}/download").body
        row.expect(server.call("POST", "/v1/models", model, {"Content-Type": "application/octet-stream"}).status == 201, "the model itself is refused")
        reply = server.call("POST", "/v1/models", with_bomb(model, 500 * KIB), {"Content-Type": "application/octet-stream"})
        row.expect(reply.status == 422 and reply.json()["code"] == "MODEL_CORRUPT" and "statistic" in reply.json()["detail"], f"the bomb: {reply.status} {reply.body[:300]}")
        most = expect_memory(row, server, "a model of 500 KiB")
        return f"a name, 8 patterns and a model file; at most {most} MiB in a process"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"B1": b1, "B2": b2, "B3": b3}, {"B1": ["check-anywhere"], "B2": ["unbounded-checks"], "B3": ["trust-counts"]}))
