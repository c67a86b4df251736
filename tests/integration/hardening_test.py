"""The programs as the system loads them: what hardening they were built with, and what a running server leaves open to others."""
import contextlib
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED, Kedged  # noqa: E402

PROGRAMS = ("kedged", "kedge", "kedge-worker", "kedge-gpu-check")


@contextlib.contextmanager
def running(folder):
    server = Kedged(folder)
    try:
        yield server
    finally:
        server.stop()


def readelf(program, *options):
    return subprocess.run(["readelf", "--wide", *options, BIN / program], capture_output=True, text=True, check=True).stdout


@unittest.skipIf(SANITIZED, "the sanitizers bring checks of their own")
class Programs(unittest.TestCase):
    def each(self, *options):
        for program in PROGRAMS:
            with self.subTest(program=program):
                yield readelf(program, *options)

    def test_load_at_random_addresses(self):
        for head in self.each("--file-header"):
            self.assertRegex(head, r"Type:\s+DYN")

    def test_bind_all_symbols_at_the_start_and_write_no_table_afterwards(self):
        for segments in self.each("--segments", "--dynamic"):
            self.assertIn("GNU_RELRO", segments)
            self.assertIn("BIND_NOW", segments)
            self.assertRegex(segments, r"GNU_STACK.* RW ")

    def test_check_their_stacks_and_buffers(self):
        for symbols in self.each("--dyn-syms"):
            self.assertIn("__stack_chk_fail", symbols)
            self.assertRegex(symbols, r"__\w+_chk@")

    def test_allow_shadow_stacks(self):
        for notes in self.each("--notes"):
            self.assertRegex(notes, r"x86 feature:.*SHSTK")

    def test_their_own_code_has_landing_pads(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                main = next(line for line in readelf(program, "--symbols").splitlines() if re.search(r" main$", line))
                address = int(main.split()[1], 16)
                code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={address}", f"--stop-address={address + 4}", BIN / program],
                                      capture_output=True, text=True, check=True).stdout
                self.assertIn("endbr64", code)


class DataDirectory(unittest.TestCase):
    def test_is_for_the_servers_user_alone_though_it_was_made_by_hand(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "state"
            data.mkdir()
            data.chmod(0o755)
            with running(folder) as server:
                self.assertEqual(server.call("PUT", "/v1/datasets/a.csv", b"a,b\n1,2\n3,4\n", {"Content-Type": "text/csv"}).status, 201)
                model = server.run({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "GaussianNB"}], "task": {"fit": {}}})
                self.assertEqual(model["state"], "succeeded")
                found = [data, *data.rglob("*")]
                self.assertGreater(len(found), 5)
                self.assertEqual([str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077], [])
                self.assertIn("are private now", (pathlib.Path(folder) / "kedged.log").read_text())

    def test_loses_the_folders_of_workers_that_went_with_their_server(self):
        with tempfile.TemporaryDirectory() as folder:
            left = pathlib.Path(folder) / "state" / "tmp" / "worker-abcdef"
            left.mkdir(parents=True)
            (left / "model").write_bytes(b"half a model")
            (pathlib.Path(folder) / "state").chmod(0o700)
            with running(folder):
                self.assertFalse(left.exists())


if __name__ == "__main__":
    unittest.main()
