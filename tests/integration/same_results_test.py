"""The same jobs on two builds give the same results, byte for byte: every estimator of the catalogue and every task.

    python3 tests/integration/same_results_test.py --against ../before/build/dev/bin     # before and after a change that should change nothing
    python3 tests/integration/same_results_test.py                                       # this build twice
    python3 tests/integration/same_results_test.py --threads 1                           # the same with one thread at the first time

Prints each place that differs, with both values. What depends on time or place (ids, timings, memory) is left out.
"""
import argparse
import concurrent.futures
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, Kedged  # noqa: E402

IRIS, DIGITS, WINE, CANCER, DIABETES = ({"builtin": name} for name in ("iris", "digits", "wine", "breast_cancer", "diabetes"))
MESSY = {"inline": {"csv": "age,plan,when,y\n" + "".join(
    f"{'' if i % 7 == 0 else 20 + i * 13 % 50},{'abc'[i % 3]},2024-0{1 + i % 9}-1{i % 8},{'yes' if (i * 13 % 50 + 9 * (i % 3)) % 40 > 18 else 'no'}\n" for i in range(90)),
    "target": "y"}}
WORDS = ("no signal", "slow", "invoice", "refund", "Größe", "parcel", "late", "please", "again", "restart")
TEXTS = {"inline": {"csv": "message,team\n" + "".join(f"{' '.join(WORDS[(i * k + k) % 10] for k in range(i % 6))},{'ab'[i * 7 % 10 > 4]}\n" for i in range(90)), "target": "team"}}
LEFT_OUT = {"timings", "memory", "device", "id", "model", "created", "started", "ended", "host", "version", "seconds", "fitSeconds", "predictSeconds", "threads", "refit"}
MOST_SHOWN = 20


def cross_validate(**fields):
    return {"crossValidate": {"cv": 3, "returnTrainScore": True, **fields}}


def job(dataset, steps, task, **more):
    pipeline = [s if isinstance(s, dict) else {"estimator": s} for s in steps]
    return {"dataset": dataset, "pipeline": pipeline, "task": task, **more}


def step(estimator, /, **params):
    return {"estimator": estimator, "params": params}


def classifiers():
    both = {"scoring": ["accuracy", "f1_macro"], "confusionMatrix": True}
    with_probabilities = {"scoring": ["accuracy", "neg_log_loss"], "confusionMatrix": True, "curves": True}
    for name in ("LogisticRegression", "KNeighborsClassifier", "GaussianNB", "LinearDiscriminantAnalysis", "DecisionTreeClassifier", "ExtraTreesClassifier", "DummyClassifier"):
        yield f"{name} wine", job(WINE, ["StandardScaler", name], cross_validate(**with_probabilities))
    for name in ("MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"):
        yield f"{name} iris", job(IRIS, [step("KBinsDiscretizer", encode="ordinal", n_bins=4), step(name, **({"min_categories": 4} if name == "CategoricalNB" else {}))],
                                  cross_validate(**both, splitter="StratifiedShuffleSplit", randomState=1))
    yield "SVC", job(WINE, ["StandardScaler", step("SVC", probability=True, random_state=3)], cross_validate(**with_probabilities))
    yield "NuSVC", job(IRIS, ["StandardScaler", step("NuSVC", nu=0.3)], cross_validate(**both))
    yield "NearestCentroid", job(WINE, ["StandardScaler", step("NearestCentroid", priors="empirical", shrink_threshold=0.5)], cross_validate(**with_probabilities))
    yield "RidgeClassifier", job(CANCER, ["StandardScaler", "RidgeClassifier"], cross_validate(**both))
    yield "RidgeClassifierCV", job(WINE, ["StandardScaler", "RidgeClassifierCV"], cross_validate(**both))
    yield "LogisticRegressionCV", job(WINE, ["StandardScaler", step("LogisticRegressionCV", Cs=4, cv=3)], cross_validate(**both))
    for name in ("SGDClassifier", "Perceptron", "PassiveAggressiveClassifier"):
        yield name, job(WINE, ["StandardScaler", step(name, random_state=1)], cross_validate(**both))
    yield "LinearSVC", job(WINE, ["StandardScaler", step("LinearSVC", loss="hinge")], cross_validate(**both))
    yield "RadiusNeighborsClassifier", job(IRIS, [step("RadiusNeighborsClassifier", radius=2.0)], cross_validate(shuffle=True, randomState=0))
    yield "QuadraticDiscriminantAnalysis", job(IRIS, ["QuadraticDiscriminantAnalysis"], cross_validate(**both))
    yield "RandomForestClassifier", job(DIGITS, [step("RandomForestClassifier", n_estimators=20)], cross_validate(**both), select={"dtype": "float32"})
    yield "HistGradientBoostingClassifier", job(DIGITS, [step("HistGradientBoostingClassifier", max_iter=10)], cross_validate(**both))
    yield "GradientBoostingClassifier", job(WINE, [step("GradientBoostingClassifier", n_estimators=10, subsample=0.7, random_state=1)], cross_validate(**both))
    yield "AdaBoostClassifier", job(IRIS, [step("AdaBoostClassifier", n_estimators=10)], cross_validate(**both))
    yield "MLPClassifier", job(WINE, ["StandardScaler", step("MLPClassifier", hidden_layer_sizes=[20], max_iter=20)], cross_validate(**both))
    layers = [{"embedding": {"columns": [0, 2], "input_dim": 4, "output_dim": 3}}, "dense(12)", "batch_norm", "gelu", "dropout(0.2)", "dense(8, relu)", "layer_norm"]
    network = step("MLPClassifier", layers=layers, solver="adamw", learning_rate_init=0.05, max_iter=20, early_stopping=True, scoring="neg_log_loss", random_state=1)
    yield "MLPClassifier layers", job(IRIS, [step("KBinsDiscretizer", encode="ordinal", n_bins=4), network], cross_validate(**both))
    yield "HistGradientBoostingClassifier mixed", job(MESSY, [step("HistGradientBoostingClassifier", max_iter=20, early_stopping=True, max_features=0.5)], cross_validate(**both),
                                                      select={"types": {"when": "date"}})


def regressors():
    task = cross_validate(scoring=["r2", "neg_root_mean_squared_error"], splitter="RepeatedKFold", nRepeats=2, randomState=3)
    for name in ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "KNeighborsRegressor", "DecisionTreeRegressor", "DummyRegressor"):
        yield name, job(DIABETES, ["StandardScaler", name], task)
    for name, params in (("SVR", {"C": 100.0}), ("NuSVR", {"C": 100.0, "nu": 0.3}), ("KernelRidge", {"kernel": "rbf", "gamma": 0.1})):
        yield name, job(DIABETES, ["StandardScaler", step(name, **params)], task)
    for name in ("TweedieRegressor", "HuberRegressor", "LinearSVR", "BayesianRidge", "ARDRegression", "OrthogonalMatchingPursuit", "Lars", "LassoLars", "LassoLarsIC", "LarsCV", "LassoLarsCV"):
        yield name, job(DIABETES, ["StandardScaler", name], task)
    for name in ("SGDRegressor", "PassiveAggressiveRegressor"):
        yield name, job(DIABETES, ["StandardScaler", step(name, random_state=1)], task)
    for name in ("PoissonRegressor", "GammaRegressor"):
        yield name, job(DIABETES, ["StandardScaler", step(name, alpha=0.01)], task)
    yield "IsotonicRegression", job(DIABETES, [step("SelectKBest", score_func="f_regression", k=1), step("IsotonicRegression", increasing="auto", out_of_bounds="clip")], task)
    yield "PLSRegression", job(DIABETES, ["StandardScaler", step("PLSRegression", n_components=3)], task)
    yield "QuantileRegressor", job(DIABETES, ["StandardScaler", step("QuantileRegressor", quantile=0.7, alpha=0.01)], task)
    yield "TheilSenRegressor", job(DIABETES, ["StandardScaler", step("TheilSenRegressor", max_subpopulation=200, random_state=1)], task)
    yield "RANSACRegressor", job(DIABETES, ["StandardScaler", step("RANSACRegressor", random_state=1)], task)
    yield "RadiusNeighborsRegressor", job(DIABETES, ["StandardScaler", step("RadiusNeighborsRegressor", radius=8.0)], task)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        yield name, job(DIABETES, [step(name, n_estimators=20, max_depth=8)], task)
    yield "GradientBoostingRegressor", job(DIABETES, [step("GradientBoostingRegressor", loss="huber", n_estimators=20)], task)
    yield "TransformedTargetRegressor", job(DIABETES, [step("TransformedTargetRegressor", regressor=step("Ridge"), func="log1p", inverse_func="expm1")], task)
    yield "AdaBoostRegressor", job(DIABETES, [step("AdaBoostRegressor", n_estimators=5, random_state=1)], task)
    yield "MLPRegressor", job(DIABETES, ["StandardScaler", step("MLPRegressor", hidden_layer_sizes=[8], max_iter=10, solver="sgd", random_state=1)], task)
    network = step("MLPRegressor", layers=["dense(12, silu)", "layer_norm"], solver="rmsprop", learning_rate_init=0.5, lr_schedule="step(4, 0.5)", max_grad_norm=1.0,
                   max_iter=10, early_stopping=True, scoring="neg_mean_absolute_error", random_state=1)
    yield "MLPRegressor layers", job(DIABETES, ["StandardScaler", network], task)
    yield "HistGradientBoostingRegressor", job(DIABETES, [step("HistGradientBoostingRegressor", loss="absolute_error", max_iter=20)], task)


def transformers():
    fit = {"fit": {}}
    yield "scalers", job(CANCER, ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer", "BernoulliNB"], fit)
    yield "maps", job(CANCER, [step("QuantileTransformer", n_quantiles=50), "PowerTransformer", "VarianceThreshold", "GaussianNB"], fit)
    yield "KNNImputer", job(MESSY, [step("ColumnTransformer", transformers=[{"name": "n", "transformer": step("KNNImputer", n_neighbors=3, add_indicator=True), "columns": {"dtypeInclude": "number"}}]), "GaussianNB"], fit, select={"types": {"when": "date"}})
    yield "FunctionTransformer", job(IRIS, [step("FunctionTransformer", func="log1p"), step("FunctionTransformer", func=["a = sepal_length_cm / sepal_width_cm ** 2", "b = clip(petal_length_cm, 0.5, 1) * (petal_width_cm > 0.3)", "c = petal_width_cm"]),
                                            "GaussianNB"], fit)
    yield "IterativeImputer", job(MESSY, [step("ColumnTransformer", transformers=[{"name": "n", "transformer": step("IterativeImputer", imputation_order="random", random_state=1, add_indicator=True), "columns": {"dtypeInclude": "number"}}]),
                                          "GaussianNB"], fit, select={"types": {"when": "date"}})
    for name in ("SMOTE", "RandomOverSampler", "RandomUnderSampler"):
        yield name, job(WINE, ["StandardScaler", step(name, random_state=1), "LogisticRegression"], cross_validate(returnTrainScore=True))
    yield "TargetEncoder", job(MESSY, [step("ColumnTransformer", transformers=[{"name": "c", "transformer": step("TargetEncoder", random_state=1, cv=3), "columns": {"dtypeInclude": "category"}}]), "GaussianNB"],
                               cross_validate(), select={"types": {"when": "date"}})
    yield "RFECV", job(IRIS, [step("RFECV", estimator=step("RidgeClassifier"), cv=3), step("SequentialFeatureSelector", estimator=step("GaussianNB"), cv=2), "GaussianNB"], fit)
    yield "error rates", job(CANCER, ["StandardScaler", step("SelectFpr", alpha=0.5), step("SelectFdr", alpha=0.3), "SelectFwe", step("GenericUnivariateSelect", mode="fpr", param=0.05), "GaussianNB"], fit)
    yield "bases", job(IRIS, [step("SplineTransformer", n_knots=4), step("PolynomialFeatures", degree=2), step("SelectKBest", k=20), step("SelectPercentile", percentile=50),
                              "LinearDiscriminantAnalysis"], fit)
    for name in ("PCA", "IncrementalPCA", "TruncatedSVD", "FastICA", "FactorAnalysis", "NMF"):
        yield name, job(DIGITS, [step(name, n_components=10), "KNeighborsClassifier"], cross_validate())
    for name in ("GaussianRandomProjection", "SparseRandomProjection"):
        yield name, job(DIGITS, [step(name, n_components=20, random_state=0), "KNeighborsClassifier"], cross_validate())
    yield "PolynomialCountSketch", job(WINE, ["StandardScaler", step("PolynomialCountSketch", n_components=60, random_state=0), "LogisticRegression"], cross_validate())
    yield "KernelPCA", job(WINE, ["StandardScaler", step("KernelPCA", n_components=5, kernel="rbf"), "LogisticRegression"], cross_validate())
    yield "Nystroem", job(WINE, ["StandardScaler", step("Nystroem", n_components=40), "LogisticRegression"], cross_validate())
    yield "FeatureUnion", job(WINE, [step("FeatureUnion", transformer_list=[["pca", step("PCA", n_components=3)], ["bins", step("KBinsDiscretizer", n_bins=3)]]),
                                     "LogisticRegression"], cross_validate())
    columns = [{"name": "num", "columns": {"dtypeInclude": "number"},
                "transformer": [step("SimpleImputer", strategy="median", add_indicator=True), step("StandardScaler")]},
               {"name": "cat", "columns": {"dtypeInclude": "category"}, "transformer": [step("OneHotEncoder", handle_unknown="ignore")]}]
    yield "ColumnTransformer", job(MESSY, [step("ColumnTransformer", transformers=columns), "LogisticRegression"], cross_validate(),
                                   select={"types": {"when": "date:parts"}})
    ordinal = [["cat", step("OrdinalEncoder"), ["plan"]], ["gaps", "MissingIndicator", ["age"]]]
    ordinal[1][1] = step("MissingIndicator", features="all")
    body = {"columns": ["message"], "target": "team"}
    for name, params, model in (("CountVectorizer", {"ngram_range": [1, 2]}, ["TfidfTransformer", "MultinomialNB"]), ("TfidfVectorizer", {"sublinear_tf": True}, ["LogisticRegression"]),
                                ("HashingVectorizer", {"n_features": 1024, "analyzer": "char_wb", "ngram_range": [2, 3]}, [step("SGDClassifier", random_state=0)])):
        yield name, job(TEXTS, [step(name, **params), *model], cross_validate(), select=body)
    yield "OrdinalEncoder", job(MESSY, [step("ColumnTransformer", transformers=ordinal), "DecisionTreeClassifier"], cross_validate(), select={"types": {"when": "date"}})


def others():
    fit = {"fit": {}}
    for name, params in (("KMeans", {"n_clusters": 3}), ("MiniBatchKMeans", {"n_clusters": 3}), ("DBSCAN", {"eps": 0.8}), ("BisectingKMeans", {"n_clusters": 5}), ("Birch", {"threshold": 0.7}), ("OPTICS", {"max_eps": 4.0}), ("OneClassSVM", {"nu": 0.2}), ("NearestNeighbors", {})):
        yield name, job(IRIS, ["StandardScaler", step(name, **params)], fit)
    for name, params in (("GaussianMixture", {"n_components": 3}), ("BayesianGaussianMixture", {"n_components": 3, "covariance_type": "tied"})):
        yield name, job(WINE, ["StandardScaler", step(name, random_state=0, **params)], fit)
    for name in ("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS", "MinCovDet", "EllipticEnvelope", "IsolationForest", "LocalOutlierFactor", "KernelDensity"):
        yield name, job(WINE, ["StandardScaler", name], fit)
    yield "fitScore", job(WINE, ["StandardScaler", "LogisticRegression"], {"fitScore": {"testSize": 0.3, "stratify": True, "randomState": 5, "curves": True}})
    grid = [{"model__n_neighbors": [1, 3, 5]}, {"model": [step("LogisticRegression")], "model__C": [0.1, 1.0]},
            {"model": [step("RandomForestClassifier")], "model__n_estimators": [5, 10]}]
    named = [{"estimator": "StandardScaler"}, {"name": "model", "estimator": "KNeighborsClassifier"}]
    yield "gridSearch", job(DIGITS, named, {"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": 3}}})
    drawn = {"model__n_neighbors": {"randint": [1, 9]}, "model__weights": ["uniform", "distance"]}
    yield "randomizedSearch", job(WINE, named, {"randomizedSearch": {"paramDistributions": drawn, "nIter": 5, "randomState": 1, "crossValidate": {"cv": 3}}})
    yield "learningCurve", job(WINE, named, {"learningCurve": {"shuffle": True, "randomState": 3, "crossValidate": {"cv": 3}}})
    yield "validationCurve", job(WINE, named, {"validationCurve": {"paramName": "model__n_neighbors", "paramRange": [1, 3, 9], "crossValidate": {"cv": 3}}})
    yield "permutationTestScore", job(IRIS, named, {"permutationTestScore": {"nPermutations": 5, "randomState": 1, "crossValidate": {"cv": 3}}})
    yield "permutationImportance", job(WINE, named, {"permutationImportance": {"nRepeats": 3, "maxSamples": 0.5, "fitScore": {"testSize": 0.4, "randomState": 1}}})
    yield "partialDependence", job(WINE, named, {"partialDependence": {"features": [0, [1, 2]], "gridResolution": 5, "kind": "both"}})
    yield "halvingGridSearch", job(DIGITS, named, {"halvingGridSearch": {"paramGrid": grid[0], "randomState": 2, "crossValidate": {"cv": 3}}})


def composed():
    nearest, bayes = step("KNeighborsClassifier", n_neighbors=5), step("GaussianNB")
    ridge, near = step("Ridge"), step("KNeighborsRegressor", n_neighbors=5)
    yield "VotingClassifier", job(WINE, [step("VotingClassifier", estimators=[["knn", [step("StandardScaler"), nearest]], ["nb", bayes]], voting="soft")], cross_validate())
    yield "StackingClassifier", job(WINE, [step("StackingClassifier", estimators=[["knn", nearest], ["nb", bayes]])], cross_validate())
    yield "BaggingClassifier", job(WINE, [step("BaggingClassifier", max_features=0.5, random_state=1)], cross_validate())
    for name in ("OneVsRestClassifier", "OneVsOneClassifier", "CalibratedClassifierCV"):
        yield name, job(WINE, ["StandardScaler", step(name, estimator=nearest if name.startswith("Cal") else step("LogisticRegression"))], cross_validate())
    yield "VotingRegressor", job(DIABETES, [step("VotingRegressor", estimators=[["ridge", ridge], ["knn", near]])], cross_validate(scoring=["r2"]))
    yield "StackingRegressor", job(DIABETES, [step("StackingRegressor", estimators=[["ridge", ridge], ["knn", near]])], cross_validate(scoring=["r2"]))
    yield "BaggingRegressor", job(DIABETES, [step("BaggingRegressor", estimator=near, random_state=1)], cross_validate(scoring=["r2"]))
    yield "MultiOutputClassifier", job(MESSY, [step("ColumnTransformer", transformers=[{"name": "n", "transformer": step("SimpleImputer"), "columns": ["age"]}]),
                                               step("MultiOutputClassifier", estimator=bayes)], cross_validate(), select={"types": {"when": "drop"}, "targets": ["plan", "y"]})
    yield "MultiOutputRegressor", job(DIABETES, ["StandardScaler", step("MultiOutputRegressor", estimator=ridge)], cross_validate(scoring=["r2"]),
                                      select={"targets": ["target", "bmi"]})
    yield "ClassifierChain", job(MESSY, [step("ColumnTransformer", transformers=[{"name": "n", "transformer": step("SimpleImputer"), "columns": ["age"]}]),
                                         step("ClassifierChain", estimator=bayes, order=[1, 0])], cross_validate(), select={"types": {"when": "drop"}, "targets": ["plan", "y"]})
    yield "RegressorChain", job(DIABETES, ["StandardScaler", step("RegressorChain", estimator=ridge, cv=3)], cross_validate(scoring=["r2"]),
                                select={"targets": ["target", "bmi"]})
    yield "SelectFromModel", job(DIABETES, [step("SelectFromModel", estimator=ridge), "LinearRegression"], cross_validate(scoring=["r2"]))
    yield "RFE", job(DIABETES, [step("RFE", estimator=ridge, n_features_to_select=4), "LinearRegression"], cross_validate(scoring=["r2"]))


def written():
    return dict(pair for group in (classifiers, regressors, transformers, composed, others) for pair in group())


def specs(catalogue):
    """The jobs above, and one for each estimator that they do not name, with its defaults."""
    jobs = written()
    for name in sorted(set(catalogue) - set().union(*(named_in(spec) for spec in jobs.values()))):
        match catalogue[name]:
            case "classifier":
                jobs[name] = job(WINE, ["StandardScaler", name], cross_validate())
            case "regressor":
                jobs[name] = job(DIABETES, ["StandardScaler", name], cross_validate(scoring=["r2"]))
            case "transformer":
                jobs[name] = job(IRIS, [name, "GaussianNB"], cross_validate())
            case _:
                jobs[name] = job(WINE, ["StandardScaler", name], {"fit": {}})
    return jobs


def asks():
    """(job that fits a model, task with that model) of both tasks that take one."""
    transformers = ["StandardScaler", step("PCA", n_components=8)]
    forest = job(DIGITS, [*transformers, step("RandomForestClassifier", n_estimators=10)], {"fit": {}})
    return {"predict": (forest, {"predict": {"output": "predict_proba", "format": "csv"}}),
            "transform": (job(DIGITS, transformers, {"fit": {}}), {"transform": {"format": "npy"}})}


def named_in(value):
    """Names of estimators in a description."""
    if isinstance(value, dict):
        own = {value["estimator"]} if isinstance(value.get("estimator"), str) else set()
        return own.union(*map(named_in, value.values()))
    return set().union(*map(named_in, value)) if isinstance(value, list) else set()


def kept(value):
    """A result without what depends on time and place."""
    if isinstance(value, dict):
        return {name: kept(inner) for name, inner in value.items() if name not in LEFT_OUT and not name.endswith(("_time", "_times"))}
    return [kept(inner) for inner in value] if isinstance(value, list) else value


def differences(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [d for name in before for d in differences(before[name], after[name], f"{path}.{name}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [d for i, (b, a) in enumerate(zip(before, after)) for d in differences(b, a, f"{path}[{i}]")]
    return [] if json.dumps(before) == json.dumps(after) else [f"{path}: {json.dumps(before)[:200]} before, {json.dumps(after)[:200]} after"]


class Side:
    """A server of one build."""

    def __init__(self, folder, programs, threads):
        folder.mkdir()
        self.server = Kedged(folder, env={"OMP_NUM_THREADS": str(threads)} if threads else None, programs=programs)

    def result(self, spec):
        ended = self.server.run(spec)
        assert ended["state"] == "succeeded", ended.get("error")
        return ended

    def answer(self, spec):
        """What a job leaves, without what depends on time and place; of a pair from asks() its artifact, too."""
        if isinstance(spec, dict):
            return kept(self.result(spec)["result"])
        fitted, task = spec
        (kind, fields), = task.items()
        ended = self.result(job(fitted["dataset"], [], {kind: {**fields, "model": self.result(fitted)["result"]["model"]}}))
        files = [self.server.call("GET", f"/v1/jobs/{ended['id']}/artifacts/{file['name']}").body.hex() for file in ended["result"]["artifacts"]]
        return {"result": kept(ended["result"]), "files": files}

    def catalogue(self):
        return {estimator["name"]: estimator["kind"] for estimator in self.server.call("GET", "/v1/estimators").json()["estimators"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="DIR", help="the programs of another build; else this build, again")
    parser.add_argument("--threads", type=int, help="of the other build (default: all)")
    parser.add_argument("--control", action="store_true", help="change the last digit of one result: only this must be found")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = Side(pathlib.Path(folder) / "before", options.against or BIN, options.threads)
        after = Side(pathlib.Path(folder) / "after", BIN, None)
        try:
            jobs = specs(after.catalogue()) | asks()
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                pairs = [(name, pool.submit(before.answer, spec), pool.submit(after.answer, spec)) for name, spec in jobs.items()]
                results = [(name, b.result(), a.result()) for name, b, a in pairs]
        finally:
            before.server.stop(), after.server.stop()
    if options.control:
        score = results[0][2]["scores"]["accuracy"]
        score["mean"] += 2 ** -53
    found = [f"{name}{line}" for name, b, a in results for line in differences(b, a)]
    for line in found[:MOST_SHOWN]:
        print(line)
    print(f"{len(jobs)} jobs, {len(found)} differences")
    return 1 if len(found) != options.control else 0


if __name__ == "__main__":
    sys.exit(main())
