"""The main job, on OpenML's MNIST from the mirror: the accuracy it promises, and data that is there the second time."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import ROOT, Kedged, Mirror  # noqa: E402


@unittest.skipUnless(Mirror.available(), "no OpenML mirror next to the project's folder")
class MainJob(unittest.TestCase):
    def test_reaches_its_accuracy_and_finds_its_data_the_second_time(self):
        spec = json.loads((ROOT / "examples" / "mnist_forest.json").read_text())
        mirror = Mirror()
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder, "--openml-url", mirror.url)
            try:
                first = server.run(spec, 600)
                self.assertEqual(first["state"], "succeeded", first)
                self.assertGreaterEqual(first["result"]["scores"]["accuracy"]["mean"], 0.96)
                self.assertTrue(first["result"]["timings"]["cold"])
                self.assertEqual(first["result"]["classes"], [str(d) for d in range(10)])
                requests = len(mirror.requests())
                second = server.run(spec, 600)
                self.assertEqual(second["result"]["scores"], first["result"]["scores"])
                self.assertFalse(second["result"]["timings"].get("cold", False))
                self.assertEqual(len(mirror.requests()), requests, "the second run asked the mirror again")
            finally:
                server.stop()
                mirror.kill()


if __name__ == "__main__":
    unittest.main(verbosity=2)
