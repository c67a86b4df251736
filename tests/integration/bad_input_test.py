"""Every row of bad input gives its own clear error, and the server continues."""
import http.client
import pathlib
import tempfile
import unittest
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import Kedged, Mirror, spec, wait_for  # noqa: E402

FOREST = "RandomForestClassifier"


def forest(value):
    return spec(steps=[(FOREST, {"n_estimators": value})])


# name, spec, status, code, where, a word of the message
REFUSED = [
    ("unknown estimator", spec(steps=["RandomForestClasifier"]), 400, "UNKNOWN_ESTIMATOR", "pipeline[0].estimator", FOREST),
    ("estimator of scikit-learn alone", spec(steps=["GaussianProcessClassifier"]), 400, "UNKNOWN_ESTIMATOR", "pipeline[0].estimator",
     "scikit-learn has it, Kedge does not; the nearest here is 'SVC'. Left for later: a fit takes time by the cube of the rows"),
    ("unknown parameter", spec(steps=[(FOREST, {"n_estimator": 5})]), 400, "UNKNOWN_PARAMETER",
     "pipeline[0].params.n_estimator", "n_estimators"),
    ("no trees", forest(0), 400, "INVALID_VALUE", "pipeline[0].params.n_estimators", "at least 1"),
    ("less than no trees", forest(-1), 400, "INVALID_VALUE", "pipeline[0].params.n_estimators", "-1"),
    ("too many trees", forest(1e12), 400, "INVALID_VALUE", "pipeline[0].params.n_estimators", "at most"),
    ("more bins than integers", spec(steps=[("KBinsDiscretizer", {"n_bins": 2 ** 62}), "GaussianNB"]), 400, "INVALID_VALUE",
     "pipeline[0].params.n_bins", "2^53"),
    ("trees in words", forest("many"), 400, "WRONG_TYPE", "pipeline[0].params.n_estimators", "n_estimators"),
    ("one fold", spec(task={"crossValidate": {"cv": 1}}), 400, "INVALID_VALUE", "task.crossValidate.cv", "at least 2"),
    ("unknown field", {**spec(), "datset": 1}, 400, "UNKNOWN_FIELD", "datset", "dataset"),
    ("unknown scorer", spec(task={"crossValidate": {"scoring": ["acuracy"]}}), 400, "INVALID_VALUE",
     "task.crossValidate.scoring[0]", "accuracy"),
    ("two data sets", spec(dataset={"builtin": "iris", "openml": {"id": 61}}), 400, "INVALID_VALUE", "dataset.openml", "builtin"),
    ("unknown builtin", spec(dataset={"builtin": "irises"}), None, None, None, "iris"),
    ("empty pipeline", spec(steps=[]), 400, "INVALID_VALUE", "pipeline", ""),
    ("transformer last", spec(steps=["StandardScaler"]), 400, "INVALID_VALUE", "pipeline[0]", "predicts"),
    ("resampled rows without a classifier", spec(steps=["SMOTE", "KMeans"], task={"fit": {}}), 400, "INVALID_VALUE", "pipeline[0]",
     "the last step must be a classifier; KMeans is a clusterer"),
    ("weights of rows that are made", spec(steps=["SMOTE", "GaussianNB"], select={"weights": "w"}), 400, "INVALID_VALUE", "select.weights",
     "SMOTE makes rows that have no sample weights"),
    ("rows changed inside another step", spec(steps=[("FeatureUnion", {"transformer_list": [["more", {"estimator": "SMOTE"}]]}), "GaussianNB"]), 400,
     "INVALID_VALUE", "pipeline[0].params.transformer_list[0][1]", "must be a step of a pipeline that ends in a classifier"),
    ("class that cannot be read", spec(steps=[("RandomUnderSampler", {"sampling_strategy": {"1": -2}}), "GaussianNB"]), 400, "INVALID_VALUE",
     "pipeline[0].params.sampling_strategy", "whole number of rows"),
    ("fits inside of fits", spec(steps=[("BaggingClassifier", {"n_estimators": 1000, "estimator": {"estimator": "BaggingClassifier", "params": {"n_estimators": 2000, "estimator":
        {"estimator": "StackingClassifier", "params": {"estimators": [["nb", {"estimator": "GaussianNB"}]], "cv": 20}}}}})]), 400, "INVALID_VALUE",
     "pipeline[0].params.estimator.params.n_estimators", "a fit takes up to 4.2e+07 fits of the estimators inside of it, must be at most 100000; n_estimators is 2000"),
    ("unknown device", spec(device="tpu"), 400, "INVALID_VALUE", "device", "tpu"),
]

NAN = "a,b,y\n1,2,p\n3,,q\n5,6,p\n7,8,q\n"
ONE_CLASS = "a,b,y\n1,2,p\n3,4,p\n5,6,p\n7,8,p\n"
HUGE = "a,b,y\n1e308,1,0\n-1e308,2,1\n1e308,3,1\n1e308,4,0\n"
RARE = "a,b,y\n" + "".join(f"{i},{i % 7},{'q' if i % 8 == 0 else 'p'}\n" for i in range(32))
TEXT_FEATURE = "a,colour,y\n" + "".join(f"{i},{'red' if i % 3 else 'blue'},{'pq'[i % 2]}\n" for i in range(20))

# name, spec, reason, a word of the message
FAILED = [
    ("missing value", spec(dataset={"inline": {"csv": NAN}}, task={"crossValidate": {"cv": 2}}), "BAD_DATA", "'b'"),
    ("one class", spec(dataset={"inline": {"csv": ONE_CLASS}}, task={"crossValidate": {"cv": 2}}), "BAD_DATA", "class"),
    ("more folds than rows", spec(task={"crossValidate": {"cv": 151}}), "BAD_DATA", "151"),
    ("nominal feature", spec(dataset={"inline": {"csv": TEXT_FEATURE}}, task={"crossValidate": {"cv": 2}}), "BAD_DATA", "colour"),
    ("numbers that overflow", spec(dataset={"inline": {"csv": HUGE}}, steps=[("Ridge", {"solver": "svd"})], task={"fit": {}}), "BAD_DATA",
     "Ridge: column 'a' has values up to 1e+308, whose squares are too large for float64"),
    ("knots that fit nowhere", spec(steps=[("SplineTransformer", {"n_knots": 2 ** 52}), "GaussianNB"], task={"fit": {}}), "OUT_OF_MEMORY",
     "SplineTransformer needs at least"),
    ("class too rare for its neighbours", spec(dataset={"inline": {"csv": RARE}}, steps=["SMOTE", "GaussianNB"], task={"crossValidate": {"cv": 2}}), "BAD_DATA",
     "SMOTE: class 'q' has 2 rows, must have more than k_neighbors, which is 5"),
    ("class that the data lack", spec(steps=[("RandomOverSampler", {"sampling_strategy": {"rose": 90}}), "GaussianNB"], task={"fit": {}}), "INVALID_VALUE",
     'but the data has no class "rose"'),
    ("unknown column", spec(select={"columns": ["sepal"]}), None, "sepal"),
]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def assert_still_serves(self):
        self.assertEqual(self.server.run(spec(), 30)["state"], "succeeded")

    def test_refused_specs_name_the_field(self):
        for name, body, status, code, where, word in REFUSED:
            with self.subTest(name):
                reply = self.server.call("POST", "/v1/jobs", body)
                problem = reply.json()
                if status is None and reply.status == 202:   # known only once the data is fetched
                    job = self.server.wait(problem["id"], 30)
                    self.assertEqual(job["state"], "failed")
                    self.assertIn(word, job["error"]["message"])
                    continue
                self.assertEqual(reply.status // 100, 4, problem)
                self.assertEqual(reply.headers["Content-Type"], "application/problem+json")
                self.assertEqual(reply.status, status or reply.status, problem)
                if code:
                    self.assertEqual(problem["code"], code, problem)
                if where is not None:
                    self.assertEqual(problem["where"], where, problem)
                self.assertIn(word, problem["detail"])
        self.assert_still_serves()

    def test_data_that_cannot_be_used_fails_the_job_with_a_reason(self):
        for name, body, reason, word in FAILED:
            with self.subTest(name):
                job = self.server.run(body, 30)
                self.assertEqual(job["state"], "failed", job)
                if reason:
                    self.assertEqual(job["reason"], reason, job)
                self.assertIn(word, job["error"]["message"])
        self.assert_still_serves()

    def test_text_that_is_not_json_is_refused(self):
        for body in (b"", b"{", b"[]", b"\xff\xfe", b'{"dataset": {"builtin": "iris"}} x', b"[" * 100000):
            with self.subTest(body[:10]):
                reply = self.server.call("POST", "/v1/jobs", body)
                self.assertEqual(reply.status, 400, reply.body)
                self.assertIn(reply.json()["code"], ("MALFORMED", "WRONG_TYPE"))
        self.assert_still_serves()

    def test_a_gigabyte_is_refused_before_it_is_read(self):
        host = self.server.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.putrequest("POST", "/v1/jobs")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(1 << 30))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()
        self.assert_still_serves()

    def test_a_gigabyte_in_chunks_is_cut_off(self):
        host = self.server.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.putrequest("POST", "/v1/jobs")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        block = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))
        sent = 0
        try:
            while sent < 1024:
                connection.send(block)
                sent += 1
        except OSError:
            pass   # the server closed: what it should do
        self.assertLess(sent, 1024, "the server read the whole gigabyte")
        connection.close()
        self.assert_still_serves()

    def test_a_capnp_bomb_is_refused(self):
        # One segment whose root struct points at itself through a list of a claimed half a billion elements.
        words = [(0 << 2) | (0 << 32) | (1 << 48), (1) | (((1 << 29) - 1) << 35)]
        body = (0).to_bytes(4, "little") + (2).to_bytes(4, "little") + b"".join(
            (w & (1 << 64) - 1).to_bytes(8, "little") for w in words)
        reply = self.server.call("POST", "/v1/jobs", body, {"Content-Type": "application/vnd.kedge.capnp"})
        self.assertEqual(reply.status, 400, reply.body)
        self.assert_still_serves()

    def test_a_missing_gpu_says_why(self):
        info = wait_for(lambda: (lambda i: i if len(i["devices"]) > 1 else None)(
            self.server.call("GET", "/v1/info").json()), 20, "the list of devices")
        missing = [d for d in info["devices"] if d["id"].startswith("cuda") and d.get("missing")]
        if not missing:
            self.skipTest("this host has a CUDA device")
        reply = self.server.call("POST", "/v1/jobs", spec(device="cuda"))
        self.assertEqual(reply.status // 100, 4, reply.body)
        self.assertEqual(reply.json()["code"], "DEVICE_UNAVAILABLE")
        self.assertIn(missing[0]["missing"][:20], reply.json()["detail"])
        self.assert_still_serves()

    def test_unknown_paths_and_methods_are_refused(self):
        self.assertEqual(self.server.call("GET", "/v1/jobs/job_none").status, 404)
        self.assertEqual(self.server.call("GET", "/v2/jobs").status, 404)
        reply = self.server.call("PUT", "/v1/jobs", {})
        self.assertEqual(reply.status, 405)
        self.assertIn("POST", reply.headers["Allow"])


class BadMirror(unittest.TestCase):
    """The data's server misbehaves. `faults` are the mirror's options."""

    def setUp(self):
        if not Mirror.available():
            self.skipTest("no OpenML mirror next to the project's folder")

    def run_with(self, *faults, dataset=None):
        mirror = Mirror(*faults)
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--openml-url", mirror.url)
            try:
                job = server.run(spec(dataset=dataset or {"openml": {"id": 61}}), 120)
                self.assertEqual(server.run(spec(), 30)["state"], "succeeded")   # the server continues
                leftovers = [p for p in pathlib.Path(folder).rglob("*.part")]
                self.assertEqual(leftovers, [])
                return job
            finally:
                server.stop()
                mirror.kill()

    def test_unknown_dataset(self):
        job = self.run_with(dataset={"openml": {"name": "no_such_data"}})
        self.assertEqual((job["state"], job["reason"]), ("failed", "DATASET_NOT_FOUND"))

    def test_a_short_outage_is_waited_out(self):
        self.assertEqual(self.run_with("--status-5xx", "2")["state"], "succeeded")

    def test_a_broken_download_is_tried_again(self):
        self.assertEqual(self.run_with("--drop-after", "1000", "--fault-count", "1")["state"], "succeeded")

    def test_a_download_that_always_breaks_fails_the_job(self):
        job = self.run_with("--drop-after", "1000", "--gzip", "never")
        self.assertEqual((job["state"], job["reason"]), ("failed", "DATASET_UNAVAILABLE"))

    def test_wrong_bytes_fail_the_job(self):
        job = self.run_with("--corrupt", "body")
        self.assertEqual((job["state"], job["reason"]), ("failed", "DATASET_CORRUPT"))

    def test_a_server_that_is_down_fails_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--openml-url", "http://127.0.0.1:1")
            try:
                job = server.run(spec(dataset={"openml": {"id": 61}}), 120)
                self.assertEqual((job["state"], job["reason"]), ("failed", "DATASET_UNAVAILABLE"))
                self.assertIn("127.0.0.1", job["error"]["message"])
            finally:
                server.stop()


class DyingWorker(unittest.TestCase):
    def test_a_job_that_kills_its_worker_is_tried_twice_then_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, env={"KEDGE_FAILPOINT": "worker.run.abort"})
            try:
                job = server.run(spec(), 60)
                self.assertEqual((job["state"], job["reason"], job["attempts"]), ("failed", "WORKER_CRASHED", 2))
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
