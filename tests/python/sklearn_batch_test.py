"""Batches of fits that are no single job: folds of any rows, learning curves, halving searches, weights, scorers and objects of the program."""
import unittest
import warnings

from sklearn_case import ITERATIVE, RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import sklearn.model_selection as stock  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier  # noqa: E402
from sklearn.experimental import enable_halving_search_cv  # noqa: E402, F401
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.metrics import fbeta_score, make_scorer  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


class Folds(WithServer):
    def test_of_any_rows(self):
        random = np.random.default_rng(0)
        orders = [random.permutation(150) for _ in range(3)]
        for name, cv in (("in disorder, some left out", [(order[:80], order[80:120]) for order in orders]),
                         ("that overlap", [(order[:100], order[50:]) for order in orders]),
                         ("with rows twice", [(np.repeat(order[:60], 2), order[60:]) for order in orders]),
                         ("one", [(orders[0][:100], orders[0][100:])]),
                         ("of a splitter with a generator", stock.ShuffleSplit(3, random_state=np.random.RandomState(7)))):
            with self.subTest(name):
                def scores(function):
                    again = stock.ShuffleSplit(3, random_state=np.random.RandomState(7)) if isinstance(cv, stock.ShuffleSplit) else cv
                    return function(self.knn, self.X, self.y, cv=again, return_train_score=True)
                before = self.n_jobs()
                mine = scores(lambda *data, **named: self.call("cross_validate", *data, **named))
                self.assertEqual(self.n_jobs() - before, len(mine["test_score"]))
                theirs = scores(stock.cross_validate)
                for part in ("test_score", "train_score"):
                    np.testing.assert_array_equal(mine[part], theirs[part])

    def test_of_a_sparse_matrix_in_any_order(self):
        if RELEASE < (1, 6):
            self.skipTest("scikit-learn says of no estimator before 1.6 whether it takes sparse matrices")
        import scipy.sparse
        X, model = scipy.sparse.csr_matrix(self.X), KNeighborsClassifier(algorithm="brute")
        cv = stock.KFold(3, shuffle=True)   # which has no seed
        np.random.seed(1)
        mine = self.call("cross_val_score", model, X, self.y, cv=cv)
        np.random.seed(1)
        np.testing.assert_array_equal(mine, stock.cross_val_score(model, X, self.y, cv=cv))

    def test_a_grid_on_them(self):
        order = np.random.default_rng(0).permutation(150)
        search = stock.GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, cv=[(order[:70], order[70:140]), (order[70:], order[:70])])
        theirs, mine = clone(search).fit(self.X, self.y), self.call("fit", search, self.X, self.y)
        np.testing.assert_array_equal(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
        self.assertEqual(mine.best_params_, theirs.best_params_)

    def test_that_lack_a_class_stay(self):
        order = np.argsort(self.y, kind="stable")
        cv = [(order[:40], order[40:100])]
        mine = self.stays("the rows of a fold lack a class", "cross_val_score", self.knn, self.X, self.y, cv=cv)
        np.testing.assert_array_equal(mine, quietly(stock.cross_val_score, self.knn, self.X, self.y, cv=cv))


class Curves(WithServer):
    def test_a_learning_curve_sends_each_fold_once(self):
        before, sets = self.n_jobs(), len(self.session.datasets())
        named = {"cv": stock.StratifiedKFold(3), "train_sizes": [0.3, 0.6, 1.0], "shuffle": True, "random_state": 4}
        mine = self.call("learning_curve", self.knn, self.X + 1, self.y, **named)
        self.assertEqual((self.n_jobs() - before, len(self.session.datasets()) - sets), (9, 3))
        for one, other in zip(mine, stock.learning_curve(self.knn, self.X + 1, self.y, **named), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_a_program_that_is_not_changed(self):
        self.addCleanup(kedge.sklearn.unpatch)
        theirs = stock.learning_curve(self.knn, self.X, self.y, train_sizes=[0.5, 1.0], cv=3)
        kedge.sklearn.patch(self.session, fallback="raise")
        before = self.n_jobs()
        mine = stock.learning_curve(self.knn, self.X, self.y, train_sizes=[0.5, 1.0], cv=3)
        self.assertEqual(self.n_jobs(), before + 6)
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


class Halving(WithServer):
    def both(self, search):
        theirs, mine = clone(search).fit(self.X, self.y), self.call("fit", clone(search), self.X, self.y)
        self.assertEqual(sorted(vars(mine)), sorted(vars(theirs)))
        for name in ("n_resources_", "n_candidates_", "n_iterations_", "best_index_", "best_params_", "best_score_"):
            self.assertEqual(getattr(mine, name), getattr(theirs, name), name)
        for name, values in theirs.cv_results_.items():
            if "_time" not in name:
                self.assertEqual(str(mine.cv_results_[name]), str(values), name)

    def test_rounds_of_more_rows(self):
        before = self.n_jobs()
        self.both(stock.HalvingGridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2, 3, 4, 5, 6]}, cv=3, random_state=0, refit=False))
        self.assertEqual(self.n_jobs(), before + 6)   # two rounds of three folds
        self.both(stock.HalvingRandomSearchCV(self.knn, {"kneighborsclassifier__n_neighbors": list(range(1, 12))}, cv=3, random_state=1, factor=2))

    def test_rounds_of_another_resource(self):
        before = self.n_jobs()
        search = stock.HalvingGridSearchCV(ExtraTreesClassifier(random_state=0), {"max_depth": [1, 2, 5]}, resource="n_estimators", max_resources=9,
                                           cv=3, refit=False)
        mine = self.call("fit", search, self.X, self.y)
        self.assertEqual(self.n_jobs(), before + len(mine.n_resources_))
        self.assertEqual(mine.n_resources_, clone(search).fit(self.X, self.y).n_resources_)


class Weights(WithServer):
    def test_in_cross_validation_and_searches(self):
        weights = np.random.default_rng(0).integers(0, 4, 150).astype(float)
        pipeline = make_pipeline(StandardScaler(), GaussianNB())
        for model, name, scoring in ((GaussianNB(), "sample_weight", "neg_log_loss"), (pipeline, "gaussiannb__sample_weight", "neg_log_loss"),
                                     (Ridge(), "sample_weight", "r2")):
            for cv in (3, [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]):
                named = {"cv": cv, "params": {name: weights}, "scoring": scoring}
                mine, theirs = self.call("cross_val_score", model, self.X, self.y, **named), stock.cross_val_score(model, self.X, self.y, **named)
                np.testing.assert_allclose(mine, theirs, rtol=ITERATIVE)
                self.assertNotEqual(theirs.tolist(), stock.cross_val_score(model, self.X, self.y, cv=cv, scoring=scoring).tolist())
        predicted = self.call("cross_val_predict", GaussianNB(), self.X, self.y, params={"sample_weight": weights}, method="predict_proba")
        theirs = stock.cross_val_predict(GaussianNB(), self.X, self.y, params={"sample_weight": weights}, method="predict_proba")
        np.testing.assert_allclose(predicted, theirs, rtol=1e-7)

    def test_a_search_scores_by_them_here(self):
        weights = np.random.default_rng(0).integers(0, 4, 150).astype(float)
        search = stock.GridSearchCV(ExtraTreesClassifier(20, random_state=0), {"max_depth": [1, None]}, cv=3)
        before = self.n_jobs()
        theirs, mine = clone(search).fit(self.X, self.y, sample_weight=weights), self.call("fit", search, self.X, self.y, sample_weight=weights)
        self.assertIn(self.n_jobs() - before, (7,) if RELEASE >= (1, 9) else (2, 7))   # older releases score without them, so that it is one job
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.1)

    def test_that_are_wrong(self):
        for weights in (np.full(150, np.nan), np.full(150, -1.0)):
            with self.assertRaisesRegex(kedge.KedgeError, "finite and not negative"):
                self.call("cross_val_score", GaussianNB(), self.X, self.y, params={"sample_weight": weights})
        with self.assertRaises(kedge.KedgeError):   # it takes none
            self.call("cross_val_score", KNeighborsClassifier(), self.X, self.y, params={"sample_weight": np.ones(150)})


class OneByOne(WithServer):
    """What is around the fits is the program's, the fits are the server's."""

    def test_scorers_of_the_program(self):
        def half(model, X, y):
            return 0.5 * model.score(X, y)
        for scoring in (half, {"half": half, "f": make_scorer(fbeta_score, beta=2, average="macro")}):
            before = self.n_jobs()
            mine = self.call("cross_validate", DecisionTreeClassifier(random_state=0), self.X, self.y, cv=3, scoring=scoring)
            self.assertEqual(self.n_jobs(), before + 3)
            theirs = stock.cross_validate(DecisionTreeClassifier(random_state=0), self.X, self.y, cv=3, scoring=scoring)
            self.assertEqual(list(mine), list(theirs))
            for name in list(theirs)[2:]:
                np.testing.assert_allclose(mine[name], theirs[name], atol=0.03)
        search = stock.GridSearchCV(ExtraTreesClassifier(20, random_state=0), {"max_depth": [1, None]}, scoring=half, cv=3)
        before = self.n_jobs()
        mine, theirs = self.call("fit", clone(search), self.X, self.y), search.fit(self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 7)   # with the refit
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.1)
        self.assertEqual(mine.best_params_, theirs.best_params_)

    def test_fitted_objects_of_folds(self):
        before = self.n_jobs()
        model = make_pipeline(StandardScaler(), ExtraTreesClassifier(5, random_state=0))
        mine = self.call("cross_validate", model, self.X, self.y, cv=3, return_estimator=True, return_indices=True)
        self.assertEqual(self.n_jobs(), before + 3)   # the scaler is cheaper here
        for one, test, score in zip(mine["estimator"], mine["indices"]["test"], mine["test_score"], strict=True):
            self.assertEqual(len(one[-1].estimators_), 5)
            self.assertEqual(one.score(self.X[test], self.y[test]), score)

    def test_without_a_target(self):
        model = KMeans(3, n_init=1, random_state=0)
        np.testing.assert_allclose(self.call("cross_val_score", model, self.X, cv=3), stock.cross_val_score(model, self.X, cv=3))

    def test_what_is_not_worth_it_stays(self):
        for model, reason, named in ((self.knn, "is a function of the program's own", {"scoring": lambda model, X, y: 0.5}),
                                     (GaussianNB(), "return_estimator", {"return_estimator": True})):
            before = self.n_jobs()
            self.stays(reason, "cross_validate", model, self.X, self.y, **named)
            self.assertEqual(self.n_jobs(), before)

    def test_patch_keeps_small_ones(self):
        self.addCleanup(kedge.sklearn.unpatch)
        before = self.n_jobs()
        for threshold, n_jobs in ((1 << 20, 0), (1000, 5)):
            kedge.sklearn.patch(self.session, threshold=threshold, fallback="silent")
            stock.cross_validate(DecisionTreeClassifier(), self.X, self.y, return_estimator=True)
            self.assertEqual(self.n_jobs(), before + n_jobs)

    def test_a_server_that_refuses_the_first_fit_gets_no_more(self):
        kept = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mine = kedge.sklearn.cross_validate(Ridge(), self.X.astype(np.float32), self.y, session=self.session, return_estimator=True, cv=3)
        kept = [str(one.message) for one in caught if issubclass(one.category, kedge.sklearn.NotSent)]
        self.assertEqual(kept, ["Ridge.fit stays local: X is float32, and fitted arrays come back as float64"])
        self.assertEqual(len(mine["estimator"]), 3)

    def test_explain(self):
        search = stock.GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=3)
        order = np.random.default_rng(0).permutation(150)
        for said, named in (("2 jobs, gridSearch, of 4 fits", {"cv": [(order[:70], order[70:140]), (order[70:], order[:70])]}),
                            ("6 fits one by one, for the scorer <lambda> is a function of the program's own", {"scoring": lambda model, X, y: 0})):
            decision = kedge.sklearn.explain(clone(search).set_params(**named), self.X, self.y, session=self.session)
            self.assertEqual(str(decision), f"goes to the server: {said}")


if __name__ == "__main__":
    unittest.main()
