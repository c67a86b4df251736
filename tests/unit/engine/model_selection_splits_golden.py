"""Writes model_selection_splits_golden.inc: fingerprints of the splits of every splitter of scikit-learn. Run it beside this file."""

import warnings

import numpy as np
import sklearn
from sklearn import model_selection as ms

warnings.filterwarnings("ignore")
rng = np.random.default_rng(11)
out = open("model_selection_splits_golden.inc", "w")


def emit(line):
    print(line, file=out)


def labels(n, k, seed):
    """Skewed labels 0 .. k - 1, the same as the test's."""
    x, found = seed, []
    for _ in range(n):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        u = (x >> 16) % 1000
        found.append(u * u // 1000 * k // 1000)
    return np.array(found)


def fingerprint(splits):
    """FNV-1a over 32-bit words: the length and the rows of train, then those of test, of each split."""
    value = 0xCBF29CE484222325
    for split in splits:
        for part in split:
            for word in (len(part), *part):
                value = (value ^ int(word)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def optional(value, form="{}"):
    return "{}" if value is None else form.format(value)


def size(value):
    return optional(value, "SplitSize({!r})" if isinstance(value, float) else "SplitSize(std::int64_t{{{}}})")


def case(splitter, n, k=2, n_splits=5, n_repeats=1, test=None, train=None, max_train=None, gap=0, seed=None):
    data_seed = int(rng.integers(1, 1000))
    y = labels(n, k, data_seed)
    shuffle = {"shuffle": seed is not None, "random_state": seed}
    repeats = {"n_splits": n_splits, "n_repeats": n_repeats, "random_state": seed}
    parts = {"n_splits": n_splits, "test_size": test, "train_size": train, "random_state": seed}
    times = {"n_splits": n_splits, "max_train_size": max_train, "test_size": test, "gap": gap}
    try:
        made = {
            "KFold": lambda: ms.KFold(n_splits, **shuffle), "StratifiedKFold": lambda: ms.StratifiedKFold(n_splits, **shuffle),
            "GroupKFold": lambda: ms.GroupKFold(n_splits, **shuffle), "RepeatedKFold": lambda: ms.RepeatedKFold(**repeats),
            "RepeatedStratifiedKFold": lambda: ms.RepeatedStratifiedKFold(**repeats), "ShuffleSplit": lambda: ms.ShuffleSplit(**parts),
            "StratifiedShuffleSplit": lambda: ms.StratifiedShuffleSplit(**parts), "LeaveOneOut": ms.LeaveOneOut,
            "LeaveOneGroupOut": ms.LeaveOneGroupOut, "TimeSeriesSplit": lambda: ms.TimeSeriesSplit(**times),
        }[splitter]()
        found = f"{fingerprint(list(made.split(np.zeros(n), y, groups=y))):#x}u"
    except ValueError:
        found = "kRefused"
    emit(f'    {{"{splitter}", {n}, {k}, {data_seed}u, {n_splits}, {n_repeats}, {size(test)}, {size(train)}, {optional(max_train)}, {gap}, '
         f'{optional(seed, "{}u")}, {found}}},')


def pick(*values):
    return values[rng.integers(len(values))]


def seeds():
    return pick(0, 1, 42, 2**32 - 1, int(rng.integers(2**32)))


emit(f"// Written by model_selection_splits_golden.py with scikit-learn {sklearn.__version__} and numpy {np.__version__}.")
emit("const std::vector<SplitCase> kSplits = {")
for n in (1, 2, 3, 7, 10, 41, 64, 150, 333):
    for repeat in range(4):
        k, n_splits = pick(1, 2, 3, 7), pick(1, 2, 3, 5, 10)
        for splitter in ("KFold", "StratifiedKFold", "GroupKFold"):
            case(splitter, n, k, n_splits)
            case(splitter, n, k, n_splits, seed=seeds())
        for splitter in ("RepeatedKFold", "RepeatedStratifiedKFold"):
            case(splitter, n, k, pick(2, 3, 5), pick(1, 2, 4), seed=seeds())
        for splitter in ("ShuffleSplit", "StratifiedShuffleSplit"):
            for test in (None, 0.1, pick(0.2, 0.25, 0.5, 0.9), pick(1, 5, 20)):
                case(splitter, n, k, pick(1, 3, 10), test=test, train=pick(None, None, 0.3, 0.75, 4, 30), seed=seeds())
        for test in (None, pick(1, 2, 11)):
            case("TimeSeriesSplit", n, 2, n_splits, test=test, max_train=pick(None, 1, 4, 50), gap=pick(0, 0, 1, 5))
        case("LeaveOneGroupOut", n, k)
    if n < 100:
        case("LeaveOneOut", n)
for k in (20, 40):   # many classes, many groups
    for splitter in ("StratifiedKFold", "GroupKFold"):
        case(splitter, 700, k, 4)
        case(splitter, 700, k, 4, seed=seeds())
    case("StratifiedShuffleSplit", 2000, k, 3, seed=seeds())
emit("};")
