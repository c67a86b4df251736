"""The device "cluster": jobs on several ranks give what one worker gives, and end when a rank does. `--jobs N`: how many jobs lose a rank (20)."""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged, spec, wait_for  # noqa: E402
from rank_bytes import counted, of_formula  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOBS = 3   # that lose a rank; `--jobs 20` is the full run
RANKS = (1, 2, 3, 4, 7)
HAS_MPI = (BIN / "libkedge_mpi.so").exists() and shutil.which("mpirun")
FOREST = {"dataset": {"builtin": "mnist_10k"}, "select": {"dtype": "float32", "scale": 1 / 255},
          "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 20, "random_state": 42}}]}
VALIDATION = {**FOREST, "task": {"crossValidate": {"cv": 5, "scoring": ["accuracy", "f1_macro"]}}}
FIT = {**FOREST, "task": {"fit": {}}}
SEARCH = spec({"builtin": "digits"}, ("StandardScaler", "PCA", "KNeighborsClassifier"),
              {"gridSearch": {"paramGrid": {"pca__n_components": [5, 10, 20], "kneighborsclassifier__n_neighbors": [1, 3, 5]}}})


def rows(generator, *steps, **params):
    """A fit on 30,000 generated rows, so that ranks divide its sums."""
    return {"dataset": {"generate": {"name": generator, "params": {"n_samples": 30000, "random_state": 35, "n_features": 12, **params}}},
            "pipeline": list(steps), "task": {"fit": {}}}


SUMS = {
    "logistic": rows("make_classification", {"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"}, n_informative=8, n_classes=3),
    "bayes": rows("make_classification", {"estimator": "PCA", "params": {"n_components": 5}}, {"estimator": "GaussianNB"}, n_informative=8),
    "ridge": rows("make_regression", {"estimator": "Ridge"}),
    "linear": rows("make_regression", {"estimator": "LinearRegression"}),
    "means": rows("make_blobs", {"estimator": "KMeans", "params": {"n_clusters": 9, "random_state": 1}}),
    "mixture": rows("make_blobs", {"estimator": "StandardScaler"}, {"estimator": "GaussianMixture", "params": {"n_components": 3, "random_state": 1}}),
    "priors": rows("make_blobs", {"estimator": "BayesianGaussianMixture",
                                  "params": {"n_components": 5, "covariance_type": "diag", "max_iter": 20, "random_state": 1}}),
    "rounds": rows("make_regression", {"estimator": "RFE", "params": {"estimator": {"estimator": "Ridge"}, "step": 3}}, {"estimator": "Ridge"}),
    "subsets": rows("make_regression", {"estimator": "RANSACRegressor", "params": {"random_state": 1, "max_trials": 30, "stop_probability": 1}}),
    "threshold": rows("make_classification", {"estimator": "TunedThresholdClassifierCV", "params": {"cv": 3}}, n_informative=8),
    "lasso": rows("make_regression", {"estimator": "Lasso"}),
    "boosting": rows("make_classification", {"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 5}}, n_features=20, n_informative=8),
    "counts": rows("make_classification", {"estimator": "BernoulliNB"}, n_informative=8),
    "density": rows("make_blobs", {"estimator": "StandardScaler"}, {"estimator": "DBSCAN", "params": {"eps": 1.0}}, n_samples=20000, n_features=6),
    "density_of_columns": rows("make_blobs", {"estimator": "SimpleImputer"}, {"estimator": "DBSCAN", "params": {"eps": 5.0}}, n_features=20),
    "columns": rows("make_regression", {"estimator": "RobustScaler"}, {"estimator": "MinMaxScaler"}, {"estimator": "SimpleImputer", "params": {"strategy": "median"}},
                    {"estimator": "Ridge"}),
    "bag": rows("make_classification", {"estimator": "BaggingClassifier", "params": {"n_estimators": 5, "max_samples": 0.1, "oob_score": True}}, n_informative=8),
    "stack": rows("make_classification", {"estimator": "StackingClassifier", "params": {"cv": 2, "estimators": [
        ["normal", {"estimator": "GaussianNB"}], ["forest", {"estimator": "RandomForestClassifier", "params": {"n_estimators": 3, "max_depth": 5}}]]}},
        n_informative=8),
    "scores": {**rows("make_classification", {"estimator": "KNeighborsClassifier"}, n_informative=8),
               "task": {"fitScore": {"testSize": 0.7, "scoring": ["accuracy", "roc_auc"]}}},
}
STORED = {"neighbours": ({**rows("make_classification", {"estimator": "KNeighborsClassifier"}, n_informative=8), "select": {"rows": 2000}}, "predict_proba"),
          "components": (rows("make_classification", {"estimator": "PCA", "params": {"n_components": 5}}, n_informative=8), "transform")}


def environment(server):
    return {**os.environ, "KEDGE_URL": server.url, "PYTHONPATH": str(ROOT / "client" / "python" / "src")}


@contextlib.contextmanager
def running(*arguments, env=None):
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, *arguments, env=env)
        try:
            yield server
        finally:
            server.stop()


def cluster(ranks, *more):
    return running("--devices", "cpu", "--cluster-ranks", ranks, *more)


def group_of(folder):
    """Process ids of the ranks whose server runs with this folder as TMPDIR, where it makes the socket that they are started with."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            line = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else [b""]
            is_dead = process.name.isdigit() and ") Z " in (process / "stat").read_text()
        except OSError:
            continue
        if line[0] == str(BIN / "kedge-worker").encode() and b"--channel" in line and any(str(folder).encode() in word for word in line) and not is_dead:
            found.append(int(process.name))
    return sorted(found)


def without_times(result):
    """What does not depend on the clock or the device's name."""
    kept = {key: value for key, value in result.items() if key not in ("timings", "memory", "device")}
    if "search" in kept:
        results = {name: column for name, column in kept["search"]["cvResults"].items() if "_time" not in name}
        kept["search"] = {**{key: value for key, value in kept["search"].items() if key != "refit"}, "cvResults": results}
    return kept


def outcome(server, job):
    done = server.run({**job, "device": server.device})
    assert done["state"] == "succeeded", done
    result = server.call("GET", f"/v1/jobs/{done['id']}/result").json()
    model = result.pop("model", None)   # its id, which is new each time
    digest = hashlib.sha256(server.call("GET", f"/v1/models/{model}/download").body).hexdigest() if model else None
    return without_times(result), digest


def answer(server, fit, output):
    """The digest of what a stored model says of all rows of its data set."""
    fitted = server.run({**fit, "device": "cpu"})
    task = {"transform": {"model": fitted["result"]["model"]}} if output == "transform" else {"predict": {"model": fitted["result"]["model"], "output": output}}
    done = server.run({"dataset": fit["dataset"], "task": task, "device": server.device})
    assert done["state"] == "succeeded", done
    assert "ranks" not in " ".join(done["result"].get("warnings", [])), done
    (file,) = done["result"]["artifacts"]
    return hashlib.sha256(server.call("GET", f"/v1/jobs/{done['id']}/artifacts/{file['name']}").body).hexdigest()


def needs_mpi(test):
    watched = unittest.skipIf(SANITIZED, "an MPI allocates before a sanitizer does")(test)
    return unittest.skipUnless(HAS_MPI, "no MPI here: libkedge_mpi.so was not built, or there is no mpirun")(watched)


@needs_mpi
class Cluster(unittest.TestCase):
    maxDiff = 4000

    def test_gives_the_results_of_one_worker_at_any_number_of_ranks(self):
        jobs = {"validation": VALIDATION, "forest": FIT, "search": SEARCH, **SUMS}
        with running("--devices", "cpu") as server:
            server.device = "cpu"
            alone = {name: outcome(server, job) for name, job in jobs.items()}
            answers = {name: answer(server, *stored) for name, stored in STORED.items()}
        self.assertTrue(all(alone[name][1] for name in ("forest", *SUMS) if name != "scores"))
        for ranks in RANKS:
            with cluster(ranks) as server:
                server.device = "cluster"
                for name, job in (jobs if ranks in (1, 2, 4) else SUMS).items():   # folds and trees have been dealt enough by then
                    with self.subTest(ranks=ranks, job=name):
                        self.assertEqual(outcome(server, job), alone[name])
                for name, stored in STORED.items():
                    with self.subTest(ranks=ranks, answer=name):
                        self.assertEqual(answer(server, *stored), answers[name])

    def test_the_workflow_of_the_examples_gives_the_same_on_one_rank_and_on_four(self):
        """As a file of jobs, in C++ and in Python, all divided and collected."""
        file = ROOT / "examples" / "cluster" / "workflow.json"
        jobs = json.loads(file.read_text())
        with running("--devices", "cpu") as server:
            server.device = "cpu"
            alone = [outcome(server, job) for job in jobs]
            printed = self.said(server, "cpu")
        self.assertIn("DBSCAN: 5 clusters", printed[1])
        for ranks in (1, 4):
            with cluster(ranks) as server:
                server.device = "cluster"
                self.assertEqual([outcome(server, job) for job in jobs], alone)
                self.assertEqual(self.said(server, "cluster"), printed)
                mapped = subprocess.run([BIN / "kedge", "--json", "map", file], env=environment(server), text=True, capture_output=True, timeout=300)
                self.assertEqual(mapped.returncode, 0, mapped.stderr)
                results = [json.loads(line)["result"] for line in mapped.stdout.splitlines()]
                self.assertEqual([result["scores"] for result in results], [of_one["scores"] for of_one, _ in alone])
                self.assertFalse([result["warnings"] for result in results if "of 4 ranks" in str(result.get("warnings"))])

    def said(self, server, device):
        """What the examples in C++ and in Python print."""
        texts = []
        for command in ([BIN / "workflow"], [sys.executable, ROOT / "examples" / "cluster" / "workflow.py"]):
            done = subprocess.run([*command, device], env=environment(server), text=True, capture_output=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            texts.append(done.stdout)
        return texts

    def test_is_listed_with_its_ranks(self):
        with cluster(2) as server:
            wait_for(lambda: "2 ranks" in device(server)["name"] and device(server)["threads"] > 0, 60, "the cluster's worker")
            self.assertEqual(device(server)["driver"], "mpirun")
            self.assertNotIn("missing", device(server))

    def test_brings_the_bytes_of_the_formulas(self):
        """tests/bench/ranks.py --bytes has more of them."""
        jobs = [rows("make_classification", {"estimator": "GaussianNB"}, n_features=50, n_informative=8, n_classes=3),
                rows("make_regression", {"estimator": "Ridge"}, n_features=50),
                rows("make_classification", {"estimator": "LogisticRegression"}, n_features=50, n_informative=8, n_classes=3),
                rows("make_blobs", {"estimator": "KMeans", "params": {"n_clusters": 5, "random_state": 1}}, n_features=50),
                {**rows("make_blobs", {"estimator": "DBSCAN", "params": {"eps": 9.5, "min_samples": 8}}, n_features=50), "select": {"dtype": "float32"}}]
        with cluster(2) as server:
            for job in jobs:
                done = server.run({**job, "device": "cluster"})
                ((estimator, fitted),) = done["result"]["fitted"].items()
                total, sums, exchanges = counted(server, done["id"])
                expected, words = of_formula(estimator, 30000, 50, 2, sums, exchanges, fitted, 0)
                with self.subTest(estimator):
                    self.assertTrue(expected / 1.2 < total < 1.2 * expected, (total, expected, words))

    def test_says_which_jobs_run_on_one_rank(self):
        with cluster(2) as server:
            done = server.run(spec(steps=("KNeighborsClassifier",), task={"fit": {}}, device="cluster"))
            self.assertEqual(done["state"], "succeeded", done)
            self.assertIn("runs on one of 2 ranks", " ".join(done["result"]["warnings"]))

    def test_refuses_bad_data_with_the_words_of_one_worker(self):
        bad = spec(steps=("KNeighborsClassifier",), task={"gridSearch": {"paramGrid": {"n_neighbors": [1, 500]}, "errorScore": "raise"}})
        with cluster(3) as server:
            words = {where: server.run({**bad, "device": where})["error"]["message"] for where in ("cpu", "cluster")}
            self.assertEqual(words["cpu"], words["cluster"])

    def test_refuses_rows_of_one_rank_with_the_words_of_one_worker(self):
        lines = [f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(20000)]
        fit = {"dataset": {"inline": {"csv": "\n".join(["u,v,y", *lines]), "target": "y"}}, "pipeline": [{"estimator": "LogisticRegression"}], "task": {"fit": {}}}
        lines[15000] = ",1,a"
        holes = {"inline": {"csv": "\n".join(["u,v,y", *lines]), "target": "y"}}
        with cluster(3) as server:
            model = server.run({**fit, "device": "cpu"})["result"]["model"]
            words = {where: server.run({"dataset": holes, "task": {"predict": {"model": model}}, "device": where})["error"]["message"] for where in ("cpu", "cluster")}
            self.assertEqual(words["cpu"], words["cluster"])
            self.assertIn("NaN", words["cpu"])
            density = {"dataset": holes, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "DBSCAN"}], "task": {"fit": {}}}
            words = {where: server.run({**density, "device": where})["error"]["message"] for where in ("cpu", "cluster")}
            self.assertEqual(words["cpu"], words["cluster"])
            words = {where: server.run({**fit, "dataset": holes, "device": where})["error"]["message"] for where in ("cpu", "cluster")}
            self.assertEqual(words["cpu"], words["cluster"])   # each rank loads its own rows
            self.assertIn("column 'u' has 1 missing value (NaN), the first in row 15000", words["cpu"])

    def test_cancels_a_job_on_all_ranks(self):
        slow = {**FOREST, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 3000}}], "task": {"crossValidate": {"cv": 5}}}
        with cluster(2) as server:
            job = server.submit({**slow, "device": "cluster"})
            wait_for(lambda: server.job(job)["state"] == "running", 90, "the job's begin")
            server.call("DELETE", f"/v1/jobs/{job}")
            self.assertEqual(server.wait(job, 30)["state"], "cancelled")
            self.assertEqual(server.run({**SEARCH, "device": "cluster"})["state"], "succeeded")

    def test_survives_the_death_of_any_rank(self):
        """Each job loses one rank, at a random time; it is run again, ends right and once, and no process is left."""
        chance = random.Random(35)
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--cluster-ranks", 3, env={"TMPDIR": folder})
            server.device = "cluster"
            try:
                # Trees that are dealt, and sums that meet in every iteration.
                kinds = [VALIDATION, rows("make_blobs", {"estimator": "KMeans", "params": {"n_clusters": 60, "tol": 0, "random_state": 1}}, n_samples=60000)]
                expected = [outcome(server, kind) for kind in kinds]
                for number in range(JOBS):
                    job = server.submit({**kinds[number % len(kinds)], "device": "cluster"})
                    wait_for(lambda: server.job(job)["state"] == "running", 120, "the job's begin")
                    time.sleep(chance.uniform(0, 1))   # no condition: the time is what is tried
                    ranks = group_of(folder)
                    victim = chance.choice(ranks) if ranks else None
                    if victim:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(victim, signal.SIGKILL)
                    done = server.wait(job, 300)
                    with self.subTest(job=number, of=len(ranks)):
                        self.assertEqual(done["state"], "succeeded", done)
                        result = server.call("GET", f"/v1/jobs/{job}/result").json()
                        result.pop("model", None)
                        self.assertEqual(without_times(result), expected[number % len(kinds)][0])
                        states = [e for e in events_of(server, job) if e.get("state", {}).get("state") == "succeeded"]
                        self.assertEqual(len(states), 1)
            finally:
                server.stop()
            wait_for(lambda: not group_of(folder), 20, "the end of all ranks")

    def test_ends_when_a_rank_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--cluster-ranks", 2, env={"TMPDIR": folder})
            try:
                wait_for(lambda: len(group_of(folder)) == 2, 60, "two ranks")
                wait_for(lambda: device(server)["threads"] > 0, 60, "the cluster's worker")
                before = group_of(folder)
                os.kill(max(before), signal.SIGSTOP)
                wait_for(lambda: not set(before) & set(group_of(folder)), 40, "the end of a group with a stopped rank")
                self.assertEqual(server.run({**SEARCH, "device": "cluster"})["state"], "succeeded")
            finally:
                server.stop()
            self.assertEqual(group_of(folder), [])

    def test_ranks_end_with_kedged(self):
        """Killed in the midst of a job: no rank is left."""
        slow = {**FOREST, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 3000}}], "task": {"fit": {}}}
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--cluster-ranks", 3, env={"TMPDIR": folder})
            try:
                job = server.submit({**slow, "device": "cluster"})
                wait_for(lambda: server.job(job)["state"] == "running", 90, "the job's begin")
                self.assertEqual(len(group_of(folder)), 3)
                server.kill()
                wait_for(lambda: not group_of(folder), 30, "the end of all ranks")
            finally:
                server.stop()


class Configuration(unittest.TestCase):
    def test_without_ranks_there_is_no_such_device(self):
        with running("--devices", "cpu") as server:
            reply = server.call("POST", "/v1/jobs", spec(device="cluster"))
            problem = reply.body.decode() if reply.status != 202 else json.dumps(server.wait(reply.json()["id"]))
            self.assertIn("cluster-ranks", problem)

    def test_a_launcher_that_is_missing_is_said(self):
        with running("--devices", "cpu", "--cluster-ranks", 2, "--cluster-launcher", "command", "--cluster-command", "no-such-launcher {worker}") as server:
            self.assertIn("there is no program no-such-launcher", device(server)["missing"])


class Doctor(unittest.TestCase):
    """kedge doctor --cluster, which starts a group of ranks of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def doctor(self, *arguments, code, settings=None, variables=None):
        if settings is not None:
            file = self.folder / "cluster.toml"
            file.write_text("[cluster]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
            arguments = (*arguments, "--config", file)
        environment = {name: value for name, value in os.environ.items() if name != "KEDGE_CONFIG" and not name.startswith("KEDGE_CLUSTER_")}
        done = subprocess.run([BIN / "kedge", "doctor", "--cluster", *arguments], capture_output=True, text=True, timeout=200,
                              env={**environment, "XDG_STATE_HOME": str(self.folder), **(variables or {})})
        self.assertEqual(done.returncode, code, done)
        return done

    def command(self, line, ranks=2):
        return {"ranks": ranks, "launcher": "command", "command": line}

    @needs_mpi
    def test_measures_the_ranks(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                report = json.loads(self.doctor("--json", code=0, settings={"ranks": ranks}).stdout)
                self.assertEqual((report["well"], report["problems"], len(report["ranks"])), (True, [], ranks))
                self.assertEqual([rank["rank"] for rank in report["ranks"]], list(range(ranks)))
                self.assertEqual([time["bytes"] for time in report["allReduce"]], [24, 24000, 2400000])
                for rank in report["ranks"]:
                    self.assertEqual(rank["devices"][0]["id"], "cpu")
                    self.assertTrue(rank["host"] and rank["version"] and "MPI" in rank["mpi"] and rank["freeMemoryBytes"] > 0)
                    self.assertEqual("latencySeconds" in rank, rank["rank"] > 0)
                measured = [number for rank in report["ranks"][1:] for number in (rank["latencySeconds"], rank["bytesPerSecond"])]
                self.assertTrue(all(number > 0 for number in measured + [time["seconds"] for time in report["allReduce"]]), report)
                processors = report["ranks"][0]["processors"]
                self.assertEqual(any(f"share {processors} processors" in note for note in report["notes"]), ranks > processors)

    @needs_mpi
    def test_says_why_there_is_no_nccl_or_measures_it(self):
        def report(**variables):
            return json.loads(self.doctor("--json", code=0, settings={"ranks": 1}, variables=variables).stdout)
        alone = report()
        nccl, devices = alone["nccl"], alone["ranks"]
        if not any(device["id"].startswith("cuda") and "missing" not in device for device in devices[0]["devices"]):
            self.assertRegex(nccl["missing"], "NCCL cannot be used: rank 0: there is no (NVIDIA driver|GPU 0|NCCL): ")
        stand_in = BIN.parent / "tests" / "unit" / "comm" / "libkedge_stand_in_gpu.so"
        if not stand_in.exists():
            return
        for name in ("libcuda.so.1", "libnccl.so.2"):
            (self.folder / name).symlink_to(stand_in.resolve())
        nccl = report(LD_LIBRARY_PATH=str(self.folder))["nccl"]
        self.assertEqual((nccl["library"], [time["bytes"] for time in nccl["allReduce"]]), ("NCCL 2.28.9", [24, 24000, 2400000]))

    @needs_mpi
    def test_prints_a_table(self):
        lines = self.doctor(code=0, settings={"ranks": 2}).stdout.splitlines()
        self.assertRegex(lines[0], r"^2 ranks on 1 host, .*MPI")
        self.assertRegex(lines[4], r"^1 +\S+ +\S+ +\d+ +[\d.]+ GiB +[\d.]+ [um]s +[\d.]+ GB/s +cpu +cpu: ")
        self.assertEqual(lines[-1], "all well")

    @needs_mpi
    def test_names_each_rank_that_is_not_like_the_first(self):
        line = "mpirun -q --oversubscribe -n 1 {worker} : -n 2 -x OPENBLAS_CORETYPE=Haswell {worker}"
        report = json.loads(self.doctor("--json", code=1, settings=self.command(line, 3)).stdout)
        self.assertFalse(report["well"])
        self.assertEqual(len(report["problems"]), 2, report)
        for rank, problem in enumerate(report["problems"], 1):
            self.assertRegex(problem, f"the ranks are not alike.* the processor.* of rank {rank} on .* is '.*', of rank 0 on")

    @needs_mpi
    def test_gives_on_why_more_ranks_than_slots_are_not_started(self):
        done = self.doctor(code=1, settings=self.command("mpirun --host localhost:1 -n {ranks} {worker}", 3))
        self.assertIn("not enough slots", done.stderr)
        self.assertEqual(done.stdout, "")

    @needs_mpi
    def test_says_what_a_launcher_that_fails_has_said(self):
        for end, more in (("exit 7", ()), ("kill -9 $$", ("--json",))):
            launcher = self.script(f"echo no seats left >&2; {end}")
            self.assertIn("no seats left", self.doctor(*more, code=1, settings=self.command(f"{launcher} {{worker}}")).stderr)

    @needs_mpi
    def test_a_launcher_that_starts_nothing_is_no_success(self):
        self.assertIn("said nothing and ended with exit code 0", self.doctor(code=1, settings=self.command(f"{self.script('exit 0')} {{worker}}")).stderr)

    def script(self, text):
        file = self.folder / "launcher"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def test_says_which_launcher_is_missing(self):
        self.assertIn("there is no program no-such-launcher", self.doctor(code=1, settings=self.command("no-such-launcher {worker}")).stderr)

    def test_names_settings_that_are_missing_or_wrong(self):
        self.assertIn("cluster-ranks is not set", self.doctor(code=1, settings={}).stderr)
        self.assertIn("must be mpirun, srun or command", self.doctor(code=1, settings={"ranks": 2, "launcher": "ssh"}).stderr)
        self.assertIn("nowhere.toml", self.doctor("--config", self.folder / "nowhere.toml", code=1).stderr)

    def test_takes_no_gpu_beside_it(self):
        self.doctor("--gpu", code=64)

    def test_asks_a_server_where_there_are_no_settings_here(self):
        self.assertIn("http://127.0.0.1:1", self.doctor(code=69, variables={"KEDGE_URL": "http://127.0.0.1:1"}).stderr)
        with running("--devices", "cpu") as server:
            self.assertIn("this server has no ranks to check", self.doctor(code=1, variables={"KEDGE_URL": server.url}).stderr)

    @needs_mpi
    def test_a_server_checks_its_ranks_beside_those_that_run(self):
        with running("--devices", "cpu", "--cluster-ranks", 2) as server:
            variables = {"KEDGE_URL": server.url}
            text = self.doctor(code=0, variables=variables).stdout
            self.assertRegex(text.splitlines()[0], r"^2 ranks on 1 host, .*MPI")
            self.assertTrue(text.endswith("all well\n"))
            report = json.loads(self.doctor("--json", code=0, variables=variables).stdout)
            self.assertEqual((report["well"], len(report["ranks"])), (True, 2))
            self.assertEqual(server.call("POST", "/v1/cluster/check").json()["well"], True)
            self.assertEqual(server.call("POST", "/v1/cluster/check?x=1").status, 400)

    def launching(self, text):
        """A server whose ranks are started by this script."""
        return running("--devices", "cpu", "--cluster-ranks", 2, "--cluster-launcher", "command", "--cluster-command", f"{self.script(text)} {{worker}}")

    @needs_mpi
    def test_a_server_says_what_the_launcher_has_said(self):
        with self.launching("echo no seats left >&2; exit 7") as server:
            self.assertIn("no seats left", self.doctor(code=1, variables={"KEDGE_URL": server.url}).stderr)

    @needs_mpi
    def test_a_server_checks_its_ranks_once_at_a_time_and_not_for_a_client_that_is_gone(self):
        checks = self.folder / "checks"
        with self.launching(f"case \"$*\" in *--cluster-check*) echo $$ >>{checks};; esac\nexec sleep 1000") as server:
            variables = {**os.environ, "KEDGE_URL": server.url, "XDG_STATE_HOME": str(self.folder)}
            first = subprocess.Popen([BIN / "kedge", "doctor", "--cluster"], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pid = int(wait_for(lambda: checks.exists() and checks.read_text(), 30, "a check"))
            self.assertEqual(server.call("POST", "/v1/cluster/check").json()["code"], "TOO_MANY_REQUESTS")
            first.kill()
            first.wait()
            wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 30, "the end of the check")


def device(server):
    """The cluster, as soon as the devices are listed."""
    return wait_for(lambda: next((d for d in server.call("GET", "/v1/info").json()["devices"] if d["id"] == "cluster"), None), 60, "the list of devices")


def events_of(server, job):
    text = server.call("GET", f"/v1/jobs/{job}/events").body.decode()
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--jobs", type=int, default=JOBS)
    options, rest = parser.parse_known_args()
    JOBS = options.jobs
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
