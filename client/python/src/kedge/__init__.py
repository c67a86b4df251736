"""Client of Kedge: describes a pipeline of estimators, named as in scikit-learn, and has a server run it.

    import kedge
    from kedge.estimators import LogisticRegression, StandardScaler

    session = kedge.connect()                      # KEDGE_URL, or http://127.0.0.1:5334
    job = session.submit(kedge.builtin("iris"), [StandardScaler(), LogisticRegression(C=10)], kedge.cross_validate(cv=5))
    print(job.result().mean("accuracy"))
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._plot import learning_curve as plot_learning_curve
from .data import Dataset, builtin, generate, inline, openml, sklearn_dataset, stored, url
from .errors import ConnectionFailed, JobFailed, KedgeError
from .job import Event, Job, Result
from .local import server
from .machines import machine
from .mapping import Mapped, map_jobs
from .model import Contributions, Model
from .session import Session, connect
from .tasks import (Task, cross_validate, fit, fit_score, grid_search, halving_grid_search, learning_curve, partial_dependence, permutation_importance,
                    permutation_test_score, predict, randomized_search, transform, validation_curve)

if TYPE_CHECKING:
    from . import sklearn

__version__ = "0.1.0"

__all__ = ["ConnectionFailed", "Contributions", "Dataset", "Event", "Job", "JobFailed", "KedgeError", "Mapped", "Model", "Result", "Session", "Task", "builtin", "connect", "cross_validate", "fit",
           "fit_score", "generate", "grid_search", "halving_grid_search", "inline", "learning_curve", "machine", "map_jobs", "openml", "partial_dependence", "permutation_importance",
           "permutation_test_score", "plot_learning_curve", "predict", "randomized_search", "server", "sklearn", "sklearn_dataset", "stored", "transform", "url", "validation_curve"]


def __getattr__(name: str) -> Any:
    """kedge.sklearn is loaded when it is named: it needs scikit-learn."""
    if name == "sklearn":
        return importlib.import_module(".sklearn", __name__)
    raise AttributeError(f"module 'kedge' has no attribute '{name}'")


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext kedge in a notebook."""
    __getattr__("sklearn").patch()


def unload_ipython_extension(ipython: Any) -> None:
    __getattr__("sklearn").unpatch()
