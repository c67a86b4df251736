"""TargetEncoder: encodings of all rows, and those of the fitted rows in folds."""
from harness import Case, Exact, SYNTHETIC, classes_of, gaussian_rows


def categories(seed, missing=False):
    """Three columns of 3, 8 and 40 categories, which move the target; some categories have one row."""
    draw, noise = gaussian_rows(seed, 240, 1)
    nan = float("nan")
    rows = [[float(draw.randrange(3)), float(int(draw.expovariate(0.4))), float(draw.randrange(40))] for _ in range(240)]
    y = [2 * row[0] - row[1] + 0.1 * row[2] + z[0] for row, z in zip(rows, noise)]
    return [[nan if missing and draw.random() < 0.1 else v for v in row] for row in rows], y


SYNTHETIC["categories"] = lambda: categories(31)
SYNTHETIC["missing_categories"] = lambda: categories(32, missing=True)
SYNTHETIC["categories_of_two"] = lambda: classes_of(categories(33), 2)
SYNTHETIC["categories_of_four"] = lambda: classes_of(categories(34, missing=True), 4)
SYNTHETIC["level_categories"] = lambda: (categories(35)[0], [1.5] * 240)

ENCODED = {"categories_": Exact(), "encodings_": 1e-12, "target_mean_": 1e-13, "target_type_": Exact(), "transform": 1e-12, "fit_transform": 1e-12}
SEEDED = {"random_state": 3}
DATA = ("categories", "missing_categories", "categories_of_two", "categories_of_four", "level_categories")
CASES = [Case("TargetEncoder", {**SEEDED, **params}, data, ENCODED, f32=2e-6) for data in DATA
         for params in ({}, {"smooth": 10.0}, {"smooth": 0.0, "cv": 3}, {"shuffle": False, "cv": 4}, {"cv": 60})
         if params.get("cv") != 60 or data != "categories_of_four"]
for case in CASES:
    if case.params.get("shuffle") is False:   # without it a seed is refused there
        case.sk = {"random_state": None}
GIVEN = [[0, 1, 2], list(range(0, 20)), list(range(0, 40))]
CASES += [Case("TargetEncoder", {**SEEDED, "categories": GIVEN}, "categories", ENCODED, f32=2e-6),
          Case("TargetEncoder", {**SEEDED, "target_type": "continuous", "cv": 5}, "categories", ENCODED, f32=2e-6),
          Case("TargetEncoder", {"cv": 1}, "categories", error="cv is 1, must be at least 2"),
          Case("TargetEncoder", {"smooth": -1.0}, "categories", error="smooth"),
          Case("TargetEncoder", {"target_type": "binary"}, "categories_of_four", error="the target has 4 classes"),
          Case("TargetEncoder", {"target_type": "multiclass"}, "categories", error="got no target"),
          Case("TargetEncoder", {"categories": [[0, 1]]}, "categories", error="categories has 1 lists")]
