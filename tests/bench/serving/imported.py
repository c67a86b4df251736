#!/usr/bin/env python3
"""XGBoost's and LightGBM's own predict beside the imported model: rows a second, one row, and whether the answers are equal.

needs: pip install xgboost-cpu lightgbm scikit-learn; the target kedge_imported_bench (-DKEDGE_BENCH=ON)
run:   python tests/bench/serving/imported.py build/release/bin/kedge_imported_bench [ROWS [TREES]]"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import lightgbm as lgb
import numpy as np
import xgboost as xgb

ROUNDS = 3


def best_of(work, runs):
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compare(name, program, folder, model_file, rows, own, exact):
    """Alternates the two; prints the medians."""
    np.save(folder / "rows.npy", rows.astype(np.float64))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        said = subprocess.run([program, model_file, folder / "rows.npy", folder / "answers"], capture_output=True, text=True, check=True).stdout
        ours.append(json.loads(said))
        theirs.append((len(rows) / best_of(lambda: own(rows), 3), best_of(lambda: own(rows[:1]), 200) * 1e6))
    answers, said = np.fromfile(folder / "answers"), np.asarray(own(rows), float).ravel()
    apart = np.abs(answers - said) / np.maximum(np.spacing(np.abs(said.astype(np.float32 if exact else float))), 1e-300)
    rate, own_rate = statistics.median(o["rows_per_s"] for o in ours), statistics.median(t[0] for t in theirs)
    one, own_one = statistics.median(o["one_row_us"] for o in ours), statistics.median(t[1] for t in theirs)
    print(f"{name:28} {ours[0]['nodes']:8} nodes  {rate:12,.0f} rows/s, own {own_rate:12,.0f}: {rate / own_rate:5.2f} times   "
          f"one row {one:7.2f} us, own {own_one:8.2f}   import {ours[0]['import_s'] * 1e3:6.1f} ms   units apart {apart.max():.0f}", flush=True)


def main():
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    trees = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 28)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + rng.normal(size=len(X)) * .3
    rows = rng.normal(size=(n, 28)).astype(np.float32)
    gaps = np.where(rng.random(rows.shape) < .05, np.nan, rows).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for label, missing in (("", False), (", 5 % missing", True)):
            table, asked = (np.where(rng.random(X.shape) < .05, np.nan, X).astype(np.float32), gaps) if missing else (X, rows)
            model = xgb.XGBRegressor(n_estimators=trees, max_depth=6, n_jobs=2).fit(table, y)
            model.get_booster().save_model(folder / "x.ubj")
            compare(f"XGBoost depth 6{label}", program, folder, folder / "x.ubj", asked, model.get_booster().inplace_predict, True)
            light = lgb.LGBMRegressor(n_estimators=trees, num_leaves=31, verbosity=-1, n_jobs=2).fit(table, y)
            light.booster_.save_model(folder / "l.txt")
            compare(f"LightGBM 31 leaves{label}", program, folder, folder / "l.txt", asked, light.booster_.predict, False)
        forest = xgb.XGBRFRegressor(n_estimators=trees, max_depth=20, n_jobs=2).fit(X, y)
        forest.get_booster().save_model(folder / "f.ubj")
        compare("XGBoost forest depth 20", program, folder, folder / "f.ubj", rows, forest.get_booster().inplace_predict, True)


if __name__ == "__main__":
    main()
