"""kedge-gpu-check on the fake GPU of tests/support/fake_gpu.cc (the real kernels, emulated): it finds what is planted, and says what it could not do."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, ROOT, SANITIZED  # noqa: E402

PLUGIN = BIN.parent / "fake_gpu" / "lib" / "libkedge_cuda.so"
AGREES, DIFFERS, USAGE, NO_GPU = 0, 1, 64, 69
SLOWER = 10 if SANITIZED else 1


def place(program, folder):
    """A program finds its plug-in by where its file lies, so it needs one there."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        os.link(BIN / program, folder / program)
    except OSError:   # another file system
        shutil.copy2(BIN / program, folder / program)
    return folder / program


class WithFakeGpu(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(dir=BIN.parent)   # on its file system
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.program = place("kedge-gpu-check", self.folder / "bin")
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / PLUGIN.name).symlink_to(PLUGIN)
        self.plan, self.json, self.markdown = (self.folder / name for name in ("plan", "gpu.json", "gpu.md"))

    def run_program(self, *arguments, code, program=None, **environment):
        done = subprocess.run([program or self.program, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "KEDGE_FAKE_GPU_PLAN": str(self.plan), **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def check(self, *arguments, code, seconds=200, **environment):
        """The last line and the report."""
        done = self.run_program("--quiet", "--seconds", seconds * SLOWER, "--json", self.json, *arguments, code=code, **environment)
        line, = done.stdout.splitlines()
        return line, json.loads(self.json.read_text())

    def section(self, report, name):
        found, = (section for section in report["sections"] if section["name"] == name)
        return found


class Agreement(WithFakeGpu):
    def test_every_op_agrees_and_both_reports_say_so(self):
        line, report = self.check("--only", "limits", "quick", "--markdown", self.markdown, code=AGREES)
        self.assertRegex(line, r"^cuda:0 \(fake GPU\) computes what the CPU does: \d+ checks agree$")
        self.assertTrue(report["agrees"])
        self.assertEqual(report["line"], line)
        ops = self.section(report, "quick")
        self.assertEqual((ops["state"], ops["leftOut"], ops["disagreements"]), ("passed", 0, []))
        self.assertEqual(ops["items"], ops["agreed"])
        self.assertGreater(ops["agreed"], 100)
        measured = {measure["name"] for measure in self.section(report, "limits")["measures"]}
        self.assertIn("launch and wait: launch of a small kernel", measured)
        self.assertIn("| quick |", self.markdown.read_text())
        self.assertIn("## Limits", self.markdown.read_text())

    def test_every_estimator_agrees(self):
        _, report = self.check("--only", "estimators", code=AGREES, seconds=500)
        section = self.section(report, "estimators")
        self.assertEqual((section["state"], section["leftOut"]), ("passed", 0), section)

    def test_what_there_is_no_time_for_is_left_out_and_counted(self):
        line, report = self.check("--only", "shapes", "ops", code=AGREES, seconds=1.5 / SLOWER)
        self.assertIn("left out for lack of time", line)
        ops, shapes = (self.section(report, name) for name in ("ops", "shapes"))
        self.assertEqual(ops["state"], "passed in part")
        self.assertEqual(ops["whyNotAll"], "for lack of time")
        self.assertGreater(ops["leftOut"], 0)
        self.assertEqual((shapes["state"], shapes["whyNotAll"]), ("left out", "for lack of time"))


class Faults(WithFakeGpu):
    def planted(self, fault, *arguments, section="quick", **more):
        self.plan.write_text(fault + "\n")
        line, report = self.check("--only", section, *arguments, code=DIFFERS, **more)
        self.assertFalse(self.plan.exists(), "the fault did not happen")
        self.assertIn("cuda:0 (fake GPU) does NOT compute what the CPU does", line)
        found = self.section(report, section)
        self.assertEqual(found["state"], "failed")
        return found

    def test_a_wrong_bit_is_found_in_an_op(self):
        section = self.planted("wrong 40")
        self.assertEqual(len(section["disagreements"]), 1, section["disagreements"])
        self.assertTrue(section["disagreements"][0]["what"])
        self.assertGreater(section["agreed"], 100)

    def test_a_wrong_bit_is_found_in_an_estimator(self):
        section = self.planted("wrong 1", "--items", "NB", section="estimators")   # a few: all of them take half a minute
        (disagreement,) = section["disagreements"]
        self.assertRegex(disagreement["item"], "^float32 [A-Z]")
        self.assertIn("on the CPU", disagreement["what"][0])

    def test_a_crash_ends_one_item_and_not_the_run(self):
        section = self.planted("abort 30")
        (disagreement,) = section["disagreements"]
        self.assertIn("signal 6", disagreement["what"][0])
        self.assertNotEqual(disagreement["item"], "its process")
        self.assertEqual(section["agreed"] + 1, section["items"])

    def test_an_item_that_does_not_end_is_ended(self):
        section = self.planted("endless 30", "--item-seconds", 10 * SLOWER)
        (disagreement,) = section["disagreements"]
        self.assertIn("did not end within", disagreement["what"][0])
        self.assertEqual(section["agreed"] + 1, section["items"])

    def test_an_error_of_the_device_is_told_in_its_words(self):
        section = self.planted("illegal 30")
        (disagreement,) = section["disagreements"]   # the others are checked in another process
        self.assertIn("illegal memory access", disagreement["what"][0])
        self.assertEqual(section["agreed"] + 1, section["items"])


class Sanitizer(WithFakeGpu):
    def sanitizer(self, script):
        tools = self.folder / "tools"
        tools.mkdir()
        program = tools / "compute-sanitizer"
        program.write_text("#!/bin/bash\nwhile [ \"$1\" != \"${1#--}\" ]; do shift 2; done\n" + script)
        program.chmod(0o755)
        return {"PATH": f"{tools}:{os.environ['PATH']}"}

    def test_runs_ops_under_it(self):
        _, report = self.check("--only", "memcheck", code=AGREES, **self.sanitizer('echo "========= COMPUTE-SANITIZER"; exec "$@"\n'))
        section = self.section(report, "memcheck")
        self.assertEqual((section["state"], section["leftOut"]), ("passed", 0))

    def test_what_it_finds_is_in_the_report(self):
        script = '"$@"; echo "========= Invalid __global__ read of size 4 bytes"; exit 86\n'
        line, report = self.check("--only", "memcheck", code=DIFFERS, **self.sanitizer(script))
        (disagreement,) = self.section(report, "memcheck")["disagreements"]
        self.assertIn("========= Invalid __global__ read of size 4 bytes", disagreement["what"])
        self.assertIn("does NOT compute", line)


class NoGpu(WithFakeGpu):
    def test_is_said_in_one_line_with_a_code_of_its_own(self):
        for how, why in (("none", "no device"), ("no-driver", "driver"), ("lost", "GPU is lost")):
            with self.subTest(how):
                line, report = self.check(code=NO_GPU, KEDGE_FAKE_GPU=how)
                self.assertRegex(line, f"^no GPU was checked: .*{why}")
                self.assertFalse(report["agrees"])
                self.assertIn(why, report["unavailable"])
        (self.folder / "lib" / PLUGIN.name).unlink()
        line, _ = self.check(code=NO_GPU)
        self.assertIn("libkedge_cuda.so is not there", line)

    def test_wrong_arguments_are_refused(self):
        self.assertIn('there is no section "opps"', self.run_program("--only", "opps", code=USAGE).stderr)
        self.run_program("--seconds", "soon", code=USAGE)


class Doctor(WithFakeGpu):
    def setUp(self):
        super().setUp()
        self.kedge = place("kedge", self.folder / "bin")

    def doctor(self, *arguments, code, **environment):
        return self.run_program("doctor", "--gpu", *arguments, code=code, program=self.kedge, **environment)

    def test_says_when_there_is_no_gpu(self):
        self.assertRegex(self.doctor(code=1, KEDGE_FAKE_GPU="none").stdout, r"^no GPU was checked: .*\n$")

    def test_gives_on_what_the_check_says_of_a_minute(self):
        self.program.unlink()
        self.program.write_text('#!/bin/sh\necho "$@" >&2; echo "cuda:0 does NOT compute what the CPU does"; exit 1\n')
        self.program.chmod(0o755)
        done = self.doctor(code=1)
        self.assertEqual(done.stdout, "cuda:0 does NOT compute what the CPU does\n")
        self.program.write_text('#!/bin/sh\necho "$3"; exit 0\n')
        self.assertEqual(self.doctor(code=0).stdout, "60\n")

    def test_says_what_became_of_a_check_that_broke_off(self):
        self.program.unlink()
        self.program.write_text("#!/bin/sh\necho nothing works >&2; kill -9 $$\n")
        self.program.chmod(0o755)
        self.assertIn("nothing works", self.doctor(code=1).stderr)

    def test_has_the_report_as_json(self):
        self.assertFalse(json.loads(self.doctor("--json", code=1, KEDGE_FAKE_GPU="none").stdout)["agrees"])

    def test_says_what_is_missing(self):
        self.program.unlink()
        self.assertIn("comes with the server", self.doctor(code=1).stderr)


class Pack(WithFakeGpu):
    def test_runs_from_another_folder(self):
        shutil.copy2(PLUGIN, self.folder / "bin" / PLUGIN.name)
        archive, = subprocess.run([ROOT / "gpu_check" / "pack.sh", self.folder / "bin", self.folder], capture_output=True, text=True, check=True).stdout.splitlines()
        shutil.rmtree(self.folder / "kedge-gpu-check")
        subprocess.run(["tar", "-C", self.folder, "-xf", archive], check=True)
        done = self.run_program("--quiet", "--only", "limits", "--seconds", 20 * SLOWER, code=AGREES, program=self.folder / "kedge-gpu-check" / "run")
        self.assertIn("computes what the CPU does", done.stdout)


if __name__ == "__main__":
    unittest.main()
