#!/usr/bin/env python3
"""Writes contributions.json: what XGBoost and LightGBM say each column contributes to the first rows of the models beside it (pred_contribs, pred_contrib).

needs: pip install xgboost-cpu==3.2.0 lightgbm==4.7.0 pandas
run:   python tests/data/imported/contributions.py"""
import json
import pathlib

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

HERE = pathlib.Path(__file__).resolve().parent
ROWS = 6


def frame_of(said):
    frame = pd.DataFrame(said["rows"][:ROWS], columns=said["columns"])
    for column in frame:
        names = {name for row in said["rows"] if (name := row[said["columns"].index(column)]) is not None}
        if any(isinstance(name, str) for name in names):
            frame[column] = pd.Categorical(frame[column], sorted(names))
        else:
            frame[column] = frame[column].astype(float)
    return frame


def xgboost_says(file, frame):
    booster = xgb.Booster(model_file=file)
    best = booster.attr("best_iteration")
    rows = xgb.DMatrix(frame.astype({c: np.float32 for c in frame if frame[c].dtype == float}), enable_categorical=True)
    return booster.predict(rows, pred_contribs=True, iteration_range=(0, int(best) + 1) if best else (0, 0))


def main():
    found = {}
    for file in sorted([*HERE.glob("xgb_*.ubj"), *HERE.glob("lgb_*.txt")]):
        frame = frame_of(json.loads((HERE / f"{file.stem}.answers.json").read_text()))
        parts = xgboost_says(file, frame) if file.suffix == ".ubj" else lgb.Booster(model_file=file).predict(frame, pred_contrib=True)
        found[file.name] = np.asarray(parts, float).reshape(len(frame), -1).round(10).tolist()
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in found.items())
    (HERE / "contributions.json").write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
