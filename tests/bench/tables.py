#!/usr/bin/env python3
"""Parquet and CSV files to arrays of float32: Kedge beside pandas and polars, in turns, medians of the rounds.

    tables.py [--rows 1000000] [--csv-rows 1500000] [--rounds 5]

Kedge's figure is the time of parsing that a job says ("parse"): from the file on the disk to a memory-mapped file of float32 with
its description, kedge-arrow's start included. The others read the same file, in a process that has them loaded, and convert to one
C-ordered array of float32 (texts to codes). Each round reads a new file of other numbers, so that no cache helps. Needs KEDGE_BIN
with kedge-arrow, numpy, pandas, polars and pyarrow.

Then three columns of the Parquet file alone, which all three read without the others, and the time until a job on 70,000 pictures like
MNIST's (784 bytes, a fifth of them not 0) as Parquet has its data: download from this machine, parse, and the job's wait.
"""
import argparse
import functools
import http.server
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import Kedged, spec  # noqa: E402

PEER = r"""
import sys, time
import numpy as np
import pandas as pd, polars as pl
tool, path = sys.argv[1:3]
columns = sys.argv[3].split(",") if len(sys.argv) > 3 else None
pl.select(pl.lit(1)), pd.DataFrame({"a": [1]})
begin = time.perf_counter()
if tool == "pandas":
    frame = pd.read_parquet(path, columns=columns) if path.endswith(".parquet") else pd.read_csv(path)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category").cat.codes
    values = np.ascontiguousarray(frame.to_numpy(np.float32))
else:
    frame = pl.read_parquet(path, columns=columns) if path.endswith(".parquet") else pl.read_csv(path)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns([pl.col(name).cast(pl.Categorical).to_physical() for name in texts])
    values = np.ascontiguousarray(frame.select(pl.all().cast(pl.Float32)).to_numpy())
print(time.perf_counter() - begin, values.shape[0], values.dtype)
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def table(rows, seed):
    """20 columns of float32, a count and a text of 12 kinds."""
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.normal(size=rows).astype(np.float32) for i in range(20)}
    columns["count"] = rng.integers(0, 1000, rows)
    columns["kind"] = pa.array(np.array([f"kind {i}" for i in range(12)])[rng.integers(0, 12, rows)])
    return pa.table(columns)


def write(path, rows, seed):
    made = table(rows, seed)
    if path.suffix == ".parquet":
        return pq.write_table(made, path, compression="zstd", row_group_size=131_072)
    for i in range(20):   # as people's tables have them
        name = f"x{i}"
        made = made.set_column(i, name, pa.array(np.round(made[name].to_numpy().astype(np.float64), 3)))
    return pa.csv.write_csv(made, path)


def peer(tool, path, columns=()):
    command = [sys.executable, "-c", PEER, tool, str(path), *([",".join(columns)] if columns else [])]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(said[0])


def kedge(server, url):
    """Of an address that does not say that it is Parquet, all columns are read; of one that does, those of the selection."""
    select = {"rows": 100, "columns": ["x0", "x1"]}
    job = server.run(spec(dataset={"url": {"url": url, "target": "count"}}, select=select, steps=("LinearRegression",), task={"fit": {}}))
    assert job["state"] == "succeeded", job
    return job["result"]["timings"]["parse"]


def compare(kind, rows, rounds, folder, server, origin, columns=()):
    """A line of JSON: medians of the rounds."""
    took = {"kedge": [], "pandas": [], "polars": []}
    for seed in range(rounds):
        path = folder / f"table-{len(columns)}-{seed}.{kind}"
        write(path, rows, seed + 100 * len(columns))
        mib = path.stat().st_size / 2**20
        name = path.name if columns else path.stem
        if not columns:
            (folder / name).hardlink_to(path)
        for tool in list(took)[seed % 3:] + list(took)[:seed % 3]:
            took[tool].append(kedge(server, f"{origin}/{name}") if tool == "kedge" else peer(tool, path, columns))
        path.unlink()
        (folder / name).unlink(missing_ok=True)
    ratios = {tool: statistics.median(b / a for a, b in zip(took["kedge"], took[tool])) for tool in ("pandas", "polars")}
    print(json.dumps({"file": kind, "columns": list(columns) or "all", "rows": rows, "MiB": round(mib),
                      **{tool: round(statistics.median(t), 3) for tool, t in took.items()},
                      "ratios": {tool: round(r, 2) for tool, r in ratios.items()}}), flush=True)


def pictures(rounds, folder, server, origin):
    """Seconds until a job on 70,000 pictures has its data (download and parse), and until it has ended."""
    took = {"data": [], "download": [], "parse": [], "submit to end": []}
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        pixels = rng.integers(1, 256, (784, 70_000), dtype=np.uint8) * (rng.random((784, 70_000)) < 0.19)
        made = pa.table({**{f"pixel{i}": pixels[i] for i in range(784)}, "class": rng.integers(0, 10, 70_000).astype(np.uint8)})
        path = folder / f"pictures-{seed}.parquet"
        pq.write_table(made, path, compression="zstd", row_group_size=8192)
        begin = time.perf_counter()
        url = {"url": f"{origin}/{path.name}", "format": "parquet"}
        job = server.run(spec(dataset={"url": url}, select={"rows": 1000, "dtype": "float32"}, steps=("GaussianNB",), task={"fit": {}}))
        end = time.perf_counter() - begin
        assert job["state"] == "succeeded", job
        timings = job["result"]["timings"]
        took["download"].append(timings["download"])
        took["parse"].append(timings["parse"])
        took["data"].append(timings["download"] + timings["parse"])
        took["submit to end"].append(end)
        mib = path.stat().st_size / 2**20
        path.unlink()
    print(json.dumps({"file": "pictures", "MiB": round(mib, 1), **{name: round(statistics.median(t), 3) for name, t in took.items()}}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--csv-rows", type=int, default=1_500_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        server = Kedged(folder, "--devices", "cpu", "--allow-fetch", "127.0.0.1")
        try:
            origin = f"http://127.0.0.1:{web.server_port}"
            compare("parquet", options.rows, options.rounds, folder, server, origin)
            compare("parquet", options.rows, options.rounds, folder, server, origin, columns=("x0", "x1", "count"))
            pictures(options.rounds, folder, server, origin)
            compare("csv", options.csv_rows, options.rounds, folder, server, origin)
        finally:
            server.stop()
            web.shutdown()


if __name__ == "__main__":
    main()
