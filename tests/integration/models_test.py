"""Stored models from end to end: fit, list, ask, predict as a job, download, upload, delete, and what a crash leaves."""
import io
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import Kedged, spec, wait_for  # noqa: E402

IMPORTED = HERE.parent / "data" / "imported"   # models of XGBoost and LightGBM, with what these say
CSV = {"Content-Type": "text/csv", "Accept": "text/csv"}
OPEN = "application/vnd.kedge.model+zip"
MODEL = {"Content-Type": "application/vnd.kedge.model", "Accept": "application/json"}


class StoredModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.models_dir = pathlib.Path(cls.folder.name) / "state" / "models"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def fitted(self, steps=("StandardScaler", "LogisticRegression")):
        job = self.server.run(spec(steps=steps, task={"fit": {}}))
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]["model"]

    def info(self, model):
        return self.server.call("GET", f"/v1/models/{model}").json()

    def rows(self, model):
        header = ",".join(column["name"] for column in self.info(model)["columns"])
        return f"{header}\n5.1,3.5,1.4,0.2\n6.3,3.3,6.0,2.5\n".encode()

    def ask(self, model, body, headers=CSV, query=""):
        return self.server.call("POST", f"/v1/models/{model}/predict{query}", body, headers)

    def test_a_fit_stores_a_model_that_answers(self):
        model = self.fitted()
        self.assertEqual(self.info(model)["outputs"], ["predict", "predict_proba", "decision_function", "contributions", "interactions"])
        reply = self.ask(model, self.rows(model))
        self.assertEqual(reply.status, 200, reply.body)
        answer = reply.body.decode().split()
        self.assertEqual(len(answer), 3)
        self.assertNotEqual(answer[1], answer[2])
        rows = {"rows": [[5.1, 3.5, 1.4, 0.2]]}
        proba = self.ask(model, rows, {"Accept": "application/json"}, "?output=predict_proba").json()
        self.assertAlmostEqual(sum(proba["values"][0]), 1, places=12)

    def opened(self, model):
        reply = self.server.call("GET", f"/v1/models/{model}/download", headers={"Accept": OPEN})
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, OPEN))
        return reply.body

    @staticmethod
    def repacked(content, change=lambda name, body: body, method=zipfile.ZIP_STORED):
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(made, "w", method) as after:
            for name in before.namelist():
                if (body := change(name, before.read(name))) is not None:
                    after.writestr(name, body)
        return made.getvalue()

    def test_the_open_form_is_read_by_any_program_and_taken_back(self):
        model = self.fitted()
        content = self.opened(model)
        self.assertEqual(content, self.opened(model))
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            self.assertIsNone(file.testzip())
            described = json.loads(file.read("model.json"))
            self.assertEqual((described["format"], described["version"]), ("kedge.model", 1))
            self.assertEqual([member["value"] for member in described["state"] if member["name"] == "n_features"], [4, 4])
            self.assertEqual(len(file.namelist()), 1 + sum("file" in member for member in described["state"]))
            for member in described["state"]:
                self.assertTrue("file" not in member or file.read(member["file"]).startswith(b"\x93NUMPY"), member)
        rows = self.rows(model)
        for body in (content, self.repacked(content)):   # as it was sent, and as another program writes it
            back = self.server.call("POST", "/v1/models", body, {**MODEL, "Content-Type": OPEN})
            self.assertEqual(back.status, 201, back.body)
            self.assertEqual(self.ask(back.json()["id"], rows).body, self.ask(model, rows).body)
        self.assertFalse([name for name in os.listdir(self.models_dir) if name.endswith((".part", ".model"))])

    def test_an_open_form_that_was_changed_is_refused_by_name(self):
        content = self.opened(self.fitted())
        other = {"version": lambda name, body: body.replace(b'"version":1', b'"version":9') if name == "model.json" else body,
                 "no member": lambda name, body: None if name.startswith("1.") else body,
                 "numbers": lambda name, body: body[:-8] if name.endswith(".npy") else body,
                 "says 3 x 1": lambda name, body: body.replace(b'"rows":4', b'"rows":3') if name == "model.json" else body,
                 "type of state[0]": lambda name, body: body.replace(b'"type":"number"', b'"type":"lumber"') if name == "model.json" else body}
        for words, change in other.items():
            reply = self.server.call("POST", "/v1/models", self.repacked(content, change), MODEL)
            self.assertEqual(reply.status, 422, reply.body)
            self.assertIn(words, reply.json()["detail"])
        for body, words in ((self.repacked(content, method=zipfile.ZIP_DEFLATED), "packed"), (content[:-30], "ZIP"), (b"PK\x03\x04", "ZIP")):
            reply = self.server.call("POST", "/v1/models", body, MODEL)
            self.assertEqual(reply.status, 422, reply.body)
            self.assertIn(words, reply.json()["detail"])

    def pushed(self, name):
        reply = self.server.call("POST", "/v1/models", (IMPORTED / name).read_bytes(), {**MODEL, "Content-Type": "application/octet-stream"})
        self.assertEqual(reply.status, 201, reply.body)
        return reply.json()

    def test_models_of_other_programs_become_stored_models(self):
        for name in ("xgb_categories.json", "xgb_categories.ubj", "lgb_categories.txt"):
            model = self.pushed(name)
            self.assertEqual(model["outputs"], ["predict", "predict_proba", "decision_function", "contributions", "interactions"])
            said = json.loads((IMPORTED / (name.split(".")[0] + ".answers.json")).read_text())
            body = {"columns": said["columns"], "rows": said["rows"]}
            answer = self.ask(model["id"], body, {"Accept": "application/json"}, "?output=decision_function").json()["values"]
            for value, expected in zip(answer, said["decision_function"], strict=True):
                self.assertAlmostEqual(value, expected, delta=4e-16 * abs(expected) if name.startswith("lgb") else 0)
            self.assertEqual(self.ask(model["id"], body, {"Accept": "application/json"}).json()["values"], said["predict"])
            for content in (self.server.call("GET", f"/v1/models/{model['id']}/download").body, self.opened(model["id"])):
                again = self.server.call("POST", "/v1/models", content, MODEL)
                self.assertEqual(again.status, 201, again.body)
                same = self.ask(again.json()["id"], body, {"Accept": "application/json"}, "?output=decision_function").json()["values"]
                self.assertEqual(same, answer)

    def test_graphs_of_onnx_and_models_of_catboost_become_stored_models(self):
        for name in ("onnx_pipeline.onnx", "onnx_forest_names.onnx", "catboost_names.json"):
            model = self.pushed(name)
            self.assertEqual(model["outputs"][:2], ["predict", "predict_proba"])
            said = json.loads((IMPORTED / (name.split(".")[0] + ".answers.json")).read_text())
            body = {"columns": said["columns"], "rows": said["rows"]}
            self.assertEqual(self.ask(model["id"], body, {"Accept": "application/json"}).json()["values"], said["predict"])
            shares = self.ask(model["id"], body, {"Accept": "application/json"}, "?output=predict_proba").json()["values"]
            for row, expected in zip(shares, said["predict_proba"], strict=True):
                for value, wanted in zip(row, expected, strict=True):
                    self.assertAlmostEqual(value, wanted, delta=1e-6)
            for content in (self.server.call("GET", f"/v1/models/{model['id']}/download").body, self.opened(model["id"])):
                again = self.server.call("POST", "/v1/models", content, MODEL)
                self.assertEqual(again.status, 201, again.body)
                same = self.ask(again.json()["id"], body, {"Accept": "application/json"}, "?output=predict_proba").json()["values"]
                self.assertEqual(same, shares)

    def test_an_operator_that_is_not_taken_is_refused_by_name(self):
        content = (IMPORTED / "onnx_pipeline.onnx").read_bytes()
        self.assertIn(b"Imputer", content)
        reply = self.server.call("POST", "/v1/models", content.replace(b"Imputer", b"Imputor"), {**MODEL, "Content-Type": "application/octet-stream"})
        self.assertEqual(reply.json()["code"], "INVALID_VALUE", reply.body)
        self.assertIn("(Imputor): this operator is not taken", reply.json()["detail"])

    def test_contributions_add_up_to_the_answer(self):
        steps = ("StandardScaler", ("RandomForestClassifier", {"n_estimators": 10}))
        model = self.fitted(steps)
        self.assertIn("contributions", self.info(model)["outputs"])
        rows = {"rows": [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5]]}
        said = {output: self.ask(model, rows, {"Accept": "application/json"}, f"?output={output}").json() for output in ("contributions", "predict_proba")}
        columns = [column["name"] for column in self.info(model)["columns"]]
        self.assertEqual(said["contributions"]["columns"],
                         [f"{name}:{column}" for name in ("setosa", "versicolor", "virginica") for column in (*columns, "expected_value")])
        for parts, answer in zip(said["contributions"]["values"], said["predict_proba"]["values"], strict=True):
            for k, value in enumerate(answer):
                self.assertAlmostEqual(sum(parts[5 * k:5 * k + 5]), value, places=12)
        job = self.server.run({"dataset": {"builtin": "iris"}, "task": {"predict": {"model": model, "output": "contributions", "format": "csv"}}})
        self.assertEqual(job["state"], "succeeded", job)
        text = self.server.call("GET", f"/v1/jobs/{job['id']}/artifacts/predictions.csv").body.decode().splitlines()
        self.assertEqual((text[0].split(","), len(text)), (said["contributions"]["columns"], 151))

    def test_contributions_against_a_background_add_up_to_the_answer(self):
        model = self.fitted(("StandardScaler", ("RandomForestClassifier", {"n_estimators": 10})))
        rows = {"rows": [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5]]}
        against = {**rows, "background": [[6.0, 3.0, 5.0, 2.0], [5.0, 3.0, 1.0, 0.0], [6.0, 3.0, 4.0, 1.2]]}
        shares, means = (self.ask(model, {"rows": asked}, {"Accept": "application/json"}, "?output=predict_proba").json()["values"]
                         for asked in (rows["rows"], against["background"]))
        said = self.ask(model, against, {"Accept": "application/json"}, "?output=contributions").json()["values"]
        for parts, answer in zip(said, shares, strict=True):
            for k, value in enumerate(answer):
                self.assertAlmostEqual(sum(parts[5 * k:5 * k + 5]), value, places=12)
                self.assertAlmostEqual(parts[5 * k + 4], sum(row[k] for row in means) / 3, places=12)
        for output in ("predict", "contributions"):
            body = {**rows, "background": [[1.0, 2.0]] if output == "contributions" else rows["rows"]}
            reply = self.ask(model, body, {"Accept": "application/json"}, f"?output={output}")
            self.assertEqual((reply.status, reply.json()["where"]), (400 if output == "predict" else 422, "background"), reply.body)

    def test_interactions_add_up_to_the_contributions(self):
        rows = {"rows": [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5]]}
        for step in (("RandomForestClassifier", {"n_estimators": 10}), "LogisticRegression"):
            model = self.fitted(("StandardScaler", step))
            said = {output: self.ask(model, rows, {"Accept": "application/json"}, f"?output={output}").json() for output in ("contributions", "interactions")}
            columns = [column["name"] for column in self.info(model)["columns"]]
            self.assertEqual(said["interactions"]["columns"][:17], [f"setosa:{one}*{other}" for one in columns for other in columns] + ["setosa:expected_value"])
            for pairs, parts in zip(said["interactions"]["values"], said["contributions"]["values"], strict=True):
                self.assertEqual(len(pairs), 3 * 17)
                for k in range(3):
                    matrix = [pairs[17 * k + 4 * i:17 * k + 4 * i + 4] for i in range(4)]
                    self.assertEqual(matrix, [list(column) for column in zip(*matrix, strict=True)])
                    for row, part in zip(matrix, parts[5 * k:5 * k + 4], strict=True):
                        self.assertAlmostEqual(sum(row), part, places=12)
                    self.assertEqual(pairs[17 * k + 16], parts[5 * k + 4])
            through_v2 = self.server.call("POST", f"/v2/models/{model}/infer", json.dumps(
                {"inputs": [{"name": "input", "shape": [2, 4], "datatype": "FP64", "data": rows["rows"]}], "outputs": [{"name": "interactions"}]}).encode()).json()
            self.assertEqual(through_v2["outputs"][0]["data"], sum(said["interactions"]["values"], []))
        csv = "a,b,c,d\n" + "1,2,3,4\n" * 200_000
        reply = self.ask(model, csv.replace("a,b,c,d", ",".join(columns)).encode(), query="?output=interactions")
        self.assertEqual((reply.status, reply.json()["where"]), (400, "rows"), reply.body[:300])
        self.assertEqual(reply.json()["detail"], "interactions of 200000 rows are 10200000 numbers, 51 each, at most 8000000 are answered at once")

    def test_contributions_of_pushed_models_are_those_of_the_trainer(self):
        wanted = json.loads((IMPORTED / "contributions.json").read_text())
        for name in ("xgb_categories.ubj", "lgb_categories.txt"):
            model = self.pushed(name)["id"]
            said = json.loads((IMPORTED / (name.split(".")[0] + ".answers.json")).read_text())
            parts = wanted[name]
            body = {"columns": said["columns"], "rows": said["rows"][:len(parts)]}
            found = self.ask(model, body, {"Accept": "application/json"}, "?output=contributions").json()
            self.assertEqual(found["columns"], [*said["columns"], "expected_value"])
            for row, expected in zip(found["values"], parts, strict=True):
                for value, own in zip(row, expected, strict=True):
                    self.assertAlmostEqual(value, own, delta=1e-5)

    def test_models_without_contributions_say_what_they_have(self):
        reply = self.ask(self.fitted(("StandardScaler", "KMeans")), self.rows(self.fitted()), query="?output=contributions")
        self.assertEqual((reply.status, reply.json()["where"]), (400, "output"), reply.body)
        self.assertIn("output is 'contributions', this model has predict", reply.json()["detail"])

    def test_a_pushed_model_answers_a_job(self):
        model = self.pushed("lgb_regression.txt")
        csv = "a,b,c,d,e\n" + "".join(f"{i},{i / 3},{-i},1,0\n" for i in range(9))
        dataset = {"inline": {"csv": csv}}
        job = self.server.run({"dataset": dataset, "task": {"predict": {"model": model["id"], "format": "csv"}}})
        self.assertEqual(job["state"], "succeeded", job)
        answers = self.server.call("GET", f"/v1/jobs/{job['id']}/artifacts/predictions.csv").body
        self.assertEqual(answers, self.ask(model["id"], csv.encode()).body)

    def test_a_malformed_model_of_another_program_is_refused_with_its_place(self):
        text = (IMPORTED / "lgb_regression.txt").read_text()
        for body, words in ((text.replace("left_child=", "left_child=0 ", 1), "Tree=0"), (text[:900], "LightGBM model: "),
                            ('{"learner": {}}', "XGBoost model.learner"), ('{"learner": ', "XGBoost model"), ('{L\0', "UBJSON: byte")):
            reply = self.server.call("POST", "/v1/models", body.encode(), {**MODEL, "Content-Type": "application/octet-stream"})
            self.assertEqual((reply.status, reply.json()["code"]), (422, "MODEL_CORRUPT"), reply.body)
            self.assertIn(words, reply.json()["detail"])
        self.assertFalse(list(self.models_dir.glob("*.part")))

    def test_a_missing_column_is_named(self):
        model = self.fitted()
        reply = self.ask(model, b"a,b\n1,2\n")
        self.assertEqual(reply.status, 422)
        self.assertIn(f"no column '{self.info(model)['columns'][0]['name']}'", reply.json()["detail"])

    def test_models_are_listed_page_by_page_newest_first(self):
        made = [self.fitted() for _ in range(3)]
        page = self.server.call("GET", "/v1/models?pageSize=2").json()
        self.assertEqual([m["id"] for m in page["models"]], [made[2], made[1]])
        after = self.server.call("GET", f"/v1/models?pageSize=1&pageToken={page['nextPageToken']}").json()
        self.assertEqual(after["models"][0]["id"], made[0])

    def test_predict_is_a_job_with_an_artifact_in_parts(self):
        model = self.fitted()
        job = self.server.run({"dataset": {"builtin": "iris"}, "task": {"predict": {"model": model, "format": "csv"}}})
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual([a["name"] for a in job["result"]["artifacts"]], ["predictions.csv"])
        path = f"/v1/jobs/{job['id']}/artifacts/predictions.csv"
        whole = self.server.call("GET", path)
        self.assertEqual(len(whole.body.split()), 151)
        part = self.server.call("GET", path, headers={"Range": "bytes=0-9"})
        self.assertEqual((part.status, part.body), (206, whole.body[:10]))
        self.assertEqual(self.server.call("GET", path, headers={"Range": "bytes=99999999-"}).status, 416)
        self.assertEqual(self.server.call("GET", f"/v1/jobs/{job['id']}/artifacts/other").status, 404)

    def test_transform_is_a_job_too(self):
        model = self.fitted((("PCA", {"n_components": 2}),))
        job = self.server.run({"dataset": {"builtin": "iris"}, "task": {"transform": {"model": model}}})
        self.assertEqual(job["state"], "succeeded", job)
        body = self.server.call("GET", f"/v1/jobs/{job['id']}/artifacts/transformed.npy").body
        self.assertTrue(body.startswith(b"\x93NUMPY"))
        self.assertEqual(len(body) % 64, (150 * 2 * 8) % 64)

    def test_a_search_with_refit_stores_its_best(self):
        task = {"gridSearch": {"paramGrid": {"kneighborsclassifier__n_neighbors": [1, 5]}, "crossValidate": {"cv": 3}}}
        job = self.server.run(spec(steps=("StandardScaler", "KNeighborsClassifier"), task=task))
        best = job["result"]["search"]["bestParams"]["kneighborsclassifier__n_neighbors"]
        self.assertEqual(self.info(job["result"]["model"])["pipeline"][1]["params"], {"n_neighbors": best})

    def test_a_download_is_an_upload_and_says_the_same(self):
        model = self.fitted(("StandardScaler", ("KNeighborsClassifier", {"n_neighbors": 3})))
        file = self.server.call("GET", f"/v1/models/{model}/download").body
        reply = self.server.call("POST", "/v1/models", file, MODEL)
        self.assertEqual(reply.status, 201, reply.body)
        again = reply.json()["id"]
        self.assertEqual(self.ask(again, self.rows(again)).body, self.ask(model, self.rows(model)).body)
        broken = self.server.call("POST", "/v1/models", file[:200] + bytes([file[200] ^ 1]) + file[201:], MODEL)
        self.assertEqual((broken.status, broken.json()["code"]), (422, "MODEL_CORRUPT"))
        self.assertFalse(list(self.models_dir.glob("*.part")))

    def test_a_deleted_model_is_gone_at_once(self):
        model = self.fitted()
        self.ask(model, self.rows(model))
        self.assertEqual(self.server.call("DELETE", f"/v1/models/{model}").status, 204)
        self.assertEqual(self.server.call("DELETE", f"/v1/models/{model}").status, 404)
        self.assertEqual(self.server.call("POST", f"/v1/models/{model}/predict", b"a\n1\n", CSV).status, 404)
        self.assertFalse((self.models_dir / f"{model}.kedge").exists())
        refused = self.server.call("POST", "/v1/jobs", {"dataset": {"builtin": "iris"}, "task": {"predict": {"model": model}}})
        self.assertEqual(refused.status, 404, refused.body)

    def test_a_model_outlives_a_kill_and_orphans_do_not(self):
        model = self.fitted()
        before = self.ask(model, self.rows(model)).body
        self.server.kill()
        orphan, part = self.models_dir / "mdl_X.kedge", self.models_dir.parent / "results" / "job_X.7.part"
        orphan.write_bytes(b"x")
        part.mkdir()
        self.server.start()
        self.assertEqual(self.ask(model, self.rows(model)).body, before)
        self.assertFalse(orphan.exists() or part.exists())
        listed = {m["id"] for m in self.server.call("GET", "/v1/models?pageSize=500").json()["models"]}
        wait_for(lambda: listed == {p.stem for p in self.models_dir.glob("*.kedge")}, 10, "files of all models and no others")

    def test_a_confusion_matrix_and_curves_come_on_request(self):
        task = {"crossValidate": {"cv": 5, "confusionMatrix": True, "curves": True}}
        found = self.server.run(spec(task=task))["result"]["evaluation"]
        self.assertEqual(sum(sum(row) for row in found["confusion_matrix"]["matrix"]), 150)
        self.assertGreater(found["roc_curve"]["micro"]["auc"], 0.9)


class BoundedModels(unittest.TestCase):
    def test_those_that_were_used_longest_ago_go_beyond_the_bound(self):
        forest = [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 20}}]
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--tenant-models-mib", "1")
            try:
                fit = {"dataset": {"builtin": "digits"}, "pipeline": forest, "task": {"fit": {}}}
                models = [server.run(fit)["result"]["model"] for _ in range(4)]
                size = server.call("GET", f"/v1/models/{models[0]}").json()["bytes"]
                self.assertTrue(2 * size > 1 << 20 > size, f"one of {size} bytes fits, two do not")
                upload = server.call("GET", f"/v1/models/{models[0]}/download").body
                uploaded = server.call("POST", "/v1/models", upload, MODEL).json()["id"]
                hours_ago = time.time() - 7200
                for model in (*models, uploaded):
                    os.utime(pathlib.Path(folder) / "state" / "models" / f"{model}.kedge", (hours_ago, hours_ago))
                self.assertEqual(server.call("GET", f"/v1/models/{models[1]}/download").status, 200)   # a use
                server.child.send_signal(signal.SIGHUP)   # looks at once
                listed = lambda: {m["id"] for m in server.call("GET", "/v1/models").json()["models"]}   # noqa: E731
                wait_for(lambda: listed() == {models[1], uploaded}, 30, "the end of those that were not used")
                self.assertEqual(server.call("GET", f"/v1/models/{models[0]}").status, 404)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
