#!/usr/bin/env python3
"""The same fits by one process and by ranks of the device `cluster` that divide the same cores, in turn on one server: medians of the time of
the fit, and the median, least and largest ratio of a pair. Needs mpirun, and KEDGE_BIN with libkedge_mpi.so.

    ranks.py [--only NAME ...] [--pairs N] [--ranks N] [--rows N]

With --bytes what the first rank brings to the others in each fit, beside the formula (rank_bytes.py), and no times:

    ranks.py --bytes [--only NAME ...] [--rows N]     on 2 and on 4 ranks
    ranks.py --model                                  what the formulas give for many GPUs; runs nothing
"""
import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import Kedged, wait_for  # noqa: E402
from rank_bytes import RANKS, counted, modelled, of_formula  # noqa: E402

CLASSES = ("make_classification", {"n_informative": 8, "n_classes": 3})
NUMBERS = ("make_regression", {})
COLUMNS = 50
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
    "GaussianMixture": (GROUPS, {"n_components": 5, "max_iter": 4, "tol": 0, "random_state": 0}),
    "RandomForestClassifier": (CLASSES, {"n_estimators": 4, "random_state": 0}),
    "HistGradientBoostingClassifier": (CLASSES, {"max_iter": 10, "random_state": 0}),
    "BaggingClassifier": (CLASSES, {"n_estimators": 8, "random_state": 0}),
    "StackingClassifier": (CLASSES, {"cv": 4, "estimators": [["forest", {"estimator": "RandomForestClassifier", "params": {"n_estimators": 4}}],
                                                             ["lines", {"estimator": "LogisticRegression", "params": {"max_iter": 20}}],
                                                             ["normal", {"estimator": "GaussianNB"}]]}),
    "RobustScaler": (CLASSES, {}),
    "RFE": (NUMBERS, {"estimator": {"estimator": "Ridge"}, "n_features_to_select": 40}),
    "RANSACRegressor": (NUMBERS, {"random_state": 0, "stop_probability": 1, "max_trials": 63}),
    "DBSCAN": (GROUPS, {"eps": 9.5, "min_samples": 8}),
}
OF_PAIRS = ("DBSCAN",)   # of rows: not among so many unless it is asked for


def job(name, rows):
    (generator, params), options = FITS[name]
    pipeline = [{"estimator": name, "params": options}]
    if name in ("StandardScaler", "PCA", "RobustScaler", "RFE"):   # a fit that ends with a transformer has to transform every row
        pipeline.append({"estimator": "Ridge" if generator == "make_regression" else "GaussianNB"})
    return {"dataset": {"generate": {"name": generator, "params": {"n_samples": rows, "n_features": COLUMNS, "random_state": 1, **params}}},
            "select": {"dtype": "float32"}, "pipeline": pipeline, "task": {"fit": {}}}


def seconds(server, spec, device):
    done = server.run({**spec, "device": device}, 1200)
    assert done["state"] == "succeeded", done
    return done["result"]["timings"]["steps"][0]["seconds"]


COUNTED = ("GaussianNB", "Ridge", "LogisticRegression", "KMeans", "RandomForestClassifier", "HistGradientBoostingClassifier", "DBSCAN")


@contextlib.contextmanager
def cluster(ranks):
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, "--devices", "cpu", "--cluster-ranks", ranks)
        try:
            wait_for(lambda: "cluster" in [device["id"] for device in server.call("GET", "/v1/info").json()["devices"]], 90, "the ranks")
            yield server
        finally:
            server.stop()


def bytes_of(server, name, rows, ranks):
    """Counted and by formula, with the formula's words, the number of sums and that of exchanges."""
    done = server.run({**job(name, rows), "device": "cluster"}, 1200)
    assert done["state"] == "succeeded", done
    size = len(server.call("GET", f"/v1/models/{done['result']['model']}/download").body)
    total, sums, exchanges = counted(server, done["id"])
    expected, words = of_formula(name, rows, COLUMNS, ranks, sums, exchanges, done["result"]["fitted"][name], size)
    return total, expected, words, sums, exchanges


def print_bytes(names, rows):
    print(f"| fit, {rows:,} x {COLUMNS} | ranks | sums, exchanges | counted, bytes | formula | its bytes | ratio |\n|---|---|---|---|---|---|---|")
    for ranks in (2, 4):
        with cluster(ranks) as server:
            for name in names:
                total, expected, words, sums, exchanges = bytes_of(server, name, rows, ranks)
                print(f"| {name} | {ranks} | {sums}, {exchanges} | {total:,} | {words} | {expected:,} | {total / expected:.2f} |", flush=True)


def print_model():
    print("| fit, 1e9 x 64 float32 |" + "".join(f" {ranks:,} GPUs |" for ranks in RANKS) + "\n|---|" + "---|" * len(RANKS))
    for name, alone, calls in modelled():
        cells = [f" {alone / ranks * 1e3:.3g} + {calls(ranks) * 1e3:.2g} ms ({alone / ranks / (alone / ranks + calls(ranks)):.0%}) |" for ranks in RANKS]
        print(f"| {name} |" + "".join(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=FITS, default=[name for name in FITS if name not in OF_PAIRS])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    if options.model:
        return print_model()
    if options.bytes:
        return print_bytes([name for name in options.only if name in COUNTED], options.rows)
    with cluster(options.ranks) as server:
        print(f"| fit, {options.rows:,} x {COLUMNS} | one process, s | {options.ranks} ranks, s | ratio of times |\n|---|---|---|---|", flush=True)
        for name in options.only:
            spec = job(name, options.rows)
            for device in ("cpu", "cluster"):   # reads the data
                seconds(server, spec, device)
            pairs = [(seconds(server, spec, "cpu"), seconds(server, spec, "cluster")) for _ in range(options.pairs)]
            ratios = [dealt / alone for alone, dealt in pairs]
            alone, dealt = (statistics.median(times) for times in zip(*pairs))
            print(f"| {name} | {alone:.3f} | {dealt:.3f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
