#!/usr/bin/env python3
"""What digits.json does, by umap-learn and scikit-learn: pictures of digits as points of five columns, and the groups that these form.

    pip install umap-learn scikit-learn && python3 examples/groups/digits.py
"""
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from umap import UMAP

X, digit = load_digits(return_X_y=True)
points = UMAP(n_components=5, min_dist=0.0, random_state=0).fit_transform(X)
groups = HDBSCAN(min_cluster_size=50).fit_predict(points)
sizes = [int((groups == group).sum()) for group in range(groups.max() + 1)]
print(f"{len(sizes)} groups of {min(sizes)} to {max(sizes)} rows, {(groups < 0).sum()} rows in none")
print(f"adjusted Rand index with the digits: {adjusted_rand_score(digit, groups):.3f}")
