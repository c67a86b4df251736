"""imbalanced-learn's pipelines in cross-validation and searches with a server: whole jobs, with the scores that
imbalanced-learn has here for the same seeds."""
import importlib.util
import sys
import unittest

from sklearn_case import RELEASE, WithServer
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score, cross_validate  # noqa: E402
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors  # noqa: E402
from sklearn.pipeline import FeatureUnion  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

if not importlib.util.find_spec("imblearn"):
    print("skipped: imbalanced-learn is not installed")
    sys.exit(0)
from imblearn.over_sampling import SMOTE, BorderlineSMOTE, RandomOverSampler  # noqa: E402
from imblearn.pipeline import Pipeline, make_pipeline  # noqa: E402
from imblearn.under_sampling import RandomUnderSampler  # noqa: E402

CV = StratifiedKFold(4)


@unittest.skipIf(RELEASE < (1, 9), "the server computes as scikit-learn 1.9 does")
class Imbalanced(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.rows = np.concatenate([random.normal(place, 1, (count, 4)) for place, count in ((0, 150), (1, 50), (2, 20))])
        order = random.permutation(220)
        cls.rows, cls.labels = cls.rows[order], np.repeat(["b", "c", "a"], (150, 50, 20))[order]

    def as_here(self, model, X=None, **more):
        """Scores of one job, and of imbalanced-learn on this machine."""
        X, before = self.rows if X is None else X, self.n_jobs()
        mine = self.call("cross_validate", model, X, self.labels, cv=CV, scoring=["accuracy", "balanced_accuracy"], return_train_score=True, **more)
        self.assertEqual(self.n_jobs(), before + 1)
        theirs = cross_validate(clone(model), X, self.labels, cv=CV, scoring=["accuracy", "balanced_accuracy"], return_train_score=True, **more)
        for name, values in theirs.items():
            if "time" not in name:
                np.testing.assert_allclose(mine[name], values, atol=1e-12, err_msg=name)

    def test_cross_validation_resamples_the_rows_of_each_fit(self):
        for sampler in (SMOTE(random_state=0), SMOTE(k_neighbors=3, sampling_strategy="minority", random_state=1), RandomOverSampler(random_state=0),
                        RandomUnderSampler(random_state=0), RandomUnderSampler(sampling_strategy={"b": 60}, random_state=0),
                        SMOTE(sampling_strategy={"a": 90, "c": 80}, random_state=0), "passthrough"):
            with self.subTest(str(sampler)):
                self.as_here(Pipeline([("scale", StandardScaler()), ("sample", sampler), ("model", KNeighborsClassifier())]))
        self.as_here(make_pipeline(RandomOverSampler(random_state=0), LogisticRegression()), sparse.csr_matrix(self.rows))

    def test_pipelines_inside_of_other_estimators(self):
        more = make_pipeline(StandardScaler(), SMOTE(random_state=0), KNeighborsClassifier())
        fewer = make_pipeline(RandomUnderSampler(random_state=0), GaussianNB())
        for model in (VotingClassifier([("a", more), ("b", fewer), ("c", GaussianNB())], voting="soft"),
                      StackingClassifier([("a", more), ("b", GaussianNB())], final_estimator=make_pipeline(RandomOverSampler(random_state=0), LogisticRegression())),
                      CalibratedClassifierCV(more, cv=3), OneVsRestClassifier(more), OneVsOneClassifier(fewer)):
            with self.subTest(type(model).__name__):
                self.as_here(model)

    def test_bagging_of_pipelines(self):
        """scikit-learn gives each copy of a pipeline seeds of its own, the server gives them the pipeline's."""
        model = BaggingClassifier(make_pipeline(RandomUnderSampler(random_state=0), GaussianNB()), n_estimators=20, random_state=0)
        before = self.n_jobs()
        mine = self.call("cross_val_score", model, self.rows, self.labels, cv=CV, scoring="balanced_accuracy")
        self.assertEqual(self.n_jobs(), before + 1)
        theirs = cross_val_score(model, self.rows, self.labels, cv=CV, scoring="balanced_accuracy")
        self.assertAlmostEqual(mine.mean(), theirs.mean(), delta=0.03)

    def test_a_search(self):
        """One job, and the best pipeline is fitted by imbalanced-learn here."""
        model = make_pipeline(StandardScaler(), SMOTE(random_state=0), KNeighborsClassifier())
        grid = [{"smote__k_neighbors": [2, 5], "kneighborsclassifier__n_neighbors": [3, 7]}, {"smote": [RandomUnderSampler(random_state=0), "passthrough"]}]
        before = self.n_jobs()
        mine = self.call("fit", GridSearchCV(model, grid, cv=CV, scoring="balanced_accuracy"), self.rows, self.labels)
        self.assertEqual(self.n_jobs(), before + 1)
        theirs = GridSearchCV(model, grid, cv=CV, scoring="balanced_accuracy").fit(self.rows, self.labels)
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)
        self.assertEqual(str(mine.best_params_), str(theirs.best_params_))
        self.assertIs(type(mine.best_estimator_), Pipeline)
        np.testing.assert_array_equal(mine.predict(self.rows), theirs.predict(self.rows))

    def test_predictions_of_folds(self):
        model = make_pipeline(SMOTE(random_state=0), KNeighborsClassifier())
        mine = self.call("cross_val_predict", model, self.rows, self.labels, cv=CV)
        np.testing.assert_array_equal(mine, cross_val_predict(model, self.rows, self.labels, cv=CV))

    def test_what_stays(self):
        for reason, sampler in (("BorderlineSMOTE is a class of imblearn", BorderlineSMOTE(random_state=0)),
                                ("k_neighbors is", SMOTE(k_neighbors=NearestNeighbors(n_neighbors=4), random_state=0)),
                                ("sampling_strategy is", RandomUnderSampler(sampling_strategy=lambda y: {"b": 60}, random_state=0))):
            self.stays(reason, "cross_val_score", make_pipeline(sampler, KNeighborsClassifier()), self.rows, self.labels, cv=CV)
        numbered = make_pipeline(RandomUnderSampler(sampling_strategy={1: 60}, random_state=0), GaussianNB())   # as a vote numbers the labels
        self.stays("sampling_strategy names classes, and the part", "cross_val_score", VotingClassifier([("a", numbered)]), self.rows, self.labels, cv=CV)

    def test_what_imbalanced_learn_refuses_is_its_own_error(self):
        weighted = {"params": {"logisticregression__sample_weight": np.ones(220)}}
        union = FeatureUnion([("fewer", make_pipeline(RandomUnderSampler(random_state=0), StandardScaler()))])
        for reason, sampler, more in (("sampling_strategy is not a number of rows for some classes", SMOTE(sampling_strategy={"d": 90}), {}),
                                      ("RandomUnderSampler resamples rows of a part whose rows stay", union, {}),
                                      ("sample_weight is of rows that imbalanced-learn resamples", RandomOverSampler(random_state=0), weighted)):
            model = make_pipeline(sampler, LogisticRegression())
            with self.assertWarnsRegex(kedge.sklearn.NotSent, reason), self.assertRaises(ValueError):
                kedge.sklearn.cross_val_score(model, self.rows, self.labels, cv=CV, error_score="raise", session=self.session, **more)


if __name__ == "__main__":
    unittest.main()
