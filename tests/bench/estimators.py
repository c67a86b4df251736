#!/usr/bin/env python3
"""Fits each estimator with Kedge's engine (kedge_estimator_probe), with scikit-learn and, where that is installed and has the estimator,
with scikit-learn-intelex, alternately, on the same data, and prints the medians and their ratios. --served does the small sets through a
running kedged instead: from the request to the answer with the result, on one connection, and what the server itself counts.

    estimators.py [--only NAME ...] [--pairs N] [--scale F] [--probe PATH] [--served] [--device cuda]
"""
import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
os.environ.setdefault("KEDGE_BIN", str(ROOT / "build" / "release" / "bin"))
from kedge_server import Kedged, spec  # noqa: E402

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.base import RegressorMixin  # noqa: E402
from sklearn.experimental import enable_iterative_imputer  # noqa: E402, F401  (it brings the name)
from sklearn.utils import all_estimators  # noqa: E402

PROBE = ROOT / "build" / "release" / "bin" / "kedge_estimator_probe"
CLASSES = dict(all_estimators())
try:
    from sklearnex.dispatcher import get_patch_map
    INTELEX = {name: made for _, name, made, _ in get_patch_map().values() if name in CLASSES}
except ImportError:
    INTELEX = {}


def blobs(n, d, k=10):
    X, y = datasets.make_blobs(n, d, centers=k, cluster_std=3.0, random_state=0)
    return X, y


def classes(n, d, k=2):
    return datasets.make_classification(n, d, n_informative=min(d, 10), n_classes=k, random_state=0)


def numbers(n, d):
    return datasets.make_regression(n, d, n_informative=min(d, 20), noise=10.0, random_state=0)


def counts(n, d, k=5):
    draw = np.random.RandomState(0)
    y = draw.randint(k, size=n)
    return draw.poisson(draw.gamma(1.0, size=(k, d))[y]).astype(float), y


def rates(n, d):
    """Counts whose logarithm of the mean is linear."""
    draw = np.random.RandomState(0)
    X = draw.normal(size=(n, d))
    return X, draw.poisson(np.exp(X @ draw.normal(scale=0.5 / np.sqrt(d), size=d) + 1)).astype(float)


def amounts(n, d):
    """The same of gamma distributed values."""
    draw = np.random.RandomState(0)
    X = draw.normal(size=(n, d))
    return X, draw.gamma(2.0, np.exp(X @ draw.normal(scale=0.5 / np.sqrt(d), size=d)))


def holes(n, d):
    """Normal numbers of which one in ten is 0, which stands for a missing one."""
    draw = np.random.RandomState(0)
    X = draw.normal(size=(n, d))
    X[draw.uniform(size=(n, d)) < 0.1] = 0
    return X, draw.normal(size=n)


def parts(n, d, k=20):
    """Sums of k parts, none of which is negative, and some noise."""
    draw = np.random.RandomState(0)
    W, H = draw.gamma(0.5, size=(n, k)), draw.gamma(0.5, size=(k, d))
    return W @ H + 0.1 * draw.uniform(size=(n, d)), np.zeros(n)


def pixels(n, d, k=10):
    """Bytes of which four in five are 0, as in pictures of digits."""
    draw = np.random.RandomState(0)
    y = draw.randint(k, size=n)
    level = draw.uniform(0, 1, size=(k, d)) ** 8
    return np.floor(256 * np.clip(level[y] + 0.2 * draw.normal(size=(n, d)) - 0.1, 0, 0.999)), y


# name of the row -> estimator, parameters, data, shape, what is done after the fit, dtype. Shapes: those of oneDAL's benchmarks that fit
# into memory, cut to some seconds on two cores.
ROWS = {
    "StandardScaler": ("StandardScaler", {}, numbers, (500000, 50), "transform", "float64"),
    "RobustScaler": ("RobustScaler", {}, numbers, (200000, 50), "transform", "float64"),
    "QuantileTransformer": ("QuantileTransformer", {"random_state": 0}, numbers, (100000, 20), "transform", "float64"),
    "PowerTransformer": ("PowerTransformer", {}, numbers, (100000, 10), "transform", "float64"),
    "KBinsDiscretizer": ("KBinsDiscretizer", {"encode": "ordinal"}, numbers, (200000, 20), "transform", "float64"),
    "KNNImputer": ("KNNImputer", {"missing_values": 0}, holes, (5000, 30), "transform", "float64"),
    "IterativeImputer": ("IterativeImputer", {"missing_values": 0}, holes, (5000, 30), "transform", "float64"),
    "TargetEncoder": ("TargetEncoder", {"random_state": 0}, counts, (200000, 10), "transform", "float64"),
    "SplineTransformer": ("SplineTransformer", {}, numbers, (100000, 10), "transform", "float64"),
    "PolynomialFeatures": ("PolynomialFeatures", {}, numbers, (100000, 20), "transform", "float64"),
    "Normalizer": ("Normalizer", {}, numbers, (500000, 50), "transform", "float64"),
    "Nystroem": ("Nystroem", {"n_components": 300, "random_state": 0}, numbers, (50000, 20), "transform", "float64"),
    "GaussianRandomProjection": ("GaussianRandomProjection", {"n_components": 50, "random_state": 0}, numbers, (50000, 500), "transform", "float64"),
    "SparseRandomProjection": ("SparseRandomProjection", {"n_components": 50, "random_state": 0}, numbers, (50000, 500), "transform", "float64"),
    "PolynomialCountSketch": ("PolynomialCountSketch", {"n_components": 200, "random_state": 0}, numbers, (50000, 20), "transform", "float64"),
    "SelectKBest": ("SelectKBest", {}, classes, (200000, 50), "transform", "float64"),
    "IsotonicRegression": ("IsotonicRegression", {"out_of_bounds": "clip"}, numbers, (500000, 1), "predict", "float64"),
    "LinearRegression": ("LinearRegression", {}, numbers, (500000, 50), None, "float64"),
    "LinearRegression wide": ("LinearRegression", {}, numbers, (20000, 500), None, "float64"),
    "Ridge": ("Ridge", {}, numbers, (500000, 50), None, "float64"),
    "RidgeCV": ("RidgeCV", {"alphas": [0.1, 1.0, 10.0]}, numbers, (20000, 100), None, "float64"),
    "RidgeClassifier": ("RidgeClassifier", {}, classes, (200000, 50), None, "float64"),
    "RidgeClassifierCV": ("RidgeClassifierCV", {}, classes, (20000, 100), None, "float64"),
    "Lasso": ("Lasso", {"alpha": 1.0}, numbers, (100000, 200), None, "float64"),
    "Lasso wide": ("Lasso", {"alpha": 1.0}, numbers, (300, 20000), None, "float64"),
    "ElasticNet wide": ("ElasticNet", {"alpha": 1.0}, numbers, (300, 20000), None, "float64"),
    "ElasticNet": ("ElasticNet", {"alpha": 0.1}, numbers, (100000, 200), None, "float64"),
    "LassoCV": ("LassoCV", {}, numbers, (10000, 100), None, "float64"),
    "ElasticNetCV": ("ElasticNetCV", {}, numbers, (10000, 100), None, "float64"),
    "LogisticRegression": ("LogisticRegression", {}, classes, (200000, 50), None, "float64"),
    "LogisticRegression 10 classes": ("LogisticRegression", {"max_iter": 1000}, lambda n, d: blobs(n, d), (50000, 50), None, "float64"),
    "LogisticRegression l1": ("LogisticRegression", {"l1_ratio": 1.0, "solver": "saga", "C": 0.01, "max_iter": 1000}, classes, (20000, 50), None, "float64"),
    "LogisticRegressionCV": ("LogisticRegressionCV", {}, classes, (20000, 50), None, "float64"),
    "LogisticRegressionCV 10 classes": ("LogisticRegressionCV", {"Cs": 5, "max_iter": 1000}, lambda n, d: blobs(n, d), (10000, 30), None, "float64"),
    "SVC": ("SVC", {}, classes, (20000, 30), None, "float64"),
    "SVC 10 classes": ("SVC", {}, pixels, (5000, 784), None, "float32"),
    "NuSVC": ("NuSVC", {"nu": 0.3}, classes, (5000, 30), None, "float64"),
    "SVR": ("SVR", {"C": 100.0}, numbers, (5000, 20), None, "float64"),
    "NuSVR": ("NuSVR", {"C": 100.0}, numbers, (5000, 20), None, "float64"),
    "OneClassSVM": ("OneClassSVM", {"nu": 0.1}, numbers, (5000, 20), None, "float64"),
    "KernelPCA": ("KernelPCA", {"n_components": 5, "kernel": "rbf"}, numbers, (3000, 20), None, "float64"),
    "KernelPCA all": ("KernelPCA", {"kernel": "rbf"}, numbers, (1500, 20), None, "float64"),
    "KernelRidge": ("KernelRidge", {"kernel": "rbf", "gamma": 0.05}, numbers, (4000, 20), None, "float64"),
    "PoissonRegressor": ("PoissonRegressor", {"alpha": 1e-3}, rates, (100000, 50), None, "float64"),
    "GammaRegressor": ("GammaRegressor", {"alpha": 1e-3}, amounts, (100000, 50), None, "float64"),
    "TweedieRegressor": ("TweedieRegressor", {"power": 1.5, "alpha": 1e-3}, rates, (100000, 50), None, "float64"),
    "HuberRegressor": ("HuberRegressor", {}, numbers, (100000, 50), None, "float64"),
    "LinearSVC": ("LinearSVC", {}, classes, (100000, 50), None, "float64"),
    "LinearSVC hinge": ("LinearSVC", {"loss": "hinge", "random_state": 0}, classes, (10000, 50), None, "float64"),
    "LinearSVR": ("LinearSVR", {"random_state": 0}, numbers, (10000, 50), None, "float64"),
    "SGDClassifier": ("SGDClassifier", {"random_state": 0}, classes, (100000, 50), None, "float64"),
    "SGDClassifier 10 classes": ("SGDClassifier", {"random_state": 0}, blobs, (20000, 50), None, "float64"),
    "SGDRegressor": ("SGDRegressor", {"random_state": 0}, numbers, (100000, 50), None, "float64"),
    "Perceptron": ("Perceptron", {"random_state": 0}, classes, (100000, 50), None, "float64"),
    "PassiveAggressiveClassifier": ("PassiveAggressiveClassifier", {"random_state": 0}, classes, (100000, 50), None, "float64"),
    "PassiveAggressiveRegressor": ("PassiveAggressiveRegressor", {"random_state": 0}, numbers, (100000, 50), None, "float64"),
    "BayesianRidge": ("BayesianRidge", {}, numbers, (100000, 50), None, "float64"),
    "ARDRegression": ("ARDRegression", {}, numbers, (100000, 50), None, "float64"),
    "OrthogonalMatchingPursuit": ("OrthogonalMatchingPursuit", {}, numbers, (100000, 50), None, "float64"),
    "Lars": ("Lars", {}, numbers, (100000, 50), None, "float64"),
    "LassoLars": ("LassoLars", {"alpha": 0.1}, numbers, (100000, 50), None, "float64"),
    "LassoLarsIC": ("LassoLarsIC", {}, numbers, (100000, 50), None, "float64"),
    "LarsCV": ("LarsCV", {}, numbers, (50000, 50), None, "float64"),
    "LassoLarsCV": ("LassoLarsCV", {}, numbers, (50000, 50), None, "float64"),
    "PLSRegression": ("PLSRegression", {}, numbers, (100000, 50), None, "float64"),
    "QuantileRegressor": ("QuantileRegressor", {"alpha": 0.0}, numbers, (20000, 20), None, "float64"),
    "TheilSenRegressor": ("TheilSenRegressor", {"random_state": 0}, numbers, (10000, 10), None, "float64"),
    "RANSACRegressor": ("RANSACRegressor", {"random_state": 0, "residual_threshold": 5.0}, numbers, (100000, 20), None, "float64"),
    "LinearDiscriminantAnalysis": ("LinearDiscriminantAnalysis", {}, lambda n, d: blobs(n, d), (200000, 50), None, "float64"),
    "GaussianNB": ("GaussianNB", {}, lambda n, d: blobs(n, d), (500000, 50), "predict", "float64"),
    "MultinomialNB": ("MultinomialNB", {}, counts, (200000, 100), "predict", "float64"),
    "BernoulliNB": ("BernoulliNB", {}, counts, (200000, 100), "predict", "float64"),
    "CategoricalNB": ("CategoricalNB", {}, counts, (100000, 20), "predict", "float64"),
    "KNeighborsClassifier low": ("KNeighborsClassifier", {}, lambda n, d: blobs(n, d), (100000, 3), "predict", "float64"),
    "KNeighborsClassifier high": ("KNeighborsClassifier", {"algorithm": "brute"}, lambda n, d: blobs(n, d), (20000, 100), "predict", "float32"),
    "KNeighborsRegressor": ("KNeighborsRegressor", {}, numbers, (50000, 5), "predict", "float64"),
    "NearestCentroid": ("NearestCentroid", {}, lambda n, d: blobs(n, d), (200000, 50), "predict", "float64"),
    "KMeans": ("KMeans", {"n_clusters": 20, "n_init": 1, "random_state": 0}, lambda n, d: blobs(n, d, 20), (200000, 50), None, "float64"),
    "KMeans 100": ("KMeans", {"n_clusters": 100, "n_init": 1, "random_state": 0}, lambda n, d: blobs(n, d, 100), (50000, 50), None, "float64"),
    "MiniBatchKMeans": ("MiniBatchKMeans", {"n_clusters": 20, "n_init": 1, "random_state": 0}, lambda n, d: blobs(n, d, 20), (200000, 50), None, "float64"),
    "DBSCAN low": ("DBSCAN", {"eps": 0.3, "min_samples": 10}, lambda n, d: blobs(n, d), (100000, 3), None, "float64"),
    "DBSCAN high": ("DBSCAN", {"eps": 20.0, "min_samples": 10}, lambda n, d: blobs(n, d), (15000, 50), None, "float64"),
    "HDBSCAN": ("HDBSCAN", {"copy": True}, lambda n, d: blobs(n, d), (20000, 8), None, "float64"),
    "AgglomerativeClustering": ("AgglomerativeClustering", {"n_clusters": 10}, lambda n, d: blobs(n, d), (10000, 8), None, "float64"),
    "AgglomerativeClustering average": ("AgglomerativeClustering", {"n_clusters": 10, "linkage": "average"}, lambda n, d: blobs(n, d), (5000, 8), None, "float64"),
    "BisectingKMeans": ("BisectingKMeans", {"n_clusters": 20, "random_state": 0}, lambda n, d: blobs(n, d, 20), (100000, 50), None, "float64"),
    "Birch": ("Birch", {"n_clusters": 10}, lambda n, d: blobs(n, d), (20000, 3), None, "float64"),
    "OPTICS": ("OPTICS", {}, lambda n, d: blobs(n, d), (4000, 3), None, "float64"),
    "MeanShift": ("MeanShift", {}, lambda n, d: blobs(n, d), (2000, 3), None, "float64"),
    "SpectralEmbedding": ("SpectralEmbedding", {"n_neighbors": 20}, lambda n, d: blobs(n, d), (5000, 50), None, "float64"),
    "SpectralClustering": ("SpectralClustering", {"n_clusters": 10, "affinity": "nearest_neighbors", "random_state": 0}, lambda n, d: blobs(n, d), (5000, 50), None, "float64"),
    "TSNE": ("TSNE", {"random_state": 0}, lambda n, d: blobs(n, d), (10000, 50), None, "float32"),
    "GaussianMixture": ("GaussianMixture", {"n_components": 8, "max_iter": 50, "tol": 0, "random_state": 0}, lambda n, d: blobs(n, d, 8), (50000, 20), None, "float64"),
    "GaussianMixture diag": ("GaussianMixture", {"n_components": 8, "covariance_type": "diag", "max_iter": 50, "tol": 0, "random_state": 0}, lambda n, d: blobs(n, d, 8), (50000, 20), None, "float64"),
    "BayesianGaussianMixture": ("BayesianGaussianMixture", {"n_components": 8, "max_iter": 50, "tol": 0, "random_state": 0}, lambda n, d: blobs(n, d, 8), (50000, 20), None, "float64"),
    "EmpiricalCovariance": ("EmpiricalCovariance", {}, numbers, (200000, 100), None, "float64"),
    "LedoitWolf": ("LedoitWolf", {}, numbers, (200000, 100), None, "float64"),
    "OAS": ("OAS", {}, numbers, (200000, 100), None, "float64"),
    "FactorAnalysis": ("FactorAnalysis", {"n_components": 10}, numbers, (50000, 50), None, "float64"),
    "KernelDensity": ("KernelDensity", {}, lambda n, d: blobs(n, d), (8000, 4), "score_samples", "float64"),
    "MinCovDet": ("MinCovDet", {"random_state": 0}, numbers, (20000, 10), None, "float64"),
    "EllipticEnvelope": ("EllipticEnvelope", {"random_state": 0}, numbers, (2000, 10), "predict", "float64"),
    "IsolationForest": ("IsolationForest", {"random_state": 0}, lambda n, d: blobs(n, d), (50000, 20), "predict", "float64"),
    "IsolationForest contamination": ("IsolationForest", {"random_state": 0, "contamination": 0.1}, lambda n, d: blobs(n, d), (50000, 20), None, "float64"),
    "LocalOutlierFactor": ("LocalOutlierFactor", {}, lambda n, d: blobs(n, d), (20000, 10), None, "float64"),
    "PCA": ("PCA", {"n_components": 10}, numbers, (500000, 50), None, "float64"),
    "IncrementalPCA": ("IncrementalPCA", {"n_components": 10}, numbers, (100000, 50), None, "float64"),
    "FastICA": ("FastICA", {"n_components": 10, "random_state": 0, "max_iter": 20, "tol": 0}, numbers, (100000, 50), None, "float64"),
    "NMF": ("NMF", {"n_components": 20, "random_state": 0}, parts, (20000, 100), None, "float64"),
    "NMF kullback-leibler": ("NMF", {"n_components": 20, "solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 50, "tol": 0, "random_state": 0}, parts, (20000, 100), None, "float64"),
    "TruncatedSVD": ("TruncatedSVD", {"n_components": 10, "random_state": 0}, numbers, (100000, 200), None, "float64"),
    "RandomForestClassifier": ("RandomForestClassifier", {"n_estimators": 50, "random_state": 0}, classes, (50000, 30), None, "float32"),
    "RandomForestRegressor": ("RandomForestRegressor", {"n_estimators": 50, "random_state": 0}, numbers, (20000, 50), None, "float32"),
    "HistGradientBoostingClassifier": ("HistGradientBoostingClassifier", {"early_stopping": False}, classes, (100000, 50), None, "float32"),
    "HistGradientBoostingRegressor": ("HistGradientBoostingRegressor", {"early_stopping": False}, numbers, (100000, 50), None, "float32"),
    "GradientBoostingClassifier": ("GradientBoostingClassifier", {"random_state": 0}, classes, (20000, 30), None, "float32"),
    "GradientBoostingRegressor": ("GradientBoostingRegressor", {"random_state": 0}, numbers, (20000, 30), None, "float32"),
    "AdaBoostClassifier": ("AdaBoostClassifier", {"random_state": 0}, classes, (10000, 20), None, "float32"),
    "AdaBoostRegressor": ("AdaBoostRegressor", {"random_state": 0}, numbers, (10000, 20), None, "float32"),
    "MLPClassifier": ("MLPClassifier", {"max_iter": 5, "random_state": 0}, pixels, (20000, 784), None, "float32"),
    "MLPClassifier small": ("MLPClassifier", {"max_iter": 50, "random_state": 0}, classes, (1000, 20), None, "float32"),
    "MLPRegressor": ("MLPRegressor", {"max_iter": 10, "random_state": 0}, numbers, (20000, 50), None, "float32"),
    "ExtraTreesClassifier": ("ExtraTreesClassifier", {"n_estimators": 100, "random_state": 0}, classes, (20000, 50), None, "float32"),
    "ExtraTreesRegressor": ("ExtraTreesRegressor", {"n_estimators": 50, "random_state": 0}, numbers, (20000, 50), None, "float32"),
    "BaggingClassifier": ("BaggingClassifier", {"n_estimators": 20, "random_state": 0}, classes, (20000, 30), "predict", "float64"),
    "BaggingRegressor": ("BaggingRegressor", {"n_estimators": 20, "random_state": 0}, numbers, (10000, 20), "predict", "float64"),
    "DecisionTreeClassifier": ("DecisionTreeClassifier", {"random_state": 0}, classes, (20000, 50), None, "float64"),
    "DecisionTreeClassifier pixels": ("DecisionTreeClassifier", {"random_state": 0}, pixels, (10000, 784), None, "float32"),
    "DecisionTreeRegressor": ("DecisionTreeRegressor", {"random_state": 0}, numbers, (20000, 50), None, "float64"),
    "DecisionTreeRegressor absolute": ("DecisionTreeRegressor", {"criterion": "absolute_error", "max_depth": 8, "random_state": 0}, numbers, (5000, 20), None, "float64"),
}
PARALLEL = {"BaggingClassifier", "BaggingRegressor", "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor", "KNeighborsClassifier", "KNeighborsRegressor", "DBSCAN", "LassoCV", "ElasticNetCV", "LocalOutlierFactor"}


class Probe:
    def __init__(self, path, device):
        self.process, self.device = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True), device
        self.folder = tempfile.TemporaryDirectory()

    def file(self, name, values):
        path = pathlib.Path(self.folder.name) / name
        np.ascontiguousarray(values, dtype=np.float64).tofile(path)
        return str(path)

    def load(self, X, y):
        labels = np.unique(y) if y.dtype.kind in "iu" else []
        self.data = {"X": self.file("X", X), "n_cols": X.shape[1], "values": self.file("values", y)}
        if len(labels):
            self.data |= {"codes": self.file("codes", np.searchsorted(labels, y)), "classes": [str(c) for c in labels]}

    def seconds(self, estimator, params, then, dtype):
        case = self.data | {"steps": [{"estimator": estimator, "params": params}], "dtype": dtype, "device": self.device,
                            "want": [then + "_only"] if then else []}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["fit"] + answer["apply"]


def sklearn_seconds(estimator, params, then, X, y, classes=CLASSES):
    more = {"n_jobs": -1} if estimator in PARALLEL else {}
    model = classes[estimator](**params, **more)
    begin = time.perf_counter()
    model.fit(X, y)
    if then:
        getattr(model, then)(X)
    return time.perf_counter() - begin


def run_row(probe, name, row, options):
    estimator, params, make, (n, d), then, dtype = row
    X, y = make(max(200, int(n * options.scale)), d)
    probe.load(X, y)
    X = X.astype(dtype)
    peers = [classes for classes in (CLASSES, INTELEX) if estimator in classes]
    tenth = slice(0, max(200, len(X) // 10))   # threads and libraries are there before the clock runs
    for classes in peers:
        sklearn_seconds(estimator, params, then, X[tenth], y[tenth], classes)
    probe.seconds(estimator, params, then, dtype)
    ours, theirs = [], [[] for _ in peers]
    for _ in range(options.pairs):
        ours.append(probe.seconds(estimator, params, then, dtype))
        for seconds, classes in zip(theirs, peers):
            seconds.append(sklearn_seconds(estimator, params, then, X, y, classes))
    cells = [f"{statistics.median(t):.3f} | {statistics.median(b / a for b, a in zip(t, ours)):.2g}" for t in theirs] + ["| "] * (2 - len(peers))
    print(f"| {name} | {X.shape[0]:,} x {d}, {dtype} | {statistics.median(ours):.3f} | {' | '.join(cells)} |", flush=True)


# Fits on less than 1 MB, through the server: what a user waits for, against a fit in a warm Python process.
SERVED = ["GaussianNB", "LogisticRegression", "KNeighborsClassifier", "DecisionTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier",
          "ExtraTreesRegressor", "LinearDiscriminantAnalysis", "KMeans", "PCA",
          "StandardScaler", "Ridge", "LinearRegression", "Lasso", "LassoCV"]


REST = 0.25   # seconds after which the BLAS threads of scikit-learn have stopped spinning, on all cores
UNTIMED = 5   # runs before one that counts, on both sides: after a rest a disk may take 2 ms for its first syncs, and a core for waking


def served_row(connection, name, data, X, y, pairs):
    job = json.dumps(spec({"builtin": data}, [(name, {})], {"fit": {}}))

    def finish():
        connection.request("POST", "/v1/jobs?wait=60s", job, {"Content-Type": "application/json"})
        answer = json.load(connection.getresponse())
        assert answer["state"] == "succeeded", answer
        return 1e3 * answer["result"]["timings"]["total"]

    ours, inside, theirs = [], [], []
    finish()
    sklearn_seconds(name, {}, None, X, y)
    for _ in range(pairs):
        time.sleep(REST)
        for _ in range(UNTIMED):
            finish()
        begin = time.perf_counter()
        inside.append(finish())
        ours.append(1e3 * (time.perf_counter() - begin))
        for _ in range(UNTIMED):
            sklearn_seconds(name, {}, None, X, y)
        theirs.append(1e3 * sklearn_seconds(name, {}, None, X, y))
    ratio, inner = (statistics.median(t / o for t, o in zip(theirs, side)) for side in (ours, inside))
    print(f"| {name} | {data} | {statistics.median(ours):.2f} | {statistics.median(inside):.2f} | {statistics.median(theirs):.2f} | {ratio:.2g} | {inner:.2g} |", flush=True)


def disk_ms(folder):
    """What the disk takes to make 32 KiB more of a file durable, as the store does twice a job."""
    taken = []
    with open(pathlib.Path(folder) / "disk", "wb") as file:
        for _ in range(50):
            file.write(os.urandom(32768))
            file.flush()
            begin = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(taken)


def run_served(names, pairs):
    sets = {"diabetes": datasets.load_diabetes(return_X_y=True), "breast_cancer": datasets.load_breast_cancer(return_X_y=True)}
    with tempfile.TemporaryDirectory() as folder:
        print(f"fdatasync: {disk_ms(folder):.2f} ms\n")
        print("| estimator | data | request to answer, ms | in the server, ms | fit in scikit-learn, ms | ratio | ratio in the server |\n|---|---|---|---|---|---|---|")
        server = Kedged(folder)
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        try:
            for name in names:
                data = "diabetes" if issubclass(CLASSES[name], RegressorMixin) else "breast_cancer"
                served_row(connection, name, data, *sets[data], pairs)
        finally:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--probe", default=PROBE)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--served", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"scikit-learn {sklearn.__version__}, medians of {options.pairs} pairs\n")
    if options.served:
        return run_served(options.only or SERVED, max(options.pairs, 10))
    probe = Probe(options.probe, options.device)
    print("| estimator | data | Kedge s | scikit-learn s | ratio | scikit-learn-intelex s | ratio |\n|---|---|---|---|---|---|---|")
    for name, row in ROWS.items():
        if options.only and row[0] not in options.only and name not in options.only:
            continue
        try:
            run_row(probe, name, row, options)
        except RuntimeError as error:
            print(f"| {name} | {error} |", flush=True)


if __name__ == "__main__":
    main()
