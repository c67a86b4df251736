"""Fits of boosted trees, networks, selectors, mixtures and detectors that come back as scikit-learn's own objects, with options, beside scikit-learn's own fits: the
same answers, staged and pickled ones as well, and what they go on with here."""
import pickle
import unittest

from sklearn_case import RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402
from sklearn.ensemble import (AdaBoostClassifier, AdaBoostRegressor, GradientBoostingClassifier, GradientBoostingRegressor,  # noqa: E402
                              HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest, VotingClassifier)
from sklearn.feature_selection import RFE, RFECV, GenericUnivariateSelect, SelectFdr, SequentialFeatureSelector, f_regression  # noqa: E402
from sklearn.linear_model import LogisticRegression, PassiveAggressiveClassifier, Ridge, SGDClassifier  # noqa: E402
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


@unittest.skipIf(RELEASE < (1, 9), "the server computes as scikit-learn 1.9 does")
class Kinds(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.numbers, cls.number = load_diabetes(return_X_y=True)
        cls.labels = np.array(["c", "a", "b"])[cls.y]
        random = np.random.default_rng(0)
        cls.free = random.normal(size=(200, 4))   # no two cuts of which are equally good, so that the order of columns does not matter
        cls.value = cls.free @ [3, 1, -2, 0.5] + random.normal(size=200)
        cls.label = np.array(["c", "a", "b"])[np.digitize(cls.value, [-2, 2])]

    def compare(self, model, X, y=None, tolerance=1e-9, methods=("predict", "predict_proba", "decision_function", "transform", "score_samples"), **more):
        """Returns both, after they have answered alike."""
        theirs, mine = quietly(clone(model).fit, X, y, **more), pickle.loads(pickle.dumps(quietly(self.call, "fit", model, X, y, **more)))
        for method in methods:
            if hasattr(theirs, method):
                one, other = getattr(mine, method)(X), getattr(theirs, method)(X)
                self.assertEqual((one.dtype.kind, one.shape), (other.dtype.kind, other.shape))
                if one.dtype.kind in "UO":
                    self.assertEqual(one.tolist(), other.tolist())
                else:
                    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=method)
        return mine, theirs

    def test_gradient_boosting(self):
        weights = np.random.default_rng(0).integers(1, 4, 200).astype(float)
        for model, more in ((GradientBoostingClassifier(n_estimators=20, random_state=0), {}), (GradientBoostingClassifier(n_estimators=20, random_state=0), {"sample_weight": weights}),
                            (GradientBoostingClassifier(n_estimators=20, max_depth=2, init="zero", random_state=0), {})):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, self.free, self.label, **more)
                np.testing.assert_allclose(list(mine.staged_predict_proba(self.free)), list(theirs.staged_predict_proba(self.free)), atol=1e-9)
                # Of two cuts that are equally good, as in nodes of few rows, either may be taken: the rows are parted alike.
                np.testing.assert_allclose(mine.feature_importances_, theirs.feature_importances_, atol=1e-2)
                for one, other in zip(mine.estimators_.ravel(), theirs.estimators_.ravel(), strict=True):
                    self.assertEqual(sorted(one.tree_.n_node_samples), sorted(other.tree_.n_node_samples))
                    np.testing.assert_array_equal(one.tree_.n_node_samples, np.asarray(one.decision_path(self.free.astype(np.float32)).sum(axis=0)).ravel())
        two = self.label != "a"
        self.compare(GradientBoostingClassifier(n_estimators=20, random_state=0), self.free[two], self.label[two])
        for model in (GradientBoostingRegressor(n_estimators=20, loss="huber", random_state=0), GradientBoostingRegressor(n_estimators=20, random_state=0),
                      GradientBoostingRegressor(n_estimators=20, loss="quantile", alpha=0.7, random_state=0)):
            self.compare(model, self.free, self.value)

    def test_gradient_boosting_that_draws_or_stops_early(self):
        """Whose draws are the server's: it answers as the server does, and has what scikit-learn has."""
        for model in (GradientBoostingClassifier(n_estimators=30, subsample=0.5, random_state=0), GradientBoostingClassifier(n_estimators=60, n_iter_no_change=3, random_state=0),
                      GradientBoostingRegressor(n_estimators=60, n_iter_no_change=3, random_state=0)):
            with self.subTest(str(model)):
                X, y = (self.X, self.labels) if hasattr(model, "predict_proba") else (self.numbers, self.number)
                theirs, mine = clone(model).fit(X, y), self.call("fit", model, X, y)
                self.assertEqual(sorted(vars(mine)), sorted(vars(theirs)))
                self.assertEqual(len(mine.estimators_), mine.n_estimators_)
                self.assertLess(abs(mine.score(X, y) - theirs.score(X, y)), 0.1)
                raw = np.asarray(list(mine.staged_predict(X))[-1])
                self.assertEqual(raw.tolist(), mine.predict(X).tolist())
        self.stays("which rows each stage drew", "fit", GradientBoostingRegressor(n_estimators=3, subsample=0.5), self.numbers, self.number,
                   sample_weight=np.ones(len(self.number)))
        self.stays("init is an estimator", "fit", GradientBoostingRegressor(n_estimators=3, init=Ridge()), self.numbers, self.number)

    def test_ada_boost(self):
        mine, theirs = self.compare(AdaBoostClassifier(n_estimators=15, random_state=0), self.free, self.label)
        np.testing.assert_allclose(mine.estimator_weights_, theirs.estimator_weights_, atol=1e-9)
        np.testing.assert_allclose(list(mine.staged_score(self.free, self.label)), list(theirs.staged_score(self.free, self.label)))
        self.compare(AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=8, random_state=0), self.free, self.label)
        model = AdaBoostRegressor(n_estimators=10, random_state=3)
        mine, theirs = self.call("fit", clone(model), self.free, self.value), model.fit(self.free, self.value)
        np.testing.assert_allclose(mine.estimator_errors_[:5], theirs.estimator_errors_[:5], atol=1e-9)   # behind them two cuts were equally good
        self.assertLess(abs(mine.score(self.free, self.value) - theirs.score(self.free, self.value)), 0.05)
        self.stays("parts that are no trees", "fit", AdaBoostClassifier(GaussianNB(), n_estimators=2), self.X, self.labels)

    def test_histograms_with_gaps_weights_and_an_early_end(self):
        X = self.numbers.copy()
        X[::5, 2] = np.nan
        weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
        for model, more in ((HistGradientBoostingRegressor(max_iter=20, random_state=0), {}), (HistGradientBoostingRegressor(max_iter=20, random_state=0), {"sample_weight": weights}),
                            (HistGradientBoostingRegressor(max_iter=20, loss="poisson", random_state=0), {})):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, X, self.number, 1e-6, **more)
                self.assertEqual(mine.n_iter_, theirs.n_iter_)
                np.testing.assert_allclose(list(mine.staged_predict(X)), list(theirs.staged_predict(X)), rtol=1e-6)
                # Rows in bins go the same way: what a warm start begins with.
                binned = mine._bin_mapper.transform(np.ascontiguousarray(X))
                found = mine._baseline_prediction + sum(tree.predict_binned(binned, mine._bin_mapper.missing_values_bin_idx_, 1)
                                                        for [tree] in mine._predictors)[:, None]
                np.testing.assert_allclose(found.ravel(), mine._raw_predict(X).ravel(), rtol=1e-12)
        self.compare(HistGradientBoostingClassifier(max_iter=20, random_state=0), self.X, self.labels, 1e-6)
        early = HistGradientBoostingClassifier(max_iter=50, early_stopping=True, n_iter_no_change=2, random_state=0)
        mine = self.call("fit", early, self.X, self.labels)
        self.assertEqual(sorted(vars(mine)), sorted(vars(clone(early).fit(self.X, self.labels))))
        self.assertEqual(len(mine.validation_score_), mine.n_iter_ + 1)
        mine.set_params(warm_start=True, early_stopping=False, max_iter=mine.n_iter_ + 3).fit(self.X, self.labels)   # grows on, here
        self.stays("categorical_features names columns", "fit", HistGradientBoostingRegressor(max_iter=2, categorical_features=[0]), np.round(self.X), self.y)

    def test_networks_by_steps_and_by_lbfgs(self):
        scaled = StandardScaler().fit_transform(self.X)
        for model in (MLPClassifier((8,), max_iter=60, random_state=0), MLPClassifier((5, 4), solver="lbfgs", max_iter=40, random_state=0),
                      MLPClassifier((8,), solver="sgd", max_iter=30, early_stopping=True, random_state=0)):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, scaled, self.labels, 1e-5)
                self.assertLessEqual(set(vars(theirs)) - set(vars(mine)), {"_optimizer", "_coef_indptr", "_intercept_indptr"})   # of a fit that goes on
                self.assertLessEqual(set(vars(mine)), set(vars(theirs)))
                if hasattr(theirs, "loss_curve_"):
                    np.testing.assert_allclose(mine.loss_curve_, theirs.loss_curve_, rtol=1e-6)
        mine, _ = self.compare(MLPRegressor(hidden_layer_sizes=(6,), max_iter=50, random_state=0), scaled, self.number[:150], 1e-5)
        self.assertEqual(mine.partial_fit(scaled, self.number[:150]).predict(scaled).shape, (150,))

    def test_events_of_a_network_arrive_as_its_epochs_end(self):
        scaled, seen = StandardScaler().fit_transform(self.X), []
        model = quietly(self.call, "fit", MLPClassifier((8,), max_iter=30, random_state=0), scaled, self.labels, on_event=seen.append)
        epochs = [event["progress"]["done"] for event in seen if event.kind == "progress" and event["progress"]["unit"] == "epochs"]
        self.assertEqual((epochs, epochs[-1]), (sorted(epochs), model.n_iter_))
        self.assertTrue(seen[-1].is_last)

        class Enough(Exception):
            pass

        def stop(event):
            raise Enough

        with self.assertRaises(Enough):
            self.call("fit", MLPClassifier((8,), max_iter=100_000, tol=0, n_iter_no_change=100_000, random_state=0), scaled, self.labels, on_event=stop)
        job = next(iter(self.session.jobs()))
        self.assertEqual(self.session.job(job["id"]).wait(30)["state"], "cancelled")

    def test_an_isolation_forest(self):
        for model in (IsolationForest(n_estimators=20, random_state=0), IsolationForest(n_estimators=20, max_features=0.5, contamination=0.1, random_state=0)):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, self.numbers)
                for one, other in zip(mine.estimators_samples_, theirs.estimators_samples_, strict=True):
                    np.testing.assert_array_equal(one, other)
                for one, other in zip(mine.estimators_features_, theirs.estimators_features_, strict=True):
                    np.testing.assert_array_equal(one, other)
        self.stays("how many different rows", "fit", IsolationForest(n_estimators=3, bootstrap=True), self.X)

    def test_selectors_by_an_estimator(self):
        for model in (RFE(LogisticRegression(max_iter=500)), RFECV(Ridge(), cv=3), SequentialFeatureSelector(Ridge(), n_features_to_select=3, cv=3),
                      SelectFdr(f_regression), GenericUnivariateSelect(f_regression, mode="k_best", param=3)):
            with self.subTest(str(model)):
                X, y = (self.X, self.labels) if isinstance(model, RFE) and not isinstance(model, RFECV) else (self.numbers, self.number)
                mine, theirs = self.compare(model, X, y, 1e-6)
                np.testing.assert_array_equal(mine.get_support(), theirs.get_support())
        before = self.n_jobs()
        self.call("fit", RFECV(Ridge(), cv=3), self.numbers, self.number)
        self.assertEqual(self.n_jobs(), before + 1, "one job for all columns and folds")

    def test_mixtures_of_every_form(self):
        for kind in ("full", "tied", "diag", "spherical"):
            for model in (GaussianMixture(n_components=2, covariance_type=kind, random_state=0), BayesianGaussianMixture(n_components=2, covariance_type=kind, random_state=0),
                          BayesianGaussianMixture(n_components=2, covariance_type=kind, weight_concentration_prior_type="dirichlet_distribution", random_state=0)):
                with self.subTest(str(model)):
                    self.compare(model, self.X, None, 1e-6)

    def test_stochastic_descent_goes_on_here(self):
        for model in (SGDClassifier(random_state=0), PassiveAggressiveClassifier(random_state=0)):
            mine = quietly(self.call, "fit", model, self.X, self.labels)
            before = mine.t_
            self.assertEqual(mine.partial_fit(self.X[:30], self.labels[:30]).t_, before + 30)
        self.stays("average keeps further coefficients", "fit", SGDClassifier(average=True), self.X, self.labels)

    def test_parts_go_one_by_one(self):
        before = self.n_jobs()
        model = VotingClassifier([("a", LogisticRegression(max_iter=500)), ("b", make_pipeline(StandardScaler(), GaussianNB()))])
        kedge.sklearn.patch(self.session, policy="always", fallback="silent")
        self.addCleanup(kedge.sklearn.unpatch)
        self.assertGreater(model.fit(self.X, self.labels).score(self.X, self.labels), 0.9)
        self.assertEqual(self.n_jobs(), before + 3)


if __name__ == "__main__":
    unittest.main()
