"""Starts kedged and the OpenML mirror for tests, on loopback, and talks to them. Standard library only."""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build" / "dev" / "bin"))
SHARED = pathlib.Path(os.environ.get("KEDGE_SHARED_DIR", ROOT.parent / "shared"))
FINAL = {"succeeded", "failed", "cancelled"}
SANITIZED = os.environ.get("KEDGE_SANITIZE", "")   # by which the programs are watched: no bound on their memory or time means anything


def wait_for(condition, seconds, what):
    """The first true value of condition(), asked often until the deadline."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {seconds} s")


def read_port(path):
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text else None


def free_port():
    """A port of 127.0.0.1 on which nothing listens, and which the system gives to no connection: those begin at 32768."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def text_of(file):
    """Of a file under /proc: empty where the process or thread has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


class Process:
    """A child that is ended by its id."""

    def __init__(self, arguments, env=None, log=None):
        with open(log or os.devnull, "ab") as out:
            self.child = subprocess.Popen([str(a) for a in arguments], stdout=out, stderr=out,
                                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})

    def kill(self):
        self.child.kill()
        self.child.wait()

    def stop(self, seconds=20):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return self.child.returncode


class Mirror(Process):
    """The OpenML mirror, if there is one: Mirror.available()."""

    SCRIPT = SHARED / "openml" / "serve.py"

    @classmethod
    def available(cls):
        return cls.SCRIPT.exists()

    def __init__(self, *arguments):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.request_log = folder / "requests"
        super().__init__([sys.executable, self.SCRIPT, "--port", 0, "--port-file", folder / "port",
                          "--log", self.request_log, *arguments])
        port = wait_for(lambda: read_port(folder / "port"), 20, "the mirror's port")
        self.url = f"http://127.0.0.1:{port}"

    def kill(self):
        super().kill()
        self.folder.cleanup()

    def requests(self):
        return [json.loads(line) for line in self.request_log.read_text().splitlines()] if self.request_log.exists() else []


class Reply:
    def __init__(self, status, headers, body, hidden=""):
        self.status, self.headers, self.body = status, headers, body
        # No error may tell where the server keeps its files. Every program of the tests asks this.
        assert not hidden or status < 400 or hidden.encode() not in body, f"a path of the server is shown: {body[:500]}"

    def json(self):
        return json.loads(self.body)


class Kedged(Process):
    """A server on a free port. The data directory stays when the process goes, so that restart() finds it."""

    listen = "127.0.0.1:0"

    def __init__(self, data_dir, *arguments, env=None, programs=BIN):
        self.data_dir, self.arguments, self.extra_env, self.programs = pathlib.Path(data_dir), arguments, env, pathlib.Path(programs)
        self.start()

    def start(self):
        port_file = self.data_dir / "port"
        port_file.unlink(missing_ok=True)
        super().__init__([self.programs / "kedged", "--listen", self.listen, "--port-file", port_file,
                          "--data-dir", self.data_dir / "state", *self.arguments],
                         env=self.extra_env, log=self.data_dir / "kedged.log")

        def ready():
            assert self.child.poll() is None, f"kedged ended with {self.child.returncode}: {(self.data_dir / 'kedged.log').read_text()[-2000:]}"
            return read_port(port_file)

        try:
            self.url = f"http://127.0.0.1:{wait_for(ready, 90, 'the port of kedged')}"
            wait_for(lambda: self.call("GET", "/readyz").status == 200, 90, "readyz")
        except BaseException:   # nothing else would end it
            self.kill()
            raise

    def call(self, method, path, body=None, headers=None, timeout=120):
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json", **(headers or {})})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read(), str(self.data_dir))

    def submit(self, spec):
        reply = self.call("POST", "/v1/jobs", spec)
        assert reply.status == 202, (reply.status, reply.body)
        return reply.json()["id"]

    def job(self, job_id):
        return self.call("GET", f"/v1/jobs/{job_id}").json()

    def wait(self, job_id, seconds=300):
        return wait_for(lambda: (lambda j: j if j["state"] in FINAL else None)(
            self.call("GET", f"/v1/jobs/{job_id}?wait=10s").json()), seconds, job_id)

    def run(self, spec, seconds=300):
        return self.wait(self.submit(spec), seconds)

    def workers(self):
        """Process ids of the workers of kedged; what lists the devices for it is none."""
        found = [int(pid) for task in pathlib.Path(f"/proc/{self.child.pid}/task").iterdir() for pid in text_of(task / "children").split()]
        lines = {pid: text_of(pathlib.Path(f"/proc/{pid}/cmdline")) for pid in found}
        return [pid for pid, line in lines.items() if "kedge-worker" in line and "--list-devices" not in line]


def spec(dataset=None, steps=("GaussianNB",), task=None, **more):
    """A small job; steps are names or (name, params)."""
    pipeline = [{"estimator": s} if isinstance(s, str) else {"estimator": s[0], "params": s[1]} for s in steps]
    return {"dataset": dataset or {"builtin": "iris"}, "pipeline": pipeline,
            "task": task or {"crossValidate": {"cv": 5}}, **more}
