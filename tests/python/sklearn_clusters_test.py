"""Fits of NMF, BisectingKMeans, Birch and OPTICS that come back as scikit-learn's own objects, beside scikit-learn's own fits: what they answer and
hold, and what they go on with where kedge is not."""
import pathlib
import pickle
import subprocess
import sys
import unittest

from sklearn_case import RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cluster import OPTICS, AgglomerativeClustering, Birch, BisectingKMeans  # noqa: E402
from sklearn.decomposition import NMF  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

ALONE = """
import pathlib, pickle, sys
sys.modules["kedge"] = None    # an import of it fails
import numpy as np
for model, X, answer in pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()):
    found = [getattr(model, name)(X) for name in ("predict", "transform") if hasattr(model, name)] or [model.labels_]
    for one, other in zip(found, answer, strict=True):
        np.testing.assert_array_equal(one, other)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X)
    print(type(model).__name__)
"""


def answer(model, X):
    return [getattr(model, name)(X) for name in ("predict", "transform") if hasattr(model, name)] or [model.labels_]


def nodes_of(tree):
    return [tree, *nodes_of(tree.left), *nodes_of(tree.right)] if tree.left is not None else [tree]


@unittest.skipIf(RELEASE < (1, 9), "the server computes as scikit-learn 1.9 does")
class Clusters(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.numbers = cls.X + 1e-3 * random.normal(size=cls.X.shape)   # no two rows are equal
        cls.groups = np.concatenate([random.normal(place, 0.3, (40, 3)) for place in ((0, 0, 0), (4, 0, 1), (0, 4, 2), (5, 5, 5))])[random.permutation(160)]
        cls.weights = random.integers(1, 4, 160).astype(float)

    def both(self, model, X, **more):
        """scikit-learn's fit and the server's, which has been pickled. They have the same attributes, of the same types."""
        theirs, mine = quietly(clone(model).fit, X, **more), pickle.loads(pickle.dumps(quietly(self.call, "fit", clone(model), X, **more)))
        self.assertEqual(set(vars(mine)), set(vars(theirs)))
        for name, value in vars(theirs).items():
            self.assertIs(type(getattr(mine, name)), type(value), name)
            if isinstance(value, np.ndarray):
                self.assertEqual(getattr(mine, name).dtype, value.dtype, name)
        return theirs, mine

    def test_parts(self):
        for options in ({}, {"n_components": 3, "init": "nndsvd"}, {"n_components": 2, "solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 2000},
                        {"n_components": 3, "alpha_W": 0.01, "l1_ratio": 0.5}, {"n_components": None, "init": "nndsvda"}):
            with self.subTest(str(options)):
                theirs, mine = self.both(NMF(**{"n_components": 2, "tol": 1e-8, "max_iter": 1000, **options}), self.numbers)
                self.assertEqual((mine.components_.shape, mine._n_components), (theirs.components_.shape, theirs._n_components))
                np.testing.assert_allclose(mine.reconstruction_err_, theirs.reconstruction_err_, rtol=1e-2)
                mine.components_, kept = theirs.components_, mine.components_
                np.testing.assert_allclose(mine.transform(self.numbers), theirs.transform(self.numbers), atol=1e-12)
                self.assertGreaterEqual(kept.min(), 0)
        theirs, mine = self.both(NMF(2), sparse.csr_matrix(self.numbers))
        np.testing.assert_allclose(mine.components_, theirs.components_, rtol=0.02, atol=0.02)
        self.stays("beta_loss is 'itakura-saito'", "fit", NMF(2, init="random", beta_loss="itakura-saito", solver="mu"), self.numbers)

    def test_parts_of_the_fit(self):
        """fit_transform() makes them for the components that came back."""
        model, before = NMF(2), self.n_jobs()
        kedge.sklearn.patch(self.session, policy="always", fallback="raise")
        try:
            found = quietly(model.fit_transform, self.numbers)
        finally:
            kedge.sklearn.unpatch()
        self.assertEqual(self.n_jobs(), before + 1)
        np.testing.assert_array_equal(found, quietly(model.transform, self.numbers))
        np.testing.assert_allclose(np.linalg.norm(found @ model.components_ - self.numbers), model.reconstruction_err_, rtol=1e-2)

    def test_what_parts_warn_of(self):
        with self.assertWarnsRegex(ConvergenceWarning, "Maximum number of iterations 2 reached"):
            self.call("fit", NMF(2, max_iter=2), self.numbers)
        with self.assertWarnsRegex(UserWarning, "cannot update zeros") as caught:
            self.call("fit", NMF(2, solver="mu", init="nndsvd"), self.numbers)
        self.assertEqual(sum("nndsvd" in str(one.message) for one in caught.warnings), 1)

    def test_divisions(self):
        for options in ({}, {"bisecting_strategy": "largest_cluster"}, {"init": "k-means++", "n_init": 3}, {"algorithm": "elkan", "n_clusters": 7},
                        {"n_clusters": 1}):
            for weights in (None, self.weights):
                with self.subTest(f"{options}, {weights is not None}"):
                    theirs, mine = self.both(BisectingKMeans(**{"n_clusters": 4, "random_state": 0, **options}), self.groups, sample_weight=weights)
                    np.testing.assert_array_equal(mine.predict(self.groups), mine.labels_)
                    self.compare_divisions(theirs, mine, self.groups)
        theirs, mine = self.both(BisectingKMeans(4, random_state=0), sparse.csr_matrix(self.groups))
        self.compare_divisions(theirs, mine, sparse.csr_matrix(self.groups + 1))
        self.stays("init is", "fit", BisectingKMeans(2, init=lambda X, n_clusters, random_state: X[:2]), self.groups)

    def compare_divisions(self, theirs, mine, X):
        np.testing.assert_array_equal(mine.labels_, theirs.labels_)
        np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
        for name in ("cluster_centers_", "inertia_"):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.transform(X), theirs.transform(X), atol=1e-9)
        for one, other in zip(nodes_of(mine._bisecting_tree), nodes_of(theirs._bisecting_tree), strict=True):
            self.assertEqual(set(vars(one)), set(vars(other)))
            self.assertEqual((getattr(one, "label", None), type(one.score)), (getattr(other, "label", None), type(other.score)))
            np.testing.assert_allclose(one.center, np.ravel(other.center), atol=1e-9)
            np.testing.assert_allclose(one.score, other.score, rtol=1e-9)

    def test_subclusters(self):
        for options in ({}, {"n_clusters": None}, {"threshold": 0.2, "branching_factor": 4}, {"threshold": 0.1, "branching_factor": 3, "n_clusters": 5},
                        {"compute_labels": False}):
            for X in (self.groups, sparse.csr_matrix(self.groups)):
                with self.subTest(f"{options}, {type(X).__name__}"):
                    theirs, mine = self.both(Birch(**options), X)
                    # The halves of a node that is divided may stand in another order.
                    order, wanted = (np.lexsort(one.subcluster_centers_.T) for one in (mine, theirs))
                    np.testing.assert_allclose(mine.subcluster_centers_[order], theirs.subcluster_centers_[wanted], atol=1e-9)
                    np.testing.assert_allclose(mine.transform(X)[:, order], theirs.transform(X)[:, wanted], atol=1e-6)
                    self.assertEqual(adjusted_rand_score(mine.predict(X), theirs.predict(X)), 1)
                    if mine.compute_labels:
                        np.testing.assert_array_equal(mine.labels_, mine.predict(X))
        self.stays("n_clusters is AgglomerativeClustering", "fit", Birch(n_clusters=AgglomerativeClustering(2)), self.groups)
        with self.assertWarnsRegex(ConvergenceWarning, r"Number of subclusters found \(2\) by BIRCH is less than \(3\)"):
            self.call("fit", Birch(), np.repeat([[0.0, 0.0], [9.0, 9.0]], 5, axis=0))

    def test_more_rows_for_subclusters(self):
        """partial_fit() goes on from a tree like scikit-learn's own."""
        for threshold, branching_factor in ((1.5, 50), (0.2, 4), (0.1, 3)):
            model = Birch(threshold=threshold, branching_factor=branching_factor)
            theirs, mine = clone(model).fit(self.groups), self.call("fit", model, self.groups)   # not pickled: scikit-learn's nodes lose their views by it
            for model in (theirs, mine):
                self.check_tree(model.root_, branching_factor)
            counts = [[one.n_samples_ for leaf in model._get_leaves() for one in leaf.subclusters_] for model in (theirs, mine)]
            self.assertEqual([sum(one) for one in counts], [160, 160])
            np.testing.assert_array_equal(np.concatenate([leaf.centroids_ for leaf in mine._get_leaves()]), mine.subcluster_centers_)
            more = self.groups[:40] + 0.01
            for model in (theirs, mine):
                model.partial_fit(more)
            self.assertEqual(sum(one.n_samples_ for one in mine.root_.subclusters_), 200)
            if threshold == 1.5:   # subclusters so far apart that their rows are the nearest ones
                self.assertEqual(sorted(counts[1]), sorted(counts[0]))
                order, wanted = (np.lexsort(one.subcluster_centers_.T) for one in (mine, theirs))
                np.testing.assert_allclose(mine.subcluster_centers_[order], theirs.subcluster_centers_[wanted], atol=1e-9)
                self.assertEqual(adjusted_rand_score(mine.predict(more), theirs.predict(more)), 1)

    def check_tree(self, node, width):
        """No node is too wide, and each subcluster holds what is below it."""
        self.assertLessEqual(len(node.subclusters_), width)
        for place, one in enumerate(node.subclusters_):
            np.testing.assert_allclose(node.centroids_[place], one.linear_sum_ / one.n_samples_, atol=1e-9)
            self.assertLessEqual(one.sq_norm_, one.squared_sum_ / one.n_samples_ + 1e-9)
            self.assertEqual(one.child_ is None, node.is_leaf)
            if one.child_ is not None:
                below = one.child_.subclusters_
                self.assertEqual(sum(part.n_samples_ for part in below), one.n_samples_)
                np.testing.assert_allclose([one.linear_sum_, one.squared_sum_ + 0 * one.linear_sum_],
                                           [sum(part.linear_sum_ for part in below), sum(part.squared_sum_ for part in below) + 0 * one.linear_sum_], atol=1e-9)
                self.check_tree(one.child_, width)

    def test_an_order_of_rows(self):
        for options in ({}, {"min_samples": 0.1, "xi": 0.1}, {"min_samples": 3, "min_cluster_size": 10, "predecessor_correction": False},
                        {"cluster_method": "dbscan", "eps": 0.5}, {"max_eps": 0.4}, {"metric": "manhattan"},
                        {"max_eps": 1e-9}, {"cluster_method": "dbscan", "max_eps": 0.6}):
            with self.subTest(str(options)):
                theirs, mine = self.both(OPTICS(**options), self.groups[:80])
                for name in ("ordering_", "labels_", "predecessor_", *(["cluster_hierarchy_"] if mine.cluster_method == "xi" else [])):
                    np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
                    self.assertEqual(getattr(mine, name).shape, getattr(theirs, name).shape)
                for name in ("reachability_", "core_distances_"):
                    np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9, err_msg=name)
        with self.assertWarnsRegex(UserWarning, "All reachability values are inf"):
            self.call("fit", OPTICS(max_eps=1e-9), self.groups)
        self.stays("metric is 'canberra'", "fit", OPTICS(metric="canberra"), self.groups)
        with self.assertRaisesRegex(kedge.KedgeError, "min_samples is 1100 rows, the server looks for 1024"):
            self.call("fit", OPTICS(min_samples=1100), np.random.default_rng(0).normal(size=(1200, 2)))

    def test_they_answer_where_kedge_is_not(self):
        wanted = [(NMF(2), self.numbers), (BisectingKMeans(3, random_state=0), self.groups), (Birch(), self.groups), (OPTICS(), self.groups)]
        fitted = [(quietly(self.call, "fit", model, X), X) for model, X in wanted]
        file = pathlib.Path(self.folder.name) / "models.pkl"
        file.write_bytes(pickle.dumps([(model, X, quietly(answer, model, X)) for model, X in fitted]))
        done = subprocess.run([sys.executable, "-c", ALONE, str(file)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [type(model).__name__ for model, _ in wanted]), done.stderr)


if __name__ == "__main__":
    unittest.main()
