"""y of several columns for estimators that take it by themselves, with a server: one job fits each column by itself, and the object is scikit-learn's own."""
import pickle
import unittest

from sklearn_case import ITERATIVE, RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from kedge.sklearn import _by_column, _fill  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cross_decomposition import PLSRegression  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.kernel_ridge import KernelRidge  # noqa: E402
from sklearn.linear_model import (ElasticNet, Lars, Lasso, LassoLars, LinearRegression, OrthogonalMatchingPursuit, Ridge, RidgeClassifier,  # noqa: E402
                                  RidgeCV)
from sklearn.metrics import hamming_loss, make_scorer  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate  # noqa: E402
from sklearn.neural_network import MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

NEAR = 1e-6   # of solvers that end at a tol
TAKEN = (LinearRegression(), LinearRegression(fit_intercept=False), LinearRegression(positive=True), Ridge(), Ridge(fit_intercept=False), Ridge(solver="svd"),
         Ridge(alpha=np.array([2.0])), Ridge(alpha=np.array([2.0, 2.0, 2.0])), Lasso(0.1, tol=1e-10), ElasticNet(0.1, tol=1e-10, fit_intercept=False),
         KernelRidge(kernel="rbf"), OrthogonalMatchingPursuit(n_nonzero_coefs=2), Lars(), Lars(fit_path=False), LassoLars(0.01))
SCORES = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error", "explained_variance")


def kind(value):
    """Type and shape of an attribute."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    return [kind(one) for one in value] if isinstance(value, list) else type(value)


class ByColumn(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.rows = random.normal(size=(120, 4))
        cls.values = cls.rows @ random.normal(size=(4, 3)) + random.normal(size=(120, 3))
        cls.indicator = (cls.values > 0).astype(int)

    def as_jobs(self, n, name, *arguments, **named):
        before = self.n_jobs()
        found = quietly(self.call, name, *arguments, **named)
        self.assertEqual(self.n_jobs(), before + n)
        return found

    def same(self, model, X, y, n_jobs=1, **more):
        mine, theirs = self.as_jobs(n_jobs, "fit", clone(model), X, y, **more), quietly(clone(model).fit, X, y, **more)
        self.assertEqual({name: kind(value) for name, value in vars(mine).items()}, {name: kind(value) for name, value in vars(theirs).items()})
        mine = pickle.loads(pickle.dumps(mine))
        wanted = theirs.predict(X)
        self.assertEqual(mine.predict(X).shape, wanted.shape)
        np.testing.assert_allclose(mine.predict(X), wanted, rtol=NEAR, atol=NEAR)
        return mine, theirs

    def test_objects_are_those_of_fits_here(self):
        for model in TAKEN:
            for n in (1, 3):
                if np.size(getattr(model, "alpha", 1)) <= n:
                    with self.subTest(str(model), n=n):
                        self.same(model, self.rows, self.values[:, :n])

    @unittest.skipIf(RELEASE < (1, 7), "its store_cv_results has another name, or a default that is none")
    def test_a_penalty_is_chosen_for_each_column(self):
        mine, theirs = self.same(RidgeCV([0.01, 1, 100], alpha_per_target=True, store_cv_results=True), self.rows, self.values)
        np.testing.assert_array_equal(mine.alpha_, theirs.alpha_)
        np.testing.assert_allclose(mine.cv_results_, theirs.cv_results_, rtol=ITERATIVE, atol=ITERATIVE)
        np.testing.assert_allclose(mine.best_score_, theirs.best_score_, rtol=ITERATIVE)

    def test_penalties_of_its_own_for_each_column_are_a_job_each(self):
        for model in (Ridge(alpha=np.array([0.1, 1, 10])), KernelRidge(alpha=np.array([0.1, 1, 10]))):
            with self.subTest(str(model)):
                self.same(model, self.rows, self.values, n_jobs=3)

    def test_indicators(self):
        for model in (RidgeClassifier(), RidgeClassifier(fit_intercept=False)):
            for y in (self.indicator, np.column_stack([self.indicator, np.ones(120, int)])):
                with self.subTest(str(model), shape=y.shape):
                    mine, theirs = self.same(model, self.rows, y)
                    np.testing.assert_array_equal(mine.classes_, theirs.classes_)
                    np.testing.assert_allclose(mine.decision_function(self.rows), theirs.decision_function(self.rows), rtol=ITERATIVE, atol=ITERATIVE)

    def test_one_column_of_labels_goes_with_scikit_learns_warning(self):
        from sklearn.exceptions import DataConversionWarning
        with self.assertWarns(DataConversionWarning):
            mine = self.call("fit", RidgeClassifier(), self.rows, self.indicator[:, :1])
        np.testing.assert_array_equal(mine.predict(self.rows), RidgeClassifier().fit(self.rows, self.indicator[:, 0]).predict(self.rows))

    @unittest.skipIf(RELEASE < (1, 6), "scikit-learn says of no estimator that it takes sparse rows")
    def test_weights_and_sparse_rows(self):
        weights = np.random.default_rng(0).uniform(0.5, 2, 120)
        few = sparse.csr_matrix(np.where(np.abs(self.rows) > 0.5, self.rows, 0))
        for model in (LinearRegression(), Ridge(), Lasso(0.1, tol=1e-10), KernelRidge()):
            for X in (self.rows, few):
                with self.subTest(str(model), sparse=X is few):
                    self.same(model, X, self.values, sample_weight=weights)

    def test_lists_and_frames(self):
        self.same(Ridge(), self.rows.tolist(), self.values.tolist())
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame(self.rows, columns=list("abcd"))
        mine, _ = self.same(Lasso(0.1, tol=1e-10), frame, pandas.DataFrame(self.values))
        self.assertEqual(list(mine.feature_names_in_), list("abcd"))

    def test_an_end_before_convergence_is_said(self):
        with self.assertWarns(ConvergenceWarning):
            self.call("fit", Lasso(1e-4, max_iter=1, tol=1e-12), self.rows, self.values)

    def test_cross_validation_scores_as_here(self):
        for model, y, scoring in ((make_pipeline(StandardScaler(), Ridge()), self.values, SCORES), (Ridge(), self.values[:, :1], SCORES),
                                  (LinearRegression(), self.values, None), (KernelRidge(), self.values, None),
                                  (make_pipeline(StandardScaler(), RidgeClassifier()), self.indicator, None), (RidgeClassifier(), self.indicator, "accuracy"), (RidgeClassifier(), self.indicator, "f1_macro")):
            with self.subTest(str(model), scoring=scoring):
                mine = self.as_jobs(1, "cross_validate", model, self.rows, y, cv=3, scoring=scoring, return_train_score=True)
                theirs = cross_validate(model, self.rows, y, cv=3, scoring=scoring, return_train_score=True)
                for name in (name for name in theirs if not name.endswith("time")):
                    np.testing.assert_allclose(mine[name], theirs[name], rtol=ITERATIVE)

    def test_a_search_over_the_last_step_and_its_parameters(self):
        pipeline = make_pipeline(StandardScaler(), Ridge())
        for grid in ({"ridge__alpha": [0.1, 10]}, [{"ridge": [LinearRegression()]}, {"ridge": [Ridge()], "ridge__alpha": [1, 100]}]):
            search = GridSearchCV(pipeline, grid, cv=3)
            mine, theirs = quietly(self.call, "fit", clone(search), self.rows, self.values), clone(search).fit(self.rows, self.values)
            np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=ITERATIVE)
            self.assertEqual(mine.best_params_.keys(), theirs.best_params_.keys())
            self.assertEqual(mine.best_estimator_[-1].coef_.shape, (3, 4))
            np.testing.assert_allclose(mine.predict(self.rows), theirs.predict(self.rows), rtol=ITERATIVE)

    def test_fits_go_alone_where_scikit_learn_scores_or_predicts(self):
        zeros = self.indicator.copy()
        zeros[:, 2] = 0
        for function, model, y, more in ((cross_val_predict, Ridge(), self.values, {}), (cross_validate, Ridge(alpha=np.array([1, 2, 3])), self.values, {}),
                                         (cross_validate, RidgeClassifier(), self.indicator, {"scoring": make_scorer(hamming_loss)}), (cross_validate, RidgeClassifier(), zeros, {})):
            with self.subTest(function.__name__, model=str(model)):
                kedge.sklearn.patch(self.session, policy="always", fallback="raise")
                try:
                    before = self.n_jobs()
                    mine = function(model, self.rows, y, cv=3, **more)
                    self.assertEqual(self.n_jobs(), before + (9 if np.size(getattr(model, "alpha", 1)) > 1 else 3))
                finally:
                    kedge.sklearn.unpatch()
                theirs = function(model, self.rows, y, cv=3, **more)
                np.testing.assert_allclose(mine if function is cross_val_predict else mine["test_score"], theirs if function is cross_val_predict else theirs["test_score"])

    def test_what_is_not_fitted_by_column_stays_with_the_reason(self):
        for reason, model, y in (("one alpha is chosen for all columns", RidgeCV(), self.values), ("directions are those of all columns", PLSRegression(1), self.values),
                                 ("copy_X is False", LinearRegression(copy_X=False), self.values), ("class_weight weighs a row by all columns", RidgeClassifier(class_weight="balanced"), self.indicator),
                                 ("y has 2 dimensions", MLPRegressor(max_iter=2, random_state=0), self.values)):
            with self.subTest(reason):
                if RELEASE < (1, 6) and isinstance(model, PLSRegression):   # whose y has another name
                    continue
                mine = quietly(lambda: self.stays(reason, "fit", clone(model), self.rows.copy(), y))
                np.testing.assert_array_equal(mine.predict(self.rows), quietly(clone(model).fit, self.rows.copy(), y).predict(self.rows))
        said = kedge.sklearn.explain(Lars(jitter=1e-9, random_state=0), self.rows, self.values, session=self.session)
        self.assertIn("jitter draws numbers for all columns", str(said))
        with self.assertRaisesRegex(ValueError, "[Nn]umber of targets and number of penalties"):
            quietly(kedge.sklearn.fit, Ridge(alpha=np.array([1, 2])), self.rows, self.values, session=self.session)
        with self.assertRaisesRegex(ValueError, "NaN"):
            quietly(kedge.sklearn.fit, Ridge(), self.rows, np.where(self.values > 2, np.nan, self.values), session=self.session)

    def test_each_is_one_that_is_filled(self):
        self.assertLessEqual(_by_column.NAMES, set(_fill.FILLED))

    def test_an_answer_of_another_number_of_columns_is_refused(self):
        class Plan:
            outputs = [None, None]

        answer = type("Answer", (), {"estimator": Ridge(), "plan": Plan, "fitted": {"estimators_": [{}]}})
        with self.assertRaisesRegex(kedge.KedgeError, "estimators of 1 targets, y has 2 columns"):
            _by_column.filled(answer, None)


if __name__ == "__main__":
    unittest.main()
