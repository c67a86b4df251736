"""kedge.export(): fitted objects of scikit-learn, stored on a server, answer as they do here."""
import io
import importlib.util
import json
import tempfile
import unittest
import zipfile

from sklearn_case import ITERATIVE, RELEASE, WithExports, kedge, np, quietly
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

from kedge.sklearn._states import LINES, WRITERS, _row_limit

BITS = ("Tree", "Forest", "HistGradientBoostingRegressor")   # no sum of theirs is in another order
TIES = ("KNeighborsClassifier",)
OWN = ("OneHotEncoder", "OrdinalEncoder")   # have a table of their own below
SMALL = {"n_estimators": 5, "max_iter": 100}


class Export(WithExports):
    def test_each_answers_as_it_does_here(self):
        there = dict(all_estimators())
        for name in sorted({*WRITERS, *LINES} - set(OWN)):
            known = there[name]().get_params()
            model = there[name](**{key: value for key, value in SMALL.items() if key in known and isinstance(known[key], int)})
            tables = (load_iris, load_breast_cancer) if is_classifier(model) else (load_diabetes,)
            for load in tables:
                with self.subTest(name, table=load.__name__):
                    X, y = load(return_X_y=True)
                    if name in TIES:   # of equal distances others may be taken
                        X = X + np.random.default_rng(0).normal(size=X.shape) * 1e-3
                    quietly(model.fit, X, y)
                    self.check(model, X, 0.0 if any(part in name for part in BITS) else ITERATIVE)

    def test_rows_beside_a_threshold_go_the_same_way(self):
        X = np.array([[0.1], [0.30000001], [0.5], [0.7]])
        for model in (DecisionTreeRegressor(), RandomForestRegressor(20, random_state=0), HistGradientBoostingClassifier(max_iter=3)):
            y = np.arange(4) % 2 if is_classifier(model) else np.arange(4.0)
            model.fit(np.tile(X, (20, 1)), np.tile(y, 20))
            trees = [one.tree_ for one in getattr(model, "estimators_", [model]) if hasattr(one, "tree_")]
            threshold = np.unique(np.concatenate([tree.threshold[tree.feature >= 0] for tree in trees])) if trees else np.unique(model._predictors[0][0].nodes["num_threshold"])
            near = [threshold]
            for steps in (1, 2, 5, 1 << 27, 1 << 28, 1 << 29, 3 << 28):   # of doubles; 2^29 of them are one of float32
                move = np.spacing(threshold) * steps
                near += [threshold - move, threshold + move]
            self.check(model, np.concatenate(near)[:, None], 1e-15)

    def test_row_limit_is_the_last_double_that_float32_takes_down(self):
        r = np.random.default_rng(1)
        thresholds = np.concatenate([r.normal(size=2000), r.normal(size=2000).astype(np.float32), 10.0 ** r.uniform(-40, 38, 500), [0.0, 1.0, -1.0, 3e38]])
        limit = _row_limit(thresholds)
        self.assertTrue((limit.astype(np.float32) <= thresholds).all())
        self.assertTrue((np.nextafter(limit, np.inf).astype(np.float32) > thresholds).all())

    def table(self):
        import pandas as pd
        r = np.random.default_rng(0)
        X = pd.DataFrame({"a": r.normal(size=200), "c": r.choice(["red", "blue", "green"], 200), "b": r.integers(0, 9, 200).astype(float),
                          "d": r.choice(["u", "v"], 200), "e": r.integers(0, 4, 200)})
        X.loc[::17, "b"] = np.nan
        return X, np.where(X.a + (X.c == "red") > 0.3, "yes", "no")

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_tables_of_numbers_and_texts(self):
        X, y = self.table()
        numbers, texts = ["a", "b"], ["c", "d"]
        scaled = make_pipeline(SimpleImputer(), StandardScaler())
        encoded = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        models = [make_pipeline(ColumnTransformer([("n", scaled, numbers), ("t", encoded, texts)], remainder="passthrough"), LogisticRegression()),
                  make_pipeline(ColumnTransformer([("t", OneHotEncoder(drop="first"), ["c", "d", "e"]), ("p", "passthrough", ["a"]), ("x", "drop", ["b"])]),
                                RandomForestClassifier(10, random_state=0)),
                  make_pipeline(ColumnTransformer([("t", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), texts)], remainder="passthrough"),
                                HistGradientBoostingClassifier(max_iter=5)),
                  GridSearchCV(make_pipeline(ColumnTransformer([("t", OneHotEncoder(), texts)]), LogisticRegression()), {"logisticregression__C": [1, 10]})]
        for model in models:
            with self.subTest(str(model)):
                self.check(quietly(model.fit, X, y), X)
        other = X.head(2).copy()
        other.loc[0, "c"] = "purple"
        for model in (models[0], models[2]):
            np.testing.assert_allclose(self.stored(model).predict(other, output="predict_proba"), model.predict_proba(other), rtol=ITERATIVE)
        info = self.stored(models[0]).info()
        self.assertEqual([one["name"] for one in info["columns"]], list(X.columns))
        self.assertEqual(info["columns"][1]["categories"], ["blue", "green", "red"])

    def test_names_of_columns_and_classes(self):
        model = quietly(make_pipeline(StandardScaler(), LogisticRegression()).fit, self.X, self.y)
        info = self.stored(model).info()
        self.assertEqual([one["name"] for one in info["columns"]], ["x0", "x1", "x2", "x3"])
        self.assertEqual(info["classes"], ["0", "1", "2"])
        self.assertEqual([step["estimator"] for step in info["pipeline"]], ["StandardScaler", "LogisticRegression"])

    def test_contributions_of_an_exported_forest(self):
        forest = RandomForestRegressor(5, random_state=0).fit(self.X, self.y.astype(float))
        found = self.stored(forest).contributions(self.X)
        np.testing.assert_allclose(found.values.sum(axis=1) + found.expected, forest.predict(self.X), rtol=ITERATIVE, atol=ITERATIVE)
        pairs = self.stored(forest).interactions(self.X)
        np.testing.assert_allclose(pairs.values.sum(axis=2), found.values, rtol=ITERATIVE, atol=ITERATIVE)

    def test_what_would_answer_otherwise_is_refused_with_the_reason(self):
        class Mine(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.unique(y)
                return self

        X, y = self.X, self.y
        both = np.stack([y, y % 2], axis=1)
        self.refused("is not scikit-learn's own", Mine().fit(X, y))
        self.refused("PolynomialFeatures is not taken", make_pipeline(PolynomialFeatures(), LinearRegression()).fit(X, y))
        self.refused("ClassifierChain is not taken", ClassifierChain(DecisionTreeClassifier()).fit(X, both))
        self.refused("wrap it in MultiOutputRegressor or MultiOutputClassifier", KNeighborsClassifier().fit(X, both))
        self.refused("several targets", LinearRegression().fit(X, both))
        self.refused("does not say how many columns", SVC(kernel=lambda a, b: a @ b.T).fit(X, y))
        self.refused("weights or metric is a function", KNeighborsClassifier(weights=lambda d: d).fit(X, y))
        self.refused("init is an estimator", GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier()).fit(X, y))
        self.refused("min_frequency", make_pipeline(OneHotEncoder(min_frequency=10), LogisticRegression(max_iter=1000)).fit(X.round(), y))
        self.refused("the pipeline has no step", make_pipeline("passthrough").fit(X, y))
        with self.assertRaises(NotFittedError):
            kedge.export(make_pipeline(StandardScaler(), LogisticRegression()))
        with self.assertRaises(NotFittedError):
            kedge.export(RandomForestClassifier())

    @unittest.skipUnless(importlib.util.find_spec("skops"), "skops is not installed")
    def test_files_of_skops(self):
        from skops.io import dump
        with tempfile.NamedTemporaryFile(suffix=".skops") as file:
            for model in (RandomForestClassifier(5, random_state=0), HistGradientBoostingClassifier(max_iter=3), LogisticRegression(max_iter=1000)):
                dump(model.fit(self.X, self.y), file.name)
                np.testing.assert_allclose(self.stored(file.name).predict(self.X, output="predict_proba"), model.predict_proba(self.X), rtol=ITERATIVE)
            dump(SVC(kernel=np.dot), file.name)   # a function that is not scikit-learn's
            self.refused("which skops does not trust", file.name)

    def test_equal_models_are_equal_files_without_code(self):
        model = RandomForestClassifier(5, random_state=0).fit(self.X, self.y)
        self.assertEqual(kedge.export(model), kedge.export(model))
        with zipfile.ZipFile(io.BytesIO(kedge.export(model))) as file:
            names = file.namelist()
            for name in names[1:]:
                np.load(io.BytesIO(file.read(name)), allow_pickle=False)
        self.assertEqual(names[0], "model.json")

    def test_a_changed_file_is_refused_by_the_server(self):
        content = kedge.export(RandomForestClassifier(2, random_state=0).fit(self.X, self.y))
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {one: file.read(one) for one in file.namelist()}
        description = json.loads(members["model.json"])
        description["info"]["columns"].pop()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            for name, one in {**members, "model.json": json.dumps(description)}.items():
                file.writestr(name, one)
        with self.assertRaises(kedge.KedgeError) as caught:
            self.session.upload_model(out.getvalue())
        self.assertEqual(caught.exception.code, "MODEL_CORRUPT")


if __name__ == "__main__":
    assert RELEASE >= (1, 4)
    unittest.main()
