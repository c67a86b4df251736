"""The registry of models from end to end: names wherever an id stands, aliases that move under load and through kills, what may not be deleted."""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, Kedged, spec, wait_for  # noqa: E402

MOVES = int(os.environ.get("KEDGE_ALIAS_MOVES", "1000"))
KILLS = 3
ROW = {"rows": [[5.1, 3.5, 1.4, 0.2]]}


class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--devices", "cpu")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def fitted(self, **params):
        job = self.server.run(spec(steps=("GaussianNB",), task={"fit": {}}) if not params else
                              {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "LogisticRegression", "params": params}], "task": {"fit": {}}})
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]["model"]

    def call(self, status, method, path, body=None, **more):
        reply = self.server.call(method, path, body, **more)
        self.assertEqual(reply.status, status, (method, path, reply.body))
        return reply.json() if reply.body else None

    def test_a_name_stands_wherever_an_id_does(self):
        models = [self.fitted(), self.fitted()]
        for number, model in enumerate(models, 1):
            made = self.call(201, "POST", "/v1/registry/flowers/versions", {"model": model, "tags": {"n": str(number)}})
            self.assertEqual((made["version"], made["model"]), (number, model))
        self.call(200, "POST", "/v1/registry/flowers/versions", {"model": models[0]})
        self.call(200, "PUT", "/v1/registry/flowers/aliases/champion", {"version": 1})
        for reference, model in {"flowers": models[1], "flowers@champion": models[0], "flowers%402": None, "flowers%2F1": models[0], "flowers/2": None}.items():
            info = self.server.call("GET", f"/v1/models/{reference}")
            self.assertEqual(info.json().get("id"), model, reference)
        answer = self.call(200, "POST", "/v1/models/flowers@champion/predict", ROW)
        self.assertEqual(answer, self.call(200, "POST", f"/v1/models/{models[0]}/predict", ROW))
        self.assertEqual(self.server.call("GET", "/v1/models/flowers/download").body, self.server.call("GET", f"/v1/models/{models[1]}/download").body)
        job = self.server.run({"dataset": {"builtin": "iris"}, "task": {"predict": {"model": "flowers@champion"}}})
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["spec"]["task"]["predict"]["model"], models[0], "what was meant when it was submitted")
        self.call(201, "POST", "/v1/registry/also/versions", {"model": "flowers@champion"})

    def test_what_is_registered_cannot_be_deleted(self):
        model = self.fitted()
        self.call(201, "POST", "/v1/registry/kept/versions", {"model": model})
        self.call(200, "PUT", "/v1/registry/kept/aliases/champion", {"version": 1})
        refused = self.call(409, "DELETE", f"/v1/models/{model}")
        self.assertEqual(refused["detail"], f"the model '{model}' is registered as kept/1; delete that version first")
        self.call(409, "DELETE", "/v1/models/kept")
        self.assertIn("champion", self.call(409, "DELETE", "/v1/registry/kept/versions/1")["detail"])
        self.call(204, "DELETE", "/v1/registry/kept/aliases/champion")
        self.call(204, "DELETE", "/v1/registry/kept/versions/1")
        self.call(204, "DELETE", f"/v1/models/{model}")

    def test_bad_input_is_refused_by_its_field(self):
        model = self.fitted()
        self.call(201, "POST", "/v1/registry/strict/versions", {"model": model})
        path = "/v1/registry/strict"
        for status, method, where, body, code in [
                (400, "POST", path + "/versions", {}, "model"), (400, "POST", path + "/versions", {"model": model, "stage": "x"}, "stage"),
                (404, "POST", path + "/versions", {"model": "mdl_none"}, "model"), (400, "POST", path + "/versions", {"model": model, "tags": {"a": 1}}, "tags.a"),
                (400, "POST", "/v1/registry/mdl_x/versions", {"model": model}, "name"), (400, "PUT", path + "/aliases/v1", {"version": 1}, "alias"),
                (400, "PUT", path + "/aliases/a", {"version": "1"}, "version"), (404, "PUT", path + "/aliases/a", {"version": 7}, "version"),
                (400, "PATCH", path, {"description": 5}, "description"), (400, "PATCH", path + "/versions/1", {"name": "b"}, "name")]:
            refused = self.call(status, method, where, body)
            self.assertEqual(refused.get("where"), code, (method, where, body, refused))
        self.call(415, "POST", path + "/versions", b"{}", headers={"Content-Type": "text/plain"})
        for gone in ("/v1/registry/none", path + "/versions/9", path + "/versions/x", path + "/aliases/none"):
            self.call(404, "GET", gone)

    def test_an_alias_moves_under_load_and_every_answer_is_of_one_of_the_two(self):
        models = [self.fitted(C=0.01, max_iter=500), self.fitted(C=100.0, max_iter=500)]
        for model in models:
            self.call(201, "POST", "/v1/registry/moving/versions", {"model": model})
        self.call(200, "PUT", "/v1/registry/moving/aliases/champion", {"version": 1})
        known = {self.server.call("POST", f"/v1/models/{model}/predict?output=predict_proba", ROW).body for model in models}
        self.assertEqual(len(known), 2)
        over, answers, wrong = threading.Event(), [], []
        is_down = threading.Event()

        def ask():
            address = urllib.parse.urlsplit(self.server.url)
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
            while not over.is_set():
                try:
                    connection.request("POST", "/v1/models/moving@champion/predict?output=predict_proba", json.dumps(ROW), {"Content-Type": "application/json"})
                    reply = connection.getresponse()
                    body = reply.read()
                    if reply.status == 200:
                        answers.append(body)
                    if (reply.status != 200 or body not in known) and not is_down.is_set():
                        wrong.append((reply.status, body))
                except (OSError, http.client.HTTPException) as error:
                    if not is_down.is_set():
                        wrong.append(repr(error))
                    connection.close()
                    wait_for(lambda: over.is_set() or not is_down.is_set(), 90, "the server")
                    address = urllib.parse.urlsplit(self.server.url)
                    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
            connection.close()

        clients = [threading.Thread(target=ask) for _ in range(4)]
        for client in clients:
            client.start()
        try:
            for move in range(1, MOVES + 1):
                version = move % 2 + 1
                self.call(200, "PUT", "/v1/registry/moving/aliases/champion", {"version": version})
                self.assertEqual(self.call(200, "GET", "/v1/models/moving@champion")["id"], models[version - 1], "an acknowledged move holds at once")
                if move % (MOVES // (KILLS + 1)) == 0 and move < MOVES:
                    is_down.set()
                    self.server.kill()
                    self.server.start()
                    self.assertEqual(self.call(200, "GET", "/v1/registry/moving/aliases/champion")["version"], version, "and after a kill")
                    is_down.clear()
        finally:
            over.set()
            for client in clients:
                client.join()
        self.assertEqual(wrong, [])
        self.assertEqual(set(answers), known)

    FIT = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"fit": {}}}

    def test_a_job_registers_the_model_that_it_stores(self):
        first = self.server.run({**self.FIT, "register": "grown"})
        self.assertEqual(first["spec"]["register"], "grown")
        self.assertEqual(first["result"]["registered"], "grown/1")
        self.assertEqual(self.call(200, "GET", "/v1/models/grown")["id"], first["result"]["model"])
        search = {"gridSearch": {"paramGrid": {"gaussiannb__var_smoothing": [1e-9, 1e-3]}, "crossValidate": {"cv": 3}}}
        second = self.server.run({**self.FIT, "task": search, "register": "grown"})
        self.assertEqual(second["result"]["registered"], "grown/2")
        self.assertEqual(self.call(200, "GET", "/v1/models/grown")["id"], second["result"]["model"], "the highest version at once")
        self.assertEqual(self.call(200, "GET", f"/v1/jobs/{second['id']}/result")["registered"], "grown/2")
        self.call(409, "DELETE", f"/v1/models/{second['result']['model']}")
        plain = self.server.run(self.FIT)
        self.assertNotIn("registered", plain["result"])

    def test_a_job_that_can_register_nothing_is_refused(self):
        fit = self.FIT
        folds = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"crossValidate": {"cv": 3}}}
        unrefitted = {**fit, "task": {"gridSearch": {"paramGrid": {"gaussiannb__var_smoothing": [1e-9]}, "refit": False}}}
        for job in ({**fit, "register": "mdl_1"}, {**fit, "register": "a/b"}, {**fit, "register": "a@b"}, {**fit, "register": "x" * 129}, {**folds, "register": "no"},
                    {**unrefitted, "register": "no"}, {**fit, "register": 5}):
            for path in ("/v1/jobs", "/v1/jobs/check"):
                refused = self.call(400, "POST", path, job)
                self.assertEqual(refused.get("where"), "register", (path, job["register"], refused))
        self.call(404, "GET", "/v1/registry/no")

    def test_a_job_that_fails_registers_nothing(self):
        failed = self.server.run({"dataset": {"inline": {"csv": "a,b,y\n1,,0\n2,3,1\n3,4,0\n4,1,1\n", "target": "y"}},
                                  "pipeline": [{"estimator": "LogisticRegression"}], "task": {"fit": {}}, "register": "failed"})
        self.assertEqual(failed["state"], "failed", failed)
        self.call(404, "GET", "/v1/registry/failed")

    def test_each_job_registers_once_through_kills(self):
        jobs = []
        for kill in range(1 + KILLS):
            jobs += [self.server.submit({**self.FIT, "register": "killed"}) for _ in range(6)]
            if kill < KILLS:
                self.server.kill()
                self.server.start()
        ended = [self.server.wait(job) for job in jobs]
        self.assertEqual({job["state"] for job in ended}, {"succeeded"})
        versions = {f"killed/{one['version']}": one["model"] for one in self.call(200, "GET", "/v1/registry/killed/versions?pageSize=100")["versions"]}
        self.assertEqual({job["result"]["registered"]: job["result"]["model"] for job in ended}, versions)
        self.assertEqual(len(versions), len(jobs))

    def test_the_command_line_registers_and_asks(self):
        model = self.fitted()
        env = {**os.environ, "KEDGE_URL": self.server.url}

        def kedge(*arguments, code=0):
            done = subprocess.run([BIN / "kedge", *arguments], env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
            return done.stdout if code == 0 else done.stderr

        with tempfile.NamedTemporaryFile("w", suffix=".json") as job:
            json.dump(self.FIT, job)
            job.flush()
            self.assertIn("registered as run/1\n", kedge("run", job.name, "--register", "run"))
            submitted = kedge("submit", job.name, "--register", "run").strip()
            self.assertIn("registered as run/2\n", kedge("result", submitted))
        self.assertEqual(kedge("registry", "add", "iris", model, "--description", "first"), "iris/1\n")
        self.assertEqual(kedge("registry", "alias", "iris@champion", "1"), "iris/1\n")
        self.assertEqual(kedge("registry", "tag", "iris/1", "stage=trial", "owner=me"), "stage=trial, owner=me\n")
        self.assertEqual(json.loads(kedge("registry", "iris@champion", "--json"))["tags"], {"stage": "trial", "owner": "me"})
        self.assertEqual(kedge("registry", "tag", "iris@champion", "owner="), "stage=trial\n")
        self.assertIn("@champion = 1", kedge("registry"))
        self.assertIn("first", kedge("registry", "iris"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as rows:
            json.dump(ROW, rows)
            rows.flush()
            self.assertEqual(kedge("predict", "iris@champion", rows.name), kedge("predict", model, rows.name))
            self.assertEqual(kedge("predict", "iris/1", rows.name), kedge("predict", model, rows.name))
        self.assertIn("alias 'champion'", kedge("registry", "rm", "iris/1", code=1))
        kedge("registry", "alias", "iris@champion", "--delete")
        kedge("registry", "rm", "iris/1")
        kedge("registry", "rm", "iris")
        self.assertIn("no registered model", kedge("registry", "iris", code=1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
