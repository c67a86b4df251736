"""Writes metrics_golden.inc and metrics_parts_golden.inc: every score of scikit-learn for random and degenerate predictions. Run it beside this file.

Where a scorer of scikit-learn would guess the classes from y_true, its function is called with all of them (labels=), as Kedge knows
them. Distances of the silhouette are taken exactly (scipy's cdist), not by scikit-learn's expansion of the square. Expected mutual information is
computed in decimals: scikit-learn's keeps 7 digits of it for large data.
"""

import warnings
from decimal import Decimal, getcontext

import numpy as np
import sklearn
from scipy.spatial.distance import cdist
from sklearn import metrics as m

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
rng = np.random.default_rng(3)
out = open("metrics_golden.inc", "w")


def emit(text):
    print(text, file=out)


def number(value):
    value = float(value)
    if np.isnan(value):
        return "kNaN"
    if np.isinf(value):
        return "kInfinity" if value > 0 else "-kInfinity"
    return repr(int(value)) if value == int(value) and abs(value) < 1e9 and not (value == 0 and np.signbit(value)) else repr(value)


def row(values):
    return "{" + ", ".join(number(v) for v in np.ravel(values)) + "}" if values is not None else "{}"


columns = {}   # by kind of scorer: the names, in the order of the scores


def measured(kind, functions):
    """The score of each; kRefused where scikit-learn refuses."""
    names = columns.setdefault(kind, sorted(functions))
    scores = []
    for name in names:
        try:
            scores.append(number(functions[name]()) if name in functions else "kUnmeasured")
        except (ValueError, ZeroDivisionError):
            scores.append("kRefused")
    return "{" + ", ".join(scores) + "}"


def classification(title, k, y, predicted, proba, decision=None, w=None):
    """proba in 1024ths, so that it is short to write and sums to 1 exactly."""
    labels = np.arange(k)
    weight = {} if w is None else {"sample_weight": w}
    share = proba / 1024
    scores = share if decision is None else decision
    binary = k == 2
    ranks = scores[:, 1] if binary and scores.ndim == 2 else scores
    own = share[:, 1] if binary else share

    def averaged(function):
        return {
            "": lambda: function(y, predicted, average="binary", zero_division=0, **weight) if binary else refuse(),
            **{f"_{a}": lambda a=a: function(y, predicted, average=a, zero_division=0, **weight) for a in ("macro", "micro", "weighted")},
        }

    def refuse():
        raise ValueError("two classes only")

    def ratios(i):
        if not binary:
            refuse()
        return m.class_likelihood_ratios(y, predicted, labels=labels, replace_undefined_by=1.0, **weight)[i]

    def average_precision():
        if not binary and len(np.unique(y)) < k:
            return np.nan   # scikit-learn refuses
        return m.average_precision_score(y, ranks, **weight)

    def roc(kind, average):
        if binary:
            return m.roc_auc_score(y, own, **weight)
        if kind == "ovo" and w is None and len(np.unique(y)) == 1:
            return np.nan   # scikit-learn divides by 0 for the weighted mean
        return m.roc_auc_score(y, share, multi_class=kind, average=average, labels=labels, **weight)

    functions = {
        "accuracy": lambda: m.accuracy_score(y, predicted, **weight),
        "balanced_accuracy": lambda: m.balanced_accuracy_score(y, predicted, **weight),
        "cohen_kappa_score": lambda: m.cohen_kappa_score(y, predicted, labels=labels, **weight),
        "matthews_corrcoef": lambda: m.matthews_corrcoef(y, predicted, **weight),
        "positive_likelihood_ratio": lambda: ratios(0),
        "neg_negative_likelihood_ratio": lambda: -ratios(1),
        "d2_brier_score": lambda: m.d2_brier_score(y, share, labels=labels, **weight),
        "d2_log_loss_score": lambda: m.d2_log_loss_score(y, share, labels=labels, **weight),
        "neg_brier_score": lambda: -m.brier_score_loss(y, share, labels=labels, **weight),
        "neg_log_loss": lambda: -m.log_loss(y, share, labels=labels, **weight),
        "roc_auc": lambda: m.roc_auc_score(y, ranks, **weight) if binary else refuse(),
        "roc_auc_ovo": lambda: roc("ovo", "macro"),
        "roc_auc_ovo_weighted": lambda: roc("ovo", "weighted"),
        "roc_auc_ovr": lambda: roc("ovr", "macro"),
        "roc_auc_ovr_weighted": lambda: roc("ovr", "weighted"),
        "average_precision": average_precision,
        "top_k_accuracy": lambda: m.top_k_accuracy_score(y, ranks, labels=labels, **weight),
    }
    for name, function in (("f1", m.f1_score), ("jaccard", m.jaccard_score), ("precision", m.precision_score), ("recall", m.recall_score)):
        functions |= {name + suffix: call for suffix, call in averaged(function).items()}
    emit(f'    {{"{title}", {k}, {row(y)}, {row(predicted)},\n     {row(proba)},\n     {row(decision)}, {row(w)},\n     {measured("Classification", functions)}}},')


def shares(n, k, sharp=1.0):
    """Rows of whole 1024ths."""
    return np.array([rng.multinomial(1024, p) for p in rng.dirichlet(np.full(k, sharp), n)])


def weights(n):
    return rng.integers(0, 8, n) / 4   # some are 0


emit(f"// Written by metrics_golden.py with scikit-learn {sklearn.__version__}.\nconst std::vector<ClassificationCase> kClassification = {{")
for k in (2, 3, 5):
    n = 12 * k
    y, predicted = rng.integers(0, k, n), rng.integers(0, k, n)
    near = np.where(rng.random(n) < 0.7, y, predicted)
    decision = np.round(rng.normal(size=n if k == 2 else (n, k)), 1)   # with ties
    classification(f"{k} classes", k, y, near, shares(n, k))
    classification(f"{k} classes, decision values", k, y, near, shares(n, k), decision)
    classification(f"{k} classes, weights", k, y, near, shares(n, k), decision, weights(n))
    classification(f"{k} classes, few different probabilities", k, y, predicted, 1024 // 8 * np.array([rng.multinomial(8, p) for p in rng.dirichlet(np.ones(k), n)]))
    classification(f"{k} classes, all right", k, y, y, 1024 * np.eye(k, dtype=int)[y])
    classification(f"{k} classes, all wrong", k, y, (y + 1) % k, 1024 * np.eye(k, dtype=int)[(y + 1) % k])
    classification(f"{k} classes, one predicted", k, y, np.full(n, k - 1), shares(n, k, 0.1))
    classification(f"{k} classes, only the first predicted, weights", k, y, np.zeros(n, int), shares(n, k, 0.1), None, weights(n))
    classification(f"{k} classes, one true", k, np.full(n, k - 1), near, shares(n, k))
    classification(f"{k} classes, the last one absent", k, rng.integers(0, k - 1, n), np.minimum(near, k - 2), shares(n, k))
    classification(f"{k} classes, one true and predicted", k, np.zeros(n, int), np.zeros(n, int), shares(n, k))
    classification(f"{k} classes, one row", k, y[:1], y[:1], shares(1, k))
    classification(f"{k} classes, the last one weighs nothing", k, y, near, shares(n, k), None, (y != k - 1) * 1.0)
emit("};\n")


def regression(title, y, p, w=None):
    weight = {} if w is None else {"sample_weight": w}
    functions = {
        "r2": m.r2_score, "explained_variance": m.explained_variance_score, "d2_absolute_error_score": m.d2_absolute_error_score,
        "neg_mean_absolute_error": m.mean_absolute_error, "neg_mean_absolute_percentage_error": m.mean_absolute_percentage_error,
        "neg_mean_gamma_deviance": m.mean_gamma_deviance, "neg_mean_poisson_deviance": m.mean_poisson_deviance,
        "neg_mean_squared_error": m.mean_squared_error, "neg_mean_squared_log_error": m.mean_squared_log_error,
        "neg_median_absolute_error": m.median_absolute_error, "neg_root_mean_squared_error": m.root_mean_squared_error,
        "neg_root_mean_squared_log_error": m.root_mean_squared_log_error,
    }
    calls = {name: lambda name=name, f=f: (-1 if name.startswith("neg_") else 1) * f(y, p, **weight) for name, f in functions.items()}
    calls["neg_max_error"] = lambda: -m.max_error(y, p)
    emit(f'    {{"{title}", {row(y)}, {row(p)}, {row(w)},\n     {measured("Regression", calls)}}},')


emit("const std::vector<RegressionCase> kRegression = {")
for n in (2, 5, 30, 31):
    y = np.round(rng.normal(0, 3, n), 2)
    p = np.round(y + rng.normal(0, 1, n), 2)
    regression(f"{n} rows", y, p)
    regression(f"{n} rows, weights", y, p, weights(n) + (n < 6))
    regression(f"{n} positive rows", np.abs(y) + 0.01, np.abs(p) + 0.01)
    regression(f"{n} positive rows, weights", np.abs(y) + 0.01, np.abs(p) + 0.01, rng.integers(1, 4, n))
    regression(f"{n} counts", rng.poisson(1, n), np.round(rng.gamma(2, 1, n) + 0.01, 2))
    regression(f"{n} rows, all right", y, y)
    regression(f"{n} rows, one error", y, y + 0.5)
    regression(f"{n} equal rows", np.full(n, 2.5), p)
    regression(f"{n} equal rows, all right", np.full(n, 2.5), np.full(n, 2.5))
regression("one row", [2.0], [3.0])
regression("large against their spread", 1e6 + np.arange(10.0), 1e6 + np.arange(10.0)[::-1] / 2)
regression("weights that sum to 0", [1.0, 2.0], [1.0, 3.0], [0.0, 0.0])
emit("};\n")


def clustering(title, y, labels, X=None):
    functions = {name: lambda name=name: getattr(m, name)(y, labels) for name in (
        "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score", "homogeneity_score",
        "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score")}
    if X is not None:
        functions["calinski_harabasz_score"] = lambda: m.calinski_harabasz_score(X, labels)
        functions["neg_davies_bouldin_score"] = lambda: -m.davies_bouldin_score(X, labels)
        functions["silhouette_score"] = lambda: m.silhouette_score(cdist(X, X), labels, metric="precomputed")
    emit(f'    {{"{title}", {row(y)}, {row(labels)}, {row(X)}, {0 if X is None else X.shape[1]},\n     {measured("Clustering", functions)}}},')


emit("const std::vector<ClusteringCase> kClustering = {")
for n, k, d in ((12, 2, 1), (40, 3, 2), (50, 7, 3), (67, 4, 11)):
    y = rng.integers(0, k, n)
    near = np.where(rng.random(n) < 0.8, y, rng.integers(0, k, n))
    X = np.round(rng.normal(size=(n, d)) + 2 * y[:, None], 2)
    clustering(f"{n} rows in {k}", y, near, X)
    clustering(f"{n} rows in {k}, unrelated", y, rng.integers(0, k + 1, n), X)
    clustering(f"{n} rows in {k}, renamed", y, 70000 * ((y + 1) % k), X)
    clustering(f"{n} rows in {k}, noise", y, near - 1, X)
    clustering(f"{n} rows in {k}, one cluster", y, np.zeros(n, int), X)
    clustering(f"{n} rows in {k}, one class", np.zeros(n, int), near, X)
    clustering(f"{n} rows in {k}, each alone", y, np.arange(n), X)
    clustering(f"{n} rows in {k}, one alone", y, np.where(np.arange(n) == 3, 99, near), X)
clustering("one cluster in one class", [5, 5, 5], [1, 1, 1], np.array([[1.0], [2], [3]]))
clustering("each alone twice", [1, 2, 3], [3, 2, 1])
clustering("two rows", [0, 0], [0, 1])
clustering("one row", [0], [0])
clustering("equal rows", [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], np.ones((5, 2)))
clustering("all of a cluster equal", [0, 0, 1, 1, 1], [0, 0, 1, 1, 1], np.array([[1.0], [1], [4], [4], [4]]))
emit("};\n")

emit("const std::vector<CurveCase> kCurves = {")
for n, levels, w in ((30, 8, None), (30, 1000, None), (30, 8, weights(30)), (9, 3, None), (1, 2, None), (20, 5, "positive"), (20, 5, "negative")):
    y = rng.integers(0, 2, n) if not isinstance(w, str) else np.full(n, int(w == "positive"))
    w = None if isinstance(w, str) else w
    scores = rng.integers(-levels // 2, levels, n) / 8
    for drop in (False, True):
        roc = m.roc_curve(y, scores, pos_label=1, sample_weight=w, drop_intermediate=drop)
        pr = m.precision_recall_curve(y, scores, pos_label=1, sample_weight=w, drop_intermediate=drop)
        emit(f"    {{{row(y)}, {row(scores)}, {row(w)}, {str(drop).lower()},\n     " + ", ".join(row(v) for v in (*roc, *pr)) + "},")
emit("};\n")

emit("const std::vector<MatrixCase> kMatrices = {")
for n, k, w in ((25, 2, None), (25, 4, weights(25)), (6, 5, None)):
    y, p = rng.integers(0, k, n), rng.integers(0, k, n)
    matrices = [m.confusion_matrix(y, p, labels=np.arange(k), sample_weight=w, normalize=kind) for kind in (None, "true", "pred", "all")]
    kappas = [m.cohen_kappa_score(y, p, labels=np.arange(k), weights=kind, sample_weight=w) for kind in (None, "linear", "quadratic")]
    emit(f"    {{{k}, {row(y)}, {row(p)}, {row(w)},\n     {{" + ",\n      ".join(row(c) for c in matrices) + f"}}, {row(kappas)}}},")
emit("};\n")


for kind, names in columns.items():
    emit(f"const std::vector<std::string> k{kind}Names = {{" + ", ".join(f'"{name}"' for name in names) + "};")
names = m.get_scorer_names()
emit("const std::vector<std::string> kScikitLearnNames = {" + ", ".join(f'"{name}"' for name in names) + "};")

out.close()
out = open("metrics_parts_golden.inc", "w")
emit(f"// Written by metrics_golden.py with scikit-learn {sklearn.__version__}.")


def generated(n):
    """The same numbers as the test's: classes, scores with ties, weights."""
    x, y, scores, w = 17, [], [], []
    for _ in range(n):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        u = x >> 12
        y.append(u % 3 == 0)
        scores.append(((u // 3) % 4001 - 2000 + 300 * y[-1]) / 512)
        w.append((u // 7) % 5)
    return np.array(y, int), np.array(scores), np.array(w, float)


def expected_information(sizes_a, sizes_b):
    """Expected mutual information in 60 decimal digits, by the ratios of neighbouring hypergeometric probabilities."""
    n = sum(sizes_a)

    def mean_information(a, b):
        lowest, highest = max(0, a + b - n), min(a, b)
        mode = min(max((a + 1) * (b + 1) // (n + 2), lowest), highest)

        def ratio(k):
            return Decimal((a - k) * (b - k)) / Decimal((k + 1) * (n - a - b + k + 1))

        def information(k):
            return Decimal(k) * (Decimal(k * n) / Decimal(a * b)).ln() if k > 0 else Decimal(0)

        total, found = Decimal(1), information(mode)
        for step, end in ((1, highest), (-1, lowest)):
            k, p = mode, Decimal(1)
            while k != end and p > Decimal(10) ** -40:
                p = p * ratio(k) if step > 0 else p / ratio(k - 1)
                k += step
                total, found = total + p, found + p * information(k)
        return found / total

    return sum(mean_information(a, b) for a in sizes_a for b in sizes_b) / n


y, scores, w = generated(20000)
emit(f"constexpr std::int64_t kGeneratedRows = {len(y)};")
for name, value in (
        ("RocAuc", m.roc_auc_score(y, scores)), ("WeightedRocAuc", m.roc_auc_score(y, scores, sample_weight=w)),
        ("AveragePrecision", m.average_precision_score(y, scores)), ("R2", m.r2_score(scores, y)),
        ("WeightedMedian", m.median_absolute_error(scores, y * 0.0, sample_weight=w)),
        ("WeightedSquaredError", m.mean_squared_error(scores, y, sample_weight=w))):
    emit(f"constexpr double kGenerated{name} = {float(value)!r};")
getcontext().prec = 60
emit("const std::vector<ExpectedCase> kExpected = {")
for sizes in (([100, 200, 700], [500, 300, 200]), ([3, 7], [1, 9]), ([100000, 900000], [100000, 900000]), ([333333, 666667], [5, 999995])):
    emit(f"    {{{row(sizes[0])}, {row(sizes[1])}, {float(expected_information(*sizes))!r}}},")
emit("};\n")
