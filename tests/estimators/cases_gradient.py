"""Exact gradient boosting: the same trees, rows and columns for the same seed, and so the same curves."""
from harness import Case, Exact

SEED = {"random_state": 3}
CURVE = {"train_score_": 1e-8, "feature_importances_": 1e-7, "n_estimators_": Exact(), "max_features_": Exact()}
CLASSIFIER = {"predict": Exact(), "predict_proba": 1e-7, "decision_function": 1e-7, "n_trees_per_iteration_": Exact()} | CURVE
REGRESSOR = {"predict": 1e-7} | CURVE
DRAWN = {"oob_scores_": 1e-8, "oob_improvement_": 1e-7, "oob_score_": 1e-8}


def case(estimator, params, data, checks, **more):
    more = {"split": False} | more if data == "blobs" else more   # whose classes follow the rows
    return Case(estimator, {"n_estimators": 20} | SEED | params, data, checks | (DRAWN if params.get("subsample") else {}), f32=1e-6, **more)


CASES = [case("GradientBoostingClassifier", params, data, CLASSIFIER, weights=weights)
         for data in ("two_blobs", "blobs")
         for params, weights in (({}, None), ({"max_depth": 2, "learning_rate": 0.5, "subsample": 0.6, "n_estimators": 4}, "counts"), ({"max_features": "sqrt", "min_samples_leaf": 4}, None),
                                 ({"n_iter_no_change": 3, "n_estimators": 40, "learning_rate": 0.5, "validation_fraction": 0.25, "max_depth": 2}, None),
                                 ({"max_leaf_nodes": 5, "max_depth": None, "init": "zero", "min_weight_fraction_leaf": 0.05}, "counts"))]
CASES += [case("GradientBoostingClassifier", {"loss": "exponential", "subsample": 0.5, "max_depth": 2}, "two_blobs", CLASSIFIER),
          case("GradientBoostingClassifier", {"loss": "exponential", "min_samples_split": 0.2, "max_features": 0.5}, "two_blobs", CLASSIFIER, weights="counts")]
CASES += [case("GradientBoostingRegressor", params, "outliers", REGRESSOR, weights=weights)
          for loss in ("squared_error", "absolute_error", "huber", "quantile")
          for params, weights in (({"loss": loss, "max_depth": 2, "min_samples_leaf": 5}, None), ({"loss": loss, "alpha": 0.7, "subsample": 0.7, "max_depth": 2, "min_samples_leaf": 5}, "counts"))]
CASES += [case("GradientBoostingRegressor", params, "regression", REGRESSOR)
          for params in ({"max_features": 3, "subsample": 0.5, "max_depth": 2, "min_samples_leaf": 3}, {"min_impurity_decrease": 0.05}, {"ccp_alpha": 0.05, "max_depth": 4, "min_samples_leaf": 4},
                         {"max_leaf_nodes": 6, "min_samples_leaf": 0.05}, {"n_iter_no_change": 2, "n_estimators": 60, "learning_rate": 0.6, "max_depth": 2, "min_samples_leaf": 5})]
CASES += [Case("GradientBoostingClassifier", {"loss": "exponential"}, "iris", error="exponential"),
          Case("GradientBoostingRegressor", {"learning_rate": 1e100}, "regression", error="lower learning_rate, or scale the target"),
          Case("GradientBoostingRegressor", {"alpha": 1.0}, "regression", error="alpha"),
          Case("GradientBoostingRegressor", {"subsample": 0.0}, "regression", error="subsample")]
