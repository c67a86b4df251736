"""PCA, IncrementalPCA, TruncatedSVD, FastICA and FactorAnalysis."""
import math

from harness import Case, Exact, SignOfColumns, SignOfRows, Spread

SCALER = [("StandardScaler", {})]
VALUES = {"explained_variance_": 1e-8, "explained_variance_ratio_": 1e-8, "singular_values_": 1e-8}
BASIS = {**VALUES, "components_": SignOfRows(1e-6), "transform": SignOfColumns(1e-6)}
PCA = {**BASIS, "mean_": 1e-12, "n_components_": Exact(), "noise_variance_": 1e-8, "n_samples_": Exact()}
BATCHES = {**BASIS, "mean_": 1e-12, "var_": 1e-10, "noise_variance_": 1e-8, "n_samples_seen_": Exact(), "batch_size_": Exact(), "n_components_": Exact()}

def without(checks, *names):
    return {name: check for name, check in checks.items() if name not in names}


# After a scaler the mean is nothing but rounding.
CENTRED, CENTRED_BATCHES = without(PCA, "mean_"), without(BATCHES, "mean_")
CASES = []
for data in ("iris", "wine", "two_blobs"):
    for params in ({}, {"n_components": 2}, {"n_components": 2, "whiten": True}, {"n_components": 0.9, "svd_solver": "full"}, {"n_components": "mle"},
                   {"n_components": 2, "svd_solver": "covariance_eigh"}, {"n_components": 2, "svd_solver": "arpack"},
                   {"n_components": 2, "svd_solver": "full"}):
        CASES.append(Case("PCA", params, data, CENTRED, before=SCALER))
CASES.append(Case("PCA", {"n_components": 5, "svd_solver": "arpack", "whiten": True}, "digits", PCA))
CASES.append(Case("PCA", {"n_components": 3}, "offset_1e6", {**PCA, "transform": SignOfColumns(1e-5)}, f32=None,
                  sk={"svd_solver": "full"}))   # its covariance_eigh, which auto takes, subtracts squared means: 1e-3 off
CASES.append(Case("PCA", {"n_components": 4, "svd_solver": "full"}, "badly_scaled", {**PCA, "noise_variance_": 1e-5}, not_in_f32=("components_", "transform", "noise_variance_")))
CASES.append(Case("PCA", {"n_components": 5}, "rank_deficient", without(PCA, "noise_variance_")))   # which is 0
CASES.append(Case("PCA", {"n_components": 6, "svd_solver": "arpack"}, "wide", PCA))
for normalizer in ("auto", "QR", "LU", "none"):
    params = {"n_components": 6, "svd_solver": "randomized", "power_iteration_normalizer": normalizer, "n_oversamples": 5, "iterated_power": 4}
    CASES.append(Case("PCA", params, "digits", {"singular_values_": Spread(1.0), "explained_variance_": Spread(1.0), "mean_": 1e-12}))
CASES.append(Case("PCA", {"n_components": 13, "svd_solver": "arpack"}, "wine", error="must be between 1 and 12"))
CASES.append(Case("PCA", {"n_components": 0.5, "svd_solver": "arpack"}, "wine", error="must be an integer for svd_solver \"arpack\""))

for data in ("iris", "wine", "breast_cancer", "regression"):
    for params in ({}, {"n_components": 3}, {"n_components": 2, "batch_size": 17}, {"n_components": 2, "whiten": True, "batch_size": 40}):
        CASES.append(Case("IncrementalPCA", params, data, CENTRED_BATCHES, before=SCALER))
CASES.append(Case("IncrementalPCA", {"n_components": 8, "batch_size": 50}, "digits", BATCHES))
CASES.append(Case("IncrementalPCA", {"n_components": 4, "batch_size": 9}, "wide", BATCHES))
CASES.append(Case("IncrementalPCA", {"n_components": 3, "batch_size": 20}, "offset_1e6", BATCHES, f32=None))
CASES.append(Case("IncrementalPCA", {"n_components": 5}, "iris", error="n_components is 5, must be at most 4"))
CASES.append(Case("IncrementalPCA", {"n_components": 4, "batch_size": 3}, "iris", error="must be at most 3, the smaller of 4 columns and 3 rows of the first batch"))

for data in ("iris", "wine", "breast_cancer", "digits", "wide"):
    CASES.append(Case("TruncatedSVD", {"algorithm": "arpack", "n_components": 3}, data, BASIS))
    CASES.append(Case("TruncatedSVD", {"n_components": 3, "n_iter": 30, "random_state": 0}, data, BASIS))
    CASES.append(Case("TruncatedSVD", {"n_components": 3}, data, {name: Spread(1.0) for name in VALUES}))
for normalizer in ("QR", "LU", "none"):
    params = {"n_components": 4, "n_oversamples": 4, "n_iter": 4, "power_iteration_normalizer": normalizer}
    CASES.append(Case("TruncatedSVD", params, "digits", {name: Spread(1.0) for name in VALUES}))
CASES.append(Case("TruncatedSVD", {"n_components": 5}, "iris", error="n_components is 5, must be at most 4"))
CASES.append(Case("TruncatedSVD", {"n_components": 4, "algorithm": "arpack"}, "iris", error="n_components is 4, must be at most 3"))


def turned(k):
    """A start that leads away from no symmetry, the same in every test: scikit-learn and Kedge draw theirs by different generators."""
    return [[round(math.cos(1 + 3 * i + 7 * j + i * j), 2) for j in range(k)] for i in range(k)]


ICA = {"components_": 1e-6, "mixing_": 1e-6, "mean_": 1e-10, "whitening_": 1e-6, "n_iter_": Exact(), "transform": 1e-6}
for data, k in (("iris", 2), ("wine", 3), ("breast_cancer", 5)):
    for params in ({}, {"fun": "exp"}, {"fun": "cube"}, {"fun_args": {"alpha": 1.5}}, {"algorithm": "deflation"}, {"whiten": "arbitrary-variance"},
                   {"whiten_solver": "eigh"}):
        CASES.append(Case("FastICA", {"n_components": k, "w_init": turned(k), "max_iter": 30, **params}, data, without(ICA, "mean_"), before=SCALER, f32=1e-2))
CASES.append(Case("FastICA", {"n_components": 3, "w_init": turned(3), "algorithm": "deflation", "fun": "cube"}, "offset_1e6", ICA, f32=None))
CASES.append(Case("FastICA", {"whiten": False, "w_init": turned(4)}, "iris", without(ICA, "mean_", "whitening_"), f32=1e-2))
CASES.append(Case("FastICA", {"n_components": 3, "w_init": turned(4)}, "iris", error="w_init is 4 x 4, must be 3 x 3"))

FACTORS = {"components_": SignOfRows(1e-6), "loglike_": 1e-9, "noise_variance_": 1e-8, "n_iter_": Exact(), "mean_": 1e-12, "transform": SignOfColumns(1e-6)}
for data, k in (("iris", 2), ("wine", 3), ("breast_cancer", 4)):
    CASES.append(Case("FactorAnalysis", {"n_components": k, "svd_method": "lapack", "tol": 1e-4}, data, without(FACTORS, "mean_"), before=SCALER, f32=1e-2))
    # A rotation may exchange its factors with their signs; the noise does not change.
    CASES.append(Case("FactorAnalysis", {"n_components": k, "svd_method": "lapack", "rotation": "varimax"}, data, without(FACTORS, "mean_"), before=SCALER, f32=None))
CASES.append(Case("FactorAnalysis", {"n_components": 2, "svd_method": "lapack", "rotation": "quartimax"}, "wine", without(FACTORS, "mean_"), before=SCALER, f32=None))
CASES.append(Case("FactorAnalysis", {"n_components": 2, "svd_method": "lapack", "noise_variance_init": [0.5, 1.0, 0.7, 0.3]}, "iris", FACTORS, f32=1e-2))
CASES.append(Case("FactorAnalysis", {"n_components": 1, "svd_method": "lapack", "max_iter": 3}, "regression", FACTORS, f32=1e-2))
CASES.append(Case("FactorAnalysis", {"n_components": 5}, "iris", error="n_components is 5, must be at most 4"))
