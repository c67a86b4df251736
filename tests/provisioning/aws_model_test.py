"""Every request of the aws provider, recorded between it and moto, fits botocore's model of the service: names, types, choices, what is required.
Skips itself without moto. Nothing leaves this machine: instances get the address 127.0.0.1."""
import base64
import binascii
import http.client
import http.server
import json
import re
import socket
import subprocess
import sys
import threading
import unittest
import urllib.parse

from machine import User, listens, wait_until

try:
    import botocore.loaders
    import botocore.model
    import botocore.validate
    import moto.server  # noqa: F401  found, not used: it runs as a program
except ImportError:
    print("skipped: moto and botocore are not installed (python3 -m pip install 'moto[server]' boto3)")
    sys.exit(77)

EXPECTED = {"ec2 DescribeInstanceTypeOfferings", "ec2 DescribeSpotPriceHistory", "ec2 DescribeSecurityGroups", "ec2 CreateSecurityGroup",
            "ec2 AuthorizeSecurityGroupIngress", "ec2 RunInstances", "ec2 DescribeInstances", "ec2 TerminateInstances", "ec2 DescribeVolumes",
            "ec2 GetConsoleOutput", "pricing GetProducts", "ssm GetParameter"}
LEAVES = {"integer": r"-?\d+", "long": r"-?\d+", "boolean": "true|false", "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}


def model(service):
    loader = botocore.loaders.Loader()
    return botocore.model.ServiceModel(loader.load_service_model(service, "service-2"), service)


class Ec2Check:
    """A flat list of fields against the shape of an operation's input (the ec2 query protocol)."""

    def __init__(self):
        self.model = model("ec2")

    def problems(self, fields):
        fields = dict(fields)
        operation = self.model.operation_model(fields.pop("Action"))
        found = [] if fields.pop("Version") == self.model.metadata["apiVersion"] else ["Version"]
        for key, value in fields.items():
            found += self.walk(operation.input_shape, key.split("."), value, key)
        for name in operation.input_shape.required_members:
            if self.name(operation.input_shape, name) not in {key.split(".")[0] for key in fields}:
                found.append(f"{operation.name}: {name} is missing")
        return found

    @staticmethod
    def name(shape, member):
        serialization = shape.members[member].serialization
        plain = serialization.get("name", member)
        return serialization.get("queryName", plain[0].upper() + plain[1:])

    def walk(self, shape, path, value, key):
        if shape.type_name == "structure":
            for member, inner in shape.members.items():
                if path and self.name(shape, member) == path[0]:
                    return self.walk(inner, path[1:], value, key)
            return [f"{key}: there is no {path[0] if path else 'value'} in {shape.name}"]
        if shape.type_name == "list":
            return self.walk(shape.member, path[1:], value, key) if path and path[0].isdigit() and int(path[0]) > 0 else [f"{key}: no list index"]
        if path:
            return [f"{key}: {shape.name} has no parts"]
        return self.leaf(shape, value, key)

    @staticmethod
    def leaf(shape, value, key):
        if shape.type_name == "blob" or key == "UserData":   # a string of the model that must be encoded nevertheless
            try:
                base64.b64decode(value, validate=True)
            except binascii.Error:
                return [f"{key}: not base64"]
        if not re.fullmatch(LEAVES.get(shape.type_name, r"(?s).*"), value):
            return [f"{key}: {value!r} is no {shape.type_name}"]
        choices = getattr(shape, "enum", [])
        return [f"{key}: {value!r} is none of {choices}"] if choices and value not in choices else []


def json_problems(service, target, content_type, body):
    described = model(service)
    prefix, _, operation = target.partition(".")
    found = [] if prefix == described.metadata["targetPrefix"] else [f"target {target}"]
    if content_type != "application/x-amz-json-" + described.metadata["jsonVersion"]:
        found.append(f"content type {content_type}")
    shape, params = described.operation_model(operation).input_shape, json.loads(body)
    report = botocore.validate.ParamValidator().validate(params, shape)
    unknown = [name for name in params if name not in shape.members]
    return found + ([report.generate_report()] if report.has_errors() else []) + unknown


class Recorder(http.server.BaseHTTPRequestHandler):
    """Passes requests on to moto and keeps what they were."""
    upstream, records = 0, []

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        service = re.search(r"Credential=[^/]*/\d+/[^/]*/([a-z0-9]+)/", self.headers["Authorization"]).group(1)
        Recorder.records.append((service, self.path, dict(self.headers), body))
        connection = http.client.HTTPConnection("127.0.0.1", Recorder.upstream, timeout=30)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = re.sub(rb"<ipAddress>[^<]*</ipAddress>", b"<ipAddress>127.0.0.1</ipAddress>", answer.read())
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class AwsModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            Recorder.upstream = probe.getsockname()[1]
        cls.moto = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(Recorder.upstream)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(Recorder.upstream), "moto")
        cls.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
        threading.Thread(target=cls.proxy.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.proxy.shutdown()
        cls.proxy.server_close()
        cls.moto.terminate()
        cls.moto.wait()

    def user(self, **more):
        user = User(AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.proxy.server_port}", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b",
                    AWS_REGION="us-east-1", KEDGE_IMAGE="kedge/server", **more)
        self.addCleanup(user.close)
        return user

    def test_every_request_fits_the_model(self):
        user = self.user(KEDGE_AWS_AMI="ami-12c6146b")
        for market in ([], ["--spot"]):   # no server answers: what was launched is ended again
            user.kedge("up", "--provider", "aws", "--gpu", "L4", "--boot-limit", "1", *market, code=1)
        self.user().kedge("up", "--provider", "aws", "--gpu", "L4", "--boot-limit", "1", code=None)   # looks up the image's name
        user.kedge("machines", "gc", code=None)
        check, seen = Ec2Check(), set()
        for service, path, headers, body in Recorder.records:
            if service == "ec2":
                fields = urllib.parse.parse_qsl(path.partition("?")[2] or body.decode(), keep_blank_values=True, strict_parsing=True)
                seen.add("ec2 " + dict(fields)["Action"])
                self.assertEqual(check.problems(fields), [], fields)
            else:
                headers = {name.lower(): value for name, value in headers.items()}
                target = headers["x-amz-target"]
                seen.add(f"{service} {target.partition('.')[2]}")
                self.assertEqual(json_problems(service, target, headers["content-type"], body), [], body)
        self.assertLessEqual(EXPECTED, seen)
        print(f"{len(Recorder.records)} requests, {len(seen)} operations")

    def test_the_check_finds_what_is_wrong(self):
        check = Ec2Check()
        good = {"Action": "RunInstances", "Version": "2016-11-15", "MinCount": "1", "MaxCount": "1", "TagSpecification.1.ResourceType": "instance",
                "UserData": "YQ==", "Placement.AvailabilityZone": "a"}
        self.assertEqual(check.problems(good.items()), [])
        for wrong in ({"InstanceTyp": "t3.medium"}, {"MinCount": "one"}, {"TagSpecification.x.ResourceType": "instance"}, {"UserData": "?"},
                      {"TagSpecification.1.ResourceType": "nothing"}, {"Placement.Zone": "a"}, {"Version": "2014-01-01"}):
            self.assertNotEqual(check.problems({**good, **wrong}.items()), [], wrong)
        self.assertNotEqual(check.problems((k, v) for k, v in good.items() if k != "MaxCount"), [])
        self.assertNotEqual(json_problems("ssm", "AmazonSSM.GetParameter", "application/x-amz-json-1.1", '{"Nam": "a"}'), [])


if __name__ == "__main__":
    unittest.main()
