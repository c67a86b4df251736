"""kedge map: many jobs over one server or several, in order or as they come, and again where a run stopped."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, Kedged, spec, wait_for  # noqa: E402


class Map(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        self.servers = []
        for name in ("one", "two"):
            (self.home / name).mkdir()
            server = Kedged(self.home / name, "--devices", "cpu")
            self.addCleanup(server.stop)
            self.servers.append(server)
            self.kedge("login", server.url, "--name", name)
        self.kedge("use", "one")

    def environment(self):
        return {**{k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"),
                "XDG_STATE_HOME": str(self.home / "state")}

    def kedge(self, *arguments, code=0):
        done = subprocess.run([BIN / "kedge", *map(str, arguments)], env=self.environment(), cwd=self.home, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def file(self, name, content):
        (self.home / name).write_text(json.dumps(content))
        return name

    def lines(self, *arguments, code=0):
        return [json.loads(line) for line in self.kedge("--json", "map", *arguments, code=code).stdout.splitlines()]

    def jobs_of(self, server):
        return server.call("GET", "/v1/jobs?pageSize=500").json()["jobs"]

    def grid(self, n=8):
        return [spec(steps=(("KNeighborsClassifier", {"n_neighbors": k}),)) for k in range(1, n + 1)]

    def test_prints_results_in_the_order_of_the_specs(self):
        lines = self.lines(self.file("grid.json", self.grid()), self.file("one.json", spec()), "--in-flight", 3)
        self.assertEqual([line["spec"] for line in lines], [f"grid.json[{i}]" for i in range(8)] + ["one.json"])
        for line in lines:
            self.assertEqual(line["result"], self.servers[0].job(line["job"])["result"])

    def test_spreads_jobs_over_servers_and_gives_what_one_gives(self):
        grid = self.file("grid.json", self.grid(12))
        over_two = self.lines(grid, "--servers", "one,two", "--as-they-come")
        self.assertEqual({line["server"] for line in over_two}, {"one", "two"})
        alone = {line["spec"]: line["result"]["scores"] for line in self.lines(grid)}
        self.assertEqual({line["spec"]: line["result"]["scores"] for line in over_two}, alone)

    def test_a_job_that_fails_is_a_line_and_an_exit_code(self):
        bad = spec(steps=(("KNeighborsClassifier", {"n_neighbors": 500}),))
        lines = self.lines(self.file("mixed.json", [spec(), bad, spec()]), code=1)
        self.assertEqual(["error" in line for line in lines], [False, True, False])
        self.assertIn("500", lines[1]["error"]["message"])

    def test_goes_on_where_it_was_killed_and_does_each_job_once(self):
        forest = [spec({"builtin": "digits"}, (("RandomForestClassifier", {"n_estimators": 60, "random_state": n}),)) for n in range(12)]
        self.file("grid.json", forest)
        arguments = [BIN / "kedge", "map", "grid.json", "--servers", "one,two", "--in-flight", "1", "--journal", "journal"]
        first = subprocess.Popen(arguments, env=self.environment(), cwd=self.home, stdout=subprocess.DEVNULL)
        journal = self.home / "journal"
        wait_for(lambda: journal.exists() and len(journal.read_text().splitlines()) >= 4, 60, "three jobs in the journal")
        first.send_signal(signal.SIGKILL)
        first.wait()
        lines = self.lines("grid.json", "--servers", "one,two", "--in-flight", 2, "--journal", "journal")
        self.assertEqual([line["spec"] for line in lines], [f"grid.json[{i}]" for i in range(12)])
        self.assertTrue(all("result" in line for line in lines))
        # One that was killed between a server's answer and the journal's line may be on the other server as well.
        self.assertLessEqual(sum(len(self.jobs_of(server)) for server in self.servers), 12 + 2)
        again = self.lines("grid.json", "--servers", "one,two", "--journal", "journal")
        self.assertEqual(again, lines)

    def test_refuses_the_journal_of_other_specs(self):
        self.lines(self.file("a.json", self.grid(2)), "--journal", "journal")
        self.assertIn("journal of other specs", self.kedge("map", self.file("b.json", self.grid(3)), "--journal", "journal", code=1).stderr)
        (self.home / "text").write_text("text\n")
        self.assertIn("no journal of kedge map", self.kedge("map", "a.json", "--journal", "text", code=1).stderr)

    def test_a_server_that_is_away_leaves_its_jobs_to_the_others(self):
        self.servers[1].stop()
        lines = self.lines(self.file("grid.json", self.grid(6)), "--servers", "two,one")
        self.assertEqual({line["server"] for line in lines}, {"one"})

    def test_names_the_file_and_the_place_of_a_bad_spec(self):
        self.assertIn("grid.json[1]", self.kedge("map", self.file("grid.json", [spec(), {**spec(), "dataste": 1}]), code=1).stderr)
        self.assertIn("no job", self.kedge("map", self.file("empty.json", []), code=1).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
