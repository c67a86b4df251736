#!/usr/bin/env python3
"""shap.TreeExplainer (path-dependent, for XGBoost that is its own pred_contribs; then against 100 background rows; then interactions of fewer rows) beside Kedge's
contributions of the same trees, in turns: seconds, and whether the numbers are equal.

needs: pip install shap xgboost-cpu scikit-learn; the target kedge_contributions_bench (-DKEDGE_BENCH=ON)
run:   python tests/bench/serving/contributions.py build/release/bin/kedge_contributions_bench [ROWS_OF_FOREST]"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import shap
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier

ROUNDS = 3


def write(forest, path):
    """As contributions_bench.cc reads it: absolute nodes, class shares, weights."""
    trees = [one.tree_ for one in forest.estimators_]
    offset = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
    children = [np.concatenate([np.where(side(tree) < 0, 0, side(tree) + base) for tree, base in zip(trees, offset)])
                for side in (lambda tree: tree.children_left, lambda tree: tree.children_right)]
    feature = np.concatenate([np.where(tree.children_left < 0, -1, tree.feature) for tree in trees])
    with open(path, "wb") as file:
        np.array([len(trees), offset[-1], forest.n_features_in_, forest.n_classes_], np.int64).tofile(file)
        offset.astype(np.int64).tofile(file)
        for array in (feature, *children):
            array.astype(np.int32).tofile(file)
        np.concatenate([tree.threshold for tree in trees]).tofile(file)
        np.concatenate([tree.value[:, 0, :] for tree in trees]).astype(float).tofile(file)
        np.concatenate([tree.weighted_n_node_samples for tree in trees]).tofile(file)


def compare(name, program, folder, model_file, rows, explain, rounds, background=None, pairs=False):
    """explain(rows): rows x (columns, expected value); of pairs rows x (columns * columns, expected value). Prints medians."""
    np.save(folder / "rows.npy", rows.astype(np.float64))
    against = ["pairs"] if pairs else []
    if background is not None:
        np.save(folder / "background.npy", background.astype(np.float64))
        against = [folder / "background.npy"]
    ours, theirs = [], []
    for _ in range(rounds):
        said = subprocess.run([program, model_file, folder / "rows.npy", folder / "answers", *against], capture_output=True, text=True, check=True).stdout
        ours.append(json.loads(said)["seconds"])
        start = time.perf_counter()
        wanted = explain(rows)
        theirs.append(time.perf_counter() - start)
    found = np.fromfile(folder / "answers").reshape(wanted.shape)
    own, peer = statistics.median(ours), statistics.median(theirs)
    print(f"{name:34} {len(rows):6} rows  {own:8.3f} s, peer {peer:8.3f}: {peer / own:6.1f} times   apart {np.abs(found - wanted).max():.1e}", flush=True)


def main():
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 28)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + rng.normal(size=len(X)) * .3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = xgb.XGBRegressor(n_estimators=100, max_depth=6, n_jobs=2).fit(X, score)
        model.get_booster().save_model(folder / "x.ubj")
        rows = rng.normal(size=(2_000, 28)).astype(np.float32)
        compare("XGBoost 100 trees, depth 6", program, folder, folder / "x.ubj", rows, lambda rows: model.get_booster().predict(xgb.DMatrix(rows), pred_contribs=True),
                ROUNDS)
        forest = RandomForestClassifier(100, random_state=0, n_jobs=2).fit(X, (score > 0).astype(int))
        write(forest, folder / "forest")

        def explained(explainer):
            def explain(rows):
                values, expected = np.asarray(explainer.shap_values(rows, check_additivity=False)), np.ravel(explainer.expected_value)[-1]
                return np.hstack([values[:, :, 1] if values.ndim == 3 else values, np.full((len(rows), 1), expected)])
            return explain

        nodes = sum(one.tree_.node_count for one in forest.estimators_)
        compare(f"forest of 100 trees, {nodes} nodes", program, folder, folder / "forest", rows[:n], explained(shap.TreeExplainer(forest)), 1)

        def interacting(rows):
            values = model.get_booster().predict(xgb.DMatrix(rows), pred_interactions=True)   # columns and a bias, twice
            return np.hstack([values[:, :-1, :-1].reshape(len(rows), -1), values[:, -1, -1:]])

        compare("XGBoost, interactions", program, folder, folder / "x.ubj", rows[:n], interacting, ROUNDS, pairs=True)
        explainer = shap.TreeExplainer(forest)

        def interacting_forest(rows):
            values = np.asarray(explainer.shap_interaction_values(rows))[..., 1]
            return np.hstack([values.reshape(len(rows), -1), np.full((len(rows), 1), np.ravel(explainer.expected_value)[-1])])

        compare("forest, interactions", program, folder, folder / "forest", rows[:max(2, n // 50)], interacting_forest, 1, pairs=True)
        background = X[:100]
        masker = shap.maskers.Independent(background, max_samples=len(background))
        for label, file, one in (("XGBoost", "x.ubj", model), ("forest", "forest", forest)):
            explain = explained(shap.TreeExplainer(one, masker, feature_perturbation="interventional"))
            compare(f"{label} against {len(background)} rows", program, folder, folder / file, rows[:n], explain, 1, background)


if __name__ == "__main__":
    main()
