"""Writes mixed_tables_reference.json: what scikit-learn finds for the jobs of mixed_tables_test.py, from the same mirror of OpenML."""
import json
import pathlib
import re
import sys
import warnings
from urllib.request import Request

import sklearn
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import _openml, fetch_openml
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import Mirror  # noqa: E402
from mixed_tables_test import CLASSIFIERS, DATA  # noqa: E402

MADE = {"LogisticRegression": LogisticRegression, "GaussianNB": GaussianNB}


def prepared():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    return ColumnTransformer([("num", numbers, make_column_selector(dtype_include="number")),
                              ("cat", categories, make_column_selector(dtype_include="category"))])


def both_classes(model, X, y):
    """The scorer "neg_log_loss" would hand on the second of two classes alone, and of the first 1 - p: 0 for what is below 1e-14."""
    return -log_loss(y, model.predict_proba(X))


def main():
    warnings.simplefilter("ignore")
    mirror = Mirror()
    ask = _openml.urlopen   # scikit-learn has no option for another server
    _openml.urlopen = lambda request, *more: ask(Request(re.sub("^https://[^/]*", mirror.url, request.full_url), headers=request.headers), *more)
    record = {"version": sklearn.__version__}
    try:
        for name, version in DATA:
            X, y = fetch_openml(name, version=version, return_X_y=True, as_frame=True, parser="pandas", cache=False)
            for classifier, params in CLASSIFIERS.items():
                scores = cross_validate(make_pipeline(prepared(), MADE[classifier](**params)), X, y, cv=5,
                                        scoring={"accuracy": "accuracy", "neg_log_loss": both_classes})
                record[f"{name} {classifier}"] = {s: scores[f"test_{s}"].tolist() for s in ("accuracy", "neg_log_loss")}
                print(name, classifier, record[f"{name} {classifier}"], flush=True)
    finally:
        mirror.kill()
    (HERE / "mixed_tables_reference.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
