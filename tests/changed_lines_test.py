"""tests/changed_lines.py on small repositories: what it finds, what it leaves alone, and when it passes over."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
NEAT, UNEVEN = "int one = 1;\n", "int   two=2 ;\n"
USED_AFTER_MOVE = """#include <string>
#include <utility>
std::string twice(std::string a) {
  std::string b = std::move(a);
  return a + b;
}
"""


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


class Repository:
    """A repository with one commit on main that holds these files."""

    def __init__(self, test, files):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.git("init", "--quiet", "--initial-branch=main")
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(HERE.parent / name, self.path)
        self.commit(files)

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *args], cwd=self.path, check=True)

    def write(self, files):
        for name, text in files.items():
            (self.path / name).write_text(text)

    def commit(self, files):
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=files")

    def branch(self):
        self.git("switch", "--quiet", "--create", "change")

    def compile(self, *names):
        entries = [{"directory": str(self.path), "file": name, "command": f"c++ -std=c++20 -c {name}"} for name in names]
        (self.path / "build").mkdir()
        (self.path / "build/compile_commands.json").write_text(json.dumps(entries))

    def check(self, *args):
        done = subprocess.run([sys.executable, HERE / "changed_lines.py", *args], cwd=self.path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@needs("clang-format-19")
class Format(unittest.TestCase):
    def test_a_changed_line_that_is_not_formatted_fails_and_is_shown(self):
        repository = Repository(self, {"a.cc": NEAT})
        repository.branch()
        repository.commit({"a.cc": NEAT + UNEVEN})
        code, text = repository.check("format")
        self.assertEqual(code, 1, text)
        self.assertIn("-int   two=2 ;\n+int two = 2;\n", text)
        self.assertIn("./run.sh format --fix", text)

    def test_lines_that_stand_there_from_before_are_left_alone(self):
        repository = Repository(self, {"a.cc": UNEVEN})
        repository.branch()
        repository.commit({"a.cc": UNEVEN + "\n" + NEAT})
        self.assertEqual(repository.check("format")[0], 0)

    def test_a_base_that_is_not_there_is_passed_over(self):
        code, text = Repository(self, {"a.cc": UNEVEN}).check("format", "--base", "HEAD~1")
        self.assertEqual(code, 0, text)
        self.assertIn("there is no commit HEAD~1 here", text)

    def test_all_commits_since_the_branch_left_main_are_the_change(self):
        repository = Repository(self, {"a.cc": NEAT})
        repository.branch()
        repository.commit({"a.cc": UNEVEN})
        repository.commit({"b.cc": NEAT})
        self.assertEqual(repository.check("format")[0], 1)

    def test_on_main_the_last_commit_is_the_change(self):
        repository = Repository(self, {"a.cc": UNEVEN})
        repository.commit({"b.cc": UNEVEN})
        code, text = repository.check("format")
        self.assertEqual(code, 1)
        self.assertIn("b.cc", text)
        self.assertNotIn("a.cc", text)

    def test_what_is_not_committed_yet_is_looked_at_new_files_too(self):
        repository = Repository(self, {"a.cc": NEAT})
        repository.branch()
        repository.write({"a.cc": UNEVEN, "b.h": UNEVEN})
        code, text = repository.check("format")
        self.assertEqual(code, 1)
        self.assertIn("a.cc", text)
        self.assertIn("b.h", text)

    def test_a_file_that_moves_is_not_a_changed_one(self):
        repository = Repository(self, {"a.cc": UNEVEN * 20})
        repository.branch()
        repository.git("mv", "a.cc", "b.cc")
        repository.commit({})
        self.assertEqual(repository.check("format")[0], 0)

    def test_fix_formats_the_changed_lines_alone(self):
        repository = Repository(self, {"a.cc": UNEVEN})
        repository.branch()
        repository.commit({"a.cc": UNEVEN + "\n" + UNEVEN.replace("two", "three")})
        self.assertEqual(repository.check("format", "--fix")[0], 0)
        self.assertEqual((repository.path / "a.cc").read_text(), UNEVEN + "\nint three = 2;\n")

    def test_without_an_earlier_commit_it_passes_over(self):
        code, text = Repository(self, {"a.cc": UNEVEN}).check("format")
        self.assertEqual((code, text), (0, "format: there is no commit to compare with; name one with --base: passed over\n"))

    def test_outside_a_checkout_it_passes_over(self):
        repository = Repository(self, {"a.cc": UNEVEN})
        shutil.rmtree(repository.path / ".git")
        self.assertEqual(repository.check("format"), (0, "format: this is no git checkout: passed over\n"))


@needs("clang-tidy-19")
class Tidy(unittest.TestCase):
    def changed(self, before, after):
        repository = Repository(self, {"a.cc": before})
        repository.branch()
        repository.commit({"a.cc": after})
        return repository

    def test_a_finding_in_a_changed_line_fails(self):
        repository = self.changed(NEAT, USED_AFTER_MOVE)
        repository.compile("a.cc")
        code, text = repository.check("tidy", "--build=build")
        self.assertEqual(code, 1, text)
        self.assertIn("bugprone-use-after-move", text)
        self.assertIn("tidy: clang-tidy finds something in changed lines of a.cc", text)

    def test_a_finding_that_stands_there_from_before_is_left_alone(self):
        repository = self.changed(USED_AFTER_MOVE, USED_AFTER_MOVE + "\n" + NEAT)
        repository.compile("a.cc")
        self.assertEqual(repository.check("tidy", "--build=build"), (0, "tidy: nothing found in the changed lines of 1 files\n"))

    def test_a_header_is_read_as_the_source_beside_it(self):
        repository = self.changed(NEAT, NEAT + "\n")
        repository.commit({"a.h": USED_AFTER_MOVE})
        repository.compile("a.cc")
        self.assertIn("finds something in changed lines of a.h", repository.check("tidy", "--build=build")[1])

    def test_a_file_that_clang_cannot_parse_is_named_and_no_fault(self):
        repository = self.changed(NEAT, "int one = unknown_name;\n")
        repository.compile("a.cc")
        code, text = repository.check("tidy", "--build=build")
        self.assertEqual(code, 0, text)
        self.assertIn("tidy: clang cannot parse these, so not looked at: a.cc", text)

    def test_what_the_time_does_not_suffice_for_is_named_and_no_fault(self):
        repository = self.changed(NEAT, USED_AFTER_MOVE)
        repository.compile("a.cc")
        code, text = repository.check("tidy", "--build=build", "--seconds=0")
        self.assertEqual(code, 0)
        self.assertIn("tidy: the 0 s are over; not looked at: a.cc", text)

    def test_a_source_that_is_not_compiled_is_named(self):
        repository = self.changed(NEAT, USED_AFTER_MOVE)
        repository.compile()
        self.assertIn("tidy: not compiled in build, so not looked at: a.cc", repository.check("tidy", "--build=build")[1])

    def test_without_a_compilation_it_passes_over(self):
        code, text = self.changed(NEAT, USED_AFTER_MOVE).check("tidy", "--build=build")
        self.assertEqual((code, text), (0, "tidy: build is not configured: passed over\n"))


if __name__ == "__main__":
    unittest.main()
