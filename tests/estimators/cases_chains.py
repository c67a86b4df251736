"""Chains over several target columns. The estimators give scikit-learn's answers to the last digits, so that what is compared is what a link reads."""
from cases_meta import BAYES, LOGISTIC, NEAREST, NEIGHBOURS, RIDGE, SCALED, step
from harness import Case, Exact

VALUES = {"predict": 1e-9, "order_": Exact()}
LABELS = {"predict": Exact(), "classes_": Exact(), "order_": Exact(), "chain_method_": Exact()}
SHARES = {**LABELS, "predict_proba": 1e-6}
TREE = step("DecisionTreeRegressor", random_state=3, max_depth=4)

CASES = [Case("RegressorChain", {"estimator": made, **params}, "several_values", VALUES, f32=1e-3)
         for made in (RIDGE, NEAREST, [step("StandardScaler"), step("Ridge", alpha=0.1)])
         for params in ({}, {"order": [2, 0, 1]}, {"order": "random", "random_state": 4, "cv": 3}, {"cv": 5})]
CASES += [Case("RegressorChain", {"estimator": TREE}, "several_values", {"order_": Exact()}, f32=None),
          Case("RegressorChain", {"estimator": RIDGE}, "several_values", VALUES, f32=1e-3, weights="counts"),
          Case("RegressorChain", {"estimator": RIDGE, "cv": 4}, "several_values", VALUES, f32=1e-3, weights="counts"),
          Case("RegressorChain", {"estimator": RIDGE, "order": [1, 2, 0]}, "several_values", VALUES, f32=1e-3, before=[("StandardScaler", {})]),
          Case("RegressorChain", {"estimator": RIDGE, "order": [0, 1, 1]}, "several_values", error="order is [0,1,1], must have each of 0 to 2 once"),
          Case("RegressorChain", {"estimator": RIDGE, "order": [0, 1]}, "several_values", error="order has 2 positions, there are 3 target columns"),
          Case("RegressorChain", {"estimator": RIDGE, "cv": 99}, "several_values", error="target '0': cv is 99, but there are only 80 rows"),
          Case("RegressorChain", {"estimator": BAYES}, "several_values", error="is a classifier, must be a regressor"),
          Case("RegressorChain", {"estimator": RIDGE}, "regression", error="there are no target columns")]
CASES += [Case("ClassifierChain", {"estimator": made, **params}, "several_classes", LABELS, f32=None)
          for made in (BAYES, NEIGHBOURS, SCALED, LOGISTIC)
          for params in ({}, {"order": [1, 2, 0]}, {"order": "random", "random_state": 7}, {"cv": 3, "order": [2, 1, 0]})]
CASES += [Case("ClassifierChain", {"estimator": made, **params}, "several_labels", SHARES, f32=None)
          for made in (BAYES, SCALED, LOGISTIC)
          for params in ({}, {"cv": 4}, {"chain_method": "predict_proba"}, {"chain_method": "predict_proba", "cv": 3, "order": [2, 0, 1]})]
CASES += [Case("ClassifierChain", {"estimator": LOGISTIC, "chain_method": method, **params}, "several_labels", SHARES, f32=None)
          for method in ("predict_log_proba", "decision_function", ["decision_function", "predict"]) for params in ({}, {"cv": 5, "order": [1, 0, 2]})]
CASES += [Case("ClassifierChain", {"estimator": BAYES, "chain_method": ["decision_function", "predict_log_proba"]}, "several_labels", SHARES, f32=None),
          Case("ClassifierChain", {"estimator": BAYES, "chain_method": "decision_function"}, "several_labels",
               error="chain_method is \"decision_function\", but GaussianNB has none"),
          Case("ClassifierChain", {"estimator": BAYES, "chain_method": "predict_proba"}, "several_classes",
               error="chain_method is predict_proba, which passes on one of two classes; target '0' has 3"),
          Case("ClassifierChain", {"estimator": NEIGHBOURS, "chain_method": "predict_log_proba", "cv": 3}, "several_labels",
               error="target '0': predict_log_proba passes on -inf in row"),
          Case("ClassifierChain", {"estimator": BAYES, "cv": 80}, "several_classes", error="target '0': cv is 80, but no class has more than"),
          Case("ClassifierChain", {"estimator": step("ClassifierChain")}, "several_classes", error="of several targets, must be a classifier")]
