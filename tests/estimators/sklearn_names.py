"""Compares engine/core/sklearn_names.cc, the estimators of scikit-learn that are not in our catalogue, with an installed scikit-learn.

    python3 -m venv v && v/bin/pip install 'scikit-learn==1.9.*' && v/bin/python tests/estimators/sklearn_names.py

Says which rows are missing (an estimator of theirs that is in neither list) and which name nothing of theirs, and fails if there are any.
"""
import pathlib
import re
import sys

import sklearn
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401  (they bring the names)
from sklearn.utils import all_estimators

ENGINE = pathlib.Path(__file__).resolve().parent.parent.parent / "engine"


def main():
    ours = {name for file in (ENGINE / "estimators").glob("*/*.cc") for name in re.findall(r"\badd(?:_line)?<(\w+)>\(", file.read_text())}
    assert ours, "no rows were found"
    listed = set(re.findall(r'^ *\{"(\w+)"', (ENGINE / "core" / "sklearn_names.cc").read_text().partition("peer_names()")[0], re.MULTILINE))
    theirs = {name for name, _ in all_estimators()}
    missing, surplus = sorted(theirs - ours - listed), sorted(listed - theirs)
    print(f"scikit-learn {sklearn.__version__}: {len(theirs)} estimators, {len(theirs & ours)} of them here, {len(listed - ours)} listed as not here")
    for name in missing:
        print(f"not listed: {name}")
    for name in surplus:
        print(f"listed, but not in this scikit-learn: {name}")
    return 1 if missing or surplus else 0


if __name__ == "__main__":
    sys.exit(main())
