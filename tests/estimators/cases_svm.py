"""Support vector machines, and ridge regression with kernels."""
from harness import Case, Exact

SCALED = [("StandardScaler", {})]
TIGHT = {"tol": 1e-7}   # so that both end at the optimum; kernel values are floats on both sides
KERNELS = ({}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "sigmoid", "gamma": 0.02}, {"gamma": "auto", "C": 10.0}, {"gamma": 0.5, "C": 0.3})
SHAPE = {"shape_fit_": Exact(), "fit_status_": Exact()}
CLASSES = {"predict": Exact(), "decision_function": 1e-5, "intercept_": 1e-5, "classes_": Exact(), "class_weight_": 1e-14} | SHAPE
UNIQUE = {"support_": Exact(), "n_support_": Exact(), "dual_coef_": 1e-5, "support_vectors_": 1e-14}   # where the kernel is positive definite
F32 = ("support_", "n_support_", "dual_coef_")   # rows at the margin by rounding


def classify(estimator, params, data, **more):
    positive = params.get("kernel", "rbf") == "rbf"
    checks = CLASSES | (UNIQUE if positive and data != "iris" else {}) | ({"coef_": 1e-5} if params.get("kernel") == "linear" else {})   # iris has equal rows
    if "weights" in more:   # rows without weight are not counted in scikit-learn's support_
        checks.pop("support_", None)
    return Case(estimator, params | TIGHT, data, checks, not_in_f32=F32, before=SCALED, **more)


CASES = [classify("SVC", params, data) for params in KERNELS for data in ("iris", "wine", "two_blobs")]
CASES += [classify("SVC", params, "breast_cancer") for params in ({}, {"kernel": "linear", "C": 0.1})]
CASES += [classify("SVC", {"gamma": 0.001}, "digits"), classify("SVC", {}, "wine", weights="counts"), classify("SVC", {"kernel": "linear"}, "two_blobs", weights="counts")]
CASES += [classify("SVC", {"class_weight": "balanced"}, data, weights="counts") for data in ("iris", "two_blobs")]
CASES += [classify("SVC", {"class_weight": {"0": 2.0, "1": 0.5}}, "two_blobs", sk={"class_weight": {0: 2.0, 1: 0.5}} | TIGHT)]
CASES += [Case("SVC", {"probability": True, "random_state": 0} | more | TIGHT, data, {"predict_proba": 1e-4, "predict": Exact(), "probA_": 1e-4, "probB_": 1e-4}, before=SCALED, f32=2e-2)
          for data in ("iris", "two_blobs", "wine") for more in ({}, {"kernel": "linear"})]
CASES += [Case("SVC", {"break_ties": True} | TIGHT, "wine", {"predict": Exact(), "decision_function": 1e-5}, before=SCALED),
          Case("SVC", {"decision_function_shape": "ovo"} | TIGHT, "wine", {"predict": Exact(), "dual_coef_": 1e-5}, not_in_f32=F32, before=SCALED),
          Case("SVC", {"shrinking": False, "cache_size": 0.01} | TIGHT, "wine", {"predict": Exact(), "decision_function": 1e-5}, before=SCALED),
          Case("SVC", {}, "iris", {"predict": Exact(), "decision_function": 5e-3}, note="default tol"),
          Case("SVC", {"max_iter": 2}, "iris", {"fit_status_": Exact()}),
          Case("SVC", {"C": 0.0}, "iris", error="C is 0"), Case("SVC", {"kernel": "precomputed"}, "iris", error="kernel"),
          Case("SVC", {"break_ties": True, "decision_function_shape": "ovo"}, "iris", error="break_ties")]

CASES += [classify("NuSVC", params, data) for data in ("iris", "two_blobs") for params in ({}, {"nu": 0.2}, {"nu": 0.3, "kernel": "linear"})
          if data == "iris" or "kernel" not in params]   # on which LIBSVM does not end
CASES += [classify("NuSVC", {"nu": 0.3}, "wine", weights="counts"), classify("NuSVC", {"nu": 0.3, "gamma": 0.5}, "breast_cancer"),
          Case("NuSVC", {"probability": True, "random_state": 1, "nu": 0.4} | TIGHT, "two_blobs", {"predict_proba": 1e-4}, f32=2e-2),
          Case("NuSVC", {"nu": 0.9}, "breast_cancer", error="nu is 0.9")]

LINE = {"predict": 1e-5, "intercept_": 1e-4} | SHAPE


def regress(estimator, params, data, **more):
    positive = params.get("kernel", "rbf") == "rbf"
    checks = LINE | ({"dual_coef_": 1e-4, "support_": Exact(), "n_support_": Exact()} if positive else {"coef_": 1e-4} if params["kernel"] == "linear" else {})
    if "weights" in more:   # as above
        checks.pop("support_", None)
    return Case(estimator, params | TIGHT, data, checks, not_in_f32=F32, before=SCALED, **more)


FITS = ({}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"C": 10.0, "gamma": 0.1})
CASES += [regress("SVR", params, data) for params in (*FITS, {"epsilon": 0.5}, {"epsilon": 0.0, "C": 0.5}) for data in ("regression", "diabetes", "wide")]
CASES += [regress("SVR", {}, "regression", weights="counts")]
CASES += [regress("NuSVR", params, data) for params in (*FITS, {"nu": 0.2}, {"nu": 0.9, "C": 0.5}) for data in ("regression", "wide")
          if data != "wide" or params != {"nu": 0.2}]   # one sign has no free multiplier: many intercepts are as good
CASES += [regress("NuSVR", {}, "regression", weights="counts"), Case("NuSVR", {"nu": 0.0}, "regression", error="nu is 0")]

CASES += [Case("OneClassSVM", params | TIGHT, "regression", {"predict": Exact(0.03), "offset_": 1e-5, "intercept_": 1e-5, **({} if params.get("kernel") else {"dual_coef_": 1e-4})} | SHAPE,
               not_in_f32=F32) for params in ({}, {"nu": 0.1}, {"nu": 0.3, "gamma": 0.05}, {"kernel": "poly", "degree": 2, "nu": 0.2})]   # with sigmoid, the dual is not convex
CASES += [Case("OneClassSVM", {"nu": 0.2} | TIGHT, "regression", {"predict": Exact(0.03), "offset_": 1e-5}, weights="counts")]

CASES += [Case("KernelRidge", params, data, {"predict": 1e-9, "dual_coef_": 1e-8}, before=SCALED, f32=5e-3, weights=weights, not_in_f32=("dual_coef_",))
          for data in ("regression", "diabetes", "wide")
          for params, weights in (({}, None), ({"kernel": "rbf", "alpha": 0.1}, None), ({"kernel": "polynomial", "degree": 2, "gamma": 0.1, "alpha": 0.5}, None),
                                  ({"kernel": "laplacian", "gamma": 0.2}, None), ({"kernel": "rbf"}, "counts"), ({"kernel": "cosine"}, None), ({"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0, "alpha": 2.0}, None))]
CASES += [Case("KernelRidge", {"alpha": [0.1, 1.0]}, "regression", error="alpha")]
