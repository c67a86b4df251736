#!/usr/bin/env python3
"""What messages.json does, by scikit-learn: the same candidates, folds and scores.

    python3 examples/texts/messages.py messages.csv
"""
import csv
import sys

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

with open(sys.argv[1], encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
search = GridSearchCV(
    Pipeline([("terms", TfidfVectorizer(sublinear_tf=True)), ("model", SGDClassifier(random_state=0))]),
    {"terms__ngram_range": [(1, 1), (1, 2)], "terms__min_df": [1, 2], "model__alpha": [1e-5, 1e-4, 1e-3]}, cv=5)
search.fit([row["message"] for row in rows], [row["team"] for row in rows])
for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
    print(f"{score:.6f}", params)
print(f"best {search.best_score_:.6f}", search.best_params_)
