"""Writes tasks_golden.json: curves, permutation tests and inspections, as a job and as scikit-learn runs them. Run it beside this file."""

import json

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (GroupKFold, KFold, StratifiedKFold, learning_curve, permutation_test_score, train_test_split, validation_curve)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

DATA = {"diabetes": lambda **how: load_diabetes(scaled=False, **how), "iris": load_iris, "breast_cancer": load_breast_cancer}
CLASSES = {c.__name__: c for c in (GaussianNB, KNeighborsClassifier, KNeighborsRegressor, LogisticRegression, Ridge, RidgeClassifier, StandardScaler)}
SPLITTERS = {c.__name__: c for c in (GroupKFold, KFold, StratifiedKFold)}
cases = []


def s(estimator, **params):
    return {"estimator": estimator, "params": params} if params else {"estimator": estimator}


def model_of(pipeline):
    return make_pipeline(*[CLASSES[step["estimator"]](**step.get("params", {})) for step in pipeline])


def splitter(cv):
    name = cv.get("splitter", "auto")
    if name == "auto":
        return cv.get("cv", 5)
    names = {"cv": "n_splits", "randomState": "random_state"}
    return SPLITTERS[name](**{names.get(k, k): v for k, v in cv.items() if k not in ("splitter", "scoring")})


def curve(task, train, test):
    """By scorer, a list of the folds for each point."""
    names = task.get("crossValidate", {}).get("scoring", ["accuracy"])
    return {"train_scores": {names[0]: train.tolist()}, "test_scores": {names[0]: test.tolist()}}


def of_learning_curve(task, model, X, y, groups):
    arguments = {"train_sizes": task["trainSizes"]} if "trainSizes" in task else {}
    cv = task.get("crossValidate", {})
    sizes, train, test = learning_curve(model, X, y, cv=splitter(cv), scoring=cv.get("scoring", ["accuracy"])[0], shuffle=task.get("shuffle", False),
                                        random_state=task.get("randomState"), groups=groups, **arguments)
    return {"learning_curve": {"train_sizes": sizes.tolist(), **curve(task, train, test)}}


def of_validation_curve(task, model, X, y, groups):
    cv = task.get("crossValidate", {})
    train, test = validation_curve(model, X, y, param_name=task["paramName"], param_range=task["paramRange"], cv=splitter(cv), groups=groups,
                                   scoring=cv.get("scoring", ["accuracy"])[0])
    return {"validation_curve": curve(task, train, test)}


def of_permutation_test(task, model, X, y, groups):
    cv = task.get("crossValidate", {})
    name = cv.get("scoring", ["accuracy"])[0]
    score, scores, pvalue = permutation_test_score(model, X, y, cv=splitter(cv), n_permutations=task["nPermutations"], groups=groups,
                                                   random_state=task.get("randomState", 0), scoring=name)
    return {"permutation_test_score": {name: {"score": score, "permutation_scores": scores.tolist(), "pvalue": pvalue}}}


def parts(task, X, y):
    if "fitScore" not in task:
        return X, X, y, y
    names = {"testSize": "test_size", "randomState": "random_state", "trainSize": "train_size"}
    arguments = {names.get(k, k): v for k, v in task["fitScore"].items()}
    if arguments.pop("stratify", False):
        arguments["stratify"] = y
    return train_test_split(X, y, **arguments)


def of_permutation_importance(task, model, X, y, groups):
    X_train, X_test, y_train, y_test = parts(task, X, y)
    model.fit(X_train, y_train)
    found = {}
    for name in task["scoring"]:
        one = permutation_importance(model, X_test, y_test, n_repeats=task.get("nRepeats", 5), random_state=task.get("randomState", 0), scoring=name,
                                     max_samples=task.get("maxSamples", 1.0))
        found[name] = {key: one[key].tolist() for key in ("importances_mean", "importances_std", "importances")}
    return {"permutation_importance": {"scorers": found}}


def of_partial_dependence(task, model, X, y, groups):
    X_train, X_test, y_train, y_test = parts(task, X, y)
    model.fit(X_train, y_train)
    found = []
    for entry in task["features"]:
        columns = entry if isinstance(entry, list) else [entry]
        one = partial_dependence(model, X_test, columns, kind=task.get("kind", "average"), grid_resolution=task.get("gridResolution", 100),
                                 percentiles=tuple(task.get("percentiles", (0.05, 0.95))), response_method=task.get("responseMethod", "auto"), method="brute")
        keys = [key for key in ("average", "individual") if key in one]
        found.append({"grid_values": [axis.tolist() for axis in one["grid_values"]], **{key: one[key].tolist() for key in keys}})
    return {"partial_dependence": found}


BY_TASK = {"learningCurve": of_learning_curve, "validationCurve": of_validation_curve, "permutationTestScore": of_permutation_test,
           "permutationImportance": of_permutation_importance, "partialDependence": of_partial_dependence}


def add(name, data, pipeline, task, tolerance=1e-12, rows=None):
    """rows: X, y and groups of an inline data set."""
    (kind, options), = task.items()
    spec = {"dataset": {"builtin": data}, "pipeline": pipeline, "task": task}
    if rows is None:
        X, y, groups = *DATA[data](return_X_y=True), None
    else:
        X, y, groups = rows
        names = [f"c{j}" for j in range(X.shape[1])]
        lines = [",".join([*map(repr, map(float, x)), str(g), f"k{t}"]) for x, t, g in zip(X, y, groups)]
        spec["dataset"] = {"inline": {"csv": "\n".join([",".join([*names, "g", "y"]), *lines]) + "\n"}}
        spec["select"] = {"target": "y", "groups": "g"}
    cases.append({"name": name, "spec": spec, "tolerance": tolerance, "evaluation": BY_TASK[kind](options, model_of(pipeline), X, y, groups)})


R2 = {"scoring": ["r2"]}
NEIGHBOURS = [s("StandardScaler"), s("KNeighborsClassifier")]
LOGISTIC = s("LogisticRegression", tol=1e-10, max_iter=10000)
add("LearningCurveByDefault", "diabetes", [s("Ridge")], {"learningCurve": {"crossValidate": R2}})
add("LearningCurveShuffled", "breast_cancer", [s("StandardScaler"), s("GaussianNB")],
    {"learningCurve": {"trainSizes": [0.05, 0.5, 1.0], "shuffle": True, "randomState": 3, "crossValidate": {"cv": 3, "scoring": ["balanced_accuracy"]}}})
add("LearningCurveOfRows", "breast_cancer", NEIGHBOURS,
    {"learningCurve": {"trainSizes": [200, 20, 50, 50], "shuffle": True, "crossValidate": {"splitter": "KFold", "cv": 4, "shuffle": True, "randomState": 1},
                       "randomState": 0}})
add("ValidationCurveOfNeighbours", "iris", NEIGHBOURS, {"validationCurve": {"paramName": "kneighborsclassifier__n_neighbors", "paramRange": [9, 1, 5]}})
add("ValidationCurveOfPenalties", "diabetes", [s("StandardScaler"), s("Ridge")],
    {"validationCurve": {"paramName": "ridge__alpha", "paramRange": [0.01, 1.0, 100.0, 10000.0], "crossValidate": {"cv": 3, **R2}}})
add("PermutedClasses", "iris", [s("GaussianNB")], {"permutationTestScore": {"nPermutations": 15, "randomState": 7, "crossValidate": {"cv": 3}}})
add("PermutedValues", "diabetes", [s("Ridge")],
    {"permutationTestScore": {"nPermutations": 8, "crossValidate": {"splitter": "KFold", "cv": 3, "shuffle": True, "randomState": 5, **R2}}})
random = np.random.RandomState(0)
grouped = random.normal(size=(90, 3))
add("PermutedWithinGroups", "", [s("GaussianNB")],
    {"permutationTestScore": {"nPermutations": 12, "randomState": 2, "crossValidate": {"splitter": "GroupKFold", "cv": 3}}},
    rows=(grouped, (grouped[:, 0] + random.normal(size=90) > 0).astype(int), random.randint(0, 9, size=90)))
add("ImportanceOfColumns", "diabetes", [s("StandardScaler"), s("Ridge")],
    {"permutationImportance": {"randomState": 4, "scoring": ["r2", "neg_mean_absolute_error"]}})
add("ImportanceOnHeldOutRows", "breast_cancer", NEIGHBOURS,
    {"permutationImportance": {"nRepeats": 3, "scoring": ["accuracy", "roc_auc"], "fitScore": {"testSize": 0.3, "randomState": 1, "stratify": True}}})
add("ImportanceOfAShare", "diabetes", [s("Ridge")], {"permutationImportance": {"maxSamples": 0.4, "randomState": 9, "scoring": ["r2"]}})
add("ImportanceOfSomeRows", "iris", NEIGHBOURS, {"permutationImportance": {"maxSamples": 149, "nRepeats": 12, "scoring": ["accuracy"]}})
add("DependenceOfValues", "diabetes", [s("StandardScaler"), s("KNeighborsRegressor")], {"partialDependence": {"features": [2, 1, [0, 3]], "gridResolution": 7}})
add("DependenceOfClasses", "iris", [s("StandardScaler"), LOGISTIC],
    {"partialDependence": {"features": [3, [2, 3]], "gridResolution": 6, "percentiles": [0.0, 1.0]}}, tolerance=1e-6)   # both fits stop close to the minimum
add("DependenceOfTwoClasses", "breast_cancer", [s("StandardScaler"), s("GaussianNB")], {"partialDependence": {"features": [0], "gridResolution": 300}})
add("DependenceOfRows", "iris", [s("StandardScaler"), s("GaussianNB")],
    {"partialDependence": {"features": [[1, 0]], "gridResolution": 4, "kind": "both", "fitScore": {"testSize": 12, "randomState": 3}}})
add("DependenceOfDecisions", "breast_cancer", [s("StandardScaler"), s("RidgeClassifier")],
    {"partialDependence": {"features": [5], "gridResolution": 9, "kind": "individual", "responseMethod": "decision_function",
                           "fitScore": {"testSize": 15, "shuffle": False}}})
print(json.dumps({"sklearn": sklearn.__version__, "cases": cases}), file=open("tasks_golden.json", "w"))
print(len(cases), "cases of scikit-learn", sklearn.__version__)
