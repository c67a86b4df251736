"""Writes targets_golden.json: jobs with several target columns, and what scikit-learn finds for them. Run it beside this file."""

import json
import random

import numpy as np
import sklearn
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, learning_curve, train_test_split
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CLASSES = {c.__name__: c for c in (ClassifierChain, GaussianNB, KNeighborsClassifier, KNeighborsRegressor, MultiOutputClassifier, MultiOutputRegressor, RegressorChain, Ridge,
                                  StandardScaler)}
VALUES = ["r2", "explained_variance", "d2_absolute_error_score", "neg_mean_absolute_error", "neg_mean_absolute_percentage_error",
          "neg_mean_squared_error", "neg_mean_squared_log_error", "neg_median_absolute_error", "neg_root_mean_squared_error",
          "neg_root_mean_squared_log_error"]
LABELS = ["accuracy", "average_precision", "f1_macro", "f1_micro", "f1_samples", "f1_weighted", "jaccard_macro", "jaccard_samples", "precision_macro", "precision_samples",
          "recall_micro", "recall_weighted", "roc_auc", "roc_auc_ovr_weighted"]
ALONE = ("r2", "accuracy", "f1_macro", "f1_micro", "f1_samples", "jaccard_macro")   # of which one column has a score of its own here
cases = []


def d2_absolute_error_score(model, X, y):
    return sklearn.metrics.d2_absolute_error_score(y, model.predict(X))


def all_right(model, X, y):
    """What MultiOutputClassifier scores; scikit-learn's accuracy takes no classes of several columns, and nor does a chain."""
    return float(np.mean(np.all(model.predict(X) == y, axis=1)))


def scorer(name):
    return all_right if name == "accuracy" else \
        d2_absolute_error_score if name == "d2_absolute_error_score" else get_scorer(name)


def alone(name, y, predicted):
    """What the job says of one column: of labels the score of a table of that column."""
    if name.startswith(("f1", "jaccard")):
        label = np.column_stack([y, np.zeros_like(y)])   # one column is no table of labels to scikit-learn: one without labels beside it
        said = np.column_stack([predicted, np.zeros_like(y)])
        function = {"f1": sklearn.metrics.f1_score, "jaccard": sklearn.metrics.jaccard_score}[name.split("_")[0]]
        return float(function(label, said, average=name.split("_")[1], labels=[0] if not name.endswith("samples") else None, zero_division=0))
    if name == "accuracy":
        return float(np.mean(y == predicted))
    return float(sklearn.metrics.r2_score(y, predicted))


def s(estimator, **params):
    return {"estimator": estimator, "params": params} if params else {"estimator": estimator}


def several(kind, step):
    return {"estimator": f"MultiOutput{kind}", "params": {"estimator": step}}


def chain(kind, step, **params):
    return {"estimator": f"{kind}Chain", "params": {"estimator": step, **params}}


def made(step):
    if isinstance(step, list):
        return make_pipeline(*[made(one) for one in step])
    return CLASSES[step["estimator"]](**{k: made(v) if k == "estimator" else v for k, v in step.get("params", {}).items()})


def flowers():
    """A table with a target of three classes and one of two, which are names."""
    draw = random.Random(5)
    rows = []
    for i in range(90):
        kind, is_big = i % 3, (i // 3) % 2
        rows.append([round(kind * 1.5 + draw.gauss(0, 1), 3), round(is_big * 2 + draw.gauss(0, 1), 3), round(draw.gauss(0, 1), 3), kind, ("no", "yes")[is_big]])
    return rows


def flower_data():
    text = "a,b,c,kind,big\n" + "".join(",".join(map(str, row)) + "\n" for row in flowers())
    X = np.array([row[:3] for row in flowers()])
    return {"inline": {"csv": text}}, ["kind", "big"], X, np.array([[row[3], row[4] == "yes"] for row in flowers()], dtype=int)


def label_data():
    """A table with three columns of labels, one of them rare."""
    draw = random.Random(8)
    rows = []
    for _ in range(120):
        a, b, c = (draw.gauss(0, 1) for _ in range(3))
        rows.append([round(v, 3) for v in (a, b, c)] + [int(a + draw.gauss(0, 0.7) > 0), int(b - c + draw.gauss(0, 0.7) > 0.5), int(c + draw.gauss(0, 0.4) > 1)])
    text = "a,b,c,warm,big,rare\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    table = np.array(rows)
    return {"inline": {"csv": text}}, ["warm", "big", "rare"], table[:, :3], table[:, 3:].astype(int)


def measures():
    data = load_diabetes(scaled=False)
    X, names = data.data, list(data.feature_names)
    keep = [j for j, name in enumerate(names) if name != "bmi"]
    return {"builtin": "diabetes"}, ["target", "bmi"], X[:, keep], np.column_stack([data.target, X[:, names.index("bmi")]])


def case(name, data, pipeline, task, found, **more):
    dataset, targets, _, _ = data
    cases.append({"name": name, "spec": {"dataset": dataset, "select": {"targets": targets, **more.pop("select", {})}, "pipeline": pipeline, "task": task},
                  "tolerance": more.pop("tolerance", 1e-9), **found, **more})


def of_fold(model, targets, names, X_train, X_test, y_train, y_test):
    """The scores of one fit, and of each target alone."""
    model.fit(X_train, y_train)
    predicted = model.predict(X_test)
    return ({name: scorer(name)(model, X_test, y_test) for name in names},
            {t: {n: alone(n, y_test[:, k], predicted[:, k]) for n in names if n in ALONE} for k, t in enumerate(targets)})


def folds(name, data, pipeline, names, cv=5):
    _, targets, X, y = data
    found = [of_fold(made(pipeline), targets, names, X[a], X[b], y[a], y[b]) for a, b in KFold(cv).split(X)]
    check = cross_validate(made(pipeline), X, y, cv=cv, scoring=scorer(names[0]))["test_score"]
    assert np.allclose(check, [scores[names[0]] for scores, _ in found])   # KFold is what it takes itself
    case(name, data, pipeline, {"crossValidate": {"cv": cv, "scoring": names}},
         {"scores": {n: [scores[n] for scores, _ in found] for n in names},
          "outputs": {t: {n: [by[t][n] for _, by in found] for n in by_scorer} for t, by_scorer in found[0][1].items()}})


def split(name, data, pipeline, names, **task):
    _, targets, X, y = data
    scores, outputs = of_fold(made(pipeline), targets, names, *train_test_split(X, y, test_size=0.25, random_state=task["randomState"]))
    case(name, data, pipeline, {"fitScore": {**task, "scoring": names}},
         {"scores": {n: [v] for n, v in scores.items()}, "outputs": {t: {n: [v] for n, v in by.items()} for t, by in outputs.items()}})


def search(name, data, pipeline, grid, scoring=None):
    _, _, X, y = data
    found = GridSearchCV(made(pipeline), grid, cv=3, scoring=scoring).fit(X, y)
    case(name, data, pipeline, {"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": 3, **({"scoring": [scoring]} if isinstance(scoring, str) else {})}}}, {"best": found.best_params_, "bestScore": found.best_score_})


NEIGHBOURS = several("Classifier", s("KNeighborsClassifier", n_neighbors=4))
RIDGE = several("Regressor", s("Ridge", alpha=0.5))
folds("CrossValidateValues", measures(), [s("StandardScaler"), RIDGE], VALUES)
folds("CrossValidateNeighbours", measures(), [several("Regressor", [s("StandardScaler"), s("KNeighborsRegressor")])], ["r2"])
folds("CrossValidateClasses", flower_data(), [s("StandardScaler"), NEIGHBOURS], ["accuracy"])
folds("CrossValidateBayes", flower_data(), [several("Classifier", s("GaussianNB"))], ["accuracy"], cv=4)
split("FitScoreValues", measures(), [RIDGE], ["r2", "neg_mean_squared_error"], randomState=3)
split("FitScoreClasses", flower_data(), [several("Classifier", s("GaussianNB"))], ["accuracy"], randomState=1)
search("GridOfValues", measures(), [s("StandardScaler"), RIDGE], {"multioutputregressor__estimator__alpha": [0.01, 1.0, 100.0]})
search("GridOfClasses", flower_data(), [s("StandardScaler"), NEIGHBOURS], {"multioutputclassifier__estimator__n_neighbors": [1, 5, 9, 15]})
IN_A_CHAIN = chain("Classifier", s("KNeighborsClassifier", n_neighbors=4))
folds("CrossValidateChainOfValues", measures(), [s("StandardScaler"), chain("Regressor", s("Ridge", alpha=0.5), order=[1, 0], cv=3)], VALUES)
folds("CrossValidateChainOfClasses", flower_data(), [s("StandardScaler"), IN_A_CHAIN], ["accuracy"])
split("FitScoreChainOfClasses", flower_data(), [chain("Classifier", s("GaussianNB"), order="random", random_state=2, cv=4)], ["accuracy"], randomState=1)
search("GridOfChainsOfValues", measures(), [chain("Regressor", s("Ridge"))],
       {"regressorchain__order": [[0, 1], [1, 0]], "regressorchain__estimator__alpha": [0.01, 100.0]})
search("GridOfChainsOfClasses", flower_data(), [s("StandardScaler"), IN_A_CHAIN], {"classifierchain__cv": [None, 3], "classifierchain__estimator__n_neighbors": [1, 9]},
       scoring=all_right)
OF_LABELS = several("Classifier", s("KNeighborsClassifier", n_neighbors=5))
folds("CrossValidateLabels", label_data(), [s("StandardScaler"), OF_LABELS], LABELS)
folds("CrossValidateChainOfLabels", label_data(), [chain("Classifier", s("GaussianNB"), order=[2, 0, 1])], LABELS[1:], cv=3)
split("FitScoreLabels", label_data(), [several("Classifier", s("GaussianNB"))], LABELS, randomState=4)
for name in ("f1_samples", "roc_auc"):
    search("GridOfLabels_" + name, label_data(), [s("StandardScaler"), OF_LABELS], {"multioutputclassifier__estimator__n_neighbors": [1, 5, 9, 15]}, scoring=name)
_, _, X, y = measures()
sizes, train, test = learning_curve(made([RIDGE]), X, y, cv=3, train_sizes=[50, 200])
case("LearningCurve", measures(), [RIDGE], {"learningCurve": {"trainSizes": [50, 200], "crossValidate": {"cv": 3}}},
     {"evaluation": {"learning_curve": {"train_sizes": sizes.tolist(), "test_scores": {"r2": test.tolist()}, "train_scores": {"r2": train.tolist()}}}})

with open("targets_golden.json", "w") as f:
    lines = [json.dumps(one) for one in cases]
    f.write(f'{{"version": "{sklearn.__version__}", "cases": [\n' + ",\n".join(lines) + "\n]}\n")
