"""Sparse rows, as scipy's CSR: counts of words in a table that is made dense where that is more exact, and in one that stays sparse."""
from cases_linear import TIGHT
from harness import Case, Exact, SignOfColumns, SignOfRows


def case(estimator, params, data, checks, **more):
    more.setdefault("split", data != "words")
    return Case(estimator, params, data, checks, sparse=True, **more)


CASES = []
COUNTED = {"feature_log_prob_": 1e-12, "feature_count_": 1e-13, "class_count_": Exact(), "predict_proba": 1e-9, "predict": Exact()}
SCALED = {"scale_": 1e-13, "transform": 1e-13}
for estimator in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
    CASES.append(case(estimator, {}, "words", COUNTED))
    CASES.append(case(estimator, {"alpha": 0.01}, "words", COUNTED, weights="counts"))
CASES.append(case("BernoulliNB", {"binarize": 1.0}, "words", COUNTED))
CASES.append(case("MaxAbsScaler", {}, "words", {**SCALED, "max_abs_": Exact()}))
CASES.append(case("StandardScaler", {"with_mean": False}, "words", {**SCALED, "var_": 1e-12}))
CASES.append(case("StandardScaler", {"with_mean": False}, "words", {**SCALED, "var_": 1e-12}, weights="counts"))
CASES += [case("Normalizer", {"norm": norm}, "words", {"transform": 1e-13}) for norm in ("l1", "l2", "max")]
CASES.append(case("Binarizer", {"threshold": 1.0}, "words", {"transform": Exact()}))
CASES.append(case("VarianceThreshold", {"threshold": 0.05}, "words", {"variances_": 1e-12, "transform": Exact()}))
CASES += [case("SelectKBest", {"score_func": score, "k": 20}, "words", {"scores_": 1e-9, "transform": Exact()}, f32=1e-2)
          for score in ("chi2", "f_classif")]
CASES.append(case("MultinomialNB", {}, "words", {"predict_proba": 1e-9, "predict": Exact()}, before=[("SelectKBest", {"score_func": "chi2", "k": 30})]))

CASES.append(case("MultinomialNB", {}, "many_words", COUNTED))

for data in ("words", "many_words"):
    DECIDED = {"coef_": 1e-5, "intercept_": 1e-5, "predict_proba": 1e-5, "predict": Exact(0.01)}
    for params in ({"C": 0.5}, {"C": 0.5, "fit_intercept": False}, {"C": 0.5, "class_weight": "balanced"}):
        CASES.append(case("LogisticRegression", {**params, "tol": 1e-9, "max_iter": 2000}, data, DECIDED, before=[("MaxAbsScaler", {})]))
    # The weights leave one class of the words without weight: its intercept has no bound.
    checks = {name: how for name, how in DECIDED.items() if data != "words" or name != "intercept_"}
    CASES.append(case("LogisticRegression", {"C": 0.5, "tol": 1e-9, "max_iter": 2000}, data, checks, before=[("Normalizer", {})], weights="counts"))
    CASES.append(case("LogisticRegression", {"C": 2.0, "l1_ratio": 1.0, "solver": "saga", "tol": 1e-7, "max_iter": 3000}, data,
                      {"predict_proba": 1e-3}, f32=1e-2, before=[("Normalizer", {})], sk={"tol": 1e-6, "max_iter": 1000}))
    CASES.append(case("RidgeClassifier", {"alpha": 2.0}, data, {"coef_": 1e-6, "intercept_": 1e-6, "decision_function": 1e-6},
                      sk={"tol": 1e-12, "solver": "sparse_cg"}))
    CASES.append(case("TruncatedSVD", {"n_components": 4, "n_iter": 30, "random_state": 0}, data,
                      {"components_": SignOfRows(1e-5), "singular_values_": 1e-8, "explained_variance_": 1e-6, "transform": SignOfColumns(1e-5)}))
    CASES.append(case("TruncatedSVD", {"n_components": 3, "algorithm": "arpack"}, data,
                      {"components_": SignOfRows(1e-5), "singular_values_": 1e-8, "transform": SignOfColumns(1e-5)}))

for data in ("rated_words", "many_rated_words"):
    SOLVED = {"coef_": 1e-6, "intercept_": 1e-6, "predict": 1e-6}
    for alpha in (0.5, 30.0):
        CASES.append(case("Ridge", {"alpha": alpha}, data, SOLVED, sk={"alpha": alpha, "tol": 1e-13, "solver": "sparse_cg"}))
    CASES.append(case("Ridge", {"alpha": 3.0, "fit_intercept": False}, data, SOLVED, sk={"tol": 1e-13, "solver": "sparse_cg"}))
    CASES.append(case("Ridge", {"alpha": 3.0}, data, SOLVED, sk={"tol": 1e-13, "solver": "sparse_cg"}, weights="counts"))
    CASES.append(case("LinearRegression", {}, data, {"predict": 1e-5}, f32=None, sk={"tol": 1e-13}))
    for params in ({"alpha": 0.05}, {"alpha": 0.02, "positive": True}, {"alpha": 0.05, "fit_intercept": False}):
        CASES.append(case("Lasso", params | TIGHT, data, SOLVED, f32=5e-3, sk=params | {"tol": 1e-12, "max_iter": 1000000}))
    CASES.append(case("Lasso", {"alpha": 0.05} | TIGHT, data, SOLVED, f32=5e-3, weights="counts", sk={"alpha": 0.05, "tol": 1e-12, "max_iter": 1000000}))
    CASES.append(case("ElasticNet", {"alpha": 0.05, "l1_ratio": 0.4} | TIGHT, data, SOLVED, f32=5e-3,
                      sk={"alpha": 0.05, "l1_ratio": 0.4, "tol": 1e-12, "max_iter": 1000000}))
    CASES.append(case("SelectKBest", {"score_func": "f_regression", "k": 20}, data, {"scores_": 1e-8, "transform": Exact()}, f32=1e-2))
