"""Columns of text: the search of examples/texts with scikit-learn's scores, models that take any text, and what is refused."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import ROOT, Kedged, spec  # noqa: E402

EXAMPLE = ROOT / "examples" / "texts"
# What examples/texts/messages.py prints with scikit-learn 1.9.1: alpha, min_df, the longest n-gram and the score.
SCORES = {(1e-5, 1, 1): 0.766000, (1e-5, 1, 2): 0.683333, (1e-5, 2, 1): 0.766000, (1e-5, 2, 2): 0.680333, (1e-4, 1, 1): 0.768667, (1e-4, 1, 2): 0.735000,
          (1e-4, 2, 1): 0.768667, (1e-4, 2, 2): 0.740333, (1e-3, 1, 1): 0.769333, (1e-3, 1, 2): 0.766333, (1e-3, 2, 1): 0.769333, (1e-3, 2, 2): 0.766333}
SMALL = {"inline": {"csv": "message,days,team\nno signal since monday,3,technical\nthe invoice is wrong,1,billing\n,2,billing\nslow and no signal,8,technical\n", "target": "team"}}
MODEL = {"estimator": "MultinomialNB"}


def terms(estimator="TfidfVectorizer", **params):
    return {"estimator": estimator, "params": params}


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def run_job(self, pipeline, task=None, dataset=SMALL, **select):
        return self.server.run(spec(dataset=dataset, select=select or {"columns": ["message"]}, pipeline=pipeline, task=task or {"fit": {}}))

    def refusal(self, pipeline, **select):
        job = self.run_job(pipeline, **select)
        self.assertEqual(job["state"], "failed", job)
        return job["error"]["message"]

    def predictions(self, job, body, output="predict"):
        answer = self.server.call("POST", f"/v1/models/{job['result']['model']}/predict?output={output}", body, {"Accept": "application/json"})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def test_the_example_has_the_scores_of_scikit_learn(self):
        table = pathlib.Path(self.folder.name) / "messages.csv"
        subprocess.run([sys.executable, EXAMPLE / "make_messages.py", table], check=True)
        self.assertEqual(self.server.call("PUT", "/v1/datasets/messages", table.read_bytes(), {"Content-Type": "text/csv"}).status, 201)
        job = self.server.run(json.loads((EXAMPLE / "messages.json").read_text()))
        self.assertEqual(job["state"], "succeeded", job)
        results = job["result"]["search"]["cvResults"]
        found = {(p["model__alpha"], p["terms__min_df"], p["terms__ngram_range"][1]): round(score, 6) for p, score in zip(results["params"], results["mean_test_score"])}
        self.assertEqual(found, SCORES)

    def test_a_model_takes_any_text_and_holds_none_of_those_it_was_fitted_with(self):
        job = self.run_job([terms(), MODEL])
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["result"]["fitted"]["TfidfVectorizer"]["vocabulary_"]["signal"], 5)
        model = self.server.call("GET", f"/v1/models/{job['result']['model']}").json()
        self.assertEqual(model["columns"], [{"name": "message", "kind": "text"}])
        self.assertNotIn(b"since monday", self.server.call("GET", f"/v1/models/{job['result']['model']}/download").body)
        rows = {"columns": ["message"], "rows": [["No SIGNAL at all"], ["an invoice, please"], [None], [""], ["None"]]}
        self.assertEqual(self.predictions(job, rows)["values"][:2], ["technical", "billing"])

    def test_a_stored_model_transforms_as_the_fitted_one(self):
        job = self.run_job([terms("CountVectorizer", ngram_range=[1, 2], min_df=2)])
        rows = {"inline": {"csv": 'message,n\n"no signal, no signal",1\nsignal,2\n'}}
        made = self.server.run({"dataset": rows, "task": {"transform": {"model": job["result"]["model"], "format": "csv"}}})
        self.assertEqual(made["state"], "succeeded", made)
        table = self.server.call("GET", f"/v1/jobs/{made['id']}/artifacts/transformed.csv").body.decode().split()
        self.assertEqual(table, ["no,no", "signal,signal", "2,2,2", "0,0,1"])

    def test_columns_of_text_and_of_numbers_go_side_by_side(self):
        both = {"estimator": "ColumnTransformer", "params": {"transformers": [["terms", terms(), ["message"]], ["rest", {"estimator": "StandardScaler"}, ["days"]]]}}
        job = self.run_job([both, {"estimator": "LogisticRegression"}], columns=["message", "days"])
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["result"]["warnings"], [])
        model = self.server.call("GET", f"/v1/models/{job['result']['model']}").json()
        self.assertEqual([column["kind"] for column in model["columns"]], ["text", "number"])
        self.assertEqual(self.predictions(job, {"rows": [["the invoice", 1], ["slow", 9]]})["values"], ["billing", "technical"])

    def test_what_is_no_text_is_refused_by_name(self):
        self.assertIn("TfidfVectorizer: column 'days' holds numbers, or missing cells alone; must hold texts", self.refusal([terms(), MODEL], columns=["days"]))
        self.assertIn("takes one column of texts, got 2 columns", self.refusal([terms(), MODEL], columns=["message", "days"]))
        self.assertIn("StandardScaler needs numbers", self.refusal([{"estimator": "ColumnTransformer", "params": {"transformers": [
            ["all", {"estimator": "StandardScaler"}, ["message"]]]}}, MODEL]))
        self.assertIn("the vocabulary is empty", self.refusal([terms(token_pattern="[0-9]+"), MODEL]))


if __name__ == "__main__":
    unittest.main()
