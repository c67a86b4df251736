"""Writes interactions_golden.json: shap_interaction_values of trees that Kedge grows as scikit-learn does. Run it beside this file."""

import json
from functools import partial

import numpy as np
import shap
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

DATA = {"diabetes": partial(load_diabetes, scaled=False), "iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
CLASSES = {c.__name__: c for c in (DecisionTreeClassifier, DecisionTreeRegressor, GradientBoostingClassifier, GradientBoostingRegressor)}
cases = []


def add(data, estimator, step, **params):
    X, y = DATA[data](return_X_y=True)
    model = CLASSES[estimator](**params).fit(X, y)
    rows = X[::step]
    explainer = shap.TreeExplainer(model)
    values = np.asarray(explainer.shap_interaction_values(rows))
    values = values[..., None] if values.ndim == 3 else values   # rows, columns, columns, outputs
    flat = np.moveaxis(values, 3, 1).reshape(len(rows), values.shape[3], -1)
    base = np.broadcast_to(np.ravel(explainer.expected_value)[None, :, None], (*flat.shape[:2], 1))
    cases.append({"name": f"{estimator}Of{data.title().replace('_', '')}", "rows": rows.ravel().tolist(), "interactions": np.concatenate([flat, base], axis=2).ravel().tolist(),
                  "spec": {"dataset": {"builtin": data}, "pipeline": [{"estimator": estimator, "params": params}], "task": {"fit": {}}}})


# Without two columns that cut a node equally well: which one is taken is drawn in scikit-learn.
add("diabetes", "DecisionTreeRegressor", 59, max_depth=3, random_state=0)
add("wine", "DecisionTreeClassifier", 59, max_depth=2, random_state=0)
add("diabetes", "GradientBoostingRegressor", 59, n_estimators=20, random_state=0)
add("breast_cancer", "GradientBoostingClassifier", 199, n_estimators=5, random_state=0)
print(json.dumps({"sklearn": sklearn.__version__, "shap": shap.__version__, "cases": cases}), file=open("interactions_golden.json", "w"))
print(len(cases), "cases of shap", shap.__version__)
