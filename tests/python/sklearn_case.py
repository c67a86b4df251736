"""What the tests of kedge.sklearn share: a real server, and calls that must go there, or must stay. Ends the program where scikit-learn is not."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "docs")]
from kedge_server import ROOT, Kedged  # noqa: E402

if not importlib.util.find_spec("sklearn"):
    print("skipped: scikit-learn is not installed; ./run.sh wheels runs this with it")
    sys.exit(0)
if not os.environ.get("KEDGE_INSTALLED"):   # else the wheel that is installed
    sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
import kedge  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn.base import is_classifier, is_regressor  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
ITERATIVE = 1e-9   # sums in another order; where integers decide, answers are equal


def quietly(function, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.session = kedge.connect(cls.server.url)
        cls.X, cls.y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(cls.y))
        cls.X, cls.y = cls.X[order], cls.y[order]
        cls.knn = make_pipeline(StandardScaler(), KNeighborsClassifier())

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.server.stop()
        cls.folder.cleanup()

    def call(self, name, *arguments, **named):
        """On the server, or KedgeError."""
        return getattr(kedge.sklearn, name)(*arguments, session=self.session, fallback="raise", **named)

    def stays(self, reason, name, *arguments, session=None, **named):
        """What a call gives that stays local with one warning, which says why."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = getattr(kedge.sklearn, name)(*arguments, session=session or self.session, **named)
        said = [str(one.message) for one in caught if issubclass(one.category, kedge.sklearn.NotSent)]
        self.assertEqual(len(said), 1, said)
        self.assertIn(reason, said[0])
        return found

    def n_jobs(self):
        return len(list(self.session.jobs()))

    def run_python(self, *arguments, **environment):
        path = os.environ.get("PYTHONPATH", "") if os.environ.get("KEDGE_INSTALLED") else str(ROOT / "client" / "python" / "src")
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=self.folder.name,
                              env={**os.environ, "KEDGE_URL": self.server.url, "PYTHONPATH": path, **environment})


class WithExports(WithServer):
    """Objects that are fitted here, and asked on a server."""

    def stored(self, model):
        return self.session.upload_model(kedge.export(model))

    def check(self, model, X, apart=ITERATIVE):
        stored = self.stored(model)
        for output in ("predict", "predict_proba", "decision_function"):
            if not hasattr(model, output) or output not in stored.info()["outputs"]:
                continue
            wanted, found = getattr(model, output)(X), np.asarray(stored.predict(X, output=output))
            if output == "predict" and is_classifier(model):
                self.assertEqual(found.astype(str).tolist(), wanted.astype(str).tolist())
                continue
            limit = apart * max(1.0, float(np.abs(wanted).max()))
            self.assertLessEqual(float(np.abs(found.astype(float).reshape(wanted.shape) - wanted).max()), limit, f"{model} {output}")
        if not is_classifier(model) and not is_regressor(model) and hasattr(model, "transform") and not hasattr(model, "predict"):
            wanted = model.transform(X)
            np.testing.assert_allclose(stored.transform(X), wanted.toarray() if hasattr(wanted, "toarray") else wanted, rtol=apart, atol=apart)

    def refused(self, reason, model):
        with self.assertRaises(kedge.KedgeError) as caught:
            kedge.export(model)
        self.assertEqual(caught.exception.code, "INVALID_VALUE")
        self.assertIn(reason, str(caught.exception))
