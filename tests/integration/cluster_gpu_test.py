"""The device "cluster" on ranks with a GPU each, by the fake one of tests/support/fake_gpu.cc (the real kernels, emulated): the bits of one GPU, and who is refused."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, Kedged, spec, wait_for  # noqa: E402
from cluster_test import device, events_of, needs_mpi, outcome, without_times  # noqa: E402
from gpu_check_test import PLUGIN, place  # noqa: E402

BLOBS = {"generate": {"name": "make_blobs", "params": {"n_samples": 300, "n_features": 4, "centers": 3, "random_state": 3}}}
FOREST = spec(BLOBS, (("RandomForestClassifier", {"n_estimators": 5, "random_state": 42}),), {"fit": {}})
JOBS = {
    "validation": spec(BLOBS, ("StandardScaler", "LogisticRegression"), {"crossValidate": {"cv": 3}}),
    "search": spec(BLOBS, ("PCA", "KNeighborsClassifier"), {"gridSearch": {"paramGrid": {"kneighborsclassifier__n_neighbors": [1, 3]}, "crossValidate": {"cv": 2}}}),
    "forest": FOREST,
}
POINTS = spec(BLOBS, ("KNeighborsClassifier",), {"fit": {}})
MANY = {"generate": {"name": "make_blobs", "params": {"n_samples": 16_900, "n_features": 3, "centers": 2, "random_state": 3}}}
SUMS = {
    "lines": spec(MANY, ("StandardScaler", "RidgeClassifier"), {"fit": {}}),
    "logistic": spec(MANY, ("StandardScaler", ("LogisticRegression", {"max_iter": 3})), {"fit": {}}),
    "means": spec(MANY, (("KMeans", {"n_clusters": 2, "random_state": 0, "max_iter": 3}),), {"fit": {}}),
}


class WithGpus(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(dir=BIN.parent)   # on its file system
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.worker = place("kedge-worker", self.folder / "bin")
        place("libkedge_mpi.so", self.folder / "bin")
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / PLUGIN.name).symlink_to(PLUGIN)
        self.plan = self.folder / "plan"

    @contextlib.contextmanager
    def running(self, *arguments, gpus=2, how=""):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--worker", self.worker, *arguments,
                            env={"KEDGE_FAKE_GPU": how, "KEDGE_FAKE_GPU_COUNT": str(gpus), "KEDGE_FAKE_GPU_PLAN": str(self.plan)})
            try:
                yield server
            finally:
                server.stop()

    def cluster(self, ranks=2, wish="cuda", **more):
        return self.running("--devices", "cpu", "--cluster-ranks", ranks, "--cluster-device", wish, **more)

    def refusal(self, ranks=2, **more):
        """Why the device is missing, after kedged has tried."""
        with self.cluster(ranks, **more) as server:
            return wait_for(lambda: device(server).get("missing"), 120, "the reason")


@needs_mpi
class Jobs(WithGpus):
    maxDiff = 4000

    def test_give_the_results_and_models_of_one_gpu(self):
        with self.running("--devices", "cuda:0") as server:
            server.device = "cuda"
            alone = {name: outcome(server, job) for name, job in {**JOBS, **SUMS}.items()}
            predicted = self.predictions(server)
        self.assertTrue(alone["forest"][1])
        with self.cluster() as server:
            server.device = "cluster"
            for name, job in {**JOBS, **SUMS}.items():
                with self.subTest(job=name):
                    self.assertEqual(outcome(server, job), alone[name])
            self.assertEqual(self.predictions(server), predicted)
            self.assertIn("2 ranks, fake GPU", device(server)["name"])

    def predictions(self, server):
        """Of the forest, as a file, and by what it was made."""
        model = server.run({**FOREST, "device": server.device})["result"]["model"]
        done = server.run({"dataset": BLOBS, "task": {"predict": {"model": model, "output": "predict_proba"}}, "device": server.device})
        self.assertEqual(done["state"], "succeeded", done)
        file, = done["result"]["artifacts"]
        return done["result"]["device"]["kind"], server.call("GET", f"/v1/jobs/{done['id']}/artifacts/{file['name']}").body

    def test_say_what_is_not_dealt(self):
        with self.cluster() as server:
            done = server.run({**POINTS, "device": "cluster"})
            self.assertEqual(done["state"], "succeeded", done)
            self.assertIn("this job runs on one of 2 ranks: on GPUs searches, cross-validations, predictions, forests and some sums over rows are dealt", " ".join(done["result"]["warnings"]))
            done = server.run({**spec(BLOBS, ("KNeighborsClassifier",), {"gridSearch": {"paramGrid": {"n_neighbors": [1, 3]}, "crossValidate": {"cv": 2}}}), "device": "cluster"})
            self.assertIn("the first of 2 ranks makes this fit alone", json.dumps(events_of(server, done["id"])))

    def test_survive_a_rank_that_is_killed_and_a_gpu_that_fails(self):
        with self.cluster() as server:
            server.device = "cluster"
            right = outcome(server, JOBS["validation"])
            self.next("kill", 7)
            done = server.run({**JOBS["validation"], "device": "cluster"}, 120)
            self.assertEqual((done["state"], done["attempts"]), ("succeeded", 2), done)
            self.assertEqual(without_times({key: value for key, value in done["result"].items() if key != "model"})["scores"], right[0]["scores"])
            self.next("illegal", 7)
            done = server.run({**JOBS["validation"], "device": "cluster"}, 120)
            self.assertEqual((done["state"], done["error"]["code"]), ("failed", "INTERNAL"), done)
            self.assertEqual(outcome(server, JOBS["validation"]), right)   # by another group

    def next(self, what, number):
        part = self.plan.with_suffix(".part")
        part.write_text(f"{what} {number}\n")
        part.replace(self.plan)

    def test_auto_takes_processors_where_a_rank_would_have_no_gpu(self):
        for gpus, name in ((1, "2 ranks, "), (2, "2 ranks, fake GPU")):
            with self.cluster(wish="auto", gpus=gpus) as server:
                server.device = "cluster"
                wait_for(lambda: device(server)["name"].startswith("2 ranks, "), 60, "the cluster's worker")
                self.assertIn(name, device(server)["name"])
                self.assertEqual("fake" in device(server)["name"], gpus == 2)


@needs_mpi
class Refusals(WithGpus):
    def test_of_more_ranks_than_gpus(self):
        self.assertRegex(self.refusal(3), r"cluster-device is cuda, but 3 ranks are on .* and two would share cuda:0, of 2 that they can use there: must be at most one rank for each GPU")

    def test_of_a_machine_without_a_gpu(self):
        for how, why in (("no-driver", "CUDA driver version is insufficient"), ("none", "the CUDA driver reports no device"), ("old", "its compute capability is 7.0")):
            with self.subTest(how=how):
                words = self.refusal(how=how)
                self.assertRegex(words, "cluster-device is cuda, but rank 0 on .* has no GPU: cuda")
                self.assertIn(why, words)

    def test_of_a_gpu_that_cannot_be_opened(self):
        self.assertRegex(self.refusal(how="lost"), "rank 0 on .*: cuda:0: GPU is lost")

    def test_of_gpus_that_are_not_alike(self):
        self.assertRegex(self.refusal(how="unlike"), "the ranks are not alike.* the GPU of rank 1 on .* is 'fake GPU number 1', of rank 0 on .* 'fake GPU number 0'")


@needs_mpi
class Doctor(WithGpus):
    def doctor(self, ranks, **environment):
        done = subprocess.run([BIN / "kedged", "check-cluster", "--json", "--worker", self.worker, "--cluster-ranks", str(ranks), "--cluster-device", "cuda"],
                              capture_output=True, text=True, timeout=200, env={**os.environ, "KEDGE_FAKE_GPU_COUNT": "2", **environment})
        return json.loads(done.stdout)

    def test_says_on_which_gpu_each_rank_runs(self):
        report = self.doctor(2)
        self.assertTrue(report["well"], report)
        self.assertEqual([rank["device"] for rank in report["ranks"]], ["cuda:0", "cuda:1"])

    def test_names_what_jobs_would_be_refused_for(self):
        report = self.doctor(3)
        self.assertFalse(report["well"])
        self.assertIn("two would share cuda:0", " ".join(report["problems"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
