"""The Python client against a real server, and against scripted ones that fail. Arrays are tested where numpy is there, frames where pandas, polars or scipy are."""
import asyncio
import hashlib
import http.server
import importlib.util
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
from kedge import _http  # noqa: E402
from kedge.data import upload_of  # noqa: E402
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


class Data(WithServer):
    def test_files_are_stored_by_name_or_content(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.csv", "b.txt"):
                path = pathlib.Path(folder) / name
                path.write_text("x,y\n1,2\n3,4\n")
                self.assertEqual(self.session.upload(name, path)["format"], "csv")
        self.assertEqual(sorted(one["name"] for one in self.session.datasets() if not one["name"].startswith("sha256")), ["a.csv", "b.txt"])
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
            self.assertEqual(data.selection, {"target": "x4"})
        self.assertEqual(len(names), 1)
        self.assertGreater(self.session.run(data, [LogisticRegression()], kedge.cross_validate(cv=3)).mean("accuracy"), 0.8)
        for wide in (X.astype(np.float32), np.asfortranarray(X), np.arange(12).reshape(3, 4), X > 0):
            upload = upload_of(wide)
            content = b"".join(bytes(piece) for piece in upload.pieces())
            self.assertEqual(len(content), upload.size)
            path = pathlib.Path(self.folder.name) / "again.npy"
            path.write_bytes(content)
            np.testing.assert_array_equal(np.load(path), wide)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_equal_data_is_sent_once(self):
        import numpy as np
        X = np.arange(20.0).reshape(5, 4)
        with mock.patch.object(kedge.Session, "_put", autospec=True, side_effect=kedge.Session._put) as put:
            self.session.dataset(X)
            self.session.dataset(X.copy())
        self.assertEqual(put.call_count, 1)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_what_is_no_table_is_refused_here(self):
        import numpy as np
        X = np.ones((3, 2))
        for bad, y, where in ((np.ones(3), None, "X"), (np.ones((2, 2, 2)), None, "X"), (X.astype(complex), None, "X"), (X.astype(object), None, "X"),
                              (X, np.ones(2), "y"), (np.full((2, 2), 2 ** 53 + 1), None, "X")):
            self.raises("INVALID_VALUE", where, upload_of, bad, y)
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
        upload = upload_of(X, y)
        self.assertEqual((upload.format, upload.target), ("libsvm", "label"))
        data = self.session.dataset(X, y)
        self.assertEqual(self.session.preview(data)["rows"], 60)
        self.session.run(data, ["MultinomialNB"], kedge.cross_validate(cv=2))

    @unittest.skipUnless(has("scipy", "pandas"), "scipy or pandas is not there")
    def test_what_would_be_lost_is_kept_or_refused(self):
        import numpy as np
        import pandas as pd
        import scipy.sparse
        wide = scipy.sparse.csr_matrix(([1.0], ([0], [1])), shape=(3, 5))
        self.assertEqual(self.session.preview(self.session.dataset(wide))["nColumns"], 6)   # with the label
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
