#!/usr/bin/env python3
"""What HTTP promises, by curl against a real server: HEAD, OPTIONS, 405, codings, ranges, hosts, traces, digests of models."""
import base64
import gzip
import hashlib
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged, spec, wait_for  # noqa: E402

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"
FIT = spec(steps=("StandardScaler", "GaussianNB"), task={"fit": {}})


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.fields = {}
        for name, value in (line.split(": ", 1) for line in lines[1:]):
            assert name.lower() not in self.fields, f"{name} comes twice"
            self.fields[name.lower()] = value

    def problem(self):
        assert self.fields["content-type"] == "application/problem+json", self.fields
        return json.loads(self.body)


def curl(*arguments):
    # --raw: what curl would decode is looked at as it came
    run = subprocess.run(["curl", "-sS", "-i", "--raw", "--max-time", "60", *map(str, arguments)], capture_output=True)
    assert run.returncode == 0, run.stderr
    return Answer(run.stdout)


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--devices", "cpu", "--log-format", "json")
        cls.fitted = cls.server.run(FIT)
        cls.model = cls.fitted["result"]["model"]
        job = cls.server.run({"dataset": {"builtin": "iris"}, "pipeline": [], "task": {"predict": {"model": cls.model}}})
        cls.artifact = f"/v1/jobs/{job['id']}/artifacts/predictions.npy"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def curl(self, path, *arguments):
        return curl(*arguments, self.server.url + path)

    def log(self):
        return (pathlib.Path(self.folder.name) / "kedged.log").read_text()

    def test_head_is_get_without_the_body(self):
        for path in ("/", "/livez", "/v1/info", "/v1/estimators", "/v1/jobs", self.artifact, f"/v1/models/{self.model}/download", "/nothing"):
            get, head = self.curl(path), self.curl(path, "-I")
            self.assertEqual((head.status, head.body), (get.status, b""), path)
            same = {"date", "x-request-id"}
            self.assertEqual({k: v for k, v in get.fields.items() if k not in same and k != "content-length"},
                             {k: v for k, v in head.fields.items() if k not in same and k != "content-length"}, path)
            if path != "/nothing":   # whose text has the request's id
                self.assertEqual(int(head.fields["content-length"]), len(get.body), path)

    def test_head_of_an_event_stream_ends(self):
        answer = self.curl(f"/v1/jobs/{self.fitted['id']}/events", "-I")
        self.assertEqual((answer.status, answer.fields["content-type"]), (200, "text/event-stream"))

    def test_options_and_405_tell_what_is_offered(self):
        for path, allow in (("/v1/jobs", "POST, GET, HEAD, OPTIONS"), ("/livez", "GET, HEAD, OPTIONS"), (f"/v1/models/{self.model}", "GET, HEAD, DELETE, OPTIONS")):
            options = self.curl(path, "-X", "OPTIONS")
            self.assertEqual((options.status, options.fields["allow"], options.body), (204, allow, b""))
            refused = self.curl(path, "-X", "PATCH")
            self.assertEqual((refused.status, refused.fields["allow"]), (405, allow))
            self.assertEqual(refused.problem()["code"], "METHOD_NOT_ALLOWED")
        everything = self.curl("", "-X", "OPTIONS", "--request-target", "*")
        self.assertEqual((everything.status, everything.fields["allow"]), (204, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"))
        self.assertEqual(self.curl("/nothing", "-X", "OPTIONS").status, 404)

    def test_codings_are_as_the_client_wants_them(self):
        plain = self.curl("/v1/estimators")
        self.assertNotIn("content-encoding", plain.fields)
        self.assertEqual(plain.fields["vary"], "Accept-Encoding")
        zipped = self.curl("/v1/estimators", "-H", "Accept-Encoding: gzip")
        self.assertEqual(zipped.fields["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(zipped.body), plain.body)
        small = self.curl("/v1/estimators", "-H", "Accept-Encoding: gzip;q=0.5, zstd")
        self.assertEqual(small.fields["content-encoding"], "zstd")
        if shutil.which("zstd"):
            self.assertEqual(subprocess.run(["zstd", "-dc"], input=small.body, capture_output=True, check=True).stdout, plain.body)
        for refused in ("identity", "zstd;q=0, gzip;q=0", "br"):
            self.assertEqual(self.curl("/v1/estimators", "-H", f"Accept-Encoding: {refused}").body, plain.body)
        self.assertNotIn("content-encoding", self.curl(self.artifact, "-H", "Accept-Encoding: gzip", "-r", "0-9").fields)

    def test_ranges_are_parts_of_the_file(self):
        for path in (self.artifact, f"/v1/models/{self.model}/download"):
            whole = self.curl(path)
            size = len(whole.body)
            self.assertEqual((whole.status, whole.fields["accept-ranges"]), (200, "bytes"))
            for text, first, last in (("0-9", 0, 9), ("10-", 10, size - 1), ("-7", size - 7, size - 1), (f"5-{size + 99}", 5, size - 1), (f"-{size + 9}", 0, size - 1)):
                part = self.curl(path, "-r", text)
                self.assertEqual((part.status, part.fields["content-range"]), (206, f"bytes {first}-{last}/{size}"), text)
                self.assertEqual(part.body, whole.body[first:last + 1], text)
            for text in (f"{size}-", "-0"):
                beyond = self.curl(path, "-r", text)
                self.assertEqual((beyond.status, beyond.fields["content-range"]), (416, f"bytes */{size}"), text)
                self.assertEqual((beyond.problem()["where"], beyond.problem()["errors"][0]["pointer"]), ("Range", "/Range"))
            for text in ("bytes=9-5", "bytes=x", "lines=1-2", "bytes=0-1,3-4", "bytes=", "bytes=-"):
                self.assertEqual(self.curl(path, "-H", f"Range: {text}").body, whole.body, text)

    def test_a_large_file_is_streamed_with_its_length(self):
        digits = {"builtin": "mnist_10k"}
        fitted = self.server.run({"dataset": digits, "pipeline": [{"estimator": "StandardScaler"}], "task": {"fit": {}}})
        job = self.server.run({"dataset": digits, "pipeline": [], "task": {"transform": {"model": fitted["result"]["model"]}}})
        artifact = job["result"]["artifacts"][0]
        path = f"/v1/jobs/{job['id']}/artifacts/{artifact['name']}"
        self.assertGreater(artifact["bytes"], 8 << 20, "else it is not streamed")
        whole = self.curl(path)
        for answer in (whole, self.curl(path, "-I")):
            self.assertEqual(int(answer.fields["content-length"]), artifact["bytes"])
            self.assertNotIn("transfer-encoding", answer.fields)
        self.assertEqual(len(whole.body), artifact["bytes"])
        tail = self.curl(path, "-r", f"{artifact['bytes'] - 100}-")
        self.assertEqual((tail.status, tail.body), (206, whole.body[-100:]))
        again = curl(self.server.url + path, "--next", "-sS", "-i", "--raw", self.server.url + "/livez").body   # on the same connection
        self.assertTrue(again.endswith(b'{"status":"ok"}\n'), again[-200:])

    def test_entity_tags_tell_whether_a_part_still_fits(self):
        etag = self.curl(self.artifact, "-I").fields["etag"]
        same = self.curl(self.artifact, "-H", f"If-None-Match: {etag}")
        self.assertEqual((same.status, same.body, same.fields["etag"]), (304, b"", etag))
        self.assertEqual(self.curl(self.artifact, "-H", 'If-None-Match: "other"').status, 200)
        self.assertEqual(self.curl(self.artifact, "-r", "0-3", "-H", f"If-Range: {etag}").status, 206)
        self.assertEqual(self.curl(self.artifact, "-r", "0-3", "-H", 'If-Range: "other"').status, 200)

    def test_an_interrupted_download_continues(self):
        whole = self.curl(self.artifact).body
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "predictions.npy"
            file.write_bytes(whole[:1000])
            subprocess.run(["curl", "-fsS", "-C", "-", "-o", file, self.server.url + self.artifact], check=True)
            self.assertEqual(file.read_bytes(), whole)

    def test_only_names_of_this_machine_are_answered(self):
        for host in ("localhost", "127.0.0.1:80", "[::1]"):
            self.assertEqual(self.curl("/livez", "-H", f"Host: {host}").status, 200, host)
        for path in ("/livez", "/v1/jobs", "/nothing"):
            refused = self.curl(path, "-H", "Host: evil.example")
            self.assertEqual((refused.status, refused.problem()["where"]), (421, "Host"))
        self.assertEqual(self.curl("/v1/jobs", "-H", "Host: evil.example", "--json", json.dumps(FIT)).status, 421)

    def test_further_names_are_configured(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--allowed-host", "gpu.example,*.lab.example")
            try:
                for host, status in (("gpu.example", 200), ("a.lab.example:1", 200), ("localhost", 200), ("evil.example", 421)):
                    self.assertEqual(curl("-H", f"Host: {host}", server.url + "/livez").status, status, host)
            finally:
                server.stop()
        wrong = subprocess.run([BIN / "kedged", "--listen", "127.0.0.1:0", "--data-dir", self.folder.name + "/other", "--allowed-host", "http://a"],
                               capture_output=True, text=True, timeout=20)
        self.assertEqual(wrong.returncode, 78)
        self.assertIn("allowed-host is 'http://a'", wrong.stderr)

    def test_a_waiting_client_gets_what_others_read(self):
        wrong = spec(steps=("PCA",), task={"fit": {}})
        wrong["pipeline"][0]["params"] = {"n_components": 900}   # more than there are columns, which only the run sees
        for job, state in ((FIT, "succeeded"), (wrong, "failed")):
            for headers in ({}, {"Idempotency-Key": "once-" + state}, {"Idempotency-Key": "once-" + state}):
                told = self.server.call("POST", "/v1/jobs?wait=60s", job, headers).json()
                self.assertEqual(told["state"], state)
                self.assertEqual(told, self.server.call("GET", "/v1/jobs/" + told["id"]).json())

    def test_a_trace_goes_from_the_request_to_the_worker(self):
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        answer = self.curl("/v1/jobs?wait=60s", "--json", json.dumps(FIT), "-H", f"traceparent: 00-{trace}-b7ad6b7169203331-01")
        job = json.loads(answer.body)["id"]
        events = [json.loads(line) for line in self.curl(f"/v1/jobs/{job}/events", "-H", "Accept: application/x-ndjson", "").body.splitlines() if line.startswith(b"{")]
        self.assertEqual({event["traceId"] for event in events}, {trace})
        lines = lambda: [entry for entry in map(json.loads, self.log().splitlines()) if entry.get("trace_id") == trace]
        said = wait_for(lambda: (lambda found: found if len(found) >= 2 else None)(lines()), 10, "two lines")
        self.assertEqual(sorted(entry["message"] for entry in said), ["job", "request"])
        self.assertEqual({entry["job_id"] for entry in said}, {job})
        end = next(entry for entry in said if entry["message"] == "job")
        self.assertEqual((end["state"], end["device"]), ("succeeded", "cpu"))
        self.assertLessEqual(float(end["run_seconds"]) + float(end["queued_seconds"]), float(end["seconds"]))

    def test_the_worker_logs_its_runs_when_debugging(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--log-format", "json", "--log-level", "debug")
            try:
                job = server.call("POST", "/v1/jobs?wait=60s", FIT, {"traceparent": TRACEPARENT}).json()["id"]
                of_it = lambda: {e["message"] for e in map(json.loads, (server.data_dir / "kedged.log").read_text().splitlines()) if e.get("trace_id") == TRACE_ID and e.get("job_id") == job}
                wait_for(lambda: {"job", "request", "run begins", "run ends"} <= of_it(), 10, "the lines of a run")
            finally:
                server.stop()

    def test_a_trace_goes_along_with_downloads(self):
        heads = []

        class Origin(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                heads.append(self.headers["traceparent"])
                body = b"a,b,label\n" + b"1,2,x\n3,4,y\n" * 20
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass
        origin = http.server.HTTPServer(("127.0.0.1", 0), Origin)
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu", "--allow-fetch", "127.0.0.1")
            try:
                job = {**FIT, "dataset": {"url": {"url": f"http://127.0.0.1:{origin.server_port}/t.csv", "format": "csv", "target": "label"}}}
                self.assertEqual(server.call("POST", "/v1/jobs?wait=60s", job, {"traceparent": TRACEPARENT}).json()["state"], "succeeded")
            finally:
                server.stop()
                origin.shutdown()
                origin.server_close()
        self.assertEqual(len(heads), 1)
        self.assertRegex(heads[0], f"^00-{TRACE_ID}-[0-9a-f]{{16}}-01$")
        self.assertNotEqual(heads[0], TRACEPARENT, "the request has an id of its own")

    def test_a_trace_survives_a_restart_of_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--devices", "cpu")
            try:
                job = server.call("POST", "/v1/jobs?wait=60s", FIT, {"traceparent": TRACEPARENT}).json()["id"]
                server.kill()
                server.start()
                body = server.call("GET", f"/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"}).body
                self.assertEqual(json.loads(body.splitlines()[0])["traceId"], TRACE_ID)
            finally:
                server.stop()

    def test_a_bad_trace_is_replaced(self):
        for bad in ("", "00-0-0-01", f"ff-{TRACE_ID}-b7ad6b7169203331-01", f"00-{'0' * 32}-b7ad6b7169203331-01", "\"}\n"):
            job = self.server.call("POST", "/v1/jobs?wait=60s", FIT, {"traceparent": bad.replace("\n", "")}).json()["id"]
            body = self.server.call("GET", f"/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"}).body
            self.assertRegex(json.loads(body.splitlines()[0])["traceId"], "^[0-9a-f]{32}$")

    def test_models_have_the_digest_of_their_file(self):
        file = self.curl(f"/v1/models/{self.model}/download")
        digest = hashlib.sha256(file.body)
        self.assertEqual(json.loads(self.curl(f"/v1/models/{self.model}").body)["sha256"], digest.hexdigest())
        field = f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        self.assertEqual(file.fields["repr-digest"], field)
        with tempfile.NamedTemporaryFile() as copy:
            pathlib.Path(copy.name).write_bytes(file.body)
            upload = ("-H", "Content-Type: application/vnd.kedge.model", "--data-binary", f"@{copy.name}")
            stored = self.curl("/v1/models", *upload, "-H", f"Content-Digest: {field}")
            self.assertEqual((stored.status, json.loads(stored.body)["sha256"]), (201, digest.hexdigest()))
            other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
            refused = self.curl("/v1/models", *upload, "-H", f"Content-Digest: sha-256=:{other}:")
            self.assertEqual((refused.status, refused.problem()["where"]), (400, "Content-Digest"))
            self.assertEqual(self.curl("/v1/models", *upload, "-H", "Content-Digest: md5=:x:").status, 201)

    def test_a_model_that_has_changed_on_disk_is_not_used(self):
        model = self.server.run(FIT)["result"]["model"]
        path = self.server.data_dir / "state" / "models" / f"{model}.kedge"
        rows = json.dumps({"rows": [[5.1, 3.5, 1.4, 0.2]]})
        self.assertEqual(self.curl(f"/v1/models/{model}/predict", "--json", rows).status, 200)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)
        refused = self.curl(f"/v1/models/{model}/predict", "--json", rows)
        self.assertEqual((refused.status, refused.problem()["code"]), (422, "MODEL_CORRUPT"))
        self.assertIn("has changed since it was stored", refused.problem()["detail"])
        job = self.server.run({"dataset": {"builtin": "iris"}, "pipeline": [], "task": {"predict": {"model": model}}})
        self.assertEqual((job["state"], job["reason"]), ("failed", "MODEL_CORRUPT"))

    # Of jobs that are refused when all is there: one that runs has its data mapped for the checksum, and such pages count, too.
    def test_a_job_with_200_mib_of_data_needs_a_few_mib_more_memory(self):
        def peak_kib():
            return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{self.server.child.pid}/status").read_text()).group(1))

        folder, rows, columns = pathlib.Path(self.folder.name), (200 << 20) // 64, 16
        job, table = folder / "job.json", folder / "large.npy"
        job.write_text(json.dumps(spec(dataset={"stored": "data"}, steps=("Nothing",), task={"fit": {}})))
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117).encode() + b"\n"
        with open(table, "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
            out.truncate(out.tell() + 4 * rows * columns)
        pathlib.Path(f"/proc/{self.server.child.pid}/clear_refs").write_text("5")   # the peak counts from here
        before = peak_kib()
        for parts in (("-F", f"spec=@{job}", "-F", f"data=@{table}"), ("-F", f"data=@{table}", "-F", f"spec=@{job}")):
            refused = self.curl("/v1/jobs", "-H", "Expect:", *parts)
            self.assertEqual((refused.status, refused.problem()["code"]), (400, "UNKNOWN_ESTIMATOR"))
        if not SANITIZED:
            self.assertLess(peak_kib() - before, 12 * 1024, "KiB")
        def left():
            return [file for file in (self.server.data_dir / "state" / "datasets").rglob("*") if "stored" in file.name or "upload-" in file.name]

        wait_for(lambda: not left(), 20, "the removal of the data, which comes after the answer")

    def test_a_job_may_bring_its_data(self):
        job, table = (pathlib.Path(self.folder.name) / name for name in ("job.json", "table.csv"))
        job.write_text(json.dumps(spec(dataset={"stored": "data"}, task={"fit": {}})))
        table.write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{'xy'[i % 7 > 3]}\n" for i in range(60)))
        done = self.curl("/v1/jobs?wait=60s", "-H", "Expect:", "-F", f"data=@{table}", "-F", f"spec=@{job}")
        self.assertEqual((done.status, json.loads(done.body)["state"]), (201, "succeeded"), done.body)
        for upload in json.loads(self.curl("/v1/datasets").body)["datasets"]:
            self.assertEqual(self.curl(f"/v1/datasets/{upload['name']}", "-X", "DELETE").status, 204)

    def test_what_is_bad_is_named(self):
        for field, value in (("Idempotency-Key", "a b"), ("Idempotency-Key", "x" * 300)):
            refused = self.curl("/v1/jobs", "--json", json.dumps(FIT), "-H", f"{field}: {value}")
            self.assertEqual((refused.status, refused.problem()["where"]), (400, field))
        refused = self.curl(f"/v1/jobs/{self.fitted['id']}/events", "-H", "Last-Event-ID: x")
        self.assertEqual((refused.status, refused.problem()["where"]), (400, "Last-Event-ID"))
        for status, field, path in ((406, "Accept", "/v1/info"), (406, "Accept", f"/v1/models/{self.model}/predict"),
                                    (415, "Content-Type", "/v1/jobs"), (415, "Content-Type", f"/v1/models/{self.model}/predict")):
            body = () if path == "/v1/info" else ("--data-binary", "{}", "-H", "Content-Type: application/json") if field == "Accept" else ("--data-binary", "{}")
            refused = self.curl(path, *body, "-H", f"{field}: image/png")
            self.assertEqual((refused.status, refused.problem()["where"]), (status, field), path)
        for output in ("", "guess", "transform"):
            refused = self.curl(f"/v1/models/{self.model}/predict?output={output}", "--json", '{"rows": [[1, 2, 3, 4]]}')
            self.assertEqual((refused.status, refused.problem()["where"]), (400, "output"), output)
        key = ("-H", "Idempotency-Key: one")
        first, again = (self.curl("/v1/jobs", "--json", json.dumps(FIT), *key) for _ in range(2))
        self.assertEqual(json.loads(first.body)["id"], json.loads(again.body)["id"])
        other = self.curl("/v1/jobs", "--json", json.dumps(spec()), *key)
        self.assertEqual((other.status, other.problem()["where"]), (422, "Idempotency-Key"))


if __name__ == "__main__":
    unittest.main()
