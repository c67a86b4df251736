"""patch() for programs that are not changed, and explain(), which tells what would go."""
from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, RandomizedSearchCV, check_cv
from sklearn.model_selection._search import BaseSearchCV

from ..errors import KedgeError
from ..session import Session
from . import _batch, _fill
from ._decide import Call, Decision, FitsAlone, Settings, Stays
from ._describe import PASSED, is_pipeline
from ._hook import hook
from ._jobs import size_of
from ._kinds import BY_PARTS
from ._profile import Profile

THRESHOLD = 1 << 20   # bytes of X


def patch(session: Session | None = None, *, policy: str = "auto", fallback: str = "warn", threshold: int = THRESHOLD,
          profile: Profile | None = None) -> None:
    """From now on searches, cross-validation and fits of scikit-learn's own classes go to the server where it can do them, on all threads, whenever
    they were imported. policy: "auto" keeps fits on fewer bytes than the threshold, and those that read X once; "always" sends all that can be sent;
    "never" none. fallback: as of cross_validate, but a warning says only what had a threshold's bytes, and "raise" leaves alone a fit of a single
    estimator that cannot go. Called again, it changes the settings. profile: records each call. session: default kedge.connect()."""
    settings = Settings.of(session, policy=policy, fallback=fallback, threshold=threshold, quiet_below=threshold, profile=profile)
    if hook.patched is None:
        hook.hold()
    hook.patched = Call(settings)


def unpatch() -> None:
    """scikit-learn is as it was. Without effect where patch() was not called."""
    if hook.patched is not None:
        hook.patched = None
        hook.release()


def explain(estimator: Any, X: Any, y: Any = None, *, session: Session | None = None) -> Decision:
    """Where estimator.fit(X, y) would run, and why: with the settings of patch(), else with the policy "always". Sends no data and fits nothing.
    Of a pipeline, whose steps are fitted one by one, each step is looked at with X."""
    settings = hook.patched.settings if hook.patched is not None and session is None else Settings.of(session)
    state = np.random.get_state()
    try:
        return _explained(settings, estimator, X, y)
    except (Stays, KedgeError) as error:
        return Decision(False, str(error))
    finally:
        np.random.set_state(state)


def _explained(settings: Settings, estimator: Any, X: Any, y: Any) -> Decision:
    if is_pipeline(estimator):
        steps = [(name, explain(step, X, y, session=settings.session)) for name, step in estimator.steps if step not in PASSED]
        return Decision(any(step.goes for _, step in steps), "; ".join(f"{name} {step}" for name, step in steps))
    if isinstance(estimator, BaseSearchCV):
        settings.check_policy(size_of(X), is_heavy=True)
        fits = list(_fits(estimator, X, y))
        try:
            parts = _batch.plan(settings.remote, fits, _cv(estimator, y)).parts
        except FitsAlone as reason:
            _fill.check_alone(settings, fits[0], size_of(X), reason)
            return Decision(True, f"{len(fits)} fits one by one, for {reason}")
        said = "one job" if len(parts) == 1 else f"{len(parts)} jobs"
        return Decision(True, f"{said}, {parts[0].task.name}, of {len(fits)} fits")
    name = _fill.weighed(estimator)
    settings.check_policy(size_of(X), _fill.is_heavy(name))
    settings.check_family(name, _fill.reasons(name))
    try:
        _fill.plan(settings.remote, estimator, X, y)
    except Stays as reason:
        raise Stays(f"{reason}; {BY_PARTS}") if _fill.goes_by_parts(estimator) else reason from None
    return Decision(True, f"one job, fit{_fill.note(estimator)}")


def _cv(search: Any, y: Any) -> Any:
    if hasattr(search.cv, "__next__"):
        raise Stays("cv is an iterator, which explain() would use up")
    return check_cv(copy.deepcopy(search.cv), y, classifier=is_classifier(search.estimator))


def _fits(search: Any, X: Any, y: Any) -> Iterator[dict[str, Any]]:
    """As the search hands them to Parallel."""
    if type(search) is GridSearchCV:
        candidates = list(ParameterGrid(search.param_grid))
    elif type(search) is RandomizedSearchCV:
        candidates = list(ParameterSampler(search.param_distributions, search.n_iter, random_state=copy.deepcopy(search.random_state)))
    else:
        raise Stays(f"a {type(search).__name__} goes by the rows that it takes")
    scoring = search.scoring
    scorer = check_scoring(search.estimator, scoring) if scoring is None or isinstance(scoring, str) or callable(scoring) else {
        name: get_scorer(one) for name, one in (scoring.items() if isinstance(scoring, dict) else zip(scoring, scoring))}
    if y is None:
        raise Stays("there is no y")
    folds = list(_cv(search, y).split(X, y))
    for parameters in candidates:
        for train, test in folds:
            yield {"estimator": clone(search.estimator), "X": X, "y": y, "scorer": scorer, "train": train, "test": test, "parameters": parameters,
                   "return_train_score": search.return_train_score}
