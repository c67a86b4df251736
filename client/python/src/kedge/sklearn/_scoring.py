"""Scorers of scikit-learn by the server's names."""
from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer

from ._decide import FitsAlone, Remote
from ._describe import leaves
from ._table import Target, Targets

# Scorers that count the label 1 as positive.
POSITIVE = frozenset({"f1", "precision", "recall", "jaccard", "average_precision", "neg_brier_score", "d2_brier_score", "positive_likelihood_ratio",
                      "neg_negative_likelihood_ratio"})
SHARES_OF_LABELS = frozenset(f"{name}_{average}" for name in ("f1", "jaccard", "precision", "recall") for average in ("macro", "micro", "samples", "weighted"))
AREAS_OF_LABELS = frozenset({"average_precision", "roc_auc", "roc_auc_ovo", "roc_auc_ovo_weighted", "roc_auc_ovr", "roc_auc_ovr_weighted"})
LOSSES_OF_LABELS = frozenset({"neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score"})
BY_PROBABILITY = AREAS_OF_LABELS | LOSSES_OF_LABELS
OF_LABELS = SHARES_OF_LABELS | BY_PROBABILITY   # of labels in several columns, which need both classes of each
BY_DECISION = frozenset({"average_precision", "roc_auc"})   # read decision_function where there is one


def names_of(scorer: Any, estimator: Any, remote: Remote, target: Target | Targets) -> dict[str, str]:
    """The server's name of each scorer by the caller's; of a single one by "". Raises FitsAlone: scikit-learn can score here."""
    scorers = scorer._scorers if isinstance(scorer, _MultimetricScorer) else scorer if isinstance(scorer, dict) else {"": scorer}
    names = {name: _name_of(one, estimator, remote) for name, one in scorers.items()}
    if isinstance(target, Targets):
        _check_columns(scorers, names, target, leaves(estimator)[-1])
    for name in names.values():
        if name in POSITIVE and not target.says_positive:
            raise FitsAlone(f"scorer '{name}' counts the label 1, and the labels are not 0 and 1")
    return names


def _check_columns(scorers: dict[str, Any], names: dict[str, str], target: Targets, last: Any) -> None:
    """Raises FitsAlone. Of any labels in several columns the server has score(), the share of rows in which all are right; of zeros and ones scikit-learn's
    scorers of them. Its estimators of several targets answer with probabilities and have no decisions."""
    if target.columns[0].classes is None:
        return
    for name, scorer in scorers.items():
        known = names[name]
        if isinstance(scorer, _PassthroughScorer) or (known == "accuracy" and target.is_indicator):
            continue
        if known not in OF_LABELS or not target.is_indicator:
            raise FitsAlone(f"the server has no scorer '{known}' of several columns of labels")
        if not target.says_positive:
            raise FitsAlone(f"scorer '{known}' needs zeros and ones in each column, and one of y is constant")
        if known in BY_PROBABILITY and (not hasattr(last, "predict_proba") or (known in BY_DECISION and hasattr(last, "decision_function"))):
            raise FitsAlone(f"scorer '{known}' reads decisions of {type(last).__name__}, and the server has its probabilities at most")


def _name_of(scorer: Any, estimator: Any, remote: Remote) -> str:
    if isinstance(scorer, _PassthroughScorer):
        return _own(leaves(estimator)[-1])
    if not hasattr(scorer, "_score_func"):
        raise FitsAlone(f"the scorer {getattr(scorer, '__name__', type(scorer).__name__)} is a function of the program's own")
    for name in remote.scorers:
        if _is_same(scorer, name):
            return name
    raise FitsAlone(f"the server has no scorer {scorer!r}".replace("make_scorer", "of"))


def _is_same(scorer: Any, name: str) -> bool:
    try:
        known = get_scorer(name)
    except ValueError:   # the server's own, or of a newer scikit-learn
        return False
    return type(scorer) is type(known) and _parts(scorer) == _parts(known)


def _parts(scorer: Any) -> tuple[Any, ...]:
    arguments = {name: value for name, value in scorer._kwargs.items() if (name, value) != ("pos_label", None)}   # average= says that, too
    return scorer._score_func, scorer._sign, arguments, getattr(scorer, "_response_method", None)


def _own(estimator: Any) -> str:
    """What score() of an estimator of the catalogue is."""
    for mixin, name in ((ClassifierMixin, "accuracy"), (RegressorMixin, "r2")):
        if isinstance(estimator, mixin):
            return name
    raise FitsAlone(f"score() of {type(estimator).__name__} is not among the server's scorers")
