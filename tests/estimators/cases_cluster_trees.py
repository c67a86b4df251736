"""BisectingKMeans and Birch: clusters in trees."""
from harness import Case, Exact, Relabelled

HALVES = {"labels_": Exact(), "cluster_centers_": 1e-9, "inertia_": 1e-9, "predict": Exact(), "transform": 1e-9}
CASES = [Case("BisectingKMeans", {"n_clusters": k, "random_state": 0, **params}, data, HALVES, f32=1e-4, not_in_f32=("labels_", "predict", "transform", "cluster_centers_", "inertia_"))
         for data, k in (("iris", 3), ("wine", 5), ("blobs", 6), ("regression", 4))
         for params in ({}, {"bisecting_strategy": "largest_cluster"}, {"init": "k-means++", "n_init": 3}, {"max_iter": 2, "tol": 0.0})]
CASES += [Case("BisectingKMeans", {"random_state": 1}, "digits", HALVES, f32=None),
          Case("BisectingKMeans", {"n_clusters": 4, "random_state": 0}, "wine", HALVES, weights="counts", f32=None),
          Case("BisectingKMeans", {"n_clusters": 1}, "iris", HALVES, f32=1e-4),
          Case("BisectingKMeans", {"n_clusters": 100_000}, "iris", error="n_clusters is 100000 and needs as many"),
          Case("BisectingKMeans", {"bisecting_strategy": "smallest"}, "iris", error="bisecting_strategy"),
          Case("BisectingKMeans", {"n_init": 0}, "iris", error="n_init is 0")]

SUBCLUSTERS = {"subcluster_centers_": 1e-9, "subcluster_labels_": Exact(), "labels_": Exact(), "predict": Exact(), "transform": 1e-7}
CASES += [Case("Birch", params, data, SUBCLUSTERS, f32=1e-4, not_in_f32=tuple(SUBCLUSTERS))
          for data, params in (("iris", {}), ("iris", {"n_clusters": None}), ("blobs", {}), ("wine", {"threshold": 20.0}), ("digits", {"threshold": 25.0, "n_clusters": 10}))]
# Which half of a node is first is decided by the rounding of scikit-learn's distances: the subclusters have another order.
CASES += [Case("Birch", params, data, {"labels_": Relabelled(), "predict": Relabelled()}, f32=1e-4, not_in_f32=("labels_", "predict"))
          for data, params in (("blobs", {"threshold": 0.2, "branching_factor": 5, "n_clusters": 5}),
                               ("blobs", {"threshold": 0.2, "branching_factor": 3, "n_clusters": None}), ("blobs", {"threshold": 1.5, "branching_factor": 2}),
                               ("wine", {"threshold": 5.0, "branching_factor": 4, "n_clusters": None}), ("breast_cancer", {"threshold": 100.0, "branching_factor": 10}))]
CASES += [Case("Birch", {"threshold": 1000.0, "n_clusters": 3}, "iris", SUBCLUSTERS, f32=None),   # one subcluster, with a warning
          Case("Birch", {"threshold": 0.0}, "iris", error="threshold is 0"),
          Case("Birch", {"branching_factor": 1}, "iris", error="branching_factor is 1"),
          Case("Birch", {"n_clusters": 0}, "iris", error="n_clusters is 0")]
