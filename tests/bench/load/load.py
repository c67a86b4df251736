"""Load on one server on loopback: L3 durable submits, L4 submit to result, L5 event streams, L6 uploads (needs netcat-openbsd), L8 overload, L9 start and idle.

python3 load.py [--bin DIR] [--streams 10000] [--only L3 ...]; the programs must be there (-DKEDGE_BENCH=ON). Ends by itself, within
four minutes. L5 needs two descriptors for each stream in all, and `ulimit -n` bounds it."""
import argparse
import array
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
JOBS = 100
UPLOADS = 4


def rss_kib(pid, kind="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1])


def run_load(options, server, *arguments):
    port = server.url.rsplit(":", 1)[1]
    done = subprocess.run([options.bin / "kedge_load", arguments[0], port, *map(str, arguments[1:])], capture_output=True, text=True,
                          timeout=180)
    print("  " + (done.stdout + done.stderr).strip().replace("\n", "\n  "), flush=True)


def submits(options, kedged, folder):
    # Without the bound of 20,000 open jobs, which five seconds may reach.
    server = kedged(folder, "--worker", options.bin / "kedge_fake_worker", "--tenant-jobs", "0", env={"KEDGE_FAKE_HOW": "Succeed"})
    trace = subprocess.Popen(["strace", "-f", "-c", "-e", "trace=fdatasync,fsync", "-p", str(server.child.pid)], stderr=subprocess.PIPE,
                             text=True) if options.strace else None
    try:
        run_load(options, server, "submit", 5, 64)
    finally:
        if trace:
            trace.send_signal(2)
            print(trace.communicate()[1])
        server.kill()


def latency(options, kedged, folder):
    server = kedged(folder)
    try:
        run_load(options, server, "jobs", 50, 1)
        run_load(options, server, "jobs", 500, 1)
        run_load(options, server, "jobs", 2000, 32)
    finally:
        server.kill()


def streams(options, kedged, folder):
    devices = [{"id": "cpu"}] + [{"id": f"cuda:{i}"} for i in range(JOBS)]
    env = {"KEDGE_FAKE_DEVICES": json.dumps({"devices": devices}), "KEDGE_FAKE_HOW": "Tick"}
    server = kedged(folder, "--worker", options.bin / "kedge_fake_worker", env=env)
    try:
        time.sleep(2)   # the workers start
        before = rss_kib(server.child.pid)
        port = server.url.rsplit(":", 1)[1]
        load = subprocess.Popen([options.bin / "kedge_load", "streams", port, str(options.streams), str(JOBS), "15"],
                                stdout=subprocess.PIPE, text=True)
        peak = 0
        while load.poll() is None:
            peak = max(peak, rss_kib(server.child.pid))
            time.sleep(0.2)
        print("  " + load.stdout.read().strip())
        print(f"  {(peak - before) / options.streams:.2f} KiB of the server's memory for each stream ({before} to {peak} KiB)", flush=True)
    finally:
        server.kill()


def seconds_of_nc(folder, file):
    """Of as many files at once as there are uploads, each through a pair of nc into a file, until all are on disk."""
    ports = []
    for _ in range(UPLOADS):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(free.getsockname()[1])
    sinks = [subprocess.Popen(f"exec nc -l 127.0.0.1 {port} > {folder}/copy{port}", shell=True) for port in ports]
    while not all(f"0100007F:{port:04X} " in pathlib.Path("/proc/net/tcp").read_text() for port in ports):
        time.sleep(0.01)
    begin = time.monotonic()
    senders = [subprocess.Popen(f"exec nc -N 127.0.0.1 {port} < {file}", shell=True) for port in ports]
    assert all(process.wait(120) == 0 for process in senders + sinks)
    subprocess.run(["sync", *folder.glob("copy*")], check=True)
    took = time.monotonic() - begin
    for copy in folder.glob("copy*"):
        assert copy.stat().st_size == file.stat().st_size
        copy.unlink()
    return took


def npy_file(file, megabytes):
    """Numbers without a pattern that a disk might see: a MiB of them, turned by a little more each time."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 256), }" % (megabytes * 1024)
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    numbers = array.array("f", (random.Random(0).random() for _ in range(1 << 18))).tobytes()
    with open(file, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for number in range(megabytes):
            out.write(numbers[4 * number:] + numbers[:4 * number])


def upload_all(server, file):
    """What it took, how much the server grew in MiB, and what /livez took meanwhile, in ms."""
    before, peak, waits = rss_kib(server.child.pid, "RssAnon"), 0, []   # not the files that it maps
    begin = time.monotonic()
    sent = [subprocess.Popen(["curl", "-sSf", "-o", "/dev/null", "-H", "Content-Type: application/x-npy", "-T", file,
                              f"{server.url}/v1/datasets/table{i}"]) for i in range(UPLOADS)]
    while any(process.poll() is None for process in sent):
        asked = time.monotonic()
        server.call("GET", "/livez")
        waits.append(1e3 * (time.monotonic() - asked))
        peak = max(peak, rss_kib(server.child.pid, "RssAnon"))
        time.sleep(0.02)
    assert not any(process.returncode for process in sent), [process.returncode for process in sent]
    return time.monotonic() - begin, (peak - before) / 1024, waits


def uploads(options, kedged, folder):
    """Four at once, in turns with nc that takes the same bytes to the same disk."""
    folder, ratios, grew, waits = pathlib.Path(folder), [], [], []
    file = folder / "table.npy"
    npy_file(file, options.upload_mib)
    sum_mib = UPLOADS * options.upload_mib
    for number in range(options.pairs):
        piped = seconds_of_nc(folder, file)
        (folder / f"server{number}").mkdir()
        server = kedged(folder / f"server{number}")
        try:
            took, more, slow = upload_all(server, file)
        finally:
            server.kill()
        shutil.rmtree(folder / f"server{number}")
        ratios.append(piped / took)
        grew.append(more)
        waits += slow
        print(f"    nc {sum_mib / piped:.0f} MiB/s, kedged {sum_mib / took:.0f} MiB/s: {ratios[-1]:.2f}", flush=True)
    waits.sort()
    print(f"  {UPLOADS} uploads of {options.upload_mib} MiB: {statistics.median(ratios):.2f} of nc; the server grew by {max(grew):.0f} MiB; "
          f"/livez p99 {waits[int(0.99 * (len(waits) - 1))]:.0f} ms", flush=True)


def finished(server):
    """Jobs that have ended so far."""
    text = server.call("GET", "/metrics").body.decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("kedge_jobs_finished_total{"))


def finished_a_second(options, server, *load):
    begin, before = time.monotonic(), finished(server)
    run_load(options, server, *load)
    return (finished(server) - before) / (time.monotonic() - begin)


def overload(options, kedged, folder):
    """Three times as many jobs as it can do, for a minute: what it does meanwhile, and how soon it is over."""
    server = kedged(folder, "--worker", options.bin / "kedge_fake_worker", "--tenant-jobs", "2000", env={"KEDGE_FAKE_HOW": "Succeed"})
    try:
        peak = finished_a_second(options, server, "jobs", 20000, 64)
        before = rss_kib(server.child.pid)
        during = finished_a_second(options, server, "rate", 60, 50, int(3 * peak))   # as many connections as `hey` has
        after = rss_kib(server.child.pid)
        run_load(options, server, "jobs", 500, 1)
        print(f"  jobs done: {during:.0f} a second of {peak:.0f}, {during / peak:.2f}; {before / 1024:.0f} to {after / 1024:.0f} MiB resident", flush=True)
    finally:
        server.kill()


def idle(options, kedged, folder):
    starts = []
    for _ in range(10):
        begin = time.monotonic()
        server = kedged(folder)
        starts.append(1e3 * (time.monotonic() - begin))
        time.sleep(0.5)
        memory = rss_kib(server.child.pid)
        server.kill()
    print(f"  start to ready: median {sorted(starts)[5]:.0f} ms; idle: {memory / 1024:.1f} MiB resident", flush=True)


def main():
    rows = {"L3": submits, "L4": latency, "L5": streams, "L6": uploads, "L8": overload, "L9": idle}
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev" / "bin")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", choices=rows, default=list(rows))
    parser.add_argument("--upload-mib", type=int, default=1024, help="of each upload of L6; five such files must fit on the disk")
    parser.add_argument("--pairs", type=int, default=3, help="of nc and kedged in L6")
    parser.add_argument("--strace", action="store_true", help="count the syncs of L3, which slows it")
    options = parser.parse_args()
    os.environ["KEDGE_BIN"] = str(options.bin)
    from kedge_server import Kedged
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options.streams = min(options.streams, hard - 500)
    for name in options.only:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows[name](options, Kedged, folder)


if __name__ == "__main__":
    main()
