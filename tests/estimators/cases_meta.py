"""Predictors made of predictors. Their parts are such as give scikit-learn's answers to the last digits, so that what is compared is what
the outer estimator does: folds, votes, means, and the random numbers by which rows and columns are drawn."""
from harness import Case, Exact, Spread


def step(estimator, **params):
    return {"estimator": estimator, "params": params}


def named(**steps):
    return [{"name": name, "estimator": made} for name, made in steps.items()]


BAYES, NEIGHBOURS = step("GaussianNB"), step("KNeighborsClassifier", n_neighbors=5)
SCALED = [step("StandardScaler"), step("KNeighborsClassifier", n_neighbors=7)]
LOGISTIC = [step("StandardScaler"), step("LogisticRegression", C=0.5, tol=1e-10, max_iter=1000)]
PLAIN = step("LogisticRegression", C=0.5, tol=1e-10, max_iter=1000)
RIDGE, NEAREST = step("Ridge", alpha=2.0), step("KNeighborsRegressor", n_neighbors=4)
LABELS, SHARES = {"predict": Exact(), "classes_": Exact()}, {"predict": Exact(), "predict_proba": 1e-9, "classes_": Exact()}
VALUES = {"predict": 1e-9}

CASES = [Case("VotingClassifier", {"estimators": named(nb=BAYES, knn=SCALED, lr=LOGISTIC), **params}, data, checks, f32=None)
         for data in ("iris", "wine")
         for params, checks in (({}, LABELS), ({"weights": [1, 2, 0.5]}, LABELS), ({"voting": "soft"}, {**SHARES, "predict_proba": 1e-6}),
                                ({"voting": "soft", "weights": [3, 1, 2]}, {**SHARES, "predict_proba": 1e-6}))]
CASES += [
    Case("VotingClassifier", {"estimators": named(nb=BAYES, out="drop", knn=NEIGHBOURS), "weights": [1, 9, 2], "voting": "soft"}, "iris", SHARES, f32=1e-5),
    Case("VotingClassifier", {"estimators": named(nb=BAYES, lr=PLAIN), "voting": "soft"}, "two_blobs", {"predict": Exact(), "predict_proba": 1e-6},
         f32=None, weights="counts"),
    Case("VotingClassifier", {"estimators": []}, "iris", error="has no estimator"),
    Case("VotingRegressor", {"estimators": named(ridge=RIDGE, knn=NEAREST)}, "diabetes", VALUES, f32=1e-4),
    Case("VotingRegressor", {"estimators": named(ridge=RIDGE, knn=NEAREST), "weights": [1, 3]}, "regression", VALUES, f32=1e-4),
]

CASES += [Case("StackingClassifier", {"estimators": named(nb=BAYES, knn=SCALED), "final_estimator": LOGISTIC, **params}, data,
               {"predict": Exact(), "predict_proba": 1e-5, "classes_": Exact(), "stack_method_": Exact()}, f32=None)
          for data in ("iris", "wine", "two_blobs") for params in ({}, {"cv": 3, "stack_method": "predict"}, {"passthrough": True})]
CASES += [
    Case("StackingClassifier", {"estimators": named(lr=LOGISTIC), "final_estimator": BAYES, "stack_method": "decision_function"}, "iris",
         {"predict": Exact(), "predict_proba": 1e-3}, f32=None),
    Case("StackingClassifier", {"estimators": named(nb=BAYES), "cv": 100}, "iris", error="no class has more than"),
    Case("StackingRegressor", {"estimators": named(ridge=RIDGE, knn=NEAREST)}, "diabetes", VALUES, f32=1e-3),
    Case("StackingRegressor", {"estimators": named(ridge=RIDGE, knn=NEAREST), "final_estimator": RIDGE, "passthrough": True, "cv": 4}, "regression",
         VALUES, f32=1e-3),
]

DRAWN = {"estimators_features_": Exact()}
CASES += [Case("BaggingClassifier", {"estimator": NEIGHBOURS, "random_state": 3, **params}, data, {**SHARES, **DRAWN, **checks}, f32=None)
          for data in ("breast_cancer", "wine")
          for params, checks in (({}, {}), ({"max_samples": 0.5, "max_features": 0.5}, {}), ({"bootstrap": False, "max_samples": 40}, {}),
                                 ({"bootstrap_features": True, "n_estimators": 4}, {}),
                                 ({"oob_score": True, "n_estimators": 30}, {"oob_score_": 1e-12, "oob_decision_function_": 1e-9}))]
CASES += [
    Case("BaggingClassifier", {"estimator": BAYES, "random_state": 1, "max_features": 3}, "iris", {**SHARES, **DRAWN, "predict_proba": 1e-6}, f32=None),
    Case("BaggingClassifier", {"n_estimators": 40, "oob_score": True, "random_state": 0}, "wine", {"oob_score_": Spread(1.0, 6)}, not_in_f32=("oob_score_",)),
    Case("BaggingClassifier", {"bootstrap": False, "max_samples": 400}, "iris", error="to draw from without replacement"),
    Case("BaggingRegressor", {"estimator": NEAREST, "random_state": 5, "oob_score": True, "n_estimators": 30}, "diabetes",
         {**VALUES, **DRAWN, "oob_score_": 1e-9, "oob_prediction_": 1e-9}, f32=1e-4),
    Case("BaggingRegressor", {"estimator": RIDGE, "random_state": 5, "max_features": 0.6}, "diabetes", {**VALUES, **DRAWN}, f32=1e-3),
]

# Seeds go to the steps of a pipeline in the order of their parameters' names, in which perceptron is before rbfsampler.
SAMPLED = [step("StandardScaler"), step("RBFSampler", n_components=30, gamma=0.05)]
CASES += [
    Case("BaggingClassifier", {"estimator": [*SAMPLED, step("Perceptron")], "random_state": 3}, "wine", {**SHARES, **DRAWN}, f32=None),
    Case("BaggingRegressor", {"estimator": [*SAMPLED, RIDGE], "random_state": 4, "n_estimators": 5}, "diabetes", {**VALUES, **DRAWN}, f32=None),
    Case("AdaBoostRegressor", {"estimator": [*SAMPLED, RIDGE], "random_state": 4, "n_estimators": 5}, "diabetes", VALUES, f32=None),
]

CASES += [Case("OneVsRestClassifier", {"estimator": made}, data, checks, f32=None) for data in ("iris", "wine", "two_blobs") for made, checks in (
    (BAYES, SHARES), (SCALED, SHARES), (LOGISTIC, {"predict": Exact(), "predict_proba": 1e-5, "decision_function": 1e-5, "n_classes_": Exact()}))]
CASES += [Case("OneVsOneClassifier", {"estimator": made}, data, {"predict": Exact(), "decision_function": tolerance}, f32=None)
          for data in ("iris", "wine", "two_blobs") for made, tolerance in ((BAYES, 1e-7), (SCALED, 1e-9), (LOGISTIC, 1e-4))]
CASES += [Case("CalibratedClassifierCV", {"estimator": made, **params}, data, {"predict": Exact(), "predict_proba": tolerance, "classes_": Exact()}, f32=None)
          for data in ("iris", "breast_cancer") for made in (BAYES, SCALED)
          for params, tolerance in (({}, 1e-5), ({"method": "isotonic"}, 1e-7), ({"cv": 3, "ensemble": False}, 1e-5))]
# scikit-learn's minimum is as near as a bracket by values of the loss comes to it; where a fold is told apart without error (some of the weighted ones), the loss is flat, and it ends anywhere.
CASES += [Case("CalibratedClassifierCV", {"estimator": made, "method": "temperature", **params}, data, {"predict": Exact(), "predict_proba": 1e-5, "classes_": Exact()}, f32=None,
               weights=weights)
          for data, made, weights in (*((data, made, None) for data in ("iris", "breast_cancer", "wine") for made in (BAYES, SCALED, LOGISTIC)), ("breast_cancer", BAYES, "counts"))
          for params in ({}, {"cv": 3, "ensemble": False})]
CASES += [Case("CalibratedClassifierCV", {"estimator": BAYES, "method": "platt"}, "iris", error="method is \"platt\"")]
CASES += [Case("CalibratedClassifierCV", {"estimator": BAYES}, "breast_cancer", {"predict": Exact(), "predict_proba": 1e-5}, f32=None, weights="counts"),
          Case("CalibratedClassifierCV", {"estimator": BAYES, "cv": 80}, "iris", error="no class has more than"),
          Case("CalibratedClassifierCV", {"estimator": BAYES, "cv": 40}, "wine", error="has fewer rows")]

TUNED = {"predict": Exact(), "best_threshold_": 1e-7, "best_score_": 1e-9, "classes_": Exact()}
CASES += [Case("TunedThresholdClassifierCV", {"estimator": made, **params}, "breast_cancer", TUNED, f32=None) for made in (BAYES, LOGISTIC)
          for params in ({}, {"scoring": "accuracy", "thresholds": 37}, {"scoring": "f1", "cv": 3}, {"scoring": "matthews_corrcoef", "thresholds": [0.1, 0.2, 0.5, 0.7, 0.9]})]
CASES += [Case("TunedThresholdClassifierCV", {"estimator": LOGISTIC, "response_method": "decision_function", "scoring": scoring}, "breast_cancer",
               {**TUNED, "best_threshold_": 1e-4, "best_score_": 1e-6}, f32=None) for scoring in ("jaccard", "balanced_accuracy")]
CASES += [Case("FixedThresholdClassifier", {"estimator": made, **params}, "breast_cancer", {"predict": Exact(), "predict_proba": 1e-6, "classes_": Exact()}, f32=None)
          for made in (BAYES, LOGISTIC) for params in ({}, {"threshold": 0.2}, {"threshold": 0.9})]
CASES += [Case("FixedThresholdClassifier", {"estimator": LOGISTIC, "response_method": "decision_function", "threshold": -1.5}, "breast_cancer", {"predict": Exact()}, f32=None),
          Case("TunedThresholdClassifierCV", {"thresholds": [0.5, 0.2]}, "breast_cancer", error="does not ascend"),
          Case("TunedThresholdClassifierCV", {"scoring": "roc_auc"}, "breast_cancer", error="scoring"),
          Case("FixedThresholdClassifier", {"estimator": BAYES, "pos_label": "none"}, "breast_cancer", error="is not a class"),
          Case("FixedThresholdClassifier", {"estimator": BAYES, "response_method": "decision_function"}, "breast_cancer", error="is not what the estimator gives")]

CHOSEN = {"transform": 1e-15, "threshold_": 1e-6}
CASES += [Case("SelectFromModel", params, data, CHOSEN, f32=None) for params, data in (
    ({"estimator": RIDGE}, "diabetes"),
    ({"estimator": RIDGE, "threshold": "median"}, "diabetes"),
    ({"estimator": RIDGE, "threshold": "1.2*mean", "max_features": 3}, "diabetes"),
    ({"estimator": step("Lasso", alpha=0.5, tol=1e-10)}, "diabetes"),
    ({"estimator": PLAIN, "norm_order": 2}, "iris"),
    ({"estimator": PLAIN, "norm_order": 1}, "iris"),
    ({"estimator": RIDGE, "threshold": 10.0, "importance_getter": "coef_"}, "diabetes"))]
CASES += [Case("SelectFromModel", {"estimator": BAYES}, "iris", error="has no coef_ or feature_importances_"),
          Case("SelectFromModel", {"estimator": RIDGE, "threshold": 1e9}, "diabetes", error="no column has an importance")]
RANKED = {"transform": 1e-15, "ranking_": Exact(), "support_": Exact(), "n_features_": Exact()}
CASES += [Case("RFE", params, data, RANKED, f32=None) for params, data in (
    ({"estimator": RIDGE}, "diabetes"),
    ({"estimator": step("LinearRegression"), "n_features_to_select": 3, "step": 2}, "diabetes"),
    ({"estimator": RIDGE, "n_features_to_select": 0.3, "step": 0.2}, "regression"),
    ({"estimator": PLAIN, "n_features_to_select": 2}, "iris"))]

BOOSTED = {"predict": Exact(), "predict_proba": 1e-7, "decision_function": 1e-7, "estimator_weights_": 1e-7, "estimator_errors_": 1e-7, "classes_": Exact(), "n_classes_": Exact()}
CASES += [Case("AdaBoostClassifier", {"random_state": 3, **params}, data, BOOSTED, weights=weights, f32=None)
          for data in ("two_blobs", "wine")
          for params, weights in (({"estimator": BAYES, "n_estimators": 8}, None), ({"estimator": BAYES, "n_estimators": 5, "learning_rate": 0.3}, "counts"))]
CASES += [Case("AdaBoostClassifier", {"random_state": 3, "n_estimators": 12, **params}, data, {**BOOSTED, "feature_importances_": 1e-7}, weights=weights, f32=None, split=data != "blobs")
          for data in ("two_blobs", "blobs") for params, weights in (({}, None), ({"learning_rate": 0.5}, "counts"))]
CASES += [Case("AdaBoostClassifier", {"estimator": step("KNeighborsClassifier")}, "iris", error="must be one that takes sample weights"),
          Case("AdaBoostClassifier", {"learning_rate": 0.0}, "iris", error="learning_rate")]
MEDIANS = {"predict": 1e-9, "estimator_weights_": 1e-9, "estimator_errors_": 1e-9}
CASES += [Case("AdaBoostRegressor", {"estimator": made, "random_state": 5, "n_estimators": 10, **params}, data, MEDIANS, weights=weights, f32=1e-3)
          for data, made, params, weights in (("regression", RIDGE, {}, None), ("diabetes", RIDGE, {"loss": "square", "learning_rate": 0.5}, None),
                                              ("outliers", RIDGE, {"loss": "exponential"}, "counts"), ("regression", NEAREST, {"learning_rate": 2.0}, None))]
CASES += [Case("AdaBoostRegressor", {"estimator": step("DecisionTreeRegressor", max_depth=2, min_samples_leaf=8), "random_state": 2, "n_estimators": 6}, "regression", {**MEDIANS, "feature_importances_": 1e-9}, f32=None)]

FOUND = {"transform": 1e-15, "support_": Exact(), "ranking_": Exact(), "n_features_": Exact()}
CASES += [Case("RFECV", params, data, FOUND, f32=None) for params, data in (
    ({"estimator": RIDGE}, "diabetes"), ({"estimator": step("LinearRegression"), "step": 2, "cv": 3, "min_features_to_select": 3}, "regression"),
    ({"estimator": PLAIN, "step": 0.3}, "wine"), ({"estimator": RIDGE, "scoring": "neg_mean_absolute_error"}, "outliers"))]
TAKEN = {"transform": 1e-15, "support_": Exact(), "n_features_to_select_": Exact()}
CASES += [Case("SequentialFeatureSelector", params, data, TAKEN, f32=None) for params, data in (
    ({"estimator": RIDGE}, "diabetes"), ({"estimator": BAYES, "n_features_to_select": 3, "cv": 3}, "wine"),
    ({"estimator": RIDGE, "direction": "backward", "n_features_to_select": 0.7, "scoring": "neg_mean_squared_error"}, "regression"),
    ({"estimator": RIDGE, "tol": 0.01}, "diabetes"), ({"estimator": BAYES, "direction": "backward", "n_features_to_select": 2}, "iris"))]
CASES += [Case("SequentialFeatureSelector", {"estimator": RIDGE, "n_features_to_select": 10}, "diabetes", error="must be less than"),
          Case("SequentialFeatureSelector", {"estimator": RIDGE, "scoring": "accuracy"}, "diabetes", error="scoring"),
          Case("RFECV", {"estimator": BAYES}, "iris", error="has no coef_")]

LOGGED = {"func": "log1p", "inverse_func": "expm1"}
CASES += [Case("TransformedTargetRegressor", params, data, VALUES, weights=weights, f32=1e-3) for data, params, weights in (
    ("amounts", {"regressor": RIDGE, **LOGGED}, "counts"), ("diabetes", LOGGED, None), ("regression", {}, None),
    ("rates", {"regressor": [step("StandardScaler"), step("Ridge")], "func": "sqrt", "inverse_func": "square"}, None))]
CASES += [Case("TransformedTargetRegressor", {"func": "log", "inverse_func": "exp"}, "regression", error="whose log is not finite"),
          Case("TransformedTargetRegressor", {"func": "log"}, "amounts", error="must be given where func is")]
