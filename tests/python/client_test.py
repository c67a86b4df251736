"""The Python client against a real server, and against scripted ones that fail. Arrays are tested where numpy is there, frames where pandas, polars or scipy are."""
import asyncio
import hashlib
import http.server
import importlib.util
import io
import json
import os
import pathlib
import pickle
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, wait_for  # noqa: E402

if not os.environ.get("KEDGE_INSTALLED"):   # else the wheel that is installed
    sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
import kedge  # noqa: E402
import kedge.aio  # noqa: E402
from kedge import _http, _upload  # noqa: E402
from kedge._upload import Sender  # noqa: E402
from kedge.data import Upload, rows_of, upload_of  # noqa: E402
from kedge.estimators import GaussianNB, KMeans, LogisticRegression, PowerTransformer, RandomForestClassifier, SimpleImputer, StandardScaler  # noqa: E402
from kedge.steps import pipeline_of  # noqa: E402

LONG = [RandomForestClassifier(n_estimators=100_000)]


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.session = kedge.connect(cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.server.stop()
        cls.folder.cleanup()

    def raises(self, code, where, function, *arguments, **named):
        with self.assertRaises(kedge.KedgeError) as caught:
            function(*arguments, **named)
        self.assertEqual((caught.exception.code, caught.exception.where), (code, where), str(caught.exception))
        return caught.exception


class Jobs(WithServer):
    def test_a_job_runs_and_its_result_has_shorthands(self):
        job = self.session.submit(kedge.builtin("iris"), [StandardScaler(), LogisticRegression(C=10)], kedge.cross_validate(cv=3, scoring=["accuracy", "f1_macro"]))
        result = job.result()
        self.assertGreater(result.mean("accuracy"), 0.9)
        self.assertEqual(len(result.scores["f1_macro"]["perFold"]), 3)
        self.assertIn("f1_macro", self.raises("NOT_FOUND", "scorer", result.mean, "r2").message)
        self.assertEqual(self.session.job(job.id).status()["state"], "succeeded")
        self.assertIn(job.id, [one["id"] for one in self.session.jobs(page_size=1)])

    def test_a_search_has_its_candidates(self):
        found = self.session.run(kedge.builtin("iris"), [("scale", StandardScaler()), ("model", LogisticRegression())],
                                 kedge.grid_search({"model__C": [0.1, 1.0], "scale": [StandardScaler(with_mean=False), "passthrough"]}, kedge.cross_validate(cv=2)))
        self.assertEqual(len(found.cv_results["params"]), 4)
        self.assertIn(found.best_params["model__C"], (0.1, 1.0))
        self.assertGreater(found.best_score, 0.8)

    def test_errors_name_the_field(self):
        iris = kedge.builtin("iris")
        self.raises("INVALID_VALUE", "pipeline[0].params.n_clusters", self.session.submit, iris, [KMeans(n_clusters=0)], kedge.fit())
        self.raises("UNKNOWN_ESTIMATOR", "pipeline[0].estimator", self.session.submit, iris, ["GaussianNb"], kedge.fit())
        self.raises("INVALID_VALUE", "task", self.session.submit, iris, [GaussianNB()])
        self.raises("NOT_FOUND", "", self.session.job("job_none").status)
        failed = self.session.submit(iris, [StandardScaler(), PowerTransformer(method="box-cox")], kedge.fit())
        error = self.raises("BAD_DATA", "pipeline[1]", failed.result)
        self.assertIsInstance(error, kedge.JobFailed)
        self.assertEqual(pickle.loads(pickle.dumps(error)).where, "pipeline[1]")

    def test_a_cancelled_job_says_so_and_a_wait_has_an_end(self):
        job = self.session.submit(kedge.builtin("digits"), LONG, kedge.fit())
        with self.assertRaises(TimeoutError):
            job.wait(timeout=0.2)
        job.cancel()
        self.raises("CANCELLED", "", job.result)
        self.raises("CONFLICT", "", job.cancel)

    def test_events_come_in_order_and_resume(self):
        job = self.session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.cross_validate(cv=3))
        events = list(job.events())
        self.assertEqual([event.id for event in events], list(range(1, len(events) + 1)))
        self.assertTrue(events[-1].is_last)
        self.assertEqual([event.id for event in job.events(after=4)], list(range(5, len(events) + 1)))
        running = self.session.submit(kedge.builtin("digits"), LONG, kedge.fit())
        wait_for(lambda: running.status()["state"] == "running", 60, "its begin")
        so_far = list(running.events(follow=False))
        self.assertEqual([event["state"]["state"] for event in so_far if event.kind == "state"], ["queued", "fetching", "running"])
        running.cancel()

    def test_events_go_on_where_the_server_restarts(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder)
            try:
                job = kedge.connect(server.url).submit(kedge.builtin("digits"), LONG, kedge.fit())
                seen = []
                reader = threading.Thread(target=lambda: seen.extend(job.events()), daemon=True)
                reader.start()
                wait_for(lambda: job.status()["state"] == "running", 60, "its begin")
                port = server.url.rsplit(":", 1)[1]
                server.kill()
                server.listen = f"127.0.0.1:{port}"
                server.start()
                job.cancel()
                reader.join(60)
                self.assertFalse(reader.is_alive())
                self.assertEqual([event.id for event in seen], list(range(1, len(seen) + 1)))
                self.assertEqual(seen[-1]["state"]["state"], "cancelled")
            finally:
                server.stop()

    def test_asyncio(self):
        async def work():
            session = kedge.aio.connect(self.server.url)
            jobs = [await session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.cross_validate(cv=2)) for _ in range(3)]
            kinds = [event.kind async for event in jobs[0].events()]
            results = await asyncio.gather(*(job.result() for job in jobs))
            first = await jobs[1]
            async for _ in jobs[1].events():   # a reader that leaves
                break
            return kinds, results, first
        kinds, results, first = asyncio.run(work())
        self.assertEqual(kinds[-2:], ["result", "state"])
        self.assertEqual({result.mean("accuracy") for result in results}, {first.mean("accuracy")})


    def test_asyncio_has_the_same_names(self):
        for ours, theirs in ((kedge.aio.Session, kedge.Session), (kedge.aio.Job, kedge.Job), (kedge.aio.Model, kedge.Model)):
            public = {name for name in vars(theirs) if not name.startswith("_")}
            self.assertEqual(public - set(vars(ours)), set(), ours)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_asyncio_asks_models_and_fetches_what_jobs_leave(self):
        async def work(folder):
            session = kedge.aio.connect(self.server.url)
            model = await (await session.submit(kedge.builtin("iris"), [StandardScaler(), LogisticRegression()], kedge.fit())).model()
            labels = (await model.predict([[5.1, 3.5, 1.4, 0.2]])).tolist()
            listed = [one["id"] async for one in session.models()]
            asked = await session.submit(kedge.builtin("iris"), task=kedge.predict(model.id, format="csv"))
            left = list(await asked.artifacts())
            await asked.download(left[0], folder / left[0])
            again = await session.upload_model(await model.download(open=True))
            await again.remove()
            with self.assertRaises(kedge.KedgeError):
                await again.info()
            stored = await session.upload("async", folder / left[0], format="csv")
            await session.remove_dataset("async")
            return labels, model.id in listed, left, stored["rows"], [name for name, _ in await model.members()]
        with tempfile.TemporaryDirectory() as folder:
            labels, is_listed, left, rows, members = asyncio.run(work(pathlib.Path(folder)))
        self.assertEqual((labels, is_listed, left, rows), (["setosa"], True, ["predictions.csv"], 150))
        self.assertEqual(members.count("n_features"), 2)


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
    def test_equal_data_is_sent_once(self):
        import numpy as np
        X = np.arange(20.0).reshape(5, 4)
        with mock.patch.object(Sender, "_put", autospec=True, side_effect=Sender._put) as put:
            self.session.dataset(X)
            self.session.dataset(X.copy())
        self.assertEqual(put.call_count, 1)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_an_upload_goes_on_where_its_connection_broke(self):
        import numpy as np
        X = np.random.default_rng(1).normal(size=(1 << 17, 16))   # 16 MiB
        proxy = Cutting(int(self.server.url.rsplit(":", 1)[1]), after=5 << 20, breaks=2)
        self.addCleanup(proxy.close)
        seen = []
        with mock.patch.object(_upload, "SHOWN_FROM", 1 << 20):
            data = kedge.connect(proxy.url).dataset(X, X[:, 0], progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(self.session.preview(data)["rows"], len(X))
        long = [sent for sent in proxy.sent if sent > 1 << 20]
        self.assertEqual(len(long), 3, proxy.sent)
        self.assertLess(sum(long), X.nbytes + (6 << 20), "what had come was sent again")
        size = seen[-1][1]
        self.assertEqual(seen[-1], (size, size))
        self.assertEqual(len({total for _, total in seen}), 1)

    def test_a_large_file_gets_its_name_by_its_content(self):
        path = pathlib.Path(self.folder.name) / "large.csv"
        path.write_text("a,b\n" + "1.25,2\n" * 200_000)
        with mock.patch("kedge.session.RESUMES_FROM", 1 << 20):
            stored = self.session.upload("large", path)
        self.assertEqual((stored["name"], stored["rows"]), ("large", 200_000))
        self.assertEqual([one["name"] for one in self.session.datasets() if one["digest"] == stored["digest"]], ["large"])
        self.session.remove_dataset("large")

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
        asked = self.session.submit(kedge.builtin("iris"), task=kedge.predict(model))
        self.assertEqual(list(asked.artifacts()), ["predictions.npy"])
        target = pathlib.Path(self.folder.name) / "predictions.npy"
        asked.download("predictions.npy", target)
        self.assertEqual(np.load(target, allow_pickle=False).shape, (150,))
        self.assertRaises(kedge.KedgeError, asked.download, "other.npy", target.with_name("other.npy"))
        self.assertFalse(target.with_name("other.npy").exists() or target.with_name("other.npy.part").exists())

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

    def test_parameters_that_json_does_not_hold(self):
        self.assertEqual(pipeline_of(LogisticRegression(C=float("inf")))[0]["params"], {"C": "Infinity"})
        self.raises("INVALID_VALUE", "pipeline", pipeline_of, KMeans(n_clusters=len))
        with mock.patch.dict(os.environ, {"KEDGE_CA": "/no/such/file"}):
            self.raises("INVALID_VALUE", "KEDGE_CA", kedge.connect, "https://127.0.0.1:1")

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


class Catalogue(WithServer):
    def test_the_classes_are_those_of_the_server(self):
        done = subprocess.run([sys.executable, ROOT / "client" / "python" / "generate.py", self.server.url], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, (ROOT / "client" / "python" / "src" / "kedge" / "estimators.py").read_text(), "run client/python/generate.py")

    def test_a_parameter_that_is_none_of_an_estimators_is_refused_at_once(self):
        self.assertRaises(TypeError, StandardScaler, with_sdt=True)
        self.assertEqual(repr(LogisticRegression(C=2)), "LogisticRegression(C=2)")
        self.assertEqual(LogisticRegression(C=2), LogisticRegression(C=2))
        self.assertNotEqual(LogisticRegression(C=2), LogisticRegression())


class Local(unittest.TestCase):
    def test_a_server_for_as_long_as_it_is_needed(self):
        with mock.patch.dict(os.environ, {"KEDGE_BIN": str(BIN), "KEDGE_TOKEN": "not for this one"}):
            with kedge.server("--threads", "1") as session:
                port = int(session.url.rsplit(":", 1)[1])
                self.assertEqual(session.info()["name"], "kedge")
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.1", port), 1)
            with self.assertRaises(kedge.ConnectionFailed) as caught, kedge.server("--no-such-setting"):
                pass
            self.assertIn("no-such-setting", str(caught.exception))
        with mock.patch.dict(os.environ, {"KEDGE_BIN": "/nowhere"}), self.assertRaises(kedge.KedgeError) as missing, kedge.server():
            pass
        self.assertEqual(missing.exception.where, "KEDGE_BIN")


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers by a list: (status, headers, body), or None to break the connection."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.server.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        step = self.server.script.pop(0) if self.server.script else (200, {}, b"{}")
        if step is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        status, headers, body = step
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


class Cutting:
    """In front of a server: breaks each of the first connections that send more than so many bytes."""

    def __init__(self, port, after, breaks):
        self.sent, self._port, self._after, self._breaks = [], port, after, breaks
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client, socket.create_connection(("127.0.0.1", self._port))), daemon=True).start()

    def _join(self, client, server):
        threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
        place = len(self.sent)
        self.sent.append(0)
        self._copy(client, server, place)

    def _copy(self, source, target, place=None):
        try:
            while piece := source.recv(1 << 16):
                target.sendall(piece)
                if place is None:
                    continue
                self.sent[place] += len(piece)
                if self.sent[place] > self._after and self._breaks:
                    self._breaks -= 1
                    break
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._listener.close()


def quiet_break(lines):
    """A stream whose early end is a break, as that of a chunked answer is."""
    def broken(transport, path):
        yield from lines(transport, path)
        raise ConnectionResetError("the stream broke")
    return broken


class Failures(unittest.TestCase):
    def scripted(self, *steps):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        server.script, server.asked = list(steps), []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        session = kedge.connect(f"http://127.0.0.1:{server.server_address[1]}", "secret")
        self.addCleanup(session.close)
        return server, session

    def submit(self, session):
        return session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.fit())

    def test_a_submit_is_repeated_with_its_key(self):
        busy = (503, {"Retry-After": "0", "Content-Type": "text/html"}, b"<html>busy</html>")
        server, session = self.scripted(None, busy, None, (202, {}, b'{"id": "job_1"}'))
        self.assertEqual(self.submit(session).id, "job_1")
        self.assertEqual(len(server.asked), 4)
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in server.asked}), 1)
        self.assertEqual(len({body for *_, body in server.asked}), 1)
        self.assertTrue(all(headers["Authorization"] == "Bearer secret" for _, _, headers, _ in server.asked))

    def test_a_prediction_is_not_repeated(self):
        server, session = self.scripted(None)
        with self.assertRaises(kedge.ConnectionFailed):
            session.model("mdl_1").predict([[1.0]]) if has("numpy") else session._transport.call(_http.Call("POST", "/x", b"", repeats=False))
        self.assertEqual(len(server.asked), 1)

    def test_what_is_wrong_is_not_repeated(self):
        wrong = (400, {"Content-Type": "application/problem+json"}, json.dumps({"code": "INVALID_VALUE", "detail": "C is -1", "where": "pipeline[0].params.C"}).encode())
        server, session = self.scripted(wrong)
        with self.assertRaises(kedge.KedgeError) as caught:
            self.submit(session)
        self.assertEqual((caught.exception.status, caught.exception.where, len(server.asked)), (400, "pipeline[0].params.C", 1))

    def test_an_upload_goes_on_behind_what_the_server_has(self):
        text = b"a,b\n" + b"1,2\n" * 1000
        upload = Upload("csv", len(text), lambda: iter([text[:1500], text[1500:]]))
        has = lambda n: (404, {"Upload-Offset": str(n)}, b"{}")   # noqa: E731
        conflict = (409, {"Upload-Offset": "2000"}, json.dumps({"code": "CONFLICT", "detail": "elsewhere"}).encode())
        server, session = self.scripted((404, {}, b"{}"), None, has(1000), conflict, has(2000), (201, {}, b"{}"))
        self.assertEqual(session.content(upload).reference, {"stored": "sha256:" + hashlib.sha256(b"csv\n" + text).hexdigest()})
        sent = [(headers.get("Content-Range"), body) for method, _, headers, body in server.asked if method == "PUT"]
        self.assertEqual(sent, [(None, text), ("bytes 1000-4003/4004", text[1000:]), ("bytes 2000-4003/4004", text[2000:])])

    def test_an_upload_that_another_has_finished_or_that_is_wrong_is_not_sent_again(self):
        upload = Upload("csv", 4, lambda: iter([b"a\n1\n"]))
        server, session = self.scripted((404, {}, b"{}"), None, (200, {}, b"{}"))
        session.content(upload)
        self.assertEqual([method for method, *_ in server.asked], ["GET", "PUT", "GET"])
        server, session = self.scripted((404, {}, b"{}"), (422, {}, json.dumps({"code": "DATASET_CORRUPT", "detail": "line 2"}).encode()))
        with self.assertRaises(kedge.KedgeError) as caught:
            session.content(upload)
        self.assertEqual((caught.exception.code, len(server.asked)), ("DATASET_CORRUPT", 2))

    def test_an_upload_shows_how_far_it_is(self):
        with mock.patch.multiple(_upload.Line, PAUSE_S=0.0, QUIET_S=0.0), mock.patch.object(_upload, "SHOWN_FROM", 10):
            with mock.patch("sys.stderr", mock.Mock(isatty=lambda: True)) as terminal:
                line = _upload.Line()
                for done in (5 << 20, 10 << 20):
                    line(done, 10 << 20)
                line(4, 4)   # which is too short to be shown
            said = [call.args[0] for call in terminal.write.call_args_list]
            self.assertRegex(said[0], r"^\rupload  50% of 10 MiB, .* MiB/s$")
            self.assertRegex(said[1], r"^\rupload 100% of 10 MiB, .* MiB/s\n$")
            self.assertEqual(len(said), 2)
            notebook = mock.Mock()
            modules = {"IPython": mock.Mock(get_ipython=lambda: notebook), "IPython.display": notebook}
            with mock.patch.dict(sys.modules, modules), mock.patch("sys.stderr", mock.Mock(isatty=lambda: False)) as no_terminal:
                line = _upload.Line()
                for done in (5 << 20, 10 << 20):
                    line(done, 10 << 20)
            self.assertIn(" 50%", notebook.display.call_args.args[0]["text/plain"])
            self.assertIn("100%", notebook.display.return_value.update.call_args.args[0]["text/html"])
            no_terminal.write.assert_not_called()

    def test_an_upload_of_which_nothing_more_arrives_is_given_up(self):
        upload = Upload("csv", 4, lambda: iter([b"a\n1\n"]))
        server, session = self.scripted(*[(404, {}, b"{}"), None] * 50)
        with mock.patch.multiple(_upload, PATIENCE_S=0.5, SILENCE_S=0.0), self.assertRaises(kedge.ConnectionFailed):
            session.content(upload)
        self.assertGreater(len([1 for method, *_ in server.asked if method == "PUT"]), 1)

    def test_a_stream_that_was_quiet_for_long_is_taken_up_again(self):
        lines = [json.dumps({"id": i + 1, "time": "", "state": {"state": state}}).encode() + b"\n" for i, state in enumerate(("running", "succeeded"))]
        turns = iter((0.3, 0.3, 0))   # seconds without an event before the connection breaks

        class Quiet(Scripted):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                quiet = next(turns)
                self.wfile.write(lines[0] if quiet else lines[1])
                time.sleep(quiet)
        server, session = self.scripted()
        server.RequestHandlerClass = Quiet
        with mock.patch("kedge.job.PATIENCE_S", 0.2), mock.patch.object(_http.Transport, "lines", quiet_break(_http.Transport.lines)):
            self.assertEqual([event.id for event in session.job("job_1").events()], [1, 2])

    def test_a_download_that_is_cut_is_no_file(self):
        class Cut(Scripted):
            def do_GET(self):
                self.server.asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"x" * 400)
                self.close_connection = True
        server, session = self.scripted()
        server.RequestHandlerClass = Cut
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(kedge.ConnectionFailed):
                session.job("job_1").download("a.npy", pathlib.Path(folder) / "a.npy")
            self.assertEqual(os.listdir(folder), [])

    def test_an_upload_that_is_refused_early_says_why(self):
        listener = socket.create_server(("127.0.0.1", 0))
        problem = json.dumps({"code": "UNAUTHENTICATED", "detail": "no token"}).encode()

        def refuse():
            for _ in range(20):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n" % len(problem) + problem)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(0.2)
                try:
                    for _ in range(64):
                        connection.recv(1 << 16)
                except OSError:
                    pass
                connection.close()
        threading.Thread(target=refuse, daemon=True).start()
        session = kedge.connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.truncate(64 << 20)
            with self.assertRaises(kedge.KedgeError) as caught:
                session.upload("a", file.name)
        listener.close()
        self.assertEqual(caught.exception.code, "UNAUTHENTICATED", caught.exception)

    def test_a_cancelled_task_lets_the_program_end(self):
        server, session = self.scripted()
        server.RequestHandlerClass = type("Slow", (Scripted,), {"do_GET": lambda handler: time.sleep(5)})

        async def work():
            await asyncio.wait_for(kedge.aio.Session(session).job("job_1").result(), 0.2)
        begun = time.monotonic()
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(work())
        self.assertLess(time.monotonic() - begun, 4)

    def test_a_kept_connection_that_was_closed_is_no_failure(self):
        server, session = self.scripted((200, {"Connection": "keep-alive"}, b"{}"), None, (200, {}, b'{"version": "1"}'))
        session.info()
        self.assertEqual(session.info()["version"], "1")
        self.assertEqual(session._transport._failures, 0)

    def test_a_server_that_is_not_there_is_said_soon(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        begun = time.monotonic()
        with self.assertRaises(kedge.ConnectionFailed) as caught:
            kedge.connect(f"http://127.0.0.1:{port}").info()
        self.assertLess(time.monotonic() - begun, 20)
        self.assertIn("is kedged running there?", str(caught.exception))

    def test_addresses_pins_and_names_that_are_none(self):
        for make, where in ((lambda: kedge.connect("127.0.0.1:5334"), "url"), (lambda: kedge.connect("ftp://x"), "url"), (lambda: kedge.connect(pin="abc"), "KEDGE_PIN"),
                            (lambda: kedge.connect(name="no-such-server"), "name")):
            with self.assertRaises(kedge.KedgeError) as caught:
                make()
            self.assertEqual(caught.exception.where, where)


class Tls(unittest.TestCase):
    def test_a_pin_is_looked_at_before_a_token_is_sent(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = (pathlib.Path(folder) / name for name in ("key.pem", "cert.pem"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
            server.script, server.asked = [], []
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"https://127.0.0.1:{server.server_address[1]}"
            try:
                kedge.connect(url, "secret", pin=":".join(pin[i:i + 2] for i in range(0, 64, 2)).upper()).info()
                self.assertEqual(len(server.asked), 1)
                for session, where in ((kedge.connect(url, "secret", pin="0" * 64), "KEDGE_PIN"), (kedge.connect(url, "secret"), "KEDGE_CA")):
                    with self.assertRaises(kedge.ConnectionFailed) as caught:
                        session.info()
                    self.assertEqual(caught.exception.where, where)
                self.assertEqual(len(server.asked), 1, "a server that is not trusted was sent something")
            finally:
                server.shutdown()
                server.server_close()


if __name__ == "__main__":
    unittest.main()
