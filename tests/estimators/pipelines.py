"""Cross-validates pipelines of a transformer and a predictor on a server and with scikit-learn: the same folds must give the same scores. A
single estimator is compared closely by differential.py; this finds what goes wrong between steps, such as rows that a step counts anew.

    KEDGE_BIN=BUILD/bin pipelines.py
"""
import itertools
import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from kedge_server import Kedged  # noqa: E402

import numpy as np  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402

CLASSES = dict(all_estimators())
JUDGES = {"wine": ("LogisticRegression", {"max_iter": 2000}), "diabetes": ("Ridge", {})}
TRANSFORMERS = [("MinMaxScaler", {}), ("RobustScaler", {}), ("PCA", {"n_components": 4}), ("TruncatedSVD", {"n_components": 3, "random_state": 0}),
                ("PolynomialFeatures", {"degree": 2}), ("QuantileTransformer", {"n_quantiles": 30}), ("SplineTransformer", {}), ("Normalizer", {}),
                ("PowerTransformer", {}), ("KMeans", {"n_clusters": 4, "random_state": 0}), ("SelectFromModel", {}), ("RFE", {}), ("TargetEncoder", {"random_state": 0})]
PREDICTORS = {
    "wine": [("LogisticRegression", {"max_iter": 2000}), ("RidgeClassifier", {}), ("KNeighborsClassifier", {}), ("GaussianNB", {}),
             ("LinearDiscriminantAnalysis", {}), ("DecisionTreeClassifier", {"random_state": 0}), ("BaggingClassifier", {"random_state": 0}),
             ("RandomForestClassifier", {"n_estimators": 30, "random_state": 0}), ("ExtraTreesClassifier", {"n_estimators": 30, "random_state": 0})],
    "diabetes": [("LinearRegression", {}), ("Ridge", {}), ("Lasso", {"alpha": 0.1}), ("RidgeCV", {}), ("KNeighborsRegressor", {}),
                 ("DecisionTreeRegressor", {"random_state": 0}), ("RandomForestRegressor", {"n_estimators": 30, "random_state": 0}),
                 ("ExtraTreesRegressor", {"n_estimators": 30, "random_state": 0})]}
# Largest difference of the mean scores: where random numbers decide, and where two rows of 178, or a solver's tolerance, may.
RANDOM, CLOSE = {"wine": 0.05, "diabetes": 0.12}, {"wine": 0.012, "diabetes": 1e-3}


def is_random(estimator):
    return any(part in estimator for part in ("Tree", "Forest", "Bagging"))


def sides(data, transformer, predictor):
    """The steps as the job has them, and as objects."""
    name, params = transformer
    judge = JUDGES[data]
    if name == "TargetEncoder":   # by itself scikit-learn takes whole numbers for classes
        params = params | {"target_type": "multiclass" if data == "wine" else "continuous"}
    of_job = {"estimator": {"estimator": judge[0], "params": judge[1]}} if name in ("SelectFromModel", "RFE") else params
    of_python = {"estimator": CLASSES[judge[0]](**judge[1])} if name in ("SelectFromModel", "RFE") else params
    job = [{"estimator": "StandardScaler"}, {"estimator": name, "params": of_job}, {"estimator": predictor[0], "params": predictor[1]}]
    return job, make_pipeline(CLASSES["StandardScaler"](), CLASSES[name](**of_python), CLASSES[predictor[0]](**predictor[1]))


def difference(server, data, transformer, predictor, shuffle):
    """Of the mean scores of five folds; None where scikit-learn refuses."""
    job, pipeline = sides(data, transformer, predictor)
    scorer, kind = ("accuracy", StratifiedKFold) if data == "wine" else ("r2", KFold)
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = cross_val_score(pipeline, X, y, cv=kind(5, shuffle=shuffle, random_state=3 if shuffle else None), scoring=scorer, error_score="raise")
        except ValueError:
            return None
    cv = {"cv": 5, "scoring": [scorer], **({"shuffle": True, "randomState": 3} if shuffle else {})}
    ended = server.run({"dataset": {"builtin": data}, "pipeline": job, "task": {"crossValidate": cv}})
    if ended["state"] != "succeeded":
        raise SystemExit(f"{data}: {job}: {ended['error']['message']}")
    return abs(np.mean(ended["result"]["scores"][scorer]["perFold"]) - np.mean(expected))


def main():
    count, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder)
        try:
            for data, predictors in PREDICTORS.items():
                for transformer, predictor, shuffle in itertools.product(TRANSFORMERS, predictors, (False, True)):
                    found = difference(server, data, transformer, predictor, shuffle)
                    if found is None:
                        continue
                    count += 1
                    most = (RANDOM if is_random(predictor[0]) else CLOSE)[data]
                    if found > most:
                        failures.append(f"{data}: StandardScaler, {transformer[0]}, {predictor[0]}, shuffle={shuffle}: {found:.4f} from scikit-learn, at most {most}")
        finally:
            server.stop()
    print("\n".join([*failures, f"{count} pipelines, {len(failures)} with other scores"]))
    return 1 if failures or count < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
