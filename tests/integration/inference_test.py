"""The Open Inference Protocol of a real server: the specification's examples by plain HTTP, tritonclient where it is installed, and what is refused."""
import asyncio
import json
import pathlib
import struct
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import Kedged, Reply  # noqa: E402

try:
    import numpy as np
    import tritonclient.http as triton
    from tritonclient.utils import InferenceServerException
except ImportError:   # these rows need: pip install tritonclient[http]
    triton = None

ROWS = [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5]]
FLOWERS = {"name": "input", "shape": [2, 4], "datatype": "FP64", "data": ROWS}
TABLE = "colour,size,y\n" + "".join(f"{'red' if i % 2 else 'blue'},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(60))


class Inference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--devices", "cpu")
        cls.model = cls.fitted({"builtin": "iris"}, "GaussianNB")
        cls.digits = cls.fitted({"builtin": "digits"}, "GaussianNB")
        cls.mixed = cls.fitted({"inline": {"csv": TABLE, "target": "y"}}, "OneHotEncoder", "LogisticRegression")
        for name, model in {"iris": cls.model, "digits": cls.digits, "mixed": cls.mixed}.items():
            assert cls.server.call("POST", f"/v1/registry/{name}/versions", {"model": model}).status == 201

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    @classmethod
    def fitted(cls, dataset, *steps):
        job = cls.server.run({"dataset": dataset, "pipeline": [{"estimator": step} for step in steps], "task": {"fit": {}}})
        assert job["state"] == "succeeded", job
        return job["result"]["model"]

    def ask(self, path, body=None, headers=None):
        """As clients send it: urllib would add a Content-Type, so it is taken away."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.server.url + path, data=data, method="GET" if body is None else "POST", headers=headers or {})
        if data is not None:
            request.add_unredirected_header("Content-type", "application/octet-stream")
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read(), str(self.server.data_dir))

    def infer(self, status=200, model="iris", **body):
        reply = self.ask(f"/v2/models/{model}/infer", body)
        self.assertEqual(reply.status, status, reply.body)
        return reply.json()

    def said(self, output="predict", model=None, rows=ROWS):
        return self.server.call("POST", f"/v1/models/{model or self.model}/predict?output={output}", {"rows": rows}).json()["values"]

    def test_health_and_metadata(self):
        self.assertEqual(self.ask("/v2/health/live").json(), {"live": True})
        self.assertEqual(self.ask("/v2/health/ready").json(), {"live": True, "ready": True})
        for path in ("/v2", "/v2/"):
            self.assertEqual(self.ask(path).json()["name"], "kedge")
            self.assertIn("binary_tensor_data", self.ask(path).json()["extensions"])
        about = self.ask("/v2/models/iris").json()
        self.assertEqual((about["name"], about["versions"]), ("iris", ["1"]))
        self.assertEqual(about["inputs"], [{"name": "input", "datatype": "FP64", "shape": [-1, 4]}])
        self.assertEqual({o["name"]: (o["datatype"], o["shape"]) for o in about["outputs"]}["predict"], ("BYTES", [-1]))
        self.assertEqual({o["name"]: o["datatype"] for o in self.ask("/v2/models/digits").json()["outputs"]}["predict"], "INT64")
        self.assertEqual(self.ask("/v2/models/iris/versions/1/ready").json(), {"name": "iris", "ready": True})
        self.assertEqual(self.ask("/v2/models/iris/versions/2/ready").status, 404)
        self.assertIn("iris", self.ask("/v2/models").json()["models"])
        self.assertIn({"name": "iris", "version": "1", "state": "READY", "reason": ""}, self.ask("/v2/repository/index", {}).json())
        self.assertEqual(self.ask("/v2/repository/models/iris/load", {}).status, 200)
        self.assertEqual(self.ask("/v2/repository/models/none/unload", {}).status, 404)

    def test_json_in_json_out(self):
        answer = self.infer(id="42", model_name="iris", inputs=[FLOWERS], parameters={"unknown": 1}, unknown=[])
        self.assertEqual((answer["model_name"], answer["model_version"], answer["id"]), ("iris", "1", "42"))
        self.assertEqual(answer["outputs"], [{"name": "predict", "datatype": "BYTES", "shape": [2], "data": self.said()}])
        both = self.infer(inputs=[FLOWERS], outputs=[{"name": "predict_proba"}, {"name": "predict"}])["outputs"]
        self.assertEqual([o["name"] for o in both], ["predict_proba", "predict"])
        self.assertEqual((both[0]["shape"], both[0]["data"]), ([2, 3], sum(self.said("predict_proba"), [])))
        model = self.fitted({"builtin": "iris"}, "DecisionTreeClassifier")
        parts = self.infer(model=model, inputs=[FLOWERS], outputs=[{"name": "contributions"}])["outputs"][0]
        self.assertEqual((parts["shape"], parts["data"]), ([2, 15], sum(self.said("contributions", model), [])))
        by_id = self.ask(f"/v2/models/{self.model}/versions/1/infer", {"inputs": [FLOWERS]})
        self.assertEqual(by_id.json()["outputs"], answer["outputs"])
        digits = self.infer(model="digits", inputs=[{"name": "x", "shape": [1, 64], "datatype": "INT32", "data": list(range(64))}])["outputs"][0]
        self.assertEqual((digits["datatype"], digits["data"]), ("INT64", self.said(model=self.digits, rows=[list(range(64))])))

    def test_binary_in_binary_out(self):
        numbers = [value for row in ROWS for value in row]
        head = json.dumps({"inputs": [{"name": "input", "shape": [2, 4], "datatype": "FP64", "parameters": {"binary_data_size": 64}}],
                           "outputs": [{"name": "predict_proba", "parameters": {"binary_data": True}}, {"name": "predict"}]}).encode()
        reply = self.ask("/v2/models/iris/infer", head + struct.pack("<8d", *numbers), {"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "application/octet-stream"), reply.body)
        length = int(reply.headers["Inference-Header-Content-Length"])
        outputs = json.loads(reply.body[:length])["outputs"]
        self.assertEqual(outputs[0]["parameters"], {"binary_data_size": 48})
        self.assertEqual(list(struct.unpack("<6d", reply.body[length:])), sum(self.said("predict_proba"), []))
        self.assertEqual(outputs[1]["data"], self.said())
        raw = self.ask("/v2/models/iris/infer", struct.pack("<8d", *numbers), {"Inference-Header-Content-Length": "0"})
        length = int(raw.headers["Inference-Header-Content-Length"])
        self.assertEqual(raw.body[length:], b"".join(struct.pack("<I", len(name)) + name.encode() for name in self.said()))

    def test_columns_by_name(self):
        about = self.ask("/v2/models/mixed").json()["inputs"]
        self.assertEqual([(i["name"], i["datatype"], i["shape"]) for i in about], [("colour", "BYTES", [-1, 1]), ("size", "FP64", [-1, 1])])
        answer = self.infer(model="mixed", inputs=[{"name": "size", "shape": [2, 1], "datatype": "INT64", "data": [1, 2]},
                                                   {"name": "colour", "shape": [2], "datatype": "BYTES", "data": ["red", "blue"]}])
        self.assertEqual(answer["outputs"][0]["data"], ["yes", "no"])
        missing = self.infer(400, model="mixed", inputs=[{"name": "size", "shape": [1, 1], "datatype": "FP64", "data": [1]}])
        self.assertIn("inputs[0]", missing["where"])

    def test_errors_are_json_and_name_the_member(self):
        for where, body in {
                "inputs[0].datatype": {"inputs": [{**FLOWERS, "datatype": "FP8"}]}, "inputs[0].shape": {"inputs": [{**FLOWERS, "shape": [8, 1]}]},
                "inputs[0].data": {"inputs": [{**FLOWERS, "shape": [3, 4]}]}, "outputs[0].name": {"inputs": [FLOWERS], "outputs": [{"name": "logits"}]},
                "inputs": {"id": "1"}}.items():
            reply = self.ask("/v2/models/iris/infer", body)
            self.assertEqual((reply.status, reply.headers["Content-Type"]), (400, "application/json"), (body, reply.body))
            self.assertTrue(reply.json()["error"])
            self.assertEqual(reply.json()["where"], where)
        head = json.dumps({"inputs": [{"name": "input", "shape": [2, 4], "datatype": "FP64", "parameters": {"binary_data_size": 64}}]}).encode()
        for length, body in [(len(head), head + b"x" * 63), (len(head), head + b"x" * 65), (len(head) + 200, head + b"x" * 64), (5, head + b"x" * 64), ("x", head)]:
            reply = self.ask("/v2/models/iris/infer", body, {"Inference-Header-Content-Length": str(length)})
            self.assertEqual((reply.status, reply.headers["Content-Type"]), (400, "application/json"), reply.body)
            self.assertTrue(reply.json()["error"])
        for path in ("/v2/models/none/infer", "/v2/models/iris@none/infer", "/v2/nothing"):
            reply = self.ask(path, {"inputs": [FLOWERS]})
            self.assertEqual((reply.status, reply.headers["Content-Type"]), (404, "application/json"))
            self.assertTrue(reply.json()["error"])

    def test_answers_that_are_asked_together_are_those_of_one_alone(self):
        for estimator in ("RandomForestClassifier", "LogisticRegression"):
            model = self.fitted({"builtin": "digits"}, estimator)
            rows = [[float((i * 7 + j * 3) % 17) for j in range(64)] for i in range(24)]
            alone = [self.said("predict_proba", model, [row]) for row in rows]
            found, threads = {}, []
            for i, row in enumerate(rows):
                threads.append(threading.Thread(target=lambda i=i, row=row: found.update({i: [self.said("predict_proba", model, [row]) for _ in range(5)]})))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([found[i] for i in range(len(rows))], [[answer] * 5 for answer in alone], estimator)

    def test_statistics_and_metrics_count(self):
        before = self.ask("/v2/models/digits/stats").json()["model_stats"][0]
        row = {"name": "x", "shape": [3, 64], "datatype": "FP32", "data": [0.0] * 192}
        self.infer(model="digits", inputs=[row])
        self.infer(400, model="digits", inputs=[{**row, "shape": [3]}])
        after = self.ask("/v2/models/digits/versions/1/stats").json()["model_stats"][0]
        self.assertEqual(after["inference_count"] - before["inference_count"], 3)
        self.assertEqual(after["inference_stats"]["success"]["count"] - before["inference_stats"]["success"]["count"], 1)
        text = self.ask("/metrics").body.decode()
        self.assertIn(f'kedge_model_rows_total{{model="{self.digits}"}}', text)
        self.assertIn(f'kedge_model_request_seconds_count{{model="{self.digits}"}}', text)

    @unittest.skipIf(triton is None, "needs tritonclient[http]")
    def test_tritonclient(self):
        client = triton.InferenceServerClient(self.server.url.removeprefix("http://"))
        self.assertTrue(client.is_server_live() and client.is_server_ready() and client.is_model_ready("iris") and client.is_model_ready("iris", "1"))
        self.assertEqual(client.get_server_metadata()["name"], "kedge")
        self.assertEqual(client.get_model_metadata("iris")["inputs"][0]["shape"], [-1, 4])
        self.assertIn("iris", [model["name"] for model in client.get_model_repository_index()])
        client.load_model("iris")
        client.unload_model("iris")
        self.assertEqual(client.get_inference_statistics("iris")["model_stats"][0]["name"], "iris")
        client.get_inference_statistics()
        proba = np.asarray(self.said("predict_proba"))
        for binary_in in (True, False):
            for dtype, name in ((np.float64, "FP64"), (np.float32, "FP32")):
                given = triton.InferInput("input", [2, 4], name)
                given.set_data_from_numpy(np.asarray(ROWS, dtype), binary_data=binary_in)
                for binary_out in (True, False):
                    wanted = [triton.InferRequestedOutput(o, binary_data=binary_out) for o in ("predict_proba", "predict")]
                    answer = client.infer("iris", [given], outputs=wanted, request_id="7", model_version="1")
                    np.testing.assert_allclose(answer.as_numpy("predict_proba"), proba, rtol=1e-12 if dtype == np.float64 else 1e-5)
                    self.assertEqual([t.decode() if isinstance(t, bytes) else t for t in answer.as_numpy("predict")], self.said())
                self.assertEqual([t.decode() for t in client.infer("iris", [given]).as_numpy("predict")], self.said())
        whole = triton.InferInput("x", [1, 64], "INT64")
        whole.set_data_from_numpy(np.arange(64).reshape(1, 64))
        self.assertEqual(client.infer("digits", [whole]).as_numpy("predict").tolist(), self.said(model=self.digits, rows=[list(range(64))]))
        colour, size = triton.InferInput("colour", [2, 1], "BYTES"), triton.InferInput("size", [2, 1], "FP64")
        colour.set_data_from_numpy(np.array([["red"], ["blue"]], dtype=np.object_))
        size.set_data_from_numpy(np.array([[1.0], [2.0]]))
        self.assertEqual(client.infer("mixed", [colour, size]).as_numpy("predict").tolist(), [b"yes", b"no"])
        with self.assertRaises(InferenceServerException) as raised:
            client.infer("none", [whole])
        self.assertEqual((raised.exception.status(), raised.exception.message()), ("404", "there is no model 'none'"))
        client.close()

    def test_the_client_of_kserve(self):
        try:
            import numpy as np
            from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
        except ImportError:
            self.skipTest("needs kserve")

        async def ask():
            client, answers = InferenceRESTClient(RESTConfig(protocol="v2")), []
            self.assertTrue(await client.is_server_live(self.server.url) and await client.is_server_ready(self.server.url))
            self.assertTrue(await client.is_model_ready(self.server.url, "iris"))
            for binary in (False, True):
                given = InferInput("input", [2, 4], "FP64")
                given.set_data_from_numpy(np.asarray(ROWS, np.float64), binary_data=binary)
                answers.append(await client.infer(self.server.url, InferRequest(model_name="iris", infer_inputs=[given]), model_name="iris"))
            await client.close()
            return answers

        for answer in asyncio.run(ask()):
            self.assertEqual(answer.outputs[0].as_numpy().tolist(), self.said())

    @unittest.skipIf(triton is None, "needs tritonclient[http]")
    def test_tritonclient_with_asyncio(self):
        try:
            import tritonclient.http.aio as aio
        except ImportError:
            self.skipTest("needs aiohttp")

        async def ask():
            client = aio.InferenceServerClient(self.server.url.removeprefix("http://"))
            given = aio.InferInput("input", [2, 4], "FP64")
            given.set_data_from_numpy(np.asarray(ROWS))
            answers = await asyncio.gather(*(client.infer("iris", [given]) for _ in range(16)))
            await client.close()
            return answers

        for answer in asyncio.run(ask()):
            self.assertEqual([t.decode() for t in answer.as_numpy("predict")], self.said())


if __name__ == "__main__":
    unittest.main(verbosity=2)
