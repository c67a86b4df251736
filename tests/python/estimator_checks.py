"""scikit-learn's own checks of each estimator that kedge.sklearn can fill, with its fits on a real server, beside the same checks without one.

    KEDGE_BIN=build/dev/bin python tests/python/estimator_checks.py [ESTIMATOR...]

Fails for a check that fails with a server alone, and where fewer fits than before go there.
"""
import logging
import sys
import unittest
import warnings

from sklearn_case import RELEASE
import kedge
from kedge.sklearn import _fill, _kinds, _outputs
from kedge.testing import counts
from sklearn.experimental import enable_iterative_imputer  # noqa: F401   # which all_estimators() then lists
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import check_estimator

# Checks that fail with a server alone, and why.
DRAWN = "cuts are drawn among the values of all rows, those without weight too, so that leaving such rows out draws others"
EXPECTED = {**{(name, f"check_sample_weight_equivalence_on_{kind}_data"): DRAWN for name in ("ExtraTreesClassifier", "ExtraTreesRegressor")
               for kind in ("dense", "sparse")},
            **{("AdaBoostRegressor", f"check_sample_weight_equivalence_on_{kind}_data"): "rows are drawn by their weights; scikit-learn's own list has it, too"
               for kind in ("dense", "sparse")},
            ("QuantileRegressor", "check_sample_weights_invariance"):   # of scikit-learn 1.4
            "half of the rows are 1 and half 2, so that many lines have the least loss, and the server finds one between them",
            ("RidgeClassifier", "check_sample_weight_equivalence_on_sparse_data"):
            "sparse rows with weights are fitted here, those without go: two makers' solvers, each to tol"}
# Of fits that went, of all that the hook saw; by releases of scikit-learn, whose checks differ. Those before 1.6 do not say which estimator takes sparse rows, so
# that these stay. docs/python.md has what was measured.
LEAST_SHARE = 0.65 if RELEASE >= (1, 9) else 0.60 if RELEASE >= (1, 6) else 0.50
LEAST_FITS = 1500


def made_of(class_):
    """An estimator, with one inside where it needs one."""
    if class_.__name__ not in _kinds.OF_ESTIMATORS | _outputs.NAMES:
        return class_()
    return class_(estimator=LogisticRegression() if class_.__name__ == "MultiOutputClassifier" else Ridge())


def failures(model):
    if RELEASE < (1, 6):   # which does not report its checks
        return dict(failures_of_each(model))
    results = check_estimator(model, on_skip=None, on_fail=None)
    return {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}


def failures_of_each(model):
    for estimator, check in check_estimator(model, generate_only=True):
        try:
            check(estimator)
        except unittest.SkipTest:
            pass
        except Exception as error:
            yield check.func.__name__, error


def main(names):
    warnings.simplefilter("ignore")
    classes, n_new = dict(all_estimators()), 0
    log = logging.getLogger("kedge.sklearn")
    log.addHandler(counts)
    log.setLevel(logging.INFO)
    with kedge.server() as session:
        for name in names or _fill.FILLED:
            without = failures(made_of(classes[name]))
            kedge.sklearn.patch(session, policy="always", fallback="silent")
            try:
                new = {check: error for check, error in failures(made_of(classes[name])).items()
                       if check not in without and (name, check) not in EXPECTED}
            finally:
                kedge.sklearn.unpatch()
            n_new += len(new)
            for check, error in new.items():
                print(f"{name}: {check}: {error!r}"[:500])
    print(f"{counts.remote} fits went, {counts.local} stayed ({counts.share:.2f} went), {n_new} checks fail with a server alone")
    for reason, count in counts.reasons.most_common(10):
        print(f"{count:6} {reason}")
    return 1 if n_new or not names and (counts.share < LEAST_SHARE or counts.remote < LEAST_FITS) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
