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
