#!/usr/bin/env python3
"""What workflow.json does, from Python: the steps of cuML's Dask guide as jobs of which each is divided among the ranks of the cluster.

    python3 examples/cluster/workflow.py          # or with the name of another device: cpu
"""
import sys

import kedge
from kedge.estimators import DBSCAN, KMeans, KNeighborsClassifier, LogisticRegression, RandomForestClassifier

session, device = kedge.connect(), sys.argv[1] if len(sys.argv) > 1 else "cluster"
data = kedge.generate("make_blobs", n_samples=40000, n_features=8, centers=5, cluster_std=2.0, random_state=7)
half = kedge.fit_score(test_size=0.5, random_state=0)
jobs = [session.submit(data, ["StandardScaler", last], task, device=device) for last, task in [
    (KMeans(n_clusters=5, random_state=0), kedge.fit()), (DBSCAN(eps=0.5, min_samples=20), kedge.fit()),
    (RandomForestClassifier(n_estimators=20, random_state=0), half), (LogisticRegression(), half), (KNeighborsClassifier(), half)]]
means, density, *scored = [job.result() for job in jobs]
print(f"KMeans: inertia {means.fitted['KMeans']['inertia_']}")
print(f"DBSCAN: {1 + int(max(density.fitted['DBSCAN']['labels_']))} clusters")
for name, result in zip(["RandomForestClassifier", "LogisticRegression", "KNeighborsClassifier"], scored):
    print(f"{name}: accuracy {result.mean('accuracy')}")
