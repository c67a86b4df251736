"""Clustering."""
from harness import Case, Exact, Relabelled, Spread

CENTERS = {"labels_": Exact(), "cluster_centers_": 1e-9, "inertia_": 1e-10, "n_iter_": Exact(), "predict": Exact(), "transform": 1e-9}


def k_means(params, data="iris", **more):
    checks = {name: check for name, check in CENTERS.items() if data != "offset_1e6" or name != "transform"}   # scikit-learn's has 4 digits there
    return Case("KMeans", {"random_state": 0, **params}, data, checks, f32=2e-4, **more)


# The same draws as scikit-learn, so the same clusters; float32 rounds the draws' thresholds, so only starts that leave no choice are compared there.
CASES = [k_means({"n_clusters": k, "random_state": seed}, data, not_in_f32=tuple(CENTERS))
         for data, k in (("iris", 3), ("wine", 5), ("digits", 10), ("breast_cancer", 8), ("offset_1e6", 4)) for seed in (0, 1, 7)]
CASES += [k_means({"n_clusters": 4, "n_init": 5}, "wine", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 3, "init": "random"}, not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 6, "init": "random", "n_init": 3}, "digits", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 3}, weights="counts", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 5, "algorithm": "elkan"}, "wine", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 10, "max_iter": 2}, "digits", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 10, "tol": 0.0}, "digits", not_in_f32=tuple(CENTERS)),
          k_means({"n_clusters": 3, "init": [[5.0, 3.4, 1.5, 0.2], [5.9, 2.7, 4.2, 1.3], [6.6, 3.0, 5.5, 2.0]]}),
          k_means({"n_clusters": 1}),
          Case("KMeans", {"n_clusters": 101}, error="n_clusters is 101")]

DENSITY = {"labels_": Exact(), "core_sample_indices_": Exact(), "components_": 1e-12}
CASES += [Case("DBSCAN", {"eps": eps, **more}, data, DENSITY, f32=2e-6, split=False,
              not_in_f32=tuple(DENSITY) if data == "iris" else ())   # tenths: whether 0.3 is within 0.3 is a matter of rounding
          for data, eps, more in (("iris", 0.5, {}), ("iris", 0.3, {"min_samples": 3}), ("blobs", 0.9, {}), ("blobs", 1.5, {"metric": "manhattan"}),
                                  ("blobs", 0.6, {"metric": "chebyshev"}), ("blobs", 0.9, {"metric": "minkowski", "p": 3}),
                                  ("blobs", 0.02, {"metric": "cosine"}), ("wine", 35.0, {}), ("wine", 60.0, {"metric": "manhattan"}),
                                  ("digits", 21.0, {}), ("digits", 24.0, {"min_samples": 3}), ("ties", 1.0, {"min_samples": 8}), ("ties", 1.5, {}),
                                  ("digits", 0.07, {"metric": "cosine"}), ("breast_cancer", 60.0, {}), ("blobs", 0.01, {}), ("blobs", 50.0, {}))]
CASES += [Case("DBSCAN", {"eps": eps, "min_samples": 6}, data, DENSITY, f32=2e-6, split=False, weights="counts")
          for data, eps in (("blobs", 0.9), ("digits", 22.0))]

# The draws of scikit-learn; where rounding sends one elsewhere, the inertia stays within what its seeds give.
CASES += [Case("MiniBatchKMeans", {"n_clusters": k, "random_state": 0, **more}, data, {"inertia_": Spread()}, not_in_f32=("inertia_",), weights=weights)
          for data, k, more, weights in (("iris", 3, {}, None), ("digits", 10, {"batch_size": 100}, None), ("wine", 4, {"init": "random"}, None),
                                         ("blobs", 3, {"batch_size": 16, "tol": 1e-3}, "counts"))]
