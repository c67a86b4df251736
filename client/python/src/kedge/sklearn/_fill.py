"""Fits of single estimators: the job's fitted attributes become those of scikit-learn's own object, which then needs no server."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import column_or_1d

from ..errors import KedgeError
from ..job import Job, Result
from ..tasks import Task
from . import _boosting, _by_column, _cells, _clusters, _kinds, _outputs
from ._answer import Answer, Fitted, Plan
from ._decide import Call, Remote, Settings, Stays, log
from ._describe import RELEASE, Describer, Seeds, is_pipeline
from ._jobs import cancel, run_all, size_of
from ._kinds import CHEAP, LOCAL
from ._table import Table, Target, weights_of
from ._refused import check_backend, check_classes, check_nearly_constant, check_solver
from ._trees import Fit, Nodes, check_fields, forest_of, trees_of
from ._words import warn_as_scikit_learn, warn_of_parameters

# Attributes that are not what a list of numbers or a number becomes: arrays of integers and truths, numbers of numpy, lists of arrays.
INTEGERS: dict[str, Any] = {
            "labels_": np.int32, "n_iter_": np.int32, "core_sample_indices_": np.int64, "component_indices_": np.int64, "n_categories_": np.int64,
            **dict.fromkeys(("ordering_", "predecessor_", "cluster_hierarchy_", "subcluster_labels_"), np.int64),
            **dict.fromkeys(("support_", "raw_support_", "outliers_"), np.bool_)}
SCALARS = {"intercept_", "dual_gap_", "best_score_", "l1_ratio_", "epsilon_", "scale_", "alpha_", "lambda_", "lower_bound_", "shrinkage_",
           "offset_", "loss_", "noise_variance_", "reconstruction_err_"}
LONG_LABELS = frozenset({"DBSCAN", "AgglomerativeClustering", "FeatureAgglomeration", "MeanShift", "OPTICS", "Birch"})
LISTS = {"QuadraticDiscriminantAnalysis": ("rotations_", "scalings_", "covariance_"), "CategoricalNB": ("category_count_", "feature_log_prob_")}

def _nothing(answer: Answer) -> Fitted:
    return {}


def _k_means(answer: Answer) -> Fitted:
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
    answer.estimator._check_params_vs_input(answer.X)   # sets _tol, _n_init, _algorithm; warns
    return {"_n_features_out": len(answer.fitted["cluster_centers_"]), "_n_threads": _openmp_effective_n_threads()}


def _mini_batch_k_means(answer: Answer) -> Fitted:
    """partial_fit() goes on as if each cluster had got its share of the rows that were drawn."""
    found, estimator, n_clusters = _k_means(answer), answer.estimator, len(answer.fitted["cluster_centers_"])
    n_drawn, counts = answer.fitted["n_steps_"] * estimator._batch_size, np.ones(n_clusters)
    if estimator.compute_labels:
        counts = np.bincount(np.asarray(answer.fitted["labels_"], np.int64), minlength=n_clusters).astype(np.float64)
    else:
        answer.fitted.pop("labels_", None), answer.fitted.pop("inertia_", None)
    counts *= n_drawn / counts.sum()
    return {**found, "_counts": counts, "_ewa_inertia": None, "_ewa_inertia_min": None, "_no_improvement": 0, "_n_since_last_reassign": 0}


def _fast_ica(answer: Answer) -> Fitted:
    components = np.asarray(answer.fitted["components_"], np.float64)
    return {"_unmixing": components @ np.linalg.pinv(answer.fitted["whitening_"]) if "whitening_" in answer.fitted else components}


def _pca(answer: Answer) -> Fitted:
    """The solver that scikit-learn would have chosen, and components that are two-dimensional without rows, too."""
    n_components, (n_rows, n_columns) = answer.estimator.n_components, answer.table.shape
    solver = answer.estimator.svd_solver
    if solver == "auto" and RELEASE >= (1, 5) and n_columns <= 1000 and n_rows >= 10 * n_columns:
        solver = "covariance_eigh"
    elif solver == "auto":
        is_small = max(n_rows, n_columns) <= 500 or not isinstance(n_components, (int, np.integer))
        solver = "randomized" if not is_small and 1 <= n_components < 0.8 * min(n_rows, n_columns) else "full"
    return {"_fit_svd_solver": solver, "components_": np.asarray(answer.fitted["components_"], np.float64).reshape(-1, n_columns)}


def _dbscan(answer: Answer) -> Fitted:
    core = np.asarray(answer.fitted["core_sample_indices_"], np.int64)
    return {"components_": answer.X[core].copy() if answer.X is not None and len(core) else np.empty((0, answer.table.n_columns))}


def _svm(answer: Answer) -> Fitted:
    """What LIBSVM predicts from: its own signs, and the rows themselves. Without what the server alone has."""
    estimator, fitted, X = answer.estimator, answer.fitted, np.asarray(answer.X, np.float64)
    for name in ("duality_gap_", "dual_objective_", "support_vectors_"):
        fitted.pop(name, None)
    support = np.asarray(fitted["support_"], np.int32)
    is_classifier_, n_lines = answer.classes is not None, 1 if answer.classes is None else max(1, len(answer.classes) - 1)
    sign = -1.0 if answer.classes is not None and len(answer.classes) == 2 else 1.0
    dual_coef = np.asarray(fitted["dual_coef_"], np.float64).reshape(n_lines, len(support))
    intercept, gamma = np.asarray(fitted["intercept_"], np.float64), estimator.gamma
    if gamma == "scale":
        variance = X.var()
        gamma = 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
    n_iter = np.atleast_1d(np.asarray(fitted["n_iter_"], np.int32))
    n_support = np.asarray(fitted["n_support_"], np.int32)
    return {"support_": support, "support_vectors_": X[support], "dual_coef_": dual_coef, "_dual_coef_": sign * dual_coef, "_intercept_": sign * intercept,
            "_n_support": n_support if is_classifier_ else np.repeat(n_support, 2), "_num_iter": n_iter, "n_iter_": n_iter if is_classifier_ else int(n_iter[0]),
            "_probA": np.asarray(fitted.get("probA_", []), np.float64), "_probB": np.asarray(fitted.get("probB_", []), np.float64),
            "_gamma": 1.0 / X.shape[1] if gamma == "auto" else gamma, "_sparse": False, "shape_fit_": X.shape,
            "_effective_probability": getattr(estimator, "probability", False) is True}


def _discriminant(answer: Answer) -> Fitted:
    most = min(len(answer.fitted["classes_"]) - 1, answer.table.n_columns)
    n_components = most if answer.estimator.n_components is None else answer.estimator.n_components
    return {"_max_components": n_components, **({"_n_features_out": n_components} if answer.estimator.solver != "lsqr" else {})}


def _tree(answer: Answer) -> Fitted:
    for name in ("n_leaves_", "depth_"):   # which scikit-learn takes from the tree
        answer.fitted.pop(name, None)
    n_classes = 0 if answer.classes is None else len(answer.classes)
    nodes = Nodes(answer.model.members(), answer.table.n_columns, n_classes)
    assert nodes.n_rows is not None
    trees = trees_of(nodes, answer.table.n_columns, max(1, n_classes), nodes.n_rows)
    return {"tree_": trees[0], **({"n_classes_": np.int64(n_classes)} if n_classes else {})}


def _forest(answer: Answer) -> Fitted:
    seed = answer.plan.pipeline[0]["params"]["random_state"]
    if answer.estimator.oob_score and _lacks_votes(answer):
        warnings.warn("Some inputs do not have OOB scores. This probably means too few trees were used to compute any reliable OOB estimates.",
                      UserWarning, stacklevel=2)
    return forest_of(answer.estimator, answer.model.members(), answer.table.n_columns, answer.classes,
                     Fit(answer.X, answer.plan.weights, seed, answer.plan.y))


def _lacks_votes(answer: Answer) -> bool:
    """Whether no tree left out some row, which has neither shares of classes then nor a value."""
    if answer.classes is not None:
        return bool((np.nan_to_num(np.asarray(answer.fitted["oob_decision_function_"], np.float64)) == 0).all(axis=1).any())
    assert answer.plan.target is not None
    return bool(((np.nan_to_num(np.asarray(answer.fitted["oob_prediction_"], np.float64)) == 0) & (answer.plan.target.values != 0)).any())


# The estimators that can be filled, each with what predict needs beside the public attributes.
FILLED: dict[str, Callable[[Answer], Fitted]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "IncrementalPCA", "TruncatedSVD",
                     "RidgeCV", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "LogisticRegression", "GaussianNB", "MultinomialNB",
                     "ComplementNB", "BernoulliNB", "CategoricalNB", "QuadraticDiscriminantAnalysis", "HuberRegressor", "OrthogonalMatchingPursuit", "LinearSVC",
                     "LinearSVR", "SGDRegressor", "PassiveAggressiveRegressor", "QuantileRegressor", "TheilSenRegressor", "MeanShift", *_kinds.UNIVARIATE),
                    _nothing),
    **dict.fromkeys(("SGDClassifier", "Perceptron", "PassiveAggressiveClassifier"), _kinds.stochastic),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), _kinds.generalized),
    **dict.fromkeys(("BayesianRidge", "ARDRegression"), _kinds.bayesian),
    "FactorAnalysis": _kinds.factor_analysis,
    **dict.fromkeys(("GaussianMixture", "BayesianGaussianMixture"), _kinds.mixture),
    **dict.fromkeys(("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS", "MinCovDet", "EllipticEnvelope"), _kinds.covariance),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _kinds.network),
    **dict.fromkeys(("RFE", "RFECV"), _kinds.selected_by_estimator),
    "SequentialFeatureSelector": _kinds.sequentially_selected,
    "PCA": _pca,
    "Nystroem": lambda answer: {"_n_features_out": len(answer.fitted["components_"])},
    "KMeans": _k_means,
    "MiniBatchKMeans": _mini_batch_k_means,
    "FastICA": _fast_ica,
    "NMF": _kinds.parts,
    "DBSCAN": _dbscan,
    "BisectingKMeans": _clusters.bisecting_k_means,
    "Birch": _clusters.birch,
    "OPTICS": _clusters.optics,
    "LinearRegression": _kinds.least_squares,
    "Ridge": _kinds.ridge,
    **dict.fromkeys(("RidgeClassifier", "RidgeClassifierCV"), _kinds.ridge_classifier),
    "LogisticRegressionCV": _kinds.logistic_cv,
    **dict.fromkeys(("Lars", "LassoLars", "LarsCV", "LassoLarsCV", "LassoLarsIC"), _kinds.lars),
    "RANSACRegressor": _kinds.ransac,
    "PLSRegression": _kinds.partial_least_squares,
    "KernelPCA": _kinds.kernel_pca,
    **dict.fromkeys(("AgglomerativeClustering", "FeatureAgglomeration"), _kinds.merged),
    "TSNE": _kinds.embedding,
    "SpectralEmbedding": _kinds.spectral_embedding,
    "SpectralClustering": _kinds.spectral_clustering,
    "TargetEncoder": _cells.target_encoder,
    "IterativeImputer": _cells.iterative_imputer,
    "LinearDiscriminantAnalysis": _discriminant,
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), _svm),
    "KernelRidge": lambda answer: {"X_fit_": answer.X},
    **dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor"), _tree),
    **dict.fromkeys(("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"), _forest),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _boosting.gradient),
    **dict.fromkeys(("AdaBoostClassifier", "AdaBoostRegressor"), _boosting.ada),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _boosting.hist),
    "IsolationForest": _boosting.isolation,
    **dict.fromkeys(_outputs.NAMES, lambda answer: _outputs.filled(answer, _attributes)),
}
SEARCHES = (_kinds.selected_by_estimator, _kinds.sequentially_selected)   # many fits in one
OF_TREES = (_tree, _forest, _boosting.gradient, _boosting.ada, _boosting.isolation)   # they read X as float32
# They take y as a column, with a warning.
OF_COLUMNS = frozenset({"RidgeClassifier", "HuberRegressor", "PoissonRegressor", "GammaRegressor", "TweedieRegressor", "LinearSVR", *(
    name for name, fill in FILLED.items() if fill in (_forest, _svm, _boosting.gradient, _boosting.ada, _boosting.hist))} - {"OneClassSVM"})


def table_of(estimator: Any, X: Any) -> Table:
    """X as the estimator reads it. Raises Stays."""
    fill = FILLED.get(type(estimator).__name__)
    return Table(X).as_float32() if fill in OF_TREES and fill is not _boosting.ada else Table(X)


def plan(remote: Remote, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Plan:
    """What a fit would send. Raises Stays."""
    name = type(estimator).__name__
    if given := [argument for argument, value in more.items() if value is not None]:
        raise Stays(f"fit gets {', '.join(given)}")
    if getattr(estimator, "warm_start", False):
        raise Stays("warm_start goes on from a fit here")
    check_backend()
    if name not in FILLED:
        raise Stays(LOCAL.get(name) or (f"a fitted {name} does not come back yet" if name in remote.estimators else f"the server has no {name}"))
    if name in _outputs.NAMES:
        return _outputs.plan_of(plan, remote, estimator, X, y, sample_weight)
    if _by_column.takes(estimator, y):
        return _by_column.plan_of(plan, remote, estimator, X, y, sample_weight)
    is_of_trees = FILLED[name] in OF_TREES
    table = table_of(estimator, X)
    if FILLED[name] is _boosting.ada:   # its weights are doubles
        table = table.as_float32().as_float64()
    if table.names is not None and len({isinstance(one, str) for one in table.names}) > 1:
        raise Stays("names of columns are texts and others")
    if is_of_trees:
        check_fields()
        _check_trees(estimator, table, sample_weight)
    elif table.dtype == "float32":
        raise Stays("X is float32, and fitted arrays come back as float64")
    if table.texts and name != "TargetEncoder":
        raise Stays("X holds texts")
    if table.sparse is not None and name == "PCA":
        raise Stays("X is sparse, which the server's PCA samples at random")
    if table.sparse is not None and FILLED[name] is _svm:
        raise Stays("X is sparse, and scikit-learn keeps the support vectors of sparse rows sparse")
    _check_kind(estimator, table, sample_weight)
    check_solver(estimator, table)
    target, is_column = _target(estimator, y)
    check_classes(estimator, table, target)
    is_encoder = FILLED[name] is _cells.target_encoder
    describer = Describer(remote, table, Seeds(advances=not is_encoder), None if target is None else target.classes)
    steps = describer.pipeline(estimator)
    if is_encoder:
        steps = [_cells.encoder_step(steps[0], target)]
    return Plan(table, target, weights_of(sample_weight), steps, y, is_column)


def _check_kind(estimator: Any, table: Table, sample_weight: Any) -> None:
    """Raises Stays for what only scikit-learn's own fit leaves in the object."""
    fill = FILLED[type(estimator).__name__]
    if fill is _boosting.gradient:
        _boosting.check_gradient(estimator, sample_weight)
    elif fill is _boosting.ada:
        _boosting.check_ada(estimator)
    elif fill is _boosting.hist:
        _boosting.check_hist(estimator)
    elif fill is _boosting.isolation and (estimator.bootstrap or sample_weight is not None):
        raise Stays("IsolationForest: the server does not say how many different rows its nodes drew")
    elif fill in (_kinds.spectral_embedding, _kinds.spectral_clustering):
        _kinds.check_spectral(estimator, table)
    elif fill is _clusters.optics:
        _clusters.check_optics(estimator, table)
    elif fill is _cells.target_encoder:
        _cells.check_target_encoder(estimator, table)
    elif fill is _cells.iterative_imputer:
        _cells.check_iterative_imputer(estimator)
    _kinds.check_sgd(estimator)
    _kinds.check_kernel_pca(estimator)


def _target(estimator: Any, y: Any) -> tuple[Target | None, bool]:
    """y as the job has it, and whether it was given as a column. Raises Stays."""
    name, judge = type(estimator).__name__, _kinds.judge(estimator)
    if FILLED[name] is _cells.target_encoder:
        return _cells.encoded_target(estimator, y), False
    is_univariate = name in _kinds.UNIVARIATE
    is_labels = getattr(estimator.score_func, "__name__", "") in _kinds.OF_CLASSES if is_univariate else is_classifier(judge)
    if not (is_univariate or is_labels or is_regressor(judge)):
        return None, False
    if y is None:
        raise Stays("there is no y")
    values = np.asarray(y)
    is_column = name in OF_COLUMNS and values.ndim == 2 and values.shape[1] == 1
    return Target(values.ravel() if is_column else y, is_labels), is_column


def _check_trees(estimator: Any, table: Table, sample_weight: Any) -> None:
    check_nearly_constant(table)
    if table.sparse is not None and getattr(getattr(table.source, "indices", None), "dtype", None) == np.int64:
        raise Stays("X is sparse with indices of 64 bits, which scikit-learn's trees refuse")
    if table.has_nan:
        raise Stays("X holds NaN, which the server's trees refuse")
    is_weighted = sample_weight is not None or getattr(estimator, "class_weight", None) not in (None, "balanced_subsample")
    if RELEASE < (1, 9) and getattr(estimator, "bootstrap", False) and is_weighted:
        raise Stays(f"forests of scikit-learn {RELEASE[0]}.{RELEASE[1]} do not draw rows by their weights, as the server's do")


def is_heavy(name: str) -> bool:
    """Whether a fit is worth sending however small its data."""
    return FILLED.get(name) in (_forest, *SEARCHES)


def goes_by_parts(estimator: Any) -> bool:
    """Whether its parts are fitted one by one, each where it can run, where they cannot be one job."""
    return type(estimator).__name__ in _outputs.NAMES


def weighed(estimator: Any) -> str:
    """The name of what a fit fits, by which a policy judges whether it is worth sending."""
    return type(estimator.estimator if goes_by_parts(estimator) else estimator).__name__


def reasons(name: str) -> dict[str, str]:
    """By family, why a fit is not worth sending. Selectors that fit an estimator again and again are none of their family."""
    return {} if FILLED.get(name) in SEARCHES else CHEAP


def note(estimator: Any) -> str:
    """What a fitted object will have otherwise than scikit-learn's, or ""."""
    if FILLED.get(type(estimator).__name__) is _forest and estimator.bootstrap:
        return "; estimators_samples_ only where no column has more than 256 values, else kedge.sklearn.estimators_samples()"
    return ""


def check_alone(settings: Settings, fit: dict[str, Any], size: int, reason: Stays) -> None:
    """Whether fits of a batch are worth sending one by one. Raises the reason why the batch is not sent as a whole where they are not."""
    estimator = fit["estimator"]
    if (fit["parameters"] if "parameters" in fit else None):
        estimator = clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in fit["parameters"].items()})
    last = estimator.steps[-1][1] if is_pipeline(estimator) else estimator
    name, settings = weighed(last), settings.for_fits()
    if name not in FILLED or not type(last).__module__.startswith("sklearn.") or settings.remote.family(name) in reasons(name):
        raise reason
    try:
        settings.check_policy(size, is_heavy(name))
    except Stays:
        raise reason from None


def fit(call: Call, estimator: Any, X: Any, y: Any = None, **more: Any) -> bool:
    """Whether the estimator is fitted now, by the server."""
    settings = call.settings
    name, size, by_policy = weighed(estimator), size_of(X), True
    what = f"{type(estimator).__name__}.fit"
    try:
        settings.check_policy(size, is_heavy(name))
        settings.check_family(name, reasons(name))
        by_policy = False
        job_of = plan(settings.remote, estimator, X, y, **more)
        jobs, results = _run(settings, what, job_of)
        with settings.phase(what, "download"):
            attributes = _fetched(settings, estimator, job_of, results)
    except (Stays, KedgeError) as error:
        if goes_by_parts(estimator) and isinstance(error, Stays):
            log.info("%s: part by part, %s", what, error)
        else:
            settings.kept(what, size, error, by_policy, raises=call.estimator is estimator)
        return False
    settings.sent(what, jobs)
    estimator.__dict__.pop("feature_names_in_", None)
    vars(estimator).update(attributes)
    warn_of_parameters(estimator)
    warn_as_scikit_learn([warning for result in results for warning in result.warnings], estimator.estimator if goes_by_parts(estimator) else estimator)
    return True


def _run(settings: Settings, what: str, job_of: Plan) -> tuple[list[Job], list[Result]]:
    """The jobs of a fit: one, or one for each column of y."""
    session, jobs = settings.session, list[Job]()
    with settings.phase(what, "upload"):
        try:
            for one in job_of.outputs if job_of.is_split else [job_of]:
                jobs.append(session.submit(one.dataset(session), one.pipeline, Task("fit", {})))
        except BaseException:
            cancel(jobs)
            raise
    with settings.phase(what, "server"):
        return jobs, run_all(session, jobs, settings.on_event)


def _fetched(settings: Settings, estimator: Any, job_of: Plan, results: list[Result]) -> Fitted:
    """What the object gets, which has all of the models then."""
    models = [settings.session.model(result.model) for result in results]
    try:
        fitted = [next(iter(result.fitted.values())) for result in results]
        return _attributes(Answer(estimator, {"estimators_": fitted} if job_of.is_split else fitted[0], job_of, models[0]))
    finally:
        for model in models:
            model.remove()


def _attributes(answer: Answer) -> Fitted:
    estimator, names = answer.estimator, answer.table.names
    name = type(estimator).__name__
    if answer.plan.outputs and name in _by_column.NAMES:
        return _by_column.filled(answer, _attributes)
    if answer.plan.is_column:
        column_or_1d(answer.plan.y, warn=True)
    more = FILLED[name](answer)
    found = {attribute: _value(name, attribute, value) for attribute, value in answer.fitted.items() if not _is_property(estimator, attribute)}
    if "classes_" in found and answer.classes is not None:
        found["classes_"] = answer.classes
    if names is not None and all(isinstance(one, str) for one in names):
        found["feature_names_in_"] = np.asarray(names, object)
    return {**found, **more}


def _is_property(estimator: Any, attribute: str) -> bool:
    return isinstance(getattr(type(estimator), attribute, None), property)


def _value(owner: str, attribute: str, value: Any) -> Any:
    """JSON as scikit-learn has it."""
    if attribute in LISTS.get(owner, ()):
        return [np.asarray(part, np.float64) for part in value]
    if isinstance(value, list) and all(isinstance(part, (int, float, list)) or part in (None, "NaN", "Infinity", "-Infinity") for part in value):
        return np.asarray(value, np.float64).astype(np.int64 if attribute == "labels_" and owner in LONG_LABELS else INTEGERS.get(attribute, np.float64))
    if attribute == "n_samples_seen_" and owner in ("StandardScaler", "IncrementalPCA"):
        return np.int64(value)
    return np.float64(value) if attribute in SCALARS and isinstance(value, (int, float)) else value
