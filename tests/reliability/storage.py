"""Rows on the disk: K5 every call may fail, K6 the disk is full, K7 the store is damaged.

python3 storage.py ROW [--long] [--seed N] [--control NAME]"""
import http.client
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import urllib.error

from kill_points import Round, check, normal, with_data
from rows import (BIN, FINAL, SANITIZED, CannotRun, Kedged, Process, events_of, long_job, main, read_port, small, spec, wait_for, within)

DAMAGED = 74   # how kedged ends when it cannot use its store


def k5(row):
    """Reads, writes, syncs and renames of the server fail at random, then no more: nothing acknowledged is lost, and it recovers."""
    libraries = pathlib.Path("/usr/lib/fiu")
    if not (libraries / "fiu_posix_preload.so").exists():
        raise CannotRun("fiu-utils is not installed")
    if "address" in SANITIZED:
        raise CannotRun("the address sanitizer must be loaded before any other library, and so must libfiu")
    kinds = [("posix/io/rw/*", 28), ("posix/io/rw/*", 5), ("posix/io/sync/*", 5), ("posix/io/oc/open*", 28), ("posix/io/dir/rename", 5)]
    rounds, refused, acknowledged = (10 if row.long else 1), 0, 0
    fifo = row.folder / "fiu"
    env = {"LD_PRELOAD": f"{libraries}/fiu_run_preload.so {libraries}/fiu_posix_preload.so", "FIU_CTRL_FIFO": str(fifo)}
    server = row.kedged(None, "--nvml", "off", env=env)   # libfiu and a library that is being loaded can wait for each other
    try:
        for number in range(rounds):
            for name, error in kinds:
                server.run(small())   # its workers are there
                control = pathlib.Path(f"{fifo}-{server.child.pid}")
                tell(control, f"enable_random name={name},probability=0.3,failinfo={error}")
                done = Round(f"k5-{number}-{name}-{error}")
                done.may_fail = {"STORAGE_FULL", "UNAVAILABLE", "DATASET_CORRUPT"}   # whose data could not be written, or read back
                refused += work(server, done)
                tell(control, f"disable name={name}")
                row.expect(server.child.poll() is None, f"{name} failing with {error}: the server ended")
                row.expect(within(lambda: server.call("GET", "/readyz").status == 200, 5) is not None,
                           f"{name} failing with {error}: not ready within 5 s after it works again")
                server.kill()
                server.start()
                acknowledged += len(done.acknowledged)
                check(server, done, row.problems)
    finally:
        server.kill()
    row.expect(refused > 0, "no call was refused: the faults did not reach the server")
    return f"{rounds * len(kinds)} rounds, {acknowledged} jobs acknowledged, {refused} refused"


def tell(fifo, command):
    """What fiu-ctrl does."""
    with open(f"{fifo}.in", "w") as out:
        out.write(command + "\n")
    with open(f"{fifo}.out") as answer:
        assert answer.readline().strip() == "0", command


def work(server, done):
    """Submits; counts what is refused, which must be done with a problem that says that the cause is the server's."""
    refused = 0
    for number in range(20):
        key = f"{done.tag}-{number}-a"
        job = with_data(f"c{number}") if number % 5 == 0 else normal(number)
        try:
            reply = server.call("POST", "/v1/jobs", job, {"Idempotency-Key": key}, timeout=40)
        except OSError:
            continue
        if reply.status == 202:
            done.submits[key], done.acknowledged[key] = job, reply.json()["id"]
        else:
            assert reply.status in (500, 503, 507), (reply.status, reply.body)
            refused += 1
    return refused


def k6(row):
    """A disk that is full, a tmpfs of 32 MiB: jobs are refused, all other calls succeed, and it recovers when there is room again."""
    disk = row.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", disk], capture_output=True).returncode != 0:
        raise CannotRun("a tmpfs may not be mounted")
    server = None
    try:
        server = row.kedged(disk)
        ended = server.submit(small())
        server.wait(ended)
        model = None if row.control else fitted_model(server)
        waiting = server.submit(long_job())
        wait_for(lambda: server.job(waiting)["state"] == "running", 20, "running")
        fill(disk / "ballast")
        acknowledged, refusal = submit_until_refused(server)
        row.expect(refusal is not None and refusal.status == 507, f"{len(acknowledged)} jobs accepted on a full disk, then {refusal and refusal.status}")
        if refusal is not None and refusal.status == 507:
            row.expect(refusal.headers["Content-Type"] == "application/problem+json", "the refusal is no problem+json")
            row.expect(int(refusal.headers.get("Retry-After", -1)) > 0, "the refusal has no Retry-After")
        if model:
            upload = server.call("POST", "/v1/models", model, {"Content-Type": "application/octet-stream"})
            row.expect(upload.status == 507, f"a model on a full disk: {upload.status} {upload.body[:200]}")
        state = server.call("GET", "/readyz")
        row.expect(state.status == 503 and b"full" in state.body, f"/readyz says {state.status}: {state.body[:200]}")
        row.expect(server.job(ended)["state"] == "succeeded" and len(events_of(server, ended)) > 3, "reading does not go on")
        row.expect(server.call("POST", f"/v1/jobs/{waiting}/cancel", timeout=40).status in (202, 503), "a cancel is not answered")
        pid = server.child.pid
        (disk / "ballast").unlink()
        healed = within(lambda: server.call("GET", "/readyz").status == 200, 5)
        row.expect(healed is not None, "not ready within 5 s after there is room")
        row.expect(server.child.poll() is None and server.child.pid == pid, "the server ended")
        row.expect(server.wait(waiting, 20)["state"] == "cancelled", "the cancel is forgotten")
        server.kill()
        server.start()
        for job in acknowledged:
            row.expect(server.call("GET", f"/v1/jobs/{job}").status == 200, f"{job} was acknowledged on a full disk and is lost")
        return f"refused with {refusal and refusal.status} after {len(acknowledged)} jobs, ready {healed or -1:.2f} s after there was room"
    finally:
        if server:
            server.kill()
        subprocess.run(["umount", "-l", disk])


def fitted_model(server):
    model = server.run(spec(task={"fit": {}}))["result"]["model"]
    return server.call("GET", f"/v1/models/{model}/download").body


def fill(file):
    with open(file, "wb", buffering=0) as out:
        for size in (1 << 20, 4096):
            try:
                while True:
                    out.write(bytes(size))
            except OSError:
                pass


def submit_until_refused(server):
    acknowledged = []
    for number in range(3000):
        reply = server.call("POST", "/v1/jobs", small(number))
        if reply.status != 202:
            return acknowledged, reply
        acknowledged.append(reply.json()["id"])
    return acknowledged, None


def k7(row):
    """Bytes of the store are changed or cut off: it is refused by name, or what it says is what was stored."""
    trials, dice = (1000 if row.long else 200 if row.control else 25), random.Random(row.seed)   # under the control a wrong answer is rare, too; the first ends it
    whole, counts = row.folder / "whole", {"refused": 0, "an error": 0, "whole": 0}
    whole.mkdir()
    server = row.fake_in(whole)
    ids = [server.submit(small(number)) for number in range(150)]
    truth = {job: known(server, job) for job in ids if server.wait(job)}
    server.kill()   # so that the log is not folded into the store
    for trial in range(trials):
        folder = row.folder / "trial"
        shutil.copytree(whole, folder)
        what = damage(folder / "state", dice)
        counts[judge(row, folder, truth, dice, what)] += 1
        shutil.rmtree(folder)
        if row.found():
            break
    return f"{sum(counts.values())} trials: " + ", ".join(f"{count} {name}" for name, count in counts.items())


def known(server, job):
    value = server.job(job)
    return json.dumps([value["state"], value["spec"], value.get("result"), events_of(server, job)], sort_keys=True)


def damage(state, dice):
    file = state / dice.choice(["kedge.db", "kedge.db", "kedge.db-wal"])
    size = file.stat().st_size
    kind = dice.choice(["bit", "bytes", "page", "cut"])
    if size == 0:
        return "nothing"
    at = dice.randrange(size)
    if kind == "cut":
        os.truncate(file, at)
    else:
        at = at // 4096 * 4096 if kind == "page" else at
        count = {"bit": 1, "bytes": 16, "page": 4096}[kind]
        with open(file, "r+b") as out:
            out.seek(at)
            old = out.read(count)
            out.seek(at)
            out.write(bytes([old[0] ^ (1 << dice.randrange(8))]) if kind == "bit" else dice.randbytes(len(old)))
    return f"{kind} at {at} of {size} in {file.name}"


def judge(row, folder, truth, dice, what):
    log = folder / "kedged.log"
    port_file = folder / "port"
    port_file.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    process = Process([BIN / "kedged", "--listen", "127.0.0.1:0", "--port-file", port_file, "--data-dir", folder / "state", "--worker",
                       BIN / "kedge_fake_worker"], env=row.environment({"KEDGE_FAKE_HOW": "Succeed"}), log=log)
    server = Kedged.__new__(Kedged)
    server.child, server.data_dir = process.child, folder
    try:
        port = wait_for(lambda: read_port(port_file) or process.child.poll() is not None and -1, 20, "kedged")
        if port < 0:
            text = log.read_text()
            row.expect(process.child.returncode == DAMAGED and "kedge.db" in text, f"{what}: ended with {process.child.returncode}: {text[-200:]}")
            return "refused"
        server.url = f"http://127.0.0.1:{port}"
        return compare(row, server, truth, dice, what)
    finally:
        process.kill()


def compare(row, server, truth, dice, what):
    outcome = "whole"
    for job in truth:
        reply = server.call("GET", f"/v1/jobs/{job}")
        if reply.status == 404 and "wal" in what:
            outcome = "an error"   # the end of the log was not whole, as after a torn write
            continue
        if reply.status >= 500:
            outcome = "an error"
            continue
        try:
            now = known(server, job)
        except (KeyError, ValueError, OSError, http.client.HTTPException):
            outcome = "an error"
            continue
        if not row.expect(now == truth[job] or "wal" in what, f"{what}: {job} is answered wrongly: {now[:300]} instead of {truth[job][:300]}"):
            break
    row.expect(server.child.poll() is None, f"{what}: kedged ended with {server.child.returncode}")
    return outcome


if __name__ == "__main__":
    sys.exit(main({"K5": k5, "K6": k6, "K7": k7}, {"K5": ["acknowledge-before-commit"], "K6": ["acknowledge-before-commit"],
                                                   "K7": ["trust-the-store"]}))
