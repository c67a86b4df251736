"""What a job does with its data. Arguments are named as in scikit-learn; the server knows which there are and names the field of one that is wrong."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Those that were set, as the wire names them."""
    return {camel(name): value for name, value in arguments.items() if value is not None}


@dataclass(frozen=True)
class Task:
    """One task of a job: its name on the wire and its fields."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {self.name: self.fields}


def fit() -> Task:
    """Fits on all rows and stores the model."""
    return Task("fit")


def fit_score(*, test_size: float | int | None = None, train_size: float | int | None = None, shuffle: bool | None = None, stratify: bool | None = None,
              random_state: int | None = None, scoring: list[str] | None = None, confusion_matrix: bool | None = None, curves: bool | None = None) -> Task:
    """train_test_split, fit, score."""
    return Task("fitScore", given(locals()))


def cross_validate(*, cv: int | None = None, splitter: str | None = None, shuffle: bool | None = None, random_state: int | None = None,
                   scoring: list[str] | None = None, return_train_score: bool | None = None, n_repeats: int | None = None, test_size: float | int | None = None,
                   train_size: float | int | None = None, gap: int | None = None, max_train_size: int | None = None, confusion_matrix: bool | None = None,
                   curves: bool | None = None) -> Task:
    """A score for each fold. splitter: "auto" or a class of sklearn.model_selection."""
    return Task("crossValidate", given(locals()))


def _search(name: str, candidates: str, space: Any, splits: Task | None, arguments: dict[str, Any]) -> Task:
    return _with_folds(name, splits, {candidates: space, **arguments})


def _with_folds(name: str, splits: Task | None, arguments: dict[str, Any]) -> Task:
    folds = {} if splits is None else {"crossValidate": splits.fields}
    return Task(name, {**given(arguments), **folds})


def _with_split(name: str, split: Task | None, arguments: dict[str, Any]) -> Task:
    parts = {} if split is None else {"fitScore": split.fields}
    return Task(name, {**given(arguments), **parts})


def grid_search(param_grid: Any, splits: Task | None = None, *, refit: bool | str | None = None, error_score: float | str | None = None) -> Task:
    """Every candidate of a grid: {"step__parameter": [values]}, or a list of such. splits: cross_validate(...)."""
    return _search("gridSearch", "paramGrid", param_grid, splits, {"refit": refit, "error_score": error_score})


def randomized_search(param_distributions: Any, splits: Task | None = None, *, n_iter: int | None = None, random_state: int | None = None,
                      refit: bool | str | None = None, error_score: float | str | None = None) -> Task:
    """Drawn candidates: lists, {"uniform": [low, high]}, {"loguniform": [low, high]}, {"randint": [low, high]}."""
    return _search("randomizedSearch", "paramDistributions", param_distributions, splits,
                   {"n_iter": n_iter, "random_state": random_state, "refit": refit, "error_score": error_score})


def halving_grid_search(param_grid: Any, splits: Task | None = None, *, factor: int | None = None, resource: str | None = None, min_resources: int | str | None = None,
                        max_resources: int | None = None, aggressive_elimination: bool | None = None, random_state: int | None = None, refit: bool | None = None,
                        error_score: float | str | None = None) -> Task:
    """Many candidates on few rows, then fewer on more."""
    return _search("halvingGridSearch", "paramGrid", param_grid, splits,
                   {"factor": factor, "resource": resource, "min_resources": min_resources, "max_resources": max_resources,
                    "aggressive_elimination": aggressive_elimination, "random_state": random_state, "refit": refit, "error_score": error_score})


def learning_curve(splits: Task | None = None, *, train_sizes: list[float] | list[int] | None = None, shuffle: bool | None = None,
                   random_state: int | None = None, error_score: float | str | None = None) -> Task:
    """Scores with ever more train rows: numbers of them, or fractions of the first fold's. splits: cross_validate(...)."""
    return _with_folds("learningCurve", splits, {"train_sizes": train_sizes, "shuffle": shuffle, "random_state": random_state, "error_score": error_score})


def validation_curve(param_name: str, param_range: list[Any], splits: Task | None = None, *, error_score: float | str | None = None) -> Task:
    """Scores by the value of one parameter, "step__parameter"."""
    return _with_folds("validationCurve", splits, {"param_name": param_name, "param_range": list(param_range), "error_score": error_score})


def permutation_test_score(splits: Task | None = None, *, n_permutations: int | None = None, random_state: int | None = None) -> Task:
    """Whether a score could be chance: the cross-validation again with permuted targets."""
    return _with_folds("permutationTestScore", splits, {"n_permutations": n_permutations, "random_state": random_state})


def permutation_importance(*, n_repeats: int | None = None, max_samples: float | int | None = None, random_state: int | None = None,
                           scoring: list[str] | None = None, split: Task | None = None) -> Task:
    """How much of its score a fitted pipeline loses with each column permuted. split: fit_score(...), whose train rows are fitted and test rows examined."""
    return _with_split("permutationImportance", split, {"n_repeats": n_repeats, "max_samples": max_samples, "random_state": random_state, "scoring": scoring})


def partial_dependence(features: list[Any], *, grid_resolution: int | None = None, percentiles: tuple[float, float] | None = None, kind: str | None = None,
                       response_method: str | None = None, split: Task | None = None) -> Task:
    """What a fitted pipeline predicts with columns set to the points of a grid. features: names or positions, or pairs of them; kind: average, individual,
    both."""
    return _with_split("partialDependence", split, {"features": [list(one) if isinstance(one, tuple) else one for one in features],
                                                    "grid_resolution": grid_resolution, "percentiles": None if percentiles is None else list(percentiles),
                                                    "kind": kind, "response_method": response_method})


def predict(model: Any, *, output: str | None = None, format: str | None = None) -> Task:
    """What a stored model says of the rows of a data set, as an artifact. model: its id, or a Model; output: predict, predict_proba, decision_function,
    score_samples, contributions."""
    return Task("predict", {"model": getattr(model, "id", model), **given({"output": output, "format": format})})


def transform(model: Any, *, format: str | None = None) -> Task:
    """The rows of a data set as the transformers of a stored model transform them, as an artifact."""
    return Task("transform", {"model": getattr(model, "id", model), **given({"format": format})})
