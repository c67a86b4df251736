"""Fits of imputers, encoders and graphs of rows that come back as scikit-learn's own objects: the same answers as scikit-learn's own fits, what stays, and
objects that answer in a process where Kedge cannot be imported."""
import pathlib
import pickle
import subprocess
import sys
import unittest

from sklearn_case import RELEASE, WithServer, quietly
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.cluster import SpectralClustering  # noqa: E402
from sklearn.experimental import enable_iterative_imputer  # noqa: E402, F401
from sklearn.impute import IterativeImputer  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.manifold import SpectralEmbedding  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import TargetEncoder  # noqa: E402

ALONE = """
import pathlib, pickle, sys
sys.modules["kedge"] = None    # an import of it fails
import numpy as np
for model, X, answer in pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()):
    np.testing.assert_array_equal(model.transform(X) if hasattr(model, "transform") else model.affinity_matrix_.sum(axis=1), answer)
    print(type(model).__name__)
"""


def answer(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.affinity_matrix_.sum(axis=1)


@unittest.skipIf(RELEASE < (1, 9), "the server computes as scikit-learn 1.9 does")
class Cells(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.numbers = cls.X + 1e-3 * random.normal(size=cls.X.shape)   # no two rows are equal
        cls.gaps = np.where(random.random(cls.X.shape) < 0.2, np.nan, cls.numbers)
        cls.kinds = random.integers(0, 5, (150, 3))
        cls.labels = np.array(["c", "a", "b"])[cls.y]

    def both(self, model, X, y=None):
        """scikit-learn's fit and the server's, which has been pickled. They have the same attributes, of the same types."""
        theirs, mine = quietly(clone(model).fit, X, y), pickle.loads(pickle.dumps(quietly(self.call, "fit", clone(model), X, y)))
        self.assertEqual(set(vars(mine)), set(vars(theirs)))
        for name, value in vars(theirs).items():
            self.assertIs(type(getattr(mine, name)), type(value), name)
            if isinstance(value, np.ndarray):
                self.assertEqual((getattr(mine, name).dtype, getattr(mine, name).shape), (value.dtype, value.shape), name)
        return theirs, mine

    def test_an_imputer_by_regressions(self):
        for options in ({}, {"add_indicator": True}, {"min_value": 0, "max_value": [3, 4, 5, 6]}, {"n_nearest_features": 2, "random_state": 0},
                        {"imputation_order": "random", "random_state": 1}, {"max_iter": 0}, {"skip_complete": True}, {"tol": 0.1}):
            with self.subTest(str(options)):
                theirs, mine = self.both(IterativeImputer(**options), self.gaps)
                np.testing.assert_allclose(mine.transform(self.gaps), theirs.transform(self.gaps), atol=1e-9)
                self.assertEqual([one.feat_idx for one in mine.imputation_sequence_], [one.feat_idx for one in theirs.imputation_sequence_])
                self.assertEqual(mine.get_feature_names_out().tolist(), theirs.get_feature_names_out().tolist())
        empty = np.column_stack([np.full(150, np.nan), self.gaps])
        for keep in (True, False):
            theirs, mine = self.both(IterativeImputer(keep_empty_features=keep), empty)
            np.testing.assert_allclose(mine.transform(empty), theirs.transform(empty), atol=1e-9)
        model = IterativeImputer()
        np.testing.assert_allclose(self.patched(lambda: quietly(model.fit_transform, self.gaps)), quietly(clone(model).fit_transform, self.gaps), atol=1e-9)
        self.stays("estimator is KNeighborsRegressor", "fit", IterativeImputer(KNeighborsRegressor(), max_iter=1), self.gaps)
        self.stays("sample_posterior", "fit", IterativeImputer(sample_posterior=True, max_iter=1), self.gaps)

    def patched(self, function):
        """With fits on the server. One job more must be there."""
        before = self.n_jobs()
        kedge.sklearn.patch(self.session, policy="always", fallback="raise")
        try:
            found = function()
        finally:
            kedge.sklearn.unpatch()
        self.assertEqual(self.n_jobs(), before + 1)
        return found

    def test_an_encoder_by_the_target(self):
        for X in (self.kinds, self.kinds.astype(float), np.where(self.kinds == 2, np.nan, self.kinds)):
            for y in (self.labels, self.labels == "a", self.numbers[:, 0]):
                with self.subTest(f"{X.dtype}, {y.dtype}"):
                    theirs, mine = self.both(TargetEncoder(), X, y)
                    np.testing.assert_allclose(mine.transform(X), theirs.transform(X), atol=1e-12)
                    np.testing.assert_allclose(mine.transform(X + 1), theirs.transform(X + 1), atol=1e-12)   # some categories are unknown
                    for one, other in zip(mine.categories_, theirs.categories_, strict=True):
                        self.assertEqual(one.dtype, other.dtype)
                        np.testing.assert_array_equal(one, other)
                    self.assertEqual(list(mine.get_feature_names_out()), list(theirs.get_feature_names_out()))
        with self.assertWarnsRegex(kedge.sklearn.NotSent, "y is multiclass-multioutput"), self.assertRaisesRegex(ValueError, "multiclass-multioutput"):
            kedge.sklearn.fit(TargetEncoder(), self.kinds, self.kinds, session=self.session)
        self.stays("and y has 3 classes", "fit", TargetEncoder(target_type="binary"), self.kinds, self.y)
        self.stays("that the given ones lack", "fit", TargetEncoder(categories=[list(range(5))] * 3), self.kinds, self.y)

    def test_an_encoder_of_texts(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        X = pandas.DataFrame({"place": np.array(["b", "a", "é"])[self.kinds[:, 0] % 3], "kind": self.kinds[:, 1]})
        theirs, mine = self.both(TargetEncoder(smooth=3), X, self.labels)
        np.testing.assert_allclose(mine.transform(X), theirs.transform(X), atol=1e-12)
        self.assertEqual([one.tolist() for one in mine.categories_], [one.tolist() for one in theirs.categories_])
        self.stays("texts and missing values", "fit", TargetEncoder(), X.assign(place=X.place.where(X.kind > 1)), self.labels)

    def test_an_encoder_fits_and_transforms_here(self):
        """Each part of the rows by the others, which the model does not have."""
        before, model = self.n_jobs(), TargetEncoder(cv=3)
        kedge.sklearn.patch(self.session, policy="always", fallback="silent")
        try:
            with self.assertLogs("kedge.sklearn", "INFO") as said:
                np.random.seed(0)
                found = model.fit_transform(self.kinds, self.y)
        finally:
            kedge.sklearn.unpatch()
        np.random.seed(0)
        np.testing.assert_allclose(found, clone(model).fit_transform(self.kinds, self.y))
        self.assertEqual(self.n_jobs(), before)
        self.assertIn("encodes each part of the rows by the others", said.output[0])

    def test_an_encoder_within_cross_validation(self):
        """In a batch, where scikit-learn's own value for what is deprecated must not be sent."""
        before, model = self.n_jobs(), make_pipeline(TargetEncoder(cv=3), Ridge())
        found = self.call("cross_val_score", model, self.kinds, self.numbers[:, 0], cv=3)
        self.assertEqual((found.shape, self.n_jobs()), ((3,), before + 1))
        np.testing.assert_allclose(found, cross_val_score(model, self.kinds, self.numbers[:, 0], cv=3), atol=0.2)   # folds are drawn

    def test_clusters_of_a_graph(self):
        affinities = np.exp(-((self.numbers[:, None] - self.numbers[None]) ** 2).sum(axis=2))
        for options in ({}, {"assign_labels": "discretize"}, {"assign_labels": "cluster_qr"}, {"affinity": "nearest_neighbors"},
                        {"affinity": "laplacian", "gamma": 0.5}, {"affinity": "precomputed"}):
            with self.subTest(str(options)):
                X = affinities if options.get("affinity") == "precomputed" else self.numbers
                theirs, mine = self.both(SpectralClustering(3, random_state=0, **options), X)
                np.testing.assert_array_equal(mine.labels_, theirs.labels_)
                self.assertEqual(abs(mine.affinity_matrix_ - theirs.affinity_matrix_).max(), 0)
        with self.assertWarnsRegex(UserWarning, "not symmetric"):
            self.call("fit", SpectralClustering(3, affinity="precomputed", random_state=0), affinities + np.triu(affinities, 1))
        self.stays("X is a square", "fit", SpectralClustering(2, random_state=0), self.numbers[:4, :4])

    def test_places_of_a_graph(self):
        X = np.random.default_rng(1).normal(size=(120, 4))   # whose graph is in one piece
        for options, tolerance in (({}, 1e-5), ({"affinity": "rbf"}, 1e-9), ({"affinity": "rbf", "gamma": 0.5, "n_components": 3}, 1e-9)):
            with self.subTest(str(options)):
                theirs, mine = self.both(SpectralEmbedding(random_state=0, **options), X)
                np.testing.assert_allclose(mine.embedding_, theirs.embedding_, atol=tolerance)
                self.assertEqual(abs(mine.affinity_matrix_ - theirs.affinity_matrix_).max(), 0)
        model = SpectralEmbedding(affinity="rbf", random_state=0)
        np.testing.assert_array_equal(self.patched(lambda: model.fit_transform(self.numbers)), model.embedding_)

    def test_they_answer_where_kedge_is_not(self):
        wanted = [(IterativeImputer(), self.gaps, None), (TargetEncoder(), self.kinds, self.labels), (SpectralClustering(3, random_state=0), self.numbers, None)]
        fitted = [(quietly(self.call, "fit", model, X, y), X) for model, X, y in wanted]
        file = pathlib.Path(self.folder.name) / "models.pkl"
        file.write_bytes(pickle.dumps([(model, X, answer(model, X)) for model, X in fitted]))
        done = subprocess.run([sys.executable, "-c", ALONE, str(file)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [type(model).__name__ for model, _, _ in wanted]), done.stderr)


if __name__ == "__main__":
    unittest.main()
