"""Compares the iterations of LogisticRegression with scikit-learn's: ten data sets, every solver, tol from 1e-2 to 1e-12.

    iterations.py                 against golden/iterations.json; needs Python alone; a CTest (estimators_iterations)
    iterations.py --write-golden  records how many scikit-learn takes; needs scikit-learn
    iterations.py --table         also writes iterations.md
Options: --probe PATH, --device NAME.
"""
import argparse
import json
import pathlib
import sys
import warnings

import differential
import harness

FOLDER = pathlib.Path(__file__).parent
GOLDEN, TABLE = FOLDER / "golden" / "iterations.json", FOLDER / "iterations.md"
SCALER = [("StandardScaler", {})]
DATA = {"iris": SCALER, "wine": SCALER, "breast_cancer": SCALER, "digits": SCALER, "blobs": [], "two_blobs": [], "ties": [],
        "rank_deficient_classes": SCALER, "badly_scaled_classes": SCALER, "counts": []}
BINARY = ("breast_cancer", "two_blobs", "rank_deficient_classes")
LARGE = ("digits", "breast_cancer")   # where scikit-learn's sag and saga take minutes
TOLS = [10.0 ** -e for e in range(2, 13)]
MOST, MAX_ITER = 1.5, 5000
SOLVERS = {"lbfgs": {}, "newton-cholesky": {}, "newton-cg": {}, "liblinear": {}, "sag": {}, "saga": {}, "saga, L1": {"solver": "saga", "l1_ratio": 1.0}}


def data_of(solver):
    if solver == "liblinear":
        return BINARY
    return [data for data in DATA if not solver.startswith("sag") or data not in LARGE]


def cases():
    for solver, more in SOLVERS.items():
        for data in data_of(solver):
            for tol in TOLS:
                yield solver, harness.Case("LogisticRegression", {"solver": solver, "tol": tol, "max_iter": MAX_ITER, **more}, data,
                                           before=DATA[data], split=False, sk={"random_state": 0})


def key(solver, case):
    return f"{solver} {case.data} {case.params['tol']:.0e}"


def record():
    sk = differential.ScikitLearn()
    from sklearn.exceptions import ConvergenceWarning
    found = {}
    for solver, case in cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[key(solver, case)] = max(int(n) for n in sk.fitted(case, differential.Rows(case))[0].n_iter_)
    lines = ",\n".join(f"{json.dumps(k)}: {n}" for k, n in found.items())
    GOLDEN.write_text(f'{{"scikit-learn": "{sk.version}", "n_iter": {{\n{lines}\n}}}}\n')


def compare(probe, golden):
    """Counts of Kedge by key, and what is wrong with them."""
    counts, failures = {}, []
    for solver, case in cases():
        name = key(solver, case)
        answer = probe.run(case, differential.Rows(case), "float64")
        if "error" in answer:
            failures.append(f"{name}: {answer['error']['message']}")
            continue
        counts[name] = answer["attributes"]["n_iter_"][0]
        if counts[name] > MOST * golden[name]:
            failures.append(f"{name}: {counts[name]} iterations, scikit-learn takes {golden[name]}")
        failures += [f"{name}: warns: {text}" for text in answer["warnings"]]
    return counts, failures


def write_table(counts, golden, version):
    lines = ["# Iterations of LogisticRegression compared with scikit-learn's", "",
             f"Written by `iterations.py --table`. Each cell: iterations of Kedge / of scikit-learn {version}, float64, max_iter {MAX_ITER}. "
             f"The test fails above {MOST} times, and for a warning.", ""]
    for solver in SOLVERS:
        lines += [f"## {solver}", "", "| data | " + " | ".join(f"{tol:.0e}" for tol in TOLS) + " |", "|---" * (len(TOLS) + 1) + "|"]
        for data in data_of(solver):
            names = [f"{solver} {data} {tol:.0e}" for tol in TOLS]
            lines.append(f"| {data} | " + " | ".join(f"{counts.get(n, '-')} / {golden[n]}" for n in names) + " |")
        lines.append("")
    TABLE.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write-golden", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--probe", default=str(differential.PROBE))
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.write_golden:
        return record()
    recorded = json.loads(GOLDEN.read_text())
    probe = differential.Probe(options.probe, options.device)
    counts, failures = compare(probe, recorded["n_iter"])
    probe.close()
    if options.table:
        write_table(counts, recorded["n_iter"], recorded["scikit-learn"])
    print(*failures, f"{len(counts)} fits, {len(failures)} failures", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
