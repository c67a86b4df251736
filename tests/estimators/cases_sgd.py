"""Stochastic gradient descent: the same order of rows, the same updates."""
from harness import Case, Exact

LINE = {"coef_": 1e-8, "intercept_": 1e-8, "decision_function": 1e-8, "predict": Exact(), "n_iter_": Exact(), "t_": Exact()}
SCALED = [("StandardScaler", {})]
SEED = {"random_state": 3}

CASES = [Case("SGDClassifier", params | SEED, data, LINE | ({"predict_proba": 1e-8} if params.get("loss") in ("log_loss", "modified_huber") else {}),
              before=SCALED, weights=weights, f32=None)
         for data in ("iris", "two_blobs", "wine")
         for params, weights in (({}, None), ({"loss": "log_loss", "alpha": 0.01}, "counts"), ({"loss": "modified_huber", "penalty": "l1", "learning_rate": "constant"}, None),
                                 ({"loss": "squared_hinge", "penalty": "elasticnet", "alpha": 0.01}, None), ({"average": True}, None),
                                 ({"learning_rate": "adaptive", "eta0": 0.1, "class_weight": "balanced"}, None), ({"loss": "perceptron", "penalty": None}, None),
                                 ({"loss": "huber", "average": 20, "learning_rate": "invscaling"}, None), ({"learning_rate": "pa1", "penalty": None, "eta0": 0.5}, None),
                                 ({"shuffle": False, "fit_intercept": False, "tol": None, "max_iter": 7}, None))]
CASES += [Case("SGDClassifier", {"loss": loss} | SEED, "words", LINE, sparse=True, f32=None) for loss in ("hinge", "log_loss")]
CASES += [Case("Perceptron", params, data, LINE, before=SCALED, f32=None)
          for data in ("iris", "two_blobs") for params in ({}, {"penalty": "l2", "alpha": 1e-3, "random_state": 5}, {"eta0": 0.1, "class_weight": "balanced"})]
CASES += [Case("PassiveAggressiveClassifier", params | SEED, data, LINE, before=SCALED, f32=None)
          for data in ("iris", "two_blobs") for params in ({}, {"loss": "squared_hinge", "C": 0.1}, {"average": True, "class_weight": "balanced"})]

VALUES = {"coef_": 1e-8, "intercept_": 1e-8, "predict": 1e-8, "n_iter_": Exact(), "t_": Exact()}
CASES += [Case("SGDRegressor", params | SEED, data, VALUES, weights=weights, f32=None)
          for data in ("regression", "outliers")
          for params, weights in (({}, None), ({"loss": "huber", "epsilon": 0.5}, "counts"), ({"loss": "epsilon_insensitive", "penalty": "l1"}, None),
                                  ({"loss": "squared_epsilon_insensitive", "average": True}, None), ({"learning_rate": "constant", "penalty": "elasticnet"}, None),
                                  ({"learning_rate": "adaptive"}, None), ({"penalty": None, "power_t": 0.5}, None))]
CASES += [Case("PassiveAggressiveRegressor", params | SEED, "outliers", VALUES, f32=None)
          for params in ({}, {"loss": "squared_epsilon_insensitive", "C": 0.1, "epsilon": 0.5}, {"average": True})]
CASES += [Case("SGDClassifier", {"early_stopping": True}, "iris", error="early_stopping"),
          Case("SGDClassifier", {"alpha": 0.0}, "iris", error="alpha"),
          Case("SGDClassifier", {"learning_rate": "pa1", "loss": "log_loss"}, "iris", error="loss")]
