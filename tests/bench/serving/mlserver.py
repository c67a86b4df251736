#!/usr/bin/env python3
"""MLServer beside kedged with the same scikit-learn models: 200 requests of the Open Inference Protocol to both, whose answers are compared, then latency and
rate of one row, in turns.

needs: pip install mlserver mlserver-sklearn; the programs of a build, and kedge_ask_load (-DKEDGE_BENCH=ON)
run:   KEDGE_BIN=build/release/bin python tests/bench/serving/mlserver.py [SECONDS [ROUNDS]]"""
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import joblib
import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "client" / "python" / "src")]
import kedge  # noqa: E402
from kedge_server import BIN, Kedged, Process, free_port, wait_for  # noqa: E402

MODELS = {"iris": (load_iris, LogisticRegression(max_iter=1000)), "digits": (load_digits, RandomForestClassifier(100, random_state=0))}
REQUESTS = 200


class Server:
    """One of the two, by its address."""

    def __init__(self, name, port):
        self.name, self.port = name, port
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path, body=None):
        self.line.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = self.line.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def load(self, path, body, clients, seconds):
        said = subprocess.run([BIN / "kedge_ask_load", "127.0.0.1", str(self.port), str(clients), seconds, path, "application/json", json.dumps(body)],
                              capture_output=True, text=True)
        if said.returncode:
            raise SystemExit(f"{self.name}: {said.stdout}{said.stderr}")
        return json.loads(said.stdout)


def mlserver(folder, fitted):
    """Its process and address, its models loaded. One process, as MLServer advises for models that answer in less than a hop."""
    port = free_port()
    settings = {"host": "127.0.0.1", "http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "parallel_workers": 0, "debug": False}
    (folder / "settings.json").write_text(json.dumps(settings))
    for name, model in fitted.items():
        (folder / name).mkdir()
        joblib.dump(model, folder / name / "model.joblib")
        (folder / name / "model-settings.json").write_text(json.dumps(
            {"name": name, "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": "./model.joblib", "version": "1"}}))
    process = Process([pathlib.Path(sys.executable).parent / "mlserver", "start", folder], log=folder / "log")

    def is_ready():
        try:
            return all(Server("", port).ask(f"/v2/models/{name}/ready")[0] == 200 for name in fitted)
        except OSError:
            if process.child.poll() is not None:
                raise SystemExit((folder / "log").read_text())
            return False

    wait_for(is_ready, 120, "MLServer's models")
    return process, Server("MLServer", port)


def requests(seed):
    """Requests of 1 to 16 rows as clients send them: each datatype that holds the numbers, flat and nested, one output or both."""
    r = np.random.default_rng(seed)
    names = list(MODELS)
    tables = {name: load().data for name, (load, _) in MODELS.items()}
    for number in range(REQUESTS):
        name = names[number % len(names)]
        kinds = ["FP64", "FP32"] + (["INT64", "INT32", "UINT8"] if name == "digits" else [])
        rows = tables[name][r.integers(0, len(tables[name]), int(r.integers(1, 17)))]
        kind = kinds[int(r.integers(len(kinds)))]
        data = rows.astype({"FP64": "f8", "FP32": "f4", "INT64": "i8", "INT32": "i4", "UINT8": "u1"}[kind])
        content = data.ravel().tolist() if r.integers(2) else data.tolist()
        body = {"id": str(number), "inputs": [{"name": "input", "shape": list(data.shape), "datatype": kind, "data": content}]}
        wanted = [["predict"], ["predict_proba"], ["predict", "predict_proba"]][int(r.integers(3))]
        body["outputs"] = [{"name": output} for output in wanted]
        yield name, body


def compare(servers):
    apart, asked = 0.0, 0
    for name, body in requests(0):
        answers = []
        for server in servers:
            status, answer = server.ask(f"/v2/models/{name}/infer", body)
            if status != 200:
                raise SystemExit(f"{server.name}, request {body['id']}: {status} {answer}")
            answers.append({one["name"]: np.array(one["data"], float).reshape(one["shape"][0], -1) for one in answer["outputs"]})
            if answer["id"] != body["id"] or list(answers[-1]) != [one["name"] for one in body["outputs"]]:
                raise SystemExit(f"{server.name}, request {body['id']}: answers {answer}")
        for output, found in answers[0].items():
            if found.shape != answers[1][output].shape:
                raise SystemExit(f"request {body['id']}: {output} has {found.shape} and {answers[1][output].shape} numbers")
            if output == "predict" and not (found == answers[1][output]).all():
                raise SystemExit(f"request {body['id']}: other classes")
            apart = max(apart, float(np.abs(found - answers[1][output]).max()))
        asked += 1
    print(f"{asked} requests: the same classes, probabilities {apart:.1e} apart", flush=True)


def measure(servers, seconds, rounds):
    for name, (load, _) in MODELS.items():
        row = load().data[:1]
        body = {"inputs": [{"name": "input", "shape": list(row.shape), "datatype": "FP64", "data": row.ravel().tolist()}]}
        for clients in (1, 64):
            found = {server.name: [] for server in servers}
            for _ in range(rounds):
                for server in servers:
                    found[server.name].append(server.load(f"/v2/models/{name}/infer", body, clients, seconds))
            for server, said in found.items():
                p50, p99, rate = (statistics.median(one[key] for one in said) for key in ("p50_ms", "p99_ms", "rows_per_s"))
                print(f"{name:8} {clients:3} clients  {server:9} p50 {p50:8.3f} ms  p99 {p99:8.3f} ms  {rate:9,.0f} rows/s", flush=True)


def main():
    seconds, rounds = sys.argv[1] if len(sys.argv) > 1 else "2", int(sys.argv[2]) if len(sys.argv) > 2 else 3
    fitted = {name: model.fit(*load(return_X_y=True)) for name, (load, model) in MODELS.items()}
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        for name in ("mlserver", "kedged"):
            (base / name).mkdir()
        own = Kedged(base / "kedged", "--devices", "cpu")
        process = None
        try:
            process, theirs = mlserver(base / "mlserver", fitted)
            session = kedge.connect(own.url)
            for name, model in fitted.items():
                session.registry.add(name, session.upload_model(kedge.export(model)))
            servers = [Server("Kedge", int(own.url.rsplit(":", 1)[1])), theirs]
            compare(servers)
            measure(servers, seconds, rounds)
        finally:
            own.stop()
            if process:
                process.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
