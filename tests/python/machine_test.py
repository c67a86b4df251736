"""kedge.machine(): what is rented is given back, however its block ends. The machines are processes here."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "provisioning")]
from machine import BIN, ROOT, User, wait_until  # noqa: E402

USE = """
import sys, time
import kedge
with kedge.machine(provider="local", idle="30s") as session:
    print(session.url, flush=True)
    {body}
print("after the block", flush=True)
"""
RUN = 'print(session.run(kedge.builtin("iris"), ["GaussianNB"], kedge.cross_validate(cv=3)).mean("accuracy"))'


class Machines(unittest.TestCase):
    def setUp(self):
        self.user = User()
        self.addCleanup(self.user.close)
        sources = {} if os.environ.get("KEDGE_INSTALLED") else {"PYTHONPATH": str(ROOT / "client" / "python" / "src")}
        self.user.environment.update(sources, KEDGE_BIN=str(BIN))

    def start(self, program):
        return subprocess.Popen([sys.executable, "-c", program], env=self.user.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))   # a test in the background inherits that it is ignored

    def run_python(self, program, code=0):
        process = self.start(program)
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def nothing_is_left(self):
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_a_job_runs_there_and_nothing_is_left(self):
        out, err = self.run_python(USE.format(body=RUN + "; assert kedge.connect().url == session.url"))
        self.assertRegex(out, r"^https://127.0.0.1:\d+\n0\.9\d+\nafter the block\n$")
        for phase in ("offers", "launch", "boot", "start", "USD/h", ": ended after"):
            self.assertIn(phase, err)
        self.nothing_is_left()

    def test_an_exception_passes_and_the_machine_is_given_back(self):
        _, err = self.run_python(USE.format(body="raise RuntimeError('of the block')"), code=1)
        self.assertIn("RuntimeError: of the block", err)
        self.assertIn(": ended after", err)
        self.nothing_is_left()

    def test_after_ctrl_c_in_the_block_it_is_given_back(self):
        process = self.start(USE.format(body="time.sleep(600)"))
        self.assertIn("https://", process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertIn("KeyboardInterrupt", err)
        self.assertNotIn("after the block", out)
        self.nothing_is_left()

    def test_after_ctrl_c_while_it_is_rented_it_is_given_back(self):
        process = self.start(USE.format(body="time.sleep(600)"))
        wait_until(self.user.rows, "an intent")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
        self.assertIn("KeyboardInterrupt", err)
        self.nothing_is_left()

    def test_ctrl_c_while_it_is_given_back_is_kept_for_afterwards(self):
        process = self.start(USE.format(body="pass"))
        wait_until(lambda: self.user.stage("ending") or process.poll() is not None, "the end of the block")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
        self.nothing_is_left()

    def test_where_nothing_fits_the_reason_is_raised(self):
        program = "import kedge\nwith kedge.machine({}, provider='local'): pass"
        self.assertIn("no provider offers a GPU 'H900'", self.run_python(program.format("'H900'"), code=1)[1])
        self.assertIn("region is here, not eu", self.run_python(program.format("region='eu'"), code=1)[1])
        self.assertIn("--max-price: -1", self.run_python(program.format("max_price=-1"), code=1)[1])
        self.nothing_is_left()

    def test_the_server_that_was_chosen_before_is_chosen_again(self):
        config = self.user.home / ".config" / "kedge"
        config.mkdir(parents=True)
        (config / "servers.json").write_text('{"servers": [{"name": "lab", "url": "http://127.0.0.1:1"}]}')
        (config / "servers.json").chmod(0o600)
        self.user.kedge("use", "lab")
        self.run_python(USE.format(body="assert kedge.connect().url == session.url"))
        self.assertEqual((self.user.home / "state" / "current").read_text().strip(), "server:lab")


if __name__ == "__main__":
    unittest.main()
