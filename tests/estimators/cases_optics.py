"""OPTICS, on data without equal distances, where scikit-learn's order is the only one."""
from harness import Case, Exact

ORDER = {"labels_": Exact(), "ordering_": Exact(), "reachability_": 1e-12, "core_distances_": 1e-12, "predecessor_": Exact()}
XI = ORDER | {"cluster_hierarchy_": Exact()}
IN_F32 = {"f32": 1e-5, "not_in_f32": tuple(XI)}   # rounding changes which of two rows is nearer

CASES = [Case("OPTICS", params, data, XI, split=False, **IN_F32)
         for data, params in (("blobs", {}), ("blobs", {"min_samples": 10}), ("blobs", {"min_samples": 0.05}), ("blobs", {"xi": 0.2}),
                              ("blobs", {"predecessor_correction": False}), ("blobs", {"min_cluster_size": 0.1}), ("blobs", {"min_cluster_size": 3, "xi": 0.01}),
                              ("blobs", {"metric": "manhattan"}), ("blobs", {"metric": "chebyshev"}), ("blobs", {"p": 3}),
                              ("blobs", {"max_eps": 1.5}), ("blobs", {"max_eps": 0.7}), ("wine", {}), ("breast_cancer", {"min_samples": 8, "algorithm": "kd_tree"}), ("regression", {}))]
# scikit-learn's core distances of cosines are rounded otherwise than its distances, so that it has no ties where there are some.
CASES += [Case("OPTICS", {"metric": "cosine"}, "blobs", {name: check for name, check in XI.items() if name != "ordering_"}, split=False, **IN_F32)]
CASES += [Case("OPTICS", {"cluster_method": "dbscan", **params}, "blobs", ORDER, split=False, **IN_F32)
          for params in ({"eps": 1.0}, {"eps": 0.8, "min_samples": 3}, {"max_eps": 1.2}, {"max_eps": 2.0, "eps": 1.0})]
CASES += [Case("OPTICS", {"min_samples": 100_000}, "blobs", error="min_samples is 100000, must be at most"),
          Case("OPTICS", {"min_cluster_size": 100_000}, "blobs", error="min_cluster_size is 100000, must be at most"),
          Case("OPTICS", {"max_eps": 1.0, "eps": 2.0, "cluster_method": "dbscan"}, "blobs", error="eps is 2, must be at most max_eps = 1"),
          Case("OPTICS", {"xi": 1.5}, "blobs", error="xi is 1.5"),
          Case("OPTICS", {"metric": "precomputed"}, "blobs", error="metric")]
