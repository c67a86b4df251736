"""Files, arrays and rows that the Python client sends, and models that it asks. Arrays are tested where numpy is there."""
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from client_case import HERE, WithServer, has
import kedge
from kedge.data import rows_of, upload_of
from kedge.estimators import GaussianNB, KMeans, LogisticRegression, SimpleImputer, StandardScaler
from kedge.steps import pipeline_of


class Data(WithServer):
    def test_files_are_stored_by_name_or_content(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.csv", "b.txt"):
                path = pathlib.Path(folder) / name
                path.write_text("x,y\n1,2\n3,4\n")
                self.assertEqual(self.session.upload(name, path)["format"], "csv")
        self.assertEqual(sorted(one["name"] for one in self.session.datasets() if not one["name"].startswith("sha256:")), ["a.csv", "b.txt"])
        shown = self.session.preview(kedge.stored("a.csv").types(x="drop"), rows=1)
        self.assertEqual([column["role"] for column in shown["columns"]], ["leftOut", "target"])
        self.session.remove_dataset("b.txt")
        self.raises("NOT_FOUND", "", self.session.remove_dataset, "b.txt")
        self.assertRaises(FileNotFoundError, self.session.upload, "c", "missing.csv")

    def test_several_addresses_are_one_table(self):
        two = ["https://a.example/x,1.parquet", "https://b.example/{y}.parquet"]
        self.assertEqual(kedge.url(two, "parquet", target="y").reference, {"url": {"urls": two, "format": "parquet", "target": "y"}})
        self.assertEqual(kedge.url(two[0]).reference, {"url": {"url": two[0], "format": "csv"}})
        for nothing in ("", []):
            with self.assertRaisesRegex(ValueError, "no address"):
                kedge.url(nothing)
        self.raises("INVALID_VALUE", "dataset.url.urls[1]", self.session.submit, kedge.url(["http://a.example/b", "s3://a/b.csv"]), ["GaussianNB"], kedge.fit())

    def test_a_set_of_scikit_learn_by_its_name(self):
        self.assertEqual(kedge.sklearn_dataset("covtype").reference, {"sklearn": "covtype"})
        self.raises("INVALID_VALUE", "dataset.sklearn", self.session.preview, kedge.sklearn_dataset("covtyp"))

    def test_a_table_in_the_job_and_a_selection(self):
        table = kedge.inline("x,when,y\n1,2024-01-01,2\n2,?,4\n3,2024-02-01,6\n", target="y")
        fitted = self.session.run(table.select(types={"when": "date"}, dtype="float64"), [SimpleImputer(), "LinearRegression"], kedge.fit())
        self.assertEqual(fitted["nFeatures"], 2)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_arrays_of_any_layout_are_one_data_set(self):
        import numpy as np
        X = np.random.default_rng(0).normal(size=(50, 4))
        y = (X[:, 0] > 0).astype(int)
        names = set()
        for given in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1]):
            data = self.session.dataset(given, y)
            names.add(data.reference["stored"])
            self.assertEqual(data.selection, {"target": "y"})
        self.assertEqual(len(names), 1)
        self.assertGreater(self.session.run(data, [LogisticRegression()], kedge.cross_validate(cv=3)).mean("accuracy"), 0.8)
        for wide in (X.astype(np.float32), np.asfortranarray(X), np.arange(12).reshape(3, 4), X > 0, X.astype(">f8"), X.astype(np.float16), X.astype(np.longdouble)):
            for upload in (upload_of(wide, y[:len(wide)]), rows_of(wide)):
                content = b"".join(bytes(piece) for piece in upload.pieces())
                self.assertEqual(len(content), upload.size)
                self.assertEqual(b"".join(bytes(piece) for piece in upload.rest(100)), content[100:])
                found = np.load(io.BytesIO(content))
                np.testing.assert_array_equal(found["X"] if upload.format == "npz" else found, wide)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_weights_and_groups_go_along(self):
        import numpy as np
        X = np.random.default_rng(0).normal(size=(60, 4))
        y = (X[:, 0] > 0).astype(int)
        data = self.session.dataset(X, y, sample_weight=np.where(y, 2.0, 0.1), groups=np.arange(60) % 5)
        self.assertEqual(data.selection, {"target": "y", "weights": "sample_weight", "groups": "groups"})
        roles = {column["name"]: column["role"] for column in self.session.preview(data)["columns"]}
        self.assertEqual(roles, {**{f"x{i}": "feature" for i in range(4)}, "y": "target", "sample_weight": "weights", "groups": "groups"})
        found = self.session.run(data, [LogisticRegression()], kedge.cross_validate(cv=5, splitter="GroupKFold"))
        self.assertEqual(len(found.scores["accuracy"]["perFold"]), 5)
        alone = self.session.preview(self.session.dataset(X))
        self.assertEqual({column["role"] for column in alone["columns"]}, {"feature"}, "without y no column is the target")

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_no_array_is_copied_as_a_whole(self):
        import tracemalloc

        import numpy as np
        X = np.zeros((1 << 20, 16), np.float32)
        tracemalloc.start()
        for given in (X, X[::-1], X.T[:, ::1].T, np.asfortranarray(X[:1 << 18])):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            upload_of(given, np.zeros(len(given), np.int8)).digest
            self.assertLess(tracemalloc.get_traced_memory()[1] - before, 8 << 20)
        tracemalloc.stop()

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_what_is_no_table_is_refused_here(self):
        import numpy as np
        X = np.ones((3, 2))
        for bad, y, where in ((np.ones(3), None, "X"), (np.ones((2, 2, 2)), None, "X"), (X.astype(complex), None, "X"), (X.astype(object), None, "X"),
                              (X, np.ones(2), "y"), (np.full((2, 2), 2 ** 53 + 1), None, "X"), (np.full((2, 2), -2 ** 53 - 2), None, "X"),
                              (np.ones((0, 2)), None, "X"), (np.ones((2, 0)), None, "X"), ([[1, 2], [3]], None, "X"), (X, np.ones((3, 2)), "y"),
                              (X, np.array([1, "a", None], object), "y"), (X, np.ones(3, complex), "y"), (X, [2 ** 60, 0, 1], "y"),
                              (X, np.array([2 ** 60, None, 1], object), "y")):
            self.raises("INVALID_VALUE", where, upload_of, bad, y)
        self.raises("INVALID_VALUE", "sample_weight", upload_of, X, np.ones(3), sample_weight=np.ones(2))
        self.raises("INVALID_VALUE", "groups", upload_of, X, np.ones(3), groups=["a", "b", "a"])
        self.raises("BAD_DATA", "", self.session.run, self.session.dataset(X * np.nan, np.array([0, 1, 1])), [GaussianNB()], kedge.fit())

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_models_predict_rows_of_any_kind(self):
        import numpy as np
        job = self.session.submit(kedge.builtin("iris"), [StandardScaler(), LogisticRegression()], kedge.fit())
        model = job.model()
        rows = [[5.1, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]]
        self.assertEqual(model.predict(rows).tolist(), ["setosa", "virginica"])
        self.assertEqual(model.predict(np.array(rows)).tolist(), ["setosa", "virginica"])
        probabilities = model.predict(np.array(rows), output="predict_proba")
        self.assertEqual(probabilities.shape, (2, 3))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        parts, decision = model.contributions(rows), model.predict(rows, output="decision_function")
        self.assertEqual((parts.values.shape, parts.expected.shape, parts.outputs), ((2, 3, 4), (3,), ["setosa", "versicolor", "virginica"]))
        self.assertEqual(parts.columns, [column["name"] for column in model.info()["columns"]])
        np.testing.assert_allclose(parts.values.sum(axis=2) + parts.expected, decision, rtol=1e-10)
        pairs = model.interactions(np.array(rows))
        self.assertEqual((pairs.columns, pairs.outputs, pairs.values.shape), (parts.columns, parts.outputs, (2, 3, 4, 4)))
        np.testing.assert_array_equal(pairs.values.sum(axis=3), parts.values)   # of a line they are a diagonal
        np.testing.assert_array_equal(pairs.expected, parts.expected)
        self.raises("BAD_DATA", "", model.predict, [[1.0]])
        names = [name for name, _ in model.members()]
        self.assertEqual(names.count("n_features"), 2)
        members = dict(model.members())
        self.assertEqual((members["mean"].shape, members["mean"].dtype, members["n_features"]), ((4,), np.float64, 4))
        for file in (model.download(), model.download(open=True)):
            again = self.session.upload_model(file)
            self.assertEqual(again.predict(rows).tolist(), ["setosa", "virginica"])
        self.assertEqual(again.info()["classes"], ["setosa", "versicolor", "virginica"])
        again.remove()
        self.raises("NOT_FOUND", "", again.info)
        forest = self.session.models.push(HERE.parent / "data" / "imported" / "xgb_regression.ubj")
        self.assertEqual(forest.predict(np.zeros((3, 5))).shape, (3,))
        parts = forest.contributions(np.zeros((3, 5)))
        self.assertEqual((parts.values.shape, parts.outputs, parts.columns), ((3, 5), [], list("abcde")))
        np.testing.assert_allclose(parts.values.sum(axis=1) + parts.expected, forest.predict(np.zeros((3, 5))), rtol=1e-5)
        pairs = forest.interactions(np.zeros((3, 5)))
        self.assertEqual((pairs.values.shape, pairs.outputs, pairs.columns), ((3, 5, 5), [], list("abcde")))
        np.testing.assert_allclose(pairs.values.sum(axis=2), parts.values, atol=1e-12)
        np.testing.assert_array_equal(pairs.values, pairs.values.transpose(0, 2, 1))
        self.assertGreater(np.abs(pairs.values[0] - np.diag(np.diag(pairs.values[0]))).max(), 0)
        against = np.array([[0.0, 1, 2, 3, 4], [4.0, 3, 2, 1, np.nan]])
        parts = forest.contributions(np.zeros((3, 5)), against)
        np.testing.assert_allclose(parts.values.sum(axis=1) + parts.expected, forest.predict(np.zeros((3, 5))), rtol=1e-5)
        np.testing.assert_allclose(parts.expected, forest.predict(against).mean(), rtol=1e-5)
        named = forest.contributions([dict.fromkeys("abcde", 0.0)] * 3, [dict(zip("abcde", row, strict=True)) for row in against.tolist()])
        np.testing.assert_array_equal(parts.values, named.values)
        with self.assertRaises(kedge.KedgeError) as refused:
            forest.contributions(np.zeros((3, 5)), against[:, :3])
        self.assertEqual(refused.exception.where, "background")
        nearest = self.session.submit(kedge.builtin("iris"), ["KNeighborsClassifier"], kedge.fit()).model()
        self.raises("INVALID_VALUE", "output", nearest.contributions, rows)
        self.assertIn(forest.id, [stored["id"] for stored in self.session.models()])
        asked = self.session.submit(kedge.builtin("iris"), task=kedge.predict(model))
        self.assertEqual(list(asked.artifacts()), ["predictions.npy"])
        target = pathlib.Path(self.folder.name) / "predictions.npy"
        asked.download("predictions.npy", target)
        self.assertEqual(np.load(target, allow_pickle=False).shape, (150,))
        self.assertRaises(kedge.KedgeError, asked.download, "other.npy", target.with_name("other.npy"))
        self.assertFalse(target.with_name("other.npy").exists() or target.with_name("other.npy.part").exists())

    def test_parameters_that_json_does_not_hold(self):
        self.assertEqual(pipeline_of(LogisticRegression(C=float("inf")))[0]["params"], {"C": "Infinity"})
        self.raises("INVALID_VALUE", "pipeline", pipeline_of, KMeans(n_clusters=len))
        with mock.patch.dict(os.environ, {"KEDGE_CA": "/no/such/file"}):
            self.raises("INVALID_VALUE", "KEDGE_CA", kedge.connect, "https://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
