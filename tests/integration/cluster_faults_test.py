"""A job on two hosts, which are namespaces of this machine: a disk is full in each phase of the job, and the cable between the hosts is cut. The job ends
with a clear error or comes out right, no process is left, and kedged goes on."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged, text_of, wait_for  # noqa: E402
from two_hosts import NETWORKS, Agent, Namespaces, can_make_namespaces, fill, is_alive, keep_mounts_to_oneself, small_disk  # noqa: E402
from cluster_test import device, outcome, rows, without_times  # noqa: E402

HAS_MPI = (BIN / "libkedge_mpi.so").exists() and shutil.which("mpirun") and shutil.which("orted")
SECONDS = 15          # from a fault to the end of what it ends
START_SECONDS = 60    # for ranks to come together again
COPIES = "12m"        # a disk with room for the files of Open MPI, 8 MiB, and for a small table
FOREST = [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 60, "random_state": 0}}]
FIT = {"dataset": {"builtin": "digits"}, "pipeline": FOREST, "task": {"fit": {}}}   # a model of 1 MiB and more, which is a file
LARGE = {"dataset": {"builtin": "mnist_10k"}, "pipeline": FOREST, "task": {"crossValidate": {"cv": 4}}}
BAYES = rows("make_classification", {"estimator": "GaussianNB"}, n_informative=8)
MEANS = rows("make_blobs", {"estimator": "KMeans", "params": {"n_clusters": 150, "n_init": 2, "tol": 0, "random_state": 1}}, n_samples=60000, n_features=6,
             centers=200, cluster_std=4.0)


@unittest.skipIf(SANITIZED, "an MPI allocates before a sanitizer does")
@unittest.skipUnless(HAS_MPI, "no Open MPI here")
@unittest.skipUnless(can_make_namespaces(), "namespaces need root")
class Faults(unittest.TestCase):
    """Ranks 0 and 1 are on the first host, with kedged, and 2 and 3 on the second, which has other disks."""
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        keep_mounts_to_oneself()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data, self.copies = self.folder / "data", self.folder / "copies"   # of kedged; where the second host keeps what it is sent
        for path in (self.data, self.copies):
            path.mkdir()
        self.written = self.data / "state" / "tmp"   # where the first rank writes what a job leaves
        small_disk(self.written, "16m")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.written])
        self.hosts = Namespaces()
        self.addCleanup(self.hosts.stop)
        self.addCleanup(self.hosts.enter(0))
        key = self.folder / "cluster.key"
        subprocess.run([BIN / "kedge", "host-agent", "--new-key", key], check=True, capture_output=True)
        disks = f'mount -t tmpfs none "{self.data}" && mount -t tmpfs -o size={COPIES} none "{self.copies}" && exec "$@"'
        self.agent = Agent(self.folder, key, inside=["env", f"TMPDIR={self.copies}", *self.hosts.inside(1), "unshare", "--mount", "sh", "-c", disks, "sh"],
                           listen=f"{NETWORKS[1]}:5335")
        self.addCleanup(self.agent.stop)
        self.server = Kedged(self.data, "--devices", "cpu", "--cluster-ranks", 4, "--cluster-launcher", "mpirun", "--cluster-key", key,
                             *[word for address in NETWORKS for word in ("--cluster-hosts", f"{address}:2")])
        self.addCleanup(self.server.stop)
        self.wait_for_ranks()

    def wait_for_ranks(self):
        wait_for(lambda: (lambda d: "missing" not in d and d["threads"] > 0)(device(self.server)), START_SECONDS, "the ranks")

    def outcome(self, job, where):
        self.server.device = where
        return outcome(self.server, job)

    def far(self, path):
        """As the second host has it."""
        return pathlib.Path(f"/proc/{self.agent.child.pid}/root{path}")

    def group(self):
        """Process ids of the ranks and of what started them, on both hosts."""
        lasting = {self.server.child.pid, self.agent.child.pid, *self.one_device()}
        return set().union(*map(self.hosts.processes, range(2))) - lasting

    def one_device(self):
        return [pid for pid in self.server.workers() if "--device" in words_of(pid)]

    def ranks(self, host):
        return sorted(pid for pid in self.hosts.processes(host) if words_of(pid)[0].endswith("kedge-worker") and "--channel" in words_of(pid))

    def refused(self, job, text):
        """It fails at once, with this text, and the ranks live on."""
        ranks, begin = [self.ranks(host) for host in range(2)], time.monotonic()
        done = self.server.run({**job, "device": "cluster"})
        self.assertEqual((done["state"], done.get("error", {}).get("code")), ("failed", "STORAGE_FULL"), done)
        self.assertRegex(done["error"]["message"], text)
        self.assertLess(time.monotonic() - begin, SECONDS)
        self.assertEqual([self.ranks(host) for host in range(2)], ranks)
        self.assertEqual(list(map(len, ranks)), [2, 2])

    def log(self):
        return (self.data / "kedged.log").read_text()

    def test_a_disk_that_is_full_when_the_table_arrives(self):
        self.refused(LARGE, rf"^rank 2 on kedge-n2 could not keep the job's data in {self.copies}: No space left on device$")
        self.assertEqual(self.outcome(FIT, "cluster"), self.outcome(FIT, "cpu"))   # what was sent of the large table has gone
        ballast = fill(self.far(self.copies))
        self.refused(BAYES, rf"^rank 2 on kedge-n2 could not keep the job's data in {self.copies}: No space left on device$")
        ballast.unlink()
        self.assertEqual(self.outcome(BAYES, "cluster"), self.outcome(BAYES, "cpu"))

    def test_a_disk_that_is_full_of_tables_of_earlier_jobs(self):
        """They make room: each of these is more than half of what Open MPI leaves."""
        jobs = [rows("make_classification", {"estimator": "GaussianNB"}, n_informative=8, random_state=seed) for seed in (35, 36)]
        alone = [self.outcome(job, "cpu") for job in jobs]
        for _ in range(2):
            self.assertEqual([self.outcome(job, "cluster") for job in jobs], alone)

    def test_a_disk_that_is_full_at_the_end_of_a_fit(self):
        alone = self.outcome(FIT, "cpu")
        ballast = fill(self.written)
        self.refused(FIT, "^rank 0 on kedge-n1: write model: No space left on device$")
        wait_for(lambda: f"of {self.written}" in self.log(), 10, "the folder in the log")   # which a client must not see
        ballast.unlink()
        self.assertEqual(self.outcome(FIT, "cluster"), alone)

    def test_a_disk_that_is_full_when_predictions_are_written(self):
        model = self.server.run({**BAYES, "device": "cpu"})["result"]["model"]
        asked = {"dataset": BAYES["dataset"], "task": {"predict": {"model": model, "output": "predict_proba"}}}
        ballast = fill(self.written)
        self.refused(asked, r"^rank 0 on kedge-n1: write (artifacts|predictions\.npy): No space left on device$")
        ballast.unlink()
        self.assertEqual(self.predictions(asked, "cluster"), self.predictions(asked, "cpu"))

    def test_a_full_disk_of_ranks_that_write_nothing(self):
        """Of the second host, once the table and the model are there."""
        model = self.server.run({**BAYES, "device": "cpu"})["result"]["model"]
        asked = {"dataset": BAYES["dataset"], "task": {"predict": {"model": model}}}
        first = self.predictions(asked, "cluster")
        fill(self.far(self.copies))
        self.assertEqual(self.outcome(BAYES, "cluster"), self.outcome(BAYES, "cpu"))
        self.assertEqual(self.predictions(asked, "cluster"), first)

    def predictions(self, asked, where):
        done = self.server.run({**asked, "device": where})
        self.assertEqual(done["state"], "succeeded", done)
        (file,) = done["result"]["artifacts"]
        return self.server.call("GET", f"/v1/jobs/{done['id']}/artifacts/{file['name']}").body

    def cut_in_the_midst(self, how):
        """Returns the job; all that ran on both hosts has ended."""
        job = self.server.submit({**MEANS, "device": "cluster"})
        wait_for(lambda: self.server.job(job)["state"] == "running", START_SECONDS, "the job's begin")
        far = self.ranks(1)[0]
        before, group = processor_seconds(far), self.group()
        wait_for(lambda: processor_seconds(far) > before + 0.3, START_SECONDS, "work on the second host")
        self.hosts.cut(how)
        wait_for(lambda: not any(map(is_alive, group)), SECONDS, f"the end of {len(group)} processes")
        self.assertEqual(self.hosts.processes(1), {self.agent.child.pid})
        return job

    def test_a_cable_that_is_cut_without_a_sign(self):
        """And is whole again soon: the job runs again."""
        alone = self.outcome(MEANS, "cpu")
        job = self.cut_in_the_midst("silent")
        self.hosts.mend()
        done = self.server.wait(job)
        self.assertEqual((done["state"], done["attempts"]), ("succeeded", 2), done)
        result = self.server.call("GET", f"/v1/jobs/{job}/result").json()
        result.pop("model")
        self.assertEqual(without_times(result), alone[0])
        self.assertEqual(self.outcome(BAYES, "cluster"), self.outcome(BAYES, "cpu"))

    def test_a_cable_that_is_unplugged(self):
        """And stays so: the job fails, and the next one runs when it is back."""
        job = self.cut_in_the_midst("unplugged")
        done = self.server.wait(job, START_SECONDS)
        self.assertEqual((done["state"], done["error"]["code"]), ("failed", "DEVICE_UNAVAILABLE"), done)
        self.assertEqual(self.server.run({**BAYES, "device": "cpu"})["state"], "succeeded")
        self.hosts.mend()
        self.wait_for_ranks()
        self.assertEqual(self.outcome(BAYES, "cluster"), self.outcome(BAYES, "cpu"))


def words_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return [""]


def processor_seconds(pid):
    fields = text_of(pathlib.Path(f"/proc/{pid}/stat")).rsplit(") ", 1)[-1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main(verbosity=2)
