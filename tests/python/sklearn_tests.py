"""scikit-learn's own tests of 28 modules with its fits on a real server: sklearn_tests.yaml names the modules and the tests that are expected to fail.

    KEDGE_BIN=build/dev/bin python tests/python/sklearn_tests.py [--part N/M] [MODULE...]

Fails for another failure, for an expected one that passes, for a name that no test has, and where a smaller share of calls goes than before. --part runs the
Nth of M parts of all tests, which are the same tests in each run; then shares are not compared.
"""
import argparse
import os
import pathlib
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
LISTED = HERE / "sklearn_tests.yaml"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent / "client" / "python" / "src"), os.environ.get("PYTHONPATH", "")]))
    modules = options.modules or yaml.safe_load(LISTED.read_text())["modules"]
    part = ["--kedge-part", options.part] if options.part else []
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "kedge.testing", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "-rf",
                           "--kedge-expected", str(LISTED), *part, "--pyargs", *modules], env={**os.environ, "PYTHONPATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main())
