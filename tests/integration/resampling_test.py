"""Resampling steps: the search of examples/imbalanced beside imbalanced-learn's, and rows that are scored stay as they are."""
import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import ROOT, Kedged  # noqa: E402

EXAMPLE = ROOT / "examples" / "imbalanced" / "rare_class.json"
# What examples/imbalanced/rare_class.py prints with imbalanced-learn 0.14.2 and scikit-learn 1.9.1: neighbours, share and score.
SCORES = {(3, 0.3): 0.501206, (3, 1.0): 0.404657, (5, 0.3): 0.478591, (5, 1.0): 0.407971}
# Wine, five folds: neg_log_loss of the rows that were left out, and of the fold's own rows before they were resampled, there.
FOLDS = {
    "SMOTE": ([-0.135045, -0.06715, -0.054984, -0.061515, -0.039777], [-0.02609, -0.032347, -0.033681, -0.033748, -0.035132]),
    "RandomOverSampler": ([-0.133764, -0.0672, -0.05836, -0.062586, -0.046747], [-0.024955, -0.032024, -0.033485, -0.033987, -0.03428]),
    "RandomUnderSampler": ([-0.181704, -0.09388, -0.059282, -0.062326, -0.098603], [-0.038387, -0.05111, -0.047503, -0.047173, -0.050845])}


class Resampling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def result(self, spec):
        job = self.server.run(spec)
        self.assertEqual(job["state"], "succeeded", job)
        return job["result"]

    def test_the_example_has_the_scores_of_imbalanced_learn(self):
        results = self.result(json.loads(EXAMPLE.read_text()))["search"]["cvResults"]
        for params, score in zip(results["params"], results["mean_test_score"]):
            expected = SCORES[params["smote__k_neighbors"], params["smote__sampling_strategy"]]
            self.assertAlmostEqual(score, expected, delta=0.03, msg=str(params))   # boosting's cuts are its own

    def test_only_the_rows_of_a_fit_are_resampled(self):
        for name, (test, train) in FOLDS.items():
            with self.subTest(name):
                pipeline = [{"estimator": "StandardScaler"}, {"estimator": name, "params": {"random_state": 1}},
                            {"estimator": "LogisticRegression", "params": {"max_iter": 2000, "tol": 1e-10}}]
                task = {"crossValidate": {"cv": 5, "scoring": ["neg_log_loss"], "returnTrainScore": True}}
                scores = self.result({"dataset": {"builtin": "wine"}, "pipeline": pipeline, "task": task, "select": {"dtype": "float64"}})["scores"]
                for found, expected in ((scores["neg_log_loss"]["perFold"], test), (scores["train_neg_log_loss"]["perFold"], train)):
                    for one, other in zip(found, expected, strict=True):
                        self.assertAlmostEqual(one, other, delta=2e-4)

    def test_a_model_predicts_the_rows_that_it_is_given(self):
        pipeline = [{"estimator": "RandomUnderSampler"}, {"estimator": "SMOTE"}, {"estimator": "GaussianNB"}]
        result = self.result({"dataset": {"builtin": "wine"}, "pipeline": pipeline, "task": {"fit": {}}})
        answer = self.server.call("POST", f"/v1/models/{result['model']}/predict", {"rows": [[1.0] * 13]}, {"Accept": "application/json"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(len(answer.json()["values"]), 1)


if __name__ == "__main__":
    unittest.main()
