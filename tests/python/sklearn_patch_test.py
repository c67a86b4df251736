"""Fits that come back as scikit-learn's objects, patch() and python -m kedge, against a real server, with scikit-learn itself as the judge."""
import gc
import importlib.util
import inspect
import pathlib
import pickle
import unittest
import warnings

from sklearn_case import RELEASE, WithServer, quietly
from pages import pages
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import sklearn.base  # noqa: E402
import sklearn.model_selection as stock  # noqa: E402
from kedge.sklearn import _fill, _kinds, _outputs  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cluster import KMeans, MiniBatchKMeans  # noqa: E402
from sklearn.decomposition import PCA, TruncatedSVD  # noqa: E402
from sklearn.experimental import enable_iterative_imputer  # noqa: E402, F401   # which all_estimators() then lists
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import _validation  # noqa: E402
from sklearn.naive_bayes import GaussianNB, MultinomialNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler  # noqa: E402
from sklearn.semi_supervised import LabelPropagation  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402


def regression(model):
    return sklearn.base.is_regressor(model)


def described(value):
    """Type, dtype and shape of an attribute."""
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value), value.dtype, value.shape
    return [described(one) for one in value[:1]] if isinstance(value, list) else type(value)


GENERALIZED = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "HuberRegressor", "LogisticRegressionCV")
SVMS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


class Fits(WithServer):
    """A fitted object is scikit-learn's own."""
    # Their types differ between releases of scikit-learn, or with the data.
    ANY_TYPE = {"n_samples_seen_", "alpha_", "noise_variance_", "_ewa_inertia", "_ewa_inertia_min"}   # those of the fit alone are None

    NOT_THERE = {"_optimizer"}   # of networks: partial_fit() makes one

    LATEST = RELEASE >= (1, 9)   # after which the server is made

    def test_each_that_can_be_filled_has_scikit_learns_attributes_and_answers(self):
        random = np.random.default_rng(0)
        labels, values = np.array(["c", "a", "b"])[self.y], self.X @ [1, 2, 3, 4.0] + random.normal(size=150)
        classes = dict(all_estimators())
        n_filled = 0
        for name in (name for name, fill in _fill.FILLED.items() if fill is not _fill._forest and name not in _outputs.NAMES):   # which have tests of their own
            with self.subTest(name):
                model = classes[name](**({"estimator": LogisticRegression()} if name in _kinds.OF_ESTIMATORS else {}))
                params = {"random_state": 0, "n_components": 2, "n_clusters": 3, "max_iter": 2000}
                model.set_params(**{parameter: value for parameter, value in params.items() if parameter in model.get_params()})
                if name in GENERALIZED:
                    model.set_params(tol=1e-10, max_iter=10_000)
                if name == "QuantileRegressor":   # with fewer penalties, so that no other line is as good
                    model.set_params(alpha=0.01)
                if name == "LinearSVR":
                    model.set_params(tol=1e-7, max_iter=100_000)
                if name in SVMS:   # to the optimum, so that both have the same support vectors
                    model.set_params(tol=1e-6, max_iter=-1)
                X, y = (np.round(self.X) if name == "CategoricalNB" else self.X), (values if regression(model) else labels)
                theirs = clone(model).fit(X, y)
                if not self.LATEST and not kedge.sklearn.explain(model, X, y, session=self.session).goes:
                    continue
                self.assertIs(self.call("fit", model, X, y), model)
                n_filled += 1
                if self.LATEST:
                    self.assertEqual(set(vars(model)), set(vars(theirs)) - self.NOT_THERE)
                self.assertLessEqual(set(vars(theirs)) - self.NOT_THERE, set(vars(model)))
                for attribute, value in vars(theirs).items():
                    if attribute not in self.ANY_TYPE | self.NOT_THERE:
                        self.assertEqual(described(getattr(model, attribute)), described(value), attribute)
                again = pickle.loads(pickle.dumps(model))
                if name == "FactorAnalysis":   # whose factors may be turned
                    np.testing.assert_allclose(again.get_covariance(), theirs.get_covariance(), atol=1e-3)
                    continue
                if name == "AdaBoostRegressor":   # where two cuts are equally good, as in rows that were drawn twice, either may be taken
                    self.assertLess(abs(again.score(X, y) - theirs.score(X, y)), 0.05)
                    continue
                for method in ("predict", "predict_proba", "transform"):
                    if hasattr(theirs, method):
                        self.check_equal(name, getattr(again, method)(X), getattr(theirs, method)(X))

        self.assertGreater(n_filled, 20)

    def test_every_estimator_of_the_catalogue_is_filled_or_stays_for_a_reason(self):
        """Who adds an estimator to the engine writes its fill, or why there is none."""
        listed = {one["name"] for one in self.session.estimators()}
        filled, local = set(_fill.FILLED), set(_kinds.LOCAL)
        self.assertEqual(listed - filled - local, set(), "neither in _fill.FILLED nor in _kinds.LOCAL")
        self.assertEqual(filled & local, set())
        self.assertEqual((filled | local) - listed, set(), "not in the catalogue")

    def check_equal(self, name, mine, theirs):
        self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape))
        if mine.dtype.kind == "U":
            np.testing.assert_array_equal(mine, theirs)
        elif name == "LinearDiscriminantAnalysis" and mine.shape[1] == 2:   # its directions have no sign of their own
            np.testing.assert_allclose(np.abs(mine), np.abs(theirs), atol=1e-9)
        elif name == "FastICA":   # nor have its sources an order
            np.testing.assert_allclose(np.abs(np.corrcoef(mine.T, theirs.T)[:2, 2:]).max(axis=1), 1, atol=1e-3)
        else:
            np.testing.assert_allclose(mine, theirs, atol=1e-3 if name == "LogisticRegression" else 1e-3 if name == "LinearSVR" else 1e-4 if name in (*SVMS, *GENERALIZED) else 1e-9)

    @unittest.skipIf(RELEASE >= (1, 7), "since then alphas is the number")
    def test_the_number_of_alphas_of_older_releases_goes(self):
        for model in (LassoCV(n_alphas=30), ElasticNetCV()):
            self.assertEqual(len(self.call("fit", model, self.X, self.y.astype(float)).alphas_), model.n_alphas)

    def test_names_of_parameters_are_those_of_each_class(self):
        stock_names = vars(sklearn.base.BaseEstimator)["_get_param_names"]
        expected = {one: one._get_param_names() for one in (Ridge, KMeans, PCA)}
        kedge.sklearn.patch(self.session)
        self.addCleanup(kedge.sklearn.unpatch)
        for one, names in expected.items():
            one._get_param_names().clear()   # a list of the caller's own
            self.assertEqual(one._get_param_names(), names)

        class Mine(Ridge):
            def __init__(self, alpha=1.0, *, shade="grey"):
                super().__init__(alpha)
                self.shade = shade
        self.assertEqual(Mine._get_param_names(), ["alpha", "shade"])
        kedge.sklearn.unpatch()
        self.assertIs(vars(sklearn.base.BaseEstimator)["_get_param_names"], stock_names)

    def test_weights_go_along(self):
        weights = np.random.default_rng(0).integers(0, 4, 150)
        for model in (Ridge(), LogisticRegression(tol=1e-8, max_iter=10_000), StandardScaler(), GaussianNB(), DecisionTreeClassifier(random_state=0),
                      KMeans(3, n_init=1, random_state=0), Lasso(0.01)):
            with self.subTest(type(model).__name__):
                theirs = clone(model).fit(self.X, self.y, sample_weight=weights)
                mine = self.call("fit", model, self.X, self.y, sample_weight=weights)
                method = "transform" if hasattr(model, "transform") else "predict_proba" if hasattr(model, "predict_proba") else "predict"
                self.check_equal(type(model).__name__, getattr(mine, method)(self.X), getattr(theirs, method)(self.X))

    def test_mini_batches_go_on_here(self):
        if not self.LATEST:
            self.skipTest("scikit-learn before 1.9 computes otherwise")
        model = self.call("fit", MiniBatchKMeans(3, random_state=0, n_init=3), self.X)
        before = model._counts.sum()
        self.assertEqual(model.partial_fit(self.X[:40]).predict(self.X).shape, (150,))
        self.assertEqual(model._counts.sum(), before + 40)

    def test_sparse_matrices(self):
        if RELEASE < (1, 6):
            self.skipTest("scikit-learn says of no estimator before 1.6 whether it takes sparse matrices")
        import scipy.sparse
        X = scipy.sparse.csr_matrix(np.round(self.X))
        for model in (MultinomialNB(), TruncatedSVD(2, random_state=0), KMeans(3, n_init=1, random_state=0)):
            theirs, mine = clone(model).fit(X, self.y), self.call("fit", model, X, self.y)
            method = "transform" if hasattr(model, "transform") else "predict_proba"
            self.check_equal("", getattr(mine, method)(X), getattr(theirs, method)(X))
        with self.assertRaisesRegex(ValueError, "sparse"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kedge.sklearn.fit(StandardScaler(), X, session=self.session)

    def test_warnings_are_scikit_learns(self):
        for model, X in ((KMeans(4, n_init=1, random_state=0), np.repeat(self.X[:2], 5, axis=0)),
                         (KMeans(2, init=self.X[:2], n_init=3), self.X), (MultinomialNB(alpha=0.0, force_alpha=False), self.X)):
            with self.subTest(str(model)):
                said = []
                for fit in (clone(model).fit, lambda *data: self.call("fit", model, *data)):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        fit(X, self.y[:len(X)])
                    said.append([(one.category, str(one.message)) for one in caught])
                self.assertTrue(said[0])
                self.assertEqual(said[1], said[0])

    def test_names_of_columns_come_from_frames_alone(self):
        if not importlib.util.find_spec("pandas"):
            self.skipTest("pandas is not installed")
        import pandas as pd
        model = self.call("fit", Ridge(), pd.DataFrame(self.X, columns=list("abcd")), self.y)
        self.assertEqual(model.feature_names_in_.tolist(), list("abcd"))
        self.assertFalse(hasattr(self.call("fit", model, self.X, self.y), "feature_names_in_"))

    def test_what_does_not_come_back_is_fitted_here(self):
        for reason, model, more in (("its fit keeps X and no more", KNeighborsClassifier(5), {}),
                                    ("the server has no LabelPropagation", LabelPropagation(), {}),
                                    ("warm_start", LogisticRegression(warm_start=True), {}),
                                    ("sample_weight is not one number for each row", Ridge(), {"sample_weight": 2.0})):
            with self.subTest(reason):
                self.assertTrue(hasattr(self.stays(reason, "fit", model, self.X, self.y, **more), "n_features_in_"))
                with self.assertRaises(kedge.KedgeError):
                    self.call("fit", clone(model), self.X, self.y, **more)
        self.stays("X is float32", "fit", Ridge(), self.X.astype(np.float32), self.y)


class Patched(WithServer):
    def setUp(self):
        self.addCleanup(kedge.sklearn.unpatch)

    def patch(self, **named):
        kedge.sklearn.patch(self.session, **{"policy": "always", "fallback": "raise", **named})

    def test_functions_and_searches_that_were_imported_before(self):
        theirs = stock.cross_val_score(self.knn, self.X, self.y), stock.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}).fit(self.X, self.y)
        self.patch(policy="auto")
        before = self.n_jobs()
        for cv in (5, stock.TimeSeriesSplit(3), stock.ShuffleSplit(3, random_state=0)):
            stock.cross_val_score(self.knn, self.X, self.y, cv=cv)
        search = stock.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}).fit(self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 4)
        np.testing.assert_array_equal(stock.cross_val_score(self.knn, self.X, self.y), theirs[0])
        self.assertEqual(search.best_params_, theirs[1].best_params_)

    def test_fits_in_pipelines_and_of_scikit_learns_own_classes_alone(self):
        class Mine(Ridge):
            pass
        self.patch()
        before = self.n_jobs()
        model = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 3)
        Mine().fit(self.X, self.y)
        quietly(KBinsDiscretizer(3, strategy="kmeans").fit, self.X)   # fits KMeans inside
        self.assertEqual(self.n_jobs(), before + 3)
        kedge.sklearn.unpatch()
        mine, theirs = model.predict(self.X), clone(model).fit(self.X, self.y).predict(self.X)
        self.assertEqual(self.n_jobs(), before + 3)
        np.testing.assert_array_equal(mine, theirs)

    def test_small_fits_and_cheap_ones_stay(self):
        self.patch(policy="auto", threshold=1000)
        before = self.n_jobs()
        Ridge().fit(self.X[:10], self.y[:10])
        StandardScaler().fit(self.X)
        self.assertEqual(self.n_jobs(), before)
        Ridge().fit(self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 1)
        self.patch(policy="never")
        stock.cross_val_score(self.knn, self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 1)

    def test_what_is_large_and_stays_is_said_once(self):
        self.patch(policy="auto", fallback="warn", threshold=1000)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                LogisticRegression(warm_start=True).fit(self.X, self.y)
                LogisticRegression(warm_start=True).fit(self.X[:20], self.y[:20])
        said = "LogisticRegression.fit stays local: warm_start goes on from a fit here"
        self.assertEqual([str(one.message) for one in caught if issubclass(one.category, kedge.sklearn.NotSent)], [said])

    def test_scikit_learn_is_as_it_was_afterwards(self):
        def found():
            replaced = [Ridge.fit, ElasticNet.fit, Lasso.fit, PCA.fit_transform, _validation.Parallel, _validation.check_cv]
            return [*replaced, "fit" in vars(Lasso)]
        before = found()
        self.patch()
        self.assertNotEqual(found(), before)
        self.assertEqual(inspect.signature(Ridge.fit), inspect.signature(before[0]))
        self.patch()
        kedge.sklearn.unpatch()
        self.assertEqual(found(), before)
        kedge.sklearn.unpatch()

    def test_explain_says_what_would_happen_and_sends_nothing(self):
        search = stock.GridSearchCV(self.knn, {"kneighborsclassifier__n_neighbors": [1, 3]}, cv=3)
        by_function = clone(search).set_params(scoring=lambda model, X, y: 0)
        before = self.n_jobs(), len(self.session.datasets()), np.random.get_state()[2]
        for said, model in (("goes to the server: one job, gridSearch, of 6 fits", search), ("goes to the server: one job, fit", Ridge()),
                            ("stays local: its fit keeps X and no more", KNeighborsClassifier()),
                            ("stays local: the server has no LabelPropagation", LabelPropagation()),
                            ("stays local: the scorer <lambda> is a function of the program's own", by_function)):
            self.assertEqual(str(kedge.sklearn.explain(model, self.X, self.y, session=self.session)), said)
        self.assertIn("standardscaler goes", str(kedge.sklearn.explain(self.knn, self.X, self.y, session=self.session)))
        self.patch(policy="auto")
        self.assertEqual(str(kedge.sklearn.explain(Ridge(), self.X, self.y)), "stays local: 4800 bytes are less than the threshold of 1048576")
        self.assertEqual((self.n_jobs(), len(self.session.datasets()), np.random.get_state()[2]), before)

    def test_the_extension_of_a_notebook(self):
        before = Ridge.fit
        kedge.load_ipython_extension(None)
        self.assertIsNot(Ridge.fit, before)
        kedge.unload_ipython_extension(None)
        self.assertIs(Ridge.fit, before)


class Scopes(WithServer):
    def test_a_server_of_the_program(self):
        with kedge.server() as session:
            kedge.sklearn.cross_val_score(self.knn, self.X, self.y, fallback="raise")
            self.assertEqual(len(list(session.jobs())), 1)

    def test_the_backend_of_joblib(self):
        from joblib import parallel_config
        before, method = self.n_jobs(), Ridge.fit
        theirs = stock.cross_val_score(self.knn, self.X, self.y)
        with parallel_config(backend="kedge", session=self.session, policy="always", fallback="raise"):
            np.testing.assert_array_equal(stock.cross_val_score(self.knn, self.X, self.y), theirs)
            Ridge().fit(self.X, self.y)
            self.assertEqual(self.n_jobs(), before + 2)
        stock.cross_val_score(self.knn, self.X, self.y)
        Ridge().fit(self.X, self.y)
        self.assertEqual(self.n_jobs(), before + 2)
        gc.collect()
        self.assertIs(Ridge.fit, method)

    def test_what_the_backend_does_not_send_runs_on_this_machine(self):
        from joblib import Parallel, delayed, parallel_config
        with parallel_config(backend="kedge", session=self.session, n_jobs=2, fallback="silent"):
            self.assertEqual(Parallel()(delayed(abs)(-i) for i in range(4)), [0, 1, 2, 3])
            self.assertEqual(len(stock.cross_val_score(LabelPropagation(), self.X, self.y)), 5)


class Programs(WithServer):
    SCRIPT = """
import sys
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
X, y = load_iris(return_X_y=True)
print(sys.argv[1:], __name__, GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}).fit(X, y).best_score_)
"""

    def test_a_program_that_is_not_changed(self):
        script = pathlib.Path(self.folder.name) / "program.py"
        script.write_text(self.SCRIPT)
        stock_run = self.run_python("program.py", "--a", "b")
        before = self.n_jobs()
        for what in (["program.py"], ["-m", "program"]):
            done = self.run_python("-m", "kedge", "-v", *what, "--a", "b")
            self.assertEqual((done.returncode, done.stdout), (0, stock_run.stdout), done.stderr)
            self.assertIn("remote, job_", done.stderr)
        self.assertEqual(self.n_jobs(), before + 2)
        self.assertIn("remote", self.run_python("-m", "kedge", "program.py", KEDGE_VERBOSE="1").stderr)

    def test_a_profile_says_where_the_time_went(self):
        script = pathlib.Path(self.folder.name) / "profiled.py"
        script.write_text("from sklearn.datasets import load_iris\nfrom sklearn.gaussian_process import GaussianProcessRegressor\nfrom sklearn.linear_model import Ridge\n"
                          "from sklearn.model_selection import cross_val_score\nX, y = load_iris(return_X_y=True)\n"
                          "cross_val_score(Ridge(), X, y)\nRidge().fit(X, y)\ncross_val_score(GaussianProcessRegressor(), X, y)\n")
        done = self.run_python("-W", "ignore", "-m", "kedge", "--profile", "profiled.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stderr.splitlines()]
        self.assertEqual(lines[0][:7], ["method", "remote", "seconds", "upload", "server", "download", "local"])
        rows = {line[0]: line for line in lines[1:]}
        self.assertEqual((rows["cross_validate"][1], rows["cross_validate"][6]), ("1", "1"))
        self.assertIn("GaussianProcessRegressor", rows["cross_validate"])
        self.assertEqual((rows["Ridge.fit"][1], rows["Ridge.fit"][6]), ("0", "1"))
        self.assertLessEqual(sum(map(float, rows["cross_validate"][3:6])), float(rows["cross_validate"][2]) + 0.01)

    def test_what_is_wrong_with_the_call(self):
        wrong = ([], 2, "a script, or -m and a module"), (["none.py"], 1, "No such file"), (["--policy", "x", "a.py"], 2, "invalid choice")
        for arguments, code, said in wrong:
            done = self.run_python("-m", "kedge", *arguments)
            self.assertEqual(done.returncode, code)
            self.assertIn(said, done.stderr)
        done = self.run_python("-m", "kedge", "program.py", KEDGE_URL="nowhere")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)


class Documents(WithServer):
    def test_the_blocks_that_need_scikit_learn_run(self):
        blocks = [block for page in pages() for block in page.blocks if block.language == "python" and block.needs == "scikit-learn"]
        self.assertTrue(blocks)
        for block in blocks:
            done = self.run_python("-c", block.text)
            self.assertEqual((done.returncode, done.stderr), (0, ""), block)


if __name__ == "__main__":
    unittest.main()
