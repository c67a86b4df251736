"""How models are served, from end to end: settings of one model through each client, over a restart, and for the owner alone."""
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE.parents[1] / "client" / "python" / "src"))
from kedge_server import BIN, Kedged, spec  # noqa: E402

import kedge  # noqa: E402

ROW = {"rows": [[5.1, 3.5, 1.4, 0.2]]}
FLOWER = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP64", "data": [5.1, 3.5, 1.4, 0.2]}]}


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--devices", "cpu", "--predict-delay-us", "7")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def fitted(self, **more):
        job = self.server.run(spec(steps=("GaussianNB",), task={"fit": {}}, **more))
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]["model"]

    def call(self, status, method, path, body=None, **more):
        reply = self.server.call(method, path, body, **more)
        self.assertEqual(reply.status, status, (method, path, reply.body))
        return reply.json() if reply.body else None

    def test_settings_are_those_of_one_model_and_outlive_a_restart(self):
        model, other = self.fitted(), self.fitted()
        path = f"/v1/models/{model}/serving"
        self.assertEqual(self.call(200, "GET", path), {"maxBatchRows": 0, "maxDelayUs": 7})
        wanted = {"maxBatchRows": 16, "maxDelayUs": 200}
        self.assertEqual(self.call(200, "PUT", path, wanted), wanted)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.call(200, "GET", path), wanted)
        self.assertEqual(self.call(200, "GET", f"/v1/models/{other}/serving"), {"maxBatchRows": 0, "maxDelayUs": 7})
        self.assertEqual(self.call(200, "POST", f"/v1/models/{model}/predict", ROW)["values"], ["setosa"])
        self.assertEqual(self.call(200, "PUT", path, {}), {"maxBatchRows": 0, "maxDelayUs": 7})

    def test_a_name_means_its_model_and_goes_with_it(self):
        model = self.fitted()
        self.call(201, "POST", "/v1/registry/served/versions", {"model": model})
        self.call(200, "PUT", "/v1/models/served/serving", {"maxDelayUs": 9})
        self.assertEqual(self.call(200, "GET", f"/v1/models/{model}/serving")["maxDelayUs"], 9)
        self.call(204, "DELETE", "/v1/registry/served")
        self.call(204, "DELETE", f"/v1/models/{model}")
        self.call(404, "GET", f"/v1/models/{model}/serving")
        self.call(404, "PUT", f"/v1/models/{model}/serving", {})
        self.assertFalse((pathlib.Path(self.folder.name) / "state" / "serving" / f"{model}.json").exists())

    def test_bad_values_name_the_field(self):
        path = f"/v1/models/{self.fitted()}/serving"
        for body, where in (({"maxBatchRows": -1}, "maxBatchRows"), ({"maxBatchRows": "many"}, "maxBatchRows"), ({"maxDelayUs": 100001}, "maxDelayUs"),
                            ({"maxDelay": 1}, "maxDelay"), ({"log": {"fraction": 2}}, "log.fraction"), ({"log": {}}, "log.fraction"),
                            ({"log": {"fraction": 1, "maxBytes": 1}}, "log.maxBytes"), ({"log": {"part": 1}}, "log.part"), ({"log": 1}, "log")):
            self.assertEqual(self.call(400, "PUT", path, body)["where"], where)
        self.call(400, "PUT", path, [])
        self.call(415, "PUT", path, b"{}", headers={"Content-Type": "text/plain"})

    def test_a_model_deleted_under_load_answers_or_is_gone(self):
        model, kept = self.fitted(), self.fitted()
        address = urllib.parse.urlsplit(self.server.url)
        asked, kept_statuses, over = [], [], threading.Event()
        enough = threading.Barrier(7)

        def post(connection, path, body):
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())

        def ask(path, body):
            connection, answers = http.client.HTTPConnection(address.hostname, address.port, timeout=60), []
            asked.append(answers)
            for number in range(5000):
                answers.append(post(connection, path, body))
                if number == 20:
                    enough.wait(60)
                if len(answers) > 3 and answers[-3][0] != 200:
                    break
            connection.close()

        def ask_other():
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
            while not over.is_set():
                kept_statuses.append(post(connection, f"/v1/models/{kept}/predict", ROW)[0])
            connection.close()

        clients = [threading.Thread(target=ask, args=case) for case in [(f"/v1/models/{model}/predict", ROW), (f"/v2/models/{model}/infer", FLOWER)] * 3]
        other = threading.Thread(target=ask_other)
        for thread in (*clients, other):
            thread.start()
        enough.wait(60)
        self.call(204, "DELETE", f"/v1/models/{model}")
        for thread in clients:
            thread.join()
        over.set()
        other.join()
        for answers in asked:
            statuses = [status for status, _ in answers]
            self.assertEqual(statuses, sorted(statuses), "none answers after it was gone")
            self.assertEqual((statuses[0], statuses[-1]), (200, 404))
            self.assertIn(model, json.dumps(answers[-1][1]))
            first = answers[0][1]
            self.assertTrue(all(body.get("values") == first.get("values") and body.get("outputs") == first.get("outputs") for status, body in answers if status == 200))
        self.assertEqual(set(kept_statuses), {200}, "another model's answers")

    def said_to(self, path, lengths, body):
        """The status of a request whose Content-Length says so; None where the server answers nothing."""
        address = urllib.parse.urlsplit(self.server.url)
        with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
            head = [f"POST {path} HTTP/1.1", f"Host: {address.netloc}", "Content-Type: application/json", "Connection: close", *(f"Content-Length: {length}" for length in lengths)]
            connection.sendall("\r\n".join(head + ["", ""]).encode() + body)
            if max(int(length) if str(length).isdigit() else 0 for length in lengths) > len(body):
                connection.shutdown(socket.SHUT_WR)   # nothing more comes
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
        return int(answer.split()[1]) if answer else None

    def test_a_body_that_lies_about_its_length_is_refused(self):
        model = self.fitted()
        for path, body in ((f"/v1/models/{model}/predict", ROW), (f"/v2/models/{model}/infer", FLOWER), ("/v1/models", ROW)):
            data = json.dumps(body).encode()
            truth = {415, 422} if path == "/v1/models" else {200}
            self.assertIn(self.said_to(path, [len(data)], data), truth, path)
            for lengths, allowed in (([len(data) + 10], {400, None}), ([len(data) - 3], {400, 415, 422}), ([-1], {400}), (["x"], {400}), ([1 << 62], {400, 413, None}),
                                     ([10 ** 30], {400, 413}), ([len(data), len(data) + 1], {400}), ([0], {400, 415, 422})):
                self.assertIn(self.said_to(path, lengths, data), allowed, (path, lengths))
        self.assertEqual(self.call(200, "POST", f"/v1/models/{model}/predict", ROW)["values"], ["setosa"])

    def test_a_log_is_off_by_default_bounded_and_survives_a_restart(self):
        model = self.fitted()
        path = f"/v1/models/{model}"
        self.call(200, "POST", f"{path}/predict", ROW)
        self.assertEqual(self.server.call("GET", f"{path}/log").body, b"", "off by default")
        self.call(200, "PUT", f"{path}/serving", {"log": {"fraction": 1, "maxBytes": 4096}})
        for _ in range(30):
            self.call(200, "POST", f"{path}/predict", ROW)
        self.call(200, "POST", f"/v2/models/{model}/infer", FLOWER)
        self.assertEqual(self.server.call("POST", f"{path}/predict", {"rows": [[1]]}).status, 422)
        lines = [json.loads(line) for line in self.server.call("GET", f"{path}/log").body.splitlines()]
        self.assertEqual(lines[-3]["input"], ROW)
        self.assertEqual(lines[-3]["answer"]["values"], ["setosa"])
        self.assertIn("error", lines[-1])
        self.assertLessEqual(sum(file.stat().st_size for file in (pathlib.Path(self.folder.name) / "state" / "serving").glob(f"{model}.[lo]*")), 4096)
        self.server.stop()
        self.server.start()
        again = [json.loads(line) for line in self.server.call("GET", f"{path}/log").body.splitlines()]
        self.assertEqual(again, lines)
        self.assertIn("kedge_model_log_dropped_total", self.server.call("GET", "/metrics").body.decode())
        self.call(200, "PUT", f"{path}/serving", {"log": None})
        self.assertEqual(self.server.call("GET", f"{path}/log").body, b"", "off removes it")

    def test_a_log_goes_with_its_model(self):
        model = self.fitted()
        self.call(200, "PUT", f"/v1/models/{model}/serving", {"log": {"fraction": 1}})
        self.call(200, "POST", f"/v1/models/{model}/predict", ROW)
        self.assertEqual([entry["output"] for entry in kedge.connect(self.server.url).model(model).log()], ["predict"])
        printed = subprocess.run([f"{BIN}/kedge", "--url", self.server.url, "models", "log", model], capture_output=True, text=True)
        self.assertEqual(json.loads(printed.stdout)["rows"], 1, printed)
        self.call(204, "DELETE", f"/v1/models/{model}")
        self.call(404, "GET", f"/v1/models/{model}/log")
        self.assertEqual(list((pathlib.Path(self.folder.name) / "state" / "serving").glob(f"{model}*")), [])

    def test_logs_of_a_tenant_are_bounded_together(self):
        models = [self.fitted() for _ in range(17)]
        wanted = {"log": {"fraction": 1, "maxBytes": 64 << 20}}
        answers = [self.server.call("PUT", f"/v1/models/{model}/serving", wanted) for model in models]
        self.assertEqual([answer.status for answer in answers[:15]], [200] * 15)
        self.assertEqual((answers[16].status, answers[16].json()["where"]), (409, "log.maxBytes"))
        for model in models:
            self.call(200, "PUT", f"/v1/models/{model}/serving", {})

    def test_clients_set_and_show_them(self):
        model = self.fitted()

        def kedge_says(*words):
            run = subprocess.run([f"{BIN}/kedge", "--url", self.server.url, "--json", "models", "serving", model, *words], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            return json.loads(run.stdout)

        self.assertEqual(kedge_says("--max-batch-rows", "32"), {"maxBatchRows": 32, "maxDelayUs": 7})
        self.assertEqual(kedge_says("--max-delay-us", "50"), {"maxBatchRows": 32, "maxDelayUs": 50})
        handle = kedge.connect(self.server.url).model(model)
        self.assertEqual(handle.serving(), {"maxBatchRows": 32, "maxDelayUs": 50})
        self.assertEqual(handle.set_serving(max_batch_rows=8), {"maxBatchRows": 8, "maxDelayUs": 7})
        with self.assertRaises(kedge.KedgeError) as refused:
            handle.set_serving(max_delay_us=-1)
        self.assertEqual(refused.exception.where, "maxDelayUs")
        self.assertEqual(kedge_says(), {"maxBatchRows": 8, "maxDelayUs": 7})


if __name__ == "__main__":
    unittest.main()
