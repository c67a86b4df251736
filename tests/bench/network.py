#!/usr/bin/env python3
"""Trains the network of examples/mnist_network.json on MNIST with Kedge's engine (kedge_estimator_probe) and with PyTorch, in turns, on the same cores: the same layers, dropout,
optimizer, learning rates, batches and epochs, without early stopping. Prints the seconds of each fit, medians, their ratio and the accuracies on the 10,000 test rows.

    network.py --data FOLDER [--pairs N] [--epochs N] [--rows N] [--probe PATH]

FOLDER has train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the two of t10k, as from https://ossci-datasets.s3.amazonaws.com/mnist/. It needs torch and numpy.
"""
import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, RATE = 256, 1e-3


def idx(path):
    """An array of bytes in the format of MNIST's files."""
    raw = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def tables(folder, rows):
    made = []
    for part in ("train", "t10k"):
        X, y = idx(folder / f"{part}-images-idx3-ubyte.gz"), idx(folder / f"{part}-labels-idx1-ubyte.gz")
        made += [X.reshape(len(X), -1).astype(np.float32) / np.float32(255), y.astype(np.int64)]
    return made[0][:rows], made[1][:rows], made[2], made[3]


class Kedge:
    """The engine in its own process; data as files of float64."""

    def __init__(self, probe, folder, data, epochs):
        self.probe, self.y = probe, data[3]
        names = dict(zip(("X", "codes", "test"), (data[0], data[1], data[2]), strict=True))
        for name, values in names.items():
            np.ascontiguousarray(values, np.float64).tofile(folder / name)
        params = {"layers": ["dense(512, relu)", "dropout(0.2)", "dense(256, relu)", "dropout(0.2)"], "solver": "adam", "batch_size": BATCH, "learning_rate_init": RATE,
                  "lr_schedule": f"cosine({epochs})", "max_iter": epochs, "n_iter_no_change": epochs, "alpha": 0.0}
        self.case = {**{name: str(folder / name) for name in names}, "n_cols": data[0].shape[1], "classes": [str(c) for c in range(10)], "dtype": "float32", "device": "cpu"}
        self.params = params

    def fit(self, seed):
        case = self.case | {"steps": [{"estimator": "MLPClassifier", "params": self.params | {"random_state": seed}}], "want": ["predict"]}
        run = subprocess.run([self.probe], input=json.dumps(case) + "\n", capture_output=True, text=True, check=True)
        answer = json.loads(run.stdout)
        if "error" in answer:
            raise SystemExit(f"Kedge: {answer['error']['message']}")
        return answer["fit"], float(np.mean(np.asarray(answer["predict"]["values"]) == self.y))


def fit_torch(data, epochs, seed):
    import torch
    torch.manual_seed(seed)
    X, y, X_test, y_test = (torch.from_numpy(part) for part in data)
    model = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 512), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Dropout(0.2),
                                torch.nn.Linear(256, 10))
    begin = time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    loss = torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        order = torch.randperm(len(X))
        for first in range(0, len(X), BATCH):
            rows = order[first:first + BATCH]
            optimizer.zero_grad()
            loss(model(X[rows]), y[rows]).backward()
            optimizer.step()
        schedule.step()
    seconds = time.perf_counter() - begin
    model.eval()
    with torch.no_grad():
        return seconds, float((model(X_test).argmax(1) == y_test).double().mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--probe", default=str(ROOT / "build" / "release" / "bin" / "kedge_estimator_probe"))
    given = parser.parse_args()
    data = tables(given.data, given.rows)
    import torch
    torch.set_num_threads(len(os.sched_getaffinity(0)))   # as many as the engine takes
    with tempfile.TemporaryDirectory() as folder:
        kedge = Kedge(given.probe, pathlib.Path(folder), data, given.epochs)
        found = {"Kedge": [], "torch": []}
        for seed in range(given.pairs):
            for name, fit in (("Kedge", kedge.fit), ("torch", lambda seed: fit_torch(data, given.epochs, seed))):
                found[name].append(fit(seed))
                print(f"{name}: {found[name][-1][0]:.2f} s, accuracy {found[name][-1][1]:.4f}, load {os.getloadavg()[0]:.1f}", flush=True)
    seconds = {name: statistics.median(s for s, _ in fits) for name, fits in found.items()}
    print(f"medians: Kedge {seconds['Kedge']:.2f} s, torch {torch.__version__} {seconds['torch']:.2f} s, ratio {seconds['torch'] / seconds['Kedge']:.2f}; "
          f"least accuracy {min(a for _, a in found['Kedge']):.4f} and {min(a for _, a in found['torch']):.4f}")


if __name__ == "__main__":
    sys.exit(main())
