"""Discriminants as the server keeps them, in the order in which the engine's state() reads."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._states import Params, Refused, State


def linear(state: State, model: Any) -> Params:
    """Of two classes scikit-learn has the second line against the first."""
    n_classes, n_features = len(model.classes_), model.n_features_in_
    coef, intercept = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    if n_classes == 2:
        coef, intercept = np.vstack([np.zeros(n_features), coef]), np.concatenate([[0.0], intercept])
    scalings = getattr(model, "scalings_", np.empty((n_features, 0))).T
    state.number("n_components", getattr(model, "_max_components", 0))
    state.number("n_scalings", len(scalings))
    state.array("priors", model.priors_)
    state.array("means", model.means_)
    state.array("coef", coef)
    state.array("intercept", intercept)
    state.array("xbar", getattr(model, "xbar_", []))
    state.array("covariance", np.empty((0, n_features)))
    state.array("scalings", scalings)
    state.array("explained_variance_ratio", [])
    return {"solver": model.solver}


def quadratic(state: State, model: Any) -> Params:
    n_features = model.n_features_in_
    if any(rotation.shape != (n_features, n_features) for rotation in model.rotations_):
        raise Refused("QuadraticDiscriminantAnalysis: a class has fewer rows than X has columns")
    state.array("priors", model.priors_)
    state.array("means", model.means_)
    state.value("shapes", "count", len(model.rotations_))
    for scalings, rotation in zip(model.scalings_, model.rotations_):
        state.array("scalings", scalings)
        state.array("axes", rotation.T)
        state.array("covariance", np.empty((0, n_features)))
    return {}


WRITERS: dict[str, Callable[[State, Any], Params]] = {"LinearDiscriminantAnalysis": linear, "QuadraticDiscriminantAnalysis": quadratic}
