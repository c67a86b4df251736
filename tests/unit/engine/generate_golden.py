"""Writes generate_golden.inc: tables of scikit-learn's make_* functions. Needs scikit-learn (1.9.1 was used): python3 generate_golden.py"""
import json
from pathlib import Path

import numpy as np
from sklearn import datasets

CASES = [
    ("make_classification", {}),
    ("make_classification", {"n_samples": 23, "n_features": 9, "n_informative": 3, "n_redundant": 2, "n_repeated": 2, "n_classes": 3, "random_state": 5,
                             "weights": [0.5, 0.2], "flip_y": 0.3, "class_sep": 1.5, "hypercube": False, "shift": None, "scale": None}),
    ("make_classification", {"n_samples": 9, "n_features": 34, "n_informative": 33, "n_redundant": 0, "shuffle": False, "random_state": 1}),
    ("make_regression", {"n_samples": 12, "n_features": 5, "n_informative": 3, "bias": 2.5, "noise": 1.5, "random_state": 3}),
    ("make_regression", {"n_samples": 4, "n_features": 3, "shuffle": False}),
    ("make_friedman1", {"n_samples": 7, "n_features": 6, "noise": 0.5, "random_state": 8}),
    ("make_blobs", {"n_samples": 14, "n_features": 3, "centers": 4, "cluster_std": 0.5, "center_box": [-2, 3], "random_state": 42}),
    ("make_blobs", {"n_samples": 5, "shuffle": False}),
    ("make_moons", {"n_samples": 11, "noise": 0.1, "random_state": 2}),
    ("make_moons", {"n_samples": 1, "shuffle": False}),
    ("make_circles", {"n_samples": 9, "factor": 0.3, "noise": 0.05, "random_state": 4}),
    ("make_swiss_roll", {"n_samples": 6, "noise": 0.2, "random_state": 6}),
    ("make_s_curve", {"n_samples": 6, "random_state": 7}),
]


def main() -> None:
    lines = ["// Made by generate_golden.py."]
    for name, params in CASES:
        wanted = {key: tuple(value) if key == "center_box" else value for key, value in params.items()}
        X, y = getattr(datasets, name)(**{"random_state": 0, **wanted})
        cells = np.column_stack([X, y]).ravel()
        numbers = ", ".join(repr(float(v)) for v in cells)
        lines.append(f'{{"{name}", R"({json.dumps(params)})", {X.shape[0]}, {{{numbers}}}}},')
    Path(__file__).with_name("generate_golden.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
