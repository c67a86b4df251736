"""What scikit-learn refuses, warns of or decides before it computes, so that its own fit has to say it: reasons to stay."""
from __future__ import annotations

from typing import Any

import numpy as np
from joblib.parallel import get_active_backend

from ._decide import Stays
from ._table import Table, Target

LARGEST = 1e30   # of X, in LIBLINEAR
EQUAL = 1e-7     # two values of a column that differ by less are one to scikit-learn's trees
OF_SOLVER = frozenset({"LogisticRegression", "LogisticRegressionCV", "LinearSVC", "LinearSVR", "Ridge", "RidgeClassifier"})


def check_backend() -> None:
    """Raises Stays where parallel_config() names a backend that is neither joblib's own nor kedge's: the user wants the work there."""
    backend = type(get_active_backend()[0])
    if backend.__module__.split(".")[0] not in ("joblib", "kedge"):
        raise Stays(f"the backend of joblib is {backend.__name__}")


def check_solver(estimator: Any, table: Table) -> None:
    """Raises Stays."""
    name, is_sparse = type(estimator).__name__, table.sparse is not None
    if name in ("RidgeCV", "RidgeClassifierCV") and is_sparse and estimator.gcv_mode == "svd":
        raise Stays(f"{name}: gcv_mode svd is not of sparse X")
    if name not in OF_SOLVER:
        return
    solver = getattr(estimator, "solver", "liblinear")
    if name == "LogisticRegression" and solver == "liblinear" and estimator.dual:
        raise Stays("LogisticRegression: with dual=True solver liblinear ends where random_state leads it")
    if name in ("Ridge", "RidgeClassifier"):
        if is_sparse and estimator.fit_intercept and (solver in ("saga", "svd", "cholesky") or (solver == "sag" and estimator.max_iter is None)):
            raise Stays(f"{name}: solver {solver} is not of sparse X with an intercept")
        return
    if solver in ("liblinear", "sag", "saga") and is_sparse and table.sparse.indices.dtype.itemsize > 4:
        raise Stays(f"X has indices of 64 bits, which solver {solver} refuses")
    values = table.sparse.data if is_sparse else table.matrix
    if solver == "liblinear" and values is not None and values.size and np.abs(values).max() > LARGEST:
        raise Stays(f"X holds values beyond {LARGEST:g}, which solver {solver} refuses")


def check_classes(estimator: Any, table: Table, target: Target | None) -> None:
    """Raises Stays."""
    if type(estimator).__name__ != "QuadraticDiscriminantAnalysis" or target is None or getattr(estimator, "solver", "svd") != "svd":
        return
    if np.bincount(target.values.astype(np.int64)).min() <= table.n_columns:
        raise Stays("QuadraticDiscriminantAnalysis: a class has no more rows than X has columns, which solver svd refuses")


def check_nearly_constant(table: Table) -> None:
    """Raises Stays for trees."""
    if table.matrix is None:
        return
    widths = np.ptp(table.matrix, axis=0)
    if ((widths > 0) & (widths <= EQUAL)).any():
        raise Stays(f"a column of X varies by less than {EQUAL:g}, which is constant to scikit-learn's trees")
