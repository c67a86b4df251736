"""Spectral embeddings and clusters. Data whose graph is connected: of others the first eigenvectors are any of a plane."""
from harness import Case, Relabelled, SignOfColumns

# The first coordinate of the largest size is positive; two of equal size but for rounding may change places.
PLACES = {"embedding_": SignOfColumns(1e-7)}
TIES = {"embedding_": SignOfColumns(0.02)}   # whole numbers: of neighbours at equal distances scikit-learn takes any
CASES = [Case("SpectralEmbedding", params, data, PLACES, split=False, f32=1e-3)
         for data, params in (("blobs", {}), ("wine", {}), ("breast_cancer", {"n_components": 3}), ("very_many_blobs", {"n_neighbors": 20, "n_components": 3}), ("blobs", {"affinity": "rbf"}),
                              ("iris", {"affinity": "rbf", "gamma": 0.5, "n_components": 3}), ("many_blobs", {"affinity": "rbf", "n_components": 5}))]
CASES += [Case("SpectralEmbedding", {"n_components": 4}, "digits", TIES, split=False, f32=0.02),
          Case("SpectralEmbedding", {"n_neighbors": 15}, "digits", TIES, split=False, f32=0.02)]
CASES += [Case("SpectralEmbedding", {"affinity": "precomputed"}, "affinities", PLACES, split=False, f32=1e-3),
          Case("SpectralEmbedding", {"affinity": "precomputed"}, "iris", error="must have as many of both"),
          Case("SpectralEmbedding", {"n_components": 150}, "iris", split=False, error="n_components is 150, must be less than the 150 rows"),
          Case("SpectralEmbedding", {"n_neighbors": 151}, "iris", split=False, error="n_neighbors is 151, must be at most the 150 rows"),
          Case("SpectralEmbedding", {"affinity": "cosine"}, "iris", error="affinity"),
          Case("SpectralEmbedding", {"n_components": 0}, "iris", error="n_components is 0")]

LABELS = {"labels_": Relabelled(0.01)}
CASES += [Case("SpectralClustering", params | {"random_state": 0}, data, LABELS, split=False, f32=1e-3)
          for labels in ("kmeans", "discretize", "cluster_qr")
          for data, params in (("blobs", {"n_clusters": 3, "assign_labels": labels}), ("digits", {"n_clusters": 10, "affinity": "nearest_neighbors", "assign_labels": labels}),
                               ("wine", {"n_clusters": 4, "affinity": "nearest_neighbors", "n_neighbors": 20, "assign_labels": labels}))]
CASES += [Case("SpectralClustering", params | {"random_state": 0}, data, LABELS, split=False, f32=1e-3)
          for data, params in (("blobs", {"n_clusters": 3, "gamma": 0.1}), ("iris", {"n_clusters": 3, "affinity": "laplacian", "gamma": 0.5}),
                               ("iris", {"n_clusters": 3, "affinity": "cosine"}), ("counts", {"n_clusters": 3, "affinity": "polynomial", "degree": 2, "gamma": 0.1}),
                               ("counts", {"n_clusters": 3, "affinity": "linear"}), ("blobs", {"n_clusters": 3, "n_components": 5, "n_init": 3}),
                               ("affinities", {"n_clusters": 3, "affinity": "precomputed"}))]
CASES += [Case("SpectralClustering", {"n_clusters": 200}, "iris", split=False, error="n_clusters is 200, must be at most the 150 rows"),
          Case("SpectralClustering", {"affinity": "linear"}, "regression", error="have the sum"),
          Case("SpectralClustering", {"affinity": "nearest_neighbors", "n_neighbors": 200}, "iris", split=False, error="n_neighbors is 200"),
          Case("SpectralClustering", {"affinity": "precomputed"}, "iris", error="must have as many of both"),
          Case("SpectralClustering", {"affinity": "chi2"}, "iris", error="affinity"),
          Case("SpectralClustering", {"assign_labels": "nearest"}, "iris", error="assign_labels")]
