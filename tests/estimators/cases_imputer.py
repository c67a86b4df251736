"""IterativeImputer, round after round as scikit-learn's."""
from harness import Case, Exact, SYNTHETIC, gaussian_rows

NAN = float("nan")


def correlated(n_rows=150, n_cols=6, share=0.12, seed=51, empty=False):
    """Columns that depend on two hidden ones, of other units and offsets; the last one lacks nothing."""
    draw, H = gaussian_rows(seed, n_rows, 2)
    weights = [[draw.gauss(0, 1) for _ in range(2)] for _ in range(n_cols)]
    rows = [[(w[0] * h[0] + w[1] * h[1] + 0.3 * draw.gauss(0, 1)) * (1 + j) + 5 * j for j, w in enumerate(weights)] for h in H]
    rows = [[NAN if j < n_cols - 1 and draw.random() < share * (1 + j % 3) else v for j, v in enumerate(row)] for row in rows]
    return [[*row[:2], NAN, *row[2:]] if empty else row for row in rows], [i % 2 for i in range(n_rows)]


def holes(seed=52):
    X, y = correlated(seed=seed)
    return [[0.0 if v != v else v for v in row] for row in X], y


SYNTHETIC["correlated"] = correlated
SYNTHETIC["correlated_wide"] = lambda: correlated(n_rows=30, n_cols=25, share=0.1, seed=53)
SYNTHETIC["correlated_empty"] = lambda: correlated(seed=54, empty=True)
SYNTHETIC["correlated_holes"] = holes

IMPUTED = {"n_iter_": Exact(), "n_features_with_missing_": Exact(), "transform": 1e-7}
SEEDED = {"random_state": 3}
CASES = [Case("IterativeImputer", {**SEEDED, **params}, "correlated", IMPUTED, f32=1e-3, not_in_f32=("n_iter_",)) for params in (
    {}, {"max_iter": 30, "tol": 1e-5}, {"max_iter": 1}, {"imputation_order": "descending"}, {"imputation_order": "roman"}, {"imputation_order": "arabic"},
    {"imputation_order": "random"}, {"initial_strategy": "median"}, {"initial_strategy": "most_frequent"}, {"initial_strategy": "constant", "fill_value": 2.5},
    {"n_nearest_features": 2}, {"n_nearest_features": 4, "imputation_order": "random"}, {"skip_complete": True}, {"min_value": 0.0, "max_value": 12.0},
    {"min_value": [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]}, {"add_indicator": True})]
for case in CASES:   # null is an infinity there
    case.sk = {"min_value": -float("inf"), "max_value": float("inf")} | case.params
CASES += [Case("IterativeImputer", {"max_iter": 0}, "correlated", {"n_iter_": Exact(), "transform": 1e-14}, f32=1e-6),
          Case("IterativeImputer", SEEDED, "correlated_wide", {"transform": 1e-5}, f32=None),
          Case("IterativeImputer", SEEDED, "correlated_empty", IMPUTED, f32=None),
          Case("IterativeImputer", {**SEEDED, "keep_empty_features": True}, "correlated_empty", IMPUTED, f32=None),
          Case("IterativeImputer", {**SEEDED, "missing_values": 0}, "correlated_holes", IMPUTED, f32=None),
          Case("IterativeImputer", SEEDED, "with_missing", IMPUTED, f32=None),
          Case("IterativeImputer", {"min_value": [0.0, 1.0]}, "correlated", error="min_value has 2 numbers"),
          Case("IterativeImputer", {"min_value": 2.0, "max_value": 1.0}, "correlated", error="must be below max_value"),
          Case("IterativeImputer", {"sample_posterior": True}, "correlated", error="sample_posterior is true, must be false")]
