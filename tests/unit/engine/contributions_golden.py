"""Writes contributions_golden.json: what shap says of trees and lines that Kedge fits as scikit-learn does. Run it beside this file."""

import json
from functools import partial

import numpy as np
import shap
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

DATA = {"diabetes": partial(load_diabetes, scaled=False), "iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
CLASSES = {c.__name__: c for c in (DecisionTreeClassifier, DecisionTreeRegressor, GradientBoostingClassifier, GradientBoostingRegressor, LinearRegression)}
cases = []


def add(data, estimator, background=None, **params):
    """background: the step between its rows; None: path-dependent. TreeExplainer compares and adds up in float32 against a background, so few columns have
    ExactExplainer's numbers, from all subsets, in double."""
    X, y = DATA[data](return_X_y=True)
    model = CLASSES[estimator](**params).fit(X, y)
    rows, against, apart = X[::29], [] if background is None else X[1::background], 1e-9
    masker = shap.maskers.Independent(against, max_samples=len(against)) if len(against) else None
    if background is None:
        explainer = shap.TreeExplainer(model)
    elif estimator == "LinearRegression":
        explainer = shap.LinearExplainer(model, masker)
    elif X.shape[1] < 15:
        explainer = shap.ExactExplainer(getattr(model, "predict_proba", model.predict), masker)
    else:
        explainer, apart = shap.TreeExplainer(model, masker, feature_perturbation="interventional"), 1e-6
    if isinstance(explainer, shap.ExactExplainer):
        said = explainer(rows)
        values, expected = np.asarray(said.values), said.base_values[0]
    else:
        values, expected = np.asarray(explainer.shap_values(rows)), explainer.expected_value
    values = values[:, :, None] if values.ndim == 2 else values   # rows, columns, outputs
    base = np.broadcast_to(np.ravel(expected), (len(rows), 1, values.shape[2]))
    all_of = np.concatenate([values, base], axis=1)
    case = {"name": f"{estimator}Of{data.title().replace('_', '')}{'' if background is None else 'Against' + str(len(against))}", "rows": rows.ravel().tolist(),
            "contributions": np.moveaxis(all_of, 1, 2).ravel().tolist(),
            "spec": {"dataset": {"builtin": data}, "pipeline": [{"estimator": estimator, "params": params}], "task": {"fit": {}}}}
    cases.append(case if background is None else {**case, "background": against.ravel().tolist(), "apart": apart})


# Without two columns that cut a node equally well: which one is taken is drawn in scikit-learn.
for step in (None, 23):
    add("diabetes", "DecisionTreeRegressor", step, max_depth=3, random_state=0)
    add("wine", "DecisionTreeClassifier", step, max_depth=2, random_state=0)
    add("diabetes", "GradientBoostingRegressor", step, n_estimators=20, random_state=0)
    add("breast_cancer", "GradientBoostingClassifier", step, n_estimators=5, random_state=0)
add("diabetes", "GradientBoostingRegressor", 300, n_estimators=20, random_state=0)
add("diabetes", "LinearRegression", 23)
print(json.dumps({"sklearn": sklearn.__version__, "shap": shap.__version__, "cases": cases}), file=open("contributions_golden.json", "w"))
print(len(cases), "cases of shap", shap.__version__)
