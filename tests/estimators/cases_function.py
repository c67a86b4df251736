"""FunctionTransformer: each named function against numpy's, and formulas."""
from harness import Case, SYNTHETIC, gaussian_rows


def positive(seed=41):
    draw, X = gaussian_rows(seed, 90, 3)
    return [[abs(v) * 10.0 ** (j - 1) + 1e-3 for j, v in enumerate(row)] for row in X], [i % 2 for i in range(90)]


def around_zero(seed=42):
    """Down to 1e-9, of both signs, above -1; some cells are missing."""
    draw, X = gaussian_rows(seed, 90, 3)
    nan = float("nan")
    return [[nan if draw.random() < 0.1 else max(-0.999, v * 10.0 ** (-4 * j)) for j, v in enumerate(row)] for row in X], [i % 2 for i in range(90)]


SYNTHETIC["positive"], SYNTHETIC["around_zero"] = positive, around_zero
TRANSFORM = {"transform": 1e-14}
CASES = [Case("FunctionTransformer", {"func": name}, "positive", TRANSFORM, f32=1e-6)
         for name in ("log", "log2", "log10", "log1p", "exp2", "sqrt", "square", "abs", "absolute", "reciprocal", "negative", "sign", "tanh")]
CASES += [Case("FunctionTransformer", {"func": name}, data, TRANSFORM, f32=1e-6)
          for name in ("expm1", "exp", "exp2", "square", "abs", "sign", "tanh", "negative") for data in ("around_zero",)]
# Near -1 a logarithm is a thousand times as far off as what rounding to float32 has made of its argument.
CASES += [Case("FunctionTransformer", {"func": "log1p", **more}, "around_zero", TRANSFORM, f32=1e-4) for more in ({}, {"inverse_func": "expm1"})]
CASES += [Case("FunctionTransformer", {}, "with_missing", TRANSFORM, f32=1e-7)]
# Formulas: what scikit-learn gets is the same text, run by Python.
CASES += [Case("FunctionTransformer", {"func": formula}, data, {"transform": 1e-13}, f32=2e-6) for formula, data in (
    ("2 * x - 1", "around_zero"), ("-x ** 2 + 3", "around_zero"), ("1 / (1 + x ** 2)", "around_zero"),
    ("clip(x, -0.1, 0.2)", "around_zero"), ("x ** 3 / 7", "around_zero"),
    ("x ** -2", "positive"),
    ("x ** 0.5 + x ** 1.7", "positive"), ("2 ** x", "around_zero"),
    ("min(x, 1) + max(x, 0.5)", "positive"), ("(x > 0.5) + 2 * (x <= 0.1)", "positive"),
    ("log(x + 1) / log(2)", "positive"), ("3 - x", "positive"), ("(x >= 0.25) * (x < 2)", "positive"))]
CASES += [Case("FunctionTransformer", {"func": ["ratio = x0 / x2", "z = log1p(x1) * (x0 > x1)", "smaller = min(x0, x1) ** x2", "`x0` = x0 - x2 - x1"]},
               "positive", {"transform": 1e-13}, f32=1e-5)]
CASES += [Case("FunctionTransformer", {"func": func}, "positive", error=error) for func, error in (
    ("logg", "did you mean \"log\"?"), ("log(x", "')' is missing at character 6"), ("x +", "a value is missing at character 4"),
    ("foo(x)", "there is no function 'foo'"),
    ("__import__('os')", "there is no function '__import__'"), ("x; y", "';' is not expected at character 2"), ("3", "names no column"),
    ("x + 1 / (1 - 1)", "no finite value"),
    (["a"], "must be \"name = formula\""),
    (["a = x0", "a = x1"], "names 'a' twice"), (["a = x7"], "names 'x7', which is no column"), ([], "1 to 1000 formulas"),
    ("(" * 40 + "x" + ")" * 40, "nested deeper than"), ("x" + " + x" * 200, "has more than 100 values"), ("x" * 2000, "x... (2002 bytes), "), ("x" * 2001, "longer than 1000"), (7, "func is 7"))]
