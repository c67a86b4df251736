"""Writes contributions_golden.json: what shap.TreeExplainer says of trees that Kedge grows as scikit-learn does. Run it beside this file."""

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


def add(data, estimator, **params):
    X, y = DATA[data](return_X_y=True)
    model = CLASSES[estimator](**params).fit(X, y)
    explainer = shap.TreeExplainer(model)
    rows = X[::29]
    values = np.asarray(explainer.shap_values(rows))
    values = values[:, :, None] if values.ndim == 2 else values   # rows, columns, outputs
    base = np.broadcast_to(np.ravel(explainer.expected_value), (len(rows), 1, values.shape[2]))
    all_of = np.concatenate([values, np.moveaxis(base, 0, 0)], axis=1)
    cases.append({"name": f"{estimator}Of{data.title().replace('_', '')}", "rows": rows.ravel().tolist(),
                  "contributions": np.moveaxis(all_of, 1, 2).ravel().tolist(),
                  "spec": {"dataset": {"builtin": data}, "pipeline": [{"estimator": estimator, "params": params}], "task": {"fit": {}}}})


# Without two columns that cut a node equally well: which one is taken is drawn in scikit-learn.
add("diabetes", "DecisionTreeRegressor", max_depth=3, random_state=0)
add("wine", "DecisionTreeClassifier", max_depth=2, random_state=0)
add("diabetes", "GradientBoostingRegressor", n_estimators=20, random_state=0)
add("breast_cancer", "GradientBoostingClassifier", n_estimators=5, random_state=0)
print(json.dumps({"sklearn": sklearn.__version__, "shap": shap.__version__, "cases": cases}), file=open("contributions_golden.json", "w"))
print(len(cases), "cases of shap", shap.__version__)
