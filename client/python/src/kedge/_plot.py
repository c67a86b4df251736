"""Pictures of results with matplotlib, where it is installed."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import KedgeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PHASES = ("queued", "download", "parse", "load", "toDevice", "prepare", "fit", "transform", "predict", "score")
MOST_CELLS = 400   # of a search surface, with the numbers written into up to a quarter of them
MOST_CURVES = 10   # of classes or candidates, the first or best ones
Result = dict[str, Any]


def plot(result: Result, what: str | None, ax: Axes | None) -> Figure:
    """One picture, or all that the result has data for."""
    _needs_matplotlib()
    there = [name for name, (has, _) in PICTURES.items() if has(result)]
    wanted = there if what is None else [what]
    if what is not None and what not in PICTURES:
        raise KedgeError("INVALID_VALUE", f"there is no picture '{what}', there are: {', '.join(PICTURES)}", "what")
    if what is not None and what not in there:
        raise KedgeError("NOT_FOUND", f"the result has no data for '{what}', it has some for: {', '.join(there) or 'none'}{HINTS.get(what, '')}", "what")
    if not wanted:
        raise KedgeError("NOT_FOUND", "the result has no data for a picture", "what")
    if ax is not None:
        PICTURES[wanted[0]][1](result, ax)
        return ax.figure  # type: ignore[return-value]
    figure, axes = _figure(len(wanted))
    for name, one in zip(wanted, axes):
        PICTURES[name][1](result, one)
    return figure


def plot_learning_curve(sizes: Any, train_scores: Any, test_scores: Any, ax: Axes | None = None) -> Figure:
    """What kedge.sklearn.learning_curve() or scikit-learn's gives: means over the folds, with their standard deviations."""
    _needs_matplotlib()
    import numpy as np
    one = ax if ax is not None else _figure(1)[1][0]
    for name, scores in (("train", np.asarray(train_scores)), ("test", np.asarray(test_scores))):
        mean, std = scores.mean(axis=1), scores.std(axis=1)
        one.plot(sizes, mean, marker="o", label=name)
        one.fill_between(sizes, mean - std, mean + std, alpha=0.2)
    _titles(one, "learning curve", "rows", "score")
    one.legend()
    return one.figure  # type: ignore[return-value]


def _needs_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise KedgeError("NOT_FOUND", "pictures need matplotlib: pip install matplotlib", "matplotlib") from None


def _figure(n: int) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt
    columns = min(n, 2)
    rows = math.ceil(n / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(6.0 * columns, 4.2 * rows), squeeze=False, layout="constrained")
    flat = list(axes.flat)
    for unused in flat[n:]:
        unused.set_axis_off()
    return figure, flat


def _titles(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan   # JSON has no NaN and no infinity


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# Scores and times

def _scores(result: Result, ax: Axes) -> None:
    """A point for each fold, a line for the mean. Scorers of other scales, such as errors, get an axis each by naming them."""
    names = list(result["scores"])
    for place, name in enumerate(names):
        one = result["scores"][name]
        folds = [_number(score) for score in one["perFold"]]
        spread = [place + 0.4 * ((i + 0.5) / len(folds) - 0.5) for i in range(len(folds))]
        ax.scatter(spread, folds, s=25, zorder=3)
        ax.hlines(_number(one["mean"]), place - 0.3, place + 0.3, color="0.5")
    ax.set_xticks(range(len(names)), names, rotation=20 if len(names) > 2 else 0)
    ax.set_xlim(-0.6, len(names) - 0.4)
    _titles(ax, "scores of the folds", "", "score")


def _timings(result: Result, ax: Axes) -> None:
    """Phases from top to bottom, each where the one before it ends. Those of folds are sums, so they may be more than the whole took."""
    timings = result["timings"]
    phases = [(name, float(timings[name])) for name in PHASES if timings.get(name)]
    begin = 0.0
    for place, (_, seconds) in enumerate(phases):
        ax.barh(place, seconds, left=begin)
        ax.annotate(_duration(seconds), (begin + seconds, place), xytext=(3, 0), textcoords="offset points", va="center")
        begin += seconds
    total = float(timings.get("total", 0))
    ax.axvline(total, color="0.5", linestyle=":")
    ax.set_yticks(range(len(phases)), [name for name, _ in phases])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.2 * max(begin, total))
    _titles(ax, "where the time went", f"seconds, of {_duration(total)} in all")


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


# Classes

def _confusion_matrix(result: Result, ax: Axes) -> None:
    found = result["evaluation"]["confusion_matrix"]
    labels, matrix = [str(label) for label in found["labels"]], found["matrix"]
    ax.imshow(matrix, cmap="Blues")
    most = max(max(row) for row in matrix) or 1
    if len(labels) <= 20:
        for i, row in enumerate(matrix):
            for j, count in enumerate(row):
                ax.text(j, i, f"{count:g}", ha="center", va="center", color="white" if count > most / 2 else "black")
    ax.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 4 else 0)
    ax.set_yticks(range(len(labels)), labels)
    _titles(ax, "confusion matrix", "predicted", "true")


def _roc(result: Result, ax: Axes) -> None:
    for name, one in list(result["evaluation"]["roc_curve"].items())[:MOST_CURVES]:
        ax.plot(one["fpr"], one["tpr"], label=f"{name} (AUC {_number(one.get('auc')):.3f})")
    ax.plot([0, 1], [0, 1], color="0.7", linestyle=":")
    ax.legend(loc="lower right")
    _titles(ax, "ROC", "false positive rate", "true positive rate")


# Searches

def _means(result: Result) -> list[float]:
    found = result["search"]["cvResults"]
    name = next(name for name in found if name.startswith("mean_test_"))
    return [_number(score) for score in found[name]]


def _varied(result: Result) -> dict[str, list[Any]]:
    """Parameters with more than one value, by how much the best score depends on them; a value of each candidate."""
    params, means = result["search"]["cvResults"]["params"], _means(result)

    def effect(values: list[Any]) -> float:
        best: dict[str, float] = {}
        for value, score in zip(values, means):
            if not math.isnan(score):
                best[str(value)] = max(score, best.get(str(value), -math.inf))
        return max(best.values()) - min(best.values()) if best else 0.0
    columns = {name: [one.get(name) for one in params] for name in sorted({name for one in params for name in one})}
    varied = {name: values for name, values in columns.items() if len(set(map(str, values))) > 1}
    return dict(sorted(varied.items(), key=lambda item: -effect(item[1])))


def _search(result: Result, ax: Axes) -> None:
    """Over the two parameters that matter most; where further ones vary, the best score of each cell."""
    varied, means = _varied(result), _means(result)
    if len(varied) < 2:
        _search_line(next(iter(varied.items()), ("candidate", list(range(len(means))))), means, ax)
        return
    (x, of_x), (y, of_y) = list(varied.items())[:2]
    rows, columns = _values(of_y), _values(of_x)
    if len(rows) * len(columns) > min(MOST_CELLS, 4 * len(means)) and all(map(_is_number, of_x)) and all(map(_is_number, of_y)):
        shown: Any = ax.scatter(of_x, of_y, c=means, cmap="viridis")
        _scale(ax.set_xscale, of_x)
        _scale(ax.set_yscale, of_y)
    else:
        cells = [[math.nan] * len(columns) for _ in rows]
        for across, down, score in zip(of_x, of_y, means):
            i, j = rows.index(str(down)), columns.index(str(across))
            cells[i][j] = score if math.isnan(cells[i][j]) else max(score, cells[i][j])
        shown = ax.imshow(cells, cmap="viridis", aspect="auto", origin="lower")
        _write_cells(ax, cells)
        ax.set_xticks(range(len(columns)), columns, rotation=45 if len(columns) > 5 else 0)
        ax.set_yticks(range(len(rows)), rows)
    ax.figure.colorbar(shown, ax=ax, label="mean test score")
    _titles(ax, "search" + (", best over the other parameters" if len(varied) > 2 else ""), x, y)


def _search_line(parameter: tuple[str, list[Any]], means: list[float], ax: Axes) -> None:
    name, values = parameter
    if all(map(_is_number, values)):
        ax.plot(*zip(*sorted(zip(values, means))), marker="o")
        _scale(ax.set_xscale, values)
    else:
        ax.bar([str(value) for value in values], means)
        ax.set_ylim(bottom=min(means) - 0.1 * (max(means) - min(means) or 1))
    _titles(ax, "search", name, "mean test score")


def _values(column: Sequence[Any]) -> list[str]:
    ordered = sorted(column) if all(map(_is_number, column)) else sorted(column, key=str)
    return list(dict.fromkeys(map(str, ordered)))


def _scale(set_scale: Callable[[str], object], values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) >= 100:
        set_scale("log")


def _write_cells(ax: Axes, cells: list[list[float]]) -> None:
    known = [score for row in cells for score in row if not math.isnan(score)]
    if not known or len(cells) * len(cells[0]) > MOST_CELLS // 4:
        return
    middle = (min(known) + max(known)) / 2
    for i, row in enumerate(cells):
        for j, score in enumerate(row):
            if not math.isnan(score):
                ax.text(j, i, f"{score:.3f}", ha="center", va="center", color="white" if score <= middle else "black", fontsize="small")


def _halving(result: Result, ax: Axes) -> None:
    """The candidates that came furthest, over what each round gave them."""
    found, means = result["search"]["cvResults"], _means(result)
    curves: dict[str, list[tuple[float, float]]] = {}
    for params, resources, score in zip(found["params"], found["n_resources"], means):
        curves.setdefault(", ".join(f"{name}={value}" for name, value in params.items()), []).append((resources, score))
    best = sorted(curves.items(), key=lambda item: (-len(item[1]), -item[1][-1][1]))[:MOST_CURVES]
    best = [item for item in best if len(item[1]) > 1] or best
    for name, points in best:
        ax.plot(*zip(*points), marker="o", label=name)
    ax.legend(fontsize="small", loc="lower right")
    _titles(ax, "learning curves of the candidates", "resources of a round", "mean test score")


def _evaluated(name: str) -> Callable[[Result], bool]:
    return lambda result: bool(result.get("evaluation", {}).get(name))


def _has_resources(result: Result) -> bool:
    return "n_resources" in result.get("search", {}).get("cvResults", {})


# By name: whether the result has the data, and what draws it.
PICTURES: dict[str, tuple[Callable[[Result], bool], Callable[[Result, Any], None]]] = {
    "scores": (lambda result: bool(result.get("scores")), _scores),
    "timings": (lambda result: bool(result.get("timings")), _timings),
    "confusion_matrix": (_evaluated("confusion_matrix"), _confusion_matrix),
    "roc": (_evaluated("roc_curve"), _roc),
    "search": (lambda result: "search" in result, _search),
    "learning_curve": (_has_resources, _halving),
}
HINTS = {"confusion_matrix": "; kedge.cross_validate(confusion_matrix=True) asks for it", "roc": "; kedge.cross_validate(curves=True) asks for it",
         "learning_curve": "; halving searches have it, and kedge.plot_learning_curve() takes what kedge.sklearn.learning_curve() gives"}
