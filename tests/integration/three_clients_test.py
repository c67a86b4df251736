"""What `kedge`, the C++ client and curl must agree on: the scores of the same job to the last digit, and the catalogue."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, spec  # noqa: E402


class ThreeClients(unittest.TestCase):
    def test_give_the_same_scores_to_the_last_digit(self):
        spec = json.loads((ROOT / "examples" / "mnist_10k_forest.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder)
            try:
                env = {**os.environ, "KEDGE_URL": server.url}
                file = pathlib.Path(folder) / "spec.json"
                file.write_text(json.dumps(spec))

                run = subprocess.run([BIN / "kedge", "run", "--json", file], env=env, text=True, capture_output=True, timeout=300)
                self.assertEqual(run.returncode, 0, run.stderr)
                events = [json.loads(line) for line in run.stdout.splitlines()]
                by_cli = next(e["result"] for e in events if "result" in e)["scores"]["accuracy"]["mean"]

                example = subprocess.run([BIN / "mnist_forest", "mnist_10k"], env=env, text=True, capture_output=True, timeout=300)
                self.assertEqual(example.returncode, 0, example.stderr)
                by_cpp = float(re.search(r"mean accuracy (\S+)", example.stdout).group(1))

                curl = subprocess.run([shutil.which("curl"), "-sSN", "-H", "Accept: text/event-stream", "-H",
                                       "Content-Type: application/json", "--data-binary", f"@{file}", server.url + "/v1/jobs"],
                                      text=True, capture_output=True, timeout=300)
                self.assertEqual(curl.returncode, 0, curl.stderr)
                frames = [json.loads(line[6:]) for line in curl.stdout.splitlines() if line.startswith("data: ")]
                self.assertEqual([f["id"] for f in frames], list(range(1, len(frames) + 1)))
                self.assertEqual(frames[-1]["state"]["state"], "succeeded")
                by_curl = frames[-2]["result"]["scores"]["accuracy"]["mean"]

                self.assertEqual(by_cli, by_cpp)
                self.assertEqual(by_cli, by_curl)
                self.assertGreater(by_cli, 0.93)
            finally:
                server.stop()

    def test_the_examples_in_cpp_run_as_they_are(self):
        rows = [f"{i % 2},{1 + i % 3},{('male', 'female', '')[i % 3]},{'' if i % 7 == 0 else 20 + i % 50},{7.25 + i % 11}" for i in range(200)]
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "titanic.csv"
            table.write_text("survived,pclass,sex,age,fare\n" + "\n".join(rows) + "\n")
            server = Kedged(folder)
            try:
                def run(name, *arguments):
                    ended = subprocess.run([BIN / name, *arguments], env={**os.environ, "KEDGE_URL": server.url}, text=True, capture_output=True, timeout=300)
                    self.assertEqual(ended.returncode, 0, ended.stderr)
                    return ended.stdout
                said = run("search").splitlines()
                self.assertEqual([line.split(":")[0] for line in said], ["one parameter", "several grids", "draws"])
                self.assertIn("logisticregression__C=", said[0])
                self.assertRegex(run("mixed_table", table), r"(?s)age: number, \d+ cells are missing.*mean accuracy 0\.\d")
                answer = pathlib.Path(folder) / "answer.csv"
                self.assertEqual(run("predict", answer), f"predictions.csv: {answer.stat().st_size} bytes in {answer}\n")
                head, *lines = answer.read_text().splitlines()
                self.assertEqual((len(head.split(",")), len(lines)), (3, 150))
                self.assertAlmostEqual(sum(map(float, lines[0].split(","))), 1)
                model = server.run(spec(steps=("GaussianNB",), task={"fit": {}}, register="flowers"))["result"]["model"]
                flowers = pathlib.Path(folder) / "flowers.csv"
                flowers.write_text("sepal_length_cm,sepal_width_cm,petal_length_cm,petal_width_cm\n5.1,3.5,1.4,0.2\n6.3,3.3,6.0,2.5\n")
                for name in (model, "flowers"):
                    self.assertEqual(run("ask", name, flowers), "prediction\nsetosa\nvirginica\n")
                self.assertEqual(run("ask", model, flowers, "predict_proba").splitlines()[0], "setosa,versicolor,virginica")
                refused = subprocess.run([BIN / "ask", "none", flowers], env={**os.environ, "KEDGE_URL": server.url}, text=True, capture_output=True)
                self.assertEqual((refused.returncode, "none" in refused.stderr), (1, True), refused)
            finally:
                server.stop()

    def test_the_command_shows_the_catalogue_as_curl_gets_it(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder)
            try:
                def told(*arguments):
                    return subprocess.run([BIN / "kedge", "estimators", *arguments], env={**os.environ, "KEDGE_URL": server.url}, text=True,
                                          capture_output=True, timeout=60, check=True).stdout

                absent = subprocess.run([BIN / "kedge", "estimators", "GaussianProcessClassifier"], env={**os.environ, "KEDGE_URL": server.url},
                                        text=True, capture_output=True, timeout=60)
                self.assertEqual(absent.returncode, 1, absent.stderr)
                self.assertIn("scikit-learn has it, Kedge does not; the nearest here is 'SVC'", absent.stderr)
                known = server.call("GET", "/v1/estimators").json()["estimators"]
                self.assertEqual([line.split()[:2] for line in told().splitlines()], [[e["name"], e["kind"]] for e in known])
                for estimator in known:
                    lines = told(estimator["name"]).splitlines()
                    for param in estimator["params"]:
                        heads = [line for line in lines if line.split()[:1] == [param["name"]]]
                        self.assertEqual(len(heads), 1, (estimator["name"], param["name"]))
                        bounds = [float(word) for word in re.findall(r"[<>]=? (\S+)", heads[0])]
                        self.assertLessEqual({form[end] for form in param["forms"] for end in ("minimum", "maximum") if end in form}, set(bounds), heads[0])
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
