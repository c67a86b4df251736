"""kedge.export() of estimators that are made of others, of discriminants, and of boosted trees with categories: the server answers as the object does."""
import importlib.util
import unittest
import warnings

from sklearn_case import RELEASE, WithExports, np, quietly
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor, ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
                              HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor, StackingClassifier,
                              StackingRegressor, VotingClassifier, VotingRegressor)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

NEAR = 1e-12   # of sums in another order
SAMME = {"algorithm": "SAMME"} if RELEASE < (1, 6) else {}
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression())


def classifiers():
    parts = [("lines", linear()), ("trees", RandomForestClassifier(5, random_state=0)), ("bayes", GaussianNB())]
    yield from (VotingClassifier(parts), VotingClassifier(parts, voting="soft", weights=[3, 1, 0.5]), VotingClassifier([*parts, ("gone", "drop")], weights=[1, 2, 1, 9]))
    yield from (StackingClassifier(parts, cv=3), StackingClassifier(parts[:2], final_estimator=TREE, passthrough=True, cv=3),
                StackingClassifier([("margins", LinearSVC()), *parts[1:]], stack_method="predict", cv=3), StackingClassifier([("vectors", SVC())], cv=3))
    yield from (BaggingClassifier(TREE, 5, random_state=0), BaggingClassifier(linear(), 5, max_features=0.5, bootstrap_features=True, random_state=0),
                BaggingClassifier(n_estimators=3, max_features=2, random_state=0))
    yield from (AdaBoostClassifier(n_estimators=5, random_state=0, **SAMME), AdaBoostClassifier(TREE, n_estimators=5, random_state=0, **SAMME))
    yield from (CalibratedClassifierCV(linear(), cv=3), CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), method="isotonic", cv=3),
                CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=3))
    if RELEASE >= (1, 8):
        yield from (CalibratedClassifierCV(linear(), method="temperature", cv=3), CalibratedClassifierCV(LinearSVC(), method="temperature", ensemble=False, cv=3))
    if RELEASE >= (1, 9):   # older ones take the last of classes with equal scores, the server the first
        yield OneVsRestClassifier(TREE)
    yield from (OneVsRestClassifier(linear()), OneVsRestClassifier(LinearSVC()), OneVsOneClassifier(linear()), OneVsOneClassifier(TREE))
    yield from (LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis("lsqr", shrinkage="auto"), LinearDiscriminantAnalysis("eigen"),
                QuadraticDiscriminantAnalysis(reg_param=0.1), VotingClassifier([("inner", VotingClassifier(parts)), ("boosted", AdaBoostClassifier(n_estimators=3, **SAMME))]))


def regressors():
    parts = [("lines", make_pipeline(StandardScaler(), Ridge())), ("trees", RandomForestRegressor(5, random_state=0))]
    yield from (VotingRegressor(parts), VotingRegressor(parts, weights=[2, 1]), StackingRegressor(parts, cv=3), StackingRegressor(parts, Ridge(), passthrough=True, cv=3))
    yield from (BaggingRegressor(n_estimators=5, random_state=0), BaggingRegressor(LinearRegression(), 5, max_features=0.5, random_state=0))
    yield from (AdaBoostRegressor(n_estimators=5, random_state=0), AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=5, loss="square", random_state=0))


class ExportOfParts(WithExports):
    def test_classifiers_answer_as_they_do_here(self):
        iris, cancer = (load(return_X_y=True) for load in (load_iris, load_breast_cancer))
        names = np.array(["c", "a", "b"])[iris[1]]
        for model in classifiers():
            for X, y in ((iris[0], iris[1]), (iris[0], names), cancer):
                with self.subTest(str(model), classes=str(np.unique(y))):
                    self.check(quietly(model.fit, X, y), X, NEAR)

    def test_regressors_answer_as_they_do_here(self):
        X, y = load_diabetes(return_X_y=True)
        for model in regressors():
            with self.subTest(str(model)):
                self.check(quietly(model.fit, X, y), X, NEAR)

    def test_a_tree_of_trees_answers_bit_for_bit(self):
        X, y = load_diabetes(return_X_y=True)
        self.check(AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y), X, 0.0)

    def test_trees_and_forests_of_several_targets_answer_bit_for_bit(self):
        X, y = load_iris(return_X_y=True)
        labels = np.stack([np.array(["c", "a", "b"])[y], np.where(y == 1, "u", "v")], axis=1)   # the second has fewer classes
        for model in (DecisionTreeClassifier(max_depth=3, random_state=0), RandomForestClassifier(5, random_state=0),
                      make_pipeline(StandardScaler(), ExtraTreesClassifier(5, random_state=0))):
            with self.subTest(str(model)):
                stored = self.stored(model.fit(X, labels))
                self.assertEqual([(one["name"], one["classes"]) for one in stored.info()["targets"]], [("target0", ["a", "b", "c"]), ("target1", ["u", "v"])])
                self.assertEqual(np.asarray(stored.predict(X)).tolist(), model.predict(X).tolist())
                shares = np.asarray(stored.predict(X, output="predict_proba"))
                apart = 1e-15 if hasattr(model, "steps") else 0.0   # the scaled rows differ by their last bits
                np.testing.assert_allclose(shares, np.hstack(model.predict_proba(X)), rtol=0, atol=apart)
        values = np.stack([2 * X[:, 3], X[:, 0] - X[:, 1], y], axis=1)
        for model in (DecisionTreeRegressor(random_state=0), RandomForestRegressor(5, random_state=0),
                      ExtraTreesRegressor(5, random_state=0)):
            with self.subTest(str(model)):
                self.check(model.fit(X, values), X, 0.0)

    def test_copies_for_several_targets(self):
        X, y = load_iris(return_X_y=True)
        labels = np.stack([y, y % 2], axis=1)
        for inside in (TREE, linear(), VotingClassifier([("lines", linear()), ("trees", TREE)], voting="soft")):
            model = MultiOutputClassifier(inside).fit(X, labels)
            with self.subTest(str(model)):
                stored = self.stored(model)
                self.assertEqual(np.asarray(stored.predict(X)).tolist(), model.predict(X).tolist())
                np.testing.assert_allclose(np.asarray(stored.predict(X, output="predict_proba")), np.hstack(model.predict_proba(X)), rtol=0, atol=NEAR)
        for inside in (DecisionTreeRegressor(max_depth=3), make_pipeline(StandardScaler(), Ridge())):
            with self.subTest(str(inside)):
                self.check(MultiOutputRegressor(inside).fit(X, X[:, :2] * [[1.0, 2.0]] + y[:, None]), X, NEAR)

    def test_parts_that_lack_a_class(self):
        """Draws and folds without the rarest one."""
        random = np.random.default_rng(0)
        X = random.normal(size=(60, 3))
        y = np.array(["a", "b", "c"])[np.r_[0, np.ones(29, int), np.full(30, 2)]]
        for inside in (make_pipeline(StandardScaler(), TREE), linear(), make_pipeline(StandardScaler(), KNeighborsClassifier(3))):
            model = BaggingClassifier(inside, 8, random_state=0)
            with self.subTest(str(model)):
                quietly(model.fit, X, y)
                self.assertIn(2, {len(one.classes_) for one in model.estimators_})
                self.check(model, X, NEAR)

    def test_a_discriminant_as_a_step_before_the_last(self):
        X, y = load_iris(return_X_y=True)
        for solver in ("svd", "eigen"):
            self.check(make_pipeline(LinearDiscriminantAnalysis(solver=solver, n_components=1), LogisticRegression()).fit(X, y), X, NEAR)

    def boosted(self, X, y, columns):
        for model in (HistGradientBoostingClassifier(max_iter=8, categorical_features=columns, min_samples_leaf=3), HistGradientBoostingRegressor(
                max_iter=8, categorical_features=columns, min_samples_leaf=3)):
            yield model.fit(X, y if isinstance(model, HistGradientBoostingClassifier) else y.astype(float))

    def test_boosted_trees_with_columns_of_categories(self):
        random = np.random.default_rng(0)
        X = np.column_stack([random.normal(size=600), random.integers(0, 40, 600) * 3.0, random.normal(size=600), random.integers(5, 9, 600)])
        X[::11, 1], X[::13, 2] = np.nan, np.nan
        y = ((np.nan_to_num(X[:, 1]) % 7 > 3) ^ (X[:, 0] > 0.5)).astype(int) + (X[:, 3] == 6)
        other = X[:40].copy()
        other[::3, 1], other[1::3, 3] = 500, 77   # that no row had
        for model in self.boosted(X, y, [1, 3]):
            with self.subTest(str(model)):
                self.check(model, np.concatenate([X, other]), 1e-15 if hasattr(model, "classes_") else 0.0)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_columns_of_texts_inside(self):
        import pandas as pd
        random = np.random.default_rng(0)
        X = pd.DataFrame({"a": random.normal(size=300), "c": random.choice(["red", "blue", "green"], 300), "d": random.choice(["u", "v"], 300)})
        y = np.where(X.a + (X.c == "red") > 0.3, "yes", "no")
        encoded = make_pipeline(ColumnTransformer([("t", OneHotEncoder(handle_unknown="ignore"), ["c", "d"])], remainder="passthrough"), LogisticRegression())
        models = [VotingClassifier([("one", encoded), ("two", encoded)], voting="soft").fit(X, y), CalibratedClassifierCV(encoded, cv=3).fit(X, y)]
        if RELEASE >= (1, 6):   # whose encoder takes columns by their names
            models.append(HistGradientBoostingClassifier(max_iter=5, categorical_features=["c", "d"], min_samples_leaf=3).fit(X, y))
        other = X.head(5).copy()
        other.loc[0, "c"] = "purple"
        for model in models:
            with self.subTest(str(model)):
                self.check(model, X, NEAR)
                np.testing.assert_allclose(self.stored(model).predict(other, output="predict_proba"), model.predict_proba(other), rtol=NEAR)
                self.assertEqual(self.stored(model).info()["columns"][1]["categories"], ["blue", "green", "red"])

    def test_what_would_answer_otherwise_is_refused_with_the_reason(self):
        X, y = load_iris(return_X_y=True)
        both = np.stack([y > 0, y > 1], axis=1).astype(int)
        self.refused("several targets", OneVsRestClassifier(LogisticRegression()).fit(X, both))
        self.refused("LinearRegression is no classifier", OneVsRestClassifier(LinearRegression()).fit(X, y))
        self.refused("different parameters", BaggingClassifier(HistGradientBoostingClassifier(max_iter=30, early_stopping=True, tol=0.02), 4, random_state=0).fit(X, y))
        self.refused("init is an estimator", VotingClassifier([("a", GradientBoostingClassifier(n_estimators=2, init=TREE))]).fit(X, y))
        rare = np.r_[0, np.ones(29, int), np.full(30, 2)]
        inside = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=2, **SAMME))
        self.refused("did not see all classes", quietly(BaggingClassifier(inside, 8, random_state=0).fit, X[:60] + 0.0, rare))
        if RELEASE < (1, 6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.refused("SAMME.R", AdaBoostClassifier(n_estimators=3).fit(X, y))


if __name__ == "__main__":
    unittest.main()
