"""Linear support vector machines: LIBLINEAR's objective, with its tol as tight as it goes."""
from harness import Case, Exact

LINE = {"coef_": 1e-5, "intercept_": 1e-5, "decision_function": 1e-5, "predict": Exact(0.02)}
TIGHT = {"tol": 1e-10, "max_iter": 1000000, "random_state": 0}
SCALED = [("StandardScaler", {})]

CASES = [Case("LinearSVC", params, data, LINE, sk=params | TIGHT | {"dual": False}, weights=weights, before=SCALED)
         for data in ("iris", "two_blobs", "wine", "breast_cancer")
         for params, weights in (({}, None), ({"C": 0.1, "class_weight": "balanced"}, None), ({"fit_intercept": False}, None),
                                 ({"intercept_scaling": 10.0}, "counts"))]
CASES += [Case("LinearSVC", params, data, LINE | {"coef_": 1e-4, "intercept_": 1e-4, "decision_function": 1e-4}, sk=params | TIGHT, before=SCALED)
          for data in ("two_blobs", "iris")
          for params in ({"loss": "hinge", "C": 0.1}, {"loss": "hinge", "C": 0.5, "fit_intercept": False})]
CASES += [Case("LinearSVC", params, data, LINE | {"coef_": 1e-4, "intercept_": 1e-4, "decision_function": 1e-4}, sk=params | TIGHT | {"dual": False}, before=SCALED)
          for data in ("two_blobs", "breast_cancer") for params in ({"penalty": "l1", "C": 0.1},)]
CASES += [Case("LinearSVC", {"penalty": "l1", "loss": "hinge"}, "iris", error="loss"),
          Case("LinearSVC", {"loss": "hinge", "dual": False}, "iris", error="dual"),
          Case("LinearSVC", {"C": 0.0}, "iris", error="C")]

VALUES = {"coef_": 1e-4, "intercept_": 1e-4, "predict": 1e-4}
CASES += [Case("LinearSVR", params, data, VALUES, sk=params | TIGHT | more, weights=weights)
          for data in ("regression", "outliers")
          for params, more, weights in (({"C": 0.1}, {}, None), ({"epsilon": 0.5, "C": 0.1}, {}, "counts"),
                                        ({"loss": "squared_epsilon_insensitive", "epsilon": 0.1}, {"dual": False}, None),
                                        ({"loss": "squared_epsilon_insensitive", "fit_intercept": False}, {"dual": False}, "counts"))]
CASES += [Case("LinearSVR", {"dual": False}, "regression", error="dual")]
