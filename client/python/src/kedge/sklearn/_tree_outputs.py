"""Trees and forests that answer with several targets at once, as one of their kind for each target: the same nodes, with the values of that target."""
from __future__ import annotations

import copy
from typing import Any

from sklearn.base import is_classifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

NAMES = frozenset({"DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier",
                   "RandomForestRegressor"})


class _OneTarget:
    """A tree of scikit-learn, of whose values only those of one target are seen."""

    def __init__(self, tree: Any, target: int, width: int) -> None:
        self._tree = tree
        self.value = tree.value[:, target:target + 1, :width]   # those of targets with fewer classes are filled up

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)


def _of_target(model: Any, target: int) -> Any:
    is_of_classes = is_classifier(model)
    classes = model.classes_[target] if is_of_classes else ()
    own: dict[str, Any] = {"n_outputs_": 1, **({"classes_": classes, "n_classes_": len(classes)} if is_of_classes else {})}
    width = max(1, len(classes))
    if hasattr(model, "estimators_"):
        own["estimators_"] = [copy.copy(one) for one in model.estimators_]
        for one in own["estimators_"]:
            one.tree_ = _OneTarget(one.tree_, target, width)
    else:
        own["tree_"] = _OneTarget(model.tree_, target, width)
    made = copy.copy(model)
    vars(made).update(own)
    return made


def by_target(model: Any) -> Any:
    """The model; where it is a fitted tree or forest of several targets, the estimator of several targets that answers as it does."""
    if type(model).__name__ not in NAMES or not type(model).__module__.startswith("sklearn.") or getattr(model, "n_outputs_", 1) == 1:
        return model
    made = (MultiOutputClassifier if is_classifier(model) else MultiOutputRegressor)(model)
    made.estimators_ = [_of_target(model, target) for target in range(model.n_outputs_)]
    made.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        made.feature_names_in_ = model.feature_names_in_
    if is_classifier(model):
        made.classes_ = list(model.classes_)
    return made
