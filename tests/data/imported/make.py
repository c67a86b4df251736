#!/usr/bin/env python3
"""Trains the models in this folder with XGBoost 3.2 and LightGBM 4.7, and writes what both say of some rows.

needs: pip install xgboost-cpu==3.2.0 lightgbm==4.7.0 scikit-learn pandas
run:   python tests/data/imported/make.py            writes the files beside it
       python tests/data/imported/make.py FOLDER     larger ones, for a comparison
       (tests/bench/serving/imported.py asks a server about larger ones, and measures)"""
import itertools
import json
import pathlib
import sys
import tempfile

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = {"xgb_categories", "lgb_categories"}   # of the fuzzer


class Case:
    """A trained model: its files by suffix, rows, and answers by output; a missing cell is NaN, a category its name."""

    def __init__(self, name, files, rows, answers):
        self.name, self.files, self.rows, self.answers = name, files, rows, answers


def table(n, seed, categories=False, missing=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 5)).astype(np.float32), columns=list("abcde"))
    frame["e"] = rng.integers(-2, 3, n).astype(np.float32)
    if missing:
        for column, step in (("a", 7), ("c", 5), ("e", 11)):
            frame.loc[::step, column] = np.nan
    if categories:
        frame["k"] = pd.Categorical(rng.choice(["red", "green", "blue", "grey", "pink", "black", "white"], n))
        frame["k"] = frame["k"].where(rng.random(n) > .1)
    return frame


def signal(frame):
    clean = frame.drop(columns="k", errors="ignore").fillna(.4).to_numpy(float)
    bonus = frame["k"].isin(["red", "grey", "white"]).to_numpy(float) if "k" in frame else 0
    return clean[:, 0] * clean[:, 1] + np.sin(2 * clean[:, 2]) + .5 * clean[:, 4] + bonus


def xgb_case(name, model, frame, y, asked, suffixes=("ubj",), **fit):
    model.fit(frame, y, **fit)
    booster, files = model.get_booster(), {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in suffixes:
            path = pathlib.Path(folder) / f"model.{suffix}"
            booster.save_model(path)
            files[suffix] = path.read_bytes()
    answers = {"predict": model.predict(asked)}
    if isinstance(model, xgb.XGBClassifier):
        if model.objective not in ("binary:hinge", "binary:logitraw"):
            answers["predict_proba"] = model.predict_proba(asked)
        if model.objective == "binary:logitraw":
            answers["predict"] = (answers["predict"] > 0).astype(int) if answers["predict"].dtype.kind == "f" else None
    if isinstance(model, xgb.XGBClassifier) or model.objective in ("count:poisson", "reg:gamma", "reg:tweedie", "reg:logistic"):
        answers["decision_function"] = model.predict(asked, output_margin=True)
    if model.booster == "dart":   # inplace_predict(), which the scikit-learn interface calls, rounds once more for each tree
        answers = dart_answers(booster, asked)
    return Case(name, files, asked, {k: v for k, v in answers.items() if v is not None})


def dart_answers(booster, asked):
    rows = xgb.DMatrix(asked)
    shares = booster.predict(rows)
    return {"predict": shares.argmax(axis=1), "predict_proba": shares, "decision_function": booster.predict(rows, output_margin=True)}


def xgb_cases(n, n_asked, trees, depth):
    X, Q = table(n, 1), table(n_asked, 2)
    K, KQ = table(n, 3, categories=True), table(n_asked, 4, categories=True)
    s, sk = signal(X), signal(K)
    three, few = np.digitize(s, [-.5, .7]), {"n_estimators": trees, "max_depth": depth, "learning_rate": .3}
    both = ("json", "ubj")
    yield xgb_case("xgb_binary", xgb.XGBClassifier(**few), X, s > .2, Q, both)
    yield xgb_case("xgb_multiclass", xgb.XGBClassifier(**few), X, three, Q)
    yield xgb_case("xgb_regression", xgb.XGBRegressor(**few), X, s, Q)
    yield xgb_case("xgb_poisson", xgb.XGBRegressor(**few, objective="count:poisson"), X, np.floor(np.exp(s / 2)), Q)
    yield xgb_case("xgb_gamma", xgb.XGBRegressor(**few, objective="reg:gamma"), X, np.exp(s / 2), Q)
    yield xgb_case("xgb_tweedie", xgb.XGBRegressor(**few, objective="reg:tweedie"), X, np.floor(np.exp(s / 2)), Q)
    yield xgb_case("xgb_logistic", xgb.XGBRegressor(**few, objective="reg:logistic"), X, 1 / (1 + np.exp(-s)), Q)
    yield xgb_case("xgb_hinge", xgb.XGBClassifier(**few, objective="binary:hinge"), X, s > .2, Q)
    yield xgb_case("xgb_two_targets", xgb.XGBRegressor(**few), X, np.c_[s, -2 * s], Q)
    yield xgb_case("xgb_dart", xgb.XGBClassifier(**few, booster="dart", rate_drop=.5, random_state=1), X, three, Q, both)
    yield xgb_case("xgb_forest", xgb.XGBRFRegressor(n_estimators=2 * trees, max_depth=depth), X, s, Q)
    yield xgb_case("xgb_boosted_forest", xgb.XGBClassifier(**few, num_parallel_tree=2, subsample=.7), X, three, Q)
    yield xgb_case("xgb_categories", xgb.XGBClassifier(**few, enable_categorical=True, max_cat_to_onehot=1), K, sk > .5, KQ, both)
    yield xgb_case("xgb_onehot", xgb.XGBRegressor(**few, enable_categorical=True, max_cat_to_onehot=20), K, sk, KQ)
    y = s + np.random.default_rng(9).normal(size=n)
    early = xgb.XGBRegressor(**{**few, "n_estimators": 60, "learning_rate": .6}, early_stopping_rounds=8)
    yield xgb_case("xgb_best_iteration", early, X[:n // 2], y[:n // 2], Q, eval_set=[(X[n // 2:], y[n // 2:])], verbose=False)
    ranker = xgb.XGBRanker(**few)
    yield xgb_case("xgb_rank", ranker, X, np.digitize(s, [-1, 0, 1]), Q, qid=np.arange(n) // 20)


def lgb_case(name, model, frame, y, asked, **fit):
    model.fit(frame, y, **fit)
    answers = {"predict": model.predict(asked)}
    is_classifier = isinstance(model, lgb.LGBMClassifier)
    if is_classifier:
        answers["predict_proba"] = model.predict_proba(asked)
        if model.objective_ == "multiclassova":
            answers["predict"] = answers["predict_proba"].argmax(axis=1)
    if model.boosting_type != "rf" and (is_classifier or model.objective_ in ("poisson", "gamma", "tweedie", "cross_entropy")):
        answers["decision_function"] = model.predict(asked, raw_score=True)
    return Case(name, {"txt": model.booster_.model_to_string().encode()}, asked, answers)


def lgb_cases(n, n_asked, trees, leaves):
    X, Q = table(n, 1), table(n_asked, 2)
    W, WQ = table(n, 5, missing=False), table(n_asked, 6, missing=False)
    K, KQ = table(n, 3, categories=True), table(n_asked, 4, categories=True)
    s, sk, three = signal(X), signal(K), np.digitize(signal(X), [-.5, .7])
    few = {"n_estimators": trees, "num_leaves": leaves, "min_child_samples": 5, "verbosity": -1}
    yield lgb_case("lgb_binary", lgb.LGBMClassifier(**few), X, s > .2, Q)
    yield lgb_case("lgb_sigmoid", lgb.LGBMClassifier(**few, sigmoid=.7), X, s > .2, Q)
    yield lgb_case("lgb_multiclass", lgb.LGBMClassifier(**few), X, three, Q)
    yield lgb_case("lgb_one_against_all", lgb.LGBMClassifier(**few, objective="multiclassova"), X, three, Q)
    yield lgb_case("lgb_regression", lgb.LGBMRegressor(**few), X, s, Q)
    yield lgb_case("lgb_no_missing", lgb.LGBMRegressor(**few), W, signal(W), Q)   # NaN where training had none
    yield lgb_case("lgb_zero_missing", lgb.LGBMRegressor(**few, zero_as_missing=True), X, s, Q)
    yield lgb_case("lgb_sqrt", lgb.LGBMRegressor(**few, reg_sqrt=True), W, signal(W), WQ)
    yield lgb_case("lgb_poisson", lgb.LGBMRegressor(**few, objective="poisson"), X, np.floor(np.exp(s / 2)), Q)
    yield lgb_case("lgb_cross_entropy", lgb.LGBMRegressor(**few, objective="cross_entropy"), X, 1 / (1 + np.exp(-s)), Q)
    yield lgb_case("lgb_categories", lgb.LGBMClassifier(**few, min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1), K, sk > .5, KQ)
    yield lgb_case("lgb_dart", lgb.LGBMRegressor(**few, boosting_type="dart"), X, s, Q)
    bagged = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": .6}
    yield lgb_case("lgb_forest", lgb.LGBMRegressor(**few, **bagged), X, s, Q)
    yield lgb_case("lgb_forest_binary", lgb.LGBMClassifier(**few, **bagged), X, s > .2, Q)
    yield lgb_case("lgb_constant", lgb.LGBMRegressor(**few), X[:8], np.ones(8), Q)   # trees of one leaf
    yield lgb_case("lgb_rank", lgb.LGBMRanker(**few), X, np.digitize(s, [-1, 0, 1]), Q, group=[20] * (n // 20))


def cell(value):
    return None if pd.isna(value) else value if isinstance(value, str) else float(value)


def main():
    is_larger = len(sys.argv) > 1
    folder, seeds = pathlib.Path(sys.argv[1]) if is_larger else HERE, HERE.parents[1] / "fuzz" / "seeds" / "imported"
    n, n_asked, trees, depth, leaves = (1500, 200, 40, 6, 31) if is_larger else (400, 40, 4, 3, 6)
    folder.mkdir(exist_ok=True), seeds.mkdir(exist_ok=True)
    for case in itertools.chain(xgb_cases(n, n_asked, trees, depth), lgb_cases(n, n_asked, trees, leaves)):
        for suffix, content in case.files.items():
            (folder / f"{case.name}.{suffix}").write_bytes(content)
            if case.name in SEEDS and not is_larger:
                (seeds / f"{case.name}.{suffix}").write_bytes(content)
        rows = [[cell(value) for value in row] for row in case.rows.itertuples(index=False)]
        answers = {output: np.asarray(values, float).tolist() for output, values in case.answers.items()}
        said = json.dumps({"columns": list(case.rows.columns), "rows": rows, **answers})
        (folder / f"{case.name}.answers.json").write_text(said + "\n")


if __name__ == "__main__":
    main()
