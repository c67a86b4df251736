"""What umap-learn finds: the numbers that tests/unit/engine/estimators/umap_test.cc holds UMAP to.

    python3 -m venv v && v/bin/pip install umap-learn==0.5.12 && v/bin/python tests/estimators/umap_peer.py

Prints curves, and the trustworthiness of five seeds on each data set.
"""
import warnings

import harness
import numpy as np
import umap
from sklearn.manifold import trustworthiness
from umap.umap_ import find_ab_params


def main():
    warnings.simplefilter("ignore")
    for spread, min_dist in ((1.0, 0.1), (1.0, 0.5), (2.0, 0.0)):
        a, b = find_ab_params(spread, min_dist)
        print(f"spread {spread}, min_dist {min_dist}: a {a:.10f}, b {b:.10f}")
    for name in ("wine", "digits"):
        X = np.array(harness.load(name)[0])
        found = [trustworthiness(X, umap.UMAP(random_state=seed).fit_transform(X), n_neighbors=15) for seed in range(5)]
        print(f"{name}: {min(found):.4f} to {max(found):.4f}")


if __name__ == "__main__":
    main()
