"""The documents' table of contents answers ten questions in one look; links lead somewhere; README is short; the site can be built."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN  # noqa: E402
from pages import DOCS, GENERATED, ROOT, Page, pages  # noqa: E402

MKDOCS = ROOT / "build" / "docs" / "venv" / "bin" / "mkdocs"   # ./run.sh docs installs it

# A question: words of which the contents have exactly one line, and what the section behind that line must name.
QUESTIONS = {
    "install": (["install"], ["./run.sh build", "apt install", "docker run"]),
    "first job": (["first job"], ["kedged", "kedge run examples/iris.json", "curl"]),
    "own CSV": (["own", "csv"], ["kedge data add", '"stored"', '"target"']),
    "categories and missing values": (["categories", "missing values"], ["ColumnTransformer", "OneHotEncoder", "SimpleImputer"]),
    "grid search": (["search", "parameters"], ["gridSearch", "paramGrid", "cv_results_"]),
    "stored model": (["keep", "model"], ["kedge predict", "/predict", '"fit"']),
    "TLS and tokens": (["tls", "tokens"], ["kedged init", "kedged token create", "kedge login", "--tls-cert"]),
    "cloud machine": (["cloud", "machine"], ["kedge up", "--max-price", "kedge down"]),
    "what if it fails": (["fails"], ["failed", "Retry-After", "kedge cancel", "SERVER_RESTARTED"]),
    "how fast": (["how fast"], ["scikit-learn", "./run.sh bench"]),
}


def contents():
    """(question, target) for each line of the first table of docs/index.md."""
    return re.findall(r"^\| ([^|]+\?[^|]*) \| \[[^\]]+\]\(([^)]+)\) \|$", (DOCS / "index.md").read_text(), re.M)


def text_behind(target):
    file, _, anchor = target.partition("#")
    page = Page(DOCS / file)
    if not anchor:
        return page.text
    heading = next(text for _, text in page.headings if re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) == anchor)
    return page.section(heading)


class Contents(unittest.TestCase):
    def test_ten_questions_have_one_line_each_and_the_answer_is_behind_it(self):
        self.assertEqual(len(contents()), len(QUESTIONS))
        for question, (words, answer) in QUESTIONS.items():
            with self.subTest(question=question):
                targets = [target for line, target in contents() if all(word in line.lower() for word in words)]
                self.assertEqual(len(targets), 1, f"{question}: {targets}")
                text = text_behind(targets[0])
                for what in answer:
                    self.assertIn(what, text, targets[0])

    def test_readme_is_a_landing_page(self):
        readme = Page(ROOT / "README.md")
        self.assertLessEqual(len(readme.text.split()), 900)
        self.assertIn("docs/progress.svg", readme.links())
        self.assertIn("./run.sh test", readme.text)
        self.assertIn("./run.sh test", (ROOT / ".ci" / "run").read_text())
        self.assertLessEqual({f"docs/{page}" for page in ("start.md", "jobs.md", "models.md", "rest.md", "server.md", "security.md", "machines.md",
                                                         "failures.md", "how-it-works.md", "performance/index.md")}, set(readme.links()))

    def test_every_page_is_in_the_navigation(self):
        listed = set(re.findall(r"[\w./-]+\.md$", (ROOT / "mkdocs.yml").read_text(), re.M))
        self.assertEqual(listed, {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} | GENERATED)

    def test_links_lead_to_files_and_headings(self):
        files = [*pages(), *(Page(ROOT / name) for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"))]
        for page in files:
            for link in page.links():
                if "://" in link:
                    continue
                file, _, anchor = link.partition("#")
                target = (page.path.parent / file).resolve() if file else page.path
                with self.subTest(page=page.name, link=link):
                    if target.parent == DOCS and target.name in GENERATED:
                        continue
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, Page(target).anchors())

    def test_the_site_is_built_without_a_warning(self):
        if not MKDOCS.exists():
            self.skipTest("no mkdocs: ./run.sh docs installs it")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([MKDOCS, "build", "--strict", "--quiet", "--site-dir", folder], cwd=ROOT, env={**os.environ, "KEDGE_BIN": str(BIN)},
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            page = (pathlib.Path(folder) / "estimators.html").read_text()
            for word in ("RandomForestClassifier", "n_estimators", "Scorers", "neg_log_loss"):
                self.assertIn(word, page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
