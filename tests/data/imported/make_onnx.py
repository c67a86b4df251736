#!/usr/bin/env python3
"""Writes the graphs of ONNX in this folder, by skl2onnx, onnxmltools, CatBoost and onnx.helper, and what onnxruntime says of some rows;
and CatBoost's own JSON, with what CatBoost says.

needs: pip install onnx==1.23.2 onnxruntime==1.32.0 skl2onnx==1.20.0 onnxmltools==1.16.0 scikit-learn==1.9.1 xgboost-cpu==3.2.0 lightgbm==4.7.0 catboost==1.2.10 pandas
run:   python tests/data/imported/make_onnx.py            writes the files beside it
       python tests/data/imported/make_onnx.py FOLDER     larger ones, with other seeds, for a comparison"""
import json
import pathlib
import sys
import tempfile
import warnings

import catboost
import lightgbm
import numpy as np
import onnx
import onnxmltools
import onnxruntime
import pandas as pd
import xgboost
from onnx import TensorProto, helper
from onnxmltools.convert.common.data_types import FloatTensorType as OtherFloats
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (ExtraTreesClassifier, GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = {"onnx_pipeline", "onnx_modes", "onnx_forest", "catboost_names"}   # of the fuzzer
ROLES = {"label": "predict", "output_label": "predict", "probabilities": "predict_proba", "output_probability": "predict_proba",
         "variable": "predict", "predictions": "predict", "transformed": "transform"}


def tables(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    frame["count"] = rng.integers(0, 4, n)
    return X, frame


def with_holes(X):
    X = X.copy()
    X[::7, 0] = np.nan
    X[::5, 2] = np.nan
    return X


FRAME_TYPES = [(c, FloatTensorType([None, 1])) for c in "abcd"] + [("colour", StringTensorType([None, 1])), ("count", Int64TensorType([None, 1]))]


def sklearn_cases(n, trees, seed):
    X, frame = tables(n, seed)
    two, three, value = (X[:, 0] + X[:, 1] > 0).astype(int), np.digitize(X[:, 0] + X[:, 2] / 2, [-.5, .5]), X[:, 0] * 2 + np.sin(X[:, 1])
    names = np.array(["low", "middle", "high"])[three]
    few = {"n_estimators": trees, "max_depth": 4, "random_state": 0}
    simple = {
        "forest": (RandomForestClassifier(**few), three), "forest_two": (RandomForestClassifier(**few), two),
        "forest_names": (ExtraTreesClassifier(**few), names), "forest_values": (RandomForestRegressor(**few), value),
        "forest_targets": (RandomForestRegressor(**few), np.c_[value, -value]), "tree": (DecisionTreeClassifier(max_depth=4), two),
        "boosting": (GradientBoostingRegressor(**few), value), "boosting_two": (GradientBoostingClassifier(**few), two),
        "boosting_three": (GradientBoostingClassifier(**few), three), "logistic": (LogisticRegression(), three),
        "logistic_two": (LogisticRegression(), two), "linear": (LinearRegression(), value), "ridge_targets": (Ridge(), np.c_[value, value**2]),
        "poisson": (PoissonRegressor(), np.abs(value)), "svc": (LinearSVC(), three),
        "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), three),
        "scaled_forest": (make_pipeline(MinMaxScaler(), RandomForestRegressor(**few)), value),
        "chain": (make_pipeline(SimpleImputer(), RobustScaler(), MaxAbsScaler(), Normalizer(), LogisticRegression()), two),
        "imputed": (make_pipeline(SimpleImputer(strategy="median"), GradientBoostingClassifier(**few)), three),
        "picked": (make_pipeline(make_column_transformer((StandardScaler(), [0, 2]), remainder="passthrough"), GradientBoostingClassifier(**few)), two),
    }
    for name, (model, y) in simple.items():
        holes = name in ("chain", "imputed")
        model.fit(with_holes(X) if holes else X, y)
        options = {"zipmap": False} if hasattr(model, "predict_proba") and name != "forest" else None
        yield name, to_onnx(model, X[:1], options=options), {"X": with_holes(X) if holes else X}
    yield "normalized", to_onnx(Normalizer("max").fit(X), X[:1]), {"X": X}
    steps = [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), list("abcd")),
             ("colour", OneHotEncoder(handle_unknown="ignore"), ["colour"]), ("count", OneHotEncoder(handle_unknown="ignore"), ["count"])]
    for name, last in {"pipeline": LogisticRegression(), "pipeline_forest": RandomForestClassifier(**few)}.items():
        model = make_pipeline(ColumnTransformer(steps), last).fit(frame, two)
        yield name, convert_sklearn(model, "model", FRAME_TYPES, options={"zipmap": False}), frame
    ordinal = make_pipeline(make_column_transformer((OrdinalEncoder(), ["colour"]), remainder="passthrough"), GradientBoostingClassifier(**few))
    yield "ordinal", convert_sklearn(ordinal.fit(frame, two), "model", FRAME_TYPES), frame
    yield from trainers(X, two, three, value, few)


def trainers(X, two, three, value, few):
    X = with_holes(X)
    kind = [("input", OtherFloats([None, X.shape[1]]))]
    for name, y in {"two": two, "three": three}.items():
        yield f"xgboost_{name}", onnxmltools.convert_xgboost(xgboost.XGBClassifier(**few).fit(X, y), initial_types=kind), {"input": X}
        yield f"lightgbm_{name}", onnxmltools.convert_lightgbm(lightgbm.LGBMClassifier(**few, verbosity=-1).fit(X, y), initial_types=kind), {"input": X}
    yield "xgboost_values", onnxmltools.convert_xgboost(xgboost.XGBRegressor(**few).fit(X, value), initial_types=kind), {"input": X}
    poisson = xgboost.XGBRegressor(**few, objective="count:poisson").fit(X, np.abs(value))
    yield "xgboost_poisson", onnxmltools.convert_xgboost(poisson, initial_types=kind), {"input": X}
    yield "lightgbm_values", onnxmltools.convert_lightgbm(lightgbm.LGBMRegressor(**few, verbosity=-1).fit(X, value), initial_types=kind), {"input": X}
    for name, model, y in (("two", catboost.CatBoostClassifier, two), ("three", catboost.CatBoostClassifier, three), ("values", catboost.CatBoostRegressor, value)):
        with tempfile.TemporaryDirectory() as folder:
            model(iterations=few["n_estimators"], depth=3, verbose=0, allow_writing_files=False).fit(X, y).save_model(f"{folder}/m.onnx", format="onnx")
            yield f"catboost_{name}", onnx.load(f"{folder}/m.onnx"), {"features": X}


def random_trees(rng, n_trees, n_cols, n_ids, modes, prefix, low=-1.0, several=False):
    """Attributes of an ensemble of full trees of depth 3 whose cuts are numbers that the rows have."""
    a = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids",
                         "nodes_falsenodeids", "nodes_missing_value_tracks_true")}
    leaves = {f"{prefix}_{k}": [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(n_trees):
        for node in range(15):
            is_leaf = node >= 7
            a["nodes_treeids"].append(tree), a["nodes_nodeids"].append(node)
            a["nodes_featureids"].append(0 if is_leaf else int(rng.integers(n_cols)))
            a["nodes_modes"].append("LEAF" if is_leaf else str(rng.choice(modes)))
            a["nodes_values"].append(0.0 if is_leaf else float(rng.integers(-2, 3)))
            a["nodes_truenodeids"].append(0 if is_leaf else 2 * node + 1), a["nodes_falsenodeids"].append(0 if is_leaf else 2 * node + 2)
            a["nodes_missing_value_tracks_true"].append(0 if is_leaf else int(rng.integers(2)))
            for k in (range(n_ids) if several else [tree % n_ids]) if is_leaf else ():
                for key, value in zip(leaves, (tree, node, k, float(np.float32(rng.uniform(low, 1))))):
                    leaves[key].append(value)
    return a | leaves


def graph(op, attributes, outputs, n_cols, kind=TensorProto.FLOAT):
    node = helper.make_node(op, ["X"], [name for name, _ in outputs], domain="ai.onnx.ml", **attributes)
    made = helper.make_graph([node], "g", [helper.make_tensor_value_info("X", kind, [None, n_cols])],
                             [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)], ir_version=8, producer_name="test")


ALL_MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
VALUE = [("variable", TensorProto.FLOAT)]
CLASSES = [("label", TensorProto.INT64), ("probabilities", TensorProto.FLOAT)]


def helper_cases(n, trees, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 3)).astype(np.float32)
    X[::4, 0] = np.nan
    rows = {"X": X}
    yield "modes", graph("TreeEnsembleRegressor", random_trees(rng, trees, 3, 1, ALL_MODES, "target") | {"n_targets": 1}, VALUE, 3), rows
    yield "below", graph("TreeEnsembleRegressor", random_trees(rng, trees, 3, 2, ["BRANCH_LT", "BRANCH_GTE"], "target") | {"n_targets": 2, "base_values": [1.5, -2]}, VALUE, 3), rows
    doubles = random_trees(rng, trees, 3, 1, ["BRANCH_LEQ", "BRANCH_LT"], "target")
    for name in ("nodes_values", "target_weights"):
        values = [v + 1e-12 for v in doubles.pop(name)]
        doubles[f"{name}_as_tensor"] = helper.make_tensor("t", TensorProto.DOUBLE, [len(values)], values)
    near = X.astype(float) + rng.choice([0, 1e-12, 2e-12], X.shape)
    yield "doubles", graph("TreeEnsembleRegressor", doubles | {"n_targets": 1}, VALUE, 3, TensorProto.DOUBLE), {"X": near}
    several = random_trees(rng, trees, 3, 3, ALL_MODES, "target", several=True)
    yield "averaged", graph("TreeEnsembleRegressor", several | {"n_targets": 3, "aggregate_function": "AVERAGE"}, VALUE, 3), rows
    for how in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        classes = random_trees(rng, trees, 3, 3, ["BRANCH_LEQ"], "class", several=True)
        more = {"classlabels_int64s": [5, 7, 9], "post_transform": how, "base_values": [.1, .2, -.3]}
        yield f"classes_{how.lower()}", graph("TreeEnsembleClassifier", classes | more, CLASSES, 3), rows
    for name, low in {"shares": 0.0, "margins": -1.0}.items():
        for how in ("NONE", "LOGISTIC"):
            one = random_trees(rng, 2, 3, 1, ["BRANCH_LEQ"], "class", low=low)
            yield f"{name}_{how.lower()}", graph("TreeEnsembleClassifier", one | {"classlabels_int64s": [0, 1], "post_transform": how}, CLASSES, 3), rows
    share = random_trees(rng, 1, 3, 1, ["BRANCH_LEQ"], "target", low=0.01)
    yield "probit", graph("TreeEnsembleRegressor", share | {"post_transform": "PROBIT", "n_targets": 1}, VALUE, 3), rows
    for how in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        linear = {"coefficients": rng.normal(size=9).tolist(), "intercepts": rng.normal(size=3).tolist(), "classlabels_ints": [1, 2, 3], "post_transform": how}
        yield f"linear_{how.lower()}", graph("LinearClassifier", linear, CLASSES, 3), {"X": np.nan_to_num(X)}


def answers(name, model, rows):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    if isinstance(rows, dict):
        (key, X), = rows.items()
        feed, columns = {key: X}, [f"{key}_{j}" for j in range(X.shape[1])]
        said = [[None if np.isnan(v) else float(v) for v in row] for row in X]
    else:
        kinds = {"colour": object, "count": np.int64}
        feed, columns = {c: rows[[c]].to_numpy().astype(kinds.get(c, np.float32)) for c in rows}, list(rows)
        said = [[v if isinstance(v, str) else float(v) for v in row] for row in rows.itertuples(index=False)]
    result = {"columns": columns, "rows": said}
    for output, values in zip(session.get_outputs(), session.run(None, feed)):
        role = ROLES[output.name] if name != "normalized" else "transform"
        if name in ("svc", "linear_none") and role == "predict_proba":
            role = "decision_function"
        if isinstance(values, list):   # of ZipMap
            values = [list(row.values()) for row in values]
        values = np.asarray(values)
        result[role] = values.tolist() if values.dtype.kind in "OU" else values.astype(float).tolist()
    return result


def catboost_cases(n, n_asked, trees, seed):
    X, _ = tables(n, seed)
    X = with_holes(X)
    two, three, value = (X[:, 1] > 0).astype(int), np.digitize(X[:, 1], [-.5, .5]), np.nan_to_num(X[:, 0]) + np.sin(X[:, 1])
    names = np.array(["low", "middle", "high"])[three]
    few = {"iterations": trees, "depth": 3, "verbose": 0, "allow_writing_files": False, "random_seed": 1}
    for name, model, y in (("two", catboost.CatBoostClassifier(**few), two), ("names", catboost.CatBoostClassifier(**few), names),
                           ("against_all", catboost.CatBoostClassifier(**few, loss_function="MultiClassOneVsAll"), three),
                           ("values", catboost.CatBoostRegressor(**few, nan_mode="Max"), value),
                           ("targets", catboost.CatBoostRegressor(**few, loss_function="MultiRMSE"), np.c_[value, -value]),
                           ("poisson", catboost.CatBoostRegressor(**few, loss_function="Poisson"), np.abs(value))):
        model.fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(f"{folder}/m.json", format="json")
            content = pathlib.Path(f"{folder}/m.json").read_text()
        Q = X[:n_asked]
        said = {"columns": [str(j) for j in range(X.shape[1])], "rows": [[None if np.isnan(v) else float(v) for v in row] for row in Q]}
        said["predict"] = model.predict(Q).reshape(len(Q), -1).squeeze(1).tolist() if name != "targets" else model.predict(Q).tolist()
        if hasattr(model, "predict_proba"):
            said["predict_proba"] = model.predict_proba(Q).tolist()
        yield f"catboost_{name}", content, said


def main():
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    n, n_asked, trees, seed = (400, 300, 20, 7) if len(sys.argv) > 1 else (200, 24, 4, 1)
    for source in (sklearn_cases, helper_cases):
        for name, model, rows in source(n, trees, seed):
            asked = rows.iloc[:n_asked] if isinstance(rows, pd.DataFrame) else {k: v[:n_asked] for k, v in rows.items()}
            (folder / f"onnx_{name}.onnx").write_bytes(model.SerializeToString())
            (folder / f"onnx_{name}.answers.json").write_text(json.dumps(answers(name, model, asked)) + "\n")
            if f"onnx_{name}" in SEEDS and folder == HERE:
                (HERE.parents[1] / "fuzz" / "seeds" / "imported" / f"onnx_{name}.onnx").write_bytes(model.SerializeToString())
    for name, content, said in catboost_cases(n, n_asked, trees, seed):
        (folder / f"{name}.json").write_text(content)
        (folder / f"{name}.answers.json").write_text(json.dumps(said) + "\n")
        if name in SEEDS and folder == HERE:
            (HERE.parents[1] / "fuzz" / "seeds" / "imported" / f"{name}.json").write_text(content)


if __name__ == "__main__":
    main()
