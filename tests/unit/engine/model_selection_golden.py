"""Writes model_selection_golden.inc: draws of numpy's RandomState and index choices of scikit-learn. Run it beside this file."""

import warnings

import numpy as np
import sklearn
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

warnings.filterwarnings("ignore")
rng = np.random.default_rng(7)
TARGETS = {
    "kSkewed": rng.choice(4, size=37, p=[0.5, 0.25, 0.15, 0.1]),
    "kSorted": np.repeat([0, 1, 2], [20, 11, 9]),
    "kTied": np.tile([2, 0, 1, 3], 8),
}


def row(values):
    return "{" + ", ".join(str(int(v)) for v in values) + "}"


def splits(pairs):
    return "{" + ",\n    ".join("{" + row(train) + ", " + row(test) + "}" for train, test in pairs) + "}"


print_to = open("model_selection_golden.inc", "w")


def emit(line):
    print(line, file=print_to)


emit(f"// Written by model_selection_golden.py with scikit-learn {sklearn.__version__} and numpy {np.__version__}.")
for name, y in TARGETS.items():
    emit(f"const std::vector<std::int32_t> {name} = {row(y)};")

emit("const std::vector<DrawCase> kDraws = {")
for seed in (0, 1, 42, 2**32 - 1):
    state = np.random.RandomState(seed)
    words = [state.randint(0, 2**32, dtype=np.uint32) for _ in range(3)]
    permutations = [np.random.RandomState(seed).permutation(n) for n in (1, 2, 13, 40)]
    emit(f"    {{{seed}u, {{" + ", ".join(f"{w}u" for w in words) + "}, {" + ", ".join(row(p) for p in permutations) + "}},")
emit("};")
long_permutation = np.random.RandomState(5).permutation(100000)
emit(f"const std::int64_t kLongPermutationWeightedSum = {int((long_permutation * np.arange(100000)).sum())};")

emit("const std::vector<KFoldCase> kKFolds = {")
for n, k, seed in ((10, 2, None), (11, 3, None), (23, 5, None), (23, 5, 0), (23, 5, 42), (7, 7, 3)):
    folds = KFold(k, shuffle=seed is not None, random_state=seed).split(np.zeros(n))
    emit(f"    {{{n}, {k}, {'std::nullopt' if seed is None else f'{seed}u'}, {splits(folds)}}},")
emit("};")

emit("const std::vector<StratifiedCase> kStratified = {")
for name, y in TARGETS.items():
    for k, seed in ((2, None), (3, None), (3, 0), (5, 42)):
        folds = StratifiedKFold(k, shuffle=seed is not None, random_state=seed).split(np.zeros(len(y)), y)
        emit(f"    {{{name}, {k}, {'std::nullopt' if seed is None else f'{seed}u'}, {splits(folds)}}},")
emit("};")


def size(value):
    if value is None:
        return "std::nullopt"
    return f"SplitSize({value!r})" if isinstance(value, float) else f"SplitSize(std::int64_t{{{value}}})"


emit("const std::vector<TrainTestCase> kTrainTests = {")
for name, y in TARGETS.items():
    for test, train in ((None, None), (0.3, None), (8, None), (None, 0.6), (0.2, 0.5), (9, 12), (0.25, 11)):
        for kind in ("ordered", "shuffled", "stratified"):
            for seed in (0,) if kind == "ordered" else (0, 42):
                part = train_test_split(
                    np.arange(len(y)), test_size=test, train_size=train, shuffle=kind != "ordered",
                    random_state=None if kind == "ordered" else seed, stratify=y if kind == "stratified" else None)
                emit(f'    {{{name}, "{kind}", {size(test)}, {size(train)}, {seed}u, {{{row(part[0])}, {row(part[1])}}}}},')
emit("};")
