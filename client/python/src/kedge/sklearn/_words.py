"""Warnings as scikit-learn says them: those of jobs in its classes and words, and its own about parameters."""
from __future__ import annotations

import contextlib
import copy
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

SHARES = {"f1": "F-score", "jaccard": "Jaccard", "precision": "Precision", "recall": "Recall"}


def _ill_defined(said: re.Match[str]) -> str:
    return f"{SHARES[said[1]]} is ill-defined and being set to 0.0 {said[2]}. Use `zero_division` parameter to control this behavior."


# Warnings that scikit-learn has in other words.
IN_ITS_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(f1|jaccard|precision|recall)_\w+: is 0 (.*)", _ill_defined),
    (r"roc_auc\w*: the area of a column with one class is NaN", "Only one class is present in y_true. ROC AUC score is not defined in that case."),
    (r"(neg|d2)_\w+: the probabilities of a row do not sum to one", "The y_prob values do not sum to one. Make sure to pass probabilities."),
    (r"d2_\w+: is NaN for fewer than two rows", "D^2 score is not well-defined with less than two samples."),
    (r"average_precision: a column that no row has the label of counts 0", "No positive class found in y_true, recall is set to one for all thresholds."),
    (r"KMeans: found (\d+) different clusters, n_clusters is (\d+).*",
     r"Number of distinct clusters (\1) found smaller than n_clusters (\2). Possibly due to duplicate points in X."),
    (r"Birch: found (\d+) subclusters, n_clusters is (\d+).*",
     r"Number of subclusters found (\1) by BIRCH is less than (\2). Decrease the threshold."),
    (r"OPTICS: no row reaches another.*", "All reachability values are inf. Set a larger max_eps or all data will be considered outliers."),
    (r"NMF: with solver \"mu\" the zeros.*",
     "The multiplicative update ('mu') solver cannot update zeros present in the initialization, and so leads to poorer results when used jointly with "
     "init='nndsvd'. You may try init='nndsvda' or init='nndsvdar' instead."),
    (r"\w+NB: alpha below ([\w.+-]+) is taken as that.*",
     r"alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to keep alpha unchanged."),
    (r"\w+: alpha is 0, for which coordinate descent is slow.*",
     "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression estimator"))
END = re.compile(r"did not converge|no convergence|max_iter|different clusters|subclusters")   # of what scikit-learn has a ConvergenceWarning for
UNDEFINED = re.compile(r"is ill-defined|is not defined in that case|is not well-defined")

LIBLINEAR = "Liblinear failed to converge, increase the number of iterations."
LBFGS = "lbfgs failed to converge after {max_iter} iteration(s)"
SAG = "The max_iter was reached which means the coef_ did not converge"
BY_SOLVER = {"lbfgs": LBFGS, "liblinear": LIBLINEAR, "sag": SAG, "saga": SAG, "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
             "newton-cholesky": "Newton solver did not converge after {max_iter} iterations."}
DESCENT = "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit."
MIXTURE = "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or check for degenerate data."
LIBSVM = "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with StandardScaler or MinMaxScaler."
NETWORK = "Stochastic Optimizer: Maximum iterations ({max_iter}) reached and the optimization hasn't converged yet."
# What it says of a fit that has not converged, by class; {max_iter} is the estimator's.
NOT_CONVERGED = {
    **dict.fromkeys(("LinearSVC", "LinearSVR"), LIBLINEAR),
    **dict.fromkeys(("SGDClassifier", "SGDRegressor", "Perceptron", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor"), DESCENT),
    **dict.fromkeys(("HuberRegressor", "PoissonRegressor", "GammaRegressor", "TweedieRegressor"), LBFGS),
    **dict.fromkeys(("GaussianMixture", "BayesianGaussianMixture"), MIXTURE),
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), LIBSVM),
    "NMF": "Maximum number of iterations {max_iter} reached. Increase it to improve convergence.",
    "FastICA": "FastICA did not converge. Consider increasing tolerance or the maximum number of iterations.",
    "FactorAnalysis": "FactorAnalysis did not converge. You might want to increase the number of iterations."}


def _not_converged(estimator: Any) -> str | None:
    name, solver = type(estimator).__name__, getattr(estimator, "solver", "")
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        said = BY_SOLVER.get(solver)
    elif name in ("MLPClassifier", "MLPRegressor"):
        said = LBFGS if solver == "lbfgs" else NETWORK
    else:
        said = NOT_CONVERGED.get(name)
    return said.format(max_iter=estimator.max_iter) if said else None


def warn_as_scikit_learn(texts: list[str], estimator: Any = None) -> None:
    """The warnings of jobs, once each, in scikit-learn's classes; of a fit of one estimator also in its words, with those of the server behind them."""
    for text in dict.fromkeys(texts):
        is_about_end = bool(END.search(text))
        for ours, theirs in IN_ITS_WORDS:
            text = re.sub(ours, theirs, text)
        if is_about_end and (said := _not_converged(estimator)):
            text = f"{said} ({text})"
        kind = ConvergenceWarning if is_about_end else UndefinedMetricWarning if UNDEFINED.search(text) else UserWarning
        warnings.warn(text, kind, stacklevel=2)


def warn_of_parameters(estimator: Any) -> None:
    """What scikit-learn's own fit says of parameters before it reads X: it is given no rows, which it refuses then."""
    with contextlib.suppress(Exception):
        copy.copy(estimator).fit(np.empty((0, 1)), np.empty(0))
