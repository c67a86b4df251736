"""Hierarchical clustering, HDBSCAN, MeanShift. Data without equal distances, where scikit-learn leaves nothing to its sort."""
from harness import Case, Exact, Relabelled

TREE = {"labels_": Exact(), "children_": Exact(), "n_clusters_": Exact(), "n_leaves_": Exact(), "n_connected_components_": Exact()}
HEIGHTS = TREE | {"distances_": 1e-9}
IN_F32 = {"f32": 2e-5, "not_in_f32": ("labels_", "children_")}   # rounding changes which of two near pairs is nearer

CASES = [Case("AgglomerativeClustering", {"n_clusters": k, "linkage": linkage, "compute_distances": True}, data, HEIGHTS, split=False, **IN_F32)
         for data, k in (("blobs", 3), ("wine", 4), ("breast_cancer", 5), ("regression", 2))
         for linkage in ("ward", "complete", "average", "single")]
CASES += [Case("AgglomerativeClustering", {"n_clusters": None, "distance_threshold": threshold, "linkage": linkage}, "wine", HEIGHTS, split=False, **IN_F32)
          for linkage, threshold in (("ward", 300.0), ("average", 100.0), ("single", 20.0), ("complete", 1e9), ("ward", 0.0))]
CASES += [Case("AgglomerativeClustering", {"metric": metric, "linkage": linkage, "compute_distances": True}, "blobs", HEIGHTS, split=False, **IN_F32)
          for metric in ("manhattan", "l1", "l2", "cosine") for linkage in ("complete", "average")]
CASES += [Case("AgglomerativeClustering", {}, "blobs", TREE, split=False, **IN_F32),
          Case("AgglomerativeClustering", {"n_clusters": 1}, "blobs", TREE, split=False, **IN_F32),
          Case("AgglomerativeClustering", {"metric": "manhattan"}, "blobs", error="must be \"euclidean\" with linkage=\"ward\""),
          Case("AgglomerativeClustering", {"distance_threshold": 1.0}, "blobs", error="unless n_clusters is null"),
          Case("AgglomerativeClustering", {"n_clusters": None}, "blobs", error="n_clusters"),
          Case("AgglomerativeClustering", {"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False}, "blobs", error="compute_full_tree"),
          Case("AgglomerativeClustering", {"n_clusters": 100_000}, "blobs", error="n_clusters is 100000")]

# Rows at equal reach of two clusters go to either.
DENSE = {"labels_": Relabelled(0.03), "probabilities_": 1e-9}
CASES += [Case("HDBSCAN", params, data, DENSE if "probabilities" in checks else {"labels_": DENSE["labels_"]}, split=False, f32=1e-4, not_in_f32=tuple(DENSE),
               sk=params | {"copy": True})
          for data, params, checks in (("blobs", {}, "probabilities"), ("blobs", {"min_cluster_size": 10}, "probabilities"),
                                       ("blobs", {"cluster_selection_method": "leaf"}, ""), ("blobs", {"min_samples": 2}, ""),
                                       ("blobs", {"metric": "manhattan"}, ""), ("blobs", {"metric": "chebyshev"}, ""),
                                       ("blobs", {"alpha": 1.5}, ""), ("blobs", {"allow_single_cluster": True}, ""),
                                       ("blobs", {"cluster_selection_epsilon": 0.5}, ""), ("blobs", {"max_cluster_size": 20}, ""),
                                       ("blobs", {"metric": "cosine", "min_cluster_size": 8}, ""), ("wine", {}, ""), ("breast_cancer", {"min_cluster_size": 15}, ""),
                                       ("regression", {"allow_single_cluster": True}, ""))]
CASES += [Case("HDBSCAN", {"store_centers": "both", "min_cluster_size": 10}, "blobs", {"centroids_": 1e-9, "medoids_": 1e-9}, split=False, f32=None, sk={"store_centers": "both", "min_cluster_size": 10, "copy": True}),
          Case("HDBSCAN", {"min_samples": 1000}, "blobs", error="min_samples is 1000"),
          Case("HDBSCAN", {"min_cluster_size": 1}, "blobs", error="min_cluster_size")]

MEANS = {"labels_": Exact(), "cluster_centers_": 1e-9, "predict": Exact()}
CASES += [Case("MeanShift", params, data, MEANS, f32=1e-4, not_in_f32=("labels_", "predict"))
          for data, params in (("blobs", {"bandwidth": 1.5}), ("blobs", {"bandwidth": 3.0, "bin_seeding": True}), ("iris", {}), ("wine", {"bandwidth": 150.0}),
                               ("blobs", {"bandwidth": 1.0, "cluster_all": False}), ("iris", {"bandwidth": 1.0, "max_iter": 2}),
                               ("iris", {"bandwidth": 0.9, "seeds": [[5.0, 3.4, 1.5, 0.2], [6.3, 2.9, 5.0, 1.7]]}))]
CASES += [Case("MeanShift", {"bandwidth": 0.1, "seeds": [[50.0, 50.0, 50.0, 50.0]]}, "iris", error="no row is within"),
          Case("MeanShift", {"seeds": [[5.0, 3.4]]}, "iris", error="seeds have 2 columns")]

COLUMNS = TREE | {"transform": 1e-12}
CASES += [Case("FeatureAgglomeration", params, data, COLUMNS, f32=2e-6,
               not_in_f32=("labels_", "children_", "transform"))
          for data, params in (("breast_cancer", {}), ("wine", {"n_clusters": 4, "linkage": "average"}), ("digits", {"n_clusters": 10}),
                               ("wine", {"n_clusters": None, "distance_threshold": 500.0}))]
CASES += [Case("FeatureAgglomeration", {"n_clusters": 5}, "iris", error="n_clusters is 5, must be at most 4")]
