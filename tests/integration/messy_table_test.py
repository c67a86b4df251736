"""A table as people have it: the churn example in two attempts by the error's own words, previews, packed uploads, formats by content."""
import concurrent.futures
import gzip
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, spec  # noqa: E402

CHURN = ROOT / "examples" / "churn"
IRIS = "a,b,class\n1,2,x\n3,4,y\n5,6,x\n"


def example(name):
    return json.loads((CHURN / name).read_text())


def select_of(message):
    """What a message says to write in `select`, all of it together."""
    merged = {}
    for at in re.finditer(r'"select": ', message):
        for field, value in json.JSONDecoder().raw_decode(message, at.end())[0].items():
            known = merged.get(field)
            merged[field] = {**known, **value} if isinstance(known, dict) else sorted({*(known or []), *value}) if isinstance(value, list) else value
    return merged


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.table = pathlib.Path(cls.folder.name) / "churn.csv"
        subprocess.run([sys.executable, CHURN / "make_churn.py", cls.table], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def kedge(self, *arguments):
        return subprocess.run([BIN / "kedge", "--url", self.server.url, *map(str, arguments)], capture_output=True, text=True, timeout=120)

    def put(self, name, body, **headers):
        return self.server.call("PUT", f"/v1/datasets/{name}", body, headers)

    def preview(self, dataset, select=None, rows=10):
        return self.server.call("POST", f"/v1/datasets/preview?rows={rows}", {"dataset": dataset, **({"select": select} if select else {})})


class Churn(Folder):
    def setUp(self):
        sent = self.kedge("datasets", self.table, "--name", "churn")
        self.assertEqual(sent.returncode, 0, sent.stderr)

    def test_two_attempts_are_enough(self):
        first = self.kedge("run", CHURN / "first_try.json", "--json")
        self.assertNotEqual(first.returncode, 0)
        events = [json.loads(line) for line in first.stdout.splitlines()]
        self.assertFalse([event for event in events if "fold" in event])   # nothing was computed
        failed = events[-1]["state"]
        self.assertEqual((failed["state"], failed["reason"]), ("failed", "BAD_DATA"))
        message = failed["error"]["message"]
        for column in ("age", "fee", "signup", "comment", "region"):
            self.assertIn(f"'{column}'", message)
        select = select_of(message)
        self.assertEqual(select, {"naValues": ["unknown"], "types": {"signup": "date", "comment": "drop"}})
        self.assertIn("OneHotEncoder fails at a category", message)
        self.assertIn("handle_unknown", message)
        second = example("first_try.json")
        second["select"] = select
        second["pipeline"][0]["params"]["transformers"][1]["transformer"][0]["params"] = {"handle_unknown": "ignore"}
        ended = self.server.run(second)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertGreater(ended["result"]["scores"]["roc_auc"]["mean"], 0.75)
        self.assertEqual(ended["result"]["target"], "status")
        self.assertTrue(any("the last column 'status' is the target" in warning for warning in ended["result"]["warnings"]))

    def test_the_example_runs_without_a_warning(self):
        ended = self.server.run(example("churn.json"))
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual(ended["result"].get("warnings", []), [])
        self.assertGreater(ended["result"]["scores"]["roc_auc"]["mean"], 0.75)

    def test_a_model_reads_rows_as_its_job_read_the_table(self):
        fitted = self.server.run({**example("churn.json"), "task": {"fit": {}}})
        self.assertEqual(fitted["state"], "succeeded", fitted)
        model = fitted["result"]["model"]
        header, *lines = self.table.read_text().splitlines()
        names = header.split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines[:400]]
        self.assertTrue(any(row["age"] == "unknown" for row in rows))
        for row in rows:
            del row["status"], row["comment"]
            row["fee"] = row["fee"] if row["fee"] == "unknown" else float(row["fee"])
            row["calls"] = None if row["calls"] == "" else int(row["calls"])
        answer = self.server.call("POST", f"/v1/models/{model}/predict", {"rows": rows})
        self.assertEqual(answer.status, 200, answer.body)
        from_rows = answer.json()["values"]
        predicted = self.server.run({"dataset": {"stored": "churn"}, "select": {"rows": 400}, "pipeline": [],
                                     "task": {"predict": {"model": model, "format": "csv"}}})
        self.assertEqual(predicted["state"], "succeeded", predicted)
        artifact = self.server.call("GET", f"/v1/jobs/{predicted['id']}/artifacts/predictions.csv").body.decode().split()[1:]
        self.assertEqual(from_rows, [line.split(",")[-1] for line in artifact])
        bad = self.server.call("POST", f"/v1/models/{model}/predict", {"rows": [{**rows[0], "signup": "soon"}]})
        self.assertEqual(bad.status, 422, bad.body)
        self.assertIn("signup", bad.json()["detail"])

    def test_kedge_shows_the_table(self):
        shown = self.kedge("data", "show", "churn", "--rows", 3)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertTrue(shown.stdout.startswith("stored churn: 50000 rows, 8 columns\n"), shown.stdout)
        self.assertRegex(shown.stdout, r"signup +category +feature +0 +2000\n")
        self.assertIn('"types": {"signup": "date"}', shown.stdout)
        as_job = self.kedge("data", "show", CHURN / "churn.json", "--json")
        columns = {column["name"]: column for column in json.loads(as_job.stdout)["columns"]}
        self.assertEqual([columns[name]["type"] for name in ("age", "signup", "region")], ["number", "date", "category"])
        self.assertEqual(columns["comment"]["role"], "leftOut")
        self.assertGreater(columns["age"]["missing"], 500)
        self.assertIn("iris", self.kedge("data", "show", "iris").stdout)
        missing = self.kedge("data", "show", "chrun", "--json")
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("did you mean 'churn'?", json.loads(missing.stdout)["detail"])


class Previews(Folder):
    def test_any_reference_has_one(self):
        for dataset in ({"builtin": "iris"}, {"inline": {"csv": IRIS, "target": "class"}}):
            answer = self.preview(dataset, rows=2)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(len(answer.json()["firstRows"]), 2)
            self.assertEqual(answer.json()["columns"][-1]["role"], "target")
        self.assertEqual(self.put("iris.csv", IRIS.encode(), **{"Content-Type": "text/csv"}).status, 201)
        by_name = self.server.call("GET", "/v1/datasets/iris.csv/preview?rows=1").json()
        self.assertEqual((by_name["name"], by_name["rows"], by_name["nColumns"]), ("stored iris.csv", 3, 3))
        self.assertEqual(by_name["firstRows"], [[1, 2, "x"]])

    def test_a_selection_is_shown_as_a_job_would_read_it(self):
        table = {"inline": {"csv": "n,when,y\n1,2024-01-31,a\n?,2024-02-01,b\n-,,a\n", "target": "y"}}
        shown = self.preview(table, {"naValues": ["-"], "types": {"when": "date:parts"}}).json()
        self.assertEqual([column["name"] for column in shown["columns"]], ["n", "when_year", "when_month", "when_day", "when_weekday", "y"])
        self.assertEqual(shown["firstRows"][0], [1, 2024, 1, 31, 2, "a"])
        self.assertEqual(shown["columns"][0]["missing"], 2)

    def test_what_is_wrong_is_named(self):
        iris = {"builtin": "iris"}
        for body, where in (({"dataset": iris, "select": {"target": "nothing"}}, "select.target"),
                            ({"dataset": iris, "select": {"types": {"nothing": "number"}}}, "select.types.nothing"),
                            ({"dataset": iris, "select": {"types": {"petal": "float"}}}, "select.types.petal"),
                            ({"dataset": {"builtin": "irs"}}, "dataset.builtin"),
                            ({"dataset": {"stored": "nothing"}}, "dataset.stored"),
                            ({"select": {}}, "dataset"),
                            ({"dataset": iris, "pipeline": []}, "pipeline")):
            answer = self.server.call("POST", "/v1/datasets/preview", body)
            self.assertIn(answer.status, (400, 404, 422), (body, answer.body))
            self.assertEqual(answer.json().get("where"), where, (body, answer.body))
        for rows in ("0", "101", "x", "-1"):
            refused = self.server.call("POST", f"/v1/datasets/preview?rows={rows}", {"dataset": iris})
            self.assertEqual((refused.status, refused.json()["where"]), (400, "rows"))
        self.assertEqual(self.server.call("GET", "/v1/datasets/nothing/preview").status, 404)
        self.assertEqual(self.server.call("POST", "/v1/datasets/preview", b"{", {"Content-Type": "text/plain"}).status, 415)

    def test_many_at_once_are_answered_or_refused_and_hold_up_nothing(self):
        self.assertEqual(self.put("churn", self.table.read_bytes(), **{"Content-Type": "text/csv"}).status, 201)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: self.server.call("GET", "/v1/datasets/churn/preview").status, range(32)))
        self.assertLessEqual(set(answers), {200, 429})
        self.assertIn(200, answers)
        self.assertEqual(self.server.call("GET", "/v1/datasets/churn/preview").status, 200)

    def test_a_slow_origin_holds_up_neither_others_nor_the_end(self):
        silent = socket.create_server(("127.0.0.1", 0))
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--allow-fetch", "127.0.0.1")
            try:
                url = {"url": {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/x.csv", "format": "csv"}}
                asked = threading.Thread(target=lambda: self.assertRaises(OSError, server.call, "POST", "/v1/datasets/preview", {"dataset": url}))
                asked.start()
                silent.settimeout(20)
                connection, _ = silent.accept()   # the fetch has begun
                self.assertEqual(server.run(spec())["state"], "succeeded")
                begun = time.monotonic()
                server.stop(20)
                self.assertLess(time.monotonic() - begun, 20)
                asked.join(20)
                connection.close()
            finally:
                silent.close()
                server.stop()


class Uploads(Folder):
    def test_packed_files_are_unpacked(self):
        packed = pathlib.Path(self.folder.name) / "small.csv.gz"
        packed.write_bytes(gzip.compress(IRIS.encode()))
        sent = self.kedge("datasets", packed)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertEqual(self.server.call("GET", "/v1/datasets/small.csv.gz").json()["rows"], 3)
        job = pathlib.Path(self.folder.name) / "job.json"
        job.write_text(json.dumps(spec(dataset={"stored": "data"}, task={"fit": {}})))
        curl = ["curl", "-sS", "--max-time", "60", "-F", f"spec=@{job}", "-F", f"data=@{packed}", f"{self.server.url}/v1/jobs?wait=60s"]
        self.assertEqual(json.loads(subprocess.run(curl, capture_output=True, check=True).stdout)["state"], "succeeded")

    def test_a_damaged_one_is_refused_and_leaves_nothing(self):
        whole = gzip.compress(IRIS.encode() * 100)
        for body in (whole[:-4], whole[:40], whole[:20] + b"\xff" * 30 + whole[50:]):
            refused = self.put("broken.csv.gz", body)
            self.assertEqual((refused.status, refused.json()["code"]), (422, "DATASET_CORRUPT"), refused.body)
        self.assertEqual(self.server.call("GET", "/v1/datasets/broken.csv.gz").status, 404)

    def test_curl_needs_no_content_type(self):
        table = pathlib.Path(self.folder.name) / "iris.csv"
        table.write_text(IRIS)
        for target in ("/v1/datasets/iris", "/v1/datasets/", "/v1/datasets/packed"):
            if target.endswith("packed"):
                table.write_bytes(gzip.compress(IRIS.encode()))
            run = subprocess.run(["curl", "-sS", "-f", "--max-time", "60", "-T", str(table), self.server.url + target], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertEqual(json.loads(run.stdout)["format"], "csv")
        refused = self.put("what", b"PK\x03\x04", **{"Content-Type": "application/octet-stream"})
        self.assertEqual((refused.status, refused.json()["where"]), (400, "format"))


if __name__ == "__main__":
    unittest.main()
