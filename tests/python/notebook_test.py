"""What a notebook shows: pictures with matplotlib, progress in place, and the tutorial, which runs from its first cell to its last."""
import importlib.util
import os
import pathlib
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from client_case import WithServer, has  # noqa: E402
from kedge_server import BIN, ROOT  # noqa: E402
import kedge  # noqa: E402
from kedge import _watch  # noqa: E402
from kedge.estimators import KNeighborsClassifier, LogisticRegression, StandardScaler  # noqa: E402

TUTORIAL = ROOT / "examples" / "tutorial.ipynb"
if not has("matplotlib"):
    print("skipped: matplotlib is not installed; ./run.sh wheels runs this with it")
    sys.exit(0)
import matplotlib  # noqa: E402

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

MODEL = [StandardScaler(), LogisticRegression()]


class Pictures(WithServer):
    def tearDown(self):
        plt.close("all")

    def drawn(self, result, *what, **named):
        figure = result.plot(*what, **named)
        figure.canvas.draw()
        return [ax for ax in figure.axes if ax.get_title()]

    def texts(self, ax):
        return [text.get_text() for text in ax.texts]

    def test_scores_have_a_point_for_each_fold_and_a_line_for_the_mean(self):
        job = self.session.submit(kedge.builtin("iris"), MODEL, kedge.cross_validate(cv=4, scoring=["accuracy", "f1_macro"]))
        [ax] = self.drawn(job, "scores")
        points = [part.get_offsets()[:, 1].tolist() for part in ax.collections if hasattr(part, "get_sizes") and len(part.get_offsets()) == 4]
        self.assertEqual(points, [one["perFold"] for one in job.result().scores.values()])
        self.assertEqual([tick.get_text() for tick in ax.get_xticklabels()], ["accuracy", "f1_macro"])

    def test_timings_are_a_waterfall(self):
        result = self.session.run(kedge.builtin("digits"), MODEL, kedge.cross_validate(cv=3))
        [ax] = self.drawn(result, "timings")
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        begins = [bar.get_x() for bar in ax.patches]
        self.assertEqual(begins, [0.0, *ends[:-1]])
        self.assertIn("fit", [tick.get_text() for tick in ax.get_yticklabels()])
        self.assertEqual(ax.lines[0].get_xdata()[0], result.timings["total"])

    def test_classes_have_a_confusion_matrix_and_a_curve_each(self):
        result = self.session.run(kedge.builtin("iris"), MODEL, kedge.cross_validate(cv=3, confusion_matrix=True, curves=True))
        [ax] = self.drawn(result, "confusion_matrix")
        self.assertEqual(sum(map(float, self.texts(ax))), 150)
        self.assertEqual(len(self.texts(ax)), 9)
        [ax] = self.drawn(result, "roc")
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        self.assertEqual([label.split()[0] for label in labels], ["setosa", "versicolor", "virginica", "micro"])
        self.assertEqual([ax.get_title() for ax in self.drawn(result)], ["scores of the folds", "where the time went", "confusion matrix", "ROC"])

    def test_a_search_is_a_line_a_surface_or_points(self):
        def searched(**space):
            space = {f"model__{name}": values for name, values in space.items()}
            return self.session.run(kedge.builtin("iris"), [("model", KNeighborsClassifier())], kedge.grid_search(space, kedge.cross_validate(cv=3)))
        one = searched(n_neighbors=[5, 1, 3])
        [ax] = self.drawn(one, "search")
        self.assertEqual(ax.lines[0].get_xdata().tolist(), [1, 3, 5])
        self.assertEqual(sorted(ax.lines[0].get_ydata()), sorted(one.cv_results["mean_test_score"]))
        [ax] = self.drawn(searched(weights=["uniform", "distance"]), "search")
        self.assertEqual(len(ax.patches), 2)
        three = searched(n_neighbors=[1, 5, 40], weights=["uniform", "distance"], p=[1, 2])
        [ax] = self.drawn(three, "search")
        self.assertEqual(len(self.texts(ax)), 6)
        self.assertEqual(max(map(float, self.texts(ax))), round(three.best_score, 3))
        self.assertIn("best over the other parameters", ax.get_title())
        space = {"model__C": {"loguniform": [1e-3, 1e3]}, "model__tol": {"loguniform": [1e-6, 1e-2]}}
        drawn = self.session.run(kedge.builtin("iris"), [("model", LogisticRegression())], kedge.randomized_search(space, kedge.cross_validate(cv=3), n_iter=9, random_state=0))
        [ax] = self.drawn(drawn, "search")
        self.assertEqual((ax.get_xscale(), ax.get_yscale(), len(ax.collections[0].get_offsets())), ("log", "log", 9))

    def test_learning_curves_of_halving_searches_and_of_arrays(self):
        result = self.session.run(kedge.builtin("iris"), [("model", KNeighborsClassifier())],
                                  kedge.halving_grid_search({"model__n_neighbors": [1, 3, 5, 7]}, kedge.cross_validate(cv=3)))
        [ax] = self.drawn(result, "learning_curve")
        resources = result.cv_results["n_resources"]
        self.assertEqual(ax.lines[0].get_xdata().tolist(), sorted(set(resources)))
        figure = kedge.plot_learning_curve([10, 20], [[1, 1], [0.9, 1]], [[0.5, 0.7], [0.8, 0.8]])
        self.assertEqual([line.get_ydata().tolist() for line in figure.axes[0].lines], [[1, 0.95], [0.6, 0.8]])

    def test_what_there_is_no_data_for_is_said(self):
        result = self.session.run(kedge.builtin("iris"), MODEL, kedge.cross_validate(cv=3))
        self.assertIn("confusion_matrix=True", self.raises("NOT_FOUND", "what", result.plot, "confusion_matrix").message)
        self.assertIn("there are: scores", self.raises("INVALID_VALUE", "what", result.plot, "scorez").message)
        self.raises("NOT_FOUND", "what", kedge.Result({}).plot)
        with mock.patch.dict(sys.modules, {"matplotlib": None}):
            self.assertIn("pip install matplotlib", self.raises("NOT_FOUND", "matplotlib", result.plot).message)

    def test_into_axes_of_the_caller(self):
        result = self.session.run(kedge.builtin("iris"), MODEL, kedge.cross_validate(cv=3))
        figure, axes = plt.subplots(1, 2)
        self.assertIs(result.plot("scores", ax=axes[1]), figure)
        self.assertEqual((axes[0].get_title(), axes[1].get_title()), ("", "scores of the folds"))


class Shown(WithServer):
    def test_data_sets_sessions_and_previews(self):
        table = kedge.inline("age,plan\n31,<b>a</b>\n52,b\n", target="plan")
        with mock.patch.dict(os.environ, {"KEDGE_URL": self.server.url}):
            shown = table._repr_html_()
        for part in ("<th>age</th>", "<td>31</td>", "&lt;b&gt;", "<td>target</td>"):
            self.assertIn(part, shown)
        self.assertNotIn("<b>", shown)
        with mock.patch.dict(os.environ, {"KEDGE_URL": "http://127.0.0.1:1"}):
            self.assertIn("<td>builtin</td><td>iris</td>", kedge.builtin("iris")._repr_html_())
        self.assertIn("iris", self.session.preview(kedge.builtin("iris"))._repr_html_())
        job = self.session.submit(kedge.builtin("iris"), MODEL, kedge.fit())
        job.result()
        self.assertIn("<meter", job._repr_html_())
        self.assertIn(job.id, self.session._repr_html_())
        self.assertRegex(self.session._repr_html_(), "<td>cuda</td><td>[^<]+")   # the GPU, or why it is not there

    def test_watch_gives_the_result_and_says_how_far_it_is(self):
        job = self.session.submit(kedge.builtin("iris"), MODEL, kedge.cross_validate(cv=3, scoring=["accuracy"]))
        self.assertEqual(job.watch(), job.result())
        stage = _watch.Stage()
        lines = []
        for event in job.events():
            if event.kind in ("state", "progress", "metric"):
                stage.take(event)
                lines.append(stage.line(1.0))
        self.assertIn("running 1.0 s, 0 of 3 folds", lines)
        self.assertEqual(lines[-1], f"succeeded 1.0 s, accuracy {job.result().mean('accuracy'):.4f}")


@unittest.skipUnless(has("nbclient", "ipykernel", "sklearn", "pandas"), "needs nbclient, ipykernel, scikit-learn and pandas; ./run.sh wheels has them")
class Tutorial(unittest.TestCase):
    def test_it_runs_and_shows_tables_pictures_and_progress(self):
        import nbclient
        import nbformat
        notebook = nbformat.read(TUTORIAL, as_version=4)
        sources = {} if os.environ.get("KEDGE_INSTALLED") else {"PYTHONPATH": str(ROOT / "client" / "python" / "src")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        with mock.patch.dict(os.environ, {**kept, **sources, "KEDGE_BIN": str(BIN)}, clear=True):
            nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(TUTORIAL.parent)}}).execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        self.assertEqual([output for output in outputs if output.output_type == "error"], [])
        shown = [output.data for output in outputs if "data" in output]
        html = "".join(data.get("text/html", "") for data in shown)
        for part in ("<progress", "<meter", "setosa", "succeeded"):
            self.assertIn(part, html)
        self.assertGreaterEqual(sum("image/png" in data for data in shown), 3)

    def test_it_is_stored_without_outputs(self):
        import nbformat
        notebook = nbformat.read(TUTORIAL, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"), cell.source)


if __name__ == "__main__":
    unittest.main()
