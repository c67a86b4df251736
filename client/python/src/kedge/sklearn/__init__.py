"""scikit-learn's own functions and searches, run by a server where it can.

    import kedge
    from sklearn.model_selection import GridSearchCV

    search = kedge.sklearn.fit(GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5]}), X, y)
    kedge.sklearn.cross_val_score(pipeline, X, y, cv=5)

What comes back is what scikit-learn gives: the same object, the same arrays. What the server cannot do runs here, and a warning says why.
"""
from __future__ import annotations

try:
    import sklearn as _scikit_learn
except ImportError as error:
    raise ImportError("kedge.sklearn needs scikit-learn 1.4 or newer: pip install scikit-learn") from error
if tuple(int(part) for part in _scikit_learn.__version__.split(".")[:2]) < (1, 4):
    raise ImportError(f"kedge.sklearn needs scikit-learn 1.4 or newer, this is {_scikit_learn.__version__}")

from . import _joblib as _joblib
from ._calls import cross_val_predict, cross_val_score, cross_validate, fit, learning_curve, validation_curve
from ._decide import Decision, NotSent
from ._draws import estimators_samples
from ._patch import explain, patch, unpatch
from ._profile import Profile

__all__ = ["Decision", "NotSent", "Profile", "cross_val_predict", "cross_val_score", "cross_validate", "estimators_samples", "explain", "fit", "learning_curve", "patch", "unpatch", "validation_curve"]
