"""What calls of all kinds share: the size of X, the end of a job, its warnings in scikit-learn's words."""
from __future__ import annotations

import contextlib
import re
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..errors import KedgeError
from ..job import Job, Result
from ..session import Session
from ._decide import log


def size_of(X: Any) -> int:
    """Bytes, of what says so."""
    size = getattr(X, "nbytes", None)
    if size is None and hasattr(X, "memory_usage"):
        size = X.memory_usage().sum()
    if size is None and hasattr(X, "data"):   # of SciPy
        size = getattr(X.data, "nbytes", None)
    return int(size) if size is not None else 8 * len(X) if hasattr(X, "__len__") else 0


def run(session: Session, job: Job) -> Result:
    """Waits. After Ctrl-C a message says where the job is."""
    try:
        return job.result()
    except KeyboardInterrupt:
        log.warning("%s goes on; kedge.connect(%r).job(%r) finds it, and its cancel() ends it", job.id, session.url, job.id)
        raise


def run_all(session: Session, jobs: list[Job]) -> list[Result]:
    """Waits for all. Where one fails, the others are cancelled."""
    results: list[Result] = []
    try:
        for job in jobs:
            results.append(run(session, job))
    except KedgeError:
        cancel(jobs[len(results) + 1:])
        raise
    return results


def cancel(jobs: list[Job]) -> None:
    """As far as they have not ended and the server answers."""
    for job in jobs:
        with contextlib.suppress(KedgeError):
            job.cancel()


# Warnings that scikit-learn has in other words.
IN_ITS_WORDS = (
    (r"KMeans: found (\d+) different clusters, n_clusters is (\d+).*",
     r"Number of distinct clusters (\1) found smaller than n_clusters (\2). Possibly due to duplicate points in X."),
    (r"\w+NB: alpha below ([\w.+-]+) is taken as that.*",
     r"alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to keep alpha unchanged."))


def warn_as_scikit_learn(texts: list[str]) -> None:
    """The warnings of jobs, once each, in scikit-learn's classes."""
    for text in dict.fromkeys(texts):
        is_about_end = any(part in text for part in ("did not converge", "max_iter", "different clusters"))
        for ours, theirs in IN_ITS_WORDS:
            text = re.sub(ours, theirs, text)
        warnings.warn(text, ConvergenceWarning if is_about_end else UserWarning, stacklevel=2)
