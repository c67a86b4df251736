"""Compares every estimator with scikit-learn over the cases of cases_*.py, live or against the recorded answers.

    differential.py                     live: needs scikit-learn
    differential.py --golden            against golden/*.json; needs Python alone
    differential.py --write-golden      record what scikit-learn finds
    differential.py --table             also write table.md: estimator x dtype x checks x worst error
    differential.py --since COMMIT      only families whose cases or recorded answers that commit lacks; all, if what compares has changed
Options: --shard I/N (every Nth case), --family NAME ..., --only ESTIMATOR ..., --probe PATH, --device NAME, --verbose.
"""
import argparse
import array
import datetime
import importlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import harness
from harness import METHODS, Case, Exact, Spread, comparison, in_float32, magnitude, sampled_rows, shape, to_rows

FOLDER = pathlib.Path(__file__).parent
PROBE = FOLDER.parent.parent / "build" / "dev" / "bin" / "kedge_estimator_probe"
TABLE = FOLDER / "table.md"
PYTHONS_OWN = {"estimator_", "estimators_", "estimators_samples_", "sparse_coef_", "outputs_2d_", "le_", "final_estimator_", "named_estimators_", "label_binarizer_", "init_", "transformer_", "affinity_matrix_", "f_", "initial_imputer_", "imputation_sequence_", "random_state_", "root_", "dummy_leaf_",
               "nn_k_", "sample_indices_"}   # objects, or other forms of what is there


def families(names):
    found = sorted(p.stem.removeprefix("cases_") for p in FOLDER.glob("cases_*.py"))
    return [f for f in found if not names or f in names]


def changed_since(commit):
    """Families that a live comparison may judge otherwise than the one behind that commit's recorded answers."""
    done = subprocess.run(["git", "diff", "--name-only", "--relative", commit, "--", "."], cwd=FOLDER, capture_output=True, text=True, check=True)
    files = [pathlib.Path(line) for line in done.stdout.splitlines()]
    if any(file.name in ("differential.py", "harness.py", "probe.cc") for file in files):
        return families([])
    return [family for family in families([]) if {pathlib.Path(f"cases_{family}.py"), pathlib.Path(f"golden/{family}.json")} & set(files)]


def cases_of(family):
    cases = importlib.import_module(f"cases_{family}").CASES
    ids = [c.id for c in cases]
    repeated = {i for i in ids if ids.count(i) > 1}
    assert not repeated, f"{family}: the same case twice: {repeated}"
    return cases


class Rows:
    """The data of a case: rows to fit and rows to apply the fitted estimator to."""

    def __init__(self, case):
        X, y = harness.load(case.data)
        fit = [i for i in range(len(X)) if not case.split or i % 3 != 0]
        self.test = [X[i] for i in range(len(X)) if not case.split or i % 3 == 0]
        self.X, self.y = [X[i] for i in fit], [y[i] for i in fit]
        columns = list(zip(*y)) if isinstance(y[0], tuple) else [y]
        self.is_classes = all(isinstance(v, int) for column in columns for v in column)
        classes = [sorted(set(column)) if self.is_classes else [] for column in columns]
        self.outputs = list(zip(*self.y)) if isinstance(y[0], tuple) else []   # the columns of several targets
        self.classes = classes if self.outputs else classes[0]
        self.weights = [float(i % 4) for i in range(len(fit))] if case.weights == "counts" else None


# --- Kedge ---

class Probe:
    def __init__(self, path, device):
        self.device = device
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = tempfile.TemporaryDirectory()

    def file(self, name, numbers):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(array.array("d", numbers).tobytes())
        return str(path)

    def target(self, name, y, classes):
        found = {"values": self.file("values" + name, y)}
        if classes:
            found |= {"codes": self.file("codes" + name, [classes.index(v) for v in y]), "classes": [str(c) for c in classes]}
        return found

    def run(self, case, rows, dtype):
        spec = {"steps": [{"estimator": e, "params": p} for e, p in [*case.before, (case.estimator, case.params)]], "dtype": dtype,
                "device": self.device, "sparse": case.sparse, "X": self.file("X", [v for row in rows.X for v in row]), "n_cols": len(rows.X[0]),
                "test": self.file("test", [v for row in rows.test for v in row]),
                "want": ["attributes"] + [m for m in case.checks if m in METHODS]}
        if rows.outputs:
            spec["outputs"] = [self.target(f"_{k}", *column) for k, column in enumerate(zip(rows.outputs, rows.classes))]
        else:
            spec |= self.target("", rows.y, rows.classes)
        if rows.weights:
            spec["weights"] = self.file("weights", rows.weights)
        self.process.stdin.write(json.dumps(spec) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the probe ended in: {case.id}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def kedge_rows(case, answer, name, rows):
    value = answer[name] if name in METHODS else answer["attributes"][name]
    found = to_rows(value)
    if name == "predict" and rows.is_classes and "classes_" in answer["attributes"]:   # codes of classes, but what has none gives numbers of its own
        classes = rows.classes if rows.outputs else [rows.classes]
        found = [[classes[k][int(v)] for k, v in enumerate(row)] for row in found]
    return found


# --- scikit-learn ---

OWN = {"draws"}   # parameters that scikit-learn does not have

class ScikitLearn:
    def __init__(self):
        import numpy
        import sklearn
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (it brings the name)
        from sklearn.utils import all_estimators
        from sklearn.neighbors import BallTree, KDTree
        self.numpy, self.version, self.TREES = numpy, sklearn.__version__, (BallTree, KDTree)
        self.classes = dict(all_estimators())
        self.classes |= self.resamplers()

    def resamplers(self):
        """Those of imbalanced-learn, if it is there."""
        try:
            from imblearn import over_sampling, under_sampling
        except ImportError:
            print("imbalanced-learn is not installed: its resamplers are not compared")
            return {}
        return {name: getattr(module, name) for module in (over_sampling, under_sampling) for name in module.__all__}

    def fitted(self, case, rows, **more):
        import warnings
        np = self.numpy
        X, test, y = np.array(rows.X), np.array(rows.test), np.array(rows.y)
        if case.sparse:
            import scipy.sparse
            X, test = scipy.sparse.csr_matrix(X), scipy.sparse.csr_matrix(test)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, params in case.before:
                step = self.classes[name](**self.arguments(params)).fit(X, y)
                X, test = step.transform(X), step.transform(test)
                if not case.sparse:
                    X, test = self.dense(X), self.dense(test)
            params = {name: value for name, value in {**case.params, **(case.sk or {}), **more}.items() if name not in OWN}
            estimator = self.classes[case.estimator](**self.arguments(params))
            estimator.fit(X, y, **({"sample_weight": np.array(rows.weights)} if rows.weights else {}))
        return estimator, test

    def arguments(self, params):
        return {k: self.argument(k, v) for k, v in params.items()}

    def argument(self, name, value):
        """The value of a parameter as scikit-learn takes it: ranges as tuples, NaN as such, transformers as objects."""
        if name.endswith("_range") and isinstance(value, list):
            return tuple(value)
        if name == "score_func":   # there it is the function itself
            import sklearn.feature_selection
            return getattr(sklearn.feature_selection, value)
        if name in ("func", "inverse_func"):
            return self.function(value)
        if name in ("transformers", "transformer_list"):
            return [(part["name"], self.made(part["transformer"]), *([part["columns"]] if "columns" in part else [])) for part in value]
        if name == "estimators":
            return [(part["name"], self.made(part["estimator"])) for part in value]
        if name in ("missing_values", "encoded_missing_value", "unknown_value"):
            return harness.number(value)
        return self.made(value) if name in ("remainder", "estimator", "final_estimator", "regressor") else value

    def function(self, value):
        """numpy's function of that name, or the formulas of FunctionTransformer as the Python that they are."""
        np = self.numpy
        if value is None or (isinstance(value, str) and hasattr(np, value)):
            return value and getattr(np, value)
        names = {**vars(np), "min": np.minimum, "max": np.maximum}
        if isinstance(value, str):
            return lambda X: np.asarray(eval(value, names | {"x": X}), dtype=float)
        formulas = [text.split("=", 1)[1].strip() for text in value]
        return lambda X: np.column_stack([np.asarray(eval(f, names | {f"x{j}": column for j, column in enumerate(X.T)}), dtype=float) for f in formulas])

    def made(self, step):
        if isinstance(step, list):
            from sklearn.pipeline import make_pipeline
            return make_pipeline(*[self.made(s) for s in step])
        return step if isinstance(step, str) else self.classes[step["estimator"]](**self.arguments(step.get("params", {})))

    def dense(self, value):
        return value.toarray() if hasattr(value, "toarray") else value

    def plain(self, value):
        np = self.numpy
        value = self.dense(value)
        if isinstance(value, np.ndarray):
            value = value.tolist()   # whose elements are numpy's own if it holds objects
        if isinstance(value, (list, tuple)):
            return [self.plain(v) for v in value]
        if isinstance(value, dict):   # of classes, as Kedge has them
            return {str(self.plain(k)): self.plain(v) for k, v in value.items()}
        return value.item() if isinstance(value, np.generic) else value

    def rows(self, case, rows, name, found):
        estimator, test = found
        if name == "fit_transform":   # of the rows of the fit
            import warnings
            from sklearn.base import clone
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return to_rows(self.plain(clone(estimator).fit_transform(self.numpy.array(rows.X), self.numpy.array(rows.y))))
        if name == "fit_resample":   # the rows, each with the code of its class behind it
            made, classes = estimator.fit_resample(self.numpy.array(rows.X), self.numpy.array(rows.y))
            return [[*row, float(rows.classes.index(c))] for row, c in zip(self.plain(made), self.plain(classes))]
        value = getattr(estimator, name)
        if rows.outputs and name == "predict_proba":   # a matrix for each target; a chain has the second class of each
            shares = value(test)
            parts = shares if isinstance(shares, list) else [self.numpy.column_stack([1 - share, share]) for share in shares.T]
            return to_rows(self.plain(self.numpy.hstack(parts)))
        return to_rows(self.plain(value(test) if name in METHODS else value))

    def attributes(self, estimator):
        """Names of what fit() left."""
        names = [name for name in dir(estimator) if name.endswith("_") and not name.startswith("_")]
        return [name for name in names if name not in PYTHONS_OWN and hasattr(estimator, name) and not isinstance(getattr(estimator, name), self.TREES)]

    def record(self, case, rows):
        found = self.fitted(case, rows)
        record = {"attributes": self.attributes(found[0]), "columns": getattr(found[0], "n_features_in_", len(rows.X[0]))}
        for name, check in case.checks.items():
            if isinstance(check, Spread):
                values = [harness.flat(self.rows(case, rows, name, self.fitted(case, rows, random_state=s))) for s in range(check.seeds)]
                kept = [[min(v for run in values for v in run), max(v for run in values for v in run)]]
                record[name] = {"shape": None, "scale": magnitude(kept), "rows": kept}
                continue
            full = self.rows(case, rows, name, found)
            record[name] = {"shape": shape(full), "scale": magnitude(full), "rows": [full[i] for i in sampled_rows(*shape(full))]}
        return record


# --- the comparison ---

def judge(case, dtype, name, expected, actual):
    """(error, failure or None) of one check."""
    compare = comparison(case.checks[name])
    if dtype == "float32":
        compare = in_float32(case, name, compare)
    if expected["shape"] is not None:
        if shape(actual) != expected["shape"]:
            return math.inf, f"shape {shape(actual)}, expected {expected['shape']}"
        actual = [actual[i] for i in sampled_rows(*shape(actual))]
    error = compare.error(expected["rows"], actual, expected["scale"])
    return error, None if error <= compare.tolerance else f"error {error:.3g}, tolerance {compare.tolerance:.3g}"


def run_case(case, dtype, probe, record, report):
    rows = Rows(case)
    answer = probe.run(case, rows, dtype)
    if case.error:
        message = answer.get("error", {}).get("message", "it was not refused")
        return report.add(case, dtype, "error", 0.0, None if case.error in message else f"'{message}' lacks '{case.error}'")
    if "error" in answer:
        return report.add(case, dtype, "fit", math.inf, answer["error"]["message"])
    if "attributes" in record:   # golden files that were written before have none
        missing = [name for name in record["attributes"] if name not in answer["attributes"]]
        report.add(case, dtype, "attributes", 0, f"{', '.join(missing)} missing" if missing else None)
        columns = answer["attributes"]["n_features_in_"]
        report.add(case, dtype, "n_features_in_", 0, None if columns == record["columns"] else f"{columns}, expected {record['columns']}")
    for name in case.checks:
        if dtype == "float32" and name in case.not_in_f32:
            continue
        if name not in METHODS and name not in answer["attributes"]:
            report.add(case, dtype, name, math.inf, "no such attribute")
            continue
        report.add(case, dtype, name, *judge(case, dtype, name, record[name], kedge_rows(case, answer, name, rows)))


class Report:
    def __init__(self, verbose):
        self.verbose, self.failures, self.worst = verbose, [], {}

    def add(self, case, dtype, name, error, failure):
        count, worst, where = self.worst.get((case.estimator, dtype), (0, -1.0, ""))
        is_exact = isinstance(case.checks.get(name), (Exact, Spread)) or not isinstance(error, float)
        if not is_exact and error > worst:
            worst, where = error, name
        self.worst[case.estimator, dtype] = (count + 1, worst, where)
        if failure or self.verbose:
            print(f"{'FAIL' if failure else 'ok  '} {dtype} {case.id}: {name}: {failure or f'{error:.3g}'}")
        if failure:
            self.failures.append(case.id)

    def table(self, version):
        lines = ["# The last comparison of every estimator with scikit-learn", "",
                 f"{datetime.date.today()}, against scikit-learn {version}; errors are relative to the largest magnitude of what is compared.", "",
                 "| estimator | dtype | checks | worst error | in |", "|---|---|---|---|---|"]
        for (estimator, dtype), (count, worst, where) in sorted(self.worst.items()):
            lines.append(f"| {estimator} | {dtype} | {count} | {f'{worst:.1e}' if worst >= 0 else 'exact'} | {where} |")
        return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--write-golden", action="store_true")
    parser.add_argument("--family", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--since")
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--probe", default=PROBE)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    report, sk = Report(options.verbose), None if options.golden else ScikitLearn()
    probe, version = None if options.write_golden else Probe(options.probe, options.device), ""
    shard, shards = map(int, options.shard.split("/"))
    number = 0
    for family in changed_since(options.since) if options.since else families(options.family):
        golden_path = FOLDER / "golden" / f"{family}.json"
        golden = json.loads(golden_path.read_text()) if options.golden else {"version": sk.version, "cases": {}}
        version = golden["version"]
        for case in cases_of(family):
            number += 1
            if (options.only and case.estimator not in options.only) or number % shards != shard % shards:
                continue
            if sk and not case.error and case.estimator not in sk.classes:
                continue
            record = None if case.error else golden["cases"][case.id] if options.golden else sk.record(case, Rows(case))
            golden["cases"][case.id] = record
            for dtype in ["float64"] + ([] if case.f32 is None else ["float32"]):
                if probe:
                    run_case(case, dtype, probe, record, report)
        if options.write_golden and not options.only:
            lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in golden["cases"].items() if v is not None]
            golden_path.write_text(f'{{"version": "{sk.version}", "cases": {{\n' + ",\n".join(lines) + "\n}}\n")
    if probe:
        probe.close()
    if options.table:
        TABLE.write_text(report.table(version))
    checks = sum(count for count, _, _ in report.worst.values())
    print(f"{checks} checks of {len({e for e, _ in report.worst})} estimators, {len(report.failures)} failed")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
