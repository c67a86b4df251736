"""Trees and forests of scikit-learn from the arrays of a stored model."""
from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils.class_weight import compute_sample_weight

from ..errors import KedgeError
from ._decide import Stays
from ._describe import RELEASE
from ._draws import rows_of_tree

Array = np.ndarray[Any, Any]
Members = list[tuple[str, Any]]   # as Model.members() gives them
# What this module knows of a node. Trees of a scikit-learn with further fields cannot be made.
FIELDS = frozenset({"left_child", "right_child", "feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples", "missing_go_to_left",
                    "leaf_value"})
LEAF = -2   # as feature and threshold


@dataclass(frozen=True)
class Fit:
    """What a forest was grown from. X: float32, dense or CSR; weights: of the rows, or None."""

    X: Any
    weights: Array | None
    seed: int
    y: Any = None   # labels or values, of a forest


def check_fields() -> None:
    """Raises Stays."""
    if more := set(NODE_DTYPE.names) - FIELDS:
        raise Stays(f"trees of this scikit-learn have the fields {', '.join(sorted(more))}, which the server does not give")


class Nodes:
    """The nodes of all trees, one behind the other, checked: scikit-learn follows children and features as they are."""

    def __init__(self, members: Members, n_features: int, n_classes: int) -> None:
        """n_classes: 0 for values. Raises KedgeError (BAD_DATA) for what are no trees."""
        found = dict(members)
        self.offset = np.asarray(found["tree_offset"], np.int64)
        self.feature = _column(found, "feature", np.int32)
        n = len(self.feature)
        if self.offset.size < 2 or self.offset[0] != 0 or self.offset[-1] != n or (np.diff(self.offset) < 1).any():
            raise KedgeError("BAD_DATA", "tree_offset does not cover the nodes", "tree_offset")
        self.threshold, self.impurity, self.weight = (_column(found, name, np.float64, n) for name in ("threshold", "impurity", "weight"))
        self.values = np.asarray(found["value"] if n_classes else found["mean"], np.float64)
        if self.values.size != n * max(1, n_classes):
            raise KedgeError("BAD_DATA", "the trees have another number of values than of nodes", "value")
        self.values = self.values.reshape(n, 1, max(1, n_classes))
        self.is_leaf = self.feature < 0
        self.inner = np.flatnonzero(~self.is_leaf)
        if (self.feature >= n_features).any():
            raise KedgeError("BAD_DATA", f"a tree asks for a feature beyond {n_features}", "feature")
        self.left_of, self.right_of = (_column(found, name, np.int32, n) for name in ("left", "right"))
        self.left, self.right = self.left_of[self.inner], self.right_of[self.inner]
        self._check_children()
        rows = np.asarray(found["n_rows"], np.int64) if "n_rows" in found else np.empty(0, np.int64)
        self.n_rows = rows if rows.size == n else None   # servers of old keep it for single trees

    def _check_children(self) -> None:
        """Each node but a root is the child of one node before it in its tree."""
        inner, left, right = self.inner.astype(np.int32), self.left, self.right
        end = np.repeat(self.offset[1:].astype(np.int32), np.diff(self.offset))[self.inner]
        if (np.minimum(left, right) <= inner).any() or (np.maximum(left, right) >= end).any():
            raise KedgeError("BAD_DATA", "a tree's child is no node behind its parent", "left")
        has_parent = np.zeros(len(self.feature), bool)
        has_parent[self.offset[:-1]] = has_parent[left] = has_parent[right] = True
        # As many are named as there are nodes, so where all are, none is twice.
        if len(left) + len(right) + self.offset.size - 1 != len(self.feature) or not has_parent.all():
            raise KedgeError("BAD_DATA", "a tree's node has no parent, or two", "right")

    def levels(self) -> Iterator[Array]:
        """The inner nodes, by their depth."""
        level = self.offset[:-1].astype(np.int32)
        while len(level := level[~self.is_leaf[level]]):
            yield level
            level = np.concatenate([self.left_of[level], self.right_of[level]])

    def depths(self) -> Array:
        """How deep each tree is."""
        found = np.zeros(self.offset.size - 1, np.int64)
        tree_of = np.repeat(np.arange(found.size, dtype=np.int32), np.diff(self.offset))
        for depth, level in enumerate(self.levels(), 1):
            found[tree_of[level]] = depth
        return found


def _column(found: dict[str, Any], name: str, dtype: Any, n: int | None = None) -> Array:
    column = np.asarray(found[name], dtype).reshape(-1)
    if n is not None and column.size != n:
        raise KedgeError("BAD_DATA", f"{name} has {column.size} numbers, not one for each of {n} nodes", name)
    return column


def trees_of(nodes: Nodes, n_features: int, n_classes: int, n_rows: Array) -> list[Tree]:
    """Trees of scikit-learn. n_classes: 1 for values; n_rows: of each node."""
    columns = {"feature": np.where(nodes.is_leaf, LEAF, nodes.feature), "threshold": np.where(nodes.is_leaf, LEAF, nodes.threshold),
               "impurity": nodes.impurity, "weighted_n_node_samples": nodes.weight, "n_node_samples": n_rows}
    if "missing_go_to_left" in NODE_DTYPE.names:   # to the larger part, as scikit-learn has it where no value was missing
        goes_left = np.zeros(len(nodes.feature), np.uint8)
        goes_left[nodes.inner] = n_rows[nodes.left] > n_rows[nodes.right]
        columns["missing_go_to_left"] = goes_left
    ends, depths, trees = nodes.offset.tolist(), nodes.depths().tolist(), []
    # Each tree copies its nodes, so one array that stays in the cache serves all.
    array, outputs = np.zeros(int(np.diff(nodes.offset).max()), NODE_DTYPE), np.array([n_classes], np.intp)
    for begin, end, depth in zip(ends, ends[1:], depths):
        part = array[:end - begin]
        for name, child in (("left_child", nodes.left_of), ("right_child", nodes.right_of)):
            np.subtract(child[begin:end], begin, out=part[name], casting="unsafe")
            part[name][nodes.is_leaf[begin:end]] = -1
        for name, column in columns.items():
            part[name] = column[begin:end]
        tree = Tree(n_features, outputs, 1)
        tree.__setstate__({"max_depth": depth, "node_count": end - begin, "nodes": part, "values": nodes.values[begin:end]})
        trees.append(tree)
    return trees


def _sum_up(nodes: Nodes, counts: Array) -> None:
    """What the leaves have becomes that of the nodes above them."""
    for level in reversed(list(nodes.levels())):
        counts[level] = counts[nodes.left_of[level]] + counts[nodes.right_of[level]]


def rows_of(nodes: Nodes, bootstrap: bool, is_weighted: bool, count: Any) -> Array:
    """n_node_samples of a forest whose server does not keep it: without weights it is what a node weighs, and where rows are drawn the number of draws.
    count: gives it by passing the rows through the trees, for weighted rows that are not drawn."""
    return np.rint(nodes.weight).astype(np.int64) if bootstrap or not is_weighted else np.asarray(count(), np.int64)


def counted(nodes: Nodes, n_features: int, n_classes: int, fit: Fit) -> Array:
    """Rows that have a weight, by the node that they come to."""
    counts = np.zeros(len(nodes.feature), np.int64)
    X = fit.X if fit.weights is None else fit.X[fit.weights > 0]
    for tree, begin in zip(trees_of(nodes, n_features, n_classes, counts), nodes.offset):
        np.add.at(counts, tree.apply(X) + begin, 1)
    _sum_up(nodes, counts)
    return counts


def _drawn(nodes: Nodes, n_features: int, n_classes: int, fit: Fit) -> Array | None:
    """Distinct rows that a tree drew, by the node that they come to; None where the draws do not give what the nodes weigh: then the server draws
    otherwise than this client knows."""
    n_draws, n = int(np.rint(nodes.weight[0])), int(fit.X.shape[0])

    def count(i: int, tree: Tree) -> tuple[Array, Array]:
        times = np.bincount(rows_of_tree(fit.seed, i, n, n_draws, fit.weights), minlength=n)
        leaf = tree.apply(fit.X)
        return (np.bincount(leaf[times > 0], minlength=tree.node_count), np.bincount(leaf, weights=times, minlength=tree.node_count))
    trees = trees_of(nodes, n_features, n_classes, np.zeros(len(nodes.feature), np.int64))
    # On all cores, as the server has grown the trees: this is most of what filling a forest takes.
    found = Parallel(n_jobs=-1, require="sharedmem")(delayed(count)(i, tree) for i, tree in enumerate(trees))
    rows, draws = (np.concatenate(parts) for parts in zip(*found))
    leaves = nodes.is_leaf
    if not np.array_equal(draws[leaves], np.rint(nodes.weight[leaves])):
        return None
    _sum_up(nodes, rows)
    return rows


def _node_rows(nodes: Nodes, forest: Any, n_features: int, n_classes: int, fit: Fit) -> Array:
    """n_node_samples: the different rows of each node. Servers before 2026-11-26 do not keep it for forests."""
    if nodes.n_rows is not None:
        return nodes.n_rows
    is_drawn_evenly = forest.bootstrap and getattr(forest, "class_weight", None) is None
    if is_drawn_evenly and (drawn := _drawn(nodes, n_features, n_classes, fit)) is not None:
        return drawn
    is_weighted = fit.weights is not None or getattr(forest, "class_weight", None) is not None
    return rows_of(nodes, forest.bootstrap, is_weighted, lambda: counted(nodes, n_features, n_classes, fit))


def forest_of(forest: Any, members: Members, n_features: int, classes: Array | None, fit: Fit) -> dict[str, Any]:
    """The attributes that a forest of scikit-learn has beside those of the job. classes: of a classifier."""
    n_classes = 0 if classes is None else len(classes)
    nodes, width = Nodes(members, n_features, n_classes), max(1, n_classes)
    n_rows = _node_rows(nodes, forest, n_features, width, fit)
    maker = clone(forest)
    maker._validate_estimator()
    one = maker._make_estimator(append=False, random_state=0)
    vars(one).update(n_features_in_=n_features, n_outputs_=1, max_features_=max_features_of(forest.max_features, n_features))
    if classes is not None:
        vars(one).update(classes_=np.arange(n_classes, dtype=np.float64), n_classes_=np.int64(n_classes))
    seeds = np.random.RandomState(fit.seed).randint(np.iinfo(np.int32).max, size=len(nodes.offset) - 1)
    estimators = []
    for seed, tree in zip(seeds.tolist(), trees_of(nodes, n_features, width, n_rows)):
        each = copy.copy(one)
        vars(each).update(random_state=seed, tree_=tree)
        estimators.append(each)
    found = {"estimator_": maker.estimator_, "estimators_": estimators, "_n_samples_bootstrap": None}
    if forest.bootstrap:
        found["_n_samples_bootstrap"] = int(round(float(nodes.weight[0])))
    weights = _draw_weights(forest, fit)
    if not forest.bootstrap or _drew_alike(forest, nodes, seeds, fit, weights):   # else estimators_samples_ would tell of other draws than the server's
        found["_n_samples"] = int(fit.X.shape[0])
        if RELEASE >= (1, 9):
            found["_sample_weight"] = weights
    return found


def _drew_alike(forest: Any, nodes: Nodes, seeds: Array, fit: Fit, weights: Array | None) -> bool:
    """Whether the server drew the rows that scikit-learn draws: each tree has as many different ones then, and the root predicts by them."""
    if nodes.n_rows is None:
        return False
    n, n_draws = int(fit.X.shape[0]), int(round(float(nodes.weight[0])))
    shares = None if weights is None else weights / np.sum(weights)
    y = np.ravel(np.asarray(fit.y))
    of_y = y[:, None].astype(np.float64) if nodes.values.shape[2] == 1 and not is_classifier(forest) else np.unique(y)[None, :] == y[:, None]
    for seed, root in zip(seeds.tolist(), nodes.offset):
        random = np.random.RandomState(seed)
        rows = random.randint(0, n, n_draws) if shares is None else random.choice(n, n_draws, replace=True, p=shares)
        if len(np.unique(rows)) != nodes.n_rows[root]:
            return False
        is_mean = getattr(forest, "class_weight", None) is None and forest.criterion != "absolute_error"
        if is_mean and not np.allclose(of_y[rows].mean(axis=0), nodes.values[root, 0], rtol=1e-9, atol=1e-12):
            return False
    return True


def _draw_weights(forest: Any, fit: Fit) -> Array | None:
    """The weights of the rows, in proportion to which scikit-learn draws them."""
    by_class = getattr(forest, "class_weight", None)
    if by_class is None or (by_class == "balanced_subsample" and forest.bootstrap):
        return fit.weights
    weights: Array = compute_sample_weight(by_class, fit.y)
    return weights if fit.weights is None else weights * fit.weights


def max_features_of(value: Any, n_features: int) -> int:
    if value is None:
        return n_features
    if isinstance(value, str):
        return max(1, int(math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)))
    if isinstance(value, (int, np.integer)):
        return int(value)
    return max(1, int(value * n_features)) if value > 0 else 0
