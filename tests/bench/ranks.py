#!/usr/bin/env python3
"""The same fits by one process and by ranks of the device `cluster` that divide the same cores, in turn on one server: medians of the time of
the fit, and the median, least and largest ratio of a pair. Needs mpirun, and KEDGE_BIN with libkedge_mpi.so.

    ranks.py [--only NAME ...] [--pairs N] [--ranks N] [--rows N]
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import Kedged, wait_for  # noqa: E402

CLASSES = ("make_classification", {"n_informative": 8, "n_classes": 3})
NUMBERS = ("make_regression", {})
GROUPS = ("make_blobs", {"centers": 20})
FITS = {
    "StandardScaler": (CLASSES, {}),
    "GaussianNB": (CLASSES, {}),
    "Ridge": (NUMBERS, {}),
    "LinearRegression": (NUMBERS, {}),
    "Lasso": (NUMBERS, {}),
    "PCA": (CLASSES, {"n_components": 10}),
    "LogisticRegression": (CLASSES, {"max_iter": 20}),
    "KMeans": (GROUPS, {"n_clusters": 20, "max_iter": 20, "n_init": 1, "random_state": 0}),
    "RandomForestClassifier": (CLASSES, {"n_estimators": 4, "random_state": 0}),
    "HistGradientBoostingClassifier": (CLASSES, {"max_iter": 10, "random_state": 0}),
}


def job(name, rows):
    (generator, params), options = FITS[name]
    pipeline = [{"estimator": name, "params": options}]
    if name in ("StandardScaler", "PCA"):   # a fit that ends with a transformer has to transform every row
        pipeline.append({"estimator": "GaussianNB"})
    return {"dataset": {"generate": {"name": generator, "params": {"n_samples": rows, "n_features": 50, "random_state": 1, **params}}},
            "select": {"dtype": "float32"}, "pipeline": pipeline, "task": {"fit": {}}}


def seconds(server, spec, device):
    done = server.run({**spec, "device": device}, 1200)
    assert done["state"] == "succeeded", done
    return done["result"]["timings"]["steps"][0]["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=FITS, default=list(FITS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, "--devices", "cpu", "--cluster-ranks", options.ranks)
        try:
            wait_for(lambda: "cluster" in [device["id"] for device in server.call("GET", "/v1/info").json()["devices"]], 90, "the ranks")
            print(f"| fit, {options.rows:,} x 50 | one process, s | {options.ranks} ranks, s | ratio of times |\n|---|---|---|---|", flush=True)
            for name in options.only:
                spec = job(name, options.rows)
                for device in ("cpu", "cluster"):   # reads the data
                    seconds(server, spec, device)
                pairs = [(seconds(server, spec, "cpu"), seconds(server, spec, "cluster")) for _ in range(options.pairs)]
                ratios = [dealt / alone for alone, dealt in pairs]
                alone, dealt = (statistics.median(times) for times in zip(*pairs))
                print(f"| {name} | {alone:.3f} | {dealt:.3f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
