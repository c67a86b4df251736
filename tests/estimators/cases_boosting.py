"""Histogram gradient boosting: the same trees as scikit-learn's, so that all predictions agree to what float32 gradients leave. Left out, as gains that
are equal but for rounding decide there: small leaves on digits and for a quantile, many trees of bounded leaves. In float32 the values of some data are others, and so are the
trees."""
from harness import Case, Exact

SHAPE = {"n_iter_": Exact(), "n_trees_per_iteration_": Exact(), "do_early_stopping_": Exact()}
CLASSIFIER = {"predict_proba": 1e-5, "decision_function": 1e-5, "classes_": Exact(), **SHAPE}
REGRESSOR = {"predict": 1e-5, **SHAPE}
SCORES = {"train_score_": 1e-5, "validation_score_": 1e-5}


def case(estimator, params, data, checks, weights=None):
    same_in_f32 = data not in ("iris", "wine", "diabetes") and "monotonic_cst" not in params
    return Case(estimator, {"random_state": 0, **params}, data, checks, f32=1e-4 if same_in_f32 else None, weights=weights)


CASES = []
for params in ({}, {"max_iter": 5, "max_leaf_nodes": 5}, {"max_depth": 3, "learning_rate": 0.3}, {"l2_regularization": 2.0, "min_samples_leaf": 5, "max_iter": 20},
               {"max_bins": 16}, {"max_leaf_nodes": None, "max_depth": 4, "max_iter": 30}, {"class_weight": "balanced", "max_iter": 30}):
    for data in "iris wine breast_cancer digits two_blobs ties with_missing".split():
        if (data, params.get("min_samples_leaf")) != ("digits", 5):
            CASES.append(case("HistGradientBoostingClassifier", params, data, CLASSIFIER))
for params in ({"early_stopping": True, "max_iter": 50}, {"early_stopping": True, "validation_fraction": None, "n_iter_no_change": 3, "tol": 1e-3},
               {"early_stopping": True, "validation_fraction": 30, "max_iter": 20}):
    for data in "wine breast_cancer".split():
        CASES.append(case("HistGradientBoostingClassifier", params, data, {**CLASSIFIER, **SCORES}))
for loss in ({}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.7}, {"loss": "poisson"}, {"loss": "gamma"}):
    for params in ({}, {"max_iter": 10, "max_leaf_nodes": 8, "learning_rate": 0.3}, {"min_samples_leaf": 5, "l2_regularization": 1.0, "max_iter": 30}):
        if (loss.get("loss"), params.get("min_samples_leaf")) != ("quantile", 5):
            CASES.append(case("HistGradientBoostingRegressor", {**loss, **params}, "diabetes", REGRESSOR))
for data in "regression badly_scaled rank_deficient".split():
    for params in ({}, {"monotonic_cst": "..."}, {"interaction_cst": "no_interactions"}, {"interaction_cst": [[0, 1, 2], [2, 3]]}):
        if "monotonic_cst" in params:
            params = {"monotonic_cst": [1, -1, 0, 0, 1] + [0] * (2 if data == "rank_deficient" else 3), "min_samples_leaf": 5, "max_iter": 6}
        CASES.append(case("HistGradientBoostingRegressor", params, data, REGRESSOR))
for loss in ("squared_error", "absolute_error", "poisson"):
    CASES.append(case("HistGradientBoostingRegressor", {"loss": loss, "max_iter": 30}, "diabetes", REGRESSOR, weights="counts"))
CASES.append(case("HistGradientBoostingClassifier", {"max_iter": 30}, "wine", CLASSIFIER, weights="counts"))
CASES.append(case("HistGradientBoostingClassifier", {"categorical_features": [0, 2], "max_iter": 20}, "ties", CLASSIFIER))
CASES.append(case("HistGradientBoostingClassifier", {"categorical_features": [0, 1, 2], "max_iter": 20, "min_samples_leaf": 5}, "ties", CLASSIFIER))
CASES.append(case("HistGradientBoostingRegressor", {"early_stopping": True}, "diabetes", {**REGRESSOR, **SCORES}))
CASES += [Case("HistGradientBoostingRegressor", {"loss": loss}, "regression", {"predict": 1e-9}, error=error)
          for loss, error in (("poisson", "negative"), ("gamma", "up to 0"))]
