"""The rows that a server's forests draw, computed again from the seed: engine/core/rng.h and engine/backend/tree_functors.h in numpy."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
BOOTSTRAP = 0x626F6F7473747261   # names the stream


def philox(seed: int, stream: int, n_blocks: int) -> Array:
    """Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): the words of the blocks 0 .. n_blocks - 1, of shape (n_blocks, 4), below 2^32."""
    counter = np.arange(n_blocks, dtype=np.uint64)
    c0, c1 = counter & LOW, counter >> HALF
    c2, c3 = np.full_like(counter, stream & 0xFFFFFFFF), np.full_like(counter, stream >> 32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c2 = (p1 >> HALF) ^ c1 ^ np.uint64(k0), (p0 >> HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & LOW, p0 & LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1)


def _mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z = (z + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


def rows_of_tree(seed: int, tree: int, n_samples: int, n_draws: int, weights: Array | None = None) -> Array:
    """The positions that tree number `tree` draws, in its order. weights: of the rows, which are drawn in proportion to them."""
    words = philox(seed, _mix(_mix(tree) ^ BOOTSTRAP), (n_draws + 1) // 2).reshape(-1, 2)[:n_draws]
    high, low = words[:, 0], words[:, 1]
    if weights is None:
        n = np.uint64(n_samples)
        rows: Array = ((high * n + (low * n >> HALF)) >> HALF).astype(np.int32)
        return rows
    sums = np.cumsum(weights, dtype=np.float64)
    at = ((high << HALF | low) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * sums[-1]
    drawn: Array = np.minimum(np.searchsorted(sums, at, side="right"), n_samples - 1).astype(np.int32)
    return drawn


def estimators_samples(forest: Any, n_samples: int, sample_weight: Any = None) -> list[Array]:
    """What `estimators_samples_` is for a forest that scikit-learn has fitted, for any that a server has: the rows that each tree drew, of the n_samples that
    it was fitted on. Where the server drew as scikit-learn does, the forest has `estimators_samples_` itself. Raises ValueError unless random_state is an integer: only that is kept in the object. class_weight, but for "balanced_subsample",
    changes what is drawn, and is refused."""
    n_trees = len(forest.estimators_)
    if hasattr(forest, "_n_samples"):   # scikit-learn's draws
        return list(forest.estimators_samples_)
    if not isinstance(forest.random_state, (int, np.integer)):
        raise ValueError("random_state is no integer, so the forest does not hold the seed of its draws")
    if getattr(forest, "class_weight", None) not in (None, "balanced_subsample"):
        raise ValueError("rows are drawn by class_weight")
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    return [rows_of_tree(int(forest.random_state), tree, n_samples, forest._n_samples_bootstrap, weights) for tree in range(n_trees)]
