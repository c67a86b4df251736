"""Fills of clusters that are found in a tree or in an order of the rows."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster._birch import _CFNode, _CFSubcluster
from sklearn.cluster._bisect_k_means import _BisectingTree
from sklearn.cluster._kmeans import _kmeans_single_elkan, _kmeans_single_lloyd
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.extmath import row_norms

from ._answer import Answer, Fitted
from ._decide import Stays
from ._kinds import MOST_NEIGHBOURS
from ._table import Table

Array = np.ndarray[Any, Any]

# ------------------------------------------------------------------ BisectingKMeans


def bisecting_k_means(answer: Answer) -> Fitted:
    """The tree of the divisions is the server's. Scores of its nodes, by which a fit chooses what it divides, are summed here."""
    estimator, X, n_columns = answer.estimator, answer.X, answer.table.n_columns
    estimator._check_params_vs_input(X)   # sets _tol, _n_init; warns
    members = dict(answer.model.members())
    children = np.asarray(members["children"], np.int64).reshape(-1, 2)
    centers = np.asarray(members["node_centers"], np.float64).reshape(-1, n_columns)
    found: Fitted = {"_random_state": check_random_state(estimator.random_state), "_n_threads": _openmp_effective_n_threads(),
                     "_kmeans_single": _kmeans_single_lloyd if estimator.algorithm == "lloyd" or estimator.n_clusters == 1 else _kmeans_single_elkan,
                     "_n_features_out": len(answer.fitted["cluster_centers_"])}
    if answer.table.sparse is None:   # else scikit-learn leaves the rows where they are
        found["_X_mean"] = X.mean(axis=0).astype(np.float64)
        X, centers = X - found["_X_mean"], centers - found["_X_mean"]
    leaves = _Sums(answer, X)
    found["_bisecting_tree"] = _bisecting_tree(children, centers, leaves, estimator.bisecting_strategy)
    return found


class _Sums:
    """Of the rows of each cluster: their number, and with weights their share, their sum and that of their squares."""

    def __init__(self, answer: Answer, X: Any) -> None:
        labels, n_rows = np.asarray(answer.fitted["labels_"], np.int64), answer.table.n_rows
        weights = np.ones(n_rows) if answer.plan.weights is None else np.asarray(answer.plan.weights, np.float64)
        n_clusters = len(answer.fitted["cluster_centers_"])
        rows_of = sparse.csr_matrix((weights, (labels, np.arange(n_rows))), shape=(n_clusters, n_rows))
        sums = rows_of @ X
        self.sums = sums.toarray() if sparse.issparse(sums) else sums
        self.squares, self.shares = rows_of @ row_norms(X, squared=True), rows_of @ np.ones(n_rows)
        self.counts = np.bincount(labels, minlength=n_clusters)

    def inertia(self, clusters: list[int], center: Array) -> np.float64:
        """About a centre."""
        about = self.squares[clusters].sum() - 2 * self.sums[clusters].sum(axis=0) @ center + self.shares[clusters].sum() * (center @ center)
        return np.float64(max(0.0, about))


def _bisecting_tree(children: Array, centers: Array, leaves: _Sums, strategy: str) -> Any:
    """Children stand after their parent, so the last node is made first, and no tree is too deep."""
    nodes: dict[int, Any] = {}
    clusters: dict[int, list[int]] = {}   # the leaves below
    for node in reversed(range(len(children))):
        first, second = (int(one) for one in children[node])
        is_leaf = first < 0
        clusters[node] = [second] if is_leaf else clusters[first] + clusters[second]
        by_inertia = strategy == "biggest_inertia"
        score = leaves.inertia(clusters[node], centers[node]) if by_inertia else leaves.counts[clusters[node]].sum()
        nodes[node] = _BisectingTree(center=centers[node], indices=None, score=score if node else 0)
        if is_leaf:
            nodes[node].label = second
        else:
            nodes[node].left, nodes[node].right = nodes[first], nodes[second]
    return nodes[0]


# ------------------------------------------------------------------ Birch


def birch(answer: Answer) -> Fitted:
    """partial_fit() goes on with a tree of the server's subclusters, each with the rows that are nearest to it."""
    estimator, X, fitted = answer.estimator, answer.X, answer.fitted
    if not estimator.compute_labels:
        fitted.pop("labels_", None)
    centers = np.asarray(fitted["subcluster_centers_"], np.float64)
    root, before = _feature_tree(estimator, _subclusters(X, centers))
    return {"_n_features_out": len(centers), "_subcluster_norms": row_norms(centers, squared=True), "root_": root, "dummy_leaf_": before}


def _subclusters(X: Any, centers: Array) -> list[Any]:
    """Their radii are those of the nearest rows. One that has none of them counts as one row."""
    nearest = pairwise_distances_argmin(X, centers)
    counts = np.bincount(nearest, minlength=len(centers))
    products = X.multiply(centers[nearest]).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, centers[nearest])
    norms = row_norms(centers, squared=True)
    apart = np.maximum(0, row_norms(X, squared=True) - 2 * np.asarray(products, np.float64).ravel() + norms[nearest])
    scatter = np.bincount(nearest, weights=apart, minlength=len(centers))
    made = []
    for center, count, about, norm in zip(centers, np.maximum(1, counts), scatter, norms, strict=True):
        one = _CFSubcluster(linear_sum=center * count)
        one.n_samples_, one.centroid_, one.sq_norm_, one.squared_sum_ = int(count), center.copy(), norm, about + count * norm
        made.append(one)
    return made


def _feature_tree(estimator: Any, subclusters: list[Any]) -> tuple[Any, Any]:
    """The root, and the leaf before the first one. Subclusters keep their order, in which neighbours stand together."""
    n_columns, width = len(subclusters[0].centroid_), estimator.branching_factor

    def node(below: Sequence[Any], is_leaf: bool) -> Any:
        made = _CFNode(threshold=estimator.threshold, branching_factor=width, is_leaf=is_leaf, n_features=n_columns, dtype=np.float64)
        for one in below:
            made.append_subcluster(one)
        return made

    def level(below: list[Any], is_leaf: bool) -> list[Any]:
        n_nodes = -(-len(below) // width)
        ends = [len(below) * i // n_nodes for i in range(n_nodes + 1)]
        return [node(below[first:last], is_leaf) for first, last in zip(ends, ends[1:], strict=False)]

    before = node([], True)
    nodes = level(subclusters, True)
    for one, following in zip([before, *nodes], nodes, strict=False):
        one.next_leaf_, following.prev_leaf_ = following, one
    while len(nodes) > 1:
        parents = []
        for child in nodes:
            parent = _CFSubcluster()
            for one in child.subclusters_:
                parent.update(one)
            parent.child_ = child
            parents.append(parent)
        nodes = level(parents, False)
    return nodes[0], before


# ------------------------------------------------------------------ OPTICS


def check_optics(estimator: Any, table: Table) -> None:
    """Raises Stays."""
    wanted, n_rows = estimator.min_samples, table.shape[0]
    n_neighbours = wanted if wanted > 1 else max(2, int(wanted * n_rows))
    if n_neighbours > MOST_NEIGHBOURS:
        raise Stays(f"OPTICS: min_samples is {n_neighbours} rows, the server looks for {MOST_NEIGHBOURS} neighbours at most")


def optics(answer: Answer) -> Fitted:
    """scikit-learn's array of no cluster has no second dimension."""
    return {"cluster_hierarchy_": np.array([])} if answer.fitted.get("cluster_hierarchy_") == [] else {}
