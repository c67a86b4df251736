"""Wraps scikit-learn's own Parallel, check_cv and fit for as long as somebody wants it. Classes and objects stay scikit-learn's."""
from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import inspect
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.impute._iterative import IterativeImputer
from sklearn.model_selection import _search, _validation

from .. import estimators
from ..errors import KedgeError
from ..steps import Estimator
from . import _fill
from ._batch import Batch, answers, batch_of
from ._decide import Call, FitsAlone, Stays, log
from ._jobs import size_of
from ._kinds import BY_PARTS, LOCAL, OTHERWISE, transformed

active: contextvars.ContextVar[Call | None] = contextvars.ContextVar("kedge_sklearn_call", default=None)
last_cv: contextvars.ContextVar[Any] = contextvars.ContextVar("kedge_sklearn_cv", default=None)
is_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("kedge_sklearn_inside", default=False)   # of a fit that is wrapped


# Where scikit-learn has the estimators of the catalogue; those of compose and pipeline are made of others.
PACKAGES = ("cluster", "covariance", "cross_decomposition", "decomposition", "discriminant_analysis", "dummy", "ensemble", "feature_selection", "impute",
            "kernel_approximation", "kernel_ridge", "linear_model", "manifold", "mixture", "multioutput", "naive_bayes", "neighbors", "neural_network", "preprocessing",
            "random_projection", "svm", "tree")


@functools.cache
def _classes() -> list[type[Any]]:
    """Of scikit-learn, those that the catalogue has. Not what fits others one by one: each of these fits is looked at."""
    names = [name for name, one in vars(estimators).items() if isinstance(one, type) and issubclass(one, Estimator)
             and LOCAL.get(name) != BY_PARTS]
    packages = [importlib.import_module(f"sklearn.{name}") for name in PACKAGES]
    # Not by hasattr(): asking for IterativeImputer raises ImportError where it is not enabled. It may be enabled later, so it comes from its module.
    found = [vars(package)[name] for package in packages for name in names if name in vars(package)]
    return list(dict.fromkeys([*found, IterativeImputer]))


class Hook:
    """What is put in the place of scikit-learn's, and taken away again. `patched`: for calls of all threads that have none of their own."""

    def __init__(self) -> None:
        self.patched: Call | None = None
        self.scopes: list[Callable[[], Call | None]] = []   # what else may say which call goes on
        self._holders = 0
        self._lock = threading.Lock()
        self._undo: list[Callable[[], None]] = []
        self._classes: list[type[Any]] = []

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._install()
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                while self._undo:
                    self._undo.pop()()

    def wraps(self, class_: type[Any]) -> bool:
        return class_ in self._classes

    def call(self) -> Call | None:
        return active.get() or next(filter(None, (scope() for scope in self.scopes)), self.patched)

    def _install(self) -> None:
        for module in (_validation, _search):
            self._set(module, "Parallel", functools.partial(_Parallel, module.Parallel))
            self._set(module, "check_cv", _remembered(module.check_cv))
        self._set(BaseEstimator, "_get_param_names", _named_once(vars(BaseEstimator)["_get_param_names"]))
        self._classes = _classes()
        methods = [(one, name, getattr(one, name)) for one in self._classes for name in ("fit", "fit_transform")
                   if name == "fit" or name in vars(one)]   # an inherited fit_transform calls fit
        for one, name, method in methods:
            self._set(one, name, _wrapped(one, name, method))

    def _set(self, owner: Any, name: str, value: Any) -> None:
        if name in vars(owner):
            self._undo.append(functools.partial(setattr, owner, name, vars(owner)[name]))
        else:   # inherited
            self._undo.append(functools.partial(delattr, owner, name))
        setattr(owner, name, value)


hook = Hook()


@contextlib.contextmanager
def calling(call: Call) -> Iterator[None]:
    """Batches and fits within, on this thread, belong to the call."""
    token = active.set(call)
    hook.hold()
    try:
        yield
    finally:
        hook.release()
        active.reset(token)


class _Parallel:
    """In the place of scikit-learn's: shows a batch to the call that goes on, if there is one."""

    def __init__(self, stock: Any, *arguments: Any, **named: Any) -> None:
        self._stock = stock(*arguments, **named)

    def __enter__(self) -> _Parallel:
        self._stock.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stock.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def __call__(self, iterable: Any) -> Any:
        call = hook.call()
        if call is None:
            return self._stock(iterable)
        calls = list(iterable)
        batch, begun, found = batch_of(calls, last_cv.get()), time.perf_counter(), None
        if batch is not None:
            found = self._sent(call, batch, calls)
        result = self._here(call, calls) if found is None else found
        if batch is not None:
            call.settings.took(batch.what, found is not None, begun)
        return result

    def _here(self, call: Call, calls: list[Any]) -> Any:
        if active.get() is None:
            return self._stock(calls)
        with calling(Call(call.settings, with_fits=False)):   # its fits are not sent one by one
            return self._stock(calls)

    def _sent(self, call: Call, batch: Batch, calls: list[Any]) -> list[Any] | None:
        """What the server gives, or None."""
        settings, by_policy = call.settings, True
        try:
            settings.check_policy(batch.size, is_heavy=True)
            by_policy = False
            try:
                return answers(call, batch)
            except FitsAlone as error:
                _fill.check_alone(settings, batch.fits[0], batch.size, error)
                log.info("%s: one by one, %s", batch.what, error)
                return self._one_by_one(call, calls)
        except (Stays, KedgeError) as error:
            settings.kept(batch.what, batch.size, error, by_policy)
            return None

    def _one_by_one(self, call: Call, calls: list[Any]) -> list[Any]:
        """As scikit-learn runs it, on this thread, but with fits on the server; in its own way where the first fit did not go."""
        settings = call.settings.for_fits()
        with calling(Call(settings)):
            found = list(type(self._stock)(n_jobs=1)(calls[:1]))
            if settings.n_sent:
                return found + list(type(self._stock)(n_jobs=1)(calls[1:]))
        with calling(Call(settings, with_fits=False)):
            return found + list(self._stock(calls[1:]))


_names: weakref.WeakKeyDictionary[type[Any], list[str]] = weakref.WeakKeyDictionary()


def _named_once(stock: Any) -> Any:
    """A class's parameters do not change, but scikit-learn reads its signature for each copy: half of what a search of many small fits costs here."""
    def names(class_: type[Any]) -> list[str]:
        if class_ not in _names:
            _names[class_] = stock.__func__(class_)
        return list(_names[class_])
    return classmethod(names)


def _remembered(check_cv: Any) -> Any:
    @functools.wraps(check_cv)
    def remember(*arguments: Any, **named: Any) -> Any:
        cv = check_cv(*arguments, **named)
        if hook.call() is not None:
            last_cv.set(cv)
        return cv
    return remember


def _wrapped(class_: type[Any], name: str, method: Any) -> Any:
    signature = inspect.signature(method)

    @functools.wraps(method)
    def fit(self: Any, *arguments: Any, **named: Any) -> Any:
        call = hook.call()
        if call is None or not call.with_fits or is_inside.get() or type(self) is not class_:
            return method(self, *arguments, **named)
        try:
            given = dict(signature.bind(self, *arguments, **named).arguments)
        except TypeError:   # which the method will say
            return method(self, *arguments, **named)
        begun, settings, what = time.perf_counter(), call.settings, f"{class_.__name__}.fit"
        X, more = given.pop("X"), {**given.pop("fit_params", {}), **given}
        more.pop("self")
        if _fill.goes_by_parts(self) and "Y" in more:   # as some call it
            more["y"] = more.pop("Y")
        token = is_inside.set(True)   # what a fit here fits is not sent
        try:
            if name == "fit_transform" and class_.__name__ in OTHERWISE:
                settings.kept(what, size_of(X), Stays(OTHERWISE[class_.__name__]))
                return method(self, *arguments, **named)
            if not _fill.fit(call, self, X, **more):
                if _fill.goes_by_parts(self):
                    is_inside.set(False)
                found = method(self, *arguments, **named)
                settings.took(what, False, begun)
                return found
        finally:
            is_inside.reset(token)
        settings.took(what, True, begun)
        return self if name == "fit" else transformed(self, X)
    return fit
