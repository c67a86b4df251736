"""Writes the data sets (CSV, target last) and golden.json: what scikit-learn makes of them.

Run: python make_golden.py   (needs scikit-learn; its version is recorded in golden.json)
Each case fits a pipeline on the rows i with i % 3 != 0 and predicts or transforms the others.
"""
import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

FOLDER = pathlib.Path(__file__).parent
SHOWN_ROWS = 12  # rows of probabilities and transformed values that are recorded
ESTIMATORS = {e.__name__: e for e in (PCA, LogisticRegression, GaussianNB, KNeighborsClassifier, MinMaxScaler, StandardScaler)}
DATA = {}


def write_csv(name, bunch, n_rows=None):
    X, y = bunch.data[:n_rows], bunch.target[:n_rows]
    DATA[name] = (X, y)
    with open(FOLDER / f"{name}.csv", "w") as f:
        for row, target in zip(X, y):
            f.write(",".join(repr(float(v)).removesuffix(".0") for v in row) + f",{target:g}\n")


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def at_minimum(params):
    return {**params, "solver": "newton-cholesky", "tol": 1e-13} if params.get("tol") == 1e-11 else params


def case(name, data, steps, attributes, tolerance=1e-6, float_tolerance=2e-3, skip=()):
    """skip: attributes too ill-conditioned to compare in float32."""
    X, y = DATA[data]
    test = np.arange(len(y)) % 3 == 0
    model = make_pipeline(*(ESTIMATORS[e](**at_minimum(p)) for e, p in steps))
    model.fit(X[~test], y[~test])
    last = model[-1]
    out = {"name": name, "data": data, "steps": [{"estimator": e, "params": p} for e, p in steps],
           "tolerance": tolerance, "floatTolerance": float_tolerance, "notInFloat": list(skip),
           "attributes": {a: plain(getattr(last, a)) for a in attributes}}
    if hasattr(last, "predict_proba"):
        out["predict"] = plain(model.predict(X[test]))
        out["proba"] = plain(model.predict_proba(X[test])[:SHOWN_ROWS])
    else:
        out["transform"] = plain(model.transform(X[test])[:SHOWN_ROWS])
    return out


# What Kedge is asked for; scikit-learn answers with Newton's method at its tightest, so that it is the minimum itself that is compared.
def tight(**params):
    return {"tol": 1e-11, "max_iter": 5000, **params}


def cases():
    scale, scaler = ["mean_", "var_", "scale_", "n_samples_seen_"], ("StandardScaler", {})
    yield case("standard_scaler", "wine", [scaler], scale)
    yield case("standard_scaler_constant_columns", "digits", [scaler], scale)
    yield case("standard_scaler_without_mean", "iris", [("StandardScaler", {"with_mean": False})], scale)
    yield case("standard_scaler_without_std", "iris", [("StandardScaler", {"with_std": False})], ["mean_"])
    yield case("standard_scaler_twice", "breast_cancer", [scaler, scaler], ["var_", "scale_"])
    ranges = ["min_", "scale_", "data_min_", "data_max_", "data_range_"]
    yield case("min_max_scaler", "wine", [("MinMaxScaler", {})], ranges)
    yield case("min_max_scaler_constant_columns", "digits", [("MinMaxScaler", {"feature_range": (-1, 3)})], ranges)
    yield case("min_max_scaler_clip", "breast_cancer", [("MinMaxScaler", {"clip": True})], ranges)
    yield case("min_max_after_standard", "wine", [scaler, ("MinMaxScaler", {})], ["scale_"])

    spectrum = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_",
                "n_components_", "noise_variance_"]
    yield case("pca_all", "iris", [("PCA", {})], spectrum)
    yield case("pca_full", "wine", [scaler, ("PCA", {"n_components": 5, "svd_solver": "full"})], spectrum[:4] + spectrum[5:])
    yield case("pca_full_ill_conditioned", "breast_cancer", [("PCA", {"n_components": 8, "svd_solver": "full"})],
               ["explained_variance_", "singular_values_", "components_"], skip=["components_", "explained_variance_", "singular_values_"])
    yield case("pca_covariance", "digits", [("PCA", {"n_components": 10, "svd_solver": "covariance_eigh"})], spectrum)
    yield case("pca_share", "digits", [("PCA", {"n_components": 0.9, "svd_solver": "full"})], ["n_components_", "explained_variance_", "noise_variance_"])
    yield case("pca_mle", "wine", [scaler, ("PCA", {"n_components": "mle"})], ["n_components_", "explained_variance_"])
    yield case("pca_whiten", "iris", [("PCA", {"n_components": 2, "whiten": True})], spectrum)
    yield case("pca_wide", "digits_wide", [("PCA", {"n_components": 6, "svd_solver": "full"})], spectrum)
    yield case("pca_randomized", "digits", [("PCA", {"n_components": 5, "svd_solver": "randomized", "iterated_power": 20, "random_state": 0})],
               spectrum, tolerance=1e-5)
    yield case("pca_randomized_wide", "digits_wide", [("PCA", {"n_components": 4, "svd_solver": "randomized", "iterated_power": 20, "random_state": 0})],
               spectrum, tolerance=1e-5)

    logistic = ["coef_", "intercept_", "classes_"]
    yield case("logistic_multinomial", "iris", [("LogisticRegression", tight())], logistic)
    yield case("logistic_multinomial_scaled", "wine", [scaler, ("LogisticRegression", tight())], logistic)
    yield case("logistic_binary", "breast_cancer", [scaler, ("LogisticRegression", tight(C=0.1))], logistic)
    yield case("logistic_digits", "digits", [("MinMaxScaler", {}), ("LogisticRegression", tight(C=0.5))], logistic,
               float_tolerance=5e-3)  # the loss in float is flat around the minimum
    yield case("logistic_without_intercept", "wine", [scaler, ("LogisticRegression", tight(fit_intercept=False))], logistic)
    yield case("logistic_balanced", "wine", [scaler, ("LogisticRegression", tight(class_weight="balanced"))], logistic)
    yield case("logistic_weighted", "breast_cancer", [scaler, ("LogisticRegression", tight(class_weight={0: 3.0, 1: 0.5}))], logistic)
    yield case("logistic_default_tol", "iris", [("LogisticRegression", {})], ["n_iter_"], tolerance=1e-4, skip=["n_iter_"])

    neighbours = ["classes_"]
    for data in ("iris", "digits"):
        yield case(f"neighbours_{data}", data, [("KNeighborsClassifier", {})], neighbours)
    yield case("neighbours_scaled_distance", "wine", [scaler, ("KNeighborsClassifier", {"n_neighbors": 7, "weights": "distance"})], neighbours)
    yield case("neighbours_one", "breast_cancer", [("KNeighborsClassifier", {"n_neighbors": 1})], neighbours)

    bayes = ["theta_", "var_", "class_prior_", "class_count_", "epsilon_", "classes_"]
    yield case("bayes_iris", "iris", [("GaussianNB", {})], bayes)
    yield case("bayes_priors", "wine", [("GaussianNB", {"priors": [0.2, 0.3, 0.5], "var_smoothing": 1e-6})], bayes)
    yield case("bayes_constant_columns", "digits", [scaler, ("GaussianNB", {})], ["class_prior_", "epsilon_"])


def main():
    warnings.simplefilter("ignore", FutureWarning)
    write_csv("iris", datasets.load_iris())
    write_csv("wine", datasets.load_wine())
    write_csv("breast_cancer", datasets.load_breast_cancer())
    write_csv("diabetes", datasets.load_diabetes())
    write_csv("digits", datasets.load_digits(), 450)
    write_csv("digits_wide", datasets.load_digits(), 60)
    golden = {"scikit-learn": sklearn.__version__, "cases": list(cases())}
    (FOLDER / "golden.json").write_text(json.dumps(golden).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
