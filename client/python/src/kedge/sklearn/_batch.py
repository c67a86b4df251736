"""Batches of fits that scikit-learn hands to its Parallel, recognised and run as one job. Everything around them, from the checks of
arguments to cv_results_, is scikit-learn's own code."""
from __future__ import annotations

import inspect
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import _validation
from sklearn.utils.metaestimators import _safe_split

from ..errors import KedgeError
from ..job import Job, Result
from ..session import Session
from ..tasks import Task
from ._decide import Call, Remote, Stays, log
from ._describe import Describer, Seeds, Step
from ._folds import fields_of
from ._scoring import names_of
from ._table import Table, Target

Fit = dict[str, Any]   # the arguments of one fit


def size_of(X: Any) -> int:
    """Bytes, of what says so."""
    size = getattr(X, "nbytes", None)
    if size is None and hasattr(X, "memory_usage"):
        size = X.memory_usage().sum()
    if size is None and hasattr(X, "data"):   # of SciPy
        size = getattr(X.data, "nbytes", None)
    return int(size) if size is not None else 8 * len(X) if hasattr(X, "__len__") else 0


def answers(call: Call, batch: list[Any], cv: Any) -> list[Any] | None:
    """Of the server, or None. cv: the splitter that was made last."""
    function: Any = getattr(batch[0][0], "function", batch[0][0]) if batch else None
    if function not in (_validation._fit_and_score, _validation._fit_and_predict):
        return None
    signature = inspect.signature(function)
    fits = [dict(signature.bind(*arguments, **named).arguments) for _, arguments, named in batch]
    what, size, by_policy = _name_of(function, fits[0]), size_of(fits[0]["X"]), True
    try:
        call.settings.check_policy(size, is_heavy=True)
        by_policy = False
        return _predictions(call, what, fits) if function is _validation._fit_and_predict else _scores(call, what, fits, cv)
    except (Stays, KedgeError) as error:
        call.settings.kept(what, size, error, by_policy)
        return None


def _name_of(function: Any, fit: Fit) -> str:
    if function is _validation._fit_and_predict:
        return "cross_val_predict"
    if fit.get("caller") is not None:
        return type(fit["caller"]).__name__
    return "cross_validate" if fit["parameters"] is None else "the search"


def run(session: Session, job: Job) -> Result:
    """Waits. A user who leaves is told where the job is."""
    try:
        return job.result()
    except KeyboardInterrupt:
        log.warning("%s goes on; kedge.connect(%r).job(%r) finds it, and its cancel() ends it", job.id, session.url, job.id)
        raise


# Warnings that scikit-learn has in other words.
IN_ITS_WORDS = (
    (r"KMeans: found (\d+) different clusters, n_clusters is (\d+).*",
     r"Number of distinct clusters (\1) found smaller than n_clusters (\2). Possibly due to duplicate points in X."),
    (r"\w+NB: alpha below ([\w.+-]+) is taken as that.*",
     r"alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to keep alpha unchanged."))


def warn_as_scikit_learn(result: Result) -> None:
    """The warnings of a job, once each, in scikit-learn's classes."""
    for text in dict.fromkeys(result.warnings):
        is_about_end = any(part in text for part in ("did not converge", "max_iter", "different clusters"))
        for ours, theirs in IN_ITS_WORDS:
            text = re.sub(ours, theirs, text)
        warnings.warn(text, ConvergenceWarning if is_about_end else UserWarning, stacklevel=2)


def _check_plain(fits: list[Fit]) -> None:
    first = fits[0]
    for name in ("fit_params", "score_params"):
        if first.get(name):
            raise Stays(f"{name.split('_')[0]} gets {', '.join(first[name])}")
    if first.get("return_estimator"):
        raise Stays("return_estimator: the models of folds do not come back")
    if first["y"] is None:
        raise Stays("there is no y")


@dataclass(frozen=True)
class Plan:
    """A batch as a job: a crossValidate, or a gridSearch where the fits have several parameters."""

    table: Table
    target: Target
    groups: Any
    pipeline: list[Step]
    task: Task
    names: dict[str, str]            # of the scorers
    places: list[tuple[int, int]]    # of each fit its candidate and fold


def plan(remote: Remote, fits: list[Fit], cv: Any) -> Plan:
    """Raises Stays."""
    _check_plain(fits)
    first = fits[0]
    places, folds = _places(fits)
    candidates = [fit["parameters"] for fit, (_, fold) in zip(fits, places) if fold == 0]
    table, target = Table(first["X"]), Target(first["y"], is_classifier(first["estimator"]))
    fields, groups = fields_of(cv, first["y"], folds, table.n_rows)
    names = names_of(first["scorer"], first["estimator"], remote, target)
    fields |= {"scoring": list(dict.fromkeys(names.values())), "returnTrainScore": bool(first.get("return_train_score"))}
    describer = Describer(remote, table, Seeds(advances=False))
    steps = [describer.named_steps(_candidate(first["estimator"], parameters)) for parameters in candidates]
    pipeline, grid = _base(steps)
    task = Task("crossValidate", fields) if candidates == [None] else Task(
        "gridSearch", {"paramGrid": grid, "crossValidate": fields, "refit": False, "errorScore": "raise"})
    return Plan(table, target, groups, pipeline, task, names, places)


def _scores(call: Call, what: str, fits: list[Fit], cv: Any) -> list[dict[str, Any]]:
    job_of = plan(call.settings.remote, fits, cv)
    session = call.settings.session
    job = session.submit(job_of.table.dataset(session, job_of.target.values, job_of.groups), job_of.pipeline, job_of.task)
    result = run(session, job)
    call.settings.sent(what, job.id)
    warn_as_scikit_learn(result)
    read = _of_search if "search" in result else _of_folds
    return [_answer(fit, job_of.names, read(result, *place)) for fit, place in zip(fits, job_of.places)]


def _places(fits: list[Fit]) -> tuple[list[tuple[int, int]], list[tuple[Any, Any]]]:
    """Of each fit the candidate and the fold, counted from 0, and the folds. The fits of a fold are its candidates in order."""
    folds: dict[tuple[int, int], int] = {}
    seen: dict[int, int] = {}
    places = []
    for fit in fits:
        fold = folds.setdefault((id(fit["train"]), id(fit["test"])), len(folds))
        places.append((seen.setdefault(fold, 0), fold))
        seen[fold] += 1
    if len(set(seen.values())) != 1:
        raise Stays("the fits are not all folds of all candidates")
    firsts = {fold: fit for fit, (candidate, fold) in zip(fits, places) if candidate == 0}
    return places, [(fit["train"], fit["test"]) for fit in firsts.values()]


def _candidate(estimator: Any, parameters: dict[str, Any] | None) -> Any:
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in parameters.items()}) if parameters else estimator


def _base(candidates: list[dict[str, Step | None]]) -> tuple[list[Step], list[dict[str, Any]]]:
    """The pipeline, and each candidate as the steps that differ from it."""
    base = {name: next((steps[name] for steps in candidates if steps[name] is not None), None) for name in candidates[0]}
    last = list(base)[-1]   # which every candidate names, so that each names something
    changes = [{name: step for name, step in steps.items() if name == last or step != base[name]} for steps in candidates]
    grid = [{name: ["passthrough" if step is None else step] for name, step in change.items()} for change in changes]
    return [{"name": name, **step} for name, step in base.items() if step is not None], grid


class _Read:
    """Scores and seconds of one fit."""

    def __init__(self, scores: Any, fit_time: float, score_time: float) -> None:
        self.scores, self.fit_time, self.score_time = scores, fit_time, score_time


def _of_folds(result: Result, _: int, fold: int) -> _Read:
    timing = result.timings["folds"][fold]
    return _Read(lambda part, scorer: result.scores[("train_" if part == "train" else "") + scorer]["perFold"][fold],
                 timing["fit"], timing["transform"] + timing["predict"] + timing["score"])


def _of_search(result: Result, candidate: int, fold: int) -> _Read:
    """A search tells the mean seconds of a candidate alone."""
    found = result.cv_results

    def score(part: str, scorer: str) -> Any:
        key = f"split{fold}_{part}_{scorer}"
        return (found[key] if key in found else found[f"split{fold}_{part}_score"])[candidate]
    return _Read(score, found["mean_fit_time"][candidate], found["mean_score_time"][candidate])


def _answer(fit: Fit, names: dict[str, str], read: _Read) -> dict[str, Any]:
    """As _fit_and_score gives it."""
    def of(part: str) -> Any:
        scores = {name: _number(read.scores(part, scorer)) for name, scorer in names.items()}
        return scores[""] if list(scores) == [""] else scores
    answer: dict[str, Any] = {"fit_error": None, "test_scores": of("test")}
    if fit.get("return_train_score"):
        answer["train_scores"] = of("train")
    if fit.get("return_n_test_samples"):
        answer["n_test_samples"] = len(fit["test"])
    if fit.get("return_times"):
        answer |= {"fit_time": read.fit_time, "score_time": read.score_time}
    if fit.get("return_parameters"):
        answer["parameters"] = fit["parameters"]
    return answer


def _number(value: Any) -> float:
    """JSON has no NaN."""
    return float("nan") if value is None else float(value)


def _predictions(call: Call, what: str, fits: list[Fit]) -> list[Any]:
    """For each fold a fit job, whose model says what it makes of the others."""
    _check_plain(fits)
    first, session = fits[0], call.settings.session
    if first["method"] not in ("predict", "predict_proba", "decision_function"):
        raise Stays(f"models of the server have no {first['method']}")
    estimator, table, target = first["estimator"], Table(first["X"]), Target(first["y"], is_classifier(first["estimator"]))
    if table.matrix is None:
        raise Stays("rows with texts, or sparse ones, cannot be sent to a model of a fold")
    pipeline = Describer(call.settings.remote, table, Seeds(advances=False)).pipeline(estimator)
    jobs = []
    for fit in fits:
        part = Table(_safe_split(estimator, table.matrix, first["y"], fit["train"])[0])
        jobs.append(session.submit(part.dataset(session, target.values[fit["train"]]), pipeline, Task("fit", {})))
    predicted = [_prediction(session, job, table, target, fit) for job, fit in zip(jobs, fits)]
    call.settings.sent(what, ", ".join(job.id for job in jobs))
    return predicted


def _prediction(session: Session, job: Job, table: Table, target: Target, fit: Fit) -> Any:
    assert table.matrix is not None
    result = run(session, job)
    warn_as_scikit_learn(result)
    model = session.model(result.model)
    try:
        values = model.predict(table.matrix[fit["test"]], output=fit["method"])
    finally:
        model.remove()
    if target.classes is None:
        return values
    if fit["method"] == "predict":
        return target.classes[values.astype(np.float64).astype(np.int64)]
    codes = np.array([int(float(name)) for name in result["classes"]])
    order = np.argsort(codes)
    if values.ndim == 2 and values.shape[1] == len(order):
        values = values[:, order]
    n_classes = len(target.classes)
    return _validation._enforce_prediction_order(target.classes[codes[order]], values, n_classes, fit["method"])
