"""A server that a stranger can reach: certificates, tokens, tenants, uploads, metrics, with the real programs."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged, Process, Reply, read_port, wait_for  # noqa: E402

SPEC = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}],
        "task": {"crossValidate": {"cv": 3, "scoring": ["accuracy"]}}}


def kedged(*arguments, data):
    return subprocess.run([BIN / "kedged", *arguments, "--data-dir", data], capture_output=True, text=True, timeout=60)


def new_token(data, *arguments):
    made = kedged("token", "create", *arguments, data=data)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


class SecureServer(Process):
    """kedged with the certificate of `kedged init`, on a free port."""

    def __init__(self, folder, *arguments):
        self.folder, self.data = pathlib.Path(folder), pathlib.Path(folder) / "state"
        made = kedged("init", data=self.data)
        assert made.returncode == 0, made.stderr
        self.said = made.stdout
        self.admin = re.search(r"KEDGE_TOKEN=(\S+)", made.stdout).group(1)
        self.pin = re.search(r"KEDGE_PIN=(\S+)", made.stdout).group(1)
        self.certificate = self.data / "tls" / "cert.pem"
        super().__init__([BIN / "kedged", "--listen", "127.0.0.1:0", "--port-file", self.folder / "port", "--data-dir", self.data,
                          "--log-format", "json", *arguments], log=self.folder / "log")
        self.port = wait_for(lambda: read_port(self.folder / "port"), 20, "the port")
        self.url = f"https://localhost:{self.port}"

    def call(self, method, path, token=None, body=None, headers=None):
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})})
        if token:
            request.add_header("Authorization", "Bearer " + token)
        context = ssl.create_default_context(cafile=self.certificate)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        try:
            with opener.open(request, timeout=60) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read())

    def kedge(self, *arguments, **environment):
        env = {**os.environ, "KEDGE_URL": self.url, "KEDGE_TOKEN": self.admin, "KEDGE_PIN": self.pin, **environment}
        return subprocess.run([BIN / "kedge", *arguments], capture_output=True, text=True, timeout=120, env=env)


class Printed(unittest.TestCase):
    """What `kedged init` prints works as it stands."""

    def test_the_curl_line_reaches_the_server_with_that_key_and_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            server = SecureServer(folder)
            try:
                line = next(line for line in server.said.splitlines() if "--pinnedpubkey" in line).strip()
                environment = {**os.environ, "KEDGE_URL": server.url, "KEDGE_TOKEN": server.admin, "NO_PROXY": "*"}

                def run(command):
                    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=60)
                self.assertIn('"version"', run(line).stdout)
                head, pin = line.split("sha256//")
                another = ("b" if pin[0] == "a" else "a") + pin[1:]
                self.assertEqual(run(f"{head}sha256//{another}").returncode, 90)   # curl: the key is not the pinned one
            finally:
                server.stop()

    def test_init_says_how_to_start_the_server_unless_it_starts_now(self):
        with tempfile.TemporaryDirectory() as data:
            self.assertIn("Start the server:", kedged("init", data=data + "/a").stdout)
            started = kedged("init", "--starts-now", data=data + "/b").stdout
            self.assertNotIn("Start the server", started)
            self.assertIn("export KEDGE_PIN=", started)


class Listening(unittest.TestCase):
    def test_refuses_to_listen_beyond_loopback_without_tokens_and_says_how(self):
        with tempfile.TemporaryDirectory() as data:
            refused = kedged("--listen", "0.0.0.0:0", data=data)
            self.assertEqual(refused.returncode, 78)
            for word in ("kedged init", "kedged token create", "--tls-client-ca", "--insecure-listen"):
                self.assertIn(word, refused.stderr)

    def test_listens_beyond_loopback_with_a_token(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "state"
            token = new_token(data)
            server = Process([BIN / "kedged", "--listen", "0.0.0.0:0", "--port-file", folder + "/port", "--data-dir", data], log=folder + "/log")
            try:
                port = wait_for(lambda: read_port(pathlib.Path(folder) / "port"), 20, "the port")
                for given, status in ((None, 401), (token, 200)):
                    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/info")
                    if given:
                        request.add_header("Authorization", "Bearer " + given)
                    try:
                        self.assertEqual(urllib.request.urlopen(request, timeout=20).status, status)
                    except urllib.error.HTTPError as error:
                        self.assertEqual(error.code, status)
            finally:
                server.stop()


class Reloading(unittest.TestCase):
    def test_sighup_takes_all_limits_of_the_configuration_or_none(self):
        long_job = {"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 100_000}}],
                    "task": {"crossValidate": {"cv": 2}}}
        table = b"a,b\n1,2\n3,4\n"
        with tempfile.TemporaryDirectory() as folder:
            settings, log = pathlib.Path(folder) / "kedged.toml", pathlib.Path(folder) / "kedged.log"
            settings.write_text("")
            server = Kedged(folder, "--config", settings, "--devices", "cpu")

            def reload(text, said):
                before = log.read_text().count(said)
                settings.write_text(text)
                server.child.send_signal(signal.SIGHUP)
                wait_for(lambda: log.read_text().count(said) > before, 20, said)
            try:
                reload('run-deadline = "1s"\ntenant-jobs = 1\ntenant-bytes = 10\n', "limits were read again")
                job = server.submit(long_job)
                self.assertEqual(server.call("POST", "/v1/jobs", SPEC).status, 429)
                self.assertEqual(server.wait(job)["reason"], "DEADLINE_EXCEEDED")
                self.assertEqual(server.call("PUT", "/v1/datasets/a.csv", table).status, 429)
                for wrong in ('run-deadline = "soon"\n', "tenant-bytes = 0\nunknown = 1\n", "tenant-bytes = \n"):
                    reload(wrong, "its limits stay: ")
                    self.assertEqual(server.call("PUT", "/v1/datasets/a.csv", table).status, 429)
                self.assertEqual(server.run(long_job)["reason"], "DEADLINE_EXCEEDED")
                reload("keep-mib = 0\nkeep-jobs = 1\n", "limits were read again")
                self.assertEqual(server.call("PUT", "/v1/datasets/a.csv", table).status, 201)
                wait_for(lambda: server.call("GET", f"/v1/jobs/{job}").status == 404, 30, "the job to be forgotten")
            finally:
                server.stop()


class Secure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = SecureServer(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def test_runs_a_job_for_a_client_that_pins_the_certificate(self):
        spec = pathlib.Path(self.folder.name) / "spec.json"
        spec.write_text(json.dumps(SPEC))
        done = self.server.kedge("--json", "run", str(spec))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("accuracy", done.stdout)

    def test_is_not_trusted_with_another_pin_or_none(self):
        for environment in ({"KEDGE_PIN": "0" * 64}, {"KEDGE_PIN": ""}):
            refused = self.server.kedge("doctor", **environment)
            self.assertEqual(refused.returncode, 69)
            self.assertIn("KEDGE_PIN", refused.stderr)
            self.assertNotIn("is kedged running", refused.stderr)
            if environment["KEDGE_PIN"]:
                self.assertIn(f"has the SHA-256 {self.server.pin.replace(':', '').lower()}, but KEDGE_PIN is {'0' * 64}", refused.stderr)
        self.assertEqual(self.server.kedge("doctor", KEDGE_PIN="", KEDGE_CA=str(self.server.certificate)).returncode, 0)

    def test_answers_by_the_tokens_scopes(self):
        read = new_token(self.server.data, "--scopes", "read", "--tenant", "reader")
        wait_for(lambda: self.server.call("GET", "/v1/jobs", read).status == 200, 10, "the new token")
        self.assertEqual(self.server.call("GET", "/livez").status, 200)
        self.assertEqual(self.server.call("GET", "/v1/jobs").status, 401)
        self.assertEqual(self.server.call("POST", "/v1/jobs", read, SPEC).status, 403)
        self.assertEqual(self.server.call("POST", "/v1/jobs", self.server.admin, SPEC).status, 202)

    def test_ends_a_token_when_it_is_revoked(self):
        token = new_token(self.server.data, "--name", "short-lived")
        wait_for(lambda: self.server.call("GET", "/v1/info", token).status == 200, 10, "the new token")
        row = next(line for line in kedged("token", "list", data=self.server.data).stdout.splitlines() if "short-lived" in line)
        self.assertEqual(kedged("token", "revoke", row.split()[0], data=self.server.data).returncode, 0)
        wait_for(lambda: self.server.call("GET", "/v1/info", token).status == 401, 5, "the revocation")

    def test_keeps_tenants_apart(self):
        alice, bob = (new_token(self.server.data, "--tenant", name) for name in ("alice", "bob"))
        wait_for(lambda: self.server.call("GET", "/v1/info", bob).status == 200, 10, "the new tokens")
        job = self.server.call("POST", "/v1/jobs?wait=60s", alice, SPEC).json()["id"]
        self.assertEqual(self.server.call("GET", f"/v1/jobs/{job}", alice).status, 200)
        self.assertEqual(self.server.call("GET", f"/v1/jobs/{job}", bob).status, 404)
        self.assertEqual(self.server.call("GET", "/v1/jobs", bob).json()["jobs"], [])
        self.assertIn(job, [j["id"] for j in self.server.call("GET", "/v1/jobs", alice).json()["jobs"]])

    def test_keeps_the_models_of_tenants_apart(self):
        alice, bob = (new_token(self.server.data, "--tenant", name) for name in ("alice", "bob"))
        wait_for(lambda: self.server.call("GET", "/v1/info", bob).status == 200, 10, "the new tokens")
        fitted = self.server.call("POST", "/v1/jobs?wait=60s", alice, {**SPEC, "task": {"fit": {}}}).json()
        model, rows = fitted["result"]["model"], {"rows": [[5.1, 3.5, 1.4, 0.2]]}
        predict = {"dataset": {"builtin": "iris"}, "task": {"predict": {"model": model}}}
        calls = [("GET", f"/v1/models/{model}", None, 200), ("GET", f"/v1/models/{model}/download", None, 200),
                 ("POST", f"/v1/models/{model}/predict", rows, 200), ("POST", "/v1/jobs", predict, 202), ("DELETE", f"/v1/models/{model}", None, 204)]
        for method, path, body, _ in calls:
            refused = self.server.call(method, path, bob, body)
            self.assertEqual(refused.status, 404, (method, path, refused.body))
            self.assertIn(f"there is no model '{model}'", refused.json()["detail"])
        self.assertEqual(self.server.call("POST", "/v1/jobs", bob, predict).json()["where"], "task.predict.model")
        self.assertEqual(self.server.call("GET", "/v1/models", bob).json()["models"], [])
        self.assertIn(model, [m["id"] for m in self.server.call("GET", "/v1/models", alice).json()["models"]])
        self.assertEqual(self.server.call("POST", "/v1/jobs?wait=60s", self.server.admin, predict).json()["state"], "succeeded")   # an admin sees all
        for method, path, body, status in calls:
            self.assertEqual(self.server.call(method, path, alice, body).status, status, (method, path))

    def test_takes_a_new_certificate_without_a_failed_request(self):
        before = ssl.get_server_certificate(("127.0.0.1", self.server.port))
        old_key, old = (self.server.data / "tls" / "key.pem").read_text(), self.server.certificate.read_text()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=new",
                        "-keyout", self.server.data / "tls" / "key.pem", "-out", self.server.certificate], check=True, capture_output=True)
        open_context = ssl._create_unverified_context()
        held = open_context.wrap_socket(socket.create_connection(("127.0.0.1", self.server.port)))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(ssl.get_server_certificate, ("127.0.0.1", self.server.port)) for _ in range(40)]
            self.server.child.send_signal(signal.SIGHUP)
            seen = {call.result() for call in calls}   # a failed handshake raises
        wait_for(lambda: ssl.get_server_certificate(("127.0.0.1", self.server.port)) != before, 10, "the new certificate")
        self.assertLessEqual(len(seen), 2)
        held.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(held.recv(100).startswith(b"HTTP/1.1 200"))
        held.close()
        self.server.certificate.write_text(old), (self.server.data / "tls" / "key.pem").write_text(old_key)
        self.server.child.send_signal(signal.SIGHUP)
        wait_for(lambda: ssl.get_server_certificate(("127.0.0.1", self.server.port)) == before, 10, "the old certificate")

    def test_runs_a_job_on_an_upload(self):
        table = pathlib.Path(self.folder.name) / "flowers.csv"
        table.write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{'xy'[i % 7 > 3]}\n" for i in range(60)))
        done = self.server.kedge("datasets", str(table))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rows"], 60)
        self.assertIn("flowers.csv", self.server.kedge("datasets").stdout)
        job = self.server.call("POST", "/v1/jobs?wait=60s", self.server.admin, {**SPEC, "dataset": {"stored": "flowers.csv"}}).json()
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.server.kedge("datasets", "--delete", "flowers.csv").returncode, 0)
        self.assertEqual(self.server.call("GET", "/v1/datasets/flowers.csv", self.server.admin).status, 404)

    def test_takes_a_large_upload_in_little_memory(self):
        def private_kb():
            return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{self.server.child.pid}/status").read_text()).group(1))

        rows = 8_000_000
        table = pathlib.Path(self.folder.name) / "large.csv"
        with open(table, "w") as out:
            out.write("a,b,c\n")
            for _ in range(rows // 1000):
                out.write("1.25,2.5,1\n3.75,4.5,0\n" * 500)
        before = private_kb()
        done = self.server.kedge("datasets", str(table))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rows"], rows)
        if not SANITIZED:
            self.assertLess(private_kb() - before, 32 * 1024, "KiB more than before, for 88 MB")

    def test_counts_what_it_does(self):
        self.server.call("POST", "/v1/jobs?wait=60s", self.server.admin, SPEC)
        self.assertEqual(self.server.call("GET", "/metrics").status, 401)
        text = self.server.call("GET", "/metrics", self.server.admin).body.decode()
        self.assertRegex(text, r'kedge_http_requests_total\{route="/v1/jobs",method="POST",code="20[12]"\} [1-9]')
        self.assertRegex(text, r"kedge_jobs_submitted_total [1-9]")
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{.*\})? [-+0-9.e]+)$")

    def test_writes_one_json_object_a_line_and_no_secret(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.server.call("POST", "/v1/jobs", self.server.admin, SPEC, {"traceparent": trace})
        self.server.call("DELETE", "/v1/jobs/%0a%22%7b%1b[31m%ff", self.server.admin)
        log = pathlib.Path(self.folder.name) / "log"
        wait_for(lambda: "0af7651916cd43dd8448eb211c80319c" in log.read_text(), 10, "the line")
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            self.assertTrue({"time", "level", "message"} <= entry.keys(), line)
        secret = self.server.admin.encode()
        for file in self.server.data.rglob("*"):
            if file.is_file():
                self.assertNotIn(secret, file.read_bytes(), file)
        self.assertNotIn(secret, log.read_bytes())
        for name in ("cmdline", "environ"):
            self.assertNotIn(secret, pathlib.Path(f"/proc/{self.server.child.pid}/{name}").read_bytes())


if __name__ == "__main__":
    unittest.main()
