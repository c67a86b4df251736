"""What the tests about machines share: a kedge with a state of its own, and waiting for a condition."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build" / "dev" / "bin"))
SPEC = ROOT / "examples" / "iris.json"
PATIENCE_S = 60


def wait_until(condition, what, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {patience} s: {what}")


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class User:
    """A user with an empty home, and the kedge command."""

    def __init__(self, **environment):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KEDGE_", "AWS_"))}
        self.environment = {**kept, "HOME": str(self.home), "KEDGE_STATE_DIR": str(self.home / "state"),
                            "KEDGE_OWNER": f"t{os.getpid() % 100000}{int(time.time()) % 10000}", **environment}

    def start(self, *arguments, **options):
        return subprocess.Popen([BIN / "kedge", *map(str, arguments)], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **{"stdin": subprocess.DEVNULL, **options})

    def kedge(self, *arguments, code=0):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        if code is not None and process.returncode != code:
            raise AssertionError(f"kedge {' '.join(map(str, arguments))} ended with {process.returncode}, not {code}\n{out}\n{err}")
        return out, err

    def rows(self):
        return [json.loads(f.read_text()) for f in (self.home / "state" / "intents").glob("*.json")]

    def servers(self):
        """Processes of this user's machines, by the variable that tags them."""
        return self.processes("kedged")

    def agents(self):
        """`kedge host-agent`, but for the processes of its connections."""
        found = self.processes("kedge")
        return [process for process in found if int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1]) not in found]

    def processes(self, program):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                tagged = f"KEDGE_MACHINE=kedge-{self.environment['KEDGE_OWNER']}-".encode() in (process / "environ").read_bytes()
                if tagged and (process / "comm").read_text().strip() == program:
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def close(self):
        self.kedge("down", "--all", code=None)
        self.folder.cleanup()

    def stage(self, name):
        return [row for row in self.rows() if row["stage"] == name]


class KilledClients:
    """For a TestCase with `user`, `provider` and machines(): a client that is killed (SIGKILL) in each phase of each command leaves a machine that
    ends by its lease without help, and that gc ends earlier."""
    provider, idle_minutes = "", "0.05"

    def phases(self):
        return {"recorded": self.user.rows, "rented": self.machines, "running": lambda: self.user.stage("running")}

    def kill_when(self, reached, *command):
        process = self.user.start(*command)
        wait_until(lambda: reached() or process.poll() is not None, "the phase, or the end of the command")
        process.kill()
        process.communicate()

    def swept(self):
        # Of a launch that never came about the row stays until every list would have shown it.
        self.user.kedge("machines", "gc", code=None)
        return not self.machines() and not any(row["seen"] for row in self.user.rows())

    def expect_end_without_help(self):
        wait_until(lambda: not self.machines(), "the machine's own end")
        wait_until(self.swept, "the rows of what has ended")

    def test_killed_in_any_phase_of_up_the_machine_ends_without_help(self):
        for phase, reached in self.phases().items():
            with self.subTest(phase):
                self.kill_when(reached, "up", "--provider", self.provider, "--idle", self.idle_minutes)
                self.expect_end_without_help()

    def test_killed_in_any_phase_of_run_on_the_machine_ends_without_help(self):
        for phase, reached in self.phases().items():
            with self.subTest(phase):
                self.kill_when(reached, "run", "--on", self.provider, "--idle", self.idle_minutes, SPEC)
                self.expect_end_without_help()

    def test_killed_during_down_the_machine_ends_without_help(self):
        self.user.kedge("up", "--provider", self.provider, "--idle", self.idle_minutes)
        self.kill_when(lambda: self.user.stage("ending"), "down")
        self.expect_end_without_help()

    def test_killed_in_any_phase_gc_ends_the_machine_long_before_its_lease(self):
        for phase, reached in self.phases().items():
            with self.subTest(phase):
                self.kill_when(reached, "run", "--on", self.provider, SPEC)   # 15 minutes without use
                wait_until(self.swept, "the sweep")
