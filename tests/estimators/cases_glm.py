"""Generalised linear models, robust and Bayesian regression."""
from harness import Case, Exact

LINE = {"coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}
EXACT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}

CASES = [Case(name, params, data, LINE, sk=params | EXACT, weights=weights)
         for name, data in (("PoissonRegressor", "rates"), ("GammaRegressor", "amounts"), ("PoissonRegressor", "diabetes"), ("GammaRegressor", "diabetes"))
         for params, weights in (({}, None), ({"alpha": 0.01}, "counts"), ({"alpha": 0.1, "fit_intercept": data == "diabetes"}, None))]
CASES += [Case(name, {"alpha": 0.0}, data, LINE, sk={"alpha": 0.0} | EXACT)
          for name, data in (("PoissonRegressor", "rates"), ("GammaRegressor", "amounts"))]
CASES += [Case("PoissonRegressor", {"alpha": 1e-3}, "wide_rates", LINE, sk={"alpha": 1e-3} | EXACT)]
CASES += [Case("TweedieRegressor", params, data, LINE, sk=params | EXACT, weights=weights)
          for data, params, weights in (("diabetes", {}, None), ("regression", {"alpha": 0.1}, "counts"), ("rates", {"power": 1.5}, None),
                                        ("rates", {"power": 1.0, "alpha": 0.01}, "counts"), ("amounts", {"power": 2.0, "alpha": 0.01}, None),
                                        ("amounts", {"power": 3.0, "alpha": 0.5}, None), ("rates", {"power": 1.9, "alpha": 0.1, "fit_intercept": False}, None),
                                        ("amounts", {"power": 0.0, "link": "log", "alpha": 0.1}, None))]
CASES += [Case("TweedieRegressor", {"power": 1.5, "link": "identity"}, "offset_rates", LINE | {"coef_": 1e-5, "intercept_": 1e-5},
               sk={"power": 1.5, "link": "identity", "solver": "lbfgs", "tol": 1e-10, "max_iter": 10000}, f32=5e-3)]
CASES += [Case("PoissonRegressor", {}, "regression", error="at least 0"),
          Case("GammaRegressor", {}, "rates", error="above 0"),
          Case("TweedieRegressor", {"power": 2.5}, "rates", error="above 0"),
          Case("PoissonRegressor", {"alpha": -1.0}, "rates", error="alpha")]

HUBER = {"coef_": 2e-4, "intercept_": 1e-3, "scale_": 5e-4, "predict": 1e-4, "outliers_": Exact()}
CASES += [Case("HuberRegressor", params, data, HUBER, sk=params | {"tol": 1e-10, "max_iter": 100000}, weights=weights)
          for data in ("outliers", "regression")
          for params, weights in (({}, None), ({"epsilon": 2.0, "alpha": 0.1}, None), ({"epsilon": 1.1}, None), ({"fit_intercept": False}, None), ({}, "counts"))]
CASES += [Case("HuberRegressor", {"epsilon": 0.9}, "outliers", error="epsilon")]

BAYES = {"coef_": 1e-7, "intercept_": 1e-7, "alpha_": 1e-7, "lambda_": 1e-7, "sigma_": 1e-7, "n_iter_": Exact(), "predict": 1e-8, "X_offset_": 1e-9, "X_scale_": Exact()}
CASES += [Case("BayesianRidge", params, data, BAYES | ({"scores_": 1e-8} if "compute_score" in params else {}), weights=weights, f32=2e-2, not_in_f32=("n_iter_",))
          for data in ("diabetes", "regression", "outliers")
          for params, weights in (({}, None), ({"compute_score": True, "tol": 1e-6}, None), ({"fit_intercept": False}, None),
                                  ({"alpha_init": 1.0, "lambda_init": 1e-3, "alpha_1": 0.1, "lambda_2": 0.5}, None), ({}, "counts"))]
CASES += [Case("BayesianRidge", {"compute_score": True}, data, {k: v for k, v in BAYES.items() if k != "sigma_"} | {"scores_": 1e-6}, f32=None)
          for data in ("wide", "rank_deficient")]
CASES += [Case("ARDRegression", params, data, BAYES | ({"scores_": 1e-8} if "compute_score" in params else {}), f32=None)
          for data in ("diabetes", "regression", "outliers")
          for params in ({}, {"compute_score": True, "tol": 1e-6}, {"fit_intercept": False}, {"threshold_lambda": 100.0, "alpha_1": 0.1, "lambda_2": 0.5})]
CASES += [Case("ARDRegression", {"max_iter": 0}, "regression", error="max_iter")]

PURSUED = {"coef_": 1e-8, "intercept_": 1e-8, "predict": 1e-8, "n_iter_": Exact(), "n_nonzero_coefs_": Exact()}
CASES += [Case("OrthogonalMatchingPursuit", params, data, PURSUED, f32=2e-3)
          for data in ("diabetes", "regression", "wide")
          for params in ({}, {"n_nonzero_coefs": 3}, {"tol": 20.0}, {"n_nonzero_coefs": 2, "fit_intercept": False, "precompute": False})]
CASES += [Case("OrthogonalMatchingPursuit", {"n_nonzero_coefs": 11}, "diabetes", error="n_nonzero_coefs is 11, the data have 10 columns")]

WALKED = {"coef_": 1e-8, "intercept_": 1e-8, "predict": 1e-8, "alphas_": 1e-8, "n_iter_": Exact()}
KNOTS = WALKED | {"active_": Exact(), "coef_path_": 1e-8}
F32_KNOTS = ("n_iter_", "active_", "coef_path_", "alphas_")
CASES += [Case("Lars", params, data, KNOTS if params.get("fit_path", True) else WALKED, f32=5e-3, not_in_f32=F32_KNOTS)
          for data in ("diabetes", "regression", "outliers")
          for params in ({}, {"n_nonzero_coefs": 4}, {"fit_intercept": False, "n_nonzero_coefs": 3}, {"fit_path": False}, {"jitter": 0.1, "random_state": 3, "n_nonzero_coefs": 5})]
CASES += [Case("Lars", {"n_nonzero_coefs": n}, "wide", KNOTS, f32=None) for n in (4, 25)]
CASES += [Case("LassoLars", params, data, KNOTS if params.get("fit_path", True) else WALKED, f32=5e-3, not_in_f32=F32_KNOTS)
          for data in ("diabetes", "regression", "wide", "breast_cancer")
          for params in ({"alpha": 0.1}, {"alpha": 0.01}, {"alpha": 0.02, "positive": True}, {"alpha": 0.01, "fit_intercept": False},
                         {"alpha": 0.001, "max_iter": 5}, {"alpha": 0.05, "fit_path": False})]
INFORMED = {"coef_": 1e-8, "intercept_": 1e-8, "predict": 1e-8, "alpha_": 1e-8, "alphas_": 1e-8, "criterion_": 1e-8, "noise_variance_": 1e-8, "n_iter_": Exact()}
CASES += [Case("LassoLarsIC", params, data, INFORMED, f32=5e-3, not_in_f32=F32_KNOTS + ("criterion_",))
          for data in ("diabetes", "regression", "breast_cancer")   # of the last, without an intercept, scikit-learn drops two columns as rounding
          for params in ({}, {"criterion": "bic"}, {"noise_variance": 0.5}, *([] if data == "breast_cancer" else [{"fit_intercept": False, "criterion": "bic"}]), {"max_iter": 4})]
CASES += [Case("LassoLarsIC", {}, "wide", error="noise_variance is null, which needs more rows than columns; the data have "),
          Case("LassoLars", {"alpha": -1.0}, "diabetes", error="alpha"),
          Case("Lars", {"n_nonzero_coefs": 0}, "diabetes", error="n_nonzero_coefs")]
FOLDED = KNOTS | {"alpha_": 1e-8, "cv_alphas_": 1e-8, "mse_path_": 1e-7}
CASES += [Case(name, params, data, FOLDED, f32=None)
          for name in ("LarsCV", "LassoLarsCV") for data in ("diabetes", "regression", "outliers")
          for params in ({}, {"cv": 3, "max_iter": 6}, {"fit_intercept": False}, {"max_n_alphas": 7})]
CASES += [Case("LassoLarsCV", {"positive": True}, "diabetes", FOLDED, f32=None),
          Case("LarsCV", {"cv": 500}, "regression", error="cv is 500, must be at most the ")]

LEAST = {"coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}
CASES += [Case("QuantileRegressor", params, data, LEAST, f32=5e-3, weights=weights)
          for data in ("diabetes", "regression", "outliers")
          for params, weights in (({"alpha": 0.0}, None), ({"alpha": 0.01, "quantile": 0.83}, None), ({"alpha": 0.0, "quantile": 0.217, "fit_intercept": False}, None),
                                  ({"alpha": 0.02, "quantile": 0.371}, "counts"), ({"alpha": 0.001, "quantile": 0.91}, None))]
CASES += [Case("QuantileRegressor", {"quantile": 1.0}, "diabetes", error="quantile is 1, must be"),
          Case("QuantileRegressor", {"alpha": -1.0}, "diabetes", error="alpha")]

SUBSETS = {"coef_": 1e-7, "intercept_": 1e-7, "predict": 1e-7, "breakdown_": 1e-12, "n_iter_": Exact(), "n_subpopulation_": Exact()}
CASES += [Case("TheilSenRegressor", params, data, SUBSETS, f32=5e-3, not_in_f32=("n_iter_",))
          for data in ("regression", "outliers", "diabetes")
          for params in ({"random_state": 0, "max_subpopulation": 500}, {"random_state": 1, "max_subpopulation": 300, "fit_intercept": False},
                         {"random_state": 2, "max_subpopulation": 200, "n_subsamples": 30, "tol": 1e-6}, {"random_state": 3, "max_subpopulation": 200, "max_iter": 3})]
CASES += [Case("TheilSenRegressor", {"n_subsamples": 3}, "diabetes", error="n_subsamples is 3, must be at least the 11 coefficients"),
          Case("TheilSenRegressor", {"n_subsamples": 3000}, "diabetes", error="n_subsamples is 3000, must be at most the ")]

CONSENSUS = {"predict": 1e-8, "inlier_mask_": Exact(), "n_trials_": Exact(), "n_skips_no_inliers_": Exact()}
RIDGE_STEP = {"estimator": "Ridge", "params": {"alpha": 0.5}}
CASES += [Case("RANSACRegressor", params, data, CONSENSUS, f32=None, weights=weights)
          for data in ("regression", "outliers", "diabetes")
          for params, weights in (({"random_state": 0}, None), ({"random_state": 1, "min_samples": 0.3, "max_trials": 20}, None), ({"random_state": 2, "residual_threshold": 0.8}, "counts"),
                                  ({"random_state": 3, "loss": "squared_error", "residual_threshold": 2.0, "stop_probability": 0.5}, None),
                                  ({"random_state": 4, "min_samples": 20, "stop_n_inliers": 40}, None), ({"random_state": 4, "min_samples": 25, "max_trials": 10, "estimator": RIDGE_STEP}, None))]
CASES += [Case("RANSACRegressor", {"min_samples": 4000}, "diabetes", error="min_samples is 4000, must be at most the "),
          Case("RANSACRegressor", {"estimator": RIDGE_STEP}, "diabetes", error="min_samples is null, must be given unless the estimator is LinearRegression"),
          Case("RANSACRegressor", {"residual_threshold": 0.0, "min_samples": 100, "random_state": 0}, "diabetes", error="no model of 100 subsets has an inlier")]

LATENT = {"coef_": 1e-8, "intercept_": 1e-10, "predict": 1e-8, "transform": 1e-8, "x_weights_": 1e-8, "x_loadings_": 1e-8, "x_rotations_": 1e-8, "x_scores_": 1e-8,
          "y_weights_": 1e-8, "y_loadings_": 1e-8, "y_rotations_": 1e-8, "y_scores_": 1e-6, "n_iter_": Exact()}
CASES += [Case("PLSRegression", params, data, LATENT, f32=5e-3)
          for data in ("diabetes", "regression", "wide", "outliers") for params in ({}, {"n_components": 1}, {"n_components": 4}, {"n_components": 3, "scale": False})]
CASES += [Case("PLSRegression", {"n_components": 5}, data, {"coef_": 1e-6, "predict": 1e-6}, f32=None) for data in ("badly_scaled", "offset_1e6", "breast_cancer")]
CASES += [Case("PLSRegression", {"n_components": 11}, "diabetes", error="n_components is 11, must be at most 10")]
