"""Fitted objects of scikit-learn as stored models: the open form (docs/models.md), written from their attributes. Nothing is pickled."""
from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from . import _discriminants, _parts
from ._boosted_categories import Categories
from ._states import LINES, SEVERAL, WRITERS, Feature, Refused, State, linear_regression, nominal_names
from ._tree_outputs import by_target

OPEN_VERSION = 1
# What skops does not trust by itself, because its compiled code follows the numbers of a file. Here they are read, and checked by the server.
OF_TREES = ("sklearn.tree._tree.", "sklearn.ensemble._hist_gradient_boosting.", "sklearn._loss.")
ENCODERS = ("OneHotEncoder", "OrdinalEncoder")
SINGLE = {**WRITERS, **_discriminants.WRITERS}
TAKEN = (*SINGLE, *_parts.WRITERS, *LINES, "ColumnTransformer")
LACKS = {"BaggingClassifier": ("decision_function",)}   # answers that scikit-learn's have and the server's have not


def _is_passed(step: Any) -> bool:
    return step is None or isinstance(step, str) or isinstance(step, FunctionTransformer) and step.func is None


def _steps(model: Any) -> list[Any]:
    """Its fitted parts, the last one last. Searches stand for what they found."""
    if hasattr(model, "best_estimator_"):
        return _steps(model.best_estimator_)
    if isinstance(model, Pipeline):
        return [part for _, step in model.steps if not _is_passed(step) for part in _steps(step)]
    return [by_target(model)]


def _given(model: Any) -> list[Feature]:
    """The columns that a model reads. Categories of one are those of the encoder, or of the trees, that it goes to."""
    names = [str(one) for one in getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])]
    return [Feature(name, known) for name, known in zip(names, _categories(model, len(names)))]


def _categories(model: Any, n_columns: int) -> list[list[str] | None]:
    found: list[list[str] | None] = [None] * n_columns
    if type(model).__name__ in _parts.WRITERS:
        for part in _parts.beside(model):
            found = [one or other for one, other in zip(found, _categories(_steps(part)[0], n_columns))]
        return found
    if type(model).__name__.startswith("HistGradientBoosting"):
        of_trees = Categories(model)
        return [of_trees.names(column) for column in range(n_columns)]
    parts: list[tuple[Any, Sequence[int]]] = [(model, range(n_columns))]
    if isinstance(model, ColumnTransformer):
        parts = [(step, _places(model, name)) for name, step, _ in model.transformers_ if not _is_passed(step)]
    for step, places in parts:
        encoder = next((part for part in _steps(step) if type(part).__name__ in ENCODERS), None)
        for place, known in zip(places, encoder.categories_ if encoder is not None else ()):
            found[place] = nominal_names(known)
    return found


def _places(model: ColumnTransformer, name: str) -> list[int]:
    places: list[int] = list(model._transformer_to_input_indices[name])
    return places


def _write(state: State, part: Any) -> dict[str, Any]:
    """The step that describes the part."""
    name = type(part).__name__
    if isinstance(part, ColumnTransformer):
        return {"estimator": name, "params": _columns(state, part)}
    if name not in TAKEN:
        raise Refused(f"{name} is not taken; there are {', '.join(sorted(TAKEN))}")
    check_is_fitted(part)
    is_made_of_others = name in _parts.WRITERS
    if is_classifier(part):
        if np.ndim(part.classes_[0]) != 0 and name != "MultiOutputClassifier":
            raise Refused(SEVERAL)
        if is_made_of_others and state.labels is not None and len(state.labels) != len(part.classes_):
            raise Refused(f"{name} inside of another did not see all classes")
        if not is_made_of_others or name == "AdaBoostClassifier":
            state.classes(part.classes_)
    if is_made_of_others:
        params = _parts.WRITERS[name](_parts.Parts(state, _write, _steps, _next_given), part)
    else:
        params = SINGLE.get(name, linear_regression)(state, part)
    return {"estimator": "LinearRegression" if name in LINES else name, **({"params": params} if params else {})}


def _next_given(state: State, part: Any, following: Any) -> list[Feature]:
    """What the next step reads. Imputers keep categories; what others make are numbers."""
    if type(part).__name__ == "SimpleImputer":
        return state.given
    return [Feature(f"x{j}") for j in range(following.n_features_in_)]


def _columns(state: State, model: ColumnTransformer) -> dict[str, Any]:
    """A ColumnTransformer's state, and its parameters."""
    given, described, ends = state.given, [], []
    state.texts("features_in", [feature.name for feature in given])
    state.texts("features_out", [str(name) for name in model.get_feature_names_out()])
    state.value("has_names", "bool", True)
    used = {name: step for name, step, _ in model.transformers_}
    rest = _places(model, "remainder") if "remainder" in model._transformer_to_input_indices else []
    for name, _, _ in model.transformers:
        step, places = used[name], _places(model, name)
        state.array("columns", places, "int64")
        names = [given[place].name for place in places]
        end = model.output_indices_[name].stop
        ends.append((name, end))
        if isinstance(step, str) or _is_passed(step):
            described.append([name, step if isinstance(step, str) else "passthrough", names])
            continue
        if not places:
            raise Refused(f"{name} of the ColumnTransformer has no columns")
        parts, steps = _steps(step), []
        state.given = [given[place] for place in places]
        for at, part in enumerate(parts):
            state.number("width", len(state.given))
            steps.append(_write(state, part))
            if at + 1 < len(parts):
                state.given = _next_given(state, part, parts[at + 1])
        described.append([name, steps, names])
    if not (isinstance(model.remainder, str) and model.remainder in ("drop", "passthrough")):
        raise Refused("the remainder of the ColumnTransformer is an estimator")
    state.array("columns", rest if model.remainder == "passthrough" else [], "int64")
    state.value("ends", "count", len(ends))
    for name, end in ends:
        state.value("name", "text", name)
        state.number("end", end)
    state.given = given
    return {"transformers": described, "remainder": model.remainder}


def _outputs(model: Any) -> list[str]:
    names = [name for name in ("predict", "predict_proba", "decision_function", "score_samples", "transform") if hasattr(model, name)]
    lacks = LACKS.get(type(model).__name__, ())
    return [name for name in names if name not in lacks and (name != "transform" or not (is_classifier(model) or is_regressor(model)))]


def _targets(last: Any) -> list[dict[str, Any]]:
    """Those of a model of several, which the object has no names of."""
    if not type(last).__name__.startswith("MultiOutput"):
        return []
    return [{"name": f"target{k}", "classes": [str(one) for one in part.classes_.tolist()] if is_classifier(last) else []} for k, part in enumerate(last.estimators_)]


def _column(feature: Feature) -> dict[str, Any]:
    return {"name": feature.name, "kind": "number"} if feature.categories is None else {"name": feature.name, "kind": "category", "categories": feature.categories}


def _load(path: Any) -> Any:
    """A file of skops, with nothing in it but types that skops trusts, and trees."""
    try:
        from skops import io as skops
    except ImportError as error:
        raise ImportError("kedge.export() of a file needs skops: pip install skops") from error
    unknown = skops.get_untrusted_types(file=path)
    if others := [name for name in unknown if not name.startswith(OF_TREES)]:
        raise Refused(f"{path} holds {', '.join(others)}, which skops does not trust")
    return skops.load(path, trusted=unknown)


def exported(model: Any) -> bytes:
    """As kedge.export()."""
    if isinstance(model, (str, os.PathLike)):
        model = _load(model)
    parts, state, pipeline = _steps(model), State(), []
    if not parts:
        raise Refused("the pipeline has no step")
    for part in parts:
        if not type(part).__module__.startswith("sklearn."):
            raise Refused(f"{type(part).__module__}.{type(part).__name__} is not scikit-learn's own")
        check_is_fitted(part)
        if not hasattr(part, "n_features_in_"):   # vectors with a function as kernel
            raise Refused(f"{type(part).__name__} does not say how many columns it reads")
    state.given = columns = _given(parts[0])
    for at, part in enumerate(parts):
        state.number("n_features", part.n_features_in_)
        pipeline.append(_write(state, part))
        if at + 1 < len(parts):
            state.given = _next_given(state, part, parts[at + 1])
    last = parts[-1]
    targets = _targets(last)
    classes = [str(one) for one in last.classes_.tolist()] if is_classifier(last) and not targets else []
    info = {"bytes": 0, "dataset": {"stored": "exported"}, "pipeline": pipeline, "outputs": _outputs(last), "columns": [_column(one) for one in columns],
            "target": "target" if (is_classifier(last) or is_regressor(last)) and not targets else "", "targets": targets, "classes": classes, "dtype": "float64", "scale": 1.0, "nSamples": 0, "seed": 0,
            "dataDigest": "", "version": __version__, "device": "cpu"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        description = {"format": "kedge.model", "version": OPEN_VERSION, "info": info, "state": state.records}
        file.writestr(zipfile.ZipInfo("model.json"), json.dumps(description))
        for name, content in state.arrays.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()
