"""Encoders, imputers, and what is composed of transformers. Moved and looked-up values are exact; so are they in float32."""
from harness import Case, Exact

EXACT, MEANS = 1e-15, 1e-14


def step(estimator, **params):
    return {"estimator": estimator, "params": params}


def part(name, transformer, columns=None):
    return {"name": name, "transformer": transformer, **({} if columns is None else {"columns": columns})}


def encoder(params, data="ties", attributes=(), **more):
    checks = {"categories_": EXACT, "transform": EXACT, **{name: Exact() for name in attributes}}
    return Case("OneHotEncoder", {"handle_unknown": "ignore", **params}, data, checks, f32=1e-6, **more)


CASES = [encoder(params, data) for params in ({}, {"drop": "first"}, {"drop": "if_binary"}, {"max_categories": 3}, {"min_frequency": 0.25})
         for data in ("ties", "counts")]
CASES += [
    encoder({"handle_unknown": "error"}, "ties"),
    encoder({"handle_unknown": "infrequent_if_exist", "min_frequency": 12}, "counts", ["infrequent_categories_"]),
    encoder({"handle_unknown": "infrequent_if_exist", "max_categories": 2, "drop": "first"}, "counts", ["infrequent_categories_", "drop_idx_"]),
    encoder({"categories": [[0, 1, 2, 3]] * 3, "drop": [1, 2, 3]}, "ties", ["drop_idx_"]),
    encoder({"max_categories": 1}, "ties", ["infrequent_categories_"]),
    encoder({}, "with_missing"),
    Case("OneHotEncoder", {}, "counts", {"transform": EXACT}, error="has the unknown category"),
    Case("OneHotEncoder", {"categories": [[0, 1, 2]] * 3}, "ties", error="which the given categories lack"),
    Case("OneHotEncoder", {"drop": [9, 9, 9]}, "ties", error="drop names the category"),
    Case("OneHotEncoder", {"categories": [[1, 0, 2, 3]] * 3}, "ties", error="must be ascending"),
]
ORDINAL = {"categories_": EXACT, "transform": EXACT}
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
CASES += [Case("OrdinalEncoder", params, data, ORDINAL, f32=1e-6) for data in ("ties", "counts", "with_missing") for params in (
    UNKNOWN, {**UNKNOWN, "max_categories": 3}, {**UNKNOWN, "min_frequency": 15}, {**UNKNOWN, "unknown_value": "NaN"},
    {**UNKNOWN, "encoded_missing_value": -2})]
CASES += [Case("OrdinalEncoder", {}, "ties", ORDINAL, f32=1e-6),
          Case("OrdinalEncoder", {}, "counts", {"transform": EXACT}, error="has the unknown category"),
          Case("OrdinalEncoder", {"handle_unknown": "use_encoded_value", "unknown_value": 1}, "ties", error="is the code of a category")]

CASES += [Case("SimpleImputer", {"strategy": strategy, **more}, "with_missing", {"statistics_": MEANS, "transform": MEANS}, f32=1e-6)
          for strategy in ("mean", "median", "most_frequent", "constant") for more in ({}, {"add_indicator": True})]
CASES += [
    Case("SimpleImputer", {"missing_values": 0, "strategy": strategy}, "counts", {"statistics_": MEANS, "transform": MEANS}, f32=1e-6)
    for strategy in ("mean", "median", "most_frequent")]
NEAREST = {"transform": 1e-9}
CASES += [Case("KNNImputer", params, "with_missing", NEAREST, f32=1e-4)
          for params in ({}, {"n_neighbors": 2, "weights": "distance"}, {"n_neighbors": 80}, {"add_indicator": True, "n_neighbors": 3}, {"weights": "distance", "n_neighbors": 1})]
CASES += [Case("KNNImputer", {"missing_values": 0, "n_neighbors": 500}, "counts", NEAREST, f32=1e-4), Case("KNNImputer", {"n_neighbors": 0}, "with_missing", error="n_neighbors")]

CASES += [
    Case("SimpleImputer", {"missing_values": 2, "fill_value": -7, "strategy": "constant", "add_indicator": True}, "ties",
         {"statistics_": EXACT, "transform": EXACT}, f32=1e-6),
    Case("SimpleImputer", {}, "offset_1e6", {"statistics_": MEANS, "transform": MEANS}, f32=1e-6),
    Case("MissingIndicator", {}, "with_missing", {"features_": Exact(), "transform": EXACT}, f32=1e-6),
    Case("MissingIndicator", {"missing_values": 0, "features": "all"}, "counts", {"features_": Exact(), "transform": EXACT}, f32=1e-6),
]

SCALED = part("scaled", step("StandardScaler"), [0, 2])
RANGED = part("ranged", step("MinMaxScaler"), [-1, 1])
PREPARED = part("prepared", [step("SimpleImputer", strategy="median", add_indicator=True), step("StandardScaler")], [3, 0, 1])
CODED = part("coded", step("OneHotEncoder", handle_unknown="ignore"), [1, 0])
TRANSFORMED = {"transform": 1e-12, "n_features_in_": Exact()}
CASES += [Case("ColumnTransformer", params, data, TRANSFORMED, f32=1e-5) for params, data in (
    ({"transformers": [SCALED, RANGED]}, "wine"),
    ({"transformers": [SCALED, RANGED], "remainder": "passthrough"}, "wine"),
    ({"transformers": [SCALED, part("out", "drop", [1]), part("same", "passthrough", [4, 3])], "remainder": step("MinMaxScaler")}, "wine"),
    ({"transformers": [SCALED, RANGED], "transformer_weights": {"scaled": 0.5, "ranged": -2}}, "iris"),
    ({"transformers": [CODED], "remainder": "passthrough"}, "ties"),
    ({"transformers": [part("inner", step("ColumnTransformer", transformers=[CODED], remainder="passthrough"), [2, 1])]}, "ties"),
    ({"transformers": [PREPARED], "remainder": step("SimpleImputer")}, "with_missing"),
    ({"transformers": [part("chosen", step("StandardScaler"), [True, False, False, True])]}, "iris"),
    ({"transformers": [part("none", step("StandardScaler"), []), part("same", "passthrough", [0])]}, "iris"))]
CASES += [Case("ColumnTransformer", {"transformers": [SCALED, RANGED]}, "badly_scaled", TRANSFORMED, f32=None, before=[("StandardScaler", {})]),
          Case("ColumnTransformer", {"transformers": [part("x", step("StandardScaler"), [7])]}, "iris", error="column 7 does not exist"),
          Case("ColumnTransformer", {"transformers": [part("x", step("StandardScaler"), ["age"])]}, "iris", error="no feature column 'age'")]
CASES += [Case("FeatureUnion", params, data, TRANSFORMED, f32=1e-5) for params, data in (
    ({"transformer_list": [part("a", step("StandardScaler")), part("b", step("MinMaxScaler"))]}, "wine"),
    ({"transformer_list": [part("a", [step("SimpleImputer"), step("StandardScaler")]), part("b", step("MissingIndicator"))]}, "with_missing"),
    ({"transformer_list": [part("a", step("SimpleImputer")), part("b", step("MissingIndicator"))]}, "wine"),   # nothing is missing: no column
    ({"transformer_list": [part("a", step("StandardScaler")), part("b", "passthrough"), part("c", "drop")],
      "transformer_weights": {"a": 3, "b": 0.25}}, "iris"))]
