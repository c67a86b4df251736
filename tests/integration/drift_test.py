"""Drift figures of served models, from end to end: rows like those fitted on and shifted ones, restarts and crashes, other tenants, each client."""
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE.parents[1] / "client" / "python" / "src"))
from kedge_server import BIN, Kedged, spec, wait_for  # noqa: E402
from security_test import SecureServer, new_token  # noqa: E402

import kedge  # noqa: E402

MODEL = {"Content-Type": "application/vnd.kedge.model"}
OPEN = "application/vnd.kedge.model+zip"
STEPS = (("ColumnTransformer", {"transformers": [["age", {"estimator": "SimpleImputer"}, ["age"]], ["plan", {"estimator": "OneHotEncoder", "params": {"handle_unknown": "ignore"}}, ["plan"]]]}),
         "LogisticRegression")


def customers(shift=0, plans=("basic", "plus", "basic"), missing=10):
    """500 rows: an age, which every so manyth row lacks, a plan, and whether they left."""
    return [[None if i % missing == 0 else 20 + i * 37 % 50 + shift, plans[i % len(plans)], "yes" if i % 3 else "no"] for i in range(500)]


def csv(rows):
    return "age,plan,left\n" + "".join(f"{'' if age is None else age},{plan},{left}\n" for age, plan, left in rows)


def index(column):
    """The population stability index, as docs/serving.md says it."""
    pairs = zip([*column["trained"], column["trainedMissing"]], [*column["seen"], column["seenMissing"]])
    return sum((s - t) * math.log(s / t) for t, s in ((max(t, 1e-4), max(s, 1e-4)) for t, s in pairs))


class Drift(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--devices", "cpu")
        cls.files = pathlib.Path(cls.folder.name) / "state" / "serving"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def fitted(self):
        job = self.server.run(spec({"inline": {"csv": csv(customers()), "target": "left"}}, STEPS, {"fit": {}}))
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]["model"]

    def call(self, status, method, path, body=None, **more):
        reply = self.server.call(method, path, body, **more)
        self.assertEqual(reply.status, status, (method, path, reply.body))
        return json.loads(reply.body) if reply.body and reply.headers["Content-Type"].startswith("application/json") else reply.body

    def ask(self, model, rows):
        self.call(200, "POST", f"/v1/models/{model}/predict", {"columns": ["age", "plan"], "rows": [row[:2] for row in rows]})

    def drift(self, model):
        return self.call(200, "GET", f"/v1/models/{model}/drift")

    def test_rows_like_those_fitted_on_have_small_indices_and_others_large_ones(self):
        model = self.fitted()
        self.ask(model, customers())
        same = self.drift(model)
        self.assertEqual((same["model"], same["rows"], same["trainedRows"], same["psi"]), (model, 500, 500, 0))
        age, plan = same["columns"]
        self.assertEqual((age["name"], age["kind"], plan["name"], plan["kind"]), ("age", "number", "plan", "category"))
        self.assertEqual(age["trained"], age["seen"])
        self.assertEqual((age["trainedMissing"], age["seenMissing"]), (0.1, 0.1))
        self.assertEqual(len(age["edges"]), 9)
        self.assertEqual(plan["categories"], ["basic", "plus"])
        self.assertEqual(plan["trained"][2], 0)
        for _ in range(3):
            self.ask(model, customers(shift=25, plans=("plus", "gold"), missing=2))
        moved = self.drift(model)
        self.assertEqual((moved["rows"], moved["since"]), (2000, same["since"]))
        for column in moved["columns"]:
            self.assertAlmostEqual(column["psi"], index(column), 12)
            self.assertGreater(column["psi"], 0.25)
            self.assertAlmostEqual(sum(column["seen"]) + column["seenMissing"], 1, 12)
        self.assertAlmostEqual(moved["columns"][0]["seenMissing"], (50 + 3 * 250) / 2000, 12)
        self.assertAlmostEqual(moved["columns"][1]["seen"][2], 750 / 2000, 12, "categories that were not in the rows fitted on")
        self.assertEqual(moved["psi"], max(column["psi"] for column in moved["columns"]))
        metrics = self.call(200, "GET", "/metrics").decode()
        line = next(line for line in metrics.splitlines() if line.startswith(f'kedge_model_drift_psi{{model="{model}"}}'))
        self.assertAlmostEqual(float(line.split()[-1]), moved["psi"], 6)

    def test_before_questions_and_of_few_rows_there_is_no_index(self):
        model = self.fitted()
        drift = self.drift(model)
        self.assertEqual(drift["rows"], 0)
        self.assertNotIn("since", drift)
        self.ask(model, customers()[:99])
        self.call(422, "POST", f"/v1/models/{model}/predict", {"columns": ["age"], "rows": [[1]]})   # is not counted
        drift = self.drift(model)
        self.assertEqual(drift["rows"], 99)
        self.assertNotIn("psi", drift)
        self.assertNotIn("psi", drift["columns"][0])
        self.ask(model, customers()[:1])
        self.assertIn("psi", self.drift(model))

    def test_counts_survive_a_restart_a_crash_and_the_worker(self):
        model = self.fitted()
        self.ask(model, customers(shift=5))
        before = self.drift(model)
        self.server.stop()
        self.server.start()
        self.assertEqual(self.drift(model), before)
        self.ask(model, customers(shift=5))
        wait_for(lambda: json.loads((self.files / f"{model}.drift").read_text())["rows"] == 1000, 30, "the counts on the disk")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.drift(model)["rows"], 1000)
        self.ask(model, customers())
        for worker in self.server.workers():
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(self.drift(model)["rows"], 1500, "kedged keeps them")
        wait_for(lambda: self.server.call("POST", f"/v1/models/{model}/predict", {"columns": ["age", "plan"], "rows": [[1, "basic"]]}).status == 200, 60, "an answer")
        self.assertGreaterEqual(self.drift(model)["rows"], 1501)

    def test_names_mean_their_model_and_counting_begins_again(self):
        model = self.fitted()
        version = self.call(201, "POST", "/v1/registry/customers/versions", {"model": model})["version"]
        self.call(200, "PUT", "/v1/registry/customers/aliases/champion", {"version": version})
        self.ask("customers@champion", customers())
        for name in ("customers", "customers@champion", f"customers%2F{version}"):
            self.assertEqual(self.drift(name)["rows"], 500, name)
        since = self.drift(model)["since"]
        self.call(204, "DELETE", "/v1/models/customers/drift")
        drift = self.drift(model)
        self.assertEqual(drift["rows"], 0)
        self.assertGreater(drift["since"], since)
        self.call(204, "DELETE", "/v1/registry/customers")

    def test_the_counts_go_with_the_model(self):
        model = self.fitted()
        self.ask(model, customers())
        wait_for((self.files / f"{model}.drift").exists, 30, "the file")
        self.call(204, "DELETE", f"/v1/models/{model}")
        self.call(404, "GET", f"/v1/models/{model}/drift")
        self.call(404, "DELETE", f"/v1/models/{model}/drift")
        self.assertEqual(list(self.files.glob(f"{model}*")), [])
        self.call(404, "GET", "/v1/models/mdl_none/drift")
        self.call(400, "GET", f"/v1/models/{self.fitted()}/drift?since=now")

    def test_a_profile_goes_with_the_file_in_either_form(self):
        model = self.fitted()
        for accept in (OPEN, "application/vnd.kedge.model"):
            content = self.server.call("GET", f"/v1/models/{model}/download", headers={"Accept": accept}).body
            copy = self.call(201, "POST", "/v1/models", content, headers={"Content-Type": accept})["id"]
            self.assertEqual(self.drift(copy)["columns"], self.drift(model)["columns"])

    def test_a_model_without_a_profile_says_so(self):
        content = (HERE.parent / "data" / "imported" / "catboost_names.json").read_bytes()
        model = self.call(201, "POST", "/v1/models", content, headers=MODEL)["id"]
        drift = self.drift(model)
        self.assertEqual((drift["columns"], drift["rows"]), ([], 0))
        self.assertIn("keeps no profile", drift["note"])
        self.call(204, "DELETE", f"/v1/models/{model}/drift")

    def test_the_command_line_and_python_show_the_same(self):
        model = self.fitted()
        self.ask(model, customers(shift=30))

        def kedge_says(*words):
            run = subprocess.run([f"{BIN}/kedge", "--url", self.server.url, *words], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run)
            return run.stdout

        drift = self.drift(model)
        self.assertEqual(json.loads(kedge_says("--json", "models", "drift", model)), drift)
        shown = kedge_says("models", "drift", model).splitlines()
        self.assertEqual(shown[1].split()[:2], ["age", "number"], "the largest first")
        self.assertIn("500 rows asked since", shown[-1])
        handle = kedge.connect(self.server.url).model(model)
        self.assertEqual(handle.drift(), drift)
        handle.reset_drift()
        self.assertEqual(handle.drift()["rows"], 0)
        self.ask(model, customers())
        kedge_says("models", "drift", model, "--reset")
        self.assertEqual(handle.drift()["rows"], 0)


class Tenants(unittest.TestCase):
    def test_another_tenant_sees_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            server = SecureServer(folder, "--devices", "cpu")
            try:
                alice, bob = (new_token(server.data, "--tenant", name) for name in ("alice", "bob"))
                wait_for(lambda: server.call("GET", "/v1/info", bob).status == 200, 10, "the new tokens")
                job = server.call("POST", "/v1/jobs?wait=60s", alice, spec(task={"fit": {}})).json()
                path = f"/v1/models/{job['result']['model']}/drift"
                self.assertEqual(server.call("GET", path, alice).status, 200)
                self.assertEqual([server.call(method, path, bob).status for method in ("GET", "DELETE")], [404, 404])
                self.assertEqual(server.call("GET", path).status, 401)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main()
