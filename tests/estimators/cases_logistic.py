"""LogisticRegression: every penalty in both spellings, every solver, binary and multinomial.

Kedge finds a tight minimum, and scikit-learn uses the solver that reaches it best.
"""
from harness import Case, Exact

SCALER = [("StandardScaler", {})]
FIT = {"coef_": 1e-6, "intercept_": 1e-6, "decision_function": 1e-6, "predict_proba": 1e-6, "predict": Exact()}
LOOSE = {name: check if name == "predict" else 1e-5 for name, check in FIT.items()}
# Without decision_function: columns of 10^6 leave a direction in which the loss is flat beyond the digits of its gradient.
FLAT = {name: check for name, check in FIT.items() if name != "decision_function"}
NEWTON = {"solver": "newton-cholesky", "tol": 1e-13, "max_iter": 1000}
SAGA = {"solver": "saga", "tol": 1e-12, "max_iter": 200000, "random_state": 0}


def tight(**params):
    return {"tol": 1e-11, "max_iter": 5000, **params}


def smooth(data, more=None, checks=FIT, **kwargs):
    params = tight(**(more or {}))
    return Case("LogisticRegression", params, data, checks, sk={**{k: v for k, v in params.items() if k != "solver"}, **NEWTON}, **kwargs)


CASES = []
for solver in ("lbfgs", "newton-cholesky", "newton-cg", "sag", "saga"):
    CASES += [smooth(data, {"solver": solver}, before=SCALER) for data in ("wine", "breast_cancer")]
    CASES += [smooth(data, {"solver": solver}, split=False) for data in ("iris", "two_blobs", "blobs", "ties")]
for data in ("iris", "wine", "breast_cancer"):
    for more in ({"C": 0.01}, {"C": 100.0}, {"fit_intercept": False}, {"class_weight": "balanced"}, {"penalty": "l2"}):
        CASES.append(smooth(data, more, before=SCALER))
    CASES.append(smooth(data, {"class_weight": "balanced"}, before=SCALER, weights="counts"))
    CASES.append(smooth(data, {}, before=SCALER, weights="counts"))
for data in ("two_blobs", "ties", "blobs"):
    for solver in ("lbfgs", "newton-cholesky"):
        CASES.append(Case("LogisticRegression", tight(C="inf", solver=solver), data, FIT, sk={"C": float("inf"), **NEWTON}, split=False))
        CASES.append(Case("LogisticRegression", tight(penalty=None, solver=solver), data, FIT, sk={"C": float("inf"), **NEWTON, "penalty": "deprecated"},
                          split=False))
for solver in ("newton-cholesky", "newton-cg"):
    CASES += [smooth(data, {"solver": solver}, f32=None) for data in ("wine", "breast_cancer", "offset_classes")]
    CASES.append(smooth("badly_scaled_classes", {"solver": solver}, checks=FLAT, f32=None))
CASES.append(smooth("digits", {"solver": "newton-cholesky", "C": 0.01}))
CASES.append(smooth("rank_deficient_classes", {"solver": "newton-cholesky"}, before=SCALER))
CASES.append(smooth("rank_deficient_classes", {}, before=SCALER))

# Without intercept_: saga lets the same number creep into the intercepts of all classes, which changes no probability.
ZEROS = {"coef_": 1e-6, "predict_proba": 1e-6, "predict": Exact()}
for data in ("iris", "wine", "breast_cancer", "rank_deficient_classes"):
    for more in ({"l1_ratio": 1.0}, {"l1_ratio": 1.0, "C": 0.1}, {"l1_ratio": 0.5, "C": 0.3}, {"penalty": "elasticnet", "l1_ratio": 0.2},
                 {"penalty": "l1", "l1_ratio": 1.0, "fit_intercept": False, "C": 0.5}):
        params = tight(solver="saga", **more)
        CASES.append(Case("LogisticRegression", params, data, ZEROS, before=SCALER, sk={**params, **SAGA}))
for data in ("breast_cancer", "two_blobs"):
    for more in ({}, {"l1_ratio": 1.0}, {"l1_ratio": 1.0, "C": 0.05, "intercept_scaling": 10.0}, {"intercept_scaling": 0.5}, {"dual": True},
                 {"fit_intercept": False}):
        params = tight(solver="liblinear", **more)
        CASES.append(Case("LogisticRegression", params, data, LOOSE, before=SCALER, sk={**params, "tol": 1e-12, "max_iter": 1000000}))
CASES.append(Case("LogisticRegression", {}, "iris", {"n_iter_": Exact(), "coef_": 1e-3, "predict": Exact()}, not_in_f32=("n_iter_",)))
CASES.append(Case("LogisticRegression", {"solver": "newton-cholesky"}, "iris", {"n_iter_": Exact(), "coef_": 1e-6, "predict": Exact()}))

CASES += [
    Case("LogisticRegression", {"l1_ratio": 1.0}, "iris", error="LogisticRegression: solver is \"lbfgs\", must be saga or liblinear for the penalty l1"),
    Case("LogisticRegression", {"l1_ratio": 0.5, "solver": "liblinear"}, "iris", error="must be saga for the penalty elasticnet"),
    Case("LogisticRegression", {"solver": "liblinear"}, "iris", error="solver liblinear takes two classes, the target has 3"),
    Case("LogisticRegression", {"solver": "liblinear", "C": "inf"}, "two_blobs", error="must be another where there is no penalty"),
    Case("LogisticRegression", {"dual": True}, "two_blobs", error="dual is true, must be false for solver lbfgs"),
    Case("LogisticRegression", {"C": -1}, "iris", error="C is -1, must be a number above 0 or \"inf\""),
]

# By cross-validation. Scores of few rows have ties, so the grids are wide and minima tight.
FOLDS = {"C_": 1e-12, "Cs_": 1e-12, "scores_": 1e-8, "coefs_paths_": 2e-5, "coef_": 2e-5, "intercept_": 2e-5, "predict": Exact(), "predict_proba": 1e-5}
TIGHT_CV = {"tol": 1e-10, "max_iter": 10000, "use_legacy_attributes": False}
for data in ("iris", "two_blobs"):
    for params, weights in (({"Cs": 4}, None), ({"Cs": [0.01, 0.3, 5.0], "cv": 3, "fit_intercept": False}, None), ({"Cs": 4, "class_weight": "balanced"}, None),
                            ({"Cs": 4, "scoring": "neg_log_loss", "cv": 4}, "counts"), ({"Cs": 3, "refit": False}, None),
                            ({"Cs": 4, "scoring": "balanced_accuracy"}, "counts"), ({"Cs": 4, "solver": "newton-cholesky"}, None)):
        CASES.append(Case("LogisticRegressionCV", params | TIGHT_CV, data, FOLDS, before=SCALER, weights=weights, f32=None, sk=params | TIGHT_CV | NEWTON | {"use_legacy_attributes": False}))
for data in ("iris", "two_blobs"):   # without coefs_paths_: where all coefficients are 0, saga has not found the intercept after a million iterations
    params = {"Cs": [0.05, 1.0], "l1_ratios": [0.0, 0.5, 1.0], "solver": "saga", "cv": 3, "scoring": "neg_log_loss"}
    CASES.append(Case("LogisticRegressionCV", params | TIGHT_CV, data, {k: 1e-3 if isinstance(v, float) else v for k, v in FOLDS.items() if k != "coefs_paths_"} | {"l1_ratio_": 1e-12, "l1_ratios_": 1e-12},
                      before=SCALER, f32=None, sk=params | {"tol": 1e-13, "max_iter": 1000000, "use_legacy_attributes": False}))
CASES += [
    Case("LogisticRegressionCV", {"l1_ratios": [1.0]}, "iris", error="LogisticRegressionCV: solver is \"lbfgs\", must be saga or liblinear for the penalty l1"),
    Case("LogisticRegressionCV", {"penalty": "elasticnet", "solver": "saga"}, "iris", error="must be a list of numbers for the penalty elasticnet"),
    Case("LogisticRegressionCV", {"Cs": [1.0, -1.0]}, "iris", error="Cs"),
    Case("LogisticRegressionCV", {"cv": 60}, "iris", error="cv is 60, but no class has more than "),
]
