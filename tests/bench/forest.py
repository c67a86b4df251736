"""Compares the forest with scikit-learn's on MNIST, in pairs: forest.py BENCH_PROGRAM MNIST_DIR [TREES] [PAIRS].

MNIST_DIR holds the four IDX files, gzipped. Prints seconds, processor seconds, accuracy and their ratios, and the medians.
"""
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier


def load(folder):
    def read(name, offset):
        with gzip.open(os.path.join(folder, name)) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)
    images = [read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784) for part in ("train", "t10k")]
    labels = [read(f"{part}-labels-idx1-ubyte.gz", 8) for part in ("train", "t10k")]
    return np.vstack(images).astype(np.float32), np.concatenate(labels)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fit_sklearn(X, y, trees, seed):
    test = np.arange(len(y)) % 5 == 0
    start, cpu = time.time(), cpu_seconds()
    model = RandomForestClassifier(trees, n_jobs=-1, random_state=seed).fit(X[~test], y[~test])
    seconds, cpu = time.time() - start, cpu_seconds() - cpu
    return seconds, cpu, model.score(X[test], y[test])


def main():
    program, folder = sys.argv[1:3]
    trees, pairs = (int(v) for v in (sys.argv[3:] + ["200", "3"][len(sys.argv) - 3:]))
    X, y = load(folder)
    with tempfile.TemporaryDirectory() as place:
        files = [os.path.join(place, name) for name in ("X.f32", "y.u8")]
        X.tofile(files[0]), y.tofile(files[1])
        print(f"scikit-learn {sklearn.__version__}, {trees} trees, {X.shape[0] * 4 // 5} x {X.shape[1]}")
        walls, cpus = [], []
        for pair in range(pairs):
            seconds, cpu, score = fit_sklearn(X, y, trees, pair)
            output = subprocess.run([program, *files, str(X.shape[0]), str(X.shape[1]), "10", str(trees), "1"],
                                    capture_output=True, text=True, check=True).stdout.splitlines()
            ours = json.loads(output[1])
            walls.append(seconds / ours["fit_s"]), cpus.append(cpu / ours["cpu_s"])
            print(f"scikit-learn {seconds:.2f} s, cpu {cpu:.2f} s, {score:.4f};  ours {ours['fit_s']:.2f} s, cpu {ours['cpu_s']:.2f} s, "
                  f"{ours['accuracy']:.4f};  ratio {walls[-1]:.1f}, cpu {cpus[-1]:.1f}", flush=True)
        print(f"median ratio {statistics.median(walls):.1f}, of processor time {statistics.median(cpus):.1f}")


if __name__ == "__main__":
    main()
