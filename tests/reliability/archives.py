"""Rows on what may fill a disk: D5 archives and bombs in place of text, D8 a cache that has a bound.

python3 archives.py ROW [--long] [--seed N] [--control NAME]"""
import bz2
import concurrent.futures
import gzip
import io
import lzma
import os
import sys
import tarfile
import threading
import time
import zipfile
import zlib

from data import Origin, answer, files_of, table, url_job
from rows import main, rss_kib, wait_for

MIB = 1 << 20
REFUSED = {"INVALID_VALUE", "DATASET_CORRUPT", "DATASET_UNAVAILABLE"}


def zipped(*names, content=b"a,label\n1,x\n2,y\n", flags=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    body = bytearray(out.getvalue())
    body[6] |= flags   # of the first entry; 1: encrypted
    return bytes(body)


def tarred(kind=None, name="table.csv", target=""):
    out, content = io.BytesIO(), b"a,label\n1,x\n2,y\n"
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind or tarfile.REGTYPE, target
        entry.size = len(content) if kind is None else 0
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def bomb(size):
    """gzip of so many bytes of one row, made piece by piece."""
    packer, piece = zlib.compressobj(9, wbits=31), b"1,x\n" * (MIB // 4)
    return packer.compress(b"a,label\n") + b"".join(packer.compress(piece) for _ in range(size // MIB)) + packer.flush()


def archives(long):
    """path: body, and fields of the answer. Each pretends to be a table in CSV."""
    good = table(1, 0)
    wrong_crc = bytearray(gzip.compress(good, mtime=0))
    wrong_crc[-6] ^= 1
    huge = bomb((4096 if long else 512) * MIB)
    coded = [b"Content-Encoding: gzip"]
    return {"/escape.tar": (tarred(name="../../escape.csv"), []), "/absolute.tar": (tarred(name="/tmp/escape.csv"), []),
            "/symlink.tar": (tarred(tarfile.SYMTYPE, target="/etc/passwd"), []), "/hardlink.tar": (tarred(tarfile.LNKTYPE, target="/etc/passwd"), []),
            "/device.tar": (tarred(tarfile.CHRTYPE), []), "/fifo.tar": (tarred(tarfile.FIFOTYPE), []), "/tar.gz": (gzip.compress(tarred()), []),
            "/escape.zip": (zipped("../../escape.csv"), []), "/overlap.zip": (zipped("a.csv") + zipped("a.csv"), []), "/encrypted.zip": (zipped("a.csv", flags=1), []),
            "/bomb.zip": (zipped("a.csv", content=b"0" * 64 * MIB), []), "/nested.zip": (zipped("b.zip", content=zipped("c.zip", content=zipped("d.csv"))), []),
            "/many.zip": (zipped(*(f"{i}.csv" for i in range(20_000)), content=b""), []), "/empty.zip": (zipped(), []),
            "/cut.bz2": (bz2.compress(good)[:-9], []), "/bomb.bz2": (bz2.compress(b"0" * 512 * MIB), []), "/xz": (lzma.compress(good), []), "/zst": (b"\x28\xb5\x2f\xfd" + bytes(100), []), "/7z": (b"7z\xbc\xaf\x27\x1c" + bytes(100), []),
            "/nested.gz": (gzip.compress(gzip.compress(good)), []), "/wrong-crc.gz": (bytes(wrong_crc), []), "/cut.gz": (gzip.compress(good)[:-9], []),
            "/bomb.gz": (huge, []), "/coded-bomb": (huge, coded), "/twice-coded": (gzip.compress(gzip.compress(huge)), coded),
            "/many-members.gz": (gzip.compress(b"", mtime=0) * (1_000_000 if long else 200_000), []), "/zeros": (bytes(MIB), []), "/zeros.gz": (gzip.compress(bytes(MIB)), [])}


def d5(row):
    """Archives, bombs and damaged gzip in place of tables, by URL and as uploads: refused with a reason, soon, and nothing is left."""
    origin, cases = Origin(), archives(row.long)
    if row.control == "tables":
        cases = {path: (table(1, 0), []) for path in cases}
    server = row.kedged(None, "--devices", "cpu", "--allow-fetch", "127.0.0.1")
    state, most = server.data_dir / "state" / "datasets", {"rss": 0, "disk": 0}
    try:
        server.run(url_job("http://127.0.0.1:1/"))   # everything that a first job loads
        before, watching = rss_kib(server.child.pid), threading.Event()

        def watch():
            while not watching.wait(0.005):
                most["rss"] = max(most["rss"], rss_kib(server.child.pid) - before)
                most["disk"] = max(most["disk"], disk_of(state))
        watcher = threading.Thread(target=watch)
        watcher.start()
        slowest = 0
        for path, (body, fields) in cases.items():
            origin.paths[path] = lambda stream, head, count, body=body, fields=fields: answer(stream, b"200 OK", body, *fields)
            begin = time.monotonic()
            job = server.run(url_job(origin.url(path)), 60)
            took = (time.monotonic() - begin) / max(1, origin.asked[path])   # what may be damaged on the way is requested three times
            code = (job.get("error") or {}).get("code")
            row.expect(job["state"] == "failed" and code in REFUSED, f"{path}: {job['state']} {code}")
            row.expect_cost(took <= 2 or row.long, f"{path}: an attempt took {took:.1f} s")
            slowest = max(slowest, took)
            if not fields:
                begin = time.monotonic()
                put = server.call("PUT", f"/v1/datasets/x{path[1:]}", body, {"Content-Type": "text/csv"})
                row.expect(put.status in (400, 422) and put.json()["code"] in REFUSED, f"PUT {path}: {put.status} {put.body[:100]}")
        watching.set()
        watcher.join()
        row.expect_cost(most["rss"] <= 64 << 10, f"the server grew by {most['rss'] >> 10} MiB")
        largest = max(len(body) for body, _ in cases.values())
        row.expect(most["disk"] <= largest + 80 * MIB, f"{most['disk'] // MIB} MiB were on disk")
        left = [str(file) for file in state.rglob("*") if file.suffix in (".kds", ".part")]
        row.expect(not left, f"left: {left}")
        return f"{len(cases)} files by URL and {sum(not f for _, f in cases.values())} uploads refused, an attempt at most {slowest:.1f} s, {most['rss'] >> 10} MiB more memory, {most['disk'] // MIB} MiB on disk"
    finally:
        origin.listener.close()
        server.kill()


def disk_of(folder):
    total = 0
    for base, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.stat(os.path.join(base, file)).st_blocks * 512
            except OSError:   # it was removed
                pass
    return total


def d8(row):
    """Far more data sets than the cache may hold, of jobs that wait while they have theirs: all succeed, and the cache keeps its bound."""
    jobs, rows_each = (400 if row.long else 60), 30_000
    server = row.kedged(None, "--devices", "cpu", "--cache-mib", "1")
    try:
        csv = "a,b,label\n" + "".join(f"{i % 7},{i % 5},{'xy'[i % 7 > 3]}\n" for i in range(rows_each))
        job = lambda n: {"dataset": {"inline": {"csv": csv + f"{n},{n},x\n", "target": "label"}}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"crossValidate": {"cv": 2}}}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(lambda n: server.submit(job(n)), range(jobs)))
            ends = list(pool.map(lambda id: server.wait(id), ids))
        failed = [end.get("error") for end in ends if end["state"] != "succeeded"]
        row.expect(not failed, f"{len(failed)} jobs failed: {failed[:1]}")
        one = max((file.stat().st_size for file in files_of(server)), default=0)
        sizes = []
        for n in range(5):
            server.run(job(jobs + n))
            sizes.append(sum(file.stat().st_size for file in files_of(server)))
        row.expect(max(sizes) <= MIB + one, f"{max(sizes)} bytes are in a cache of 1 MiB of files of {one}")
        again = server.run(job(jobs + 4))
        row.expect(not again["result"]["timings"]["cold"], "what was used last was removed")
        return f"{jobs} jobs of {one >> 10} KiB each, the cache at the end {max(sizes) >> 10} KiB of 1,024"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"D5": d5, "D8": d8}, {"D5": ["tables"], "D8": ["evict-what-is-used"]}))
