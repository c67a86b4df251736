"""Writes metrics_golden.inc: scores of random predictions by scikit-learn. Run it beside this file."""

import warnings

import numpy as np
import sklearn
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss

warnings.filterwarnings("ignore")
rng = np.random.default_rng(3)
out = open("metrics_golden.inc", "w")
print(f"// Written by metrics_golden.py with scikit-learn {sklearn.__version__}.\nconst std::vector<GoldenCase> kGolden = {{", file=out)
# The second case predicts a class that never occurs, the third misses one that does; the fourth has shares of 0 and 1.
for n, k, sharp, true_classes, predicted_classes in ((40, 3, 1, 3, 3), (25, 4, 1, 3, 4), (25, 4, 1, 4, 3), (30, 2, 0, 2, 2)):
    y = rng.integers(0, true_classes, n)
    predicted = rng.integers(0, predicted_classes, n)
    proba = rng.dirichlet(np.ones(k), n) if sharp else np.eye(k)[rng.integers(0, k, n)]
    scores = [accuracy_score(y, predicted), balanced_accuracy_score(y, predicted),
              f1_score(y, predicted, average="macro", zero_division=0), -log_loss(y, proba, labels=np.arange(k))]
    lists = [", ".join(repr(v) for v in values.tolist()) for values in (y, predicted, proba.ravel())]
    print(f"    {{{k}, {{{lists[0]}}}, {{{lists[1]}}},\n     {{{lists[2]}}},\n     {{{', '.join(repr(float(s)) for s in scores)}}}}},", file=out)
print("};", file=out)
