"""C6: long fits of every kind are cancelled in the middle, and their worker lives on with its data.

python3 cancels.py C6 [--long] [--seed N] [--control NAME]"""
import array
import os
import pathlib
import random
import struct
import sys

from rows import FINAL, main, small, spec, wait_for, within

PROMISED = 1.0           # seconds that a cancel may take
MOMENTS = (0.2, 2.5)     # of processor time, after which a fit is cancelled; each takes several times as long

# name: rows, columns, bytes of a number, classes
TABLES = {"wide": (3000, 2500, 1, 10), "deep": (30_000, 256, 1, 10), "tall": (300_000, 20, 1, 10), "classes": (60_000, 40, 2, 20_000)}

# What is fitted, on which table, by which steps; those with a star make the short form.
FITS = [
    ("PCA full*", "wide", [("PCA", {"svd_solver": "full"})]),
    ("PCA covariance*", "wide", [("PCA", {"svd_solver": "covariance_eigh"})]),
    ("PCA mle", "wide", [("PCA", {"n_components": "mle"})]),
    ("PCA leading", "wide", [("PCA", {"svd_solver": "covariance_eigh", "n_components": 300})]),
    ("PCA randomized", "wide", [("PCA", {"svd_solver": "randomized", "n_components": 1500, "iterated_power": 20})]),
    ("TruncatedSVD", "wide", [("TruncatedSVD", {"n_components": 1500, "n_iter": 20})]),
    ("IncrementalPCA", "wide", [("IncrementalPCA", {"batch_size": 2600})]),
    ("FastICA", "tall", [("FastICA", {"max_iter": 100_000, "tol": 0})]),
    ("NMF", "deep", [("NMF", {"n_components": 50, "max_iter": 100_000, "tol": 0})]),
    ("NMF by factors", "wide", [("NMF", {"n_components": 50, "solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 100_000, "tol": 0})]),
    ("random projection", "wide", [("GaussianRandomProjection", {"n_components": 400_000}), "StandardScaler"]),
    ("count sketch", "tall", [("PolynomialCountSketch", {"n_components": 1500, "degree": 8}), "StandardScaler"]),
    ("GaussianMixture*", "deep", [("GaussianMixture", {"n_components": 20, "max_iter": 100_000, "tol": 0})]),
    ("BayesianGaussianMixture", "tall", [("BayesianGaussianMixture", {"n_components": 50, "covariance_type": "diag", "max_iter": 100_000, "tol": 0})]),
    ("covariance", "wide", ["LedoitWolf"]),
    ("robust covariance", "deep", ["MinCovDet"]),
    ("elliptic envelope", "tall", ["EllipticEnvelope"]),
    ("isolation forest", "tall", [("IsolationForest", {"n_estimators": 3000, "contamination": 0.1})]),
    ("FactorAnalysis", "wide", [("FactorAnalysis", {"n_components": 50, "tol": 0})]),
    ("kernel density", "deep", ["KernelDensity"]),
    ("centroids of 20,000 classes", "classes", [("NearestCentroid", {"metric": "manhattan"})]),
    ("local outlier factor", "deep", [("LocalOutlierFactor", {"metric": "manhattan"})]),
    ("Ridge svd*", "wide", [("Ridge", {"solver": "svd"})]),
    ("RidgeCV", "wide", ["RidgeCV"]),
    ("RidgeClassifierCV", "wide", ["RidgeClassifierCV"]),
    ("LinearRegression", "wide", ["LinearRegression"]),
    ("LinearRegression positive", "wide", [("LinearRegression", {"positive": True})]),
    ("Lasso", "wide", [("Lasso", {"alpha": 1e-9, "max_iter": 1_000_000, "tol": 1e-14})]),
    ("LDA svd", "wide", ["LinearDiscriminantAnalysis"]),
    ("LDA eigen", "wide", [("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"})]),
    ("QDA", "wide", [("QuadraticDiscriminantAnalysis", {"reg_param": 0.5})]),
    ("Nystroem*", "wide", [("Nystroem", {"n_components": 2800})]),
    ("logistic regression", "wide", [("LogisticRegression", {"C": 1e6, "max_iter": 100_000, "tol": 1e-14})]),
    ("logistic regression in folds", "deep", [("LogisticRegressionCV", {"max_iter": 100_000, "tol": 1e-14})]),
    ("SVC*", "deep", ["SVC"]),
    ("SVC of all pairs", "wide", [("SVC", {"probability": True, "C": 1e6, "tol": 1e-9})]),
    ("NuSVC", "deep", [("NuSVC", {"nu": 0.5})]),
    ("SVR", "deep", ["SVR"]),
    ("NuSVR", "deep", ["NuSVR"]),
    ("OneClassSVM", "deep", ["OneClassSVM"]),
    ("KernelPCA", "wide", ["KernelPCA", "GaussianNB"]),
    ("KernelRidge", "wide", [("KernelRidge", {"kernel": "rbf"})]),
    ("Poisson regression", "wide", [("PoissonRegressor", {"alpha": 0, "max_iter": 100_000})]),
    ("gamma regression", "tall", [("PolynomialFeatures", {"degree": 3}), "StandardScaler", ("GammaRegressor", {"alpha": 0})]),
    ("Tweedie regression", "wide", [("TweedieRegressor", {"power": 1.5, "alpha": 0, "max_iter": 100_000})]),
    ("Huber regression", "wide", [("HuberRegressor", {"alpha": 0, "max_iter": 100_000})]),
    ("linear support vectors", "wide", [("LinearSVC", {"C": 1e6, "loss": "hinge", "max_iter": 100_000})]),
    ("linear support vector regression", "wide", [("LinearSVR", {"C": 1e6, "max_iter": 100_000})]),
    ("gradient descent", "tall", [("SGDClassifier", {"max_iter": 100_000, "tol": None})]),
    ("gradient descent for values", "tall", ["StandardScaler", ("SGDRegressor", {"max_iter": 100_000, "tol": None})]),
    ("perceptron", "tall", [("Perceptron", {"max_iter": 100_000, "tol": None})]),
    ("passive-aggressive", "tall", [("PassiveAggressiveClassifier", {"max_iter": 100_000, "tol": None})]),
    ("passive-aggressive for values", "tall", [("PassiveAggressiveRegressor", {"max_iter": 100_000, "tol": None})]),
    ("BayesianRidge", "wide", ["BayesianRidge"]),
    ("ARDRegression", "wide", [("ARDRegression", {"threshold_lambda": 1e300, "tol": 0})]),
    ("matching pursuit", "wide", [("OrthogonalMatchingPursuit", {"tol": 0})]),
    ("least angles", "wide", [("Lars", {"n_nonzero_coefs": 100_000})]),
    ("lasso by least angles", "wide", [("LassoLars", {"alpha": 0, "max_iter": 100_000})]),
    ("lasso by a criterion", "wide", [("LassoLarsIC", {"max_iter": 100_000})]),
    ("least angles in folds", "wide", [("LarsCV", {"max_iter": 100_000})]),
    ("lasso by least angles in folds", "wide", [("LassoLarsCV", {"max_iter": 100_000})]),
    ("partial least squares", "wide", [("PLSRegression", {"n_components": 2000})]),
    ("quantile regression", "wide", [("QuantileRegressor", {"alpha": 0})]),
    ("Theil-Sen", "tall", [("TheilSenRegressor", {"max_subpopulation": 1_000_000})]),
    ("RANSAC", "tall", [("RANSACRegressor", {"max_trials": "inf", "stop_probability": 1.0, "residual_threshold": 1e-9})]),
    ("nearest values", "deep", [("KNNImputer", {"missing_values": 0}), "GaussianNB"]),
    ("values by regressions", "wide", [("IterativeImputer", {"missing_values": 0, "max_iter": 100_000, "tol": 0}), "GaussianNB"]),
    ("DBSCAN", "deep", [("DBSCAN", {"eps": 1150, "min_samples": 5})]),
    ("DBSCAN manhattan*", "deep", [("DBSCAN", {"eps": 15_000, "metric": "manhattan"})]),
    ("HDBSCAN", "tall", ["HDBSCAN"]),
    ("linkage of centroids", "deep", ["AgglomerativeClustering"]),
    ("linkage of a matrix", "deep", [("AgglomerativeClustering", {"linkage": "average"})]),
    ("mean shift", "tall", ["MeanShift"]),
    ("OPTICS", "tall", ["OPTICS"]),
    ("Birch", "tall", [("Birch", {"threshold": 1e-3})]),
    ("halved clusters", "deep", [("BisectingKMeans", {"n_clusters": 3000, "max_iter": 3000, "tol": 0})]),
    ("t-SNE", "deep", [("TSNE", {"max_iter": 100_000, "n_iter_without_progress": 100_000})]),
    ("spectral clusters", "deep", [("SpectralClustering", {"n_clusters": 100})]),
    ("UMAP", "deep", [("UMAP", {"n_epochs": 100_000})]),
    ("radius search", "deep", [("RadiusNeighborsClassifier", {"radius": 1700})]),
    ("nearest neighbours", "deep", [("KNeighborsClassifier", {"metric": "manhattan"})]),
    ("KMeans", "deep", [("KMeans", {"n_clusters": 3000, "max_iter": 3000, "tol": 0})]),
    ("silhouette", "deep", [("KMeans", {"n_clusters": 2, "n_init": 1, "max_iter": 2})]),
    ("forest", "tall", [("RandomForestClassifier", {"n_estimators": 10_000})]),
    ("bagging", "tall", [("BaggingClassifier", {"n_estimators": 10_000})]),
    ("elimination", "tall", [("RFE", {"estimator": {"estimator": "RandomForestClassifier"}, "n_features_to_select": 1}), "GaussianNB"]),
    ("function of a target", "tall", [("TransformedTargetRegressor", {"regressor": {"estimator": "ExtraTreesRegressor", "params": {"n_estimators": 10_000}}})]),
    ("elimination in folds", "tall", [("RFECV", {"estimator": {"estimator": "RandomForestClassifier"}}), "GaussianNB"]),
    ("columns one by one", "tall", [("SequentialFeatureSelector", {"estimator": {"estimator": "RandomForestClassifier"}}), "GaussianNB"]),
    ("boosting", "tall", [("HistGradientBoostingClassifier", {"max_iter": 10_000, "early_stopping": False})]),
    ("exact boosting", "tall", [("GradientBoostingClassifier", {"n_estimators": 10_000})]),
    ("AdaBoost", "tall", [("AdaBoostClassifier", {"n_estimators": 10_000})]),
    ("network", "tall", ["StandardScaler", ("MLPClassifier", {"max_iter": 100_000, "n_iter_no_change": "inf"})]),
    ("exact tree", "tall", [("ExtraTreesRegressor", {"n_estimators": 10_000})]),
    ("polynomials of 100,000 rows", "tall", [("PolynomialFeatures", {"degree": 3}), "StandardScaler", "Ridge"]),
    ("splines", "tall", [("SplineTransformer", {"n_knots": 60}), "Ridge"]),
    ("quantiles", "tall", [("KBinsDiscretizer", {"n_bins": 200, "strategy": "kmeans"}), ("PCA", {"svd_solver": "covariance_eigh"})]),
    ("naive Bayes of 20,000 classes", "classes", ["GaussianNB"]),
    ("logistic regression of 20,000 classes", "classes", [("LogisticRegression", {"max_iter": 1000})]),
    ("ridge of 10,000 classes", "classes", [("PolynomialFeatures", {"degree": 2}), "RidgeClassifier"]),
    ("neighbours of 20,000 classes", "classes", ["KNeighborsClassifier"]),
    ("forest of 20,000 classes", "classes", [("RandomForestClassifier", {"n_estimators": 100})]),
    ("search", "deep", ["KNeighborsClassifier"]),
]
TASKS = {"silhouette": {"crossValidate": {"cv": 2, "scoring": ["silhouette_score"]}},
         "naive Bayes of 20,000 classes": {"crossValidate": {"cv": 3}},
         "neighbours of 20,000 classes": {"crossValidate": {"cv": 3}},
         "radius search": {"crossValidate": {"cv": 3}}, "nearest neighbours": {"crossValidate": {"cv": 3}},
         "search": {"gridSearch": {"paramGrid": [{"kneighborsclassifier__n_neighbors": list(range(1, 30)), "kneighborsclassifier__p": [1, 3]}]}}}

ROWS = {"polynomials of 100,000 rows": 100_000, "ridge of 10,000 classes": 10_000}   # as many as the memory of a small machine takes


def table(dice, rows, columns, width, classes):
    """A .npy file of random whole numbers, the class in the last column."""
    numbers = array.array("B" if width == 1 else "H", dice.randbytes(rows * columns * width))
    for i in range(rows):
        numbers[(i + 1) * columns - 1] = i % classes
    header = f"{{'descr': '{'|u1' if width == 1 else '<u2'}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers.tobytes()


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cancelled_in_time(row, server, name, job, worker, moment):
    """Seconds from the cancel of a job that computes to its end; None if something else happened."""
    begin = processor_seconds(worker)
    wait_for(lambda: server.job(job)["state"] not in ("queued", "fetching"), 60, f"{name}: running")
    wait_for(lambda: server.job(job)["state"] in FINAL or processor_seconds(worker) - begin >= moment, 120, f"{name}: at its moment")
    status = server.call("POST", f"/v1/jobs/{job}/cancel").status
    end = within(lambda: server.job(job)["state"] in FINAL, 10)
    ended = server.job(job)
    if not row.expect(status == 202 and ended["state"] == "cancelled", f"{name}: was not there to be cancelled: {ended['state']} {ended.get('error', '')}"):
        return None
    row.expect(server.workers() == [worker], f"{name}: its worker was replaced, cancelled after {moment:.1f} s of work")
    return end


def c6(row):
    dice, took = random.Random(row.seed), {}
    server = row.kedged()
    try:
        for name, shape in TABLES.items():
            reply = server.call("PUT", f"/v1/datasets/{name}", table(dice, *shape), {"Content-Type": "application/x-npy"})
            assert reply.status in (200, 201), (reply.status, reply.body)
        server.run(small())
        for title, data, steps in FITS:
            if row.found() or not (row.long or title.endswith("*")):
                continue
            name, (worker,) = title.rstrip("*"), server.workers()
            select = {"dtype": "float64", **({"rows": ROWS[name]} if name in ROWS else {})}
            job = server.submit(spec(dataset={"stored": data}, steps=steps, task=TASKS.get(name, {"fit": {}}), select=select))
            end = cancelled_in_time(row, server, name, job, worker, dice.uniform(*MOMENTS))
            if end is not None:
                took[name] = end
            if not row.found():
                wait_for(server.workers, 20, "a worker")
        slowest = max(took, key=took.get) if took else "none"
        row.expect_cost(all(end <= PROMISED for end in took.values()), f"cancels took up to {took.get(slowest, 0):.2f} s ({slowest})")
        row.expect(server.run(small())["state"] == "succeeded", "the next job does not run")
        return f"{len(took)} fits cancelled, the slowest in {took.get(slowest, 0) * 1e3:.0f} ms ({slowest})"
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main({"C6": c6}, {"C6": ["deaf-ops"]}))
