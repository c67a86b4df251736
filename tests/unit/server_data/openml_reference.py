#!/usr/bin/env python3
"""Writes openml_reference.inc: what scikit-learn's fetch_openml reads from the mirror, as sums.

    python3 openml_reference.py http://127.0.0.1:PORT > openml_reference.inc

Each row: id, rows, numeric columns, nominal columns, missing cells in both, sum of the numbers, sum of all bytes
of the nominal cells' texts (the pandas parser does not keep the declared order of the categories).
Made with scikit-learn 1.9.1.
"""
import re
import sys
import tempfile
import warnings
from urllib.request import Request

import numpy as np
import sklearn
import sklearn.datasets._openml as module

IDS = [2, 3, 6, 11, 28, 29, 31, 37, 50, 61, 62, 151, 181, 292, 531, 534, 561, 1119, 1464, 1590, 40589, 40597, 40675, 40945,
       40966, 41187, 41215, 42585]
MIRROR = sys.argv[1].rstrip("/")
urlopen = module.urlopen


def from_mirror(request, *args, **kwargs):
    url = request if isinstance(request, str) else request.full_url
    local = Request(re.sub(r"^https?://[^/]*openml\.org", MIRROR, url), headers={"Accept-encoding": "gzip"})
    return urlopen(local, *args, **kwargs)


module.urlopen = from_mirror
warnings.simplefilter("ignore")
print(f"// Made by openml_reference.py with scikit-learn {sklearn.__version__}.")
with tempfile.TemporaryDirectory() as home:
    for i in IDS:
        if i == 292:   # sparse files come as a matrix, and the target as strings
            bunch = module.fetch_openml(data_id=i, data_home=home, as_frame=False, target_column="Y")
            letters = sum(sum(str(label).encode()) for label in bunch.target)
            numbers = bunch.data.toarray()
            print(f"{{{i}, {numbers.shape[0]}, {numbers.shape[1]}, 1, 0, {float(numbers.sum())!r}, {letters}}},")
            continue
        # No target and no ignored column: everything that the file declares.
        frame = module.fetch_openml(data_id=i, data_home=home, as_frame=True, target_column=None, parser="pandas").frame
        numeric = frame.select_dtypes(include=[np.number])
        nominal = frame.select_dtypes(include=["category"])
        letters = sum(sum(str(cell).encode()) for c in nominal for cell in nominal[c].dropna())
        missing = int(numeric.isna().sum().sum() + nominal.isna().sum().sum())
        total = float(np.nansum(numeric.to_numpy(dtype=float))) if numeric.shape[1] else 0.0
        print(f"{{{i}, {len(frame)}, {numeric.shape[1]}, {nominal.shape[1]}, {missing}, {total!r}, {letters}}},")
