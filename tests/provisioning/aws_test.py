"""AWS against moto's server, which parses requests as EC2 does; a network namespace with the instance's address runs what the user data says.
Skips itself without root, ip or moto."""
import base64
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import namespace
from machine import BIN, KilledClients, SPEC, User, listens, wait_until

try:
    import boto3
    import moto.server  # noqa: F401  found, not used: it runs as a program
except ImportError:
    print("skipped: moto and boto3 are not installed (python3 -m pip install 'moto[server]' boto3)")
    sys.exit(77)

HAS_MPI = (BIN / "libkedge_mpi.so").exists() and shutil.which("mpirun") and shutil.which("orted")
DOCKER = """#!/bin/sh
# Stands for the container engine of the machine: runs the server as a process.
case $1 in image|pull) exit 0;; run) ;; *) exit 1;; esac
exec env KEDGE_DATA_DIR={data} TMPDIR={folder} {bin}/kedge host
"""
SHUTDOWN = "#!/bin/sh\ntouch {folder}/off\n"


class Machine:
    """Does on a namespace what an instance does with its user data."""

    def __init__(self, instance, user_data, network):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.off = folder / "off"
        (folder / "docker").write_text(DOCKER.format(data=folder / "data", folder=folder, bin=BIN))
        (folder / "shutdown").write_text(SHUTDOWN.format(folder=folder))
        content = re.search(r"  content: \|\n((?:    .*\n|\s*\n)+)", user_data).group(1)
        (folder / "kedge-start").write_text(textwrap.dedent(content))
        for name in ("docker", "shutdown", "kedge-start"):
            (folder / name).chmod(0o700)
        self.namespace = namespace.Namespace(instance["PublicIpAddress"])
        network.join(self.namespace, instance["PrivateIpAddress"])
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
        self.process = subprocess.Popen(self.namespace.command(folder / "kedge-start"), env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def close(self):
        self.namespace.close()
        self.process.wait()
        self.folder.cleanup()


class Region:
    """Boots the instances that appear and switches off those that end, as the provider would."""

    def __init__(self, endpoint):
        self.ec2 = boto3.client("ec2", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        self.machines, self.stop, self.network = {}, threading.Event(), namespace.Network()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def instances(self, *states):
        filters = [{"Name": "instance-state-name", "Values": list(states)}]
        return [i for r in self.ec2.describe_instances(Filters=filters)["Reservations"] for i in r["Instances"]]

    def work(self):
        while not self.stop.wait(0.1):
            running = {i["InstanceId"]: i for i in self.instances("running")}
            for name in set(running) - set(self.machines):
                data = self.ec2.describe_instance_attribute(InstanceId=name, Attribute="userData")["UserData"]["Value"]
                self.machines[name] = Machine(running[name], base64.b64decode(data).decode(), self.network)
            for name, machine in list(self.machines.items()):
                if machine.off.exists() and name in running:
                    self.ec2.terminate_instances(InstanceIds=[name])   # instance-initiated shutdown terminates
                if name not in running:
                    self.machines.pop(name).close()

    def close(self):
        self.stop.set()
        self.thread.join()
        for machine in self.machines.values():
            machine.close()
        self.network.close()


class Aws(KilledClients, unittest.TestCase):
    provider = "aws"

    @classmethod
    def setUpClass(cls):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        cls.moto = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.endpoint = f"http://127.0.0.1:{port}"
        wait_until(lambda: listens(port), "moto")
        cls.region = Region(cls.endpoint)

    @classmethod
    def tearDownClass(cls):
        cls.region.close()
        cls.moto.terminate()
        cls.moto.wait()

    def setUp(self):
        self.user = User(AWS_ENDPOINT_URL=self.endpoint, AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_REGION="us-east-1",
                         KEDGE_AWS_AMI="ami-12c6146b", KEDGE_IMAGE="kedge/server-cpu")
        self.addCleanup(lambda: self.user.close() if self.machines() else self.user.folder.cleanup())

    def phases(self):   # not "recorded": the row of a launch that never came about is looked after for two minutes, each time
        return {name: reached for name, reached in super().phases().items() if name != "recorded"}

    def machines(self):
        return self.region.instances("pending", "running", "stopping", "stopped")

    def test_up_run_and_down_leave_nothing(self):
        out, err = self.user.kedge("up", "--provider", "aws", "--max-price", "1.00")
        self.assertRegex(out, r"^https://[0-9.]+:5334\n$")
        self.assertIn("accuracy", self.user.kedge("run", SPEC)[0])
        self.user.kedge("down")
        self.assertEqual(self.user.rows(), [])
        self.assertEqual(self.region.instances("pending", "running", "stopping", "stopped"), [])

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_runs_one_job_on_both_its_machines(self):
        """The ranks reach each other at the private addresses, which the second group lets them."""
        _, err = self.user.kedge("up", "--provider", "aws", "--max-price", "1.00", "--nodes", "2", "--cluster")
        self.assertIn("2 ranks on 2 machines", err)
        tables = [self.user.kedge("run", SPEC, "--device", device)[0] for device in ("cpu", "cluster")]
        scores = [[line for line in table.splitlines() if "accuracy" in line] for table in tables]
        self.assertTrue(scores[0])
        self.assertEqual(scores[0], scores[1])
        report = json.loads(self.user.kedge("--json", "doctor", "--cluster")[0])
        self.assertEqual((report["well"], len(report["ranks"])), (True, 2))
        (group,) = self.region.ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": ["kedge-cluster"]}])["SecurityGroups"]
        self.assertEqual([instance["SecurityGroups"][0]["GroupId"] for instance in self.region.instances("running")], [group["GroupId"]] * 2)
        rules = [(rule["IpProtocol"], rule.get("FromPort"), [pair["GroupId"] for pair in rule["UserIdGroupPairs"]]) for rule in group["IpPermissions"]]
        self.assertCountEqual(rules, [("tcp", 5334, []), ("-1", None, [group["GroupId"]])])
        self.user.kedge("down")
        self.assertEqual((self.user.rows(), self.machines()), ([], []))

    def test_the_machine_is_tagged_and_ends_itself_and_holds_no_key(self):
        self.user.kedge("up", "--provider", "aws", "--idle", "0.05")
        instance = self.region.instances("running")[0]
        tags = {t["Key"]: t["Value"] for t in instance["Tags"]}
        self.assertEqual(tags["Name"], self.user.rows()[0]["id"])
        self.assertEqual(instance["MetadataOptions"]["HttpTokens"], "required")
        data = self.region.ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")["UserData"]["Value"]
        self.assertNotIn(self.user.rows()[0]["identity"]["token"], base64.b64decode(data).decode())
        wait_until(lambda: not self.region.instances("running"), "the machine's own end")
        self.user.kedge("machines", "gc")
        self.assertEqual(self.user.rows(), [])

    def test_offers_have_prices_with_a_source(self):
        out, _ = self.user.kedge("offers", "--provider", "aws", "--gpu", "T4")
        self.assertIn("g4dn.xlarge", out)
        self.assertIn("list of us-east-1", out)


if __name__ == "__main__":
    if not namespace.available():
        print("skipped: needs root and ip (Debian: iproute2)")
        sys.exit(77)
    unittest.main()
