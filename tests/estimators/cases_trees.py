"""Trees: a single tree where no two cuts are equally good, else quality within the spread of scikit-learn's seeds."""
from harness import Case, Exact, Spread

SHAPE = {"n_leaves_": Exact(), "depth_": Exact()}
CLASSIFIER = {"predict": Exact(), "predict_proba": 1e-6, "feature_importances_": 1e-6}
REGRESSOR = {"predict": 1e-9, "feature_importances_": 1e-9}


def classify(params, data, **more):
    return Case("DecisionTreeClassifier", {"random_state": 0, **params}, data, CLASSIFIER, **more)


def regress(params, data, **more):
    return Case("DecisionTreeRegressor", {"random_state": 0, **params}, data, REGRESSOR, f32=1e-5, **more)


CLASSES = ("iris", "wine", "digits", "breast_cancer", "two_blobs", "blobs", "badly_scaled_classes", "counts", "ties")
VALUES = ("diabetes", "regression", "wide", "rank_deficient", "badly_scaled")
CASES = [classify({"criterion": c, "max_depth": d}, data) for c in ("gini", "entropy") for d in (1, 2, 3, 4) for data in CLASSES]
CASES += [classify(p, data) for p in ({"max_leaf_nodes": 5}, {"min_samples_leaf": 8, "max_depth": 4}, {"min_weight_fraction_leaf": 0.1},
                                      {"ccp_alpha": 0.03}, {"class_weight": "balanced", "max_depth": 3}, {"min_impurity_decrease": 0.03},
                                      {"min_samples_split": 0.3}) for data in CLASSES]
CASES += [classify({"max_depth": 3}, data, weights="counts") for data in CLASSES]
CASES += [regress({"criterion": c, "max_depth": d}, data) for c in ("squared_error", "absolute_error") for d in (1, 2, 3, 4) for data in VALUES]
CASES += [regress({"criterion": "poisson", "max_depth": d}, "diabetes") for d in (1, 2, 3, 4)]
CASES += [regress(p, data) for p in ({"max_leaf_nodes": 7}, {"min_samples_leaf": 12}, {"min_weight_fraction_leaf": 0.1}, {"min_samples_split": 0.3},
                                     {"ccp_alpha": 0.5, "max_depth": 4}) for data in VALUES]
CASES += [regress({"max_depth": 3, "criterion": c}, data, weights="counts") for c in ("squared_error", "absolute_error") for data in VALUES]
