"""Writes pipeline_golden.inc: scores of deterministic pipelines by scikit-learn on iris and digits. Run it beside this file."""

import sklearn
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

SCORING = ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"]
# Solved far beyond the default tolerance, so that labels do not depend on where a solver stops.
LOGISTIC = dict(tol=1e-10, max_iter=10000)
MODELS = {
    "GaussianNB": lambda: GaussianNB(),
    "KNeighborsClassifier": lambda: KNeighborsClassifier(),
    "StandardScaler,LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)),
    "MinMaxScaler,KNeighborsClassifier": lambda: make_pipeline(MinMaxScaler(), KNeighborsClassifier()),
}
out = open("pipeline_golden.inc", "w")


def numbers(values):
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


print(f"// Written by pipeline_golden.py with scikit-learn {sklearn.__version__}.", file=out)
print("const std::vector<CvCase> kCvCases = {", file=out)
for name, (X, y) in {"iris": load_iris(return_X_y=True), "digits": load_digits(return_X_y=True)}.items():
    for model, make in MODELS.items():
        for splitter, seed in (("auto", None), ("KFold", 7), ("StratifiedKFold", 7)):
            if name == "digits" and splitter == "KFold":
                continue
            kind = KFold if splitter == "KFold" else StratifiedKFold
            scores = cross_validate(make(), X, y, cv=kind(5, shuffle=seed is not None, random_state=seed), scoring=SCORING,
                                    return_train_score=True)
            lists = [numbers(scores[f"test_{s}"]) for s in SCORING] + [numbers(scores["train_accuracy"])]
            print(f'    {{"{name}", "{model}", "{splitter}", {"std::nullopt" if seed is None else seed},\n     {{' +
                  ",\n      ".join(lists) + "}},", file=out)
print("};\nconst std::vector<SplitCase> kSplitCases = {", file=out)
for model, make in MODELS.items():
    for stratify in (False, True):
        X, y = load_digits(return_X_y=True)
        train_x, test_x, train_y, test_y = train_test_split(X, y, random_state=3, stratify=y if stratify else None)
        fitted = make().fit(train_x, train_y)
        scores = [get_scorer(s)(fitted, test_x, test_y) for s in SCORING]
        print(f'    {{"{model}", {"true" if stratify else "false"}, {numbers(scores)}}},', file=out)
print("};", file=out)
