"""Naive Bayes and discriminant analysis."""
from harness import Case, Exact, SignOfColumns

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

RULE = {"means_": 1e-12, "priors_": 1e-13, "coef_": 1e-8, "intercept_": 1e-8, "decision_function": 1e-8, "predict_proba": 1e-8, "predict": Exact()}
AXES = {"scalings_": SignOfColumns(1e-7), "explained_variance_ratio_": 1e-8, "transform": SignOfColumns(1e-7)}
BY_SVD = {**RULE, **AXES, "xbar_": 1e-12}
# A covariance of 1e10 between its eigenvalues, as breast_cancer's, leaves an inverse six digits.
BY_COVARIANCE = {name: 1e-6 if check == 1e-8 else check for name, check in RULE.items()} | {"covariance_": 1e-10}
# Without scalings_: all but the first axes belong to the eigenvalue 0, and any basis of theirs will do.
BY_EIGEN = {**BY_COVARIANCE, "explained_variance_ratio_": 1e-6, "transform": SignOfColumns(1e-6)}
LDA = "LinearDiscriminantAnalysis"
for data in ("iris", "wine", "breast_cancer", "two_blobs"):
    CASES.append(Case(LDA, {}, data, BY_SVD))
    CASES.append(Case(LDA, {"store_covariance": True, "n_components": 1}, data, {**BY_SVD, "covariance_": 1e-10}))
    CASES.append(Case(LDA, {}, data, {k: v for k, v in BY_SVD.items() if k != "xbar_"}, before=[("StandardScaler", {})]))   # which is 0
    for shrinkage in (None, "auto", 0.3):
        CASES.append(Case(LDA, {"solver": "lsqr", "shrinkage": shrinkage}, data, BY_COVARIANCE))
        CASES.append(Case(LDA, {"solver": "eigen", "shrinkage": shrinkage}, data, BY_EIGEN))
CASES.append(Case(LDA, {"priors": [0.2, 0.3, 0.5]}, "wine", BY_SVD))
CASES.append(Case(LDA, {"priors": [0.2, 0.3, 0.5], "solver": "eigen", "n_components": 2}, "iris", BY_EIGEN))
CASES.append(Case(LDA, {}, "digits", {**BY_SVD, "transform": SignOfColumns(1e-6)}))
CASES.append(Case(LDA, {}, "offset_classes", {**BY_SVD, "intercept_": 1e-7, "decision_function": 1e-7}, f32=None))
CASES.append(Case(LDA, {}, "rank_deficient_classes", BY_SVD))
CASES.append(Case(LDA, {"solver": "lsqr", "shrinkage": "auto"}, "rank_deficient_classes", RULE))
CASES.append(Case(LDA, {"n_components": 3}, "iris", error="n_components is 3, must be at most 2"))
CASES.append(Case(LDA, {"shrinkage": "auto"}, "iris", error="must be null for solver svd"))
CASES.append(Case(LDA, {"solver": "eigen"}, "digits", error="the covariance within the classes is singular"))

QDA = "QuadraticDiscriminantAnalysis"
CURVED = {"means_": 1e-12, "priors_": 1e-13, "scalings_": 1e-9, "decision_function": 1e-6, "predict_proba": 1e-6, "predict": Exact()}
for data in ("iris", "wine", "breast_cancer", "two_blobs"):
    CASES.append(Case(QDA, {"tol": 1e-12}, data, CURVED))
    CASES.append(Case(QDA, {"reg_param": 0.1, "store_covariance": True, "tol": 1e-9}, data, {**CURVED, "covariance_": 1e-9}))
    for shrinkage in (None, "auto", 0.3):
        CASES.append(Case(QDA, {"solver": "eigen", "shrinkage": shrinkage, "store_covariance": True, "tol": 1e-12}, data, {**CURVED, "covariance_": 1e-9},
                          f32=None if data == "breast_cancer" else 2e-3))
CASES.append(Case(QDA, {"priors": [0.2, 0.3, 0.5]}, "iris", CURVED))
CASES.append(Case(QDA, {}, "digits", error="must have that of the 64 columns: raise reg_param"))
CASES.append(Case(QDA, {"shrinkage": 0.1}, "iris", error="must be null for solver svd"))
