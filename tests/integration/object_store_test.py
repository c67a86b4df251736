"""hf:// addresses against a server that answers as the Hub's documentation says, and s3:// addresses against moto, which checks signatures: keys of the operator, wrong and expired ones, patterns, broken connections.
What needs moto (PyPI) is skipped where it is not installed."""
import hashlib
import http.server
import io
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, Kedged, Process, free_port, spec, wait_for  # noqa: E402

try:
    import boto3
    import moto
    MISSING = ""
except ImportError as error:
    MISSING = f"{error.name} is not installed"
# Before, moto checks the signature of a query that it has decoded: one with a slash or a space in it is never right.
DECODES = "" if MISSING or tuple(int(part) for part in moto.__version__.split(".")[:3] if part.isdigit()) >= (5, 2, 5) else f"moto {moto.__version__} decodes queries"

try:
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet
    NO_PARQUET = "" if (BIN / "kedge-arrow").exists() else "kedge-arrow is not built"
except ImportError:
    NO_PARQUET = "pyarrow is not installed"
FOREST = {"steps": [("RandomForestClassifier", {"n_estimators": 20, "random_state": 0})], "task": {"crossValidate": {"cv": 5, "shuffle": True, "randomState": 0}}}


def rows(first, n, kind="ab"):
    return "a,b,kind\n" + "".join(f"{i},{i % 7},{kind[i % 2]}\n" for i in range(first, first + n))


def parquet(text):
    """A table of CSV as a file of Parquet with several row groups."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(text.encode())), out, compression="zstd", row_group_size=16)
    return out.getvalue()


PARTS = [rows(0, 90), rows(90, 60, "bc"), rows(150, 70, "ca")]


def forest_of(server, url):
    """The job of `url`, which must have the scores of the same rows as CSV."""
    server.call("PUT", "/v1/datasets/parts.csv", "".join([PARTS[0], *(part.split("\n", 1)[1] for part in PARTS[1:])]).encode())
    job, same = server.run(spec({"url": {"url": url}}, **FOREST)), server.run(spec({"stored": "parts.csv"}, **FOREST))
    assert job["state"] == "succeeded", job.get("error")
    assert job["result"]["nSamples"] == 220 and len(job["result"]["scores"]["accuracy"]["perFold"]) == 5, job["result"]
    assert job["result"]["scores"] == same["result"]["scores"], (job["result"]["scores"], same["result"]["scores"])
    return job


class Cutter:
    """A proxy to a server that ends the first connections after so many bytes of the answer."""

    def __init__(self, port, cuts, after):
        self.target, self.cuts, self.after, self.requests = port, cuts, after, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client):
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65536)
                if not piece:
                    return
                head += piece
            self.requests.append(head.decode())
            server.sendall(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            cut, self.cuts = self.cuts > 0, self.cuts - 1
            left = self.after if cut else 1 << 40
            while left > 0 and (piece := server.recv(65536)):
                client.sendall(piece[:left])
                left -= len(piece)

    def close(self):
        self.listener.close()


def write_stores(path, *stores, mode=0o600):
    text = "".join("[[store]]\n" + "".join(f'{key} = "{value}"\n' for key, value in store.items()) for store in stores)
    path.write_text(text)
    path.chmod(mode)
    return path


@unittest.skipIf(MISSING, MISSING)
class Moto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.port = free_port()
        cls.moto = Process([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", cls.port], log=folder / "moto.log",
                           env={"INITIAL_NO_AUTH_ACTION_COUNT": "1000000"})
        cls.url = f"http://127.0.0.1:{cls.port}"
        wait_for(lambda: cls.answers(), 60, "moto")
        keys = {"region_name": "us-east-1", "endpoint_url": cls.url, "aws_access_key_id": "any", "aws_secret_access_key": "any"}
        iam, s3 = boto3.client("iam", **keys), boto3.client("s3", **keys)
        iam.create_user(UserName="kedge")
        iam.put_user_policy(UserName="kedge", PolicyName="read", PolicyDocument='{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", '
                            '"Action": "s3:*", "Resource": "*"}]}')
        key = iam.create_access_key(UserName="kedge")["AccessKey"]
        for bucket in ("data", "wrong", "expired"):
            s3.create_bucket(Bucket=f"kedge-{bucket}")
            s3.put_object(Bucket=f"kedge-{bucket}", Key="one.csv", Body=rows(0, 100).encode())
        for part in range(3):
            s3.put_object(Bucket="kedge-data", Key=f"many parts/part-{part}.csv", Body=rows(part * 40, 40, "abcd"[part:part + 2]).encode())
        for part, text in enumerate(PARTS if not NO_PARQUET else []):
            s3.put_object(Bucket="kedge-data", Key=f"forest/part-{part}.parquet", Body=parquet(text))
        s3.put_object(Bucket="kedge-data", Key="many parts/deeper/part-9.csv", Body=b"never read")
        s3.put_object(Bucket="kedge-data", Key="odd/part-0.csv", Body=rows(0, 40).encode())
        s3.put_object(Bucket="kedge-data", Key="odd/part-1.csv", Body=b"a,c,kind\n1,2,a\n")
        s3.put_object(Bucket="kedge-data", Key="large.csv", Body=rows(0, 60_000).encode())
        urllib.request.urlopen(urllib.request.Request(cls.url + "/moto-api/reset-auth", data=b"0", method="POST", headers={"Content-Type": "text/plain"})).read()
        cls.cutter = Cutter(cls.port, cuts=1, after=100_000)
        place, good = {"endpoint": cls.url}, {"access-key-id": key["AccessKeyId"], "secret-access-key": key["SecretAccessKey"]}
        stores = write_stores(folder / "stores.toml", {"prefix": "s3://kedge-", **place, **good},
                              {"prefix": "s3://kedge-wrong/", **place, "access-key-id": key["AccessKeyId"], "secret-access-key": "x" * 40},
                              {"prefix": "s3://kedge-expired/", **place, **good, "session-token": "ended"},
                              {"prefix": "s3://kedge-data/large", "endpoint": f"http://127.0.0.1:{cls.cutter.port}", **good})
        cls.server = Kedged(cls.folder.name, "--stores", stores)

    @classmethod
    def answers(cls):
        try:
            return urllib.request.urlopen(cls.url + "/moto-api/", timeout=1).status == 200
        except OSError:
            return False

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.cutter.close()
        cls.moto.stop()
        cls.folder.cleanup()

    def job(self, url, **more):
        return self.server.run(spec({"url": {"url": url, **more}}))

    def test_an_object_is_read_with_the_operators_keys(self):
        job = self.job("s3://kedge-data/one.csv")
        self.assertEqual(job["state"], "succeeded", job.get("error"))
        again = self.job("s3://kedge-data/one.csv")
        self.assertFalse(again["result"]["timings"].get("cold", False), "the store said that it is the same")

    def test_wrong_and_expired_keys_are_refused_in_words(self):
        for bucket in ("wrong", "expired"):
            job = self.job(f"s3://kedge-{bucket}/one.csv")
            self.assertEqual(job["state"], "failed")
            self.assertIn("the operator's keys for it are wrong, have expired", job["error"]["message"])

    def test_what_is_not_there(self):
        self.assertEqual(self.job("s3://kedge-data/none.csv")["error"]["code"], "DATASET_NOT_FOUND")
        self.assertEqual(self.job("s3://kedge-data/none-*.csv")["error"]["code"], "DATASET_NOT_FOUND")

    @unittest.skipIf(DECODES, DECODES)
    def test_a_pattern_is_one_table(self):
        self.server.call("PUT", "/v1/datasets/all.csv", ("a,b,kind\n" + "".join(
            rows(p * 40, 40, "abcd"[p:p + 2]).split("\n", 1)[1] for p in range(3))).encode())
        left, right = self.job("s3://kedge-data/many parts/part-*.csv"), self.server.run(spec({"stored": "all.csv"}))
        self.assertEqual(left["state"], "succeeded", left.get("error"))
        self.assertEqual(left["result"]["scores"], right["result"]["scores"])
        self.assertEqual(left["result"]["classes"], ["a", "b", "c", "d"])
        again = self.job("s3://kedge-data/many parts/part-*.csv")
        self.assertFalse(again["result"]["timings"].get("cold", False))

    @unittest.skipIf(DECODES, DECODES)
    def test_parts_of_other_columns_are_refused_by_name(self):
        job = self.job("s3://kedge-data/odd/part-*.csv")
        self.assertIn("part-1.csv: column 2 is 'c', in part-0.csv it is 'b'", job["error"]["message"])
        job = self.job("s3://kedge-data/odd/part-*.csv", sha256="0" * 64)
        self.assertIn("sha256 is of one file", job["error"]["message"])

    @unittest.skipIf(DECODES or NO_PARQUET, DECODES or NO_PARQUET)
    def test_parts_of_parquet_through_a_forest_of_five_folds(self):
        forest_of(self.server, "s3://kedge-data/forest/part-*.parquet")

    def test_a_broken_connection_goes_on_with_a_signed_range(self):
        job = self.job("s3://kedge-data/large.csv")
        self.assertEqual(job["state"], "succeeded", job.get("error"))
        ranged = [head for head in self.cutter.requests if "range: bytes=" in head.lower()]
        self.assertEqual(len(ranged), 1, self.cutter.requests)
        self.assertIn("AWS4-HMAC-SHA256", ranged[0])

    def test_addresses_that_are_none(self):
        for url in ("s3://kedge-data", "s3://kedge-data/", "s3:///one.csv", "s3://Not A Bucket/x"):
            reply = self.server.call("POST", "/v1/jobs", spec({"url": {"url": url}}))
            job = self.server.wait(reply.json()["id"]) if reply.status == 202 else None
            message = job["error"]["message"] if job else reply.json()["detail"]
            self.assertTrue("names no object" in message or "is no name of a bucket" in message, message)

    def test_no_answer_shows_a_key(self):
        self.job("s3://kedge-wrong/one.csv")
        text = (self.server.data_dir / "kedged.log").read_text() + self.server.call("GET", "/v1/jobs").body.decode()
        self.assertNotIn("x" * 40, text)


class Hub(http.server.BaseHTTPRequestHandler):
    """What the Hub's API answers for one data set: https://huggingface.co/docs/hub/api, as recorded of a small one."""

    COMMIT = "4ab9f2d5c1a1d9c4e6d7a20d5a8e2b3f0c9d1e77"
    FILES = {"default/train/0000.csv": rows(0, 60).encode(), "default/train/0001.csv": rows(60, 60, "bc").encode(), "README.md": b"read me"}
    asked, damaged = [], False

    def do_GET(self):
        type(self).asked.append(self.path)
        api = "/api/datasets/own/flowers"
        if self.path == f"{api}/revision/refs%2Fconvert%2Fparquet":
            return self.answer(json.dumps({"id": "own/flowers", "sha": self.COMMIT, "private": False, "siblings": []}).encode())
        if self.path.startswith(f"{api}/tree/{self.COMMIT}/default/"):
            folder = self.path.split(f"/tree/{self.COMMIT}/")[1] + "/"
            return self.answer(json.dumps([{"type": "directory", "oid": "1" * 40, "size": 0, "path": f"{folder}more"}] + [
                {"type": "file", "oid": f"{i}" * 40, "size": len(body), "path": path,
                 "lfs": {"oid": hashlib.sha256(b"" if self.damaged else body).hexdigest(), "size": len(body), "pointerSize": 129}}
                for i, (path, body) in enumerate(self.FILES.items()) if path.startswith(folder)]).encode())
        prefix = f"/datasets/own/flowers/resolve/{self.COMMIT}/"
        if self.path.startswith(prefix) and (body := self.FILES.get(self.path[len(prefix):])):
            return self.answer(body)
        self.send_error(404)

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class HubFiles(unittest.TestCase):
    URL = "hf://datasets/own/flowers@~parquet/default/train/*.csv"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=cls.hub.serve_forever, daemon=True).start()
        stores = write_stores(pathlib.Path(cls.folder.name) / "stores.toml", {"prefix": "hf://", "endpoint": f"http://127.0.0.1:{cls.hub.server_port}"})
        cls.server = Kedged(cls.folder.name, "--stores", stores)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.hub.shutdown()
        cls.hub.server_close()
        cls.folder.cleanup()

    def test_the_files_of_a_commit_are_one_table_with_their_checksums_compared(self):
        Hub.damaged = True
        failed = self.server.run(spec({"url": {"url": self.URL}}))
        self.assertEqual(failed["error"]["code"], "DATASET_CORRUPT", failed)
        Hub.damaged = False
        job = self.server.run(spec({"url": {"url": self.URL}}))
        self.assertEqual(job["state"], "succeeded", job.get("error"))
        self.assertEqual(job["result"]["nSamples"], 120)
        self.assertEqual(job["result"]["classes"], ["a", "b", "c"])
        events = self.server.call("GET", f"/v1/jobs/{job['id']}/events?follow=false").body.decode()
        self.assertIn(f"commit {Hub.COMMIT}", events)
        before = len([path for path in Hub.asked if "/resolve/" in path])
        again = self.server.run(spec({"url": {"url": self.URL}}))
        self.assertFalse(again["result"]["timings"].get("cold", False))
        self.assertEqual(len([path for path in Hub.asked if "/resolve/" in path]), before, "the commit is the same: nothing is fetched")

    @unittest.skipIf(NO_PARQUET, NO_PARQUET)
    def test_parquet_of_a_commit_through_a_forest_of_five_folds(self):
        Hub.FILES.update({f"default/all/{part:04}.parquet": parquet(text) for part, text in enumerate(PARTS)})
        job = forest_of(self.server, "hf://datasets/own/flowers@~parquet/default/all/*.parquet")
        events = self.server.call("GET", f"/v1/jobs/{job['id']}/events?follow=false").body.decode()
        self.assertIn(f"commit {Hub.COMMIT}", events)

    def test_what_is_not_there(self):
        for url in (self.URL.replace(".csv", ".parquet"), self.URL.replace("flowers", "trees")):
            self.assertEqual(self.server.run(spec({"url": {"url": url}}))["error"]["code"], "DATASET_NOT_FOUND")


class Stores(unittest.TestCase):
    def refused(self, text, mode=0o600):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "stores.toml"
            file.write_text(text)
            file.chmod(mode)
            ended = subprocess.run([BIN / "kedged", "--stores", file, "--data-dir", pathlib.Path(folder) / "state", "--listen", "127.0.0.1:0"],
                                   capture_output=True, text=True, timeout=60)
            self.assertNotEqual(ended.returncode, 0)
            return ended.stderr

    def test_a_file_that_is_wrong_ends_the_server_with_a_reason(self):
        store = '[[store]]\nprefix = "s3://data/"\n'
        self.assertIn("chmod 600", self.refused(store, 0o644))
        self.assertIn("there is no setting 'keys'", self.refused(store + 'keys = "x"\n'))
        self.assertIn("go together", self.refused(store + 'access-key-id = "x"\n'))
        self.assertIn("must begin with s3://, gs://, hf:// or sklearn://", self.refused('[[store]]\nprefix = "data"\n'))
        self.assertIn("endpoint", self.refused(store + 'endpoint = "minio"\n'))
        self.assertIn("must have [[store]] tables", self.refused("x = 1\n"))
        self.assertIn("line 1", self.refused("[[store\n"))


if __name__ == "__main__":
    unittest.main()
