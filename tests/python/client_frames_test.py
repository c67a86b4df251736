"""Frames, sparse matrices and scikit-learn's objects, each where its library is there."""
import pathlib
import unittest

from client_case import WithServer, has
import kedge
from kedge.data import upload_of
from kedge.steps import pipeline_of


class Frames(WithServer):
    @unittest.skipUnless(has("pandas"), "pandas is not there")
    def test_frames_keep_their_names_texts_and_gaps(self):
        import pandas as pd
        frame = pd.DataFrame({"age": [22.0, None, 35, 41], "plan": ["a,b", "c", None, 'say "no"'], "day": pd.to_datetime(["2024-01-01"] * 4)})
        data = self.session.dataset(frame, pd.Series(["no", "yes", "no", "yes"], name="left"))
        shown = self.session.preview(data.types(day="date"))
        self.assertEqual([(c["name"], c["type"], c["missing"]) for c in shown["columns"]],
                         [("age", "number", 1), ("plan", "category", 1), ("day", "date", 0), ("left", "category", 0)])
        self.assertEqual(shown["firstRows"][3], [41, 'say "no"', 19723, "yes"])
        self.raises("INVALID_VALUE", "y", upload_of, frame, pd.Series([1.0] * 4, name="age"))
        self.raises("INVALID_VALUE", "y", upload_of, frame, pd.Series([1.0] * 3, name="y"))
        for bad, word in (([[1], [2], [3], [4]], "list"), ([1, "a", 2.0, None], "int, str"), ([2 ** 60, 0, 0, 0], "2^53"), ([1j] * 4, "complex128")):
            error = self.raises("INVALID_VALUE", "X", upload_of, pd.DataFrame({"fine": [1.0] * 4, "odd": pd.Series(bad)}))
            self.assertIn("column 'odd'", str(error))
            self.assertIn(word, str(error))

    @unittest.skipUnless(has("pandas", "polars", "pyarrow"), "pandas, polars or pyarrow is not there")
    def test_frames_of_every_library_are_one_data_set(self):
        import datetime

        import pandas as pd
        import polars as pl
        import pyarrow as pa
        days = [datetime.datetime(2024, 1, 1), None, datetime.datetime(2024, 1, 3), datetime.datetime(2024, 1, 1)]
        cells = {"n": [1, None, 3, 4], "text": ["b", "more than twelve bytes", None, "b"], "flag": [True, False, True, True], "day": days, "x": [0.5, 1.5, None, 2.5]}
        pandas = pd.DataFrame(cells).astype({"n": float, "flag": bool})
        polars, arrow = pl.DataFrame(cells), pa.table(cells)
        halves = pa.concat_tables([arrow.slice(0, 2), arrow.slice(2)])
        nullable = pd.DataFrame(cells).convert_dtypes(convert_floating=False).astype({"n": "Int64", "x": "Float64"})
        y = ["no", "yes", "no", "yes"]
        digests = {upload_of(frame, target).digest for frame in (pandas, polars, arrow, halves, nullable) for target in (y, pd.Series(y), pl.Series("y", y), pa.array(y))}
        self.assertEqual(len(digests), 1)
        shown = self.session.preview(self.session.dataset(arrow, y).types(day="date"))
        self.assertEqual([(column["name"], column["type"], column["missing"]) for column in shown["columns"]],
                         [("n", "number", 1), ("text", "category", 1), ("flag", "number", 0), ("day", "date", 1), ("x", "number", 1), ("y", "category", 0)])
        self.assertEqual(shown["firstRows"][2], [3, None, 1, 19725, None, "no"])
        kinds = pd.Categorical(["low", "high", None, "low"], categories=["low", "mid", "high"])
        coded = upload_of(pd.DataFrame({"k": kinds})), upload_of(pa.table({"k": pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0]), ["low", "mid", "high"])}))
        self.assertEqual(coded[0].digest, coded[1].digest)
        self.raises("INVALID_VALUE", "X", upload_of, pa.table({"a": pa.array([[1], [2]])}))
        self.raises("INVALID_VALUE", "X", upload_of, pa.table({"a": pa.array([2 ** 60])}))

    @unittest.skipUnless(has("polars"), "polars is not there")
    def test_polars(self):
        import polars as pl
        shown = self.session.preview(self.session.dataset(pl.DataFrame({"a": [1, 2, None], "b": ["x", "y", "x"]})))
        self.assertEqual([(c["name"], c["type"], c["missing"]) for c in shown["columns"]], [("a", "number", 1), ("b", "category", 0)])

    @unittest.skipUnless(has("scipy"), "scipy is not there")
    def test_sparse_matrices_stay_sparse(self):
        import numpy as np
        import scipy.sparse
        X = scipy.sparse.random(60, 30, density=0.1, random_state=0, format="coo")
        y = (np.asarray(X.sum(axis=1)).ravel() > 1.5).astype(int)
        data = self.session.dataset(X, y)
        self.assertEqual(self.session.preview(data)["rows"], 60)
        self.session.run(data, ["MultinomialNB"], kedge.cross_validate(cv=2))
        twice = scipy.sparse.coo_matrix((np.repeat(X.data, 2) / 2, (np.repeat(X.row, 2), np.repeat(X.col, 2))), X.shape)
        forms = [X.tocsr(), X.tocsc(), scipy.sparse.csr_array(X), twice]
        self.assertEqual({self.session.dataset(form, y).reference["stored"] for form in forms}, {data.reference["stored"]})
        for bad in (X * 1j, scipy.sparse.csr_matrix((0, 3)), scipy.sparse.csr_matrix(np.array([[2 ** 60]]))):
            self.raises("INVALID_VALUE", "X", upload_of, bad)
        path = pathlib.Path(self.folder.name) / "sparse.npz"
        scipy.sparse.save_npz(path, X.tocsr())
        self.assertEqual(self.session.upload("by-scipy", path)["rows"], 60)

    @unittest.skipUnless(has("scipy", "pandas"), "scipy or pandas is not there")
    def test_what_would_be_lost_is_kept_or_refused(self):
        import numpy as np
        import pandas as pd
        import scipy.sparse
        wide = scipy.sparse.csr_matrix(([1.0], ([0], [1])), shape=(3, 5))
        self.assertEqual(self.session.preview(self.session.dataset(wide))["nColumns"], 5)
        model = self.session.submit(kedge.builtin("iris"), ["GaussianNB"], kedge.fit()).model()
        self.assertEqual(model.predict(scipy.sparse.csr_matrix([[5.1, 3.5, 1.4, 0.2]])).tolist(), ["setosa"])
        self.raises("INVALID_VALUE", "X", upload_of, pd.DataFrame([[1, 2]], columns=["a", "a"]))
        masked = self.session.preview(self.session.dataset(np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 0]])))
        self.assertEqual([column["missing"] for column in masked["columns"]], [0, 1])

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not there")
    def test_scikit_learns_own_objects_are_read(self):
        from sklearn.linear_model import LogisticRegression as Theirs
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler as Scaler
        self.assertEqual(pipeline_of(make_pipeline(Scaler(with_mean=False), Theirs(C=2.0))),
                         [{"name": "standardscaler", "estimator": "StandardScaler", "params": {"with_mean": False}},
                          {"name": "logisticregression", "estimator": "LogisticRegression", "params": {"C": 2.0}}])
        result = self.session.run(kedge.builtin("iris"), make_pipeline(Scaler(), Theirs(C=10)), kedge.cross_validate(cv=3))
        self.assertGreater(result.mean("accuracy"), 0.9)


if __name__ == "__main__":
    unittest.main()
