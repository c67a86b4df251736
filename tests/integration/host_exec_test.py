"""kedge host-exec and kedge host-agent: programs on another host, over loopback, and ranks on two hosts that are network namespaces."""
import contextlib
import ipaddress
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, ROOT, SANITIZED, wait_for  # noqa: E402
from two_hosts import NETWORKS, Agent, Namespaces, can_make_namespaces, is_alive  # noqa: E402

EXAMPLE = ROOT / "examples" / "cluster"

HAS_MPI = (BIN / "libkedge_mpi.so").exists() and shutil.which("mpirun") and shutil.which("orted")
STAYS = "trap '' TERM; setsid sleep 1000 >/dev/null 2>&1 & echo $$ $!; while :; do sleep 1; done"   # and says which processes


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.key = self.folder / "cluster.key"
        subprocess.run([BIN / "kedge", "host-agent", "--new-key", self.key], check=True, capture_output=True)

    def script(self, text):
        file = self.folder / "program"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def agent(self, *arguments, **more):
        agent = Agent(self.folder, self.key, *arguments, **more)
        self.addCleanup(agent.stop)
        return agent


class HostExec(Case):
    def exec(self, agent, *command, key=None, port=None, **more):
        return subprocess.run(self.line(agent, *command, key=key, port=port), capture_output=True, timeout=60, **more)

    def line(self, agent, *command, key=None, port=None):
        return [BIN / "kedge", "host-exec", "--key", key or self.key, "--port", str(port or agent.port), "127.0.0.1", *command]

    def test_joins_the_three_streams_and_the_exit_status(self):
        program = self.script('cat; echo "$1|$2" >&2; exit 7')
        agent = self.agent("--allow", program)
        done = self.exec(agent, program, '"two words"', "--json", input=b"to stdin\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, b"to stdin\n", b"two words|--json\n"))

    def test_carries_many_bytes_both_ways(self):
        agent = self.agent("--allow", "cat")
        sent = os.urandom(1 << 16) * 160
        done = self.exec(agent, "cat", input=sent)
        self.assertEqual((done.returncode, done.stdout == sent), (0, True))

    def test_gives_the_signal_that_ended_the_program(self):
        program = self.script("kill -9 $$")
        self.assertEqual(self.exec(self.agent("--allow", program), program).returncode, 128 + 9)

    def test_runs_no_shell_and_no_variables_of_kedge(self):
        program = self.script('env')
        agent = self.agent("--allow", program)
        done = self.exec(agent, program, "a;b")
        self.assertIn(b"needs a shell for ';'", done.stderr)
        self.assertNotIn(b"KEDGE_", self.exec(agent, program).stdout)

    def test_refuses_a_program_that_is_not_allowed(self):
        agent = self.agent("--allow", "cat")
        done = self.exec(agent, "sh", "-c", "id")
        self.assertEqual((done.returncode, done.stdout), (1, b""), done)
        self.assertIn(b"the program is 'sh', must be one that this agent may start: ", done.stderr)

    def test_refuses_a_wrong_token(self):
        agent = self.agent("--allow", "cat")
        lines = self.key.read_text().splitlines(keepends=True)
        other = self.folder / "other.key"
        other.write_text("kedge-host-token: " + "A" * 43 + "\n" + "".join(lines[1:]))
        other.chmod(0o600)
        done = self.exec(agent, "cat", key=other)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done)
        self.assertIn(b"the token is wrong", done.stderr)

    def test_says_no_token_to_a_host_with_another_key(self):
        agent = self.agent("--allow", "cat")
        other = self.folder / "other.key"
        subprocess.run([BIN / "kedge", "host-agent", "--new-key", other], check=True, capture_output=True)
        done = self.exec(agent, "cat", key=other)
        self.assertIn(b"the hosts have different keys", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_says_that_there_is_no_agent(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            done = self.exec(None, "cat", port=free.getsockname()[1])
        self.assertIn(b"no `kedge host-agent` at 127.0.0.1", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_hangs_up_on_strangers_and_goes_on(self):
        agent = self.agent("--allow", "cat")
        with socket.create_connection(("127.0.0.1", agent.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            stranger.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                while stranger.recv(4096):
                    pass
        self.assertEqual(self.exec(agent, "cat", input=b"x").stdout, b"x")

    def hostile(self, agent, *pieces, close=False):
        """What the agent answers to these bytes over TLS, until it hangs up."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        answer = b""
        with socket.create_connection(("127.0.0.1", agent.port), timeout=30) as plain, context.wrap_socket(plain) as line:
            for piece in pieces:
                line.sendall(piece)
            if close:
                return answer
            with contextlib.suppress(ConnectionResetError, ssl.SSLError):
                while part := line.recv(4096):
                    answer += part
        return answer

    def test_refuses_what_is_no_frame_and_goes_on(self):
        agent = self.agent("--allow", "cat")

        def frame(kind, data):
            return kind + struct.pack(">I", len(data)) + data
        wrong = {
            "no letter of a frame": (b"Z\0\0\0\0", b"does not speak the protocol"),
            "a length of 4 GiB": (b"C\xff\xff\xff\xff", b"a frame that is too long"),
            "one byte beyond the longest": (b"C" + struct.pack(">I", (1 << 18) + 1), b"a frame that is too long"),
            "a last word that is cut": (frame(b"C", b"token"), b"last word is cut"),
            "no words": (frame(b"C", b""), b"the token is wrong"),
            "a token of another length": (frame(b"C", b"x" * 1000 + b"\0cat\0"), b"the token is wrong"),
            "a token without a command": (frame(b"C", self.key.read_bytes().split(b"\n")[0].split(b": ")[1] + b"\0"), b"the command is empty"),
        }
        for name, (sent, said) in wrong.items():
            with self.subTest(name):
                self.assertIn(said, self.hostile(agent, sent))
        for kind in b"IOEXRB":   # first must come the command
            with self.subTest(kind=chr(kind)):
                self.assertNotIn(b"R", self.hostile(agent, frame(bytes([kind]), b"x")).replace(frame(b"B", b""), b""))
        with self.subTest("half a frame, and the end"):
            self.hostile(agent, frame(b"C", b"x" * 1000)[:500], close=True)
        with self.subTest("half a frame, and silence"):   # 10 s
            self.assertEqual(self.hostile(agent, b"C\0\0").replace(frame(b"B", b""), b""), b"")
        self.assertEqual(self.exec(agent, "cat", input=b"x").stdout, b"x")

    def running(self, agent, program):
        """The caller, and the ids of the program's process and of one that it left in a session of its own."""
        child = subprocess.Popen(self.line(agent, program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stdin.close)
        pids = [int(word) for word in child.stdout.readline().split()]
        self.assertTrue(all(map(is_alive, pids)) and len(pids) == 2)
        return child, pids

    def test_ends_what_the_program_started_when_the_caller_ends(self):
        program = self.script(STAYS)
        child, pids = self.running(self.agent("--allow", program), program)
        child.kill()
        child.wait()
        wait_for(lambda: not any(map(is_alive, pids)), 20, "the end of the program")

    def test_ends_what_the_program_started_when_the_agent_ends(self):
        program = self.script(STAYS)
        agent = Agent(self.folder, self.key, "--allow", program)
        child, pids = self.running(agent, program)
        agent.stop()
        self.assertFalse(any(map(is_alive, pids)))
        self.assertNotEqual(child.wait(30), 0)

    def test_ends_what_the_program_left_behind(self):
        program = self.script("setsid sleep 1000 & echo $!")
        done = self.exec(self.agent("--allow", program), program)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(is_alive(int(done.stdout)))

    def test_notices_a_caller_that_is_stopped(self):
        """As one whose machine was cut off: the connection is there, and nothing comes."""
        program = self.script(STAYS)
        child, pids = self.running(self.agent("--allow", program), program)
        child.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: not any(map(is_alive, pids)), 40, "the end of the program")
        finally:
            child.kill()
            child.wait()

    def test_names_what_is_wrong_with_its_arguments(self):
        def said(*arguments):
            done = subprocess.run([BIN / "kedge", *arguments], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr
        self.assertIn("--key is missing", said("host-exec", "n2", "orted"))
        self.assertIn("a host and a program are needed", said("host-exec", "--key", self.key, "n2"))
        self.assertIn("--listen is 'x'", said("host-agent", "--key", self.key, "--allow", "cat", "--listen", "x"))
        self.assertIn("no-such-program", said("host-agent", "--key", self.key, "--allow", "no-such-program"))
        self.assertIn("is there already", said("host-agent", "--new-key", self.key))
        self.key.chmod(0o644)
        self.assertIn("must be closed to others", said("host-exec", "--key", self.key, "n2", "orted"))


@unittest.skipIf(SANITIZED, "an MPI allocates before a sanitizer does")
@unittest.skipUnless(HAS_MPI, "no Open MPI here")
@unittest.skipUnless(can_make_namespaces(), "network namespaces need root")
class TwoHosts(Case):
    def setUp(self):
        super().setUp()
        self.hosts = Namespaces()
        self.addCleanup(self.hosts.stop)
        text = (EXAMPLE / "agents.toml").read_text()
        for example, own in zip(("10.0.0.1:2", "10.0.0.2:2"), NETWORKS):
            self.assertIn(example, text)
            text = text.replace(example, f"{own}:2")
        self.assertIn("/etc/kedge/cluster.key", text)
        self.settings = self.folder / "cluster.toml"
        self.settings.write_text(text.replace("/etc/kedge/cluster.key", str(self.key)))

    def doctor(self):
        environment = {"XDG_STATE_HOME": str(self.folder)}
        return subprocess.Popen([*self.hosts.inside(0), BIN / "kedge", "doctor", "--cluster", "--json", "--config", self.settings],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})

    def test_starts_ranks_on_both(self):
        self.agent(inside=self.hosts.inside(1), listen=f"{NETWORKS[1]}:5335")
        out, err = self.doctor().communicate(timeout=200)
        report = json.loads(out)
        self.assertEqual((report["well"], [rank["host"] for rank in report["ranks"]]), (True, ["kedge-n1"] * 2 + ["kedge-n2"] * 2), err)

    def test_data_go_to_a_host_that_has_none(self):
        """The second host sees an empty folder where the first has its data."""
        data = self.folder / "data"
        data.mkdir()
        hidden = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none "{data}" && exec "$@"', "sh"]
        self.agent(inside=[*self.hosts.inside(1), *hidden], listen=f"{NETWORKS[1]}:5335")
        url = "http://127.0.0.1:15335"
        server = subprocess.Popen([*self.hosts.inside(0), BIN / "kedged", "--config", self.settings, "--data-dir", data / "state", "--listen", url[7:],
                                   "--devices", "cpu"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait, 60)
        self.addCleanup(server.terminate)

        def said(*arguments):
            done = subprocess.run([*self.hosts.inside(0), BIN / "kedge", "--url", url, "--json", *arguments], capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done)
            return [json.loads(line) for line in done.stdout.splitlines()]

        def run(device, task, **more):
            spec = self.folder / "spec.json"
            spec.write_text(json.dumps({"dataset": {"builtin": "digits"}, "task": task, "device": device, **more}))
            return said("run", spec)

        said("doctor", "--wait", "60s")
        wait_for(lambda: "cluster" in [device["id"] for device in said("doctor")[0]["devices"]], 90, "the ranks")
        sent = "data go to kedge-n2"
        forest = [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 8, "random_state": 0}}]
        own, first, again = [run(device, {"crossValidate": {"cv": 4}}, pipeline=forest) for device in ("cpu", "cluster", "cluster")]
        self.assertEqual([sent in json.dumps(lines) for lines in (own, first, again)], [False, True, False])
        scores = [event["result"]["scores"] for lines in (own, first, again) for event in lines if "result" in event]
        self.assertEqual(scores, scores[:1] * 3)
        (model,) = [event["result"]["model"] for event in run("cpu", {"fit": {}}, pipeline=forest) if "result" in event]
        self.assertIn(sent, json.dumps(run("cluster", {"predict": {"model": model}})))   # the model

    def test_says_why_there_is_no_rank_on_the_other(self):
        out, err = self.doctor().communicate(timeout=200)
        self.assertNotIn("well", json.loads(out))
        self.assertIn(f"no `kedge host-agent` at {NETWORKS[1]}:5335", err)

    def test_ends_the_program_when_the_network_is_cut(self):
        program = self.script(STAYS)
        agent = self.agent("--allow", program, inside=self.hosts.inside(1), listen=f"{NETWORKS[1]}:0")
        line = [*self.hosts.inside(0), BIN / "kedge", "host-exec", "--key", self.key, "--port", str(agent.port), NETWORKS[1], program]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            pids = [int(word) for word in child.stdout.readline().split()]
            self.hosts.run(1, "ip", "link", "set", "k2", "down")
            wait_for(lambda: not any(map(is_alive, pids)), 40, "the end of the program")
            self.assertNotEqual(child.wait(40), 0)
            self.assertIn(b"was lost", child.stderr.read())


@unittest.skipUnless(yaml, "PyYAML is not installed")
class Compose(unittest.TestCase):
    """examples/cluster/compose.yaml, without an engine for containers: what it says fits together, and what it starts takes the words."""

    def setUp(self):
        self.file = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())
        self.services = self.file["services"]
        self.settings = self.services["head"]["environment"]
        self.addresses = {name: service["networks"]["ranks"]["ipv4_address"] for name, service in self.services.items()}

    def test_has_a_host_for_each_container_beginning_with_kedged(self):
        hosts = [host.split(":") for host in self.settings["KEDGE_CLUSTER_HOSTS"].split(",")]
        self.assertEqual([host[0] for host in hosts], list(self.addresses.values()))
        self.assertEqual(sum(int(host[1]) for host in hosts), int(self.settings["KEDGE_CLUSTER_RANKS"]))
        self.assertEqual(self.settings["KEDGE_CLUSTER_KEY"], "/run/secrets/cluster.key")
        self.assertEqual(next(iter(self.services)), "head")
        network = ipaddress.ip_network(self.file["networks"]["ranks"]["ipam"]["config"][0]["subnet"])
        self.assertTrue(network.is_private and all(ipaddress.ip_address(address) in network for address in self.addresses.values()))

    def test_names_what_it_declares(self):
        for name, service in self.services.items():
            with self.subTest(service=name):
                self.assertEqual([service["secrets"], [volume.split(":")[0] for volume in service["volumes"]]],
                                 [list(self.file["secrets"]), list(self.file["volumes"])])
                self.assertEqual(service["hostname"], name)
        self.assertEqual(self.services["head"]["depends_on"], [name for name in self.services if name != "head"])

    def test_starts_agents_with_arguments_that_they_take(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "cluster.key"
            subprocess.run([BIN / "kedge", "host-agent", "--new-key", key], check=True, capture_output=True)
            for name in ("node2", "node3"):
                command = [str(key) if word == "/run/secrets/cluster.key" else word for word in self.services[name]["command"]]
                self.assertEqual((command[0], command.count(str(key))), ("kedge", 1))
                done = subprocess.run([BIN / command[0], *command[1:], "--listen", "none"], capture_output=True, text=True, timeout=60)
                self.assertIn("--listen is 'none'", done.stderr)   # so the rest is right

    def test_gives_kedged_settings_that_it_takes(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "cluster.key"
            subprocess.run([BIN / "kedge", "host-agent", "--new-key", key], check=True, capture_output=True)
            settings = {**self.settings, "KEDGE_CLUSTER_KEY": str(key)}
            done = subprocess.run([BIN / "kedged", "check-cluster", "--worker", "/nowhere/kedge-worker"], capture_output=True, text=True,
                                  timeout=60, env={**environment, **settings})
        self.assertIn("there is no /nowhere/kedge-worker", done.stderr)   # so the settings are right

    def test_is_valid_for_compose(self):
        if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode if shutil.which("docker") else True:
            self.skipTest("no docker compose here")
        done = subprocess.run(["docker", "compose", "-f", EXAMPLE / "compose.yaml", "config", "--quiet"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
