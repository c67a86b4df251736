"""The wheels in KEDGE_WHEELS: what is in them, which systems pip takes them for, and a job in a fresh environment. Needs `packaging`."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

from packaging import _manylinux, tags
from packaging.utils import parse_wheel_filename

DIST = pathlib.Path(os.environ["KEDGE_WHEELS"])
PROGRAMS = {"kedged", "kedge", "kedge-worker"}
READER = "kedge-arrow"   # of Parquet and Arrow files, where it has been built
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOB = """
import kedge
with kedge.server() as session:
    job = session.submit(kedge.builtin("iris"), ["StandardScaler", "LogisticRegression"], kedge.fit())
    print(session.info()["version"], job.model().predict([[5.1, 3.5, 1.4, 0.2]])[0])
"""

PARQUET_JOB = """
import sys, kedge
with kedge.server() as session:
    try:
        session.upload("iris.parquet", sys.argv[1])
        result = session.run(kedge.stored("iris.parquet").select(target="species"), ["StandardScaler", "LogisticRegression"], kedge.cross_validate(cv=5))
        print("accuracy", result.mean("accuracy"))
    except kedge.KedgeError as error:
        print(error)
"""


def wheel(name):
    [found] = DIST.glob(f"{name}-*.whl")
    return found


def taken_with_glibc(file, version):
    """Whether pip takes it on a Linux with this glibc."""
    tags_of = parse_wheel_filename(file.name)[3]
    _manylinux._get_glibc_version.cache_clear()
    with mock.patch.object(_manylinux, "_glibc_version_string", lambda: version):
        found = bool(tags_of & set(tags.sys_tags()))
    _manylinux._get_glibc_version.cache_clear()
    return found


class Wheels(unittest.TestCase):
    def test_the_server_is_refused_where_glibc_is_too_old(self):
        server, client = wheel("kedge_server"), wheel("kedge_ml")
        self.assertRegex(server.name, r"-py3-none-manylinux_2_3\d_x86_64\.whl$")
        least = int(re.search(r"manylinux_2_(\d+)", server.name)[1])
        self.assertTrue(taken_with_glibc(server, f"2.{least}"))
        self.assertTrue(taken_with_glibc(server, "2.41"))        # Debian 13
        self.assertFalse(taken_with_glibc(server, f"2.{least - 1}"))
        self.assertFalse(taken_with_glibc(server, "2.31"))       # Debian 11
        self.assertTrue(taken_with_glibc(client, "2.31"))

    def test_the_programs_are_executable_and_their_libraries_are_listed(self):
        with zipfile.ZipFile(wheel("kedge_server")) as file:
            modes = {pathlib.Path(one.filename).name: one.external_attr >> 16 & 0o111
                     for one in file.infolist() if re.fullmatch(r"kedge_server/bin/.+", one.filename)}
            self.assertEqual(modes, dict.fromkeys(PROGRAMS | (modes.keys() & {READER}), 0o111))
            lists = {pathlib.Path(name).name: json.loads(file.read(name)) for name in file.namelist() if name.endswith(".cdx.json")}
            self.assertEqual(set(lists), {"auditwheel.cdx.json", "compiled-in.cdx.json"})
            named = {component["name"] for component in lists["auditwheel.cdx.json"]["components"]}
            compiled = {component["name"] for component in lists["compiled-in.cdx.json"]["components"]}
            self.assertLessEqual({"libcurl4", "libssl3", "libsqlite3-0", "libgomp1"}, named)
            self.assertLessEqual({"openblas", "boost1.81"}, compiled)
            licences = {pathlib.Path(name).stem for name in file.namelist() if "/licences/" in name}
            self.assertLessEqual({"openssl", "curl", "openblas", "gcc-12"}, licences)

    def test_a_fresh_environment_has_client_and_server(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            bin = pathlib.Path(folder) / "bin"
            subprocess.run([bin / "pip", "install", "--quiet", *map(str, DIST.glob("*.whl"))], check=True)
            here = {name: value for name, value in os.environ.items() if not name.startswith(("KEDGE_", "PYTHONPATH"))}
            here = {**here, "PATH": "/usr/bin:/bin", "HOME": folder}

            def run(*arguments):
                done = subprocess.run([bin / arguments[0], *arguments[1:]], env=here, capture_output=True, text=True, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return done.stdout
            self.assertIn("setosa", run("python", "-c", JOB))
            self.assertIn("kedge", run("kedge", "--version"))
            self.assertIn("cpu", run("kedge-worker", "--list-devices"))
            for name in PROGRAMS:   # without what Debian 12 has in /usr/lib
                loaded = subprocess.run(["ldd", next(pathlib.Path(folder).glob(f"lib/*/site-packages/kedge_server/bin/{name}"))],
                                        capture_output=True, text=True, check=True).stdout
                outside = {line.split()[0] for line in loaded.splitlines() if "=> /lib" in line or "=> /usr" in line}
                self.assertLessEqual(outside, {f"lib{one}" for one in ("c.so.6", "m.so.6", "stdc++.so.6", "gcc_s.so.1", "z.so.1", "resolv.so.2", "dl.so.2")})
            self.assertEqual(run("kedge", "up", "--provider", "local", "--dry-run").count("local"), 1)

    def test_parquet_needs_the_extra_and_nothing_else(self):
        with zipfile.ZipFile(wheel("kedge_server")) as file:
            if f"kedge_server/bin/{READER}" not in file.namelist():
                self.skipTest("kedge-arrow was not built")
            [metadata] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
            pinned = (ROOT / "cmake/arrow/requirements.txt").read_text().splitlines()[1].split()[0]
            self.assertIn(f"Requires-Dist: {pinned}; extra == 'arrow'", file.read(metadata).decode())
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            bin = pathlib.Path(folder) / "bin"
            here = {**{name: value for name, value in os.environ.items() if not name.startswith(("KEDGE_", "PYTHONPATH"))}, "PATH": "/usr/bin:/bin", "HOME": folder}

            def say(*wheels):
                subprocess.run([bin / "pip", "install", "--quiet", *wheels], check=True)
                done = subprocess.run([bin / "python", "-c", PARQUET_JOB, ROOT / "tests/support/parquet/iris.parquet"],
                                      env=here, capture_output=True, text=True, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return done.stdout
            self.assertIn("pip install 'kedge-server[arrow]'", say(str(wheel("kedge_ml")), str(wheel("kedge_server"))))
            self.assertRegex(say(f"{wheel('kedge_server')}[arrow]"), r"^accuracy 0\.9")


if __name__ == "__main__":
    unittest.main()
