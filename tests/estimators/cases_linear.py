"""Least squares, ridge, lasso, elastic net, and the dummies."""
from harness import Case, Exact

CLASS_DATA = ("iris", "wine", "breast_cancer", "digits", "two_blobs")


def on(data, checks):
    """A regressor's predictions of class codes are numbers, which the harness would take for classes."""
    return {name: check for name, check in checks.items() if name != "predict" or data not in CLASS_DATA}


LINE = {"coef_": 1e-10, "intercept_": 1e-10, "predict": 1e-10}
EXACT_LINE = LINE | {"singular_": 1e-10, "rank_": Exact()}
NO_RANK_IN_F32 = ("rank_", "singular_")   # scikit-learn's float32 singular values are rounding where columns depend on each other
LOOSE = {"tol": 1e-14}   # scikit-learn 1.9 cuts singular values at 1e-6, and with them columns in small units

CASES = [Case("LinearRegression", params, data, on(data, EXACT_LINE), sk=params | LOOSE, weights=weights, not_in_f32=NO_RANK_IN_F32)
         for data in ("diabetes", "regression", "iris", "breast_cancer")
         for params, weights in (({}, None), ({"fit_intercept": False}, None), ({}, "counts"))]
CASES += [Case("LinearRegression", {}, data, on(data, EXACT_LINE | {"singular_": 1e-9}), sk=LOOSE, not_in_f32=NO_RANK_IN_F32, f32=2e-2)
          for data in ("rank_deficient", "wide", "digits")]
CASES += [Case("LinearRegression", {}, data, {"coef_": 1e-7, "predict": 1e-7, "rank_": Exact()}, sk=LOOSE, f32=None)
          for data in ("badly_scaled", "offset_1e6")]
CASES += [Case("LinearRegression", {"positive": True}, data, on(data, LINE), f32=5e-3) for data in ("diabetes", "regression", "breast_cancer")]
CASES += [Case("LinearRegression", {"positive": True, "fit_intercept": False}, "diabetes", LINE, f32=5e-3, weights="counts")]

RIDGE = {"coef_": 1e-9, "intercept_": 1e-9, "predict": 1e-9}
CASES += [Case("Ridge", params, data, on(data, RIDGE), f32=f32, weights=weights)
          for data, f32 in (("diabetes", 2e-3), ("breast_cancer", None), ("regression", 2e-3), ("rank_deficient", 2e-3), ("wide", 2e-3), ("digits", 2e-2))
          for params, weights in (({}, None), ({"alpha": 0.01, "solver": "svd"}, None), ({"alpha": 100.0, "solver": "cholesky", "fit_intercept": False}, None),
                                  ({"alpha": 2.5}, "counts"))]
CASES += [Case("Ridge", {"alpha": 1.0}, data, RIDGE | {"coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}, f32=None) for data in ("badly_scaled", "offset_1e6")]
CASES += [Case("Ridge", {"alpha": 0.5, "solver": solver}, "diabetes", {"coef_": 1e-6, "predict": 1e-6},
               sk={"alpha": 0.5, "solver": solver, "tol": 1e-14, "max_iter": 100000}) for solver in ("lsqr", "sparse_cg", "sag", "saga")]
CASES += [Case("Ridge", {"alpha": 1.0, "positive": True}, data, {"coef_": 1e-5, "predict": 1e-5},
               sk={"alpha": 1.0, "positive": True, "tol": 1e-14, "max_iter": 100000}, f32=5e-3) for data in ("diabetes", "regression")]
CASES += [Case("Ridge", {"alpha": 1.0, "solver": "svd", "positive": True}, "iris", error="positive"),
          Case("Ridge", {"solver": "lbfgs"}, "iris", error="positive")]

CV = {"alpha_": 1e-12, "best_score_": 1e-8, "coef_": 1e-8, "intercept_": 1e-8, "predict": 1e-8}
GRID = {"alphas": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
CASES += [Case("RidgeCV", params, data, CV | ({"cv_results_": 1e-7} if "store_cv_results" in params else {}), weights=weights)
          for data in ("diabetes", "regression", "wide", "rank_deficient")
          for params, weights in (({}, None), (GRID | {"store_cv_results": True}, None), (GRID | {"fit_intercept": False}, None), (GRID, "counts"),
                                  (GRID | {"cv": 5}, None), (GRID | {"cv": 4}, "counts"), (GRID | {"scoring": "neg_mean_absolute_error"}, None), (GRID | {"scoring": "r2"}, None))]
CASES += [Case("RidgeCV", {"alphas": [0.0, 1.0]}, "diabetes", error="alphas"),
          Case("RidgeCV", {"cv": 3, "store_cv_results": True}, "diabetes", error="cv")]

CLASSES = {"predict": Exact(), "decision_function": 1e-8, "coef_": 1e-8, "intercept_": 1e-8}
CASES += [Case("RidgeClassifier", params, data, CLASSES, f32=f32, weights=weights)
          for data, f32 in (("iris", 2e-3), ("wine", 2e-2), ("breast_cancer", None), ("two_blobs", 2e-3), ("digits", None))
          for params, weights in (({}, None), ({"alpha": 0.1, "class_weight": "balanced"}, None), ({"solver": "svd", "fit_intercept": False}, None), ({}, "counts"))]

BEST = CLASSES | {"alpha_": 1e-12, "best_score_": 1e-8}
CASES += [Case("RidgeClassifierCV", params, data, BEST | ({"cv_results_": 1e-7} if "store_cv_results" in params else {}), f32=f32, weights=weights)
          for data, f32 in (("iris", 2e-3), ("two_blobs", 2e-3), ("wine", None), ("wide_classes", None))
          for params, weights in (({}, None), (GRID | {"store_cv_results": True, "class_weight": "balanced"}, None), (GRID | {"fit_intercept": False}, None),
                                  (GRID, "counts"), (GRID | {"cv": 4, "class_weight": "balanced"}, None))]
CASES += [Case("RidgeClassifierCV", GRID | {"scoring": "accuracy"}, data, BEST, f32=None, weights=weights) for data in ("iris", "wine") for weights in (None, "counts")]
CASES += [Case("RidgeClassifierCV", {"alphas": [0.0, 1.0]}, "iris", error="alphas"),
          Case("RidgeClassifierCV", {"cv": 3, "store_cv_results": True}, "iris", error="cv"),
          Case("RidgeClassifierCV", {"cv": 200}, "iris", error="cv is 200, but ")]

TIGHT = {"tol": 1e-13, "max_iter": 1000000}
SPARSE = {"coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}
CASES += [Case("Lasso", {"alpha": alpha} | more | TIGHT, data, on(data, SPARSE), f32=f32, weights=weights, before=before, sk={"alpha": alpha} | more | {"tol": 1e-12, "max_iter": 1000000})
          for data, before, f32 in (("diabetes", [], 2e-3), ("regression", [], 2e-3), ("breast_cancer", [("StandardScaler", {})], 5e-3), ("wide", [], 2e-3),
                                    ("rank_deficient", [], 1e-2))
          for alpha, more, weights in ((0.1, {}, None), (0.02, {"positive": True}, None), (0.05, {"fit_intercept": False}, None), (0.05, {}, "counts"),
                                       (0.1, {"selection": "random", "random_state": 1}, None))]
CASES += [Case("ElasticNet", params | TIGHT, data, on(data, SPARSE), f32=5e-3, before=before, weights=weights, sk=params | {"tol": 1e-12, "max_iter": 1000000})
          for data, before in (("diabetes", []), ("regression", []), ("wide", []), ("wine", [("StandardScaler", {})]))
          for params, weights in (({"alpha": 0.1}, None), ({"alpha": 0.05, "l1_ratio": 0.9}, None), ({"alpha": 0.05, "l1_ratio": 0.2, "positive": True}, None),
                                  ({"alpha": 0.1}, "counts"))]
CASES += [Case("Lasso", {"alpha": 0.1}, "diabetes", {"coef_": 1e-8, "n_iter_": Exact(), "dual_gap_": 1e-6}, f32=None, note="default tol"),
          Case("ElasticNet", {"alpha": 0.1}, "regression", {"coef_": 1e-8, "n_iter_": Exact(), "dual_gap_": 1e-6}, f32=None, note="default tol")]

PATH = {"alpha_": 1e-10, "alphas_": 1e-10, "mse_path_": 1e-6, "coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}
PATH_TOL, SK_TOL = {"tol": 1e-12, "max_iter": 100000}, {"tol": 1e-11, "max_iter": 100000}
CASES += [Case("LassoCV", params | PATH_TOL, data, PATH, sk=params | SK_TOL, f32=None, weights=weights)
          for data in ("diabetes", "regression", "wide")
          for params, weights in (({"alphas": 20}, None), ({"alphas": [0.01, 1.0, 0.1], "cv": 3}, None), ({"alphas": 15, "positive": True, "eps": 0.01}, None),
                                  ({"alphas": 10, "fit_intercept": False}, None), ({"alphas": 10}, "counts"))]
CASES += [Case("ElasticNetCV", params | PATH_TOL, data, PATH | {"l1_ratio_": 1e-15}, sk=params | SK_TOL, f32=None)
          for data in ("diabetes", "regression")
          for params in ({"alphas": 12}, {"alphas": 8, "l1_ratio": [0.1, 0.5, 0.99], "cv": 4}, {"alphas": [0.3, 0.03], "l1_ratio": [0.5, 1.0]})]
CASES += [Case("LassoCV", {"alphas": 10}, "diabetes", {"alpha_": 1e-10, "mse_path_": 1e-3, "coef_": 2e-2, "predict": 1e-2}, f32=2e-2, note="default tol"),
          Case("ElasticNetCV", {"l1_ratio": 0.0}, "diabetes", error="l1_ratio")]

CASES += [Case("DummyClassifier", params, data, {"predict": Exact(), "predict_proba": 1e-14, "class_prior_": 1e-14}, weights=weights)
          for data, weights in (("iris", None), ("ties", "counts"), ("breast_cancer", None))
          for params in ({}, {"strategy": "most_frequent"}, {"strategy": "constant", "constant": 1})]
CASES += [Case("DummyClassifier", {"strategy": "uniform"}, "iris", {"predict_proba": 1e-14}),
          Case("DummyClassifier", {"strategy": "constant"}, "iris", error="constant"),
          Case("DummyClassifier", {"strategy": "constant", "constant": 17}, "iris", error="constant")]
CASES += [Case("DummyRegressor", params, data, {"constant_": 1e-13, "predict": 1e-13}, weights=weights)
          for data, weights in (("diabetes", None), ("regression", "counts"))
          for params in ({}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.3}, {"strategy": "constant", "constant": 2.5})]
CASES += [Case("DummyRegressor", {"strategy": "quantile"}, "diabetes", error="quantile")]
