"""Bad input and bad times of kedge.sklearn: a server that ends in the middle or is older, a pin that is wrong, forks, threads, callables, nothing to fit on."""
import concurrent.futures
import io
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import zipfile
from unittest import mock

from sklearn_case import WithServer, quietly
from kedge_server import FINAL, ROOT, Kedged, wait_for
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from kedge import _http  # noqa: E402
from kedge.sklearn import _jobs  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402


def fit_in_a_child(url, shared, results):
    """With the session of the parent, whose connection is in use there."""
    X, y = load_iris(return_X_y=True)
    for _ in range(4):
        results.put((url, kedge.sklearn.fit(LogisticRegression(max_iter=500), X, y, session=shared, fallback="raise").score(X, y)))


class BadTimes(unittest.TestCase):
    def setUp(self):
        self.X, self.y = load_iris(return_X_y=True)

    def lost_in_the_middle(self, **named):
        """A fit whose server is killed while the job runs, and does not come back."""
        with tempfile.TemporaryDirectory() as folder:
            server, found = Kedged(folder), []
            self.addCleanup(server.kill)
            session = kedge.connect(server.url)

            def fit():
                forest = RandomForestClassifier(3000, random_state=0)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        found.append(kedge.sklearn.fit(forest, self.X, self.y, session=session, **named))
                    except kedge.KedgeError as error:
                        found.append(error)
                found.append([str(one.message) for one in caught])
            with mock.patch.object(_http, "PATIENCE_S", 1.0):
                work = threading.Thread(target=fit, daemon=True)
                work.start()
                wait_for(lambda: any(job["state"] == "running" for job in session.jobs()), 60, "the job's begin")
                server.kill()
                work.join(120)
            return found

    def test_a_server_that_ends_in_the_middle_is_taken_over_here(self):
        model, said = self.lost_in_the_middle()
        self.assertEqual(len(model.estimators_), 3000)
        self.assertIn("the server could not do it", said[-1])

    def test_or_its_end_is_raised(self):
        error, _ = self.lost_in_the_middle(fallback="raise")
        self.assertIsInstance(error, kedge.ConnectionFailed)

    def test_a_wrong_pin_is_for_the_user_to_mend(self):
        session = kedge.connect("http://127.0.0.1:1")
        wrong = kedge.ConnectionFailed("CONNECTION", "the certificate has another digest", "KEDGE_PIN")
        for fallback in ("warn", "silent"):
            with mock.patch.object(type(session), "info", side_effect=wrong), self.assertRaises(kedge.ConnectionFailed):
                kedge.sklearn.fit(Ridge(), self.X, self.y, session=session, fallback=fallback)


LEFT = """
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import learning_curve

X, y = load_iris(return_X_y=True)
forest = RandomForestClassifier(100_000, random_state=0)
try:
    {work}
except KeyboardInterrupt:
    print("the script has it")
    raise
"""


class CtrlC(WithServer):
    def leave(self, work, n_jobs):
        """A script under `python -m kedge` that is interrupted while its jobs run: what it has written, and the jobs."""
        script = pathlib.Path(self.folder.name) / "left.py"
        script.write_text(LEFT.format(work=work))
        before = {job["id"] for job in self.session.jobs()}
        sources = {} if os.environ.get("KEDGE_INSTALLED") else {"PYTHONPATH": str(ROOT / "client" / "python" / "src")}
        process = subprocess.Popen(
            [sys.executable, "-m", "kedge", "--policy", "always", "--fallback", "raise", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **sources, "KEDGE_URL": self.server.url},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))   # a test in the background inherits that it is ignored
        self.addCleanup(process.kill)

        def begun():
            jobs = [job for job in self.session.jobs() if job["id"] not in before]
            return len(jobs) == n_jobs and any(job["state"] == "running" for job in jobs) and [job["id"] for job in jobs]

        jobs = wait_for(begun, 60, "the jobs' begin")
        self.addCleanup(lambda: _jobs.cancel([self.session.job(job) for job in jobs]))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(out, "the script has it\n")
        self.assertEqual(process.returncode, -signal.SIGINT, err)
        self.assertRegex(err, r"\nKeyboardInterrupt\n$")
        return err, jobs

    def test_a_fit_goes_on_and_the_message_says_where(self):
        err, [job] = self.leave("forest.fit(X, y)", 1)
        self.assertIn(f"{job} goes on; kedge.connect({self.server.url!r}).job({job!r}) finds it, and its cancel() ends it", err)
        left = self.session.job(job)
        self.assertEqual(left.status()["state"], "running")
        left.cancel()
        self.assertEqual(left.wait(30)["state"], "cancelled")

    def test_so_do_several_jobs(self):
        err, jobs = self.leave("learning_curve(forest, X, y, train_sizes=[60, 90], cv=3, shuffle=True, random_state=0)", 6)
        self.assertIn(" goes on; ", err)
        self.assertIn("so do ", err)
        for job in jobs:
            self.assertIn(job, err)
            self.assertNotIn(self.session.job(job).status()["state"], FINAL)


class BadInput(WithServer):
    def test_an_older_server(self):
        """Which lacks an estimator, a parameter, or has a newer open form than this client reads: the fit is done here, with the reason."""
        listed = self.session.estimators()
        for reason, catalogue in (("the server has no Ridge", [one for one in listed if one["name"] != "Ridge"]),
                                  ("the server has no parameter alpha", [{**one, "params": [p for p in one["params"] if p["name"] != "alpha"]} for one in listed])):
            session = kedge.connect(self.server.url)
            with mock.patch.object(type(session), "estimators", return_value=catalogue):
                model = self.stays(reason, "fit", Ridge(alpha=2.0), self.X, self.y, session=session)
            self.assertTrue(hasattr(model, "coef_"))
        newer = io.BytesIO()
        with zipfile.ZipFile(newer, "w") as file:
            file.writestr("model.json", json.dumps({"format": "kedge.model", "version": 2, "info": {}, "state": []}))
        with mock.patch.object(kedge.Model, "download", return_value=newer.getvalue()):
            forest = self.stays("version 2, this client reads version 1", "fit", RandomForestClassifier(3), self.X, self.y)
        self.assertEqual(len(forest.estimators_), 3)

    def test_an_open_form_that_is_damaged(self):
        whole = []
        download = kedge.Model.download
        with mock.patch.object(kedge.Model, "download", lambda model, **named: whole.append(download(model, **named)) or whole[-1]):
            self.call("fit", RandomForestClassifier(3, random_state=0), self.X, self.y)
        at = whole[0].index(b"\x93NUMPY", whole[0].index(b".threshold.npy")) + 140
        flipped = whole[0][:at] + bytes([whole[0][at] ^ 1]) + whole[0][at + 1:]
        with mock.patch.object(kedge.Model, "download", return_value=flipped):
            self.stays("threshold.npy' of the open form is packed or damaged", "fit", RandomForestClassifier(3), self.X, self.y)

    def test_a_callable_metric_and_nothing_to_fit_on(self):
        metric = lambda a, b: abs(a - b).sum()   # noqa: E731
        model = KNeighborsClassifier(metric=metric, algorithm="brute")
        found = self.stays("KNeighborsClassifier: metric is <lambda>", "cross_val_score", model, self.X, self.y)
        np.testing.assert_array_equal(found, cross_val_score(clone(model), self.X, self.y))
        with self.assertRaisesRegex(ValueError, "0 sample"):
            self.stays("X has 0 rows", "fit", Ridge(), self.X[:0], self.y[:0])

    def test_threads_have_connections_of_their_own(self):
        before = self.n_jobs()
        fit = lambda C: self.call("fit", LogisticRegression(C=C, max_iter=500), self.X, self.y).coef_   # noqa: E731
        values = [0.01, 0.1, 1.0, 10.0] * 4
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(fit, values))
        self.assertEqual(self.n_jobs(), before + len(values))
        for coef, C in zip(found, values):
            np.testing.assert_array_equal(coef, found[values.index(C)])

    def test_a_fork_has_a_connection_of_its_own(self):
        if "fork" not in multiprocessing.get_all_start_methods():
            self.skipTest("this system does not fork")
        quietly(self.call, "fit", Ridge(), self.X, self.y)   # from here on the session has a connection
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        children = [context.Process(target=fit_in_a_child, args=(place, self.session, results), daemon=True) for place in range(3)]
        for child in children:
            child.start()
        mine = [self.call("fit", LogisticRegression(max_iter=500), self.X, self.y).score(self.X, self.y) for _ in range(4)]
        found = [results.get(timeout=60) for _ in range(12)]
        for child in children:
            child.join(60)
            self.assertEqual(child.exitcode, 0)
        self.assertEqual({score for _, score in found} | set(mine), {mine[0]})


if __name__ == "__main__":
    unittest.main()
