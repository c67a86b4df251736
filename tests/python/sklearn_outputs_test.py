"""y of several columns with a server: MultiOutputClassifier and MultiOutputRegressor are one job, whose estimators come back as scikit-learn's own."""
import pickle
import unittest
import warnings

from sklearn_case import ITERATIVE, RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from kedge.sklearn import _outputs  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.linear_model import Lasso, LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import hamming_loss, make_scorer  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate  # noqa: E402
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


class SeveralTargets(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.rows = random.normal(size=(120, 4))
        cls.labels = np.column_stack([np.where(cls.rows[:, 0] > 0, "u", "v"), np.array(["a", "b", "c"])[np.digitize(cls.rows[:, 1], [-0.5, 0.5])]])
        cls.indicator = (cls.labels == ["u", "a"]).astype(int)
        cls.values = np.column_stack([cls.rows @ [1, 2, 3, 4] + random.normal(size=120), cls.rows[:, 0] ** 2, np.exp(cls.rows[:, 1])])

    def as_one_job(self, name, *arguments, **named):
        before = self.n_jobs()
        found = quietly(self.call, name, *arguments, **named)
        self.assertEqual(self.n_jobs(), before + 1)
        return found

    def test_fitted_objects_are_those_of_fits_here(self):
        for model, y in ((MultiOutputClassifier(LogisticRegression()), self.labels), (MultiOutputClassifier(DecisionTreeClassifier(random_state=0)), self.labels),
                         (MultiOutputClassifier(SVC()), self.labels), (MultiOutputClassifier(GaussianNB()), self.indicator),
                         (MultiOutputClassifier(GradientBoostingClassifier(n_estimators=5, random_state=0)), self.labels),
                         (MultiOutputRegressor(Ridge()), self.values), (MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=5)), self.values)):
            with self.subTest(str(model)):
                mine, theirs = self.as_one_job("fit", clone(model), self.rows, y), clone(model).fit(self.rows, y)
                self.assertEqual(set(vars(mine)), set(vars(theirs)))
                for one, other in zip(mine.estimators_, theirs.estimators_, strict=True):
                    self.assertEqual(set(vars(one)), set(vars(other)))
                mine = pickle.loads(pickle.dumps(mine))
                if y is self.values:
                    np.testing.assert_allclose(mine.predict(self.rows), theirs.predict(self.rows), rtol=1e-6)
                    continue
                for one, other in zip(mine.classes_, theirs.classes_, strict=True):
                    np.testing.assert_array_equal(one, other)
                np.testing.assert_array_equal(mine.predict(self.rows), theirs.predict(self.rows))
                self.assertEqual(mine.score(self.rows, y), theirs.score(self.rows, y))

    def test_random_parts_are_those_of_a_fit_to_each_column(self):
        """One seed for all columns, as scikit-learn's copies have it."""
        for model, y in ((MultiOutputClassifier(RandomForestClassifier(5, random_state=3)), self.labels), (MultiOutputRegressor(RandomForestRegressor(5, random_state=3)), self.values),
                         (MultiOutputClassifier(AdaBoostClassifier(n_estimators=4, random_state=3)), self.labels)):
            with self.subTest(str(model)):
                mine = self.as_one_job("fit", clone(model), self.rows, y)
                for one, column in zip(mine.estimators_, y.T, strict=True):
                    alone = self.call("fit", clone(model.estimator), self.rows, column)
                    np.testing.assert_array_equal(one.predict(self.rows), alone.predict(self.rows))
                    np.testing.assert_array_equal(one.feature_importances_, alone.feature_importances_)

    def test_weights_and_sparse_rows(self):
        weights = np.random.default_rng(0).uniform(0.5, 2, 120)
        mine = self.as_one_job("fit", MultiOutputRegressor(Ridge()), self.rows, self.values, sample_weight=weights)
        theirs = MultiOutputRegressor(Ridge()).fit(self.rows, self.values, sample_weight=weights)
        np.testing.assert_allclose(mine.predict(self.rows), theirs.predict(self.rows), rtol=ITERATIVE)
        few = sparse.csr_matrix(np.where(np.abs(self.rows) > 0.5, self.rows, 0))
        mine = self.as_one_job("fit", MultiOutputRegressor(Lasso(alpha=0.01)), few, self.values)
        np.testing.assert_allclose(mine.predict(few), MultiOutputRegressor(Lasso(alpha=0.01)).fit(few, self.values).predict(few), atol=ITERATIVE)

    def test_frames_keep_their_names(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame(self.rows, columns=list("abcd"))
        mine = self.as_one_job("fit", MultiOutputRegressor(Ridge()), frame, pandas.DataFrame(self.values))
        self.assertEqual(list(mine.feature_names_in_), list("abcd"))
        self.assertEqual(list(mine.estimators_[2].feature_names_in_), list("abcd"))
        np.testing.assert_allclose(mine.predict(frame), MultiOutputRegressor(Ridge()).fit(frame, self.values).predict(frame), rtol=ITERATIVE)

    def test_an_end_before_convergence_is_said_in_scikit_learns_words(self):
        with self.assertWarnsRegex(ConvergenceWarning, "lbfgs failed to converge"):
            self.call("fit", MultiOutputClassifier(LogisticRegression(max_iter=1)), self.rows, self.labels)

    @unittest.skipIf(RELEASE < (1, 8), "n_jobs is deprecated since 1.8")
    def test_what_scikit_learn_says_of_parameters_inside_is_said(self):
        with self.assertWarnsRegex(FutureWarning, "'n_jobs' has no effect"):
            self.call("fit", MultiOutputClassifier(LogisticRegression(n_jobs=1)), self.rows, self.labels)

    def test_cross_validation(self):
        inside = MultiOutputRegressor(make_pipeline(StandardScaler(), Ridge()))
        for model, y, scoring in ((MultiOutputClassifier(LogisticRegression()), self.labels, None), (MultiOutputClassifier(GaussianNB()), self.indicator, "accuracy"),
                                  (make_pipeline(StandardScaler(), MultiOutputRegressor(Ridge())), self.values, ["r2", "neg_root_mean_squared_error"]),
                                  (inside, self.values, None)):
            with self.subTest(str(model)):
                mine = self.as_one_job("cross_validate", model, self.rows, y, cv=3, scoring=scoring)
                theirs = cross_validate(model, self.rows, y, cv=3, scoring=scoring)
                for name, scores in theirs.items():
                    if "test" in name:
                        np.testing.assert_allclose(mine[name], scores, rtol=ITERATIVE)

    def test_scores_of_labels(self):
        """Of zeros and ones, in one job, with scikit-learn's warnings."""
        shares = [f"{name}_{average}" for name in ("f1", "jaccard", "precision", "recall") for average in ("macro", "micro", "samples", "weighted")]
        scoring = ["accuracy", "average_precision", "roc_auc", "roc_auc_ovr", "roc_auc_ovo_weighted", "neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score", *shares]
        rare = np.column_stack([self.indicator, (self.rows[:, 2] > 1.6).astype(int)])
        for model, y in ((MultiOutputClassifier(LogisticRegression()), self.indicator), (make_pipeline(StandardScaler(), MultiOutputClassifier(GaussianNB())), rare)):
            with self.subTest(str(model)):
                mine = self.as_one_job("cross_validate", model, self.rows, y, cv=KFold(3), scoring=scoring)
                theirs = quietly(cross_validate, model, self.rows, y, cv=KFold(3), scoring=scoring)
                for name in scoring:
                    if name.endswith("_micro"):
                        np.testing.assert_array_equal(mine["test_" + name], theirs["test_" + name])
                    np.testing.assert_allclose(mine["test_" + name], theirs["test_" + name], rtol=ITERATIVE)

    def test_a_search_by_a_score_of_labels(self):
        for scoring in ("f1_samples", "roc_auc"):
            search = GridSearchCV(MultiOutputClassifier(LogisticRegression()), {"estimator__C": [0.01, 1, 100]}, cv=3, scoring=scoring)
            mine, theirs = self.as_one_job("fit", clone(search), self.rows, self.indicator), search.fit(self.rows, self.indicator)
            np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=ITERATIVE)
            self.assertEqual(mine.best_params_, theirs.best_params_)

    def test_shares_of_nothing_are_said_in_scikit_learns_words(self):
        rare = np.column_stack([self.indicator[:, 0], np.isin(np.arange(120), [0, 119])]).astype(int)   # the second label is never predicted, and one fold has none
        model = MultiOutputClassifier(LogisticRegression())
        for scoring in ("precision_macro", "f1_weighted", "recall_macro", "precision_samples", "roc_auc", "average_precision", "neg_log_loss", "d2_brier_score"):
            said = []
            for function, more in ((kedge.sklearn.cross_validate, {"session": self.session, "fallback": "raise"}), (cross_validate, {})):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    function(model, self.rows, rare, cv=KFold(3), scoring=scoring, **more)
                said.append({(w.category, str(w.message)) for w in caught if "one class" in str(w.message) or "ill-defined" in str(w.message) or "positive" in str(w.message) or "sum to one" in str(w.message)})
            self.assertEqual(*said)
            self.assertTrue(said[0], scoring)

    def test_scores_of_labels_that_the_server_does_not_have(self):
        constant = np.column_stack([self.indicator, np.zeros(120, int)])
        for reason, model, y, scoring in (("one of y is constant", MultiOutputClassifier(GaussianNB()), constant, "f1_macro"),
                                          ("no scorer 'f1' of several", MultiOutputClassifier(GaussianNB()), self.indicator, "f1"),
                                          ("no scorer 'f1_macro' of several", MultiOutputClassifier(GaussianNB()), self.labels, "f1_macro")):
            with self.subTest(reason), self.assertRaisesRegex(kedge.KedgeError, reason):
                quietly(self.call, "cross_validate", model, self.rows, y, cv=3, scoring=scoring)

    def test_a_search(self):
        search = GridSearchCV(MultiOutputRegressor(Ridge()), {"estimator__alpha": [0.1, 1, 10]}, cv=3)
        mine, theirs = self.as_one_job("fit", clone(search), self.rows, self.values), search.fit(self.rows, self.values)
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=ITERATIVE)
        np.testing.assert_allclose(mine.predict(self.rows), theirs.predict(self.rows), rtol=ITERATIVE)

    def test_fits_go_alone_where_scikit_learn_scores_or_predicts(self):
        model = MultiOutputClassifier(LogisticRegression())
        for name, more in (("cross_validate", {"scoring": "hamming_loss"}), ("cross_val_predict", {})):
            kedge.sklearn.patch(self.session, policy="always", fallback="raise")
            self.addCleanup(kedge.sklearn.unpatch)
            if "scoring" in more:
                more = {"scoring": make_scorer(hamming_loss, greater_is_better=False)}
            before, function = self.n_jobs(), {"cross_validate": cross_validate, "cross_val_predict": cross_val_predict}[name]
            mine = function(model, self.rows, self.indicator, cv=3, **more)
            self.assertEqual(self.n_jobs(), before + 3)
            kedge.sklearn.unpatch()
            theirs = function(model, self.rows, self.indicator, cv=3, **more)
            if name == "cross_val_predict":
                np.testing.assert_array_equal(mine, theirs)
            else:
                np.testing.assert_allclose(mine["test_score"], theirs["test_score"])

    def test_what_is_no_one_job_goes_part_by_part(self):
        weights = {"sample_weight": np.ones(120)}
        for reason, model, y, n_jobs, more in (
                ("its estimator is a Pipeline", MultiOutputRegressor(make_pipeline(StandardScaler(), Ridge())), self.values, 6, {}),
                ("y has one column", MultiOutputRegressor(Ridge()), self.values[:, :1], 1, {}),
                ("its fit keeps X", MultiOutputRegressor(KNeighborsRegressor()), self.values, 0, {}),
                ("LogisticRegression: class_weight names classes", MultiOutputClassifier(LogisticRegression(class_weight={0: 2.0})), self.indicator, 2, {})):
            with self.subTest(reason):
                said = str(kedge.sklearn.explain(model, self.rows, y, session=self.session))
                self.assertIn(f"stays local: {reason}", said)
                self.assertIn("fitted one by one", said)
                before = self.n_jobs()
                mine = quietly(kedge.sklearn.fit, clone(model), self.rows, y, session=self.session, **more)
                self.assertEqual(self.n_jobs(), before + n_jobs)
                np.testing.assert_allclose(mine.predict(self.rows), clone(model).fit(self.rows, y).predict(self.rows), rtol=ITERATIVE, atol=ITERATIVE)
        with self.assertRaisesRegex(ValueError, "sample weights"):
            quietly(kedge.sklearn.fit, MultiOutputRegressor(KNeighborsRegressor()), self.rows, self.values, session=self.session, **weights)
        with self.assertRaisesRegex(ValueError, "at least two dimensions"):
            quietly(kedge.sklearn.fit, MultiOutputRegressor(Ridge()), self.rows, self.values[:, 0], session=self.session)

    def test_a_model_of_another_number_of_targets_is_refused(self):
        class Stored:
            def members(self):
                return [("n_features", 4), ("members", 1), ("classes", []), ("n_features", 4), ("width", 4), ("coef", np.zeros(4))]

        self.assertEqual(_outputs._parts(Stored(), 1)[0].members()[0], ("n_features", 4))
        with self.assertRaisesRegex(kedge.KedgeError, "estimators of 1 targets, y has 2 columns"):
            _outputs._parts(Stored(), 2)


if __name__ == "__main__":
    unittest.main()
