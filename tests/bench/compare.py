#!/usr/bin/env python3
"""Runs the same jobs on Kedge and on scikit-learn, alternately, and prints the medians of both and of their ratio.

Needs MNIST: the OpenML mirror next to the project's folder, or the server named by KEDGE_OPENML_URL."""
import argparse
import http.client
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import Kedged, Mirror, spec  # noqa: E402

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn.datasets import fetch_openml  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import cross_validate  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

MNIST = {"openml": {"name": "mnist_784", "version": 1}}


def sklearn_cv(estimator, X, y, cv):
    begin = time.perf_counter()
    scores = cross_validate(estimator, X, y, cv=cv)["test_score"]
    return time.perf_counter() - begin, float(np.mean(scores))


def sklearn_fit(estimator, X, _y, _cv):
    begin = time.perf_counter()
    estimator.fit(X)
    return time.perf_counter() - begin, float(np.sum(estimator.explained_variance_ratio_))


# name: step, scikit-learn's estimator, rows, folds (0: fit alone), runs
JOBS = {
    "forest": (("RandomForestClassifier", {"n_estimators": 200, "random_state": 42}),
               lambda: RandomForestClassifier(n_estimators=200, random_state=42, n_jobs=-1), 70000, 5, 1),
    "knn": (("KNeighborsClassifier", {}), lambda: KNeighborsClassifier(algorithm="brute", n_jobs=-1), 70000, 5, 1),
    "logistic": (("LogisticRegression", {"max_iter": 100}), lambda: LogisticRegression(max_iter=100), 70000, 5, 1),
    "pca_full": (("PCA", {"n_components": 50, "svd_solver": "full"}),
                 lambda: PCA(n_components=50, svd_solver="full"), 70000, 0, 3),
    "pca_randomized": (("PCA", {"n_components": 50, "svd_solver": "randomized", "random_state": 0}),
                       lambda: PCA(n_components=50, svd_solver="randomized", random_state=0), 70000, 0, 3),
}


def kedge_job(server, step, rows, cv):
    task = {"crossValidate": {"cv": cv}} if cv else {"fit": {}}
    begin = time.perf_counter()
    job = server.run(spec(MNIST, [step], task, select={"rows": rows, "dtype": "float32", "scale": 1 / 255}), 1200)
    seconds = time.perf_counter() - begin
    assert job["state"] == "succeeded", job
    result = job["result"]
    if cv:
        return seconds, result["scores"]["accuracy"]["mean"]
    fitted = result.get("fitted", {}).get("PCA")
    return seconds, float(np.sum(fitted["explained_variance_ratio_"])) if fitted else 0.0


def row(name, ours, theirs, our_quality, their_quality):
    ratio = statistics.median(t / o for o, t in zip(ours, theirs))
    print(f"| {name} | {statistics.median(ours):.3f} | {statistics.median(theirs):.3f} | {ratio:.1f} | {our_quality} | "
          f"{their_quality} | {len(ours)} |", flush=True)


def compare_jobs(server, X, y, names, quick):
    for name in names:
        step, make, rows, cv, runs = JOBS[name]
        rows = min(rows, 10000) if quick else rows
        measure = sklearn_cv if cv else sklearn_fit
        ours, theirs = [], []
        for _ in range(runs):
            seconds, our_quality = kedge_job(server, step, rows, cv)
            ours.append(seconds)
            seconds, their_quality = measure(make(), X[:rows], y[:rows], cv)
            theirs.append(seconds)
        row(name, ours, theirs, f"{our_quality:.4f}", f"{their_quality:.4f}")


def compare_parse(url, runs):
    """From nothing to the data in memory: download from the mirror, check, parse."""
    ours, theirs = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--openml-url", url)
            result = server.run(spec(MNIST, ["StandardScaler"], {"fit": {}}, select={"rows": 1}))["result"]
            server.stop()
            timings = result["timings"]
            ours.append(timings["download"] + timings["parse"])
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            fetch(url, folder)
            theirs.append(time.perf_counter() - begin)
    row("MNIST download + parse", ours, theirs, "-", "-")


def fetch(url, folder):
    import sklearn.datasets._openml as openml
    for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
        setattr(openml, name, url + "/api/" + getattr(openml, name).partition("/api/")[2])
    return fetch_openml("mnist_784", version=1, as_frame=False, parser="pandas", data_home=folder)


def latency(server, count):
    server.run(spec())
    trips = []
    for _ in range(count):
        begin = time.perf_counter()
        reply = server.call("POST", "/v1/jobs?wait=10s", spec(task={"crossValidate": {"cv": 2}}))
        trips.append(1000 * (time.perf_counter() - begin))
        assert reply.status == 201, reply.body
    trips.sort()
    print(f"\nsubmit to result, iris, GaussianNB, 2 folds: p50 {trips[count // 2]:.1f} ms, "
          f"p99 {trips[count * 99 // 100]:.1f} ms of {count}")


def time_to_computing(server, count):
    """From submitting a job whose data is there to the events that say that a worker has it, and that it computes."""
    job = spec(MNIST, ["StandardScaler", ("RandomForestClassifier", {"n_estimators": 5, "random_state": 0})])
    server.run(job)
    running, computing = [], []
    for _ in range(count):
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
        begin = time.perf_counter()
        connection.request("POST", "/v1/jobs", json.dumps(job), {"Content-Type": "application/json", "Accept": "text/event-stream"})
        times = {}
        for line in connection.getresponse():
            text = line.decode()
            if text.startswith("data:"):
                event = json.loads(text[5:])
                kind = "running" if '"running"' in text else "computing" if "running" in times else "before"
                times.setdefault(kind, 1000 * (time.perf_counter() - begin))
        connection.close()
        running.append(times["running"])
        computing.append(times["computing"])
    print(f"submit to running, MNIST there: median {statistics.median(running):.1f} ms; to the first event of the computation: "
          f"{statistics.median(computing):.1f} ms of {count}")


def start_time(count):
    times = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            server = Kedged(folder)
            times.append(1000 * (time.perf_counter() - begin))
            server.stop()
    print(f"kedged start to ready: median {statistics.median(times):.0f} ms of {count}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="10,000 rows instead of 70,000")
    parser.add_argument("--only", nargs="*", choices=[*JOBS, "parse", "service"], default=[*JOBS, "parse", "service"])
    args = parser.parse_args()
    mirror = Mirror("--rewrite-urls") if Mirror.available() else None
    url = mirror.url if mirror else os.environ.get("KEDGE_OPENML_URL", "https://www.openml.org")
    print(f"scikit-learn {sklearn.__version__}, {os.cpu_count()} cores of {platform.processor() or platform.machine()}, "
          f"{time.strftime('%Y-%m-%d')}\n\n| job | Kedge s | scikit-learn s | ratio | Kedge quality | scikit-learn quality | runs |\n"
          "|---|---|---|---|---|---|---|", flush=True)
    jobs = [name for name in JOBS if name in args.only]
    with tempfile.TemporaryDirectory() as folder:
        if "parse" in args.only:
            compare_parse(url, 1 if args.quick else 3)
        server = Kedged(folder, "--openml-url", url)
        try:
            if jobs:
                kedge_job(server, ("StandardScaler", {}), 1, 0)   # the data is there before anything is timed
                data = fetch(url, folder)
                X, y = (data.data / 255).astype(np.float32), data.target
                compare_jobs(server, X, y, jobs, args.quick)
            if "service" in args.only:
                latency(server, 300)
                time_to_computing(server, 20)
                start_time(10)
        finally:
            server.stop()
            if mirror:
                mirror.kill()


if __name__ == "__main__":
    main()
