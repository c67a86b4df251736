"""Machines that are containers, against a real engine: DOCKER_HOST's, with the image KEDGE_IMAGE (docker/build_test.sh sets both)."""
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import unittest

from machine import KilledClients, SPEC, User, wait_until

DOCKER = ["--provider", "docker"]
SEED = 20261121
KILLS = 8
LONGEST_UP_S = 1.5   # a warm start takes 0.5 s here: kills fall before, within and after


def engine(*arguments):
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=60)


class Docker(KilledClients, unittest.TestCase):
    provider = "docker"

    def setUp(self):
        self.user = User()
        for name in ("KEDGE_IMAGE", "KEDGE_DOCKER_NETWORK"):
            if name in os.environ:
                self.user.environment[name] = os.environ[name]
        self.addCleanup(self.user.close)

    def containers(self, *more):
        out = engine("ps", "--all", "--no-trunc", "--filter", "label=kedge", "--format", "{{.Names}}", *more).stdout.split()
        return [name for name in out if name.startswith(f"kedge-{self.user.environment['KEDGE_OWNER']}-")]

    def machines(self):
        return self.containers("--filter", "status=running")   # one that was made and never started costs nothing: for the sweeper

    def swept(self):
        return super().swept() and not self.containers()

    def sweep(self):
        """True once the sweeper has found nothing more to do."""
        self.user.kedge("machines", "gc", code=None)
        return not self.containers()

    def test_up_run_machines_and_down_leave_nothing(self):
        volumes = engine("volume", "ls", "-q").stdout
        out, err = self.user.kedge("up", *DOCKER)
        self.assertRegex(out, r"^https://127.0.0.1:\d+\n$")
        for phase in ("offers", "launch", "boot", "start", "ready"):
            self.assertIn(phase, err)
        out, err = self.user.kedge("run", SPEC)
        self.assertIn("accuracy", out)
        self.assertIn("cost so far", err)
        self.assertIn("container", self.user.kedge("machines")[0])
        self.user.kedge("down")
        self.assertEqual((self.user.rows(), self.containers()), ([], []))
        self.assertEqual(engine("volume", "ls", "-q").stdout, volumes)

    def test_the_container_is_confined_and_its_arguments_hold_no_secret(self):
        self.user.kedge("up", *DOCKER)
        shown = json.loads(engine("inspect", self.containers()[0]).stdout)[0]
        self.assertTrue(shown["HostConfig"]["ReadonlyRootfs"])
        status = pathlib.Path(f"/proc/{shown['State']['Pid']}/status").read_text()   # as it is: engines tell it in different words
        self.assertRegex(status, r"CapBnd:\t0{16}\n")
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertEqual(shown["Config"]["User"], "10001:10001")
        self.assertNotIn(self.user.rows()[0]["identity"]["token"], json.dumps(shown))

    def test_run_on_gives_back_what_it_rented(self):
        out, err = self.user.kedge("run", "--on", "docker", SPEC)
        self.assertIn("accuracy", out)
        self.assertIn(": ended; ", err)
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_down_all_ends_every_one_of_them(self):
        for _ in range(2):
            self.user.kedge("up", *DOCKER)
        self.assertEqual(len(self.containers()), 2)
        self.user.kedge("down", "--all")
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_a_client_killed_at_any_moment_of_up_leaves_what_gc_ends(self):
        moments = random.Random(SEED)
        for _ in range(KILLS):
            process = self.user.start("up", *DOCKER)
            time.sleep(moments.uniform(0, LONGEST_UP_S))   # the moment itself is what is tried
            process.kill()
            process.communicate()
            if any(row["stage"] == "running" for row in self.user.rows()):
                self.user.kedge("down", "--all")   # it was done in time: that machine is wanted
            # The engine may still be at work on what a dead client asked of it.
            wait_until(self.sweep, "the sweep")
        end = time.monotonic() + 1
        while time.monotonic() < end:   # nothing comes after
            self.assertEqual(self.containers("--filter", "status=running"), [])
        wait_until(lambda: self.sweep() and not self.user.rows(), "the rows of launches that never came about")

    def test_an_unused_container_ends_by_itself(self):
        self.user.kedge("up", *DOCKER, "--idle", "0.05")
        self.assertEqual(len(self.containers()), 1)
        wait_until(lambda: not self.containers("--filter", "status=running"), "the end of an idle server")
        self.user.kedge("machines", "gc")
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_a_container_ends_at_the_end_of_its_life_without_help(self):
        self.user.kedge("up", *DOCKER, "--life", "0.01")
        life_s = self.user.rows()[0]["lease"]["lifeS"]
        self.assertEqual(life_s, 36)
        while self.containers("--filter", "status=running"):
            self.user.kedge("jobs", code=None)   # in use all the while
            self.assertLess(time.time(), self.user.rows()[0]["created"] + life_s + 30)
            time.sleep(0.5)
        self.user.kedge("machines", "gc")
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_a_container_that_was_stopped_is_swept_before_its_lease_is_over(self):
        self.user.kedge("up", *DOCKER)
        engine("stop", self.containers()[0])
        out, _ = self.user.kedge("machines", "gc")
        self.assertIn("ended by itself", out)
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_an_image_that_is_not_there_shows_its_words(self):
        _, err = self.user.kedge("up", *DOCKER, "--image", "kedge/nowhere:none", code=1)
        self.assertIn("kedge/nowhere", err)
        self.assertEqual(self.containers(), [])

    def test_an_image_that_does_not_start_shows_its_log(self):
        created = engine("create", self.user.environment["KEDGE_IMAGE"]).stdout.strip()
        broken = engine("commit", "--change", 'ENTRYPOINT ["/kedge/kedged", "--no-such-option"]', created).stdout.strip()
        engine("rm", "-v", created)
        self.addCleanup(engine, "rmi", broken)
        _, err = self.user.kedge("up", *DOCKER, "--image", broken, code=1)
        self.assertIn("--no-such-option", err)
        self.assertEqual((self.user.rows(), self.containers()), ([], []))

    def test_cost_stands_in_every_json_form(self):
        out, _ = self.user.kedge("--json", "up", *DOCKER)
        self.assertIn("costUsd", json.loads(out.splitlines()[-1]))
        out, _ = self.user.kedge("--json", "machines")
        self.assertIn("costUsd", json.loads(out.splitlines()[0]))
        out, _ = self.user.kedge("--json", "run", SPEC)
        self.assertIn("costUsd", json.loads(out.splitlines()[-1]))
        out, _ = self.user.kedge("--json", "down")
        self.assertIn("costUsd", json.loads(out.splitlines()[-1]))


def missing():
    image = os.environ.get("KEDGE_IMAGE", "")
    try:
        if engine("version").returncode != 0:
            return "no Docker engine answers"
        return "" if image and engine("image", "inspect", image).returncode == 0 else "KEDGE_IMAGE names no image that is here"
    except FileNotFoundError:
        return "docker is not installed"


if __name__ == "__main__":
    if reason := missing():
        print(f"skipped: {reason} (docker/build_test.sh runs this against an engine of its own)")
        sys.exit(77)
    unittest.main()
