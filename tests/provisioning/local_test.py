"""Machines that are processes: rented, used, given back, and surely ended, whichever process is killed and when."""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import unittest

from machine import BIN, KilledClients, PATIENCE_S, SPEC, User, wait_until

LOCAL = ["--provider", "local"]
HAS_MPI = (BIN / "libkedge_mpi.so").exists() and shutil.which("mpirun") and shutil.which("orted")


class Local(KilledClients, unittest.TestCase):
    provider = "local"

    def setUp(self):
        self.user = User()
        self.addCleanup(self.user.close)

    def machines(self):
        return self.user.servers()

    def test_up_run_and_down_leave_nothing(self):
        out, err = self.user.kedge("up", *LOCAL)
        self.assertRegex(out, r"^https://127.0.0.1:\d+\n$")
        for phase in ("offers", "launch", "boot", "start", "ready"):
            self.assertIn(phase, err)
        out, err = self.user.kedge("run", SPEC)
        self.assertIn("accuracy", out)
        self.assertIn("cost so far", err)
        for command in (["datasets"], ["models"], ["doctor"]):   # each talks to the machine, which alone has that token
            self.user.kedge(*command)
        out, _ = self.user.kedge("machines")
        self.assertIn("process", out)
        self.user.kedge("down")
        self.assertEqual(self.user.rows(), [])
        self.assertEqual(self.user.servers(), [])
        self.assertEqual(list((self.user.home / "state" / "local").iterdir()), [])

    def test_ready_means_that_a_device_is(self):
        self.user.kedge("up", *LOCAL)
        out, _ = self.user.kedge("doctor", "--wait", "0s")
        self.assertIn("all well", out)

    def test_up_says_when_the_environment_hides_the_machine(self):
        self.user.environment["KEDGE_URL"] = "http://127.0.0.1:1"
        _, err = self.user.kedge("up", *LOCAL)
        self.assertIn("KEDGE_URL is http://127.0.0.1:1, so commands go there and not to this machine", err)
        self.assertNotIn("`kedge run` uses it", err)
        self.user.kedge("jobs", code=69)
        del self.user.environment["KEDGE_URL"]
        self.user.kedge("jobs")

    def test_the_last_choice_of_a_server_holds(self):
        url = self.user.kedge("up", *LOCAL)[0].strip()
        machine = self.user.rows()[0]["id"]
        config = self.user.home / ".config" / "kedge"
        config.mkdir(parents=True)
        (config / "servers.json").write_text(json.dumps({"servers": [{"name": "lab", "url": "http://127.0.0.1:1"}]}))
        (config / "servers.json").chmod(0o600)
        self.user.kedge("use", "lab")
        self.user.kedge("jobs", code=69)
        self.assertIn("there is no current machine", self.user.kedge("down", code=1)[1])
        self.assertIn(url, self.user.kedge("use", machine)[0])
        self.user.kedge("jobs")
        self.user.kedge("use", "lab")
        _, err = self.user.kedge("up", *LOCAL)
        self.assertIn("'lab' is no longer the current server", err)
        self.user.kedge("jobs")

    def test_phases_and_the_machine_as_json_without_its_secrets(self):
        out, _ = self.user.kedge("--json", "up", *LOCAL)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["phase"] for line in lines[:-1]], ["offers", "launch", "boot", "start"])
        self.assertTrue(lines[-1]["url"].startswith("https://"))
        row = self.user.rows()[0]
        self.assertNotIn(row["identity"]["token"], out)
        self.assertNotIn("PRIVATE", out)

    def test_a_stranger_without_the_token_is_refused(self):
        self.user.kedge("up", *LOCAL)
        row = self.user.rows()[0]
        stranger = User(KEDGE_URL=f"https://127.0.0.1:{row['port']}", KEDGE_PIN=row["identity"]["pin"], KEDGE_TOKEN="wrong")
        _, err = stranger.kedge("jobs", code=1)
        self.assertIn("UNAUTHENTICATED", err)
        stranger.environment.update(KEDGE_TOKEN=row["identity"]["token"], KEDGE_PIN="0" * 64)
        stranger.kedge("jobs", code=69)

    def test_the_machine_gets_no_key_and_no_token_of_its_user(self):
        secrets = {name: f"canary-{name}" for name in ("RUNPOD_API_KEY", "KEDGE_HOME_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK")}
        self.user.environment.update(secrets, OMP_NUM_THREADS="1")
        self.user.kedge("up", *LOCAL)
        for server in self.user.servers():
            environment = pathlib.Path(f"/proc/{server}/environ").read_bytes()
            self.assertIn(b"OMP_NUM_THREADS=1", environment)
            self.assertNotIn(b"canary-", environment)

    def test_run_on_gives_back_what_it_rented(self):
        out, err = self.user.kedge("run", "--on", "local", SPEC)
        self.assertIn("accuracy", out)
        self.assertIn(": ended; ", err)
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_run_on_gives_back_after_ctrl_c(self):
        process = self.user.start("run", "--on", "local", SPEC, start_new_session=True)
        wait_until(self.user.servers, "a server")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_ctrl_c_during_up_ends_the_machine_without_a_terminal(self):
        process = self.user.start("up", *LOCAL)
        wait_until(self.user.rows, "an intent")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        if process.returncode != 0:   # else it was ready before the signal came
            self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def interrupt_on_a_terminal(self, answer):
        """Ctrl-C while the server still starts, and the answer to the question; the output."""
        slow = self.user.home / "kedged"   # the name by which its process is known
        slow.write_text(f"#!/bin/sh\nsleep 2\nexec {BIN}/kedged\n")
        slow.chmod(0o700)
        self.user.environment["KEDGE_KEDGED"] = str(slow)
        ours, theirs = os.openpty()
        process = self.user.start("up", *LOCAL, stdin=theirs)
        wait_until(lambda: any(row["machine"] for row in self.user.rows()), "a machine")
        process.send_signal(signal.SIGINT)
        os.write(ours, answer)
        err = process.communicate(timeout=60)[1]
        os.close(ours), os.close(theirs)
        self.assertEqual(process.returncode, 1)
        self.assertIn("Keep it (k) or end it", err)
        return err

    def test_a_gang_is_rented_and_given_back_as_one(self):
        out, err = self.user.kedge("up", *LOCAL, "--nodes", "3")
        self.assertEqual(len(set(out.split())), 3, out)
        self.assertIn("3 machines", err)
        self.assertEqual([row["nodes"] for row in self.user.rows()], [3, 3, 3])
        self.assertIn("accuracy", self.user.kedge("run", SPEC)[0])
        self.user.kedge("down")
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_a_gang_whose_client_is_killed_is_swept_as_a_whole(self):
        process = self.user.start("up", *LOCAL, "--nodes", "3")
        wait_until(self.user.servers, "the first machine")
        process.kill()
        process.communicate(timeout=60)
        wait_until(lambda: self.user.kedge("machines", "gc", code=None) and not self.user.rows(), "the end of the gang")
        self.assertEqual(self.user.servers(), [])

    def test_a_gang_is_refused_where_machines_share_no_network(self):
        self.user.environment["VAST_API_KEY"] = "none"
        _, err = self.user.kedge("up", "--provider", "vastai", "--nodes", "2", "--gpu", "H100:8", "--image", "x", code=1)
        self.assertIn("vastai rents no gangs of 2 machines: its machines are of many hosts", err)

    def cluster(self, *more, nodes=3, code=0):
        return self.user.kedge("up", *LOCAL, "--nodes", nodes, "--cluster", *more, code=code)

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_runs_one_job_on_all_its_machines(self):
        out, err = self.cluster()
        self.assertRegex(out, r"^https://127.0.0.1:\d+\n$")   # of the head alone
        self.assertIn("3 ranks on 3 machines", err)
        rows = self.user.rows()
        self.assertEqual((len(rows), len({row["cluster"]["key"] for row in rows}), len(self.user.servers()), len(self.user.agents())), (3, 1, 1, 2))
        (entry,) = [device for device in json.loads(self.user.kedge("--json", "doctor")[0])["devices"] if device["id"] == "cluster"]
        self.assertIn("3 ranks", entry["name"])
        self.assertNotIn("missing", {key for key, value in entry.items() if value})
        tables = [self.user.kedge("run", SPEC, "--device", device)[0] for device in ("cpu", "cluster")]
        scores = [[line for line in table.splitlines() if "accuracy" in line] for table in tables]
        self.assertEqual(scores[:1] * 2, scores)
        self.assertTrue(scores[0])
        kinds = [json.loads(line)["cluster"] for line in self.user.kedge("--json", "machines")[0].splitlines()]
        self.assertEqual(sorted(kinds), ["agent", "agent", "head"])
        self.assertNotIn("host-token", self.user.kedge("--json", "machines")[0])
        (agent, _) = [row["id"] for row in rows if row["id"] != row["gang"]]
        self.assertIn(f"{agent} has no server: it runs ranks for {rows[0]['gang']}", self.user.kedge("use", agent, code=1)[1])
        self.user.kedge("down")
        self.assertEqual((self.user.rows(), self.user.servers(), self.user.agents()), ([], [], []))
        self.assertEqual(list((self.user.home / "state" / "local").iterdir()), [])

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_whose_agent_does_not_come_up_is_given_back(self):
        folder = self.user.home / "path"   # without orted
        folder.mkdir()
        for program in ("timeout", "mpirun"):
            (folder / program).symlink_to(shutil.which(program))
        self.user.environment["PATH"] = str(folder)
        _, err = self.cluster(code=1)
        self.assertIn("machine 2 of 3: ", err)
        self.assertIn("the program orted that --allow names is not there", err)
        self.assertEqual((self.user.rows(), self.user.servers(), self.user.agents()), ([], [], []))

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_whose_ranks_do_not_come_together_is_given_back(self):
        """The agents start a program that is named orted and is none."""
        folder = self.user.home / "path"
        folder.mkdir()
        (folder / "orted").write_text("#!/bin/sh\necho no orted here >&2\nexit 3\n")
        (folder / "orted").chmod(0o755)
        self.user.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
        _, err = self.cluster("--boot-limit", "8s", code=1)
        self.assertIn("machine 1 of 3: the server did not get ready within 8 s: its ranks have not come together", err)
        self.assertIn("no orted here", err)   # as the log of the head has it
        self.assertEqual((self.user.rows(), self.user.servers(), self.user.agents()), ([], [], []))

    def test_a_cluster_whose_head_can_have_no_ranks_is_given_back_at_once(self):
        folder = self.user.home / "path"   # without mpirun
        folder.mkdir()
        (folder / "orted").write_text("#!/bin/sh\n")
        (folder / "orted").chmod(0o755)
        (folder / "timeout").symlink_to(shutil.which("timeout"))
        self.user.environment["PATH"] = str(folder)
        _, err = self.cluster(code=1)
        self.assertIn("machine 1 of 3: its server has no device: cluster: there is no program mpirun", err)
        self.assertEqual((self.user.rows(), self.user.servers(), self.user.agents()), ([], [], []))

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_that_is_not_used_ends_by_itself(self):
        """The head by its lease, and the agents when it has been gone for as long as the boot limit."""
        self.cluster("--idle", "4s", "--boot-limit", "20s", nodes=2)
        wait_until(lambda: not self.user.servers(), "the end of the head")
        self.assertEqual(len(self.user.agents()), 1)
        wait_until(lambda: not self.user.agents(), "the end of the agent")
        self.user.kedge("machines", "gc")
        self.assertEqual(self.user.rows(), [])

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_whose_client_is_killed_is_swept_as_a_whole(self):
        process = self.user.start("up", *LOCAL, "--nodes", "3", "--cluster")
        wait_until(self.user.servers, "the head")
        process.kill()
        process.communicate(timeout=60)
        wait_until(lambda: self.user.kedge("machines", "gc", code=None) and not self.user.rows(), "the end of the cluster")
        self.assertEqual((self.user.servers(), self.user.agents()), ([], []))

    @unittest.skipUnless(HAS_MPI, "no Open MPI here")
    def test_a_cluster_that_loses_an_agent_is_swept_as_a_whole(self):
        self.cluster()
        os.kill(self.user.agents()[0], signal.SIGKILL)
        wait_until(lambda: self.user.kedge("machines", "gc", code=None) and not self.user.rows(), "the end of the cluster")
        self.assertEqual((self.user.servers(), self.user.agents()), ([], []))

    def test_a_cluster_is_refused_with_the_reason(self):
        self.assertIn("a cluster has 2 machines or more", self.user.kedge("up", *LOCAL, "--cluster", code=1)[1])
        _, err = self.user.kedge("up", "--provider", "docker", "--nodes", "2", "--cluster", code=1)
        self.assertIn("docker rents no clusters: examples/cluster/compose.yaml starts containers as one cluster", err)

    def test_after_ctrl_c_a_machine_is_kept_when_one_says_so(self):
        self.assertIn("is kept", self.interrupt_on_a_terminal(b"k\n"))
        wait_until(lambda: "https://" in self.user.kedge("machines")[0], "its address")
        self.assertIn("accuracy", self.user.kedge("run", SPEC)[0])
        self.user.kedge("down")
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_after_ctrl_c_a_machine_is_ended_when_one_says_so(self):
        self.assertIn("has ended", self.interrupt_on_a_terminal(b"\n"))
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_an_unused_server_ends_by_itself(self):
        self.user.kedge("up", *LOCAL, "--idle", "3s")
        self.assertEqual(len(self.user.servers()), 1)
        wait_until(lambda: not self.user.servers(), "the end of an idle server")
        self.assertIn("kedge machines", self.user.kedge("jobs", code=69)[1])   # says why there is no answer
        self.user.kedge("machines", "gc")
        self.assertEqual(self.user.rows(), [])

    def test_a_server_ends_at_the_end_of_its_life_even_with_jobs(self):
        self.user.kedge("up", *LOCAL, "--life", "0.01")   # 36 s, too long to wait for here; the row says it
        self.assertEqual(self.user.rows()[0]["lease"]["lifeS"], 36)

    def test_a_time_that_cannot_be_meant_is_refused_with_what_is_expected(self):
        for flag, text, expected in (("--idle", "2x", "3s to 7d"), ("--idle", "1s", "3s to 7d"), ("--life", "-1h", "36s to 30d"), ("--boot-limit", "3h", "1s to 2h")):
            said = "".join(self.user.kedge("up", *LOCAL, f"{flag}={text}", code=64))
            self.assertIn(f"{flag}: is '{text}', must be a time from {expected}, such as 90s, 2m or 1h", said)
        self.assertEqual(self.user.rows(), [])

    def test_a_server_keeps_nothing_open_of_what_its_caller_had(self):
        ours, theirs = os.pipe()
        process = self.user.start("up", *LOCAL, pass_fds=[theirs])
        os.close(theirs)
        process.communicate(timeout=60)
        self.assertEqual((process.returncode, select.select([ours], [], [], PATIENCE_S)[0], os.read(ours, 1)), (0, [ours], b""))
        os.close(ours)
        self.assertEqual(len(self.user.servers()), 1)

    def test_gc_leaves_what_is_used(self):
        self.user.kedge("up", *LOCAL)
        out, _ = self.user.kedge("machines", "gc")
        self.assertIn("nothing to end", out)
        self.user.kedge("doctor", code=None)
        self.assertEqual(len(self.user.servers()), 1)

    def test_a_damaged_state_file_is_made_up_for(self):
        self.user.kedge("up", *LOCAL)
        for file in (self.user.home / "state" / "intents").glob("*.json"):
            file.write_text('{"id": "ked')
        _, err = self.user.kedge("machines")
        self.assertIn("damaged", err)
        self.user.kedge("machines", "gc", code=None)
        wait_until(lambda: not self.user.servers(), "the end of the machine without a record")

    def test_a_copy_of_this_machine_ends_only_what_is_named(self):
        self.user.kedge("up", *LOCAL)
        name = self.user.rows()[0]["id"]
        copy = User(KEDGE_OWNER=self.user.environment["KEDGE_OWNER"])
        self.addCleanup(copy.folder.cleanup)
        for command in (["machines", "gc"], ["down", "--all"]):
            self.assertIn(f"left     {name}", copy.kedge(*command)[1])
        self.assertEqual(json.loads(copy.kedge("--json", "machines", "gc")[0])["left"].split()[0], name)
        self.assertEqual(len(self.user.servers()), 1)
        copy.kedge("down", name)
        self.assertEqual((copy.rows(), self.user.servers()), ([], []))

    def test_two_at_once_are_two_machines(self):
        both = [self.user.start("up", *LOCAL) for _ in range(2)]
        for process in both:
            process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0)
        self.assertEqual(len(self.user.rows()), 2)
        self.user.kedge("down", "--all")
        self.assertEqual((self.user.rows(), self.user.servers()), ([], []))

    def test_a_server_that_does_not_start_shows_its_log(self):
        self.user.environment["KEDGE_KEDGED"] = "/bin/false"
        _, err = self.user.kedge("up", *LOCAL, "--boot-limit", "3", code=1)
        self.assertIn("did not", err)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.user = User()
        self.addCleanup(self.user.folder.cleanup)

    def refused(self, *arguments, code=1):
        return self.user.kedge(*arguments, code=code)[1]

    def test_without_credentials_it_says_where_it_looked(self):
        err = self.refused("up")
        for word in ("AWS_ACCESS_KEY_ID", "~/.aws/credentials", "RUNPOD_API_KEY", "VAST_API_KEY"):
            self.assertIn(word, err)

    def test_an_unknown_provider_has_a_nearest_one(self):
        self.assertIn("did you mean local?", self.refused("up", "--provider", "locla"))

    def test_a_cap_that_no_price_could_be_above_is_refused(self):
        for cap in ("nan", "-1", "inf", "dear"):
            self.assertIn("--max-price: " + cap, self.refused("up", "--provider", "local", "--max-price", cap, code=64))

    def test_where_nothing_fits_each_offer_has_its_reason(self):
        self.assertIn("region is here, not eu", self.refused("up", "--provider", "local", "--region", "eu"))

    def test_an_unknown_gpu_says_what_is_offered(self):
        self.assertIn("no provider offers a GPU 'H900'", self.refused("up", "--provider", "local", "--gpu", "H900"))

    def test_a_dry_run_changes_nothing(self):
        out, _ = self.user.kedge("up", "--provider", "local", "--dry-run")
        self.assertIn("process", out)
        self.assertEqual(list((self.user.home / "state" / "intents").iterdir()), [])

    def test_nothing_is_rented_for_a_bad_spec(self):
        self.assertIn("cannot read", self.refused("run", "--on", "local", "/nowhere.json"))

    def test_ctrl_c_while_a_provider_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.user.environment.update(LAMBDA_API_KEY="a", KEDGE_LAMBDA_URL=f"http://127.0.0.1:{silent.getsockname()[1]}")
            process = self.user.start("up", "--provider", "lambda", "--image", "kedge")
            connection = silent.accept()[0]
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=30)[1]   # a call may take 60 s
            connection.close()
        self.assertEqual((process.returncode, self.user.rows()), (1, []))
        self.assertIn("interrupted", err)

    def test_down_without_a_machine(self):
        self.assertIn("no current machine", self.refused("down"))


if __name__ == "__main__":
    unittest.main()
