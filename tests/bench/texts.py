#!/usr/bin/env python3
"""Takes texts apart with Kedge's engine (kedge_estimator_probe) and with scikit-learn, alternately, on the same texts, and prints the medians and their
ratios. The texts: 20,000 documents of 14 MB, words drawn by Zipf's law from 60,000.

    texts.py [--only NAME ...] [--pairs N] [--documents N] [--probe PATH]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
from sklearn.feature_extraction import text

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROBE = ROOT / "build" / "release" / "bin" / "kedge_estimator_probe"
JOBS = {"CountVectorizer": ("CountVectorizer", {}), "TfidfVectorizer": ("TfidfVectorizer", {}), "TfidfVectorizer bigrams": ("TfidfVectorizer", {"ngram_range": [1, 2]}),
        "HashingVectorizer": ("HashingVectorizer", {}), "TfidfVectorizer char_wb 3-4": ("TfidfVectorizer", {"analyzer": "char_wb", "ngram_range": [3, 4]})}


def documents(n):
    draw = np.random.RandomState(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = np.array(["".join(letters[np.minimum(draw.geometric(0.12, size=draw.randint(2, 12)) - 1, 21)]) for _ in range(60_000)])
    ranks = np.minimum(draw.zipf(1.25, size=n * 115) - 1, 59_999)
    return [" ".join(words[ranks[i * 115:(i + 1) * 115]]) + "." for i in range(n)]


def kedge_seconds(process, spec):
    process.stdin.write(json.dumps(spec) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if "error" in answer:
        raise SystemExit(answer["error"]["message"])
    return answer["fit"] + answer["apply"]


def sklearn_seconds(name, params, texts):
    params = {key: tuple(value) if key == "ngram_range" else value for key, value in params.items()}
    start = time.perf_counter()
    getattr(text, name)(**params).fit_transform(texts)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--probe", default=PROBE)
    options = parser.parse_args()
    texts = documents(options.documents)
    categories = sorted(set(texts))
    place = {one: i for i, one in enumerate(categories)}
    megabytes = sum(len(one) for one in texts) / 1e6
    print(f"{len(texts):,} documents, {megabytes:.1f} MB", flush=True)
    process = subprocess.Popen([options.probe], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory() as folder:
        codes = pathlib.Path(folder) / "X"
        codes.write_bytes(np.array([place[one] for one in texts], dtype="f8").tobytes())
        for row, (name, params) in JOBS.items():
            if options.only and row not in options.only:
                continue
            spec = {"steps": [{"estimator": name, "params": params}], "X": str(codes), "n_cols": 1, "want": ["transform_only"],
                    "features": [{"name": "text", "categories": categories}]}
            pairs = [(kedge_seconds(process, spec), sklearn_seconds(name, params, texts)) for _ in range(options.pairs)]
            ours, theirs = (statistics.median(side) for side in zip(*pairs))
            print(f"| {row} | {len(texts):,} texts, {megabytes:.0f} MB, float64 | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f} |", flush=True)
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    main()
