"""Libraries that take scikit-learn's objects, with objects that a server has fitted: each in a process where Kedge cannot be imported, after the server has ended.
A library that is not installed is passed over with a line that says so; ./run.sh neighbours installs them."""
import importlib.metadata
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from sklearn_case import Kedged, WithServer, quietly  # noqa: E402
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

# What each child begins with: the models by name, the rows that they are asked about, and their answers here, while the server was there.
BEGIN = """
import pathlib, pickle, sys
sys.modules["kedge"] = None    # an import of it fails
import numpy as np
folder = pathlib.Path(sys.argv[1])
models, rows, answers = pickle.loads((folder / "models.pkl").read_bytes())
TREES = [name for name in models if "Forest" in name or "Tree" in name]
def same(name, found, tolerance=0.0):
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(answers[name], float), rtol=tolerance, atol=tolerance, err_msg=name)
def answer(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
"""


def fitted():
    """Fitted by a server that has ended when this returns."""
    flowers, kinds = load_iris(return_X_y=True)
    cells, tumours = load_breast_cancer(return_X_y=True)
    numbers, number = load_diabetes(return_X_y=True)
    wanted = [(RandomForestClassifier(20, random_state=0), flowers, kinds), (ExtraTreesClassifier(20, random_state=0, max_depth=6), cells, tumours),
              (RandomForestRegressor(20, random_state=0, max_depth=8), numbers, number), (DecisionTreeClassifier(random_state=0), flowers, kinds),
              (LogisticRegression(max_iter=500), flowers, kinds), (Ridge(), numbers, number),
              (GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=3), flowers, kinds)]
    models, rows, answers = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder)
        try:
            session = kedge.connect(server.url)
            for estimator, X, y in wanted:
                name = type(estimator).__name__
                models[name] = quietly(kedge.sklearn.fit, estimator, X, y, session=session, fallback="raise")
                rows[name] = X[::7].copy()
                answers[name] = models[name].predict_proba(rows[name]) if hasattr(models[name], "predict_proba") else models[name].predict(rows[name])
            session.close()
        finally:
            server.stop()
    return models, rows, answers


class Neighbours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.models, cls.rows, cls.answers = fitted()
        (pathlib.Path(cls.folder.name) / "models.pkl").write_bytes(pickle.dumps((cls.models, cls.rows, cls.answers)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def child(self, program, *packages):
        """packages: as PyPI names them; the first one that is missing is the reason to skip."""
        versions = []
        for package in packages:
            try:
                versions.append(f"{package} {importlib.metadata.version(package)}")
            except importlib.metadata.PackageNotFoundError:
                self.skipTest(f"{package} is not installed; ./run.sh neighbours installs it")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", BEGIN + textwrap.dedent(program), self.folder.name], capture_output=True, text=True,
                              env=environment, cwd=self.folder.name, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(f"{', '.join(versions) or 'pickle'}: {done.stdout.strip()}", flush=True)

    def test_pickle(self):
        self.child("""
            for name, model in models.items():
                same(name, answer(model, rows[name]))
                same(name, answer(pickle.loads(pickle.dumps(model)), rows[name]))
            print(len(models), "models, bit for bit")
        """)

    def test_joblib(self):
        self.child("""
            import joblib
            joblib.dump(models, folder / "models.joblib", compress=3)
            for name, model in joblib.load(folder / "models.joblib").items():
                same(name, answer(model, rows[name]))
            print(len(models), "models, bit for bit")
        """, "joblib")

    def test_skops(self):
        self.child("""
            import skops.io
            for name, model in models.items():
                content = skops.io.dumps(model)
                unknown = skops.io.get_untrusted_types(data=content)
                assert not [one for one in unknown if "kedge" in one], unknown
                same(name, answer(skops.io.loads(content, trusted=unknown), rows[name]))
            print(len(models), "models, bit for bit")
        """, "skops")

    def test_shap(self):
        self.child("""
            import shap
            for name in TREES:
                explainer = shap.TreeExplainer(models[name])
                found = explainer(rows[name], check_additivity=False)
                same(name, found.values.sum(axis=1) + found.base_values.reshape(np.shape(found.values.sum(axis=1)) if np.size(found.base_values) > 1 else ()), 1e-6)
            print(len(TREES), "models of trees, values sum to the answers within 1e-6")
        """, "shap")

    def test_treelite(self):
        self.child("""
            import treelite
            n = 0
            for name in TREES:
                if "DecisionTree" in name:    # which treelite does not take
                    continue
                found = treelite.gtil.predict(treelite.sklearn.import_model(models[name]), rows[name].astype(np.float32).astype(np.float64))
                same(name, np.reshape(found, np.shape(answers[name])), 1e-12)
                n += 1
            print(n, "forests within 1e-12")
        """, "treelite")

    def test_onnx(self):
        self.child("""
            import onnxruntime, skl2onnx
            for name, model in models.items():
                if name == "GridSearchCV":
                    model = model.best_estimator_
                options = {"zipmap": False} if hasattr(model, "predict_proba") else None
                X = rows[name].astype(np.float32)
                content = skl2onnx.to_onnx(model, X[:1], options=options)
                found = onnxruntime.InferenceSession(content.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"X": X})[-1]
                scale = np.abs(answers[name]).max()
                np.testing.assert_allclose(found.reshape(np.shape(answers[name])) / scale, answers[name] / scale, atol=2e-6, err_msg=name)
            print(len(models), "models within 2e-6 in float32")
        """, "skl2onnx", "onnxruntime")

    def test_mlflow(self):
        installed = {one.metadata["Name"] for one in importlib.metadata.distributions()}
        self.child("""
            import mlflow.sklearn
            for name, model in models.items():
                place = str(folder / f"mlflow-{name}")
                mlflow.sklearn.save_model(model, place, serialization_format="cloudpickle")
                same(name, answer(mlflow.sklearn.load_model(place), rows[name]))
            print(len(models), "models, bit for bit")
        """, "mlflow" if "mlflow" in installed else "mlflow-skinny")

    def test_skore(self):
        self.child("""
            import skore
            from sklearn.datasets import load_iris
            X, y = load_iris(return_X_y=True)
            report = skore.EstimatorReport(models["RandomForestClassifier"], X_test=X, y_test=y)
            assert report.metrics.accuracy() == models["RandomForestClassifier"].score(X, y)
            print("a report of a fitted forest")
        """, "skore")


# Programs with pipelines of others.
PROGRAMS = {
    "imbalanced-learn": """
        from imblearn.ensemble import BalancedRandomForestClassifier
        from imblearn.over_sampling import RandomOverSampler
        from imblearn.pipeline import make_pipeline
        from sklearn.datasets import load_breast_cancer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import cross_val_score
        X, y = load_breast_cancer(return_X_y=True)
        model = make_pipeline(RandomOverSampler(random_state=0), RandomForestClassifier(20, random_state=0))
        print(cross_val_score(model, X, y, cv=3).mean())
        print(BalancedRandomForestClassifier(10, random_state=0).fit(X, y).score(X, y))
    """,
    "mlxtend": """
        from mlxtend.classifier import StackingCVClassifier
        from mlxtend.feature_selection import SequentialFeatureSelector
        from sklearn.datasets import load_iris
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        X, y = load_iris(return_X_y=True)
        model = StackingCVClassifier([RandomForestClassifier(10, random_state=0), LogisticRegression(max_iter=500)], LogisticRegression(), random_state=0)
        print(model.fit(X, y).score(X, y))
        found = SequentialFeatureSelector(RandomForestClassifier(5, random_state=0), k_features=2, cv=2).fit(X, y)
        print(found.k_score_)
    """,
    "flaml": """
        import logging
        logging.disable(logging.CRITICAL)
        from flaml import AutoML
        from sklearn.datasets import load_breast_cancer
        from sklearn.model_selection import train_test_split
        X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
        search = AutoML()
        search.fit(X, y, task="classification", metric="accuracy", estimator_list=["rf", "extra_tree", "kneighbor"], max_iter=6, time_budget=-1, n_jobs=1,
                   seed=0, eval_method="cv", n_splits=3, verbose=0)
        print(search.score(X_test, y_test))
    """,
    "skrub": """
        import pandas as pd
        import skrub
        from sklearn.datasets import load_iris
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import cross_val_score
        table = load_iris(as_frame=True)
        model = skrub.tabular_pipeline(RandomForestClassifier(20, random_state=0))
        print(cross_val_score(model, table.data.assign(kind=["a", "b"] * 75), table.target, cv=3).mean())
    """,
}


class Programs(WithServer):
    """Unchanged, under `python -m kedge`: all that can be sent is sent."""

    def run_program(self, package):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            self.skipTest(f"{package} is not installed; ./run.sh neighbours installs it")
        file = pathlib.Path(self.folder.name) / "program.py"
        file.write_text(textwrap.dedent(PROGRAMS[package]))
        before = self.n_jobs()
        done = self.run_python("-W", "ignore", "-m", "kedge", "--policy", "always", str(file))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        alone = subprocess.run([sys.executable, "-W", "ignore", str(file)], capture_output=True, text=True, check=True)
        found, theirs = ([float(line) for line in out.split()] for out in (done.stdout, alone.stdout))
        np.testing.assert_allclose(found, theirs, atol=0.06)   # forests of other random numbers
        print(f"{package} {version}: {self.n_jobs() - before} jobs, scores {found} beside {theirs}", flush=True)
        return self.n_jobs() - before

    def test_imbalanced_learn(self):
        self.assertGreaterEqual(self.run_program("imbalanced-learn"), 3)

    def test_mlxtend(self):
        self.assertGreaterEqual(self.run_program("mlxtend"), 4)

    def test_flaml(self):
        self.assertGreaterEqual(self.run_program("flaml"), 6)   # forests and extremely random trees, of three folds each

    def test_skrub(self):
        self.assertGreaterEqual(self.run_program("skrub"), 3)


if __name__ == "__main__":
    unittest.main()
