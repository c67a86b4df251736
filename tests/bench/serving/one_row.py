#!/usr/bin/env python3
"""Latency and rate of predictions of one row over HTTP: /v1/models/ID/predict and /v2 infer, one client and 64, for a small and a large model.

needs: the programs of a build, and kedge_ask_load (-DKEDGE_BENCH=ON)
run:   KEDGE_BIN=build/release/bin python3 tests/bench/serving/one_row.py [SECONDS]"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from kedge_server import BIN, Kedged  # noqa: E402

MODELS = {"LogisticRegression, iris": ({"builtin": "iris"}, "LogisticRegression", {}, 4),
          "RandomForestClassifier, 100 trees, digits": ({"builtin": "digits"}, "RandomForestClassifier", {"n_estimators": 100}, 64)}


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "3"
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, "--devices", "cpu")
        try:
            address = urllib.parse.urlsplit(server.url)
            for title, (dataset, estimator, params, width) in MODELS.items():
                job = server.run({"dataset": dataset, "pipeline": [{"estimator": estimator, "params": params}], "task": {"fit": {}}})
                model, row = job["result"]["model"], [float(i % 16) for i in range(width)]
                bodies = {f"/v1/models/{model}/predict": {"rows": [row]},
                          f"/v2/models/{model}/infer": {"inputs": [{"name": "input", "shape": [1, width], "datatype": "FP64", "data": row}]}}
                for path, body in bodies.items():
                    for clients in (1, 4, 64):
                        said = subprocess.run([BIN / "kedge_ask_load", address.hostname, str(address.port), str(clients), seconds, path, "application/json", json.dumps(body)],
                                              capture_output=True, text=True)
                        if said.returncode:
                            raise SystemExit(said.stdout + said.stderr)
                        time.sleep(1)   # what the clients have left behind is dropped
                        found = json.loads(said.stdout)
                        print(f"{title:44} {path.rsplit('/', 1)[1]:8} {clients:3} clients  p50 {found['p50_ms']:7.3f} ms  p99 {found['p99_ms']:7.3f} ms  {found['rows_per_s']:8,.0f} rows/s", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
