"""Writes register_table.inc: the registers that ptxas gives a thread of each kernel, by compute capability. Needs nvcc and c++filt.

python3 engine/backend/emulated/register_table.py BUILD [FILE.cu...]     BUILD: a build folder, for its generated headers

With files, only the kernels of these are looked up again. Run it when a kernel was added or changed."""
import pathlib
import re
import subprocess
import sys

CAPABILITIES = [75, 80, 89, 90, 100]   # as in register_table.cc
ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = pathlib.Path(__file__).with_name("register_table.inc")
FLAGS = ["-std=c++20", "--fmad=false", "--expt-relaxed-constexpr", "-cubin", "-Xptxas", "-v", "-o", "/dev/null"]   # as in cuda/CMakeLists.txt


def short_name(demangled):
    """As short_kernel_name() of kernel_symbols.cc."""
    name = re.sub(r"_INTERNAL_\w+::", "", demangled.replace("(anonymous namespace)::", "").replace("kedge::engine::", ""))
    depth, begin = 0, 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == " ":
            begin = i + 1
        if depth == 0 and letter == "(":
            return name[begin:i]
    return name[begin:]


def registers_in(file, capability, build):
    """{kernel: registers}; of kernels of one name the most."""
    command = ["nvcc", *FLAGS, f"-arch=sm_{capability}", "-I", str(ROOT), "-I", str(build / "generated"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{file} does not compile for sm_{capability}:\n{done.stderr}")
    found = re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", done.stderr + done.stdout, re.S)
    names = subprocess.run(["c++filt"], input="\n".join(name for name, _ in found), capture_output=True, text=True, check=True).stdout.splitlines()
    table = {}
    for name, (_, registers) in zip(names, found):
        table[short_name(name)] = max(int(registers), table.get(short_name(name), 0))
    return table


def read_table():
    table = {}
    for name, numbers in re.findall(r'\{"(.*?)", \{(.*?)\}\}', TABLE.read_text() if TABLE.exists() else ""):
        table[name] = [int(number) for number in numbers.split(",")] if name and numbers else []
    return {name: numbers for name, numbers in table.items() if numbers}


def write_table(table):
    lines = ["// Written by register_table.py: a kernel, and its registers on 7.5, 8.0, 8.9, 9.0 and 10.0.\n"]
    lines += ['{"%s", {%s}},\n' % (name, ", ".join(map(str, numbers))) for name, numbers in sorted(table.items())]
    TABLE.write_text("".join(lines))


def main():
    build, files = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(name) for name in sys.argv[2:]]
    table = read_table() if files else {}
    if not files:
        files = sorted(file for file in (ROOT / "engine/backend/cuda").rglob("*.cu") if "native" not in file.parts)
    fresh = {}
    for file in files:
        for place, capability in enumerate(CAPABILITIES):
            for kernel, registers in registers_in(file, capability, build).items():
                row = fresh.setdefault(kernel, [0] * len(CAPABILITIES))
                row[place] = max(row[place], registers)
    write_table({**table, **fresh})


if __name__ == "__main__":
    main()
