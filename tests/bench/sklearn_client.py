#!/usr/bin/env python3
"""Times kedge.sklearn, objects back included, beside plain scikit-learn with n_jobs=-1: in turn, on the same data, in one process. Prints a table
for docs/performance/python.md with the medians of both and of the ratios of the pairs, and what the machine was.

    KEDGE_BIN=build/release/bin python tests/bench/sklearn_client.py [--only NAME ...] [--pairs N]

The server is started for the run. The data of a row is sent in its first pair; --fresh has each pair send other data.
"""
import argparse
import contextlib
import datetime
import os
import pathlib
import platform
import statistics
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("KEDGE_BIN", str(ROOT / "build" / "release" / "bin"))
with contextlib.suppress(ImportError):   # else the client that is installed
    sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
import kedge  # noqa: E402

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from kedge.sklearn import _trees  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_digits, make_classification, make_regression  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score, learning_curve  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402


def classes(n=5_000, d=20):
    return make_classification(n, d, n_informative=10, n_classes=3, random_state=0)


def numbers(n=5_000, d=20):
    return make_regression(n, d, n_informative=10, noise=10.0, random_state=0)


def digits():
    return load_digits(return_X_y=True)


def fits(model):
    """A fit on both sides."""
    return (lambda session, X, y: kedge.sklearn.fit(clone(model), X, y, session=session, fallback="raise"),
            lambda X, y: clone(model).set_params(n_jobs=-1).fit(X, y))


def calls(name, stock, model, **more):
    return (lambda session, X, y: getattr(kedge.sklearn, name)(model, X, y, session=session, fallback="raise", **more),
            lambda X, y: stock(model, X, y, n_jobs=-1, **more))


FORESTS = {"n_estimators": [50, 100, 150], "max_depth": [5, 10, None]}
STEPS = {"pca__n_components": [10, 20, 30, 40], "kneighborsclassifier__n_neighbors": [1, 3, 5, 7, 9], "kneighborsclassifier__weights": ["uniform", "distance"]}
ROWS = {
    "large": ("fit of RandomForestClassifier(100)", "20,000 x 30", lambda: classes(20_000, 30), fits(RandomForestClassifier(random_state=0))),
    "forest": ("fit of RandomForestClassifier(100)", "5,000 x 20", classes, fits(RandomForestClassifier(random_state=0))),
    "trees": ("fit of ExtraTreesClassifier(100)", "5,000 x 20", classes, fits(ExtraTreesClassifier(random_state=0))),
    "regressor": ("fit of RandomForestRegressor(100)", "5,000 x 20", numbers, fits(RandomForestRegressor(random_state=0))),
    "search": ("GridSearchCV of 9 forests, 3 folds, refit", "5,000 x 20", classes, fits(GridSearchCV(RandomForestClassifier(random_state=0), FORESTS, cv=3))),
    "large search": ("GridSearchCV of 9 forests, 3 folds, refit", "20,000 x 30", lambda: classes(20_000, 30),
                     fits(GridSearchCV(RandomForestClassifier(random_state=0), FORESTS, cv=3))),
    "digits": ("GridSearchCV of 40 pipelines (scaler, PCA, neighbours), 5 folds, refit", "digits", digits,
               fits(GridSearchCV(make_pipeline(StandardScaler(), PCA(random_state=0), KNeighborsClassifier()), STEPS))),
    "scores": ("cross_val_score of a forest, 5 folds", "5,000 x 20", classes, calls("cross_val_score", cross_val_score, RandomForestClassifier(random_state=0))),
    "curve": ("learning_curve of a forest, 5 sizes, 5 folds", "5,000 x 20", classes,
              calls("learning_curve", learning_curve, RandomForestClassifier(random_state=0))),
    "logistic": ("cross_val_score of a scaler and LogisticRegression, 5 folds", "5,000 x 20", classes,
                 calls("cross_val_score", cross_val_score, make_pipeline(StandardScaler(), LogisticRegression()))),
}


def seconds(function):
    begun = time.perf_counter()
    found = function()
    return time.perf_counter() - begun, found


def quality(found, X, y):
    """What shows that both have done the work."""
    if hasattr(found, "best_score_"):
        return found.best_score_
    return found.score(X, y) if hasattr(found, "score") else float(np.mean(found if isinstance(found, np.ndarray) else found[2]))


def measure(session, row, pairs, fresh):
    title, shape, make, (ours, theirs) = row
    X, y = make()
    mine, stock, ratios, scores = [], [], [], ()
    for i in range(pairs + 1):   # the first pair warms both up and is not counted
        given = X + i * 1e-9 if fresh else X
        a, found = seconds(lambda: ours(session, given, y))
        b, other = seconds(lambda: theirs(given, y))
        if i:
            mine.append(a), stock.append(b), ratios.append(b / a)
        scores = quality(found, X, y), quality(other, X, y)
    print(f"| {title} | {shape} | {statistics.median(mine):.3f} | {statistics.median(stock):.3f} | **{statistics.median(ratios):.1f}** "
          f"({min(ratios):.1f} to {max(ratios):.1f}) | {scores[0]:.4f} | {scores[1]:.4f} |", flush=True)


def fill(session, pairs):
    """A forest's arrays to scikit-learn's object, and predictions of both objects."""
    X, y = classes(20_000, 30)
    X = X.astype(np.float32)
    data = session.dataset(X, y.astype(np.float32)).select(dtype="float32")
    model = session.submit(data, [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 100, "random_state": 0}}], kedge.fit()).model()
    members = model.members()
    model.remove()
    forest, stock = RandomForestClassifier(random_state=0), RandomForestClassifier(random_state=0, n_jobs=1).fit(X, y)
    mine = kedge.sklearn.fit(RandomForestClassifier(random_state=0), X, y, session=session, fallback="raise")
    fills, ratios = [], []
    for _ in range(pairs):
        fills.append(seconds(lambda: _trees.forest_of(forest, members, 30, np.arange(3), _trees.Fit(X, None, 0)))[0])
        a, b = seconds(lambda: mine.predict(X))[0], seconds(lambda: stock.predict(X))[0]
        ratios.append(b / a)
    n_nodes = sum(tree.tree_.node_count for tree in mine.estimators_)
    print(f"\nFilling a forest of 100 trees, {n_nodes:,} nodes: {statistics.median(fills):.3f} s. predict() of the filled object on 20,000 rows: "
          f"{statistics.median(ratios):.2f} times as fast as of scikit-learn's own ({sum(tree.tree_.node_count for tree in stock.estimators_):,} nodes).")


def cpu():
    with contextlib.suppress(OSError):
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=ROWS, default=list(ROWS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{datetime.date.today()}, {os.cpu_count()} cores of {cpu()}, load {load:.1f} before, scikit-learn {sklearn.__version__}, {given.pairs} pairs\n")
    print("| what | data | Kedge s | scikit-learn s | ratio of pairs (range) | Kedge quality | scikit-learn quality |\n|---|---|---|---|---|---|---|")
    with kedge.server() as session:
        for name in given.only:
            measure(session, ROWS[name], given.pairs, given.fresh)
        fill(session, given.pairs)


if __name__ == "__main__":
    main()
