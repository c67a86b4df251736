#!/usr/bin/env python3
"""Histogram gradient boosting of Kedge's engine (kedge_estimator_probe), LightGBM, XGBoost and scikit-learn, alternately, on the same rows with the same
trees: seconds of a fit, and the loss on rows that were left out (log loss, or root mean squared error). Peers that are not installed are left out.
--processor counts the processor seconds of a fit on one thread instead, which other programs disturb less.

    boosting.py [--only NAME ...] [--pairs N] [--probe PATH] [--scale F] [--processor]
"""
import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import sys
import time
import warnings

if "--processor" in sys.argv:   # before any library starts threads
    os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor  # noqa: E402
from sklearn.metrics import log_loss, mean_squared_error  # noqa: E402

from estimators import PROBE, Probe  # noqa: E402


THREADS = 1 if "--processor" in sys.argv else os.cpu_count()


def classes(n, d, k=2):
    informative = min(d, 30)
    return datasets.make_classification(n, d, n_informative=informative, n_redundant=min(2, d - informative), n_classes=k, random_state=5)


def numbers(n, d):
    draw = np.random.RandomState(5)
    X = draw.uniform(size=(n, d))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + np.floor(4 * X[:, 3]) + 0.5 * draw.normal(size=n)


def mixed(n, d):
    """Half of the columns whole numbers below 20, a twentieth of all cells missing."""
    X, y = classes(n, d)
    X[:, ::2] = np.floor(np.clip(3 * X[:, ::2] + 10, 0, 19))
    X[np.random.RandomState(1).uniform(size=X.shape) < 0.05] = np.nan
    return X, y


# name -> data, rows that are fitted, columns, iterations, leaves
ROWS = {
    "two classes": (classes, 100_000, 50, 100, 31),
    "two classes, 200,000 rows": (classes, 200_000, 30, 100, 31),
    "ten classes": (lambda n, d: classes(n, d, 10), 50_000, 50, 20, 31),
    "values": (numbers, 100_000, 50, 100, 31),
    "whole numbers and missing ones": (mixed, 100_000, 50, 100, 31),
    "10,000 rows": (classes, 10_000, 20, 100, 31),
    "1,000 rows": (classes, 1_000, 10, 100, 31),
    "150 rows": (lambda n, d: classes(n, d, 3), 150, 4, 100, 31),
}


class Kedge:
    name = "Kedge"

    def __init__(self, path, counts_processor):
        self.probe, self.counts_processor = Probe(path, "cpu"), counts_processor

    def ask(self, case):
        self.probe.process.stdin.write(json.dumps(case) + "\n")
        self.probe.process.stdin.flush()
        answer = json.loads(self.probe.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer

    def processor_seconds(self, case):
        """Of one fit: what three take less what one takes, as the rest is reading the rows."""
        used = []
        for repeat in (1, 3):
            before = self.used()
            self.ask(case | {"want": [], "repeat": repeat})
            used.append(self.used() - before)
        return (used[1] - used[0]) / 2

    def used(self):
        fields = pathlib.Path(f"/proc/{self.probe.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, X, y, test, iterations, leaves, is_classes):
        self.probe.load(X, y)
        estimator = "HistGradientBoostingClassifier" if is_classes else "HistGradientBoostingRegressor"
        params = {"max_iter": iterations, "max_leaf_nodes": leaves, "early_stopping": False}
        want = "predict_proba" if is_classes else "predict"
        case = self.probe.data | {"steps": [{"estimator": estimator, "params": params}], "dtype": "float32", "device": "cpu",
                                  "test": self.probe.file("test", test), "want": [want]}
        answer = self.ask(case)
        values = answer[want]
        seconds = self.processor_seconds(case) if self.counts_processor else answer["fit"]
        return seconds, np.array(values["values"]).reshape(values["rows"], -1) if isinstance(values, dict) else np.array(values)


class Peer:
    clock = staticmethod(time.perf_counter)

    def __init__(self, name, classifier, regressor):
        self.name, self.classifier, self.regressor = name, classifier, regressor

    def run(self, X, y, test, iterations, leaves, is_classes):
        model = (self.classifier if is_classes else self.regressor)(iterations, leaves)
        X, test = X.astype(np.float32), test.astype(np.float32)
        begin = self.clock()
        model.fit(X, y)
        seconds = self.clock() - begin
        return seconds, model.predict_proba(test) if is_classes else model.predict(test)


def peers():
    found = [Peer(f"scikit-learn {sklearn.__version__}",
                  lambda n, k: HistGradientBoostingClassifier(max_iter=n, max_leaf_nodes=k, early_stopping=False),
                  lambda n, k: HistGradientBoostingRegressor(max_iter=n, max_leaf_nodes=k, early_stopping=False))]
    try:
        lgb = importlib.import_module("lightgbm")
        of_lgb = {"learning_rate": 0.1, "n_jobs": THREADS, "min_child_samples": 20, "verbose": -1}
        found.append(Peer(f"LightGBM {lgb.__version__}", lambda n, k: lgb.LGBMClassifier(n_estimators=n, num_leaves=k, **of_lgb),
                          lambda n, k: lgb.LGBMRegressor(n_estimators=n, num_leaves=k, **of_lgb)))
    except ImportError:
        pass
    try:
        xgb = importlib.import_module("xgboost")
        of_xgb = {"learning_rate": 0.1, "n_jobs": THREADS, "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0}
        found.append(Peer(f"XGBoost {xgb.__version__}", lambda n, k: xgb.XGBClassifier(n_estimators=n, max_leaves=k, **of_xgb),
                          lambda n, k: xgb.XGBRegressor(n_estimators=n, max_leaves=k, **of_xgb)))
    except ImportError:
        pass
    return found


def loss(y, answer, is_classes):
    return log_loss(y, answer) if is_classes else math.sqrt(mean_squared_error(y, answer))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--probe", default=PROBE, type=pathlib.Path)
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.processor:
        Peer.clock = staticmethod(time.process_time)
    sides = [Kedge(options.probe, options.processor), *peers()]
    print(f"Medians of {options.pairs} runs each, in turns; seconds, the share of Kedge's that they are of the peer's, loss on other rows\n")
    heads = [f"{side.name} s | loss" if i == 0 else f"{side.name} s | ratio | loss" for i, side in enumerate(sides)]
    print(f"| data | rows x columns, trees | {' | '.join(heads)} |")
    print("|---|---|" + "---|" * (2 + 3 * (len(sides) - 1)))
    for name, (make, n, d, iterations, leaves) in ROWS.items():
        if options.only and name not in options.only:
            continue
        n = max(150, int(n * options.scale))
        X, y = make(n + max(n // 4, 1000), d)
        X = X.astype(np.float32).astype(np.float64)
        is_classes = y.dtype.kind in "iu"
        seconds, losses = [[] for _ in sides], [0.0] * len(sides)
        for round in range(options.pairs + 1):   # the first one wakes threads and libraries
            for i, side in enumerate(sides):
                taken, answer = side.run(X[:n], y[:n], X[n:], iterations, leaves, is_classes)
                losses[i] = loss(y[n:], answer, is_classes)
                if round:
                    seconds[i].append(taken)
        trees = iterations * (len(np.unique(y)) if is_classes and len(np.unique(y)) > 2 else 1)
        cells = [f"{statistics.median(seconds[0]):.3f} | {losses[0]:.4f}"]
        for theirs, quality in list(zip(seconds, losses))[1:]:
            ratio = statistics.median(a / max(b, 1e-9) for a, b in zip(seconds[0], theirs))
            cells.append(f"{statistics.median(theirs):.3f} | {ratio:.2f} | {quality:.4f}")
        print(f"| {name} | {n:,} x {d}, {trees:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
