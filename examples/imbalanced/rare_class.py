#!/usr/bin/env python3
"""What rare_class.json does, by imbalanced-learn and scikit-learn: the same rows, candidates and folds.

    pip install imbalanced-learn && python3 examples/imbalanced/rare_class.py
"""
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import Pipeline
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV

X, y = make_classification(n_samples=3000, n_features=12, n_informative=6, weights=[0.96], class_sep=0.8, random_state=0)
search = GridSearchCV(
    Pipeline([("smote", SMOTE(random_state=0)), ("model", HistGradientBoostingClassifier(random_state=0, max_iter=30))]),
    {"smote__k_neighbors": [3, 5], "smote__sampling_strategy": [0.3, 1.0]}, cv=5, scoring="f1")
search.fit(X, y)
for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
    print(f"{score:.6f}", params)
print(f"best {search.best_score_:.6f}", search.best_params_)
