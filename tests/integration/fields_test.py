"""Every field of a job can be set in every form of a job, and comes back: JSON, the command, the schema, its binary form, C++ and Python name the same fields."""
import importlib.util
import inspect
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, spec  # noqa: E402

sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
import kedge  # noqa: E402

# By the name on the wire: the struct of the schema, of the C++ client, and the function of the Python client.
TASKS = {"fitScore": ("FitScore", "fit_score"), "crossValidate": ("CrossValidate", "cross_validate"), "gridSearch": ("GridSearch", "grid_search"),
         "randomizedSearch": ("RandomizedSearch", "randomized_search"), "halvingGridSearch": ("HalvingGridSearch", "halving_grid_search"),
         "learningCurve": ("LearningCurve", "learning_curve"), "validationCurve": ("ValidationCurve", "validation_curve"),
         "permutationTestScore": ("PermutationTestScore", "permutation_test_score"),
         "permutationImportance": ("PermutationImportance", "permutation_importance"), "partialDependence": ("PartialDependence", "partial_dependence"),
         "predict": ("Predict", "predict"), "transform": ("Transform", "transform")}
# Fields with another name in a client, by what they are there.
CPP_NAMES = {"crossValidate": "cv", "fitScore": "split", "register": "registerAs"}   # the last is a word of C++
PYTHON_NAMES = {"crossValidate": "splits", "fitScore": "split"}

TASKS_HEADER, SELECT_HEADER = (BIN.parent / "generated" / "kedge" / name for name in ("tasks.h", "select_calls.h"))
CONTRACT = {}   # the schemas of the served openapi.json, which are generated from schemas/*.capnp


def setUpModule():
    global folder, server
    folder = tempfile.TemporaryDirectory()
    server = Kedged(folder.name)
    CONTRACT.update(json.loads(server.call("GET", "/openapi.json").body)["components"]["schemas"])


def tearDownModule():
    server.stop()
    folder.cleanup()


def snake(name):
    return re.sub(r"([A-Z])", lambda m: "_" + m[1].lower(), name)


def contract_fields(task):
    described = CONTRACT["Task"]["properties"][task]
    return set(CONTRACT[described["$ref"].rsplit("/", 1)[1]]["properties"] if "$ref" in described else described["properties"])


def body_of(text, struct):
    found = re.search(rf"^struct {struct}\b[^{{]*\{{(.*?)^\}}", text, re.M | re.S)
    assert found, struct
    return re.sub(r"(//|#).*", "", found[1])


def cpp_members(file, struct):
    """Names of the data members of a struct in a header, several in one declaration included."""
    members = set()
    for statement in body_of((ROOT / file).read_text(), struct).split(";"):
        if "(" in statement or "friend" in statement or "{" in statement.replace("{}", ""):
            statement = statement.split("\n")[-1] if "(" not in statement.split("\n")[-1] else ""
        declared = re.match(r"\s*[\w:<>, ]+?[>\w]\s+(\w+(?:\s*=\s*[^,]+)?(?:,\s*\w+(?:\s*=\s*[^,]+)?)*)\s*$", statement.strip())
        if declared:
            members.update(re.match(r"\s*(\w+)", part)[1] for part in declared[1].split(","))
    return members


def capnp_fields(struct):
    text = "\n".join(path.read_text() for path in (ROOT / "schemas").glob("*.capnp"))
    return set(re.findall(r"^\s*(\w+) @\d+", body_of(text, struct), re.M))


class Names(unittest.TestCase):
    def test_of_tasks_are_the_same_everywhere(self):
        for task, (struct, client) in TASKS.items():
            fields = contract_fields(task)
            with self.subTest(task):
                self.assertEqual(cpp_members("schemas/job.h", struct), fields, "schemas/job.h")
                self.assertEqual(capnp_fields(struct), fields, "schemas/job.capnp")
                self.assertLessEqual({snake(CPP_NAMES.get(name, name)) for name in fields}, cpp_members(TASKS_HEADER, client), "the C++ client")
                python = set(inspect.signature(getattr(kedge, client)).parameters)
                self.assertEqual({snake(PYTHON_NAMES.get(name, name)) for name in fields}, python, "the Python client")

    def test_of_the_selection_and_the_job_are_the_same_everywhere(self):
        for name, file, struct in (("Select", "schemas/dataset.h", "Select"), ("Deadlines", "schemas/job.h", "Deadlines"), ("JobSpec", "schemas/job.h", "JobSpec")):
            fields = set(CONTRACT[name]["properties"]) if name in CONTRACT else set(CONTRACT["JobSpec"]["properties"]["deadlines"]["properties"])
            with self.subTest(name):
                self.assertEqual(capnp_fields(struct), fields)
                self.assertEqual(cpp_members(file, struct), {CPP_NAMES.get(name, name) for name in fields})
        builder = SELECT_HEADER.read_text()
        for field in CONTRACT["Select"]["properties"]:
            name = {"types": "type"}.get(field, snake(field))
            self.assertRegex(builder, rf"Self {name}\(", "the C++ client")

    def test_are_found_in_a_header_that_has_them_and_not_where_one_lacks(self):
        self.assertIn("max_train_size", cpp_members(TASKS_HEADER, "cross_validate"))
        self.assertNotIn("folds", cpp_members(TASKS_HEADER, "cross_validate"))


class RoundTrip(unittest.TestCase):
    """What a client sets comes back from the server as it was sent."""

    SELECT = {"rows": 120, "columns": ["a", "b"], "target": "y", "dtype": "float64", "scale": 2.0, "weights": "w", "groups": "g", "naValues": ["-"], "keepDefaultNa": False,
              "types": {"a": "number"}, "where": ["a >= 0"], "dropna": True, "dropDuplicates": True, "sample": 120, "sampleSeed": 4}
    SEVERAL = {"targets": ["w", "y"]}   # not beside target
    COMMON = {"scoring": ["accuracy"], "confusionMatrix": True, "curves": True}
    FOLDS = {**COMMON, "shuffle": True, "randomState": 3, "returnTrainScore": True, "cv": 3}
    SPLITS = [FOLDS, {**FOLDS, "shuffle": False, "splitter": "RepeatedKFold", "nRepeats": 2}, {"splitter": "ShuffleSplit", "cv": 2, "testSize": 0.3, "trainSize": 0.5, "randomState": 1},
              {"splitter": "TimeSeriesSplit", "cv": 2, "gap": 1, "maxTrainSize": 50}]
    GRID = {"gaussiannb__var_smoothing": [1e-9, 1e-8]}

    def tasks(self, model):
        yield from ({"crossValidate": fields} for fields in self.SPLITS)
        yield {"fitScore": {"testSize": 0.25, "trainSize": 0.5, "shuffle": True, "stratify": True, "randomState": 7, **self.COMMON}}
        search = {"crossValidate": {"cv": 2}, "refit": False, "errorScore": 0.5}
        yield {"gridSearch": {"paramGrid": self.GRID, **search}}
        yield {"randomizedSearch": {"paramDistributions": self.GRID, "nIter": 2, "randomState": 1, **search}}
        yield {"halvingGridSearch": {"paramGrid": self.GRID, "factor": 2, "resource": "n_samples", "minResources": 40, "maxResources": 100, "aggressiveElimination": True,
                                     "randomState": 1, **search}}
        folds = {"crossValidate": {"cv": 2}}
        yield {"learningCurve": {"trainSizes": [0.5, 1.0], "shuffle": True, "randomState": 3, "errorScore": 0.5, **folds}}
        yield {"validationCurve": {"paramName": "gaussiannb__var_smoothing", "paramRange": [1e-9, 1e-8], "errorScore": "raise", **folds}}
        yield {"permutationTestScore": {"nPermutations": 3, "randomState": 2, **folds}}
        part = {"fitScore": {"testSize": 0.25, "randomState": 7, "stratify": True}}
        yield {"permutationImportance": {"nRepeats": 2, "maxSamples": 0.5, "randomState": 1, "scoring": ["accuracy"], **part}}
        yield {"partialDependence": {"features": ["a", ["a", "b"]], "gridResolution": 3, "percentiles": [0.1, 0.9], "kind": "both", "responseMethod": "predict_proba",
                                     **part}}
        yield {"predict": {"model": model, "output": "predict_proba", "format": "csv"}}
        yield {"predict": {"model": model, "output": "contributions", "format": "csv"}}
        yield {"transform": {"model": model, "format": "csv"}}

    def set_in(self, sent, got, path="spec"):
        """What was sent is there; what has its default may be left out."""
        for name, value in sent.items():
            if name not in got:
                self.assertIn(value, (False, True, "npy", "predict", "n_samples", 5, "auto", []), f"{path}.{name} was lost")
            elif isinstance(value, dict):
                self.set_in(value, got[name], f"{path}.{name}")
            else:
                self.assertEqual(got[name], value, f"{path}.{name}")

    def submitted_by_the_command(self, job):
        """The job that the server has after `kedge submit`, which reads the file, checks it and writes it anew."""
        run = subprocess.run([BIN / "kedge", "--url", server.url, "submit", "-"], input=json.dumps(job), capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return server.job(run.stdout.strip())

    def test_every_field_comes_back(self):
        rows = "a,b,w,g,y\n" + "".join(f"{i % 7},{i % 5}.5,{1 + i % 3},{i % 10},{'mn'[i % 2]}\n" for i in range(120))
        model = server.run(spec(steps=("StandardScaler", "LogisticRegression"), task={"fit": {}}))["result"]["model"]
        seen = {}
        for task in self.tasks(model):
            asks = {"predict", "transform"} & task.keys()
            job = {"dataset": {"inline": {"csv": rows}}, "task": task, "device": "cpu", "deadlines": {"queue": 50.0, "fetch": 60.0, "run": 70.0},
                   **({"pipeline": []} if asks else {"select": self.SELECT, "pipeline": [{"estimator": "GaussianNB"}]})}
            with self.subTest(task):
                kept = server.job(server.submit(job))["spec"]
                self.set_in(job, kept)
                self.assertEqual(self.submitted_by_the_command(job)["spec"], kept)
            for name, fields in task.items():
                seen.setdefault(name, set()).update(fields)
        for task in TASKS:
            self.assertEqual(seen[task], contract_fields(task), f"{task} was not set with each of its fields")
        job = {"dataset": {"inline": {"csv": rows}}, "select": {"columns": ["a", "b"], **self.SEVERAL}, "pipeline": [{"estimator": "MultiOutputClassifier"}],
               "task": {"fit": {}}}
        kept = server.job(server.submit(job))["spec"]
        self.set_in(job, kept)
        self.assertEqual(self.submitted_by_the_command(job)["spec"], kept)
        self.assertEqual(set(self.SELECT) | set(self.SEVERAL), set(CONTRACT["Select"]["properties"]))

    def test_the_name_under_which_a_model_is_registered_comes_back(self):
        job = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"fit": {}}, "register": "flowers"}
        kept = server.job(server.submit(job))["spec"]
        self.assertEqual(kept["register"], "flowers")
        self.assertEqual(self.submitted_by_the_command(job)["spec"], kept)
        python = kedge.connect(server.url).submit(kedge.builtin("iris"), ["GaussianNB"], kedge.fit(), register="flowers")
        self.assertEqual(python.status()["spec"], kept)
        self.assertRegex(python.result().registered, "^flowers/[123]$")


class Contributions(unittest.TestCase):
    """Every way to ask for them gives the same numbers, to the last bit: JSON, CSV and NPY, /v2 in JSON and binary, Python, the command line and jobs of each
    client (the command line is the C++ client)."""

    ROWS = [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5], [5.9, 3.0, 4.2, 1.5]]

    @classmethod
    def setUpClass(cls):
        steps = [{"estimator": "StandardScaler"}, {"estimator": "RandomForestClassifier", "params": {"n_estimators": 5}}]
        cls.model = server.run({"dataset": {"builtin": "iris"}, "pipeline": steps, "task": {"fit": {}}})["result"]["model"]
        info = server.call("GET", f"/v1/models/{cls.model}").json()
        cls.names = [column["name"] for column in info["columns"]]
        cls.csv = ",".join(cls.names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in cls.ROWS)
        cls.said = cls.asked(json.dumps({"rows": cls.ROWS}).encode(), "application/json", "application/json").json()

    @classmethod
    def asked(cls, body, content_type, accept):
        reply = server.call("POST", f"/v1/models/{cls.model}/predict?output=contributions", body, {"Content-Type": content_type, "Accept": accept})
        assert reply.status == 200, reply.body
        return reply

    def same(self, values):
        self.assertEqual([[float(value) for value in row] for row in values], self.said["values"])

    def read(self, text):
        head, *lines = text.splitlines()
        self.assertEqual(head.split(","), self.said["columns"])
        return [line.split(",") for line in lines]

    def test_have_a_column_for_each_class_and_input(self):
        self.assertEqual(self.said["columns"], [f"{name}:{column}" for name in ("setosa", "versicolor", "virginica") for column in (*self.names, "expected_value")])
        self.assertEqual([len(row) for row in self.said["values"]], [15] * 3)

    def test_are_the_same_in_csv_and_npy(self):
        self.same(self.read(self.asked(self.csv.encode(), "text/csv", "text/csv").body.decode()))
        npy = self.asked(self.csv.encode(), "text/csv", "application/x-npy").body
        self.same(struct.iter_unpack("<15d", npy[-3 * 15 * 8:]))

    def test_are_the_same_through_the_inference_protocol(self):
        request = {"inputs": [{"name": "input", "shape": [3, 4], "datatype": "FP64", "data": self.ROWS}], "outputs": [{"name": "contributions"}]}
        output = server.call("POST", f"/v2/models/{self.model}/infer", json.dumps(request).encode(), {}).json()["outputs"][0]
        self.assertEqual(output["shape"], [3, 15])
        self.same(output["data"][first:first + 15] for first in (0, 15, 30))
        request["outputs"][0]["parameters"] = {"binary_data": True}
        reply = server.call("POST", f"/v2/models/{self.model}/infer", json.dumps(request).encode(), {})
        self.same(struct.iter_unpack("<15d", reply.body[int(reply.headers["Inference-Header-Content-Length"]):]))

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "the client's predictions are numpy's arrays, and numpy is not there")
    def test_are_the_same_in_the_python_client(self):
        model = kedge.connect(server.url).model(self.model)
        self.same(model.predict(self.ROWS, output="contributions").tolist())
        parts = model.contributions(self.ROWS)
        self.assertEqual((parts.columns, parts.outputs), (self.names, ["setosa", "versicolor", "virginica"]))
        for row, wanted in zip(parts.values.tolist(), self.said["values"], strict=True):
            self.assertEqual(sum(row, []), [value for k in range(3) for value in wanted[5 * k:5 * k + 4]])

    def test_are_the_same_on_the_command_line(self):
        run = subprocess.run([BIN / "kedge", "--url", server.url, "predict", self.model, "-", "--output", "contributions"], input=self.csv, capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.same(self.read(run.stdout))

    def commanded(self, *arguments, code=0, **more):
        run = subprocess.run([BIN / "kedge", "--url", server.url, "predict", self.model, *arguments], capture_output=True, text=True, timeout=60, **more)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout if code == 0 else run.stderr

    def test_against_a_background_are_the_same_in_each_form(self):
        rows, background = self.ROWS[:1], self.ROWS[1:]
        csv = [",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in table)
               for names, table in ((self.names, rows), (self.names[::-1], [row[::-1] for row in background]))]
        wanted = self.asked(json.dumps({"rows": rows, "background": background}).encode(), "application/json", "application/json").json()["values"]
        bodies = {"texts": {"rows": csv[0], "background": csv[1]}, "text": {"rows": rows, "background": csv[1]},
                  "objects": {"rows": {"columns": self.names, "rows": rows}, "background": {"columns": self.names[::-1], "rows": [row[::-1] for row in background]}}}
        for name, body in bodies.items():
            self.assertEqual(self.asked(json.dumps(body).encode(), "application/json", "application/json").json()["values"], wanted, name)
        with tempfile.TemporaryDirectory() as place:
            against = {ending: pathlib.Path(place) / f"background.{ending}" for ending in ("csv", "json", "npy")}
            against["csv"].write_text(csv[1])
            against["json"].write_text(json.dumps(background))
            against["npy"].write_bytes(b"\x93NUMPY")
            for ending in ("csv", "json"):
                said = self.commanded("-", "--output", "contributions", "--background", against[ending], input=csv[0])
                self.assertEqual([[float(value) for value in row] for row in self.read(said)], wanted, ending)
            self.assertIn("background.npy is application/x-npy, must be CSV or .json with --background",
                          self.commanded("-", "--output", "contributions", "--background", against["npy"], input=csv[0], code=1))
            self.assertIn("--background is given with --output predict, must be given with contributions",
                          self.commanded("-", "--background", against["csv"], input=csv[0], code=1))
            against["csv"].write_text("a,b\n1,2\n")
            self.assertIn("no column", self.commanded("-", "--output", "contributions", "--background", against["csv"], input=csv[0], code=1))

    def test_are_the_same_in_a_job_of_json_of_python_and_of_the_command(self):
        dataset, task = {"inline": {"csv": self.csv}}, {"predict": {"model": self.model, "output": "contributions", "format": "csv"}}
        jobs = [server.run({"dataset": dataset, "task": task})]
        run = subprocess.run([BIN / "kedge", "--url", server.url, "submit", "-"], input=json.dumps({"dataset": dataset, "pipeline": [], "task": task}), capture_output=True,
                             text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        jobs.append(server.wait(run.stdout.strip()))
        python = kedge.connect(server.url).submit(kedge.inline(self.csv), [], kedge.predict(model=self.model, output="contributions", format="csv"))
        jobs.append(server.wait(python.id))
        for job in jobs:
            self.assertEqual(job["state"], "succeeded", job)
            self.same(self.read(server.call("GET", f"/v1/jobs/{job['id']}/artifacts/predictions.csv").body.decode()))


if __name__ == "__main__":
    unittest.main()
