"""Naive Bayes and discriminant analysis."""
from harness import Case, Exact

GAUSSIAN = {"theta_": 1e-10, "var_": 1e-10, "class_prior_": 1e-14, "class_count_": Exact(), "predict_proba": 1e-9, "predict": Exact()}
DISCRETE = {"feature_log_prob_": 1e-12, "class_log_prior_": 1e-13, "class_count_": Exact(), "predict_proba": 1e-10, "predict": Exact()}
COUNTED = {**DISCRETE, "feature_count_": 1e-13}
CATEGORIES = {**DISCRETE, "category_count_": 1e-13, "n_categories_": Exact()}

CASES = []
for data in ("iris", "wine", "breast_cancer", "two_blobs"):
    CASES.append(Case("GaussianNB", {}, data, GAUSSIAN))
    CASES.append(Case("GaussianNB", {"var_smoothing": 1e-3}, data, GAUSSIAN, weights="counts"))
CASES.append(Case("GaussianNB", {"priors": [0.2, 0.3, 0.5]}, "wine", GAUSSIAN))
for estimator in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
    for data, split in (("counts", False), ("digits", True), ("ties", True), ("iris", True)):
        for params in ({}, {"alpha": 0.1, "fit_prior": False}, {"alpha": 1e-12, "force_alpha": False}, {"alpha": 1e-3}):
            CASES.append(Case(estimator, params, data, COUNTED, split=split))
        CASES.append(Case(estimator, {}, data, COUNTED, split=split, weights="counts"))
    CASES.append(Case(estimator, {"class_prior": [0.5, 0.3, 0.2]}, "iris", COUNTED))
    CASES.append(Case(estimator, {"class_prior": [0.5, 0.5]}, "iris", error="must have one number for each of the 3 classes"))
for estimator in ("MultinomialNB", "ComplementNB"):
    CASES.append(Case(estimator, {"alpha": [0.1, 1.0, 2.0, 0.5]}, "iris", COUNTED))
    CASES.append(Case(estimator, {"alpha": [0.1, 1.0]}, "iris", error="alpha is [0.1,1.0], must have one number for each of the 4 columns"))
    CASES.append(Case(estimator, {}, "blobs", error="must have no negative value"))
CASES += [Case("ComplementNB", {"norm": True}, data, {**COUNTED, "feature_all_": 1e-13}) for data in ("digits", "iris")]
CASES += [Case("BernoulliNB", {"binarize": t}, data, COUNTED) for t in (0.5, 3.0) for data in ("digits", "iris")]
CASES.append(Case("BernoulliNB", {}, "blobs", COUNTED, split=False))
for data, split in (("counts", False), ("ties", True)):
    for params in ({}, {"alpha": 0.1, "fit_prior": False}, {"min_categories": 40}):
        CASES.append(Case("CategoricalNB", params, data, CATEGORIES, split=split))
    CASES.append(Case("CategoricalNB", {}, data, CATEGORIES, split=split, weights="counts"))
CASES.append(Case("CategoricalNB", {"min_categories": [4, 5, 6]}, "ties", CATEGORIES))
CASES.append(Case("CategoricalNB", {}, "blobs", error="CategoricalNB: column 0 has"))
CASES.append(Case("CategoricalNB", {"min_categories": [4, 5]}, "ties", error="one number for each of the 3 columns"))
