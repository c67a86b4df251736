#!/usr/bin/env python3
"""The OpenAPI document against a running server: its examples by curl, and every operation by schemathesis where that is installed.

contract.toml in this folder says which requests may be refused although the document allows them, and why.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, spec

SCHEMATHESIS = os.environ.get("KEDGE_SCHEMATHESIS") or shutil.which("schemathesis") or str(ROOT / "build" / "contract" / "bin" / "schemathesis")
EXCEPTIONS = pathlib.Path(__file__).resolve().parent / "contract.toml"
CSV = b"a,b,label\n1,2,x\n2,1,y\n3,4,x\n4,3,y\n5,7,x\n"


class Contract:
    def __init__(self, server, token):
        self.server, self.token = server, token
        self.document = self.call("GET", "/openapi.json").json()

    def call(self, method, path, body=None, **headers):
        return self.server.call(method, path, body, {"Authorization": "Bearer " + self.token, **headers})

    def resolve(self, value):
        while isinstance(value, dict) and "$ref" in value:
            found = self.document
            for key in value["$ref"].removeprefix("#/").split("/"):
                found = found[key.replace("~1", "/")]
            value = found
        return value

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method.upper(), path, operation


def put_things_there(contract):
    """What the paths of the document name: a job, a model, an artifact, an upload."""
    fitted = contract.call("POST", "/v1/jobs?wait=60s", spec(steps=("StandardScaler", "KMeans"), task={"fit": {}})).json()
    model = fitted["result"]["model"]
    predicted = contract.call("POST", "/v1/jobs?wait=60s", {"dataset": {"builtin": "iris"}, "pipeline": [], "task": {"predict": {"model": model}}}).json()
    assert contract.call("POST", "/v1/registry/flowers/versions", {"model": model}).status == 201
    assert contract.call("PUT", "/v1/registry/flowers/aliases/champion", {"version": 1}).status == 200
    assert contract.call("PUT", "/v1/datasets/flowers", CSV, **{"Content-Type": "text/csv"}).status == 201
    return {"/v1/jobs": {"id": predicted["id"], "name": "predictions.npy"}, "/v1/models": {"id": model},
            "/v1/registry": {"name": "flowers", "version": "1", "alias": "champion"}, "/v2/": {"model": "flowers", "version": "1"},
            "/v1/datasets": {"name": "flowers"}, "/v1/estimators": {"name": "GaussianNB"}, "/v1/events": {"jobs": predicted["id"]}}


def example_of(parameter, known):
    for value in (parameter.get("example"), parameter.get("schema", {}).get("default")):
        if value is not None:
            return value if isinstance(value, str) else json.dumps(value)
    return known.get(parameter["name"])


def curl(contract, method, path, operation, known, content_type=None, body=None, number=0):
    """One operation as its document shows it; the status."""
    query, arguments = [], ["-H", "Authorization: Bearer " + contract.token]
    for parameter in map(contract.resolve, operation.get("parameters", [])):
        value = example_of(parameter, known)
        if value is None:
            assert not parameter.get("required"), f"{method} {path}: no example of {parameter['name']}"
        elif parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", value)
        elif parameter["in"] == "query":
            query.append(f"{parameter['name']}={value}")
        else:
            unique = f"-{number}" if parameter["name"] == "Idempotency-Key" else ""
            arguments += ["-H", f"{parameter['name']}: {value}{unique}"]
    if content_type:
        arguments += ["-H", f"Content-Type: {content_type}", "--data-binary", "@-"]
    run = subprocess.run(["curl", "-sS", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code} %{content_type}", "-X", method, *arguments,
                          contract.server.url + path + ("?" + "&".join(query) if query else "")], input=body, capture_output=True)
    assert run.returncode == 0, run.stderr
    status, _, kind = run.stdout.decode().partition(" ")
    return int(status), kind.split(";")[0]


def check_examples(contract, things):
    """Each call without a body, and each example of a body, is answered with a success, or the way to one, that the document names."""
    ran = 0
    for method, path, operation in contract.operations():
        known = next((names for prefix, names in things.items() if path.startswith(prefix)), {})
        bodies = [(kind, example["value"]) for kind, content in operation.get("requestBody", {}).get("content", {}).items()
                  for example in map(contract.resolve, content.get("examples", {}).values())]
        if method == "DELETE" or path.endswith("/cancel") or ("requestBody" in operation and not bodies) or operation["x-kedge-scope"] == "admin":
            continue   # what is needed later; bodies that are bytes; what this token may not
        for number, (kind, value) in enumerate(bodies or [(None, None)]):
            raw = value.encode() if isinstance(value, str) else json.dumps(value).encode() if value is not None else None
            status, answered = curl(contract, method, path, operation, known, kind, raw, number)
            assert 200 <= status < 400 and str(status) in operation["responses"], (method, path, kind, status, answered)
            assert status == 308 or answered in contract.resolve(operation["responses"][str(status)])["content"], (method, path, status, answered)
            ran += 1
    assert ran >= 20, ran


def check_headers_are_documented(contract):
    """Each header field that the server's sources read is in the document, or is HTTP's own, or what browsers add by themselves (Fetch)."""
    own = {"accept", "accept-encoding", "authorization", "content-length", "content-type", "host", "x-forwarded-for"}
    browsers = {"origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "access-control-request-method", "access-control-request-private-network"}
    named = {p["name"].lower() for _, _, operation in contract.operations() for p in map(contract.resolve, operation.get("parameters", [])) if p["in"] == "header"}
    read = set()
    for source in [*(ROOT / "server" / "api").glob("*.cc"), *(ROOT / "server" / "http").glob("*.cc"), *(ROOT / "server" / "auth").glob("*.cc")]:
        read |= {name.lower() for name in re.findall(r'\.field\("([^"]+)"\)', source.read_text())}
    assert {"traceparent", "range"} <= read, "the sources are read in another way now"
    assert not read - named - own - browsers, f"not in openapi.json: {sorted(read - named - own - browsers)}"
    assert "idempotency-key" in named


def check_with_schemathesis(contract, examples, phases):
    if not pathlib.Path(SCHEMATHESIS).exists():
        print("skipped: schemathesis is not installed (./run.sh contract does that), so only the examples have run")
        return
    folder = contract.server.data_dir
    run = subprocess.run([SCHEMATHESIS, "--no-color", "--config-file", EXCEPTIONS, "run", contract.server.url + "/openapi.json", "--url", contract.server.url, "-H", "Authorization: Bearer " + contract.token,
                          "-n", str(examples), "--phases", phases, "--seed", "1", "--request-timeout", "30",
                          "--generation-database", "none", "--continue-on-failure", "--warnings", "off"], capture_output=True, text=True, cwd=folder,
                         env={**os.environ, "PYTHONHASHSEED": "0"})
    assert run.returncode == 0, run.stdout[-12000:] + run.stderr[-3000:]
    print(run.stdout[run.stdout.rindex("SUMMARY"):])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5, help="invented requests for each operation and phase")
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([BIN / "kedged", "token", "create", "--data-dir", pathlib.Path(folder) / "state"], capture_output=True, text=True, check=True)
        server = None
        try:
            server = Kedged(folder, "--devices", "cpu")
            contract = Contract(server, made.stdout.strip())
            things = put_things_there(contract)
            check_headers_are_documented(contract)
            check_examples(contract, things)
            check_with_schemathesis(contract, arguments.examples, arguments.phases)
            assert server.child.poll() is None
        finally:
            if server:
                server.stop()
    print("ok")


if __name__ == "__main__":
    main()
