"""Functions and searches of kedge.sklearn against a real server, with scikit-learn itself as the judge: they give the same answers."""
import importlib.util
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest
import warnings
from unittest import mock

from sklearn_case import ITERATIVE, RELEASE, WithServer, quietly
from kedge_server import BIN, Kedged, wait_for
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import sklearn.model_selection as stock  # noqa: E402
from kedge.sklearn import _jobs  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer, make_column_selector  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import f1_score, fbeta_score, make_scorer  # noqa: E402
from sklearn.model_selection import _validation  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.semi_supervised import LabelPropagation  # noqa: E402


class Functions(WithServer):
    def test_each_splitter_gives_scikit_learns_scores(self):
        groups = np.arange(len(self.y)) % 7
        halves = [(np.arange(75), np.arange(75, 150)), (np.arange(75, 150), np.arange(75))]
        for cv in (None, 3, stock.KFold(4), stock.KFold(4, shuffle=True, random_state=1), stock.StratifiedKFold(3, shuffle=True, random_state=2),
                   stock.StratifiedKFold(3, shuffle=True), stock.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
                   stock.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), stock.ShuffleSplit(3, random_state=1),
                   stock.StratifiedShuffleSplit(3, test_size=30, random_state=1), stock.TimeSeriesSplit(4, gap=2), stock.GroupKFold(3),
                   stock.LeaveOneGroupOut(), stock.PredefinedSplit(groups), halves, iter(halves)):
            with self.subTest(cv=str(cv)[:60]):
                named = {"cv": cv, "return_train_score": True, "groups": groups}
                np.random.seed(0)
                mine = quietly(self.call, "cross_validate", self.knn, self.X, self.y, **named)
                np.random.seed(0)
                theirs = quietly(stock.cross_validate, self.knn, self.X, self.y, **{**named, "cv": halves if hasattr(cv, "__next__") else cv})
                self.assertEqual(list(mine), list(theirs))
                for part in ("test_score", "train_score"):
                    np.testing.assert_array_equal(mine[part], theirs[part])

    def test_scorers_go_by_name_or_as_objects(self):
        X, y = load_breast_cancer(return_X_y=True)
        scoring = {"a": "accuracy", "f": "f1", "g": make_scorer(f1_score, average="macro")}
        mine = self.call("cross_validate", GaussianNB(), X, y, scoring=scoring)
        theirs = stock.cross_validate(GaussianNB(), X, y, scoring=scoring)
        for name in ("test_a", "test_f", "test_g"):
            np.testing.assert_allclose(mine[name], theirs[name], rtol=ITERATIVE)

    def test_regression_text_labels_lists_and_sparse_matrices(self):
        import scipy.sparse
        X, y = load_diabetes(return_X_y=True)
        np.testing.assert_allclose(self.call("cross_val_score", Ridge(), X, y), stock.cross_val_score(Ridge(), X, y), rtol=ITERATIVE)
        texts = np.array(["b", "10", "9"])[self.y]
        matrices = [self.X, self.X.tolist(), np.asfortranarray(self.X)] + ([scipy.sparse.csr_matrix(self.X)] if RELEASE >= (1, 6) else [])
        for given in matrices:
            model = KNeighborsClassifier(algorithm="brute")
            np.testing.assert_array_equal(self.call("cross_val_score", model, given, texts), stock.cross_val_score(model, given, texts))

    def test_predictions_of_folds(self):
        labels = np.array(["x", "w", "z"])[self.y]
        model = make_pipeline(StandardScaler(), LogisticRegression())
        for method in ("predict", "predict_proba", "decision_function"):
            mine = self.call("cross_val_predict", model, self.X, labels, cv=3, method=method)
            theirs = stock.cross_val_predict(model, self.X, labels, cv=3, method=method)
            self.assertEqual(mine.dtype.kind, theirs.dtype.kind)
            if method == "predict":
                np.testing.assert_array_equal(mine, theirs)
            else:
                np.testing.assert_allclose(mine, theirs, rtol=1e-4)   # lbfgs of two makers, each to tol = 1e-4
        X, y = load_diabetes(return_X_y=True)
        mine, theirs = self.call("cross_val_predict", LinearRegression(), X, y), stock.cross_val_predict(LinearRegression(), X, y)
        np.testing.assert_allclose(mine, theirs, rtol=1e-7)

    def test_a_validation_curve_is_one_job(self):
        before = self.n_jobs()
        named = {"param_name": "kneighborsclassifier__n_neighbors", "param_range": np.array([1, 3, 9]), "cv": 3}
        mine = self.call("validation_curve", self.knn, self.X, self.y, **named)
        self.assertEqual(self.n_jobs(), before + 1)
        for one, other in zip(mine, stock.validation_curve(self.knn, self.X, self.y, **named)):
            np.testing.assert_array_equal(one, other)

    def test_equal_data_goes_up_once(self):
        X = np.random.default_rng(3).normal(size=(60, 3))
        y = np.arange(60) % 2
        before = len(self.session.datasets())
        for model in (GaussianNB(), KNeighborsClassifier(), self.knn):
            self.call("cross_val_score", model, X, y)
        self.assertEqual(len(self.session.datasets()), before + 1)

    def test_seeds_are_drawn_as_the_program_says(self):
        def score(model, seed):
            np.random.seed(seed)
            return self.call("cross_val_score", model, X, y, cv=3, scoring="neg_log_loss").tolist()
        X, y = load_breast_cancer(return_X_y=True)
        forest = RandomForestClassifier(n_estimators=5)
        self.assertEqual(score(forest, 1), score(forest, 1))
        self.assertNotEqual(score(forest, 1), score(forest, 2))
        generator = np.random.RandomState(5)
        before = generator.get_state()[1].tolist(), generator.get_state()[2]
        self.assertEqual(*(score(RandomForestClassifier(n_estimators=5, random_state=generator), seed) for seed in (1, 2)))
        self.assertEqual((generator.get_state()[1].tolist(), generator.get_state()[2]), before)   # a copy of the estimator is fitted
        np.random.seed(4)
        self.call("cross_val_score", GaussianNB(), X, y)
        drawn = np.random.random()
        np.random.seed(4)
        self.assertEqual(np.random.random(), drawn)   # what is not random draws nothing


class Frames(WithServer):
    def table(self):
        import pandas as pd
        random = np.random.default_rng(1)
        n = 200
        color = pd.Series(random.choice(["red", "green", " NA", "1"], n))
        frame = pd.DataFrame({"age": random.integers(18, 80, n).astype(float), "color": color, "rooms": random.integers(1, 5, n),
                              "kind": pd.Categorical(random.choice(["b", "a"], n))})
        frame.loc[::9, "age"] = np.nan
        return frame, np.where((frame["age"] > 40) ^ (color == "red"), "yes", "no")

    def pipeline(self, *columns):
        numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        texts = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
        return make_pipeline(ColumnTransformer([("n", numbers, columns[0]), ("c", texts, columns[1])]), GaussianNB())

    def test_a_column_transformer_on_texts_and_missing_cells(self):
        if not importlib.util.find_spec("pandas"):
            self.skipTest("pandas is not installed")
        frame, y = self.table()
        for columns in ((["age", "rooms"], ["color", "kind"]), ([0, 2], slice(1, 4, 2)), ([True, False, True, False], [-1, 1]),
                        (make_column_selector(dtype_include=np.number), make_column_selector(dtype_exclude=np.number))):
            with self.subTest(columns=str(columns)[:50]):
                model = self.pipeline(*columns)
                named = {"cv": 4, "scoring": "neg_log_loss"}
                mine, theirs = self.call("cross_val_score", model, frame, y, **named), stock.cross_val_score(model, frame, y, **named)
                np.testing.assert_allclose(mine, theirs, rtol=ITERATIVE)

    def test_a_frame_of_numbers_chosen_by_name(self):
        if not importlib.util.find_spec("pandas"):
            self.skipTest("pandas is not installed")
        import pandas as pd
        frame = pd.DataFrame(self.X, columns=list("abcd"))
        model = make_pipeline(ColumnTransformer([("s", StandardScaler(), ["d", "a"])], remainder="passthrough"), KNeighborsClassifier())
        np.testing.assert_array_equal(self.call("cross_val_score", model, frame, self.y), stock.cross_val_score(model, frame, self.y))

    def test_objects_in_a_column_stay(self):
        if not importlib.util.find_spec("pandas"):
            self.skipTest("pandas is not installed")
        import pandas as pd
        frame = pd.DataFrame({"a": [1, "x"] * 30, "b": np.arange(60)})
        model = make_pipeline(ColumnTransformer([("s", StandardScaler(), ["b"])]), KNeighborsClassifier())
        mine = self.stays("column 'a' holds objects (int, str)", "cross_val_score", model, frame, np.arange(60) % 2)
        np.testing.assert_array_equal(mine, stock.cross_val_score(model, frame, np.arange(60) % 2))


class Searches(WithServer):
    def both(self, search, X=None, y=None):
        X, y = (self.X, self.y) if X is None else (X, y)
        theirs = clone(search).fit(X, y)
        self.assertIs(self.call("fit", search, X, y), search)
        self.assertEqual(sorted(vars(search)), sorted(vars(theirs)))
        self.assertEqual(list(search.cv_results_), list(theirs.cv_results_))
        for name, values in theirs.cv_results_.items():
            if "_time" not in name:
                mine = search.cv_results_[name]
                self.assertIs(type(mine), type(values), name)
                self.assertEqual(str(mine), str(values), name)
        for name in ("best_index_", "n_splits_", "multimetric_"):
            self.assertEqual(getattr(search, name), getattr(theirs, name))
        self.assertEqual(str(search.best_params_), str(theirs.best_params_))
        return search, theirs

    def test_a_grid_with_steps_is_one_job_and_all_attributes_are_scikit_learns(self):
        grid = [{"kneighborsclassifier__n_neighbors": [1, 3]},
                {"kneighborsclassifier": [GaussianNB(), KNeighborsClassifier(7)], "standardscaler": ["passthrough", MinMaxScaler(), None]}]
        before = self.n_jobs()
        scoring = ["accuracy", "f1_macro"]
        search, theirs = self.both(stock.GridSearchCV(self.knn, grid, cv=3, scoring=scoring, refit="f1_macro", return_train_score=True))
        self.assertEqual(self.n_jobs(), before + 1)
        np.testing.assert_array_equal(search.predict(self.X), theirs.predict(self.X))

    def test_a_single_estimator_texts_as_labels_and_a_refit_by_a_function(self):
        labels = np.array(["x", "w", "z"])[self.y]
        grid = {"n_neighbors": [1, 5], "weights": ["uniform", "distance"]}
        search, theirs = self.both(stock.GridSearchCV(KNeighborsClassifier(), grid, refit=lambda results: 2), self.X, labels)
        self.assertEqual(search.classes_.tolist(), theirs.classes_.tolist())

    def test_a_randomized_search_draws_here(self):
        import scipy.stats
        search = stock.RandomizedSearchCV(self.knn, {"kneighborsclassifier__n_neighbors": scipy.stats.randint(1, 20)}, n_iter=6, random_state=3)
        self.both(search)

    def test_one_candidate(self):
        self.both(stock.GridSearchCV(self.knn, {"kneighborsclassifier__n_neighbors": [3]}, refit=False))

    def test_nested_names_of_a_column_transformer(self):
        columns = ColumnTransformer([("s", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]), ("m", MinMaxScaler(), [2, 3])])
        grid = {"columntransformer__s__simpleimputer__strategy": ["mean", "median"], "columntransformer__m": ["drop", "passthrough"]}
        self.both(stock.GridSearchCV(make_pipeline(columns, GaussianNB()), grid))

    def test_a_candidate_that_fails_is_scikit_learns_own_failure(self):
        search = stock.GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 500]})
        found = self.stays("the server could not do it", "fit", search, self.X, self.y)
        self.assertTrue(np.isnan(found.cv_results_["mean_test_score"][1]))


class WhatStays(WithServer):
    def check(self, reason, model=None, X=None, y=None, **named):
        model, X, y = model if model is not None else self.knn, self.X if X is None else X, self.y if y is None else y
        before = self.n_jobs()
        mine = self.stays(reason, "cross_val_score", model, X, y, **named)
        self.assertEqual(self.n_jobs(), before)
        np.testing.assert_array_equal(mine, quietly(stock.cross_val_score, model, X, y, **named))

    def test_with_its_reason(self):
        class Mine(KNeighborsClassifier):
            pass
        self.check("the server has no LabelPropagation", LabelPropagation())
        self.check("Mine is a class of", Mine())
        self.check("is a function of the program's own", scoring=lambda model, X, y: 0.5)
        self.check("the server has no scorer", scoring=make_scorer(fbeta_score, beta=2, average="macro"))
        self.check("KNeighborsClassifier: weights is <lambda>", KNeighborsClassifier(weights=lambda d: d + 1))
        with self.assertRaises(ValueError):
            self.stays("X holds complex", "cross_val_score", LinearRegression(), self.X + 0j, self.y, error_score=0)
        with self.assertRaises(ValueError):
            self.stays("X has 3 dimensions", "cross_val_score", self.knn, self.X[:, :, None], self.y)
        self.check("integers beyond 2^53", X=np.full((150, 2), 2 ** 60) + np.arange(2), y=self.y)
        with self.assertRaisesRegex(ValueError, "infinity"):
            self.stays("X holds infinite values", "cross_val_score", self.knn, np.where(self.X > 2, np.inf, self.X), self.y)
        self.check("label 1", GaussianNB(), self.X[self.y > 0], self.y[self.y > 0] + 1, scoring="average_precision")

    def test_what_scikit_learn_refuses_it_refuses(self):
        X = self.X.copy()
        X[0, 0] = np.nan
        with self.assertRaisesRegex(ValueError, "Input X contains NaN"):
            self.stays("", "cross_val_score", self.knn, X, self.y, error_score="raise")
        with self.assertRaisesRegex(ValueError, "n_neighbors"):
            quietly(kedge.sklearn.cross_val_score, KNeighborsClassifier(n_neighbors=-1), self.X, self.y, session=self.session, error_score="raise")
        with self.assertRaisesRegex(ValueError, "inconsistent numbers of samples"):
            self.call("cross_val_score", self.knn, self.X, self.y[:-1])
        with self.assertRaisesRegex(TypeError, "no_such_argument"):
            self.call("cross_val_score", self.knn, self.X, self.y, no_such_argument=1)
        with self.assertRaisesRegex(ValueError, "0 sample|n_splits"):
            self.call("cross_val_score", self.knn, self.X[:0], self.y[:0])

    def test_raise_and_silent(self):
        with self.assertRaises(kedge.KedgeError) as caught:
            self.call("cross_val_score", LabelPropagation(), self.X, self.y)
        self.assertEqual(caught.exception.code, "STAYS_LOCAL")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kedge.sklearn.cross_val_score(KNeighborsClassifier(weights=lambda d: d + 1), self.X, self.y, session=self.session, fallback="silent")
        with self.assertRaisesRegex(kedge.KedgeError, "fallback is 'never', must be one of warn, raise, silent"):
            kedge.sklearn.cross_val_score(self.knn, self.X, self.y, session=self.session, fallback="never")

    def test_scikit_learn_is_as_it_was(self):
        before = _validation.Parallel
        self.call("cross_val_score", self.knn, self.X, self.y)
        self.assertIs(_validation.Parallel, before)


class ServersThatFail(unittest.TestCase):
    def setUp(self):
        self.X, self.y = load_iris(return_X_y=True)

    def test_a_server_that_is_gone(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            session = kedge.connect(f"http://127.0.0.1:{free.getsockname()[1]}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mine = kedge.sklearn.cross_val_score(GaussianNB(), self.X, self.y, session=session)
        self.assertIn("is kedged running there?", str(caught[-1].message))
        np.testing.assert_array_equal(mine, stock.cross_val_score(GaussianNB(), self.X, self.y))
        with self.assertRaises(kedge.ConnectionFailed):
            kedge.sklearn.cross_val_score(GaussianNB(), self.X, self.y, session=session, fallback="raise")

    def test_a_server_that_restarts_in_the_middle(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder)
            self.addCleanup(server.stop)
            session, scores = kedge.connect(server.url), []
            forest = RandomForestClassifier(3000, random_state=0)
            work = threading.Thread(daemon=True, target=lambda: scores.extend(
                kedge.sklearn.cross_val_score(forest, self.X, self.y, session=session, cv=3, fallback="raise")))
            work.start()
            wait_for(lambda: any(job["state"] == "running" for job in session.jobs()), 60, "the job's begin")
            server.kill()
            server.listen = f"127.0.0.1:{server.url.rsplit(':', 1)[1]}"
            server.start()
            work.join(120)
            self.assertEqual(len(scores), 3)
            self.assertEqual((len(list(session.jobs())), len(session.datasets())), (1, 1))

    def test_a_user_who_leaves_is_told_where_the_job_is(self):
        job = mock.Mock(id="job_1", **{"result.side_effect": KeyboardInterrupt})
        with self.assertLogs("kedge.sklearn", "WARNING") as said, self.assertRaises(KeyboardInterrupt):
            _jobs.run(kedge.connect("http://127.0.0.1:1"), job)
        self.assertIn("job_1 goes on; kedge.connect('http://127.0.0.1:1').job('job_1') finds it", said.output[0])

    def test_a_wrong_token_is_for_the_user_to_mend(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BIN / "kedged", "token", "create", "--data-dir", pathlib.Path(folder) / "state"], capture_output=True, check=True)
            server = Kedged(folder)
            try:
                with self.assertRaises(kedge.KedgeError) as caught:
                    kedge.sklearn.cross_val_score(GaussianNB(), self.X, self.y, session=kedge.connect(server.url, "wrong"))
                self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main()
