#!/usr/bin/env python3
"""MNIST from the OpenML mirror to arrays: Kedge compared with scikit-learn's fetch_openml, alternately, medians of the paired runs.

    parse_bench.py BENCH_PROGRAM [--runs 5] [--parsers pandas liac-arff]

Both begin with nothing and end with the checked, parsed data: Kedge as a memory-mapped file that is flushed to disk,
fetch_openml as arrays. Both download gzip from the same mirror; its own time is in both. Each runs twice in a row, from nothing
both times, and both runs are reported: on a virtual machine the first one also waits for the host to give it memory. Needs
scikit-learn and, for the pandas parser, pandas. BENCH_PROGRAM is kedge_dataset_bench (configure with -DKEDGE_BENCH=ON).
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from urllib.request import Request, urlopen

import sklearn
import sklearn.datasets._openml as module

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("KEDGE_SHARED_DIR", ROOT.parent / "shared"))
MNIST = 554


def start_mirror(folder):
    port_file = pathlib.Path(folder) / "port"
    process = subprocess.Popen([sys.executable, SHARED / "openml" / "serve.py", "--port", "0", "--port-file", port_file,
                                "--lifetime", "1800"], stdout=subprocess.DEVNULL)
    while not port_file.exists():
        if process.poll() is not None:
            sys.exit("the mirror does not start")
        time.sleep(0.02)
    return process, f"http://127.0.0.1:{port_file.read_text().strip()}"


def point_sklearn_to(url):
    original = module.urlopen

    def urlopen(request, *args, **kwargs):
        wanted = request if isinstance(request, str) else request.full_url
        local = re.sub(r"^https?://[^/]*openml\.org", url, wanted)
        return original(Request(local, headers={"Accept-encoding": "gzip"}), *args, **kwargs)

    module.urlopen = urlopen
    warnings.simplefilter("ignore")


def run_sklearn(parser):
    with tempfile.TemporaryDirectory() as home:
        begin = time.perf_counter()
        module.fetch_openml(data_id=MNIST, as_frame=False, parser=parser, data_home=home)
        return time.perf_counter() - begin


def fetch_text(url, folder):
    """The ARFF text, for parsing without a download. Its address holds the file's number."""
    about = json.loads(urlopen(f"{url}/api/v1/json/data/{MNIST}").read())["data_set_description"]
    path = pathlib.Path(folder) / "mnist.arff"
    path.write_bytes(urlopen(f"{url}/data/v1/download/{about['file_id']}").read())
    return path


def run_kedge(program, url, text):
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run([program, url, folder, str(MNIST), text], check=True, capture_output=True, text=True).stdout
    return [float(word) for word in answer.split()]


def twice(run):
    return [run(), run()]


def compare(parser, rounds):
    for i, which in enumerate(["first", "second"]):
        times = [(theirs[i], *ours[i]) for theirs, ours in rounds]
        theirs, total, parse = (statistics.median(column) for column in zip(*times))
        print(f"scikit-learn {sklearn.__version__} fetch_openml({parser}), {which} runs: {theirs:.2f} s; Kedge: from nothing {total:.2f} s, "
              f"text to mapped file {parse:.2f} s")
        ratios = [statistics.median(row[0] / row[k] for row in times) for k in (1, 2)]
        print(f"  ratio end to end {ratios[0]:.1f}, of fetch_openml to text-to-mapped-file {ratios[1]:.1f} (medians of {len(times)} pairs)",
              flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--parsers", nargs="+", default=["pandas", "liac-arff"])
    options = arguments.parse_args()
    if not (SHARED / "openml" / "serve.py").exists():
        sys.exit("no OpenML mirror: neither KEDGE_SHARED_DIR nor ../shared has openml/serve.py")
    with tempfile.TemporaryDirectory() as folder:
        mirror, url = start_mirror(folder)
        try:
            text = fetch_text(url, folder)
            point_sklearn_to(url)
            for parser in options.parsers:
                compare(parser, [(twice(lambda: run_sklearn(parser)), twice(lambda: run_kedge(options.program, url, text)))
                                 for _ in range(options.runs)])
        finally:
            mirror.terminate()
            mirror.wait()


if __name__ == "__main__":
    main()
