"""Multi-layer perceptrons: the same first weights, the same order of rows, the same steps."""
from harness import Case, Exact

CURVE = {"loss_curve_": 1e-9, "n_iter_": Exact(), "t_": Exact(), "loss_": 1e-9}
FITTED = {"coefs_": 1e-7, "intercepts_": 1e-7, "predict": Exact(), "predict_proba": 1e-7, "out_activation_": Exact(), "n_layers_": Exact(), "n_outputs_": Exact()}
VALUES = {"coefs_": 1e-7, "intercepts_": 1e-7, "predict": 1e-7, "out_activation_": Exact()}
SCORES = {"validation_scores_": 1e-9, "best_validation_score_": 1e-9}
SMALL = {"hidden_layer_sizes": [12], "max_iter": 20, "batch_size": 32, "random_state": 3}
SCALED = [("StandardScaler", {})]

CASES = [Case("MLPClassifier", SMALL | params, data, FITTED | CURVE | ({} if params.get("early_stopping") else {"best_loss_": 1e-9}) | more, before=SCALED, weights=weights,
              f32=None if params.get("learning_rate") == "adaptive" else 2e-4)   # whose steps of 0.5 make much of roundings
         for data in ("iris", "two_blobs")
         for params, weights, more in (({}, None, {}), ({"hidden_layer_sizes": [8, 5], "activation": "tanh", "alpha": 0.5}, "counts", {}),
                                       ({"activation": "logistic", "solver": "sgd", "learning_rate_init": 0.1}, None, {}),
                                       ({"activation": "identity", "solver": "sgd", "learning_rate": "invscaling", "nesterovs_momentum": False, "shuffle": False}, None, {}),
                                       ({"solver": "sgd", "learning_rate": "adaptive", "learning_rate_init": 0.5, "tol": 0.05, "n_iter_no_change": 2, "max_iter": 40}, "counts", {}),
                                       ({"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 4, "max_iter": 40, "tol": 1e-3}, None, SCORES),
                                       ({"early_stopping": True, "shuffle": False, "batch_size": "auto"}, "counts", SCORES))]
CASES += [Case("MLPRegressor", SMALL | params, data, VALUES | CURVE | more, before=SCALED, weights=weights, f32=2e-4, sk={"n_iter_no_change": float("inf")} if "n_iter_no_change" in params else None)
          for data, params, weights, more in (("regression", {}, None, {}), ("regression", {"activation": "tanh", "solver": "sgd", "momentum": 0.5, "hidden_layer_sizes": 7}, "counts", {}),
                                              ("rates", {"loss": "poisson", "activation": "logistic"}, None, {}), ("outliers", {"early_stopping": True, "n_iter_no_change": "inf"}, None, SCORES),
                                              ("rates", {"loss": "poisson", "early_stopping": True, "hidden_layer_sizes": [6, 6, 4]}, "counts", SCORES))]
LBFGS = {"solver": "lbfgs", "hidden_layer_sizes": [6], "activation": "tanh", "max_iter": 8, "random_state": 1}
CASES += [Case("MLPClassifier", LBFGS | params, data, FITTED | {"n_iter_": Exact(), "loss_": 1e-9}, before=SCALED, weights=weights, f32=1e-3)
          for data, params, weights in (("iris", {}, "counts"), ("two_blobs", {"activation": "relu", "alpha": 0.1}, None))]
CASES += [Case("MLPRegressor", LBFGS | params, "regression", VALUES | {"n_iter_": Exact(), "loss_": 1e-9}, before=SCALED, f32=1e-3) for params in ({}, {"hidden_layer_sizes": [5, 4], "alpha": 1.0})]
CASES += [Case("MLPClassifier", {"hidden_layer_sizes": [0]}, "iris", error="hidden_layer_sizes"),
          Case("MLPClassifier", {"beta_1": 1.0}, "iris", error="beta_1"),
          Case("MLPRegressor", {"loss": "log_loss"}, "regression", error="loss"),
          Case("MLPRegressor", {"loss": "poisson"}, "regression", error="target")]
