"""SMOTE, RandomOverSampler and RandomUnderSampler beside imbalanced-learn's: the same rows, row for row."""
from harness import Case, Exact, SYNTHETIC, blobs


def rare(seed, shares, n_rows=180, n_cols=5):
    """Blobs of which a class keeps a share of its rows; they lie close to each other."""
    X, y = blobs(n_rows=n_rows, n_cols=n_cols, n_classes=len(shares), distance=1.0, seed=seed)
    kept = [i for i, c in enumerate(y) if (i // len(shares)) % 10 < 10 * shares[c]]
    return [X[i] for i in kept], [y[i] for i in kept]


SYNTHETIC["rare"] = lambda: rare(51, (1.0, 0.3))
SYNTHETIC["rare_of_three"] = lambda: rare(52, (0.4, 1.0, 0.6))
SYNTHETIC["rare_in_many_columns"] = lambda: rare(53, (1.0, 0.5), n_cols=30)
SYNTHETIC["equally_many"] = lambda: rare(54, (1.0, 1.0, 1.0))

SEEDED = {"random_state": 3}
MADE = {"sampling_strategy_": Exact(), "fit_resample": 1e-14}
CHOSEN = {"sampling_strategy_": Exact(), "fit_resample": Exact()}
DATA = ("rare", "rare_of_three", "rare_in_many_columns", "equally_many")
WORDS = ("auto", "all", "not majority", "not minority")


def by_class(rows):
    """sampling_strategy by the names of classes, and there by the classes themselves."""
    return {"sampling_strategy": {str(c): n for c, n in rows.items()}}, {"sampling_strategy": rows}


def cases(name, checks, word, rows, f32, **params):
    found = [Case(name, {**SEEDED, **params}, data, checks, f32=f32, split=False) for data in DATA]
    found += [Case(name, {**SEEDED, **params, "sampling_strategy": w}, "rare_of_three", checks, f32=f32, split=False) for w in (*WORDS[1:], word)]
    found.append(Case(name, {**SEEDED, **params, "sampling_strategy": 0.7}, "rare", checks, f32=f32, split=False))
    here, there = by_class(rows)
    found.append(Case(name, {**SEEDED, **params, **here}, "rare_of_three", checks, f32=f32, split=False, sk=there))
    return found


GROWN, SHRUNK = {0: 24, 2: 55}, {0: 20, 1: 31}
CASES = (cases("SMOTE", MADE, "minority", GROWN, 1e-6) + cases("SMOTE", MADE, "minority", GROWN, 1e-6, k_neighbors=2)
         + cases("RandomOverSampler", CHOSEN, "minority", GROWN, None) + cases("RandomUnderSampler", CHOSEN, "majority", SHRUNK, None)
         + cases("RandomUnderSampler", CHOSEN, "majority", SHRUNK, None, replacement=True))
CASES += [Case("SMOTE", {"k_neighbors": 60}, "rare", error="class '1' has 18 rows, must have more than k_neighbors, which is 60"),
          Case("SMOTE", {"sampling_strategy": "majority"}, "rare", error="sampling_strategy is \"majority\""),
          Case("SMOTE", {"sampling_strategy": 0.2}, "rare", error="make it larger"),
          Case("SMOTE", {"sampling_strategy": 0.7}, "rare_of_three", error="the target has 3 classes"),
          Case("SMOTE", {"sampling_strategy": {"0": 3}}, "rare", error="wants 3 rows of class '0', which has"),
          Case("SMOTE", {"sampling_strategy": {"7": 90}}, "rare", error="but the data has no class \"7\""),
          Case("SMOTE", {"sampling_strategy": {"1": -1}}, "rare", error="must have a whole number of rows"),
          Case("SMOTE", {"k_neighbors": 0}, "rare", error="k_neighbors is 0, must be at least 1"),
          Case("RandomUnderSampler", {"sampling_strategy": "minority"}, "rare", error="sampling_strategy is \"minority\""),
          Case("RandomUnderSampler", {"sampling_strategy": {"1": 900}}, "rare", error="wants 900 rows of class '1', which has"),
          Case("RandomOverSampler", {"shrinkage": 0.5}, "rare", error="shrinkage")]
