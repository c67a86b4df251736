#!/usr/bin/env python3
"""Prints the table of builtin_test.cc: sums over scikit-learn's own loaders (made with scikit-learn 1.9.1).

Each row: name, rows, features, sum of all values, sum of value * (row + 1) * (column + 1), sum of target * (row + 1).
"""
import numpy as np
from sklearn import datasets

for name in ["digits", "iris", "wine", "breast_cancer", "diabetes"]:
    options = {"scaled": False} if name == "diabetes" else {}
    X, y = getattr(datasets, "load_" + name)(return_X_y=True, **options)
    rows, columns = np.arange(1, len(X) + 1), np.arange(1, X.shape[1] + 1)
    print(f'{{"{name}", {X.shape[0]}, {X.shape[1]}, {float(X.sum())!r}, {float(rows @ X @ columns)!r}, {float(rows @ y)!r}}},')
