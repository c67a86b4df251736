"""Mixtures of normal distributions, from scikit-learn's starts."""
from harness import Case, Exact

SCALER = [("StandardScaler", {})]
FOUND = {"weights_": 1e-8, "means_": 1e-8, "covariances_": 1e-8, "precisions_": 1e-7, "precisions_cholesky_": 1e-7, "lower_bound_": 1e-9, "lower_bounds_": 1e-8,
         "n_iter_": Exact(), "converged_": Exact(), "predict": Exact(), "predict_proba": 1e-7, "score_samples": 1e-8}
KINDS = ("full", "tied", "diag", "spherical")

CASES = []
for kind in KINDS:
    for data, k in (("iris", 3), ("wine", 3), ("blobs", 4)):
        CASES.append(Case("GaussianMixture", {"n_components": k, "covariance_type": kind, "random_state": 0}, data, FOUND, before=SCALER))
    CASES.append(Case("GaussianMixture", {"n_components": 2, "covariance_type": kind, "random_state": 1, "n_init": 3, "tol": 1e-6}, "breast_cancer", FOUND, before=SCALER,
                      f32=None))
    for init in ("k-means++", "random", "random_from_data"):
        CASES.append(Case("GaussianMixture", {"n_components": 3, "covariance_type": kind, "init_params": init, "random_state": 3, "reg_covar": 1e-3}, "iris", FOUND, f32=None))
    CASES.append(Case("BayesianGaussianMixture", {"n_components": 4, "covariance_type": kind, "random_state": 0}, "iris", {
        **FOUND, "weight_concentration_": 1e-8, "mean_precision_": 1e-8, "degrees_of_freedom_": 1e-8, "mean_prior_": 1e-12, "covariance_prior_": 1e-10,
        "weight_concentration_prior_": Exact(), "mean_precision_prior_": Exact(), "degrees_of_freedom_prior_": Exact()}))
    CASES.append(Case("BayesianGaussianMixture", {"n_components": 5, "covariance_type": kind, "random_state": 0, "weight_concentration_prior": 1e-2, "mean_precision_prior": 0.5,
                                                  "degrees_of_freedom_prior": 9.5, "weight_concentration_prior_type": "dirichlet_distribution"}, "blobs", FOUND, f32=None))
CASES.append(Case("GaussianMixture", {"n_components": 1}, "wine", {name: check for name, check in FOUND.items() if name != "means_"}, before=SCALER))   # which are 0
CASES.append(Case("GaussianMixture", {"n_components": 3, "max_iter": 2, "random_state": 0}, "iris", FOUND, before=SCALER))
MEANS = [[-1.0, 1.0, -1.3, -1.2], [-0.1, -0.8, 0.4, 0.3], [0.9, -0.1, 1.0, 1.1]]
WIDE = [[4.0, 0.5, 0.0, 0.0], [0.5, 3.0, 0.0, 0.0], [0.0, 0.0, 5.0, 1.0], [0.0, 0.0, 1.0, 6.0]]
PRECISIONS = {"full": [WIDE, WIDE, WIDE], "tied": WIDE, "diag": [[2.0, 3.0, 4.0, 5.0]] * 3, "spherical": [3.0, 4.0, 5.0]}
for kind in KINDS:
    start = {"weights_init": [0.3, 0.3, 0.4], "means_init": MEANS, "precisions_init": PRECISIONS[kind]}
    CASES.append(Case("GaussianMixture", {"n_components": 3, "covariance_type": kind, **start}, "iris", FOUND, before=SCALER, note="all starts given"))
    CASES.append(Case("GaussianMixture", {"n_components": 3, "covariance_type": kind, "random_state": 0, "means_init": MEANS}, "iris", FOUND, before=SCALER, note="means given"))
CASES.append(Case("BayesianGaussianMixture", {"n_components": 2, "random_state": 0, "mean_prior": [0.1, 0.2, 0.3, 0.4], "covariance_prior": WIDE}, "iris", FOUND, before=SCALER,
                  note="priors given"))
# One column twice: no covariance of full rank without a regularisation.
CASES.append(Case("GaussianMixture", {"n_components": 2, "reg_covar": 0.0}, "rank_deficient", error="raise reg_covar (now 0)"))
CASES.append(Case("GaussianMixture", {"n_components": 3, "weights_init": [0.5, 0.5]}, "iris", error="weights_init must be 3 numbers, is 2"))
CASES.append(Case("GaussianMixture", {"n_components": 2, "weights_init": [0.5, 0.6]}, "iris", error="must sum to 1"))
CASES.append(Case("GaussianMixture", {"n_components": 101}, "iris", error="n_components is 101, but there are only 100 rows"))
CASES.append(Case("BayesianGaussianMixture", {"degrees_of_freedom_prior": 2.0}, "iris", error="must be above 3"))
