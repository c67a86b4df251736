#!/usr/bin/env python3
"""scikit-learn's predict_proba of a forest beside Kedge's walk through the same trees: rows a second, one row, whether the answers are equal.

needs: scikit-learn; the target kedge_forest_rows_bench (-DKEDGE_BENCH=ON)
run:   python tests/bench/serving/forest_rows.py build/release/bin/kedge_forest_rows_bench [ROWS [TREES]]"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

ROUNDS = 3


def write(forest, path):
    """As forest_rows_bench.cc reads it: absolute nodes, class shares."""
    trees = [one.tree_ for one in forest.estimators_]
    offset = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
    children = [np.concatenate([np.where(side(tree) < 0, 0, side(tree) + base) for tree, base in zip(trees, offset)])
                for side in (lambda tree: tree.children_left, lambda tree: tree.children_right)]
    feature = np.concatenate([np.where(tree.children_left < 0, -1, tree.feature) for tree in trees])
    shares = np.concatenate([tree.value[:, 0, :] for tree in trees])
    with open(path, "wb") as file:
        np.array([len(trees), offset[-1], forest.n_features_in_, forest.n_classes_], np.int64).tofile(file)
        offset.astype(np.int64).tofile(file)
        for array in (feature, *children):
            array.astype(np.int32).tofile(file)
        np.concatenate([tree.threshold for tree in trees]).tofile(file)
        shares.astype(float).tofile(file)


def best_of(work, runs):
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main():
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    n_trees = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 28)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + rng.normal(size=len(X)) * .3 > 0).astype(int)
    rows = rng.normal(size=(n, 28)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "rows.npy", rows.astype(float))
        for label, depth in (("full depth", None), ("depth 8", 8)):
            forest = RandomForestClassifier(n_trees, max_depth=depth, random_state=0, n_jobs=2).fit(X, y)
            write(forest, folder / "forest")
            ours, theirs = [], []
            for _ in range(ROUNDS):
                said = subprocess.run([program, folder / "forest", folder / "rows.npy", folder / "answers"], capture_output=True, text=True, check=True).stdout
                ours.append(json.loads(said))
                theirs.append((n / best_of(lambda: forest.predict_proba(rows), 3), best_of(lambda: forest.predict_proba(rows[:1]), 20) * 1e6))
            answers = np.fromfile(folder / "answers").reshape(n, -1)
            rate, own = (statistics.median(values) for values in ([o["rows_per_s"] for o in ours], [t[0] for t in theirs]))
            print(f"{label:12} {ours[0]['nodes']:8} nodes  {rate:11,.0f} rows/s, scikit-learn {own:11,.0f}: {rate / own:5.2f} times   "
                  f"one row {statistics.median(o['one_row_us'] for o in ours):8.2f} us, scikit-learn {statistics.median(t[1] for t in theirs):9.1f}   "
                  f"first {ours[0]['first_ms']:6.1f} ms   apart {np.abs(answers - forest.predict_proba(rows)).max():.1e}", flush=True)


if __name__ == "__main__":
    main()
