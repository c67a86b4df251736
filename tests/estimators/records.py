"""Compares DictVectorizer and FeatureHasher with scikit-learn, which gets each row of a table as a dictionary: names, indptr, indices and data.

    records.py                  live: needs scikit-learn
    records.py --golden         against golden/records.json; needs Python alone
    records.py --write-golden   record what scikit-learn finds
Options: --probe PATH, --device NAME.
"""
import argparse
import json
import math
import pathlib
import random
import sys

import differential
from texts import asked

GOLDEN = pathlib.Path(__file__).parent / "golden" / "records.json"
GIVEN = {"city": ["Paris", "New York", "Zürich", "東京", "", "a=b"], "size": None, "colour": ["red", "blue", "Red"], "Weight": None, "größe": None,
         "city=Paris": None}   # the last one gives a name that a city gives, too
NAN = math.nan


def table(n_rows=60, seed=3):
    """Cells: positions of categories, or numbers of at most 3 digits, some of them 0; a tenth is missing."""
    draw = random.Random(seed)
    return [[NAN if draw.random() < 0.1 else float(draw.randrange(len(c))) if c else draw.randrange(-40, 40) / 4 for c in GIVEN.values()] for _ in range(n_rows)]


ROWS = table()
FITTED, ASKED = [row[:] for row in ROWS[:40]], ROWS[30:]
for row in FITTED:   # later rows have categories that these lack
    row[0] = NAN if row[0] == 3.0 else row[0]
CASES = [("DictVectorizer", params) for params in ({}, {"sort": False}, {"separator": " is "}, {"sort": False, "separator": ""})]
CASES += [("FeatureHasher", params) for params in ({}, {"n_features": 8}, {"n_features": 8, "alternate_sign": False}, {"n_features": 1}, {"n_features": 2 ** 31 - 1})]


def key(case):
    return f"{case[0]} {json.dumps(case[1])}"


def dictionaries(rows):
    return [{name: c[int(v)] if c else v for (name, c), v in zip(GIVEN.items(), row) if not math.isnan(v)} for row in rows]


def record_of(case):
    from sklearn import feature_extraction
    name, params = case
    made = getattr(feature_extraction, name)(**params)
    found = made.fit(dictionaries(FITTED)).transform(dictionaries(ASKED))
    found.sum_duplicates()
    record = {"columns": found.shape[1], "indptr": found.indptr.tolist(), "indices": found.indices.tolist(), "data": found.data.tolist()}
    if name == "DictVectorizer":
        record |= {"feature_names_": made.feature_names_, "vocabulary_": made.vocabulary_}
    return record


def problem_of(record, answer):
    if "error" in answer:
        return answer["error"]["message"]
    found = {**answer["sparse_rows"], **answer["attributes"]}
    return next((f"{part} is {found[part]}, expected {expected}" for part, expected in record.items() if found[part] != expected), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--write-golden", action="store_true")
    parser.add_argument("--probe", default=differential.PROBE)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    records = json.loads(GOLDEN.read_text())["cases"] if options.golden else {key(case): record_of(case) for case in CASES}
    if options.write_golden:
        import sklearn
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in records.items()]
        GOLDEN.write_text(f'{{"version": "{sklearn.__version__}", "cases": {{\n' + ",\n".join(lines) + "\n}}\n")
        return 0
    probe, failures = differential.Probe(options.probe, options.device), 0
    features = [{"name": name, **({"categories": c} if c else {})} for name, c in GIVEN.items()]
    for case in CASES:
        for dtype in ("float64", "float32"):
            spec = {"steps": [{"estimator": case[0], "params": case[1]}], "dtype": dtype, "device": probe.device, "n_cols": len(GIVEN), "features": features,
                    "X": probe.file("X", [v for row in FITTED for v in row]), "test": probe.file("test", [v for row in ASKED for v in row]),
                    "want": ["attributes", "sparse_rows"]}
            problem = problem_of(records[key(case)], asked(probe, spec))
            if problem:
                failures += 1
                print(f"FAIL {dtype} {key(case)}: {problem}")
    probe.close()
    print(f"{len(CASES)} cases of records, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
