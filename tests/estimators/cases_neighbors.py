"""Neighbours: votes, means and searches."""
from harness import Case, Exact

ATTRIBUTES = {"effective_metric_": Exact(), "n_samples_fit_": Exact()}
# Few columns: scikit-learn walks a tree, whose sums have our order. Many: it ranks by a matrix product, and rounding decides between equals.
METRICS = ({}, {"metric": "manhattan"}, {"metric": "chebyshev"}, {"p": 3}, {"p": 1.5}, {"p": 1}, {"metric": "cosine", "algorithm": "brute"})


def classify(params, data, **more):
    return Case("KNeighborsClassifier", params, data, {"predict_proba": 1e-9, "predict": Exact(), "classes_": Exact(), **ATTRIBUTES}, **more)


CASES = [classify({**m, "weights": w}, data) for m in METRICS for w in ("uniform", "distance") for data in ("wine", "two_blobs")
         if data != "wine" or m != {"metric": "chebyshev"}]   # which has equal distances
CASES += [classify({"n_neighbors": k}, data) for k in (1, 3, 20) for data in ("wine", "digits", "two_blobs", "breast_cancer")
          if data != "digits" or k != 20]   # as well
CASES += [classify({"algorithm": a}, "two_blobs") for a in ("brute", "kd_tree", "ball_tree")]
CASES += [classify({"n_neighbors": 3}, "wine", before=[("StandardScaler", {})])]
CASES += [Case("KNeighborsClassifier", {"n_neighbors": 200}, "two_blobs", {"predict": Exact()}, error="n_neighbors is 200"),
          Case("KNeighborsClassifier", {"algorithm": "kd_tree", "metric": "cosine"}, error="algorithm"),
          Case("KNeighborsClassifier", {"algorithm": "kd_tree", "p": 0.5}, error="algorithm")]

CASES += [Case("KNeighborsRegressor", {**m, "weights": w}, data, {"predict": 1e-9, **ATTRIBUTES}, f32=1e-4)
          for m in METRICS for w in ("uniform", "distance") for data in ("regression", "badly_scaled")]
CASES += [Case("KNeighborsRegressor", {"n_neighbors": k}, data, {"predict": 1e-9}, f32=1e-4) for k in (1, 7) for data in ("rank_deficient", "wide")]
CASES += [Case("KNeighborsRegressor", {}, "offset_1e6", {"predict": 1e-9}, f32=None)]

CASES += [Case("RadiusNeighborsClassifier", {"radius": r, "weights": w, "outlier_label": "most_frequent"}, data,
               {"predict_proba": 1e-9, "predict": Exact()}, **more)
          for data, r, more in (("two_blobs", 1.5, {}), ("iris", 0.7, {"not_in_f32": ("predict_proba", "predict")}), ("wine", 60.0, {})) for w in ("uniform", "distance")]
CASES += [Case("RadiusNeighborsClassifier", {"radius": 3.0, "metric": "manhattan", "outlier_label": 1}, "two_blobs", {"predict_proba": 1e-9, "predict": Exact()}),
          Case("RadiusNeighborsClassifier", {"radius": 1e-6}, "two_blobs", {"predict": Exact()}, error="has no neighbours"),
          Case("RadiusNeighborsRegressor", {"radius": 3.0}, "regression", {"predict": 1e-9}, f32=1e-4),
          Case("RadiusNeighborsRegressor", {"radius": 4.0, "weights": "distance", "p": 3}, "regression", {"predict": 1e-9}, f32=1e-4),
          Case("RadiusNeighborsRegressor", {"radius": 9.5}, "wide", {"predict": 1e-9}, f32=1e-4),
          Case("NearestNeighbors", {}, "iris", ATTRIBUTES), Case("NearestNeighbors", {"p": 3}, "iris", ATTRIBUTES)]

CENTROIDS = {"centroids_": 1e-10, "class_prior_": 1e-14, "within_class_std_dev_": 1e-10, "deviations_": 1e-8, "classes_": Exact(), "predict": Exact()}
SCORED = {**CENTROIDS, "predict_proba": 1e-9, "decision_function": 1e-9}
for data in ("iris", "wine", "breast_cancer", "two_blobs"):
    for params in ({}, {"priors": "empirical"}, {"shrink_threshold": 0.5}, {"shrink_threshold": 1.5, "priors": "empirical"}):
        CASES.append(Case("NearestCentroid", params, data, SCORED, before=[("StandardScaler", {})]))
    CASES.append(Case("NearestCentroid", {"metric": "manhattan"}, data, CENTROIDS, before=[("StandardScaler", {})], not_in_f32=("predict",)))
CASES.append(Case("NearestCentroid", {"priors": [0.2, 0.3, 0.5]}, "iris", SCORED, before=[("StandardScaler", {})]))
CASES.append(Case("NearestCentroid", {"priors": [0.2, 0.8]}, "iris", error="must have one number for each of the 3 classes"))
