"""Which server kedge.connect() takes, and what a notebook shows of it, its jobs and models."""
import json
import os
import pathlib
import socket
import tempfile
import unittest
from unittest import mock

from client_case import WithServer
from kedge_server import BIN
import kedge
from kedge.estimators import GaussianNB, StandardScaler


class Servers(unittest.TestCase):
    """Which one kedge.connect() takes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state, self.config = pathlib.Path(folder.name) / "state", pathlib.Path(folder.name) / "config"
        (self.state / "intents").mkdir(parents=True)
        (self.config / "kedge").mkdir(parents=True)
        kept = [{"name": "lab", "url": "http://lab:1", "token": "secret"}, {"name": "far", "url": "https://far:2", "pin": "ab" * 32}]
        (self.config / "kedge" / "servers.json").write_text(json.dumps({"servers": kept}))
        changed = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        patch = mock.patch.dict(os.environ, {**changed, "KEDGE_STATE_DIR": str(self.state), "XDG_CONFIG_HOME": str(self.config)}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def use(self, name):
        (self.state / "current").write_text(name)

    def test_the_one_that_kedge_use_has_chosen(self):
        self.assertEqual(kedge.connect().url, "http://127.0.0.1:5334")
        self.use("server:lab")
        self.assertEqual((kedge.connect().url, kedge.connect()._transport.token), ("http://lab:1", "secret"))
        self.assertEqual(kedge.connect(token="mine")._transport.token, "mine")
        self.use("server:far")
        self.assertEqual((kedge.connect().url, kedge.connect()._transport.trust.pin), ("https://far:2", "ab" * 32))
        self.use("")
        self.assertEqual(kedge.connect().url, "http://127.0.0.1:5334")

    def test_what_says_more_than_that(self):
        self.use("server:lab")
        self.assertEqual((kedge.connect("http://named:3").url, kedge.connect("http://named:3")._transport.token), ("http://named:3", ""))
        self.assertEqual(kedge.connect(name="far").url, "https://far:2")
        with mock.patch.dict(os.environ, {"KEDGE_URL": "http://environment:4", "KEDGE_TOKEN": "other"}):
            self.assertEqual((kedge.connect().url, kedge.connect()._transport.token), ("http://environment:4", "other"))

    def test_a_rented_machine(self):
        self.use("kedge-a-1")
        self.assertEqual(kedge.connect().url, "http://127.0.0.1:5334")   # it was given back
        machine = {"id": "kedge-a-1", "address": "10.0.0.9", "port": 5334, "identity": {"token": "its", "pin": "cd" * 32}}
        file = self.state / "intents" / "kedge-a-1.json"
        file.write_text(json.dumps(machine))
        self.assertEqual((kedge.connect().url, kedge.connect()._transport.token), ("https://10.0.0.9:5334", "its"))
        file.write_text(json.dumps({**machine, "address": "fd00::9"}))
        self.assertEqual(kedge.connect().url, "https://[fd00::9]:5334")
        file.write_text(json.dumps({**machine, "address": ""}))
        with self.assertRaisesRegex(kedge.KedgeError, "not known yet"):
            kedge.connect()

    def test_what_is_broken_is_said(self):
        self.use("server:gone")
        with self.assertRaisesRegex(kedge.KedgeError, "no server is kept as 'gone', there are: lab, far"):
            kedge.connect()
        (self.config / "kedge" / "servers.json").write_text("{")
        with self.assertRaisesRegex(kedge.KedgeError, "servers.json cannot be read"):
            kedge.connect()

    def test_a_server_of_the_program_comes_first(self):
        self.use("server:lab")
        with mock.patch.dict(os.environ, {"KEDGE_BIN": str(BIN), "KEDGE_URL": "http://environment:4"}), kedge.server() as outer:
            with kedge.server() as inner:
                self.assertEqual(kedge.connect().url, inner.url)
            self.assertEqual(kedge.connect().url, outer.url)
            self.assertIn("version", kedge.connect().info())
            self.assertEqual(kedge.connect("http://named:3").url, "http://named:3")
        self.assertEqual(kedge.connect().url, "http://lab:1")


class Notebooks(WithServer):
    def test_what_is_shown(self):
        job = self.session.submit(kedge.builtin("iris"), [StandardScaler(), GaussianNB()], kedge.cross_validate(cv=3, scoring=["accuracy"]))
        result = job.result()
        shown = job._repr_html_()
        for part in ("<table>", job.id, "succeeded", "StandardScaler → GaussianNB", "<td>accuracy</td>", f"{result.mean('accuracy'):.4g}"):
            self.assertIn(part, shown)
        search = self.session.submit(kedge.builtin("iris"), [("model", GaussianNB())], kedge.grid_search({"model__var_smoothing": [1e-9, 1e9]}, kedge.cross_validate(cv=3)))
        best, worst = search.result()._repr_html_().partition("parameters</th>")[2].split("<tr>")[1:3]
        self.assertIn("<td>1</td>", best)
        self.assertIn("model__var_smoothing=1e-09", best)
        self.assertIn("<td>2</td>", worst)
        self.assertIn("setosa", search.model()._repr_html_())
        self.assertIn(self.session.url, self.session._repr_html_())

    def test_a_failed_job_and_texts_that_are_no_markup(self):
        job = self.session.submit(kedge.inline("a,b\n<b>x</b>,1\ny,0\n", target="b"), ["GaussianNB"], kedge.cross_validate(cv=2))
        with self.assertRaises(kedge.JobFailed):
            job.result()
        shown = job._repr_html_()
        self.assertIn("failed", shown)
        self.assertNotIn("<b>", shown)
        self.assertNotIn("<script>", kedge.Result({"warnings": ["<script>"], "scores": {"<script>": {"mean": 1.0, "perFold": []}}})._repr_html_())

    def test_a_server_that_is_gone_shows_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            gone = kedge.connect(f"http://127.0.0.1:{free.getsockname()[1]}")
        for shown in (gone, gone.job("job_x"), gone.model("mdl_x")):
            self.assertIsNone(shown._repr_html_())


if __name__ == "__main__":
    unittest.main()
