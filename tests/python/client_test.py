"""The Python client against a real server: jobs, asyncio, the catalogue, and a server of its own."""
import ast
import asyncio
import os
import pathlib
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from client_case import LONG, WithServer, has
from kedge_server import BIN, ROOT, Kedged, wait_for
import kedge
import kedge.aio
from kedge.estimators import GaussianNB, KMeans, LogisticRegression, PowerTransformer, StandardScaler

PACKAGE = pathlib.Path(kedge.__file__)


class Package(unittest.TestCase):
    def test_type_checkers_read_the_names_that_the_program_has(self):
        [listed] = [node for node in ast.parse(PACKAGE.read_text()).body if isinstance(node, ast.If)]
        read = {alias.asname: node.module for node in listed.body if isinstance(node, ast.ImportFrom) and node.level for alias in node.names}
        self.assertEqual({name: kedge._HOMES.get(name) for name in kedge.__all__}, read)

    def test_each_name_is_there(self):
        for name in set(kedge.__all__) - (set() if has("sklearn") else {"sklearn"}):
            with self.subTest(name):
                self.assertIsNotNone(getattr(kedge, name))
                self.assertIn(name, dir(kedge))
        self.assertRaisesRegex(AttributeError, "module 'kedge' has no attribute 'conect'", getattr, kedge, "conect")

    def test_an_import_loads_what_is_used_and_no_more(self):
        code = "import sys, kedge; kedge.errors.KedgeError; print(*sorted(name for name in sys.modules if name.startswith(('kedge', 'numpy', 'http', 'ssl'))))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent.parent)})
        self.assertEqual(done.stdout.split(), ["kedge", "kedge.errors"])


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

    def test_models_have_names_versions_and_aliases(self):
        models = [self.session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.fit()).model() for _ in range(2)]
        registry = self.session.registry
        self.assertEqual([registry.add("py-iris", model, tags={"n": "1"})["version"] for model in models], [1, 2])
        self.assertEqual(registry.set_alias("py-iris", "champion", 1)["aliases"], ["champion"])
        self.assertEqual(self.session.model("py-iris@champion").info()["id"], models[0].id)
        self.assertEqual(self.session.model("py-iris/2").info()["id"], models[1].id)
        if has("numpy"):
            self.assertEqual(self.session.model("py-iris").predict([[5.1, 3.5, 1.4, 0.2]]).tolist(), ["setosa"])
        self.assertEqual(registry.edit("py-iris", 1, tags={"n": None, "stage": "trial"})["tags"], {"stage": "trial"})
        self.assertEqual(registry.edit("py-iris", description="irises")["description"], "irises")
        self.assertEqual((registry.get("py-iris")["latestVersion"], registry.alias("py-iris", "champion")["version"]), (2, 1))
        self.assertEqual([found["version"] for found in registry.versions("py-iris", page_size=1)], [2, 1])
        self.assertIn("py-iris", [found["name"] for found in registry()])
        predicted = self.session.run(kedge.builtin("iris"), task=kedge.predict("py-iris@champion"))
        self.assertEqual(len(predicted["artifacts"]), 1)
        self.raises("CONFLICT", "", models[0].remove)
        self.raises("CONFLICT", "", registry.remove, "py-iris", 1)
        registry.remove_alias("py-iris", "champion")
        registry.remove("py-iris")
        self.raises("NOT_FOUND", "", registry.get, "py-iris")
        models[0].remove()

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
        for ours, theirs in ((kedge.aio.Session, kedge.Session), (kedge.aio.Job, kedge.Job), (kedge.aio.Model, kedge.Model), (kedge.aio.Registry, kedge.registry.Registry)):
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


class Catalogue(WithServer):
    def test_the_classes_are_those_of_the_server(self):
        done = subprocess.run([sys.executable, ROOT / "client" / "python" / "generate.py", self.server.url], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, (ROOT / "client" / "python" / "src" / "kedge" / "estimators.py").read_text(), "run client/python/generate.py")

    def test_a_parameter_that_is_none_of_an_estimators_is_refused_at_once(self):
        self.assertRaises(TypeError, StandardScaler, with_sdt=True)
        self.assertEqual(repr(LogisticRegression(C=2)), "LogisticRegression(C=2)")
        self.assertEqual(LogisticRegression(C=2), LogisticRegression(C=2))
        self.assertNotEqual(LogisticRegression(C=2), LogisticRegression())


class BoostingNames(unittest.TestCase):
    def test_names_of_lightgbm_and_xgboost_are_those_of_scikit_learn(self):
        from kedge.estimators import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        lightgbm = HistGradientBoostingClassifier(objective="binary", n_estimators=50, num_leaves=15, min_child_samples=5, reg_lambda=2.0, max_depth=-1, n_jobs=4, subsample=1.0)
        self.assertEqual(lightgbm, HistGradientBoostingClassifier(loss="log_loss", max_iter=50, max_leaf_nodes=15, min_samples_leaf=5, l2_regularization=2.0, max_depth=None))
        xgboost = HistGradientBoostingRegressor(objective="reg:squarederror", eta=0.3, max_depth=6, max_bin=64, tree_method="hist", early_stopping_rounds=5, seed=1)
        self.assertEqual(xgboost, HistGradientBoostingRegressor(loss="squared_error", learning_rate=0.3, max_depth=6, max_bins=64, n_iter_no_change=5, early_stopping=True, random_state=1))

    def test_what_has_no_counterpart_is_refused_with_its_name(self):
        from kedge.estimators import HistGradientBoostingClassifier
        for params, said in (({"subsample": 0.8}, "subsample is 0.8, must be 1: nothing here does the same"), ({"num_leaves": 5, "max_leaf_nodes": 5}, "another name of max_leaf_nodes"),
                             ({"num_leafs": 5}, "unexpected keyword argument 'num_leafs'"), ({"objective": "rank:ndcg"}, "objective is 'rank:ndcg', must be one of")):
            with self.subTest(params), self.assertRaisesRegex(TypeError, said):
                HistGradientBoostingClassifier(**params)


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


if __name__ == "__main__":
    unittest.main()
