"""IsotonicRegression, which takes one column."""
from harness import Case, Exact, SYNTHETIC, gaussian_rows


def one_column(seed, slope=1.0, step=0.0):
    """A noisy line; with a step, the column has few values."""
    draw, X = gaussian_rows(seed, 150, 1)
    rows = [[round(row[0] / step) * step if step else row[0]] for row in X]
    return rows, [slope * row[0] + draw.gauss(0, 0.7) for row in rows]


SYNTHETIC["rising"] = lambda: one_column(21)
SYNTHETIC["rising_ties"] = lambda: one_column(22, step=0.25)
SYNTHETIC["falling"] = lambda: one_column(23, slope=-2.0)
SYNTHETIC["level"] = lambda: one_column(24, slope=0.0)

CURVE = {"X_min_": 1e-15, "X_max_": 1e-15, "X_thresholds_": 1e-15, "y_thresholds_": 1e-12, "increasing_": Exact(), "predict": 1e-12, "transform": 1e-12}
# Sums in float32 order may pool two blocks that are as high as each other.
IN_F32 = {"f32": 1e-4, "not_in_f32": ("X_thresholds_", "y_thresholds_")}
CASES = [Case("IsotonicRegression", params, data, CURVE, weights=weights, **IN_F32)
         for data in ("rising", "rising_ties", "falling", "level") for weights in (None, "counts") for params in (
             {}, {"out_of_bounds": "clip", "increasing": False}, {"out_of_bounds": "clip", "increasing": "auto"},
             {"y_min": -1.0, "y_max": 0.75}, {"out_of_bounds": "clip", "y_min": 0.2, "increasing": False})]
CASES += [Case("IsotonicRegression", {"out_of_bounds": "raise"}, "rising", CURVE, split=False, **IN_F32),
          Case("IsotonicRegression", {}, "regression", error="takes 1; choose it by select.features"),
          Case("IsotonicRegression", {"y_min": 2.0, "y_max": 1.0}, "rising", error="must be at most y_max"),
          Case("IsotonicRegression", {"increasing": "maybe"}, "rising", error="increasing is \"maybe\"")]
