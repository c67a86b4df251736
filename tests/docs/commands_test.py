"""Every command, job and C++ fragment of README.md and docs/ runs. CONTRIBUTING.md has the conventions; each page is one shell session with a server of its own."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged, free_port  # noqa: E402
from pages import ROOT, pages  # noqa: E402

# What a block may need that this test does not have; the block is then read but not run.
NOT_HERE = {"OpenML", "Debian 12 and root", "root", "a cloud account", "Docker", "a build", "a GPU", "a terminal", "Open MPI", "the network", "numpy", "scikit-learn", "PyTorch", "XGBoost", "tritonclient", "kedge-arrow"}
PAGE_SECONDS = 1500 if SANITIZED else 300


class Session:
    """A folder that looks like the project's, with the programs on the PATH, and the port that stands for 5334."""

    def __init__(self, page):
        self.page = page
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name)
        for preset in ("release", "demo"):
            (self.home / "project" / "build" / preset).mkdir(parents=True)
            (self.home / "project" / "build" / preset / "bin").symlink_to(BIN)
        (self.home / ".curlrc").write_text("fail-with-body\nshow-error\n")   # otherwise curl ends with 0 for any answer
        shutil.copytree(ROOT / "examples", self.home / "project" / "examples")
        self.project = self.home / "project"
        typed = "\n".join(block.text for block in page.blocks if block.language == "sh" and not block.needs)
        starts_one = re.search(r"^\S*kedged (--|&)", typed, re.M)
        self.server = None if starts_one else Kedged(self.home)
        self.port = free_port() if starts_one else int(self.server.url.rsplit(":", 1)[1])
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KEDGE_", "XDG_"))}
        self.environment = {**kept, "HOME": str(self.home), "PATH": f"{BIN}:{kept['PATH']}", "PYTHONPATH": str(ROOT / "client" / "python" / "src"), "no_proxy": "*"}
        if starts_one:
            self.environment.update(KEDGE_LISTEN=f"127.0.0.1:{self.port}", KEDGE_DATA_DIR=str(self.home / "state"))
        self.rents = "kedge up" in typed
        if not self.rents and "kedge login" not in typed:   # else the reader's last choice of a server decides
            self.environment["KEDGE_URL"] = f"http://127.0.0.1:{self.port}"

    def close(self):
        if self.server:
            self.server.stop()
        self.folder.cleanup()

    def here(self, text):
        """The text with this session's address in place of the documents'."""
        text = re.sub(r"\b(gpu|other)\.example\b", "localhost", text)
        return re.sub(r"\b(127\.0\.0\.1|0\.0\.0\.0|localhost):5334", lambda m: f"{m[1].replace('0.0.0.0', '127.0.0.1')}:{self.port}", text)

    def write(self, block):
        file = self.project / block.file
        if (ROOT / block.file).exists():   # the document shows a file of the project
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(block.text) + "\n")


def steps_of(block):
    """(command, expected output or None) for each command of a block. JSON is a job; if its data is elsewhere it is submitted, which checks it, and cancelled."""
    if block.language == "json":
        ours = not {"openml", "url"} & json.loads(block.text)["dataset"].keys()
        job = f"<<'JOB'\n{block.text}\nJOB\n"
        return [(f"kedge run - {job}" if ours else f"kedge submit - >submitted {job}kedge cancel $(tail -1 submitted)", None)]
    if block.language == "sh":
        return [(block.text, None)]
    if block.language == "python":
        return [(f"python3 - <<'PYTHON'\n{block.text}\nPYTHON", None)]
    steps = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and line.startswith("> "):
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        else:
            steps[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in steps]


def matches(expected, said):
    """Whether the output is the expected one, in which `…` stands for anything, line ends and runs of spaces being the same."""
    def plain(text):
        return " ".join(text.split())
    pattern = ".*".join(re.escape(part.strip()).replace(r"\ ", " ?") for part in plain(expected).split("…"))
    return re.search(pattern, plain(said), re.S) is not None


def script_of(session, blocks):
    """One bash script that leaves each step's output in a file; and the steps."""
    give_back = "kedge down --all || true; " if session.rents else ""
    lines, steps = ["set -eo pipefail", f"trap '{give_back}kill $(jobs -p) 2>/dev/null || true; wait' EXIT"], []
    for block in blocks:
        for command, expected in steps_of(block):
            out = session.home / f"out-{len(steps)}"
            lines += [f"exec >{shlex.quote(str(out))} 2>&1", session.here(command)]
            if expected is not None:   # a shown answer may be an error
                lines[-1] = "set +e\n" + lines[-1] + "\nset -e"
            steps.append((block, command, expected, out))
    return "\n".join(lines) + "\n", steps


class Documents(unittest.TestCase):
    maxDiff = None

    def test_every_command_runs_and_says_what_the_page_shows(self):
        for page in pages():
            with self.subTest(page=page.name):
                self.run_page(page)

    def run_page(self, page):
        for block in page.blocks:
            self.assertIn(block.language, {"sh", "console", "json", "csv", "toml", "cpp", "python", "text", "promql"}, f"{block}: say what the block is; `text` is for what is neither")
            self.assertTrue(block.needs is None or block.needs in NOT_HERE, f"{block}: what it needs is not one of {sorted(NOT_HERE)}")
        blocks = [block for block in page.blocks if not block.needs]
        if not any(block.language in {"sh", "console", "python", "json"} for block in blocks):
            return
        session = Session(page)
        try:
            for block in blocks:
                if block.file:
                    self.check_shown(block)
                    session.write(block)
            # Jobs run last: the page's commands have then stored what they name.
            shown = [b for b in blocks if b.language in {"sh", "console", "python"}] + [b for b in blocks if b.language == "json"]
            script, steps = script_of(session, shown)
            done = subprocess.run(["bash", "-c", script], cwd=session.project, env=session.environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PAGE_SECONDS)
            ran = [step for step in steps if step[3].exists()]
            if done.returncode != 0:
                block, command, _, out = ran[-1]
                self.fail(f"{block}: {command}\nended the session with {done.returncode}:\n{out.read_text()[-3000:]}{done.stderr[-2000:]}")
            for block, command, expected, out in steps:
                self.assertNotIn('"state":"failed"', out.read_text(errors="replace"), f"{block}: {command}")
                if expected is not None:
                    self.assertTrue(matches(expected, out.read_text()), f"{block}: {command}\nsays\n{out.read_text()[:3000]}\nand the page shows\n{expected}")
        finally:
            session.close()

    def check_shown(self, block):
        if (ROOT / block.file).exists():
            shown, there = block.text.strip(), (ROOT / block.file).read_text().strip()
            self.assertEqual(json.loads(shown) if block.language == "json" else shown, json.loads(there) if block.language == "json" else there, str(block))

    def test_every_fragment_of_cpp_compiles(self):
        commands = BIN.parent / "compile_commands.json"
        if not commands.exists():
            self.skipTest(f"no {commands}")
        example = next(c for c in json.loads(commands.read_text()) if c["file"].endswith("examples/cpp/mnist_forest.cc"))
        words = [w for w in shlex.split(example["command"]) if not w.endswith("ccache")]
        words = words[:words.index("-o")] + words[words.index("-o") + 2:]   # no output
        for page in pages():
            for block in page.blocks:
                if block.language != "cpp":
                    continue
                includes = re.findall(r"^#include .*$", block.text, re.M)
                body = re.sub(r"^#include .*$", "", block.text, flags=re.M)
                text = "\n".join(["#include <iostream>", *includes, "int main() {" + body + "}"])
                with self.subTest(block=str(block)), tempfile.TemporaryDirectory() as folder:
                    file = pathlib.Path(folder) / "fragment.cc"
                    file.write_text(text)
                    done = subprocess.run([*[str(file) if w == example["file"] else w for w in words], "-fsyntax-only"], cwd=example["directory"],
                                          capture_output=True, text=True, timeout=PAGE_SECONDS)
                    self.assertEqual(done.returncode, 0, done.stderr[-3000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
