"""Several target columns. The estimators give scikit-learn's answers to the last digits, so that what is compared is what is made of them."""
from cases_meta import BAYES, LOGISTIC, NEAREST, NEIGHBOURS, RIDGE, SCALED, step
from harness import Case, Exact

VALUES, LABELS = {"predict": 1e-9}, {"predict": Exact(), "classes_": Exact()}
SHARES = {**LABELS, "predict_proba": 1e-6}
TREE = step("DecisionTreeClassifier", random_state=3, max_depth=4)

CASES = [Case("MultiOutputRegressor", {"estimator": made}, "several_values", VALUES, f32=1e-3)
         for made in (RIDGE, NEAREST, [step("StandardScaler"), step("Ridge", alpha=0.1)])]
CASES += [Case("MultiOutputRegressor", {"estimator": RIDGE}, "several_values", VALUES, f32=1e-3, weights="counts"),
          Case("MultiOutputRegressor", {"estimator": RIDGE}, "several_values", VALUES, f32=1e-3, before=[("StandardScaler", {})]),
          Case("MultiOutputRegressor", {"estimator": BAYES}, "several_values", error="is a classifier, must be a regressor"),
          Case("MultiOutputRegressor", {"estimator": RIDGE}, "regression", error="there are no target columns")]
CASES += [Case("MultiOutputClassifier", {"estimator": made}, "several_classes", SHARES, f32=None) for made in (BAYES, NEIGHBOURS, SCALED, LOGISTIC)]
CASES += [Case("MultiOutputClassifier", {"estimator": BAYES}, "several_classes", SHARES, f32=None, weights="counts"),
          Case("MultiOutputClassifier", {"estimator": TREE}, "several_classes", {"classes_": Exact()}, f32=None),
          Case("MultiOutputClassifier", {"estimator": step("MultiOutputClassifier")}, "several_classes", error="of several targets, must be a classifier")]
