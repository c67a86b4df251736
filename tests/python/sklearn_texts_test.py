"""Searches and cross-validation over rows that are texts, against a real server, with scikit-learn itself as the judge."""
import unittest

from sklearn_case import WithServer
import kedge  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline, make_union  # noqa: E402

WORDS = [*(f"word{i}" for i in range(200)), "naïve", "NA", "null", "it's", '"quoted"', "with,comma"]


class Texts(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(0)
        cls.labels = np.array(["no", "yes"])[random.integers(0, 2, 200)]
        cls.texts = [" ".join(random.choice(WORDS, random.integers(3, 30))) + (' alpha "beta"\n gamma' if label == "no" and random.random() < 0.6 else "")
                     for label in cls.labels]
        cls.texts[:4] = ["", "NA", " ", "12"]   # none of which is a missing cell or a number

    def test_a_search_over_texts_is_one_job_with_scikit_learns_scores(self):
        search = GridSearchCV(Pipeline([("terms", CountVectorizer()), ("weights", TfidfTransformer()), ("model", MultinomialNB())]),
                              {"terms__ngram_range": [(1, 1), (1, 2)], "weights__use_idf": [True, False], "model__alpha": [0.1, 1.0]},
                              cv=StratifiedKFold(4, shuffle=True, random_state=1))
        theirs, before = clone(search).fit(self.texts, self.labels), self.n_jobs()
        mine = self.call("fit", search, self.texts, self.labels)
        self.assertEqual(self.n_jobs(), before + 1)
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-9)
        self.assertEqual(mine.best_params_, theirs.best_params_)
        self.assertEqual(mine.predict(self.texts).tolist(), theirs.predict(self.texts).tolist())

    def test_each_vectorizer_has_scikit_learns_scores(self):
        for head in (TfidfVectorizer(), TfidfVectorizer(stop_words="english", sublinear_tf=True), CountVectorizer(min_df=2), HashingVectorizer(n_features=2 ** 12),
                     make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char", ngram_range=(1, 3)))):
            for X in (self.texts, np.array(self.texts, object), np.array(self.texts)):
                model = make_pipeline(head, LogisticRegression(tol=1e-8, max_iter=500))
                with self.subTest(str(head)):
                    mine = self.call("cross_val_score", model, X, self.labels, scoring="neg_log_loss")
                    np.testing.assert_allclose(mine, cross_val_score(model, X, self.labels, scoring="neg_log_loss"), atol=1e-4)

    def test_what_is_not_sent(self):
        naive = MultinomialNB()
        self.stays("tokenizer is split", "cross_val_score", make_pipeline(TfidfVectorizer(tokenizer=str.split), naive), self.texts, self.labels)
        self.stays("U+0000", "cross_val_score", make_pipeline(TfidfVectorizer(), naive), [*self.texts[:-1], "a\0b"], self.labels)
        self.stays("reads X once", "fit", TfidfVectorizer(), self.texts)
        self.assertIn("takes texts", kedge.sklearn.explain(GridSearchCV(make_pipeline(CountVectorizer(), naive), {}), self.X, self.y, session=self.session).reason)
        self.assertIn("refuses", kedge.sklearn.explain(GridSearchCV(LogisticRegression(), {}), self.texts, self.labels, session=self.session).reason)


if __name__ == "__main__":
    unittest.main()
