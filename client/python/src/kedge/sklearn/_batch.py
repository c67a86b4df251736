"""Batches of fits that scikit-learn hands to its Parallel, recognised and run as jobs. Everything around them, from the checks of
arguments to cv_results_, is scikit-learn's own code."""
from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import _validation
from sklearn.utils.metaestimators import _safe_split

from ..data import Dataset
from ..job import Job, Result
from ..session import Session
from ..tasks import Task
from ._by_column import in_columns, takes
from ._decide import Call, FitsAlone, Remote, Stays
from ._describe import Describer, Seeds, Step, is_sampler, leaves
from ._fill import table_of
from ._folds import Cut, cuts_of
from ._jobs import cancel, run_all, size_of
from ._lines import line_of
from ._outputs import fits_columns, target_of
from ._scoring import names_of
from ._table import Table, Target, Targets, weights_of
from ._words import warn_as_scikit_learn

Array = np.ndarray[Any, Any]
Fit = dict[str, Any]   # the arguments of one fit


@dataclass(frozen=True)
class Batch:
    """Fits that scikit-learn runs side by side. cv: the splitter that was made last."""

    what: str
    fits: list[Fit]
    cv: Any
    is_predict: bool

    @property
    def size(self) -> int:
        return size_of(self.fits[0]["X"])


def batch_of(calls: list[Any], cv: Any) -> Batch | None:
    """None for what is not known."""
    function: Any = getattr(calls[0][0], "function", calls[0][0]) if calls else None
    if function not in (_validation._fit_and_score, _validation._fit_and_predict):
        return None
    signature = inspect.signature(function)
    fits = [dict(signature.bind(*arguments, **named).arguments) for _, arguments, named in calls]
    is_predict = function is _validation._fit_and_predict
    return Batch("cross_val_predict" if is_predict else _name_of(fits[0]), fits, cv, is_predict)


def _name_of(fit: Fit) -> str:
    if fit.get("caller") is not None:
        return type(fit["caller"]).__name__
    return "cross_validate" if fit["parameters"] is None else "the search"


def answers(call: Call, batch: Batch) -> list[Any]:
    """Of the server. Raises Stays, FitsAlone, KedgeError."""
    return _predictions(call, batch) if batch.is_predict else _scores(call, batch)


def _check_plain(fits: list[Fit]) -> Array | None:
    """The weights that the fits get. Raises Stays and FitsAlone."""
    first, weights = fits[0], None
    given = {name: value for name, value in (first.get("fit_params") or {}).items() if value is not None}
    steps = getattr(first["estimator"], "steps", None)
    name = "sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight"   # which weigh the last step alone
    if name in given:
        weights = weights_of(given.pop(name))
        if weights is not None and len(weights) != len(first["y"] if first["y"] is not None else ()):
            raise Stays("sample_weight is not one number for each row")
        if weights is not None and any(map(is_sampler, leaves(first["estimator"]))):
            raise Stays("sample_weight is of rows that imbalanced-learn resamples without it")
    for what, more in (("fit", given), ("score", first.get("score_params") or {})):
        if more:
            raise FitsAlone(f"{what} gets {', '.join(more)}")
    if first.get("return_estimator"):
        raise FitsAlone("return_estimator asks for the fitted objects")
    if first["y"] is None:
        raise FitsAlone("there is no y")
    return weights


@dataclass(frozen=True)
class Part:
    """One job of a batch: a crossValidate, or a gridSearch where the fits have several parameters."""

    cut: Cut
    task: Task
    places: list[tuple[int, int, int]]   # of each of its fits the place in the batch, the candidate and the job's fold


@dataclass(frozen=True)
class Plan:
    """A batch as jobs."""

    table: Table
    target: Target | Targets
    weights: Array | None
    pipeline: list[Step]
    parts: list[Part]
    names: dict[str, str]   # of the scorers

    def dataset(self, session: Session, cut: Cut) -> Dataset:
        table, y, weights = self.table, self.target.values, self.weights
        if cut.rows is not None:
            table, y, weights = table.take(cut.rows), y[cut.rows], None if weights is None else weights[cut.rows]
        return table.dataset(session, y, cut.groups, weights)

    def submit(self, session: Session) -> list[Job]:
        """All jobs. Cuts of the same rows share a data set."""
        found: dict[int, Dataset] = {}
        jobs: list[Job] = []
        try:
            for part in self.parts:
                key = id(part.cut.rows)
                if key not in found:
                    found[key] = self.dataset(session, part.cut)
                jobs.append(session.submit(found[key], self.pipeline, part.task))
        except BaseException:
            cancel(jobs)
            raise
        return jobs


def plan(remote: Remote, fits: list[Fit], cv: Any) -> Plan:
    """Raises Stays and FitsAlone."""
    weights, first = _check_plain(fits), fits[0]
    places, folds = _places(fits)
    candidates = [fit["parameters"] for fit, (_, fold) in zip(fits, places) if fold == 0]
    table = table_of(first["estimator"], first["X"])
    Describer(remote, table, Seeds(advances=False)).check_class(first["estimator"])   # before its parameters are set for each candidate
    estimators = [in_columns(_candidate(first["estimator"], parameters), first["y"]) for parameters in candidates]
    if len({fits_columns(estimator) for estimator in estimators}) > 1:
        raise FitsAlone("some candidates fit each column of y by itself, and others all at once")
    target = target_of(estimators[0], first["y"])
    names = names_of(first["scorer"], estimators[0], remote, target)
    cuts = cuts_of(cv, first["y"], folds, table.n_rows, has_groups=table.sparse is None)
    if any(cut.rows is not None and target.lacks_class(cut.rows) for cut in cuts):
        raise FitsAlone("the rows of a fold lack a class")
    more = {"scoring": list(dict.fromkeys(names.values())), "returnTrainScore": bool(first.get("return_train_score"))}
    describer = Describer(remote, table, Seeds(advances=False), target.classes)
    pipeline, grid = _base([describer.named_steps(estimator) for estimator in estimators])

    def part(cut: Cut) -> Part:
        fields = cut.fields | more
        task = Task("crossValidate", fields) if candidates == [None] else Task(
            "gridSearch", {"paramGrid": grid, "crossValidate": fields, "refit": False, "errorScore": "raise"})
        inside = {fold: i for i, fold in enumerate(cut.folds)}
        return Part(cut, task, [(i, candidate, inside[fold]) for i, (candidate, fold) in enumerate(places) if fold in inside])
    return Plan(table, target, weights, pipeline, [part(cut) for cut in cuts], names)


def _scores(call: Call, batch: Batch) -> list[dict[str, Any]]:
    job_of = plan(call.settings.remote, batch.fits, batch.cv)
    session = call.settings.session
    with call.settings.phase(batch.what, "upload"):
        jobs = job_of.submit(session)
    with call.settings.phase(batch.what, "server"):
        results = run_all(session, jobs, call.settings.on_event)
    call.settings.sent(batch.what, jobs)
    found: list[dict[str, Any]] = [{}] * len(batch.fits)
    seconds: dict[int, float] = {}   # how long each took
    for part, result in zip(job_of.parts, results):
        read = _of_search if "search" in result else _of_folds
        for i, candidate, fold in part.places:
            of_fit = read(result, candidate, fold)
            found[i] = _answer(batch.fits[i], job_of.names, of_fit)
            seconds[i] = of_fit.fit_time + of_fit.score_time
    warn_as_scikit_learn([warning for result in results for warning in result.warnings])
    for i, fit in enumerate(batch.fits):
        if fit.get("verbose", 0) > 1:
            print(line_of(fit, found[i], seconds[i]))
    return found


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


def _predictions(call: Call, batch: Batch) -> list[Any]:
    """For each fold a fit job, whose model says what it makes of the others."""
    weights = _check_plain(batch.fits)
    first, session = batch.fits[0], call.settings.session
    if first["method"] not in ("predict", "predict_proba", "decision_function"):
        raise FitsAlone(f"models of the server have no {first['method']}")
    if first["method"] == "decision_function" and any(getattr(leaf, "decision_function_shape", "") == "ovo" for leaf in leaves(first["estimator"])):
        raise FitsAlone("models of the server have no decision_function with a column for each two classes")
    estimator, table = first["estimator"], table_of(first["estimator"], first["X"])
    if fits_columns(estimator) or takes(leaves(estimator)[-1], first["y"]):
        raise FitsAlone("y has several columns")
    target = Target(first["y"], is_classifier(estimator))
    if table.matrix is None:
        raise Stays("rows with texts, or sparse ones, cannot be sent to a model of a fold")
    pipeline = Describer(call.settings.remote, table, Seeds(advances=False), target.classes).pipeline(estimator)
    jobs, phase = [], call.settings.phase
    with phase(batch.what, "upload"):
        for fit in batch.fits:
            part = Table(_safe_split(estimator, table.matrix, first["y"], fit["train"])[0])
            given = None if weights is None else weights[fit["train"]]
            jobs.append(session.submit(part.dataset(session, target.values[fit["train"]], weights=given), pipeline, Task("fit", {})))
    with phase(batch.what, "server"):
        results = run_all(session, jobs, call.settings.on_event)
    with phase(batch.what, "download"):
        predicted = [_prediction(session, result, table, target, fit) for result, fit in zip(results, batch.fits)]
    call.settings.sent(batch.what, jobs)
    return predicted


def _prediction(session: Session, result: Result, table: Table, target: Target, fit: Fit) -> Any:
    assert table.matrix is not None
    warn_as_scikit_learn(result.warnings)
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
