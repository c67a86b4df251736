"""Jobs on ranks that srun starts: a Slurm of two nodes, which are namespaces of this machine, gives what one worker gives."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, ROOT, SANITIZED, Kedged, Process, text_of, wait_for  # noqa: E402
from cluster_test import FIT, SUMS, VALIDATION, group_of, outcome  # noqa: E402

EXAMPLE = ROOT / "examples" / "cluster"
NODES = {"kedge-n1": "10.77.36.1", "kedge-n2": "10.77.36.2"}
PROGRAMS = ("srun", "salloc", "sinfo", "squeue", "sbatch", "scancel", "slurmctld", "slurmd", "munged", "unshare", "nsenter", "ip", "hostname")
ENVIRONMENT = {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}

SETTINGS = """ClusterName=kedge
SlurmctldHost=kedge-n1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmix
SelectType=select/cons_tres
KillWait=5
SlurmdTimeout=10
SlurmdParameters=config_overrides
NodeName=kedge-n1 NodeAddr=10.77.36.1 CPUs=2 RealMemory=1000
NodeName=kedge-n2 NodeAddr=10.77.36.2 CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def host_of(pid):
    return os.readlink(f"/proc/{pid}/ns/uts")


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or ENVIRONMENT)}, timeout=200)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class Slurm:
    """This process is in the first node's namespaces, and a process that sleeps holds those of the second. PMIx makes files of one name on each node, so the
    second has a /tmp of its own; what nodes share is in `folder`, which is elsewhere."""

    def __init__(self, folder):
        self.processes, self.folder, self.environment = [], folder, ENVIRONMENT

    def begin(self):
        folder = self.folder
        for name in ("state", *NODES):
            (folder / name).mkdir()
        key, hosts, settings = folder / "munge.key", folder / "hosts", folder / "slurm.conf"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in NODES.items()))
        run("mount", "--bind", str(hosts), "/etc/hosts")
        settings.write_text(SETTINGS.format(folder=folder))
        self.environment = {**ENVIRONMENT, "SLURM_CONF": str(settings)}
        self.holder = self.start("unshare", "--net", "--uts", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /tmp && exec sleep 900").child.pid
        pid = str(self.holder)
        wait_for(lambda: text_of(pathlib.Path(f"/proc/{pid}/comm")).strip() == "sleep", 20, "the second node")
        self.second = ("nsenter", f"--net=/proc/{pid}/ns/net", f"--uts=/proc/{pid}/ns/uts", f"--mount=/proc/{pid}/ns/mnt")
        run("ip", "link", "add", "k1", "type", "veth", "peer", "name", "k2", "netns", pid)
        for number, (name, address) in enumerate(NODES.items(), start=1):
            inside = self.second if number == 2 else ()
            run(*inside, "hostname", name)
            run(*inside, "ip", "address", "add", f"{address}/24", "dev", f"k{number}")
            for device in ("lo", f"k{number}"):
                run(*inside, "ip", "link", "set", device, "up")
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
                   f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
        wait_for(lambda: (folder / "munge.socket").exists(), 20, "munged")
        self.start("slurmctld", "-D", "-i", "-f", settings)
        self.start("slurmd", "-D", "-f", settings, "-N", "kedge-n1")
        self.start(*self.second, "slurmd", "-D", "-f", settings, "-N", "kedge-n2")
        try:
            wait_for(lambda: self.idle() == 2, 60, "two idle nodes")
        except AssertionError as error:
            raise AssertionError((folder / "slurm.log").read_text()[-4000:]) from error

    def allocate(self):
        """Makes kedged's own srun one within an allocation, on whose first node it runs, as in examples/cluster/slurm.sbatch. Returns what ends it."""
        run("salloc", "--no-shell", "-N2", "-n4", env=self.environment)
        self.environment["SLURM_JOB_ID"] = run("squeue", "-h", "-o", "%i", env=self.environment).strip()

        def end():
            run("scancel", self.environment.pop("SLURM_JOB_ID"), env=self.environment)
            wait_for(lambda: self.idle() == 2, 60, "the end of the allocation")
        return end

    def start(self, *command):
        self.processes.append(Process(command, env=self.environment, log=self.folder / "slurm.log"))
        return self.processes[-1]

    def idle(self):
        return run("sinfo", "-h", "-N", "-o", "%t", env=self.environment).split().count("idle")

    def stop(self):
        for process in reversed(self.processes):
            process.kill()


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(dir=BIN.parent)
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.slurm = Slurm(cls.folder)
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.begin()

    def server(self, *arguments):
        folder = tempfile.mkdtemp(dir=self.folder)
        server = Kedged(folder, "--devices", "cpu", *arguments, env=self.slurm.environment)
        self.log = pathlib.Path(folder) / "kedged.log"
        self.addCleanup(server.stop)
        return server

    def cluster(self, ranks):
        server = self.server("--cluster-ranks", ranks, "--cluster-launcher", "srun")
        server.device = "cluster"
        return server

    def test_run_from_the_example(self):
        said, job = self.folder / "said", self.folder / "job.json"
        job.write_text(json.dumps({**VALIDATION, "device": "cluster"}))
        run("sbatch", "--wait", "--cpus-per-task=1", f"--output={said}", EXAMPLE / "slurm.sbatch", job,
            env={**self.slurm.environment, "PATH": f"{BIN}:{ENVIRONMENT['PATH']}", "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "client")})
        self.assertRegex(said.read_text(), r"4 ranks, driver srun(.|\n)*\naccuracy +0\.9")

    def test_give_the_results_of_one_worker(self):
        self.addCleanup(self.slurm.allocate())
        jobs = {"validation": VALIDATION, "forest": FIT, "ridge": SUMS["ridge"]}
        server = self.server()
        server.device = "cpu"
        alone = {name: outcome(server, job) for name, job in jobs.items()}
        self.assertTrue(alone["forest"][1])
        for ranks in (1, 2, 4):
            server = self.cluster(ranks)
            for name, job in jobs.items():
                with self.subTest(ranks=ranks, job=name):
                    self.assertEqual(outcome(server, job), alone[name], self.log.read_text()[-3000:])
            server.stop()

    def test_survive_the_death_of_a_rank(self):
        self.addCleanup(self.slurm.allocate())
        server = self.cluster(4)
        right = outcome(server, VALIDATION)
        ranks = self.ranks()
        self.assertEqual(sorted(map(host_of, ranks)), sorted(2 * [host_of("self"), host_of(self.slurm.holder)]))
        job = server.submit({**VALIDATION, "device": "cluster"})
        wait_for(lambda: server.job(job)["state"] == "running", 30, "the job's start")
        os.kill(ranks[-1], signal.SIGKILL)
        done = server.wait(job)
        self.assertEqual((done["state"], done["result"]["scores"]), ("succeeded", right[0]["scores"]), done)

    def ranks(self):
        hosts = {host_of("self"), host_of(self.slurm.holder)}
        return [rank for rank in group_of("kedge-ranks") if host_of(rank) in hosts]


def obstacle():
    """Why it cannot run here, or None."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=ENVIRONMENT["PATH"])]
    if SANITIZED or not (BIN / "libkedge_mpi.so").exists():
        return "no MPI here, or a sanitizer"
    if missing or os.geteuid() != 0:
        return f"needs root and {', '.join(missing) or 'namespaces'}"
    if subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True).returncode != 0:
        return "no namespaces here"
    return None


if __name__ == "__main__":
    if reason := obstacle():
        print(f"left out: {reason}")
    elif "KEDGE_NODE" not in os.environ:
        os.execvp("unshare", ["unshare", "--net", "--uts", "--mount", "env", "KEDGE_NODE=1", sys.executable, *sys.argv])
    else:
        unittest.main()
