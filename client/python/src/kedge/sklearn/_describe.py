"""scikit-learn's estimators as steps of a job, or the reason why one is not: its class, a parameter, a value."""
from __future__ import annotations

import copy
import inspect
import math
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import check_random_state

from ._decide import Remote, Stays
from ._table import Table
from ._texts import VECTORIZERS

Step = dict[str, Any]
PASSED = (None, "passthrough")
# Estimators that compute otherwise in older releases of scikit-learn: since which they compute as the server does.
SINCE = {"LinearDiscriminantAnalysis": (1, 9), "QuadraticDiscriminantAnalysis": (1, 9), "TruncatedSVD": (1, 5),
         "MiniBatchKMeans": (1, 9)}
PATHS = ("LassoCV", "ElasticNetCV")
RELEASE = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


SAMPLERS = frozenset({"SMOTE", "RandomOverSampler", "RandomUnderSampler"})   # of imbalanced-learn


def is_pipeline(estimator: Any) -> bool:
    """scikit-learn's own, or imbalanced-learn's, whose steps may resample the rows of a fit."""
    return type(estimator) is Pipeline or isinstance(estimator, Pipeline) and type(estimator).__module__ == "imblearn.pipeline"


def is_sampler(estimator: Any) -> bool:
    return type(estimator).__name__ in SAMPLERS and type(estimator).__module__.startswith("imblearn.")


class Seeds:
    """Seeds for what random_state leaves open. One number is drawn from numpy's global generator for all parts without one. A generator of a
    part's own is advanced where scikit-learn would advance it (`advances`): not in searches and cross-validation, which copy the estimator with
    its generator."""

    def __init__(self, advances: bool) -> None:
        self._advances = advances
        self._drawn: int | None = None

    def of(self, state: Any) -> int:
        if isinstance(state, np.random.RandomState):
            return int((state if self._advances else copy.deepcopy(state)).randint(np.iinfo(np.int32).max))
        if state is not None:
            return int(state)
        if self._drawn is None:
            self._drawn = int(check_random_state(None).randint(np.iinfo(np.int32).max))
        return self._drawn


def leaves(estimator: Any) -> list[Any]:
    """The estimators in pipelines and unions, in order."""
    if is_pipeline(estimator):
        return [leaf for _, step in estimator.steps if step not in PASSED for leaf in leaves(step)]
    if type(estimator) is FeatureUnion:
        return [leaf for _, part in estimator.transformer_list if not isinstance(part, str) for leaf in leaves(part)]
    if type(estimator) is ColumnTransformer:
        return [leaf for _, part, _ in estimator.transformers if not isinstance(part, str) for leaf in leaves(part)]
    return [estimator]


class Describer:
    """Of estimators that are fitted on one table. classes: the labels, which the server knows by their places."""

    def __init__(self, remote: Remote, table: Table, seeds: Seeds, classes: Any = None) -> None:
        self._remote, self._table, self._seeds, self._classes = remote, table, seeds, classes
        self._depth = 0   # of parts in parts: some fit theirs on labels of their own

    def named_steps(self, estimator: Any) -> dict[str, Step | None]:
        """The steps by name; None for one that passes its input through."""
        self._check_input(estimator)
        if not is_pipeline(estimator):
            return {"estimator": self._step(estimator, True)}
        self._check(estimator)
        if getattr(estimator, "transform_input", None) is not None:
            raise Stays("Pipeline: transform_input is set")
        steps: dict[str, Step | None] = {}
        for name, step in estimator.steps:
            steps[name] = None if step in PASSED else self._step(step, not any(steps.values()))
        return steps

    def pipeline(self, estimator: Any) -> list[Step]:
        return [{"name": name, **step} for name, step in self.named_steps(estimator).items() if step is not None]

    def _check_input(self, estimator: Any) -> None:
        head = next((step for _, step in estimator.steps if step not in PASSED), estimator) if is_pipeline(estimator) else estimator
        first = [part for _, part in head.transformer_list if not isinstance(part, str)] if type(head) is FeatureUnion else [head]
        takes_texts = [type(part).__name__ in VECTORIZERS for part in first]
        if self._table.documents is not None and not all(takes_texts):
            raise Stays(f"X holds texts, which {type(head).__name__} refuses")
        if self._table.documents is None and any(takes_texts):
            raise Stays(f"X is a table, and {type(head).__name__} takes texts")
        if self._table.has_nan and not isinstance(head, (ColumnTransformer, FeatureUnion)) and not _tag(head, "allow_nan"):
            raise Stays(f"X holds NaN, which {type(head).__name__} refuses")
        if self._table.sparse is not None and not _tag(estimator, "sparse"):
            reason = f"{type(estimator).__name__} refuses" if RELEASE >= (1, 6) else "scikit-learn says of no estimator before 1.6"
            raise Stays(f"X is sparse, which {reason}")

    def check_class(self, estimator: Any) -> None:
        name, module = type(estimator).__name__, type(estimator).__module__
        is_known = module.startswith("sklearn.") or is_pipeline(estimator) or is_sampler(estimator)
        if not isinstance(estimator, BaseEstimator) or not is_known:
            raise Stays(f"{name} is a class of {module}, not scikit-learn's own")
        if name not in self._remote.estimators and not is_pipeline(estimator):
            raise Stays(f"the server has no {name}")

    def _check(self, estimator: Any) -> None:
        self.check_class(estimator)
        name = type(estimator).__name__
        if getattr(estimator, "_skl_callbacks", None):
            raise Stays(f"{name} has callbacks")
        if not hasattr(estimator, "_parameter_constraints"):   # a FeatureUnion
            return
        try:
            estimator._validate_params()
        except ValueError as error:
            raise Stays(f"scikit-learn refuses it: {error}") from None

    def _step(self, estimator: Any, is_head: bool) -> Step:
        """is_head: whether it gets the table's own columns."""
        name = type(estimator).__name__
        if is_pipeline(estimator):
            raise Stays("a Pipeline is a step of another")
        self._check(estimator)
        if RELEASE < SINCE.get(name, RELEASE):
            raise Stays(f"{name} of scikit-learn {sklearn.__version__} computes otherwise than the server's")
        params = estimator.get_params(deep=False)
        if name in PATHS and params["alphas"] is None:   # before 1.7 the number had a parameter of its own
            params["alphas"] = params.pop("n_alphas")
        described = self._composed(estimator, params, is_head)
        known = self._remote.estimators[name]
        for parameter, value in params.items():
            if parameter not in described and (found := self._value(type(estimator), known.get(parameter), parameter, value)) is not None:
                described[parameter] = found[0]
        if "draws" in known:   # of trees
            described["draws"] = "auto"
        return {"estimator": name, **({"params": described} if described else {})}

    def _composed(self, estimator: Any, params: dict[str, Any], is_head: bool) -> dict[str, Any]:
        if type(estimator) is FeatureUnion:
            return {"transformer_list": [{"name": name, "transformer": self._transformer(part, is_head)} for name, part in params["transformer_list"]]}
        if type(estimator) is ColumnTransformer:
            parts = [{"name": name, "transformer": self._transformer(part, False), "columns": self._columns(columns, is_head)}
                     for name, part, columns in params["transformers"]]
            return {"transformers": parts, "remainder": self._transformer(params["remainder"], False)}
        composed: dict[str, Any] = {}
        if isinstance(params.get("estimators"), list):   # of votes and stacks
            composed["estimators"] = [{"name": name, "estimator": self._part(part, is_head)} for name, part in params["estimators"]]
        for parameter in ("estimator", "final_estimator"):
            if isinstance(params.get(parameter), BaseEstimator):
                composed[parameter] = self._part(params[parameter], is_head and parameter == "estimator")
        return composed

    def _transformer(self, part: Any, is_head: bool) -> Any:
        """A part beside others, which keeps the rows that it gets."""
        if (sampler := next(filter(is_sampler, leaves(part)), None)) is not None:
            raise Stays(f"{type(sampler).__name__} resamples rows of a part whose rows stay")
        return self._part(part, is_head)

    def _part(self, part: Any, is_head: bool) -> Any:
        """What an estimator fits in its own fit. A pipeline that stands for a classifier may resample the rows of each fit."""
        if isinstance(part, str):
            return part
        self._depth += 1
        try:
            if not is_pipeline(part):
                return self._step(part, is_head)
            self._check(part)
            if getattr(part, "transform_input", None) is not None:
                raise Stays("Pipeline: transform_input is set")
            steps = [step for _, step in part.steps if step not in PASSED]
            return [self._step(step, is_head and i == 0) for i, step in enumerate(steps)] or "passthrough"
        finally:
            self._depth -= 1

    def _by_class(self, owner: str, weights: dict[Any, Any]) -> dict[str, float]:
        """class_weight by the server's names. Raises Stays."""
        if self._classes is None or self._depth:
            raise Stays(f"{owner}: class_weight names classes")
        labels = self._classes.tolist()
        if set(weights) - set(labels) or not all(isinstance(one, (int, float, np.number)) for one in weights.values()):
            raise Stays(f"{owner}: class_weight is not a number for each of some classes of y")
        return {str(i): float(weights.get(label, 1.0)) for i, label in enumerate(labels)}

    def _rows_by_class(self, owner: str, rows: dict[Any, Any]) -> dict[str, int]:
        """sampling_strategy by the server's names. Raises Stays."""
        if self._depth:   # a vote numbers the labels before its parts see them, one-vs-rest has two
            raise Stays(f"{owner}: sampling_strategy names classes, and the part of another estimator may see others")
        places = {} if self._classes is None else {label: i for i, label in enumerate(self._classes.tolist())}
        if set(rows) - set(places) or not all(isinstance(one, (int, np.integer)) for one in rows.values()):
            raise Stays(f"{owner}: sampling_strategy is not a number of rows for some classes of y")
        return {str(places[label]): int(one) for label, one in rows.items()}

    def _columns(self, columns: Any, is_head: bool) -> list[int]:
        """A choice of columns as places."""
        if not is_head:   # it gets a selection, or what another step has made
            raise Stays("a ColumnTransformer is not the first step")
        if isinstance(columns, make_column_selector) and self._table.names is not None:
            columns = columns(self._table.source)
        if callable(columns):
            raise Stays("the columns of a ColumnTransformer are chosen by a function")
        names = self._table.names
        if isinstance(columns, str):
            raise Stays(f"column '{columns}' goes to its transformer as one dimension")
        if isinstance(columns, slice):
            if any(isinstance(end, str) for end in (columns.start, columns.stop)):
                raise Stays("the columns of a ColumnTransformer are a slice of names")
            return list(range(self._table.n_columns))[columns]
        if isinstance(columns, (int, np.integer)):
            raise Stays(f"column {columns} goes to its transformer as one dimension")
        chosen = list(columns)
        if chosen and all(isinstance(one, (bool, np.bool_)) for one in chosen):
            return [i for i, one in enumerate(chosen) if one]
        try:
            places = [names.index(one) if isinstance(one, str) and names is not None else range(self._table.n_columns)[one] for one in chosen]
        except (ValueError, IndexError, TypeError):
            raise Stays("X does not have the columns of a ColumnTransformer") from None
        return places

    def _value(self, type_: type[Any], known: dict[str, Any] | None, parameter: str, value: Any) -> tuple[Any] | None:
        """A parameter as the server has it, or None where it is the default. Raises Stays for what the catalogue does not list."""
        owner = type_.__name__
        if known is None:
            if _is_default(type_, parameter, value):
                return None
            raise Stays(f"{owner}: the server has no parameter {parameter}")
        if isinstance(value, str) and value == "deprecated" and _is_default(type_, parameter, value):   # the object has none of it
            value = None if parameter == "random_state" else known["defaultValue"]
        if parameter == "random_state":
            return None if "ignored" in known["doc"] else (self._seeds.of(value),)
        if "ignored" in known["doc"] and _is_default(type_, parameter, value):   # such as copy="warn"
            return None
        if known["defaultValue"] is None and isinstance(value, float) and math.isinf(value) and _is_default(type_, parameter, value):   # a bound that is none
            return None
        if parameter == "class_weight" and isinstance(value, dict):
            value = self._by_class(owner, value)
        if parameter == "sampling_strategy" and isinstance(value, dict):
            value = self._rows_by_class(owner, value)
        wire = _wire(value, known)
        if wire == known["defaultValue"] and isinstance(wire, bool) == isinstance(known["defaultValue"], bool):
            if not _counts_or_shares(known) or _is_default(type_, parameter, value):   # 1 and 1.0 are equal, and mean one and all
                return None
        if wire is _NONE_SUCH or not any(_fits(wire, form) for form in known["forms"]):
            raise Stays(f"{owner}: {parameter} is {_short(value)}, which the server does not have")
        if self._table.texts and self._table.documents is None and parameter in ("categories", "drop") and isinstance(wire, list):
            raise Stays(f"{owner}: {parameter} names texts")
        return (wire,)


_NONE_SUCH = object()


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _tag(estimator: Any, name: str) -> bool:
    """What an estimator says of its input."""
    try:
        from sklearn.utils import get_tags
    except ImportError:   # before 1.6, which says nothing of sparse input
        return bool(estimator._get_tags().get(name, False))
    return bool(getattr(get_tags(estimator).input_tags, name))


_known_defaults: dict[type[Any], dict[str, Any]] = {}   # of scikit-learn's own classes, whose signature takes longer to read than a step to describe


def _defaults(type_: type[Any]) -> dict[str, Any]:
    if type_ not in _known_defaults:
        _known_defaults[type_] = {name: one.default for name, one in inspect.signature(type_.__init__).parameters.items()}
    return _known_defaults[type_]


def _is_default(type_: type[Any], parameter: str, value: Any) -> bool:
    default = _defaults(type_)[parameter]
    return value is default or (type(value) is type(default) and bool(value == default))


def _counts_or_shares(known: dict[str, Any]) -> bool:
    return {"integer", "number"} <= {form["type"] for form in known["forms"]}


def _wire(value: Any, known: dict[str, Any]) -> Any:
    """As JSON has it: numpy's numbers and types, infinity, NaN, and functions of scikit-learn and numpy by their names."""
    choices = [choice for form in known["forms"] for choice in form.get("choices", [])]
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, type) and issubclass(value, np.generic):
        value = np.dtype(value).name
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 and "inf" in choices else _NONE_SUCH
    if callable(value):
        name = getattr(value, "__name__", "")
        return name if str(getattr(value, "__module__", "")).split(".")[0] in ("sklearn", "numpy") and name in choices else _NONE_SUCH
    if isinstance(value, (list, tuple)):
        parts = [_wire(part, {"forms": []}) for part in value]
        return _NONE_SUCH if any(part is _NONE_SUCH for part in parts) else parts
    if isinstance(value, dict):
        inner = {str(key): _wire(part, {"forms": []}) for key, part in value.items()}
        return _NONE_SUCH if any(part is _NONE_SUCH for part in inner.values()) else inner
    return value if value is None or isinstance(value, (bool, int, float, str)) else _NONE_SUCH


def _fits(value: Any, form: dict[str, Any]) -> bool:
    """Whether a value has a form that the catalogue lists. What is inside of arrays and objects is the server's to check."""
    kind = form["type"]
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int if kind == "integer" else (int, float)):
            return False
        low, high = form.get("minimum", -math.inf), form.get("maximum", math.inf)
        is_end = (value == low and form.get("exclusiveMinimum")) or (value == high and form.get("exclusiveMaximum"))
        return bool(low <= value <= high) and not is_end
    if kind == "string":
        return isinstance(value, str) and (not form.get("choices") or value in form["choices"])
    return isinstance(value, {"null": type(None), "boolean": bool, "object": dict, "array": list}[kind])
