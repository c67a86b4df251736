"""The parts of a case of the differential suite: data, checks, and the comparison. Plain Python, so that CI needs nothing else."""
import csv
import functools
import math
import pathlib
import random
from dataclasses import dataclass, field

DATA_FOLDER = pathlib.Path(__file__).parent.parent / "data" / "estimators"
METHODS = ("transform", "fit_transform", "predict", "predict_proba", "decision_function", "score_samples", "fit_resample")
SAMPLE = 120  # numbers of an array that a golden file keeps


@dataclass
class Case:
    """One estimator, fitted and compared.

    checks: name of a method or a fitted attribute -> a tolerance or a comparison of this module.
    data: a name that load() knows. Rows i % 3 != 0 are fitted and the others predicted if `split`; else all are both.
    f32: tolerance in float32, which replaces every float tolerance; None: float64 only. `not_in_f32` leaves checks out there.
    before: steps that come before, [("StandardScaler", {}), ...]. weights: "counts" gives rows 0 to 3 times their weight.
    sk: parameters for scikit-learn where they have another form or must differ (a tighter tol ...).
    sparse: Kedge and scikit-learn get the rows compressed (CSR).
    error: a part of the message with which the fit must be refused (no scikit-learn is run then).
    """
    estimator: str
    params: dict = field(default_factory=dict)
    data: str = "iris"
    checks: dict = field(default_factory=dict)
    f32: float | None = 2e-3
    not_in_f32: tuple = ()
    split: bool = True
    before: list = field(default_factory=list)
    weights: str | None = None
    sk: dict | None = None
    error: str | None = None
    note: str = ""
    sparse: bool = False

    @property
    def id(self):
        parts = [self.estimator, self.data] + [f"{k}={'...' if k == 'w_init' else v}" for k, v in sorted(self.params.items())]
        parts += [step for step, _ in self.before] + ([f"weights={self.weights}"] if self.weights else []) + (["sparse"] if self.sparse else []) + ([self.note] if self.note else [])
        return " ".join(str(p) for p in parts)


# --- comparisons: error(expected rows, actual rows) is 0 for equal; the check fails above `tolerance` ---

@dataclass
class Within:
    """Largest difference relative to the largest expected magnitude."""
    tolerance: float

    def error(self, expected, actual, scale):
        return max((difference(e, a) for er, ar in zip(expected, actual) for e, a in zip(er, ar)), default=0.0) / (scale or 1.0)


@dataclass
class Exact:
    """The same values; a share of `misses` may differ (rows whose answer rounding decides)."""
    misses: float = 0.0

    @property
    def tolerance(self):
        return self.misses

    def error(self, expected, actual, scale):
        pairs = [(e, a) for er, ar in zip(expected, actual) for e, a in zip(er, ar)]
        return sum(not same(e, a) for e, a in pairs) / max(1, len(pairs))


@dataclass
class SignOfRows:
    """Each row is determined up to its sign (components_)."""
    tolerance: float

    def error(self, expected, actual, scale):
        worst = 0.0
        for er, ar in zip(expected, actual):
            worst = max(worst, min(max(difference(e, s * a) for e, a in zip(er, ar)) for s in (1, -1)))
        return worst / (scale or 1.0)


@dataclass
class SignOfColumns:
    """Each column is determined up to its sign (what a PCA transforms)."""
    tolerance: float

    def error(self, expected, actual, scale):
        return SignOfRows(self.tolerance).error(list(zip(*expected)), list(zip(*actual)), scale)


@dataclass
class Relabelled:
    """The same partition under other numbers; -1 (noise) stays."""
    tolerance: float = 0.0

    def error(self, expected, actual, scale):
        there, back, wrong = {-1: -1}, {-1: -1}, 0
        pairs = [(er[0], ar[0]) for er, ar in zip(expected, actual)]
        for e, a in pairs:
            wrong += there.setdefault(e, a) != a or back.setdefault(a, e) != e
        return wrong / max(1, len(pairs))


@dataclass
class Spread:
    """Between the least and greatest that scikit-learn finds with random_state 0 .. seeds - 1, give or take `margin` of that range."""
    margin: float = 0.5
    seeds: int = 8
    tolerance = 0.0

    def error(self, expected, actual, scale):
        low, high = expected[0]
        slack = self.margin * (high - low) + 1e-9 * abs(high)
        worst = 0.0
        for row in actual:
            for a in row:
                worst = max(worst, low - slack - a, a - high - slack)
        return worst


def comparison(check):
    return Within(check) if isinstance(check, (int, float)) else check


def in_float32(case, name, compare):
    return type(compare)(case.f32) if isinstance(compare, (Within, SignOfRows, SignOfColumns)) else compare


def difference(e, a):
    if isinstance(e, (int, float)) and isinstance(a, (int, float)):
        if math.isnan(e) or math.isnan(a):
            return 0.0 if math.isnan(e) and math.isnan(a) else math.inf
        return 0.0 if e == a else abs(e - a)
    return 0.0 if same(e, a) else math.inf


def same(e, a):
    return e == a or str(e) == str(a) or (isinstance(e, float) and isinstance(a, float) and math.isnan(e) and math.isnan(a))


# --- arrays as lists of rows ---

def number(value):
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value, value) if isinstance(value, str) else value


def to_rows(value):
    """A scalar, a list, nested lists or the probe's {"rows", "values"} as a list of rows."""
    if isinstance(value, dict) and set(value) == {"rows", "values"}:
        width = len(value["values"]) // value["rows"] if value["rows"] else 0
        values = [number(v) for v in value["values"]]
        return [values[i * width:(i + 1) * width] for i in range(value["rows"])]
    if not isinstance(value, (list, tuple)):
        return [[number(value)]]
    if any(isinstance(v, (list, tuple)) for v in value):
        return [flat(v) for v in value]
    return [[number(v)] for v in value]


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, (list, tuple)) else [number(value)]


def shape(rows):
    return [len(rows), len(rows[0]) if rows else 0]


def sampled_rows(n_rows, n_cols):
    keep = max(2, SAMPLE // max(1, n_cols))
    if n_rows <= keep:
        return list(range(n_rows))
    return [i * (n_rows - 1) // (keep - 1) for i in range(keep)]


def magnitude(rows):
    return max((abs(v) for row in rows for v in row if isinstance(v, (int, float)) and math.isfinite(v)), default=0.0)


# --- data ---

@functools.lru_cache(maxsize=2)
def load(name):
    """X as rows, y (ints for classes, floats for values; tuples of them for several targets), and the name of each column or None."""
    if name in SYNTHETIC:
        return SYNTHETIC[name]()
    with open(DATA_FOLDER / f"{name}.csv") as f:
        rows = [[float(cell) for cell in row] for row in csv.reader(f)]
    y = [row[-1] for row in rows]
    return [row[:-1] for row in rows], [int(v) for v in y] if all(v == int(v) for v in y) and len(set(y)) <= 20 else y


def gaussian_rows(seed, n_rows, n_cols):
    draw = random.Random(seed)
    return draw, [[draw.gauss(0, 1) for _ in range(n_cols)] for _ in range(n_rows)]


def linear_target(draw, X, noise):
    w = [draw.gauss(0, 1) for _ in X[0]]
    return [sum(a * b for a, b in zip(w, row)) + noise * draw.gauss(0, 1) for row in X]


def regression(n_rows=120, n_cols=8, noise=0.5, offset=0.0, spread=0, seed=1):
    """Linear with noise; columns times 10^(0 .. spread), plus offset."""
    draw, X = gaussian_rows(seed, n_rows, n_cols)
    y = linear_target(draw, X, noise)
    return [[v * 10.0 ** (spread * j / max(1, n_cols - 1)) + offset for j, v in enumerate(row)] for row in X], y


def rates(n_rows=150, n_cols=6, seed=11):
    """Counts whose mean is the exponential of a line."""
    draw, X = gaussian_rows(seed, n_rows, n_cols)
    def poisson(mean):
        count, product = 0, draw.random()
        while product > math.exp(-mean):
            count, product = count + 1, product * draw.random()
        return float(count)
    return X, [poisson(math.exp(0.3 * v + 0.5)) for v in linear_target(draw, X, 0)]


def shifted(data, by):
    X, y = data
    return X, [v + by for v in y]


def amounts(n_rows=150, n_cols=6, seed=12):
    """Positive values whose mean is the exponential of a line."""
    draw, X = gaussian_rows(seed, n_rows, n_cols)
    return X, [draw.gammavariate(3.0, math.exp(0.3 * v)) for v in linear_target(draw, X, 0)]


def outliers(n_rows=150, n_cols=6, seed=13):
    """A line with noise, from which every seventh row is far."""
    draw, X = gaussian_rows(seed, n_rows, n_cols)
    return X, [v + (30 * draw.random() if i % 7 == 0 else 0) for i, v in enumerate(linear_target(draw, X, 0.5))]


def rank_deficient():
    draw, X = gaussian_rows(3, 80, 5)
    y = linear_target(draw, X, 0.1)
    return [row + [row[0] + row[1], 2 * row[2] - row[3]] for row in X], y


def wide(n_rows=30, n_cols=60):
    draw, X = gaussian_rows(4, n_rows, n_cols)
    return X, linear_target(draw, X, 0.1)


def blobs(n_rows=150, n_cols=4, n_classes=3, distance=2.0, seed=5):
    draw, X = gaussian_rows(seed, n_rows, n_cols)
    centres = [[draw.uniform(-distance, distance) for _ in range(n_cols)] for _ in range(n_classes)]
    y = [i % n_classes for i in range(n_rows)]
    return [[v + centres[c][j] for j, v in enumerate(row)] for row, c in zip(X, y)], y


def classes_of(regression_data, n_classes=3):
    """A class by rank of the target, so that no class is rare; the parts overlap with the noise of the target."""
    X, y = regression_data
    order = sorted(range(len(y)), key=lambda i: y[i])
    codes = [0] * len(y)
    for rank, i in enumerate(order):
        codes[i] = rank * n_classes // len(y)
    return X, codes


def counts(n_rows=120, n_cols=10, n_classes=3):
    draw = random.Random(6)
    rates = [[draw.uniform(0, 3) for _ in range(n_cols)] for _ in range(n_classes)]
    y = [i % n_classes for i in range(n_rows)]
    return [[float(int(draw.expovariate(1.0) * rates[c][j])) for j in range(n_cols)] for c in y], y


def ties():
    draw = random.Random(7)
    X = [[float(draw.randrange(4)) for _ in range(3)] for _ in range(120)]
    return X, [int(sum(row) + draw.randrange(2)) % 3 for row in X]


def affinities():
    """How near points of three blobs are to each other: a square, symmetric but for its rounding."""
    X, y = blobs(n_rows=90)
    return [[math.exp(-0.2 * sum((a - b) ** 2 for a, b in zip(p, q))) for q in X] for p in X], y


def with_missing():
    draw, X = gaussian_rows(8, 90, 5)
    y = [int(row[0] + row[1] > 0) for row in X]
    return [[math.nan if draw.random() < 0.15 else v for v in row] for row in X], y


def words(n_rows, n_cols, n_classes=4, per_row=12, seed=8):
    """Counts of words as in 20 newsgroups: few of many, some in every text, and each topic with words of its own."""
    draw = random.Random(seed)
    topics = [[int(n_cols * draw.random() ** 2) for _ in range(n_cols // 8)] for _ in range(n_classes)]
    X, y = [], []
    for i in range(n_rows):
        row, topic = [0.0] * n_cols, i % n_classes
        for _ in range(per_row):
            row[draw.choice(topics[topic]) if draw.random() < 0.4 else int(n_cols * draw.random() ** 3)] += 1.0
        X.append(row)
        y.append(topic)
    return X, y


def rated(data, seed=9):
    """A target that a tenth of the columns decide, with noise."""
    X, _ = data
    draw = random.Random(seed)
    w = [draw.gauss(0, 1) if draw.random() < 0.1 else 0.0 for _ in X[0]]
    return X, [sum(w[j] * v for j, v in enumerate(row) if v) + 0.3 * draw.gauss(0, 1) for row in X]


def renumbered(data, numbers):
    """The same with other numbers for the classes."""
    X, y = data
    return X, [numbers[v] for v in y]


def several(*data):
    """The rows of the first data set with the targets of all."""
    return data[0][0], list(zip(*(y for _, y in data)))


SYNTHETIC = {
    "several_values": lambda: several(regression(), shifted(regression(seed=21), 5.0), rates(120, 8)),
    "several_classes": lambda: several(classes_of(regression(150, 4)), classes_of(regression(150, 4, seed=21), 2), classes_of(regression(150, 4, seed=22), 4)),
    "several_labels": lambda: several(classes_of(regression(150, 4), 2), renumbered(classes_of(regression(150, 4, seed=21), 2), (2, 5)), classes_of(regression(150, 4, seed=22), 2)),
    "words": lambda: words(240, 150), "many_words": lambda: words(3240, 2000, per_row=30),
    "rated_words": lambda: rated(words(240, 60)), "many_rated_words": lambda: rated(words(4500, 1500, per_row=40)),
    "regression": regression,
    "rates": rates,
    "amounts": amounts,
    "wide_rates": lambda: rates(40, 60),
    "offset_rates": lambda: shifted(rates(), 30.0),
    "outliers": outliers,
    "badly_scaled": lambda: regression(spread=8),
    "offset_1e6": lambda: regression(offset=1e6),
    "rank_deficient": rank_deficient,
    "wide": wide,
    "blobs": blobs,
    "badly_scaled_classes": lambda: classes_of(regression(spread=6, noise=2.0)),
    "offset_classes": lambda: classes_of(regression(offset=1e3, noise=2.0)),
    "rank_deficient_classes": lambda: classes_of(rank_deficient(), 2),
    "many_blobs": lambda: blobs(n_rows=1100, n_cols=5, n_classes=1), "very_many_blobs": lambda: blobs(n_rows=3300, n_classes=1),
    "wide_classes": lambda: classes_of(wide()),
    "two_blobs": lambda: blobs(n_classes=2, distance=1.0),
    "counts": counts,
    "ties": ties,
    "with_missing": with_missing,
    "affinities": affinities,
}
