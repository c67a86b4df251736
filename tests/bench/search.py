#!/usr/bin/env python3
"""Runs the same searches on Kedge (submit to result, over HTTP, data already there) and with scikit-learn's GridSearchCV (n_jobs=-1), in
turn, and prints the medians, their ratio, and how many single fits (with their score, on the same server) a whole search costs.

    search.py [--only NAME ...] [--pairs N]

Rows named mnist need an OpenML mirror: the one next to the project's folder, or KEDGE_OPENML_URL."""
import argparse
import functools
import http.server
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import threading
import time
import warnings
from urllib.request import Request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
os.environ.setdefault("KEDGE_BIN", str(ROOT / "build" / "release" / "bin"))
os.environ.setdefault("PYTHONWARNINGS", "ignore")   # of the processes that GridSearchCV starts
from kedge_server import Kedged, Mirror  # noqa: E402

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402

CLASSES = dict(all_estimators())
KNN_GRID = {"model__n_neighbors": list(range(1, 51, 2)), "model__weights": ["uniform", "distance"]}
MNIST = {"openml": {"name": "mnist_784", "version": 1}}
MNIST_ROWS = {"rows": 10000, "dtype": "float32", "scale": 1 / 255}


def powers(low, high, count):
    return [float(v) for v in np.logspace(low, high, count)]


# name: data, steps (name, estimator, params), grid
ROWS = {
    "ridge, 50 alphas": ("table", [("model", "Ridge", {})], {"model__alpha": powers(-3, 4, 50)}),
    "lasso, 50 alphas": ("table", [("model", "Lasso", {})], {"model__alpha": powers(-2, 1, 50)}),
    "ridge classifier, 50 alphas": ("digits", [("model", "RidgeClassifier", {})], {"model__alpha": powers(-3, 4, 50)}),
    "KNN, 25 k x 2 weights": ("digits", [("model", "KNeighborsClassifier", {})], KNN_GRID),
    "logistic, 50 C": ("digits", [("scale", "StandardScaler", {}), ("model", "LogisticRegression", {})], {"model__C": powers(-4, 2, 50)}),
    "PCA x logistic, 5 x 10": ("digits", [("scale", "StandardScaler", {}), ("pca", "PCA", {}), ("model", "LogisticRegression", {})],
                               {"pca__n_components": [10, 20, 30, 40, 50], "model__C": powers(-4, 2, 10)}),
    "SVC linear, 4 C": ("digits", [("model", "SVC", {"kernel": "linear"})], {"model__C": [1, 10, 100, 1000]}),
    "SVC rbf, 4 C x 2 gamma": ("digits", [("model", "SVC", {})], {"model__C": [1, 10, 100, 1000], "model__gamma": [1e-3, 1e-4]}),
    "forest, 5 sizes x 10 leaves": ("digits", [("model", "RandomForestClassifier", {"random_state": 0})],
                                    {"model__n_estimators": [20, 40, 60, 80, 100], "model__min_samples_leaf": list(range(1, 11))}),
    "forest, 50 limits": ("digits", [("model", "RandomForestClassifier", {"n_estimators": 20, "random_state": 0})],
                          {"model__max_features": [2, 4, 8, 16, 32], "model__min_samples_leaf": list(range(1, 11))}),
    "KNN, 25 k x 2 weights, mnist": ("mnist", [("model", "KNeighborsClassifier", {})], KNN_GRID),
    "logistic, 50 C, mnist": ("mnist", [("model", "LogisticRegression", {})], {"model__C": powers(-4, 0, 50)}),
    "PCA x KNN, 5 x 10, mnist": ("mnist", [("pca", "PCA", {"random_state": 0}), ("model", "KNeighborsClassifier", {})],
                                 {"pca__n_components": [10, 20, 30, 40, 50], "model__n_neighbors": list(range(1, 11))}),
}


def table():
    X, y = datasets.make_regression(20000, 100, n_informative=30, noise=50.0, random_state=0)
    return np.round(X, 9), np.round(y, 6)   # as they are written


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Data:
    """What Kedge reads, and the same arrays."""

    def __init__(self, folder, openml_url):
        self.folder, self.openml_url, self.loaded = folder, openml_url, {}

    def get(self, name):
        if name not in self.loaded:
            self.loaded[name] = getattr(self, name)()
        return self.loaded[name]

    def digits(self):
        return {"dataset": {"builtin": "digits"}}, *datasets.load_digits(return_X_y=True)

    def table(self):
        X, y = table()
        path = pathlib.Path(self.folder) / "table.csv"
        header = ",".join([f"x{i}" for i in range(X.shape[1])] + ["y"])
        np.savetxt(path, np.column_stack([X, y]), fmt="%.9f", delimiter=",", header=header, comments="")
        return {"dataset": {"url": {"url": serve(self.folder) + "/table.csv", "format": "csv", "target": "y"}}}, X, y

    def mnist(self):
        import sklearn.datasets._openml as openml
        ask = openml.urlopen   # scikit-learn has no option for another server
        here = lambda url: re.sub("^https://[^/]*", self.openml_url, url)
        openml.urlopen = lambda request, *more: ask(Request(here(request.full_url), headers=request.headers), *more)
        X, y = datasets.fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True, parser="pandas", data_home=self.folder)
        return {"dataset": MNIST, "select": MNIST_ROWS}, (X[:10000] / 255).astype(np.float32), y[:10000]


def kedge(server, base, steps, task):
    pipeline = [{"name": n, "estimator": e, "params": p} for n, e, p in steps]
    begin = time.perf_counter()
    job = server.run(base | {"pipeline": pipeline, "task": task}, 1200)
    seconds = time.perf_counter() - begin
    assert job["state"] == "succeeded", job
    return seconds, job["result"]


def peer(steps, grid, X, y):
    search = GridSearchCV(Pipeline([(n, CLASSES[e](**p)) for n, e, p in steps]), grid, n_jobs=-1)
    begin = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - begin, search


def agreement(result, search):
    """Whether the best candidate is the same, and the largest difference of a mean score."""
    ours, theirs = np.array(result["search"]["cvResults"]["mean_test_score"]), search.cv_results_["mean_test_score"]
    return "same" if result["search"]["bestIndex"] == search.best_index_ else "other", np.abs(ours - theirs).max()


def run_row(server, data, name, pairs):
    source, steps, grid = ROWS[name]
    base, X, y = data.get(source)
    kedge(server, base, steps, {"fit": {}})   # the data are there from now on
    ours, theirs, single = [], [], []
    one = {"fitScore": {"testSize": 0.2, "randomState": 0}}
    for _ in range(pairs):
        kedge(server, base, steps, one)   # GridSearchCV's processes had the caches
        seconds, result = kedge(server, base, steps, {"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": 5}}})
        ours.append(seconds)
        single.append(kedge(server, base, steps, one)[0])
        seconds, search = peer(steps, grid, X, y)
        theirs.append(seconds)
    fits = statistics.median(o / s for o, s in zip(ours, single))
    print_row(name, X, ours, theirs, f"{fits:.1f}", result, search)


def print_row(name, X, ours, theirs, fits, result, search):
    best, off = agreement(result, search)
    ratio = statistics.median(t / o for o, t in zip(ours, theirs))
    print(f"| {name} | {X.shape[0]:,} x {X.shape[1]} {X.dtype} | {statistics.median(ours):.3f} | {statistics.median(theirs):.3f} | {ratio:.1f} | "
          f"{fits} | {best}, {off:.1g} |", flush=True)


def run_example(server, data, pairs):
    """The list of grids in examples/digits_search.json, with three estimators in the last step."""
    spec = json.loads((ROOT / "examples" / "digits_search.json").read_text())
    _, X, y = data.get("digits")
    estimators = lambda steps: [CLASSES[s["estimator"]](**s.get("params", {})) for s in steps]
    grids = [{k: estimators(v) if isinstance(v[0], dict) else v for k, v in grid.items()} for grid in spec["task"]["gridSearch"]["paramGrid"]]
    steps = [(s.get("name", s["estimator"].lower()), s["estimator"], s.get("params", {})) for s in spec["pipeline"]]
    ours, theirs = [], []
    for _ in range(pairs):
        seconds, result = kedge(server, {"dataset": spec["dataset"]}, steps, spec["task"])
        ours.append(seconds)
        seconds, search = peer(steps, grids, X, y)
        theirs.append(seconds)
    print_row("examples/digits_search.json", X, ours, theirs, "", result, search)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    url = os.environ.get("KEDGE_OPENML_URL")
    mirror = Mirror() if not url and Mirror.available() else None
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, "--openml-url", url or (mirror.url if mirror else "http://127.0.0.1:9"), "--allow-fetch", "127.0.0.1")
        data = Data(folder, url or (mirror.url if mirror else ""))
        print(f"scikit-learn {sklearn.__version__}, medians of {options.pairs} pairs\n")
        print("| search, 5 folds | data | Kedge s | GridSearchCV s | ratio | in single fits | best candidate, scores apart |\n|---|---|---|---|---|---|---|")
        try:
            for name, row in ROWS.items():
                if (row[0] != "mnist" or data.openml_url) and (not options.only or name in options.only):
                    run_row(server, data, name, options.pairs)
            if not options.only or "examples/digits_search.json" in options.only:
                run_example(server, data, options.pairs)
        finally:
            server.stop()
            if mirror:
                mirror.kill()


if __name__ == "__main__":
    main()
