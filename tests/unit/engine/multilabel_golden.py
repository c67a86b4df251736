"""Writes multilabel_golden.inc: scikit-learn's scores and warnings of labels in several columns. Run it beside this file."""

import pathlib
import re
import warnings

import numpy as np
import sklearn
from sklearn import metrics as m

rng = np.random.default_rng(34)
lines = []
SHARES = {"f1": m.f1_score, "jaccard": m.jaccard_score, "precision": m.precision_score, "recall": m.recall_score}
AREAS = {"average_precision": (m.average_precision_score, {}), "roc_auc": (m.roc_auc_score, {}), "roc_auc_ovo": (m.roc_auc_score, {"multi_class": "ovo"}),
         "roc_auc_ovo_weighted": (m.roc_auc_score, {"multi_class": "ovo", "average": "weighted"}), "roc_auc_ovr": (m.roc_auc_score, {"multi_class": "ovr"}),
         "roc_auc_ovr_weighted": (m.roc_auc_score, {"multi_class": "ovr", "average": "weighted"})}

LOSSES = {"neg_log_loss": lambda y, p: -m.log_loss(y, p), "neg_brier_score": lambda y, p: -m.brier_score_loss(y, p),
          "d2_log_loss_score": m.d2_log_loss_score, "d2_brier_score": m.d2_brier_score}
NUMBERS = {"nan": "kNaN", "-inf": "-kInfinity"}
SUMS, NOTHING = "the probabilities of a row do not sum to one", "the shares of the labels have no loss to compare with"


def row(values):
    return "{" + ", ".join(str(int(v)) for v in np.ravel(values, order="F")) + "}"


def words(text):
    """The engine's of scikit-learn's warning."""
    if found := re.match(r".* is ill-defined and being set to 0.0 (.*)\. Use `zero_division`.*", text):
        return "is 0 " + found[1]
    return {"Only one class": "the area of a column with one class is NaN", "No positive cl": "a column that no row has the label of counts 0",
            "The y_prob val": SUMS, "D^2 score is n": "is NaN for fewer than two rows", "divide by zero": NOTHING, "invalid value ": NOTHING}[text[:14]]


def measured(name, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = float(call())
        except ZeroDivisionError:   # of d2_log_loss_score where no row has a label
            value = np.nan
            warnings.warn("divide by zero", RuntimeWarning)
    said = {words(str(w.message)) for w in caught}
    if NOTHING in said:
        said.discard(SUMS)
    assert len(said) < 2, said
    return f'{{"{name}", {NUMBERS.get(str(value), repr(value))}, "{"".join(said)}"}}'


def case(title, y, predicted, proba):
    """Arrays of rows x columns, written column by column; proba in 64ths, of the label."""
    scores = [measured("accuracy", lambda: m.accuracy_score(y, predicted))]
    scores += [measured(f"{name}_{average}", lambda f=f, average=average: f(y, predicted, average=average))
               for name, f in SHARES.items() for average in ("macro", "micro", "samples", "weighted")]
    scores += [measured(name, lambda f=f, more=more: f(y, proba / 64, **more)) for name, (f, more) in AREAS.items()]
    scores += [measured(name, lambda f=f: f(y, proba / 64)) for name, f in LOSSES.items()]
    lines.append(f'    {{"{title}", {y.shape[1]}, {row(y)},\n     {row(predicted)},\n     {row(proba)},\n     {{' + ",\n      ".join(scores) + "}},")


def drawn(n, k, share=0.4):
    y = (rng.random((n, k)) < share).astype(int)
    proba = np.clip(rng.integers(0, 45, (n, k)) + 20 * y, 0, 64)
    return y, (proba > 32).astype(int), proba


case("three columns", *drawn(40, 3))
case("nine columns, few labels", *drawn(33, 9, 0.1))
y, predicted, proba = drawn(20, 2)
case("all right", y, y, 64 * y)
case("all wrong", y, 1 - y, 64 * (1 - y))
case("none predicted", y, 0 * y, proba)
case("all predicted", y, 0 * y + 1, proba)
case("none true", 0 * y, predicted, proba)
case("none true nor predicted", 0 * y, 0 * y, proba)
case("all true", 0 * y + 1, predicted, proba)
y, predicted, proba = drawn(20, 3)
y[:, 1] = 0
case("a column without label", y, predicted, proba)
predicted[:, 1] = 0
case("a column without label, none predicted", y, predicted, proba)
y[:, 2] = 1
case("a column of labels only", y, predicted, proba)
case("one row", y[:1], predicted[:1], proba[:1])
first = f"// Written by multilabel_golden.py with scikit-learn {sklearn.__version__}."
pathlib.Path("multilabel_golden.inc").write_text("\n".join([first, "const std::vector<MultilabelCase> kMultilabel = {", *lines, "};\n"]))
