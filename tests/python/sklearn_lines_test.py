"""Lines, clusters and places that come back as scikit-learn's own objects, with options, beside scikit-learn's own fits; and what scikit-learn says, refuses or
decides before it computes, which a fit on a server keeps."""
import contextlib
import io
import pickle
import re
import unittest
import warnings

from sklearn_case import RELEASE, WithServer, quietly
import joblib
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
from joblib._parallel_backends import SequentialBackend  # noqa: E402
from kedge.sklearn import _fill, _kinds, _outputs  # noqa: E402
from kedge.sklearn._words import warn_of_parameters  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, FeatureAgglomeration, MeanShift  # noqa: E402
from sklearn.cross_decomposition import PLSRegression  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402
from sklearn.decomposition import KernelPCA  # noqa: E402
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis  # noqa: E402
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, RandomForestClassifier, RandomForestRegressor, VotingClassifier  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning  # noqa: E402
from sklearn.linear_model import (LarsCV, LassoLars, LassoLarsCV, LassoLarsIC, LinearRegression, LogisticRegression, LogisticRegressionCV,  # noqa: E402
                                  QuantileRegressor, RANSACRegressor, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV, TheilSenRegressor)
from sklearn.manifold import TSNE  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402


class Case(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.numbers, cls.number = load_diabetes(return_X_y=True)
        cls.labels = np.array(["c", "a", "b"])[cls.y]

    def compare(self, model, X, y=None, tolerance=1e-9, **more):
        """Returns both, after they have answered alike."""
        theirs, mine = quietly(clone(model).fit, X, y, **more), pickle.loads(pickle.dumps(quietly(self.call, "fit", model, X, y, **more)))
        self.assertEqual(set(vars(mine)), set(vars(theirs)))
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(theirs, method):
                one, other = getattr(mine, method)(X), getattr(theirs, method)(X)
                self.assertEqual((one.dtype.kind, one.shape), (other.dtype.kind, other.shape))
                if one.dtype.kind in "UO":
                    self.assertEqual(one.tolist(), other.tolist())
                else:
                    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=method)
        return mine, theirs

    def said(self, category, function, *arguments, **named):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(*arguments, **named)
        return [str(one.message) for one in caught if issubclass(one.category, category)]


@unittest.skipIf(RELEASE < (1, 9), "the server computes as scikit-learn 1.9 does")
class Kinds(Case):
    def test_lines_with_a_path(self):
        for model in (LassoLars(alpha=0.1), LassoLarsIC(), LassoLarsIC(noise_variance=2.0), LassoLarsIC(criterion="bic"), LarsCV(), LassoLarsCV(cv=4)):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, self.numbers, self.number, 1e-8)
                for name in ("alphas_", "coef_path_", "mse_path_", "criterion_"):
                    if hasattr(theirs, name):
                        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-6, atol=1e-6)
                self.assertEqual(getattr(mine, "active_", None), getattr(theirs, "active_", None))

    def test_lines_that_choose_or_resist(self):
        for model in (RidgeCV(), TheilSenRegressor(random_state=0), RANSACRegressor(random_state=0), RANSACRegressor(Ridge(), min_samples=30, random_state=0),
                      QuantileRegressor(alpha=0.01, quantile=0.8), PLSRegression(), PLSRegression(3, scale=False)):
            with self.subTest(str(model)):
                self.compare(model, self.numbers, self.number, 1e-8)
        mine, theirs = self.compare(RANSACRegressor(random_state=0), self.numbers, self.number)
        self.assertIs(type(mine.estimator_), LinearRegression)
        np.testing.assert_array_equal(mine.inlier_mask_, theirs.inlier_mask_)
        mine, theirs = self.compare(PLSRegression(), self.numbers, self.number)
        np.testing.assert_allclose(mine.inverse_transform(mine.x_scores_), theirs.inverse_transform(theirs.x_scores_), atol=1e-9)
        for model in (RidgeClassifierCV(), RidgeClassifierCV(cv=3), RidgeClassifierCV(store_cv_results=True)):
            self.compare(model, self.X, self.labels)

    def test_a_logistic_regression_that_chooses(self):
        for more in ({"use_legacy_attributes": False, "scoring": "accuracy"}, {"use_legacy_attributes": True, "scoring": "accuracy"}):
            for y in (self.labels, self.labels == "a"):
                model = LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratios=[0], tol=1e-8, max_iter=5000, **more)
                with self.subTest(str(model)):
                    mine, theirs = self.compare(model, self.X, y, 1e-4)
                    for name in ("coefs_paths_", "scores_"):
                        one, other = getattr(mine, name), getattr(theirs, name)
                        if isinstance(other, dict):
                            self.assertEqual(set(one), set(other))
                            one, other = np.array([one[label] for label in other]), np.array(list(other.values()))
                        np.testing.assert_allclose(one, other, atol=1e-3)
        self.stays("cv is KFold", "fit", LogisticRegressionCV(cv=kfold(3), max_iter=500), self.X, self.labels)

    def test_places_and_clusters(self):
        for model in (KernelPCA(2), KernelPCA(3, kernel="rbf", gamma=0.1), KernelPCA(kernel="poly", n_components=2), FeatureAgglomeration(2),
                      MeanShift(), MeanShift(bandwidth=0.6, bin_seeding=True, cluster_all=False)):
            with self.subTest(str(model)):
                self.compare(model, self.X)
        for model in (AgglomerativeClustering(3), AgglomerativeClustering(3, linkage="average", compute_distances=True), AgglomerativeClustering(3, linkage="single"),
                      AgglomerativeClustering(None, distance_threshold=5.0)):
            with self.subTest(str(model)):
                mine, theirs = self.compare(model, self.X)
                np.testing.assert_array_equal(mine.labels_, theirs.labels_)
                self.assertEqual((mine.n_clusters_, mine.children_.shape), (theirs.n_clusters_, theirs.children_.shape))
                if hasattr(theirs, "distances_"):
                    np.testing.assert_allclose(np.sort(mine.distances_), np.sort(theirs.distances_))
        mine, theirs = self.compare(TSNE(random_state=0), self.X)
        self.assertEqual((mine.embedding_.dtype, mine.embedding_.shape), (np.float32, (150, 2)))
        self.assertLess(abs(mine.kl_divergence_ - theirs.kl_divergence_), 0.05)
        self.stays("the tree of all rows", "fit", HDBSCAN(), self.X)
        self.stays("makes no inverse_transform", "fit", KernelPCA(kernel="rbf", fit_inverse_transform=True), self.X)
        self.stays("pooling_func is max", "fit", FeatureAgglomeration(pooling_func=np.max), self.X)

    def test_fit_transform_of_what_has_no_transform(self):
        kedge.sklearn.patch(self.session, policy="always", fallback="raise")
        self.addCleanup(kedge.sklearn.unpatch)
        before = self.n_jobs()
        self.assertEqual(TSNE(max_iter=250).fit_transform(self.X).shape, (150, 2))
        self.assertEqual(AgglomerativeClustering(3).fit_predict(self.X).shape, (150,))
        self.assertEqual(self.n_jobs(), before + 2)

    def test_a_support_vector_machine_without_support(self):
        mine, _ = self.compare(SVR(), self.X[:4], np.ones(4))
        self.assertEqual(mine.dual_coef_.shape, (1, 0))


class Said(Case):
    def test_a_column_of_targets_goes_with_scikit_learns_warning(self):
        for model in (SVC(), NuSVC(), SVR(), NuSVR(), AdaBoostClassifier(random_state=0), AdaBoostRegressor(random_state=0)):
            with self.subTest(type(model).__name__):
                column, flat = clone(model), quietly(self.call, "fit", clone(model), self.X, self.y)
                stock = self.said(DataConversionWarning, clone(model).fit, self.X, self.y[:, None])
                self.assertEqual(self.said(DataConversionWarning, self.call, "fit", column, self.X, self.y[:, None]), stock)
                np.testing.assert_array_equal(column.predict(self.X), flat.predict(self.X))

    def test_two_classes_of_a_ridge_have_the_shapes_of_the_release(self):
        for model in (RidgeClassifier(), RidgeClassifierCV()):
            if not kedge.sklearn.explain(model, self.X, self.y == 1, session=self.session).goes:
                continue   # RidgeClassifierCV of 1.6, with its default of None
            mine, theirs = self.compare(model, self.X, self.y == 1)
            self.assertEqual((mine.coef_.shape, mine.intercept_.shape), (theirs.coef_.shape, theirs.intercept_.shape))

    def test_fits_that_did_not_converge_say_so_in_scikit_learns_words(self):
        for model, words in ((LogisticRegression(max_iter=1), "lbfgs failed to converge"), (LogisticRegression(solver="saga", max_iter=1), "The max_iter was reached"),
                             (LogisticRegression(solver="newton-cg", max_iter=1), "newton-cg failed to converge"),
                             (LinearSVC(max_iter=1, C=100, dual=True), "Liblinear failed to converge")):
            [one] = self.said(ConvergenceWarning, self.call, "fit", model, self.X, self.labels)
            self.assertRegex(one, words)

    @unittest.skipIf(RELEASE < (1, 9), "which warns of others")
    def test_what_scikit_learn_says_of_parameters_is_said(self):
        self.assertRegex(self.said(FutureWarning, self.call, "fit", LogisticRegression(penalty="l2", max_iter=500), self.X, self.labels)[0], "'penalty' was deprecated")
        self.assertEqual(self.said(FutureWarning, self.call, "fit", LogisticRegression(max_iter=500), self.X, self.labels), [])

    def test_a_fit_of_no_rows_says_nothing_of_parameters_that_are_not_set(self):
        classes = dict(all_estimators())
        for name in set(_fill.FILLED) - {"LogisticRegressionCV", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor"}:   # which warn of defaults
            if name not in classes:   # of a newer scikit-learn
                continue
            with self.subTest(name):
                model = classes[name](**({"estimator": Ridge()} if name in _kinds.OF_ESTIMATORS | _outputs.NAMES else {}))
                before = vars(model).copy()
                self.assertEqual(self.said(Warning, warn_of_parameters, model), [])
                self.assertEqual(vars(model), before)

    def test_a_forest_of_few_trees_says_that_rows_have_no_votes(self):
        for model in (RandomForestClassifier(2, oob_score=True, random_state=0), RandomForestRegressor(2, oob_score=True, random_state=0)):
            self.assertIn("Some inputs do not have OOB scores", self.said(UserWarning, self.call, "fit", model, self.X, self.y + 1)[0])
            many = clone(model).set_params(n_estimators=60)
            self.assertEqual(self.said(UserWarning, self.call, "fit", many, self.X, self.y + 1), [])

    def test_lines_of_a_search_that_is_verbose(self):
        search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}, cv=3, verbose=3, return_train_score=True, scoring="accuracy")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.call("fit", search, self.X, self.labels)
        lines = re.findall(r"\[CV (\d)/3\] END \.+C=([\d.]+);, score=\(train=[\d.]+, test=[\d.]+\) total time=", printed.getvalue())
        self.assertEqual(sorted(lines), [(fold, C) for fold in "123" for C in ("0.1", "1.0")])


class Refused(Case):
    def test_weights_of_classes_go_by_name(self):
        weights = {"a": 3.0, "c": 0.5}
        model = LogisticRegression(class_weight=weights, tol=1e-8, max_iter=1000)
        theirs, mine = clone(model).fit(self.X, self.labels), self.call("fit", clone(model), self.X, self.labels)
        np.testing.assert_allclose(mine.predict_proba(self.X), theirs.predict_proba(self.X), atol=1e-4)
        np.testing.assert_allclose(self.call("cross_val_score", model, self.X, self.labels), cross_val_score(model, self.X, self.labels), atol=0.01)
        tree = DecisionTreeClassifier(max_depth=2, class_weight={0: 5, 2: 1.5}, random_state=0)
        np.testing.assert_allclose(self.call("fit", clone(tree), self.X, self.y).tree_.value[0], clone(tree).fit(self.X, self.y).tree_.value[0])
        with self.assertRaisesRegex(ValueError, "class"):   # scikit-learn's own error, of a fit that stays
            quietly(kedge.sklearn.fit, LogisticRegression(class_weight={"d": 2.0}), self.X, self.labels, session=self.session)
        vote = VotingClassifier([("one", LogisticRegression(class_weight={0: 2.0}))])
        self.stays("class_weight names classes", "cross_val_score", vote, self.X, self.y)

    def test_what_a_solver_of_scikit_learn_refuses_stays(self):
        sparse = scipy.sparse.csr_matrix(self.X)
        sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
        y = self.y == 0
        for model, X, reason in ((LogisticRegression(solver="liblinear"), sparse, "indices of 64 bits"),
                                 (Ridge(solver="cholesky"), scipy.sparse.csr_matrix(self.X), "sparse X with an intercept")):
            decision = kedge.sklearn.explain(model, X, y, session=self.session)
            self.assertFalse(decision.goes)
            if RELEASE >= (1, 6):   # before, no estimator says that it takes sparse rows
                self.assertIn(reason, decision.reason)
        self.assertIn("beyond 1e+30", kedge.sklearn.explain(LogisticRegression(solver="liblinear"), self.X * 1e31, y, session=self.session).reason)
        discriminant = kedge.sklearn.explain(QuadraticDiscriminantAnalysis(), self.X[45:53], self.y[45:53], session=self.session)
        self.assertIn("no more rows than X has columns", discriminant.reason) if RELEASE >= (1, 9) else self.assertFalse(discriminant.goes)
        self.assertIn("varies by less", kedge.sklearn.explain(DecisionTreeClassifier(), self.X[:, :1] * 1e-9, y, session=self.session).reason)

    def test_the_work_goes_where_joblib_is_asked_to_take_it(self):
        class Elsewhere(SequentialBackend):
            pass

        joblib.register_parallel_backend("elsewhere", Elsewhere)
        with joblib.parallel_config(backend="elsewhere"):
            self.assertIn("the backend of joblib is Elsewhere", kedge.sklearn.explain(RandomForestClassifier(), self.X, self.y, session=self.session).reason)
        with joblib.parallel_config(backend="threading"):
            self.assertTrue(kedge.sklearn.explain(RandomForestClassifier(), self.X, self.y, session=self.session).goes)


def kfold(n):
    from sklearn.model_selection import KFold
    return KFold(n)


if __name__ == "__main__":
    unittest.main()
