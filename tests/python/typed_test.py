"""mypy --strict and pyright's strict mode on a program of a user, with the client that is installed (or that of this tree): no fault in
typed/program.py, one in each function of typed/wrong.py. A checker that is not installed is passed over with a line that says so."""
import ast
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "client" / "python" / "src"
PROGRAMS = HERE / "typed"


class Types(unittest.TestCase):
    def run_checker(self, *arguments):
        """Of the two programs, copied to a folder of their own: lines with faults, by file."""
        environment = dict(os.environ)
        if not os.environ.get("KEDGE_INSTALLED"):
            environment.update(MYPYPATH=str(SOURCE), PYTHONPATH=str(SOURCE))
        with tempfile.TemporaryDirectory() as folder:
            for program in PROGRAMS.glob("*.py"):
                (pathlib.Path(folder) / program.name).write_text(program.read_text())
            settings = {"typeCheckingMode": "strict", "pythonVersion": f"{sys.version_info.major}.{sys.version_info.minor}"}
            if not os.environ.get("KEDGE_INSTALLED"):
                settings["extraPaths"] = [str(SOURCE)]
            (pathlib.Path(folder) / "pyrightconfig.json").write_text(json.dumps(settings))
            return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder, env=environment).stdout

    def check(self, found):
        self.assertEqual({line for file, line in found if file == "program.py"}, set())
        functions = [node for node in ast.parse((PROGRAMS / "wrong.py").read_text()).body if isinstance(node, ast.FunctionDef)]
        lines = {line for file, line in found if file == "wrong.py"}
        for function in functions:
            self.assertTrue(lines & set(range(function.lineno, function.end_lineno + 1)), f"{function.name}: no fault was found")

    def skip_without(self, checker):
        if not importlib.util.find_spec(checker):
            print(f"skipped: {checker} is not installed; ./run.sh wheels installs it")
            self.skipTest(f"{checker} is not installed")

    def test_mypy(self):
        self.skip_without("mypy")
        said = self.run_checker("mypy", "--strict", "program.py", "wrong.py")
        found = [(file, int(line)) for file, line in re.findall(r"^(\w+\.py):(\d+): error", said, re.MULTILINE)]
        self.assertIn("Found ", said)
        self.check(found)

    def test_pyright(self):
        self.skip_without("pyright")
        output = self.run_checker("pyright", "--pythonpath", sys.executable, "--outputjson", "program.py", "wrong.py")
        if not output.lstrip().startswith("{"):   # the package fetches its program from the npm registry when it runs first
            print(f"skipped: pyright does not run here: {output[:200]}")
            self.skipTest("pyright does not run")
        said = json.loads(output)
        self.assertEqual(said["summary"]["filesAnalyzed"], 2)
        self.check([(pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in said["generalDiagnostics"]
                    if one["severity"] != "information"])


if __name__ == "__main__":
    unittest.main()
