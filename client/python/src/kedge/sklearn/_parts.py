"""What estimators that are made of others have learned, as the server keeps it: each part is written as it is alone, with the classes that it knows."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ._states import Feature, Params, Refused, State

Write = Callable[[State, Any], dict[str, Any]]          # writes one step
Steps = Callable[[Any], list[Any]]                      # of a part, which may be a pipeline
NextGiven = Callable[[State, Any, Any], list[Feature]]  # what the step behind another reads


class Parts:
    """Writes parts of an estimator one after the other."""

    def __init__(self, state: State, write: Write, steps: Steps, next_given: NextGiven) -> None:
        self.state, self._write, self._steps, self._next_given = state, write, steps, next_given

    def predictor(self, model: Any, labels: Any, kind: Callable[[Any], bool] = is_classifier, given: list[Feature] | None = None) -> Any:
        """The step, or the list of steps, that describes it. labels: those of the rows that it was fitted on, and of rows that it did not see; given: what it
        reads, if not what its owner reads."""
        state, steps = self.state, self._steps(model)
        if not steps:
            raise Refused("a pipeline has no step")
        if not kind(steps[-1]):
            raise Refused(f"{type(steps[-1]).__name__} is no {'classifier' if kind is is_classifier else 'regressor'}")
        outer = state.given, state.labels
        state.given, state.labels = state.given if given is None else given, labels
        state.number("n_features", len(state.given))
        found = []
        for at, step in enumerate(steps):
            if not type(step).__module__.startswith("sklearn."):
                raise Refused(f"{type(step).__module__}.{type(step).__name__} is not scikit-learn's own")
            state.number("width", step.n_features_in_)
            found.append(self._write(state, step))
            if at + 1 < len(steps):
                state.given = self._next_given(state, step, steps[at + 1])
        state.given, state.labels = outer
        return found[0] if len(found) == 1 else found

    def copies(self, models: list[Any], labels: Any, kind: Callable[[Any], bool] = is_classifier, given: list[Feature] | None = None) -> Any:
        """The description that all of them have. Raises Refused where they differ."""
        described = [self.predictor(model, labels, kind, given) for model in models]
        return _one_of(described)


def beside(model: Any) -> list[Any]:
    """The fitted parts that read the columns that the model reads."""
    if hasattr(model, "calibrated_classifiers_"):
        return [_thawed(one.estimator) for one in model.calibrated_classifiers_]
    return [] if hasattr(model, "estimators_features_") else list(model.estimators_)


def _one_of(described: list[Any]) -> Any:
    if any(one != described[0] for one in described):
        raise Refused("the estimators inside have different parameters")
    return described[0]


def _names(model: Any) -> list[str]:
    return [str(one) for one in model.classes_.tolist()]


def _kept(model: Any) -> list[tuple[str, Any]]:
    """The fitted parts by name, without those that are dropped."""
    return list(zip([name for name, one in model.estimators if not isinstance(one, str)], model.estimators_, strict=True))


def _described(parts: Parts, kept: list[tuple[str, Any]], labels: Any, kind: Callable[[Any], bool]) -> list[dict[str, Any]]:
    return [{"name": name, "estimator": parts.predictor(one, labels, kind)} for name, one in kept]


def voting(parts: Parts, model: Any) -> Params:
    is_of_classes, kept = is_classifier(model), _kept(model)
    if is_of_classes:
        parts.state.texts("classes", _names(model))
    kind = is_classifier if is_of_classes else is_regressor
    params: Params = {"estimators": _described(parts, kept, np.arange(len(model.classes_)) if is_of_classes else None, kind)}
    if is_of_classes:
        params["voting"] = model.voting
    return {**params, **({} if model.weights is None else {"weights": [float(one) for one in model._weights_not_none]})}


def stacking(parts: Parts, model: Any) -> Params:
    is_of_classes, kept = is_classifier(model), _kept(model)
    kind = is_classifier if is_of_classes else is_regressor
    labels = seen = None
    if is_of_classes:
        parts.state.texts("classes", _names(model))
        labels = np.arange(len(model.classes_))
        seen = labels if model.cv != "prefit" else model.classes_   # of fits before this one
        if model.cv == "prefit" and "predict" in model.stack_method_ and not np.array_equal(seen, labels):
            raise Refused("the stack reads labels that its estimators predict, and their numbers are not the labels' places")
    described = _described(parts, kept, seen, kind)
    width = model.final_estimator_.n_features_in_
    final = parts.predictor(model.final_estimator_, labels, kind, [Feature(f"answer{j}") for j in range(width)])
    params: Params = {"estimators": described, "final_estimator": final, "passthrough": bool(model.passthrough)}
    return {**params, **({"stack_method": model.stack_method} if is_of_classes else {})}


def bagging(parts: Parts, model: Any) -> Params:
    state, is_of_classes = parts.state, is_classifier(model)
    if is_of_classes:
        state.texts("classes", _names(model))
    described = []
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        is_whole = np.array_equal(columns, np.arange(model.n_features_in_))
        state.array("columns", [] if is_whole else columns, "int32")
        given = None if is_whole else [state.given[column] for column in columns]
        described.append(parts.predictor(one, np.arange(len(model.classes_)) if is_of_classes else None, is_classifier if is_of_classes else is_regressor, given))
    state.real("oob_score", 0.0)
    state.array("oob_answers", [])
    return {"estimator": _one_of(described), "n_estimators": len(described)}


def ada(parts: Parts, model: Any) -> Params:
    state, n, is_of_classes = parts.state, len(model.estimators_), is_classifier(model)
    if getattr(model, "algorithm", "SAMME") == "SAMME.R":
        raise Refused("AdaBoostClassifier by SAMME.R, which scikit-learn has no more, has other answers than the server's")
    state.number("n_copies", n)
    state.array("weights", model.estimator_weights_[:n])
    state.array("errors", model.estimator_errors_[:n])
    kind = is_classifier if is_of_classes else is_regressor
    return {"estimator": parts.copies(model.estimators_, model.classes_ if is_of_classes else None, kind), "n_estimators": n}


def calibrated(parts: Parts, model: Any) -> Params:
    state, n_classes = parts.state, len(model.classes_)
    if model.method not in ("sigmoid", "isotonic", "temperature"):
        raise Refused(f"CalibratedClassifierCV: the server has no method {model.method}")
    state.texts("classes", _names(model))
    state.value("members", "count", len(model.calibrated_classifiers_))
    described = []
    for member in model.calibrated_classifiers_:
        estimator = _thawed(member.estimator)
        if len(estimator.classes_) != n_classes:
            raise Refused("a fold of CalibratedClassifierCV did not see all classes")
        is_coded = not np.array_equal(estimator.classes_, model.classes_)   # a temperature is fitted on codes of names
        described.append(parts.predictor(estimator, np.arange(n_classes) if is_coded else model.classes_))
        if model.method == "temperature":   # one for all classes
            state.real("beta", float(member.calibrators[0].beta_))
            continue
        for curve in member.calibrators:   # one for each class; of two the second has one
            _curve(state, curve, model.method)
    return {"estimator": _one_of(described), "method": model.method}


def _thawed(estimator: Any) -> Any:
    return estimator.estimator if type(estimator).__name__ == "FrozenEstimator" else estimator


def _curve(state: State, curve: Any, method: str) -> None:
    is_sigmoid = method == "sigmoid"
    state.value("is_there", "bool", True)
    state.real("a", curve.a_ if is_sigmoid else 0.0)
    state.real("b", curve.b_ if is_sigmoid else 0.0)
    state.array("x", [] if is_sigmoid else curve.X_thresholds_)
    state.array("y", [] if is_sigmoid else curve.y_thresholds_)


def one_vs_rest(parts: Parts, model: Any) -> Params:
    state, n_classes = parts.state, len(model.classes_)
    if model.multilabel_:
        raise Refused("the model has several targets")
    if any(type(one).__name__ == "_ConstantPredictor" for one in model.estimators_):
        raise Refused("OneVsRestClassifier was fitted on rows of one class")
    state.texts("classes", _names(model))
    state.number("first", 0)
    state.value("members", "count", len(model.estimators_))
    described = []
    for code, one in zip([1] if n_classes == 2 else range(n_classes), model.estimators_, strict=True):
        state.number("code", code)
        described.append(parts.predictor(one, np.arange(2)))
    return {"estimator": _one_of(described)}


def one_vs_one(parts: Parts, model: Any) -> Params:
    state = parts.state
    if model.pairwise_indices_ is not None:
        raise Refused("OneVsOneClassifier of kernels that were computed before")
    state.texts("classes", _names(model))
    state.array("present", np.arange(len(model.classes_)), "int32")
    return {"estimator": parts.copies(list(model.estimators_), np.arange(2))}


def multi_output(parts: Parts, model: Any) -> Params:
    state, is_of_classes = parts.state, is_classifier(model)
    state.value("members", "count", len(model.estimators_))
    described = []
    for one in model.estimators_:
        state.texts("classes", _names(one) if is_of_classes else [])
        described.append(parts.predictor(one, one.classes_ if is_of_classes else None, is_classifier if is_of_classes else is_regressor))
    return {"estimator": _one_of(described)}


WRITERS: dict[str, Callable[[Parts, Any], Params]] = {
    **dict.fromkeys(("MultiOutputClassifier", "MultiOutputRegressor"), multi_output),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), voting),
    **dict.fromkeys(("StackingClassifier", "StackingRegressor"), stacking),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), bagging),
    **dict.fromkeys(("AdaBoostClassifier", "AdaBoostRegressor"), ada),
    "CalibratedClassifierCV": calibrated,
    "OneVsRestClassifier": one_vs_rest,
    "OneVsOneClassifier": one_vs_one,
}
