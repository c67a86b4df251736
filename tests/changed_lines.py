#!/usr/bin/env python3
"""Checks the lines of C++ that a change touches: their layout, by clang-format, and what clang-tidy finds in them.

    tests/changed_lines.py format [--fix]
    tests/changed_lines.py tidy [--seconds 300]      # needs build/dev with what `./run.sh test` builds

The change is what differs between --base and the files as they are, new files included. Without --base that is the
commit where the branch left main. On main itself it is the last commit, or the one before if no file has changed since.
Where there is no such commit, no git checkout or no tool, this says so and ends with 0.
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

CLANG_FORMAT = "clang-format-19"
# Without OpenMP: clang 19 refuses local variables of a function in a parallel region of a lambda, which gcc compiles.
CLANG_TIDY = ["clang-tidy-19", "--quiet", "--extra-arg=-fno-openmp"]
LAID_OUT, TIDIED = ("*.h", "*.cc", "*.cu", "*.cuh"), ("*.h", "*.cc")
HUNK = re.compile(r"^@@ .*\+(\d+)(?:,(\d+))? @@")


def git(*args):
    """The output, or None if git is not here or refuses."""
    try:
        done = subprocess.run(["git", "-c", "core.quotepath=off", *args], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def base_of_change():
    """Where this branch left main; on main itself HEAD, or its parent if nothing differs from it. None where there is none."""
    head = git("rev-parse", "HEAD")
    for branch in ("main", "origin/main"):
        fork = git("merge-base", branch, "HEAD")
        if fork and fork != head:
            return fork.strip()
    if git("status", "--porcelain", "--", *LAID_OUT):
        return head.strip()
    parent = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return parent and parent.strip()


def changed_lines(base, patterns):
    """{path: [(first, last), ...]}. A file that moved counts with the lines that changed on the way."""
    lines, path = {}, None
    for line in git("diff", "-U0", "-M", "--no-color", "--no-ext-diff", "--diff-filter=d", base, "--", *patterns).splitlines():
        if line.startswith("+++ b/"):
            path = line[len("+++ b/"):].rstrip("\t")
        elif match := HUNK.match(line):
            first, count = int(match[1]), int(match[2] or 1)
            if count:
                lines.setdefault(path, []).append((first, first + count - 1))
    for new in git("ls-files", "--others", "--exclude-standard", "--", *patterns).splitlines():
        lines[new] = [(1, max(1, pathlib.Path(new).read_text().count("\n")))]
    return lines


def check_format(lines, fix):
    faults = 0
    for path, ranges in sorted(lines.items()):
        command = [CLANG_FORMAT, *(f"--lines={first}:{last}" for first, last in ranges), path]
        if fix:
            subprocess.run([*command, "-i"], check=True)
            continue
        was = pathlib.Path(path).read_text()
        is_to_be = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        faults += was != is_to_be
        sys.stdout.writelines(difflib.unified_diff(was.splitlines(True), is_to_be.splitlines(True), path, "formatted", n=0))
    if faults:
        print(f"format: changed lines of {faults} files are laid out differently from .clang-format; `./run.sh format --fix` formats them")
    elif not fix:
        print(f"format: the changed lines of {len(lines)} files are as .clang-format has them")
    return faults == 0


def tidy_one(path, ranges, build, deadline):
    """What clang-tidy finds in these lines; None if the time is over."""
    only = json.dumps([{"name": path, "lines": ranges}])
    try:
        done = subprocess.run([*CLANG_TIDY, "-p", build, f"--line-filter={only}", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False, timeout=max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode else ""


def compiled_in(build):
    """The sources of which the compiler is called there."""
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    return {os.path.relpath(os.path.join(entry["directory"], entry["file"])) for entry in entries}


def check_tidy(lines, build, seconds):
    compiled, deadline = compiled_in(build), time.monotonic() + seconds
    paths = sorted((path for path in lines if path.endswith(".h") or path in compiled), key=lambda p: (p.endswith(".h"), p))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(paths, pool.map(lambda path: tidy_one(path, lines[path], build, deadline), paths)))
    late = [path for path, text in found.items() if text is None]
    # What clang 19 cannot parse is no fault of the change: gcc compiles it, or the build would have failed.
    refused = [path for path, text in found.items() if text and "[clang-diagnostic-error]" in text]
    faulty = [path for path, text in found.items() if text and path not in refused]
    if refused:
        print(f"tidy: clang cannot parse these, so not looked at: {', '.join(refused)}")
    if late:
        print(f"tidy: the {seconds:g} s are over; not looked at: {', '.join(late)}")
    if left_out := sorted(set(lines) - set(paths)):
        print(f"tidy: not compiled in {build}, so not looked at: {', '.join(left_out)}")
    print("".join(found[path] for path in faulty), end="")
    if faulty:
        print(f"tidy: clang-tidy finds something in changed lines of {', '.join(faulty)}; .clang-tidy has the checks")
    else:
        print(f"tidy: nothing found in the changed lines of {len(found) - len(late) - len(refused)} files")
    return not faulty


def reason_to_pass_over(args):
    """Why nothing can be checked here, or None."""
    tool = CLANG_FORMAT if args.what == "format" else CLANG_TIDY[0]
    if not git("rev-parse", "--is-inside-work-tree"):
        return "this is no git checkout"
    if not args.base:
        return "there is no commit to compare with; name one with --base"
    if git("rev-parse", "--verify", "--quiet", args.base + "^{commit}") is None:
        return f"there is no commit {args.base} here"
    if not shutil.which(tool):
        return f"{tool} is not installed"
    if args.what == "tidy" and not (pathlib.Path(args.build) / "compile_commands.json").exists():
        return f"{args.build} is not configured"
    return None


def main():
    parser = argparse.ArgumentParser(description="Checks the lines of C++ that a change touches.")
    parser.add_argument("what", choices=["format", "tidy"])
    parser.add_argument("--base", help="the commit before the change")
    parser.add_argument("--fix", action="store_true", help="format: formats the changed lines")
    parser.add_argument("--build", default="build/dev", help="tidy: a folder with compile_commands.json")
    parser.add_argument("--seconds", type=float, default=300, help="tidy: the time for all files together")
    args = parser.parse_args()
    args.base = args.base or base_of_change()
    if reason := reason_to_pass_over(args):
        print(f"{args.what}: {reason}: passed over")
        return
    top = git("rev-parse", "--show-toplevel").strip()
    os.chdir(top)
    passed = check_format(changed_lines(args.base, LAID_OUT), args.fix) if args.what == "format" else \
        check_tidy(changed_lines(args.base, TIDIED), args.build, args.seconds)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
