"""Client of Kedge: describes a pipeline of estimators, named as in scikit-learn, and has a server run it.

    import kedge
    from kedge.estimators import LogisticRegression, StandardScaler

    session = kedge.connect()                      # KEDGE_URL, or http://127.0.0.1:5334
    job = session.submit(kedge.builtin("iris"), [StandardScaler(), LogisticRegression(C=10)], kedge.cross_validate(cv=5))
    print(job.result().mean("accuracy"))
"""
from __future__ import annotations

import importlib

__version__ = "0.1.0"
TYPE_CHECKING = False   # type checkers take it for true. Loading typing for it would take longer than all that is loaded here

# Each name is loaded when it is first used, so that `import kedge` is fast. Type checkers read the first list, the program the second; a test compares them.
if TYPE_CHECKING:
    from typing import Any

    from . import aio as aio, estimators as estimators, sklearn as sklearn
    from ._plot import plot_learning_curve as plot_learning_curve
    from .data import (Dataset as Dataset, builtin as builtin, generate as generate, inline as inline, openml as openml, sklearn_dataset as sklearn_dataset,
                       stored as stored, url as url)
    from .errors import ConnectionFailed as ConnectionFailed, JobFailed as JobFailed, KedgeError as KedgeError
    from .job import Event as Event, Job as Job, Result as Result
    from .local import server as server
    from .machines import machine as machine
    from .mapping import Mapped as Mapped, map_jobs as map_jobs
    from .model import Contributions as Contributions, Interactions as Interactions, Model as Model, export as export
    from .session import Session as Session, connect as connect
    from .tasks import (Task as Task, cross_validate as cross_validate, fit as fit, fit_score as fit_score, grid_search as grid_search,
                        halving_grid_search as halving_grid_search, learning_curve as learning_curve, partial_dependence as partial_dependence,
                        permutation_importance as permutation_importance, permutation_test_score as permutation_test_score, predict as predict,
                        randomized_search as randomized_search, transform as transform, validation_curve as validation_curve)
else:
    _NAMES = {
        "_plot": "plot_learning_curve",
        "data": "Dataset builtin generate inline openml sklearn_dataset stored url",
        "errors": "ConnectionFailed JobFailed KedgeError",
        "job": "Event Job Result",
        "local": "server",
        "machines": "machine",
        "mapping": "Mapped map_jobs",
        "model": "Contributions Interactions Model export",
        "session": "Session connect",
        "tasks": "Task cross_validate fit fit_score grid_search halving_grid_search learning_curve partial_dependence permutation_importance "
                 "permutation_test_score predict randomized_search transform validation_curve"}
    _MODULES = {"aio", "estimators", "sklearn"}   # kedge.sklearn needs scikit-learn
    _HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
    __all__ = sorted({*_HOMES, *_MODULES})

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            globals()[name] = found = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
            return found
        if name in _MODULES or name in _NAMES:
            return importlib.import_module("." + name, __name__)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext kedge in a notebook."""
    from . import sklearn
    sklearn.patch()


def unload_ipython_extension(ipython: Any) -> None:
    from . import sklearn
    sklearn.unpatch()
