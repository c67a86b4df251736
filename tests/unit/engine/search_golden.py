"""Writes search_golden.json: searches and splitters, as a job and as scikit-learn runs them. Run it beside this file."""

import json

import numpy as np
import sklearn
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (GridSearchCV, HalvingGridSearchCV, KFold, LeaveOneOut, RandomizedSearchCV, RepeatedKFold,
                                     RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit, TimeSeriesSplit,
                                     cross_validate)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, SplineTransformer, StandardScaler

DATA = {"diabetes": load_diabetes, "iris": load_iris, "digits": load_digits, "breast_cancer": load_breast_cancer}
CLASSES = {c.__name__: c for c in (GaussianNB, KNeighborsClassifier, LogisticRegression, MinMaxScaler, Nystroem, PCA, Ridge,
                                   SplineTransformer, StandardScaler)}
SPLITTERS = {c.__name__: c for c in (KFold, StratifiedKFold, RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit,
                                     StratifiedShuffleSplit, TimeSeriesSplit, LeaveOneOut)}
DISTRIBUTIONS = {"uniform": lambda a, b: uniform(a, b - a), "loguniform": loguniform, "randint": randint}
NAMES = {"randomState": "random_state", "nRepeats": "n_repeats", "testSize": "test_size", "trainSize": "train_size",
         "maxTrainSize": "max_train_size", "cv": "n_splits"}
cases = []


def step(spec):
    return CLASSES[spec["estimator"]](**spec.get("params", {}))


def value(v):
    if v == "passthrough":
        return v
    return step(v) if isinstance(v, dict) and "estimator" in v else v


def distribution(v):
    if isinstance(v, dict):
        (kind, bounds), = v.items()
        return DISTRIBUTIONS[kind](*bounds)
    return [value(x) for x in v]


def grids(spec):
    return [{k: distribution(v) for k, v in g.items()} for g in spec] if isinstance(spec, list) else {k: distribution(v) for k, v in spec.items()}


def splitter(cv):
    name = cv.get("splitter", "auto")
    if name == "auto":
        return cv.get("cv", 5)
    return SPLITTERS[name](**{NAMES.get(k, k): v for k, v in cv.items() if k not in ("splitter", "scoring", "returnTrainScore")})


def add(name, data, pipeline, task):
    X, y = DATA[data](return_X_y=True)
    model = make_pipeline(*[step(s) for s in pipeline])
    (kind, options), = task.items()
    case = {"name": name, "spec": {"dataset": {"builtin": data}, "pipeline": pipeline, "task": task}}
    if kind == "crossValidate":
        case["scores"] = cross_validate(model, X, y, cv=splitter(options))["test_score"].tolist()
        cases.append(case)
        return
    cv = options.get("crossValidate", {})
    common = {"cv": splitter(cv), "scoring": cv.get("scoring", ["accuracy"])[0], "n_jobs": None}
    if kind == "gridSearch":
        search = GridSearchCV(model, grids(options["paramGrid"]), **common)
    elif kind == "randomizedSearch":
        search = RandomizedSearchCV(model, grids(options["paramDistributions"]), n_iter=options.get("nIter", 10),
                                    random_state=options["randomState"], **common)
    else:
        search = HalvingGridSearchCV(model, grids(options["paramGrid"]), factor=options.get("factor", 3),
                                     resource=options.get("resource", "n_samples"), max_resources=options.get("maxResources", "auto"),
                                     min_resources=options.get("minResources", "exhaust"),
                                     aggressive_elimination=options.get("aggressiveElimination", False),
                                     random_state=options["randomState"], **common)
        case["n_resources"], case["n_candidates"] = None, None
    search.fit(X, y)
    found = search.cv_results_
    if kind == "halvingGridSearch":
        case["n_resources"], case["n_candidates"] = search.n_resources_, search.n_candidates_
    case["mean_test_score"] = found["mean_test_score"].tolist()
    case["rank_test_score"] = found["rank_test_score"].tolist()
    case["params"] = [{k: v for k, v in p.items() if isinstance(v, (int, float, np.number))} for p in found["params"]]
    case["params"] = [{k: v.item() if isinstance(v, np.generic) else v for k, v in p.items()} for p in case["params"]]
    case["best_index"] = int(search.best_index_)
    cases.append(case)


def s(estimator, **params):
    return {"estimator": estimator, "params": params} if params else {"estimator": estimator}


LOGISTIC = s("LogisticRegression", tol=1e-10, max_iter=10000)
KNN = [s("StandardScaler"), s("KNeighborsClassifier")]
add("Grid", "iris", [s("StandardScaler"), s("PCA"), LOGISTIC],
    {"gridSearch": {"paramGrid": {"pca__n_components": [1, 2, 3], "logisticregression__C": [0.01, 0.1, 1.0, 10.0]}}})
add("GridOfSteps", "breast_cancer", [s("StandardScaler"), s("GaussianNB")],
    {"gridSearch": {"paramGrid": [{"gaussiannb": [s("GaussianNB"), LOGISTIC]},
                                  {"standardscaler": ["passthrough", s("MinMaxScaler")], "gaussiannb": [s("GaussianNB", var_smoothing=1e-3)]},
                                  {"gaussiannb__var_smoothing": [1e-9, 1e-6, 1e-1]}], "crossValidate": {"cv": 3}}})
add("GridOfNeighbours", "iris", KNN, {"gridSearch": {"paramGrid": {"kneighborsclassifier__n_neighbors": [1, 5, 3, 15, 9]}}})
add("RandomFromLists", "iris", [s("GaussianNB")],
    {"randomizedSearch": {"paramDistributions": {"gaussiannb__var_smoothing": [10.0 ** -k for k in range(40)]}, "nIter": 12, "randomState": 3}})
add("RandomFromLongLists", "iris", [s("GaussianNB")],
    {"randomizedSearch": {"paramDistributions": {"gaussiannb__var_smoothing": [k / 1e4 for k in range(2000)]}, "nIter": 5, "randomState": 8}})
add("RandomFromDistributions", "breast_cancer", [s("PCA"), s("GaussianNB")],
    {"randomizedSearch": {"paramDistributions": {"pca__n_components": {"randint": [1, 20]}, "pca__whiten": [True, False],
                                                 "gaussiannb__var_smoothing": {"loguniform": [1e-9, 1e-1]}}, "nIter": 8, "randomState": 5}})
add("RandomFromUniform", "iris", [s("GaussianNB")],
    {"randomizedSearch": {"paramDistributions": [{"gaussiannb__var_smoothing": {"uniform": [0.1, 0.6]}},
                                                 {"gaussiannb__var_smoothing": {"uniform": [1.0, 3.0]}}], "nIter": 9, "randomState": 1}})
VARIANCES = {"gaussiannb__var_smoothing": [10.0 ** -k for k in range(12)]}
add("Halving", "digits", [s("GaussianNB")], {"halvingGridSearch": {"paramGrid": VARIANCES, "randomState": 4}})
# Of equal scores scikit-learn keeps what numpy's sort leaves last, which depends on the processor: scores here must differ.
add("HalvingSmallest", "digits", [s("GaussianNB")],
    {"halvingGridSearch": {"paramGrid": {"gaussiannb__var_smoothing": [1e-3, 1e-1, 1.0, 10.0]}, "randomState": 4, "minResources": "smallest",
                           "factor": 2}})
add("HalvingAggressive", "digits", [s("GaussianNB")],
    {"halvingGridSearch": {"paramGrid": VARIANCES, "randomState": 0, "minResources": 600, "aggressiveElimination": True, "factor": 2}})
add("HalvingByParameter", "digits", [s("PCA", svd_solver="full"), s("GaussianNB")],
    {"halvingGridSearch": {"paramGrid": {"gaussiannb__var_smoothing": [1e-9, 1e-4, 1e-2, 1.0]}, "randomState": 0,
                           "resource": "pca__n_components", "maxResources": 30, "factor": 2}})
for options in ({"splitter": "RepeatedKFold", "cv": 3, "nRepeats": 2, "randomState": 5},
                {"splitter": "RepeatedStratifiedKFold", "cv": 3, "nRepeats": 2, "randomState": 5},
                {"splitter": "ShuffleSplit", "cv": 4, "testSize": 0.3, "randomState": 6},
                {"splitter": "StratifiedShuffleSplit", "cv": 4, "testSize": 30, "trainSize": 0.5, "randomState": 6},
                {"splitter": "TimeSeriesSplit", "cv": 4, "gap": 3, "maxTrainSize": 200, "testSize": 40}, {"splitter": "LeaveOneOut"}):
    data = "breast_cancer" if options["splitter"] == "TimeSeriesSplit" else "iris"
    add("Split" + options["splitter"], data, [s("GaussianNB")], {"crossValidate": options})

# Numbers, not counts: the sums run in another order.
for alpha in (1.0, 1e-3):
    add(f"SplineNystroemRidge{int(alpha)}", "diabetes",
        [s("SplineTransformer"), s("Nystroem", kernel="poly", degree=2, n_components=300, random_state=0), s("Ridge", alpha=alpha)],
        {"crossValidate": {"cv": 5}})
    cases[-1]["tolerance"] = 1e-9

with open("search_golden.json", "w") as out:
    out.write(f'{{"version": "{sklearn.__version__}", "cases": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")
