"""Tables with numbers, categories and missing values through ColumnTransformer pipelines: fold scores as scikit-learn's on the same data."""
import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import ROOT, Kedged, Mirror  # noqa: E402

DATA = (("titanic", 1), ("adult", 2), ("credit-g", 1))
CLASSIFIERS = {"LogisticRegression": {"tol": 1e-10, "max_iter": 5000}, "GaussianNB": {}}   # tight: the reference must be the optimum too
TOLERANCE = 1e-6   # relative, of a fold's log loss; accuracies are equal


def prepared():
    example = json.loads((ROOT / "examples" / "titanic.json").read_text())
    return example["pipeline"][0]


@unittest.skipUnless(Mirror.available(), "no OpenML mirror next to the project's folder")
class MixedTables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = json.loads((HERE / "mixed_tables_reference.json").read_text())
        cls.folder = tempfile.TemporaryDirectory()
        cls.mirror = Mirror()
        cls.server = Kedged(cls.folder.name, "--openml-url", cls.mirror.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.mirror.kill()
        cls.folder.cleanup()

    def run_job(self, spec):
        job = self.server.run(spec, 600)
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]

    def test_scores_every_fold_as_scikit_learn_does(self):
        for name, version in DATA:
            for classifier, params in CLASSIFIERS.items():
                with self.subTest(f"{name} {classifier}"):
                    result = self.run_job({"dataset": {"openml": {"name": name, "version": version}},
                                           "pipeline": [prepared(), {"estimator": classifier, "params": params}],
                                           "task": {"crossValidate": {"cv": 5, "scoring": ["accuracy", "neg_log_loss"]}}})
                    expected = self.reference[f"{name} {classifier}"]
                    for e, a in zip(expected["accuracy"], result["scores"]["accuracy"]["perFold"]):
                        self.assertAlmostEqual(e, a, places=12)
                    for e, a in zip(expected["neg_log_loss"], result["scores"]["neg_log_loss"]["perFold"]):
                        self.assertLessEqual(abs(e - a), TOLERANCE * abs(e), f"expected {e}, got {a}")

    def test_the_example_runs_and_names_what_it_made(self):
        spec = json.loads((ROOT / "examples" / "titanic.json").read_text())
        result = self.run_job({**spec, "task": {"fit": {}}})
        names = result["fitted"]["ColumnTransformer"]["feature_names_out_"]
        self.assertEqual(names[:5], ["num__pclass", "num__age", "num__sibsp", "num__parch", "num__fare"])
        self.assertEqual(names[5:], ["cat__sex_female", "cat__sex_male", "cat__embarked_C", "cat__embarked_Q", "cat__embarked_S"])

    def test_says_which_text_columns_were_left_out(self):
        result = self.run_job({"dataset": {"openml": {"name": "titanic", "version": 1}},
                               "pipeline": [prepared(), {"estimator": "GaussianNB"}], "task": {"fit": {}}})
        self.assertTrue(any("left out" in warning and "ticket" in warning for warning in result["warnings"]), result["warnings"])

    def test_a_search_reaches_into_the_transformers(self):
        spec = json.loads((ROOT / "examples" / "titanic.json").read_text())
        grid = {"columntransformer__num__simpleimputer__strategy": ["mean", "median"], "columntransformer__cat__onehotencoder__drop": [None, "first"]}
        result = self.run_job({**spec, "task": {"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": 3}}}})
        self.assertEqual(len(result["search"]["cvResults"]["mean_test_score"]), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
