"""Forests and trees that come back as scikit-learn's own objects, against a real server: its model and scikit-learn are the judges."""
import copy
import functools
import importlib.util
import pickle
import subprocess
import sys
import unittest
from unittest import mock

from sklearn_case import RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import sklearn.model_selection as stock  # noqa: E402
from kedge.sklearn import _draws, _trees  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_diabetes, load_digits  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, IsolationForest, RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.exceptions import DataConversionWarning  # noqa: E402
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402

CLASSIFIERS, REGRESSORS = (RandomForestClassifier, ExtraTreesClassifier), (RandomForestRegressor, ExtraTreesRegressor)


def state(forest):
    return {name: type(value) for name, value in vars(forest).items()}


class Forests(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits, cls.digit = load_digits(return_X_y=True)
        cls.numbers, cls.number = load_diabetes(return_X_y=True)

    def data(self, of):
        return (self.digits, np.array(list("klmnopqrst"))[self.digit]) if of in CLASSIFIERS else (self.numbers, self.number)

    def test_each_is_scikit_learns_object_to_the_last_attribute(self):
        for of in CLASSIFIERS + REGRESSORS:
            with self.subTest(of.__name__):
                X, y = self.data(of)
                forest = of(12, random_state=3, max_depth=9, max_features=0.5)
                theirs = clone(forest).fit(X, y)
                mine = self.call("fit", forest, X, y)
                without = {"_n_samples", "_sample_weight"} if of is RandomForestRegressor else set()   # draws of the server's
                self.assertEqual(state(mine), {name: type_ for name, type_ in state(theirs).items() if name not in without})
                for one, other in zip(mine.estimators_, theirs.estimators_, strict=True):
                    self.assertEqual(state(one), state(other))
                    self.assertEqual(one.random_state, other.random_state)
                    self.assertEqual(str(one.get_params()), str(other.get_params()))
                    self.assertLessEqual(one.get_depth(), 9)
                    self.assertEqual([one.tree_.__getstate__()[part].dtype for part in ("nodes", "values")],
                                     [other.tree_.__getstate__()[part].dtype for part in ("nodes", "values")])
                self.assertGreater(mine.score(X, y), 0.6)
                np.testing.assert_allclose(mine.feature_importances_.sum(), 1)
                self.assertGreater(np.corrcoef(mine.feature_importances_, theirs.feature_importances_)[0, 1], 0.8)
                self.assertEqual(hasattr(mine, "estimators_samples_"), of is not RandomForestRegressor)

    def test_answers_are_the_servers(self):
        X, y = self.digits.astype(np.float32), self.digit
        for of in CLASSIFIERS:
            forest = self.call("fit", of(10, random_state=1), X[:1200], y[:1200])
            model = self.server_model(of.__name__, X[:1200], y[:1200].astype(np.float32))
            self.check_equal(forest.predict_proba(X[1200:]), model.predict(X[1200:], output="predict_proba"))
            self.assertEqual(forest.predict(X[1200:]).tolist(), model.predict(X[1200:]).astype(float).astype(int).tolist())
            self.assertEqual(forest.classes_.dtype, y.dtype)
        X, y = self.numbers.astype(np.float32), self.number
        for of in REGRESSORS:
            forest, model = self.call("fit", of(10, random_state=1), X[:300], y[:300]), self.server_model(of.__name__, X[:300], y[:300])
            self.check_equal(forest.predict(X[300:]), model.predict(X[300:]))

    def server_model(self, name, X, y):
        data = self.session.dataset(X, y).select(dtype="float32")
        return self.session.submit(data, [{"estimator": name, "params": {"n_estimators": 10, "random_state": 1, "draws": "auto"}}], kedge.fit()).model()

    def check_equal(self, mine, theirs):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7)   # shares of classes are floats on the server

    def test_it_pickles_clones_copies_and_loads_where_kedge_is_not(self):
        X, y = self.digits, self.digit
        forest = self.call("fit", RandomForestClassifier(8, random_state=0), X, y)
        answers = forest.predict_proba(X)
        for again in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
            np.testing.assert_array_equal(again.predict_proba(X), answers)
        self.assertFalse(hasattr(clone(forest), "estimators_"))
        program = ("import pickle, sys; forest = pickle.load(sys.stdin.buffer); from sklearn.datasets import load_digits; "
                   "print(forest.score(*load_digits(return_X_y=True)), 'kedge' in sys.modules)")
        done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(forest), capture_output=True, cwd=self.folder.name)
        self.assertEqual(done.stdout.decode().split(), [str(forest.score(X, y)), "False"], done.stderr)

    def test_it_works_with_what_reads_trees(self):
        from sklearn.inspection import partial_dependence
        from sklearn.tree import export_text
        X, y = self.numbers, self.number
        forest = self.call("fit", RandomForestRegressor(5, random_state=0, max_depth=4), X, y)
        self.assertEqual(forest.apply(X).shape, (len(X), 5))
        self.assertEqual(forest.decision_path(X)[0].shape[0], len(X))
        self.assertIn("value", export_text(forest.estimators_[0]))
        self.assertEqual(partial_dependence(forest, X, [2], kind="average", method="recursion", grid_resolution=5)["average"].shape, (1, 5))
        forest.set_params(warm_start=True, n_estimators=7).fit(X, y)   # grows on, here
        self.assertEqual(len(forest.estimators_), 7)

    def test_rows_of_nodes(self):
        """Distinct rows with weights, that were drawn where rows are drawn."""
        X, y = self.digits, self.digit
        weights = np.arange(len(y)) % 3 / 2
        for of, more, n_rows in ((ExtraTreesClassifier, {}, len(y)), (ExtraTreesClassifier, {"sample_weight": weights}, (weights > 0).sum()),
                                 (RandomForestClassifier, {}, None), (RandomForestClassifier, {"sample_weight": weights}, None),
                                 (functools.partial(RandomForestClassifier, class_weight="balanced_subsample"), {}, None)):
            if of is RandomForestClassifier and more and RELEASE < (1, 9):   # whose weights do not draw: it stays here
                continue
            forest = self.call("fit", of(4, random_state=0), X, y, **more)
            every = X if not more else X[weights > 0]
            drawn = [X[np.unique(rows)] for rows in kedge.sklearn.estimators_samples(forest, len(y), **more)] if forest.bootstrap else [every] * 4
            for one, rows in zip(forest.estimators_, drawn, strict=True):
                tree = one.tree_
                inner = tree.children_left >= 0
                self.assertEqual(tree.n_node_samples[0], n_rows or len(rows))
                np.testing.assert_array_equal(tree.n_node_samples[inner], tree.n_node_samples[tree.children_left[inner]]
                                              + tree.n_node_samples[tree.children_right[inner]])
                reached = one.decision_path(rows.astype(np.float32)).sum(axis=0)
                np.testing.assert_array_equal(tree.n_node_samples, np.asarray(reached).ravel())

    def test_draws_are_the_servers(self):
        self.assertEqual([f"{word:08x}" for word in _draws.philox(0, 0, 1)[0].tolist()], ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"])   # Random123
        X, y = self.numbers, self.number
        forest = self.call("fit", RandomForestRegressor(8, random_state=4, max_samples=0.4), X, y)
        for one, rows in zip(forest.estimators_, kedge.sklearn.estimators_samples(forest, len(y)), strict=True):
            self.assertEqual(len(rows), int(0.4 * len(y)))
            leaf = one.apply(X[rows].astype(np.float32))
            np.testing.assert_array_equal(np.bincount(leaf, minlength=one.tree_.node_count)[leaf], one.tree_.weighted_n_node_samples[leaf])
        whole = self.call("fit", ExtraTreesRegressor(2, random_state=4), X, y)
        self.assertEqual([rows.tolist() for rows in kedge.sklearn.estimators_samples(whole, len(y))], [list(range(len(y)))] * 2)
        by_class = [RandomForestClassifier(2, random_state=0, class_weight="balanced")] if RELEASE >= (1, 9) else []   # before, it stays here
        for refused in (RandomForestClassifier(2), *by_class):
            with self.assertRaises(ValueError):
                kedge.sklearn.estimators_samples(self.call("fit", refused, X, y > 150), len(y))
        own = RandomForestClassifier(2, random_state=0).fit(self.X, self.y)
        np.testing.assert_array_equal(kedge.sklearn.estimators_samples(own, len(self.y)), own.estimators_samples_)

    def test_trees_are_scikit_learns_where_columns_have_few_values(self):
        X, y = self.digits, self.digit
        weights = np.arange(len(y)) % 3 / 2
        models = [(of(6, random_state=3), {}) for of in CLASSIFIERS + REGRESSORS]
        models += [(of(random_state=5), {}) for of in (DecisionTreeClassifier, DecisionTreeRegressor)]
        models += [(of(random_state=5, splitter="random", max_features=20), {}) for of in (DecisionTreeClassifier, DecisionTreeRegressor)]
        models += [(ExtraTreesRegressor(6, max_features=1, random_state=1), {}), (RandomForestRegressor(6, max_features=1.0, random_state=1), {})]   # one, all
        models += [(RandomForestClassifier(5, random_state=2**32 - 1, max_features=None, min_samples_leaf=3, max_depth=6), {}),
                   (RandomForestClassifier(5, random_state=0, max_leaf_nodes=30, max_samples=0.5, oob_score=True), {}),
                   (ExtraTreesClassifier(5, random_state=1, min_samples_split=9, min_impurity_decrease=1e-3), {"sample_weight": weights}),
                   (ExtraTreesClassifier(5, random_state=1, bootstrap=True, ccp_alpha=1e-3), {})]
        if RELEASE >= (1, 9):   # whose weights draw
            models += [(RandomForestClassifier(5, random_state=7), {"sample_weight": weights}), (RandomForestClassifier(5, random_state=7, class_weight="balanced"), {})]
        for model, more in models:
            with self.subTest(model=str(model), **more):
                theirs = clone(model).fit(X, y, **more)
                mine = self.call("fit", model, X, y, **more)
                if model.max_leaf_nodes is None:   # else scikit-learn numbers the nodes in another order
                    self.check_same_trees(mine, theirs)
                np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-12)
                self.assertEqual(getattr(mine, "oob_score_", None), getattr(theirs, "oob_score_", None))
                if getattr(mine, "bootstrap", False):
                    np.testing.assert_array_equal(mine.estimators_samples_, theirs.estimators_samples_)

    def check_same_trees(self, mine, theirs):
        ours, others = ([forest] if hasattr(forest, "tree_") else forest.estimators_ for forest in (mine, theirs))
        for one, other in zip(ours, others, strict=True):
            one, other = one.tree_, other.tree_
            for name in ("feature", "threshold", "children_left", "children_right", "n_node_samples", "weighted_n_node_samples"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
            np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-9, atol=1e-12)

    def test_a_search_scores_scikit_learns_trees(self):
        X, y = self.digits[:600], self.digit[:600]
        search = stock.GridSearchCV(RandomForestClassifier(random_state=0), {"n_estimators": [4, 9], "max_depth": [3, 8]}, cv=3)
        theirs, mine = clone(search).fit(X, y), self.call("fit", clone(search), X, y)
        for name in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(mine.cv_results_[name], theirs.cv_results_[name], rtol=1e-12)
        self.check_same_trees(mine.best_estimator_, theirs.best_estimator_)

    def without_rows(self):
        """What servers gave before they kept the rows of a forest's nodes."""
        members = kedge.Model.members
        return mock.patch.object(kedge.Model, "members", lambda model: [(name, value) for name, value in members(model) if name != "n_rows"])

    def test_an_older_server_does_not_say_the_rows_of_nodes(self):
        X, y = self.numbers, self.number > 150   # a column has more than 256 values
        for of, more in ((RandomForestClassifier, {}), (ExtraTreesClassifier, {}), (ExtraTreesClassifier, {"sample_weight": np.arange(len(y)) % 3 / 2})):
            now = self.call("fit", of(4, random_state=0), X, y, **more)
            with self.without_rows():
                before = self.call("fit", of(4, random_state=0), X, y, **more)
            for one, other in zip(now.estimators_, before.estimators_, strict=True):
                np.testing.assert_array_equal(one.tree_.n_node_samples, other.tree_.n_node_samples)

    def test_an_older_server_that_draws_otherwise_is_noticed(self):
        with self.without_rows(), mock.patch.object(_trees, "rows_of_tree", lambda seed, tree, n, *more: _draws.rows_of_tree(seed + 1, tree, n, *more)):
            forest = self.call("fit", RandomForestClassifier(3, random_state=0), self.digits, self.digit)
        for one in forest.estimators_:   # then it is the number of draws
            np.testing.assert_array_equal(one.tree_.n_node_samples, one.tree_.weighted_n_node_samples)

    def test_options(self):
        X, y = self.digits, self.digit
        for forest in (RandomForestClassifier(6, oob_score=True, bootstrap=True, random_state=0), RandomForestClassifier(6, max_samples=0.3),
                       ExtraTreesClassifier(6, class_weight="balanced"), RandomForestClassifier(6, class_weight="balanced_subsample", max_leaf_nodes=30),
                       RandomForestClassifier(6, criterion="entropy", ccp_alpha=0.01), RandomForestClassifier(1)):
            with self.subTest(str(forest)):
                theirs = quietly(clone(forest).fit, X, y)
                mine = self.call("fit", clone(forest), X, y)
                self.assertLess(abs(mine.score(X, y) - theirs.score(X, y)), 0.1)
                self.assertLess(abs(mine.estimators_[0].tree_.weighted_n_node_samples[0] - theirs.estimators_[0].tree_.weighted_n_node_samples[0]), 1e-6)
                if forest.oob_score:
                    self.assertEqual(mine.oob_decision_function_.shape, (len(y), 10))
                    self.assertLess(abs(mine.oob_score_ - theirs.oob_score_), 0.1)

    def test_labels_keep_their_order(self):
        """Those of more than ten classes, too, whose codes are in another order as texts."""
        X = np.repeat(np.arange(13.0), 8)[:, None] + [[0, 0]]
        y = np.repeat([f"label {i}" for i in range(13)], 8)
        forest = self.call("fit", ExtraTreesClassifier(5, random_state=0), X, y)
        self.assertEqual(forest.predict(X).tolist(), y.tolist())
        self.assertEqual(self.call("fit", DecisionTreeClassifier(), X, y).predict(X).tolist(), y.tolist())

    def test_one_class_and_trees_of_one_leaf(self):
        one = self.stays("has one class only", "fit", RandomForestClassifier(3), self.X, np.full(150, "a"))
        self.assertEqual(set(one.predict(self.X)), {"a"})
        flat = self.call("fit", RandomForestRegressor(3), np.ones((20, 2)), np.arange(20.0))
        self.assertEqual([tree.tree_.node_count for tree in flat.estimators_], [1, 1, 1])

    def test_a_sparse_matrix_and_a_frame(self):
        import scipy.sparse
        dense = self.call("fit", RandomForestClassifier(5, random_state=0), self.digits, self.digit)
        if RELEASE >= (1, 6):
            sparse = self.call("fit", RandomForestClassifier(5, random_state=0), scipy.sparse.csr_matrix(self.digits), self.digit)
            np.testing.assert_array_equal(sparse.predict_proba(self.digits), dense.predict_proba(self.digits))
        if importlib.util.find_spec("pandas"):
            import pandas as pd
            named = pd.DataFrame(self.digits, columns=[f"pixel {i}" for i in range(64)])
            framed = self.call("fit", RandomForestClassifier(5, random_state=0), named, self.digit)
            self.assertEqual(framed.feature_names_in_.tolist(), list(named.columns))
            np.testing.assert_array_equal(framed.predict_proba(named), dense.predict_proba(self.digits))

    def test_a_search_refits_on_the_server(self):
        before = self.n_jobs()
        search = self.call("fit", stock.GridSearchCV(RandomForestClassifier(random_state=0), {"n_estimators": [3, 9]}, cv=3), self.digits, self.digit)
        self.assertEqual(self.n_jobs(), before + 2)
        self.assertEqual(len(search.best_estimator_.estimators_), search.best_params_["n_estimators"])

    def test_seeds_are_drawn_as_scikit_learn_draws_them(self):
        def answers(seed):
            np.random.seed(seed)
            return self.call("fit", RandomForestClassifier(3), self.X, self.y).predict_proba(self.X).tolist()
        self.assertEqual(answers(1), answers(1))
        self.assertNotEqual(answers(1), answers(2))

    def test_a_column_of_values_is_taken_with_scikit_learns_warning(self):
        flat = self.call("fit", RandomForestRegressor(3, random_state=0), self.numbers, self.number)
        with self.assertWarnsRegex(DataConversionWarning, "A column-vector y was passed"):
            column = self.call("fit", RandomForestRegressor(3, random_state=0), self.numbers, self.number[:, None])
        np.testing.assert_array_equal(column.predict(self.numbers), flat.predict(self.numbers))

    def test_a_sparse_matrix_with_indices_of_64_bits_stays(self):
        import scipy.sparse
        X = scipy.sparse.csr_matrix(self.digits)
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        for model in (RandomForestClassifier(3), IsolationForest(n_estimators=3)):
            said = kedge.sklearn.explain(model, X, self.digit, session=self.session)
            self.assertFalse(said.goes)
            if RELEASE >= (1, 6):   # which says of an estimator whether it takes sparse matrices
                self.assertIn("indices of 64 bits", str(said))

    def test_missing_values_stay(self):
        X = self.X.copy()
        X[0, 0] = np.nan
        mine = self.stays("X holds NaN, which the server's trees refuse", "fit", RandomForestClassifier(3), X, self.y)
        self.assertEqual(len(mine.estimators_), 3)

    def test_explain_says_what_will_differ(self):
        said = str(kedge.sklearn.explain(RandomForestClassifier(), self.X, self.y, session=self.session))
        self.assertEqual(said, "goes to the server: one job, fit; estimators_samples_ only where no column has more than 256 values, else "
                         "kedge.sklearn.estimators_samples()")
        self.assertEqual(str(kedge.sklearn.explain(ExtraTreesClassifier(), self.X, self.y, session=self.session)), "goes to the server: one job, fit")

    def test_no_model_is_left_behind(self):
        self.call("fit", RandomForestClassifier(3), self.X, self.y)
        self.call("fit", DecisionTreeClassifier(), self.X, self.y)
        kept = len(list(self.session.models()))
        self.call("fit", RandomForestClassifier(3), self.X, self.y)
        self.assertEqual(len(list(self.session.models())), kept)

    def test_hostile_trees_are_refused(self):
        def changed(name, place, value):
            return [(member, np.concatenate([array[:place], [value], array[place + 1:]]) if member == name else array) for member, array in members]
        members = self.server_model("RandomForestClassifier", self.X, self.y.astype(float)).members()
        _trees.Nodes(members, 4, 3)
        n = len(dict(members)["feature"])
        offset = dict(members)["tree_offset"]
        for name, place, value in (("left", 0, n), ("left", 0, 0), ("left", 0, offset[1]), ("right", 0, 0), ("right", 0, 1), ("feature", 0, 4),
                                   ("feature", 0, -1), ("tree_offset", 0, 1), ("tree_offset", 1, 0), ("tree_offset", 10, n + 1)):
            with self.subTest(f"{name}[{place}] = {value}"), self.assertRaises(kedge.KedgeError) as caught:
                _trees.Nodes(changed(name, place, value), 4, 3)
            self.assertEqual(caught.exception.code, "BAD_DATA")
        for name in ("threshold", "value", "weight"):
            with self.assertRaises(kedge.KedgeError):
                _trees.Nodes([(member, array[:-1] if member == name else array) for member, array in members], 4, 3)


if __name__ == "__main__":
    unittest.main()
