"""Outlier detectors."""
from harness import Case, Exact

FOREST = {"offset_": 1e-12, "max_samples_": Exact(), "estimators_features_": Exact(), "predict": Exact(), "decision_function": 1e-12, "score_samples": 1e-12}

# The trees of scikit-learn, cut for cut: rows are float32 there, too.
CASES = []
for data in ("iris", "wine", "breast_cancer", "digits"):
    for params in ({}, {"contamination": 0.1}, {"max_samples": 0.5, "max_features": 0.5}, {"bootstrap": True, "max_samples": 40},
                   {"max_features": 3, "n_estimators": 7}):
        CASES.append(Case("IsolationForest", {"random_state": 0, **params}, data, FOREST, f32=1e-6, not_in_f32=("predict",) if "contamination" in params else ()))
CASES.append(Case("IsolationForest", {"random_state": 3, "n_estimators": 20, "max_samples": 40}, "blobs", FOREST, weights="counts", f32=1e-6))
CASES.append(Case("IsolationForest", {"random_state": 3, "n_estimators": 20, "max_samples": 30, "bootstrap": True}, "blobs", FOREST, weights="counts", f32=1e-6))
CASES.append(Case("IsolationForest", {"random_state": 1}, "ties", FOREST, f32=1e-6))
CASES.append(Case("IsolationForest", {"max_features": 5}, "iris", error="max_features is 5, but there are only 4 columns"))

ENVELOPE = {"location_": 1e-9, "covariance_": 1e-9, "precision_": 1e-8, "dist_": 1e-8, "offset_": 1e-8, "support_": Exact(), "raw_support_": Exact(),
            "predict": Exact(), "score_samples": 1e-8}
for data in ("iris", "wine", "blobs", "many_blobs", "very_many_blobs"):
    for params in ({}, {"contamination": 0.02, "support_fraction": 0.8}):
        CASES.append(Case("EllipticEnvelope", {"random_state": 0, **params}, data, ENVELOPE, f32=1e-2, not_in_f32=("predict", "support_", "raw_support_")))

FACTORS = {"negative_outlier_factor_": 1e-10, "offset_": 1e-10, "n_neighbors_": Exact(), "n_samples_fit_": Exact(), "effective_metric_": Exact()}
NOVEL = {**FACTORS, "predict": Exact(), "decision_function": 1e-9, "score_samples": 1e-10}
# Data without ties: of several last neighbours at one distance scikit-learn takes any, Kedge the first.
for data in ("blobs", "two_blobs", "regression"):
    for params in ({}, {"n_neighbors": 5}, {"contamination": 0.08}, {"metric": "manhattan"}, {"p": 3}, {"metric": "chebyshev", "n_neighbors": 7}):
        CASES.append(Case("LocalOutlierFactor", params, data, FACTORS))
        CASES.append(Case("LocalOutlierFactor", {**params, "novelty": True}, data, NOVEL, not_in_f32=("predict",)))
CASES.append(Case("LocalOutlierFactor", {"metric": "cosine", "n_neighbors": 6}, "wine", {**FACTORS, "negative_outlier_factor_": 1e-6}, f32=None))
CASES.append(Case("LocalOutlierFactor", {"n_neighbors": 200}, "blobs", FACTORS))

DENSITY = {"bandwidth_": 1e-14, "score_samples": 1e-8}   # scikit-learn narrows bounds in logarithms, which costs digits, and all of them far from the rows
for data in ("iris", "blobs", "regression"):
    for kernel in ("gaussian", "exponential"):
        CASES.append(Case("KernelDensity", {"kernel": kernel, "bandwidth": 0.4}, data, DENSITY, f32=1e-4))
    for kernel in ("tophat", "epanechnikov", "linear"):   # 0 far from all rows: wide enough to reach some
        CASES.append(Case("KernelDensity", {"kernel": kernel, "bandwidth": 9.0}, data, DENSITY, f32=1e-4))
    for rule in ("scott", "silverman"):
        CASES.append(Case("KernelDensity", {"bandwidth": rule}, data, DENSITY, f32=1e-4))
CASES.append(Case("KernelDensity", {"bandwidth": 2.0, "metric": "manhattan"}, "blobs", DENSITY, f32=1e-4))
CASES.append(Case("KernelDensity", {"bandwidth": 0.8, "metric": "chebyshev", "kernel": "exponential"}, "iris", DENSITY, f32=1e-4))
CASES.append(Case("KernelDensity", {"bandwidth": 0.5}, "blobs", DENSITY, weights="counts", f32=1e-4))
CASES.append(Case("KernelDensity", {"bandwidth": 1e-3}, "wine", DENSITY, f32=None, note="far from all rows"))
