"""NMF. scikit-learn starts from a randomized SVD, which is exact where components and oversamples are as many as the columns."""
from harness import Case, Exact

PARTS = {"components_": 1e-6, "reconstruction_err_": 1e-8, "n_iter_": Exact(), "n_components_": Exact(), "transform": 1e-6, "fit_transform": 1e-6}
# In float32 the iterations end at another step, where rounding decides it.
IN_F32 = {"f32": 5e-3, "not_in_f32": ("n_iter_", "components_", "transform", "fit_transform")}

CASES = [Case("NMF", {"n_components": k, **params}, data, PARTS, **IN_F32)
         for data, k in (("iris", 2), ("wine", 3), ("breast_cancer", 4))
         for params in ({}, {"init": "nndsvd"}, {"tol": 1e-3, "max_iter": 60}, {"shuffle": True, "random_state": 3},
                        {"alpha_W": 1e-3}, {"alpha_W": 1e-3, "alpha_H": 1e-4, "l1_ratio": 0.5}, {"alpha_W": 1e-3, "alpha_H": 0.0, "l1_ratio": 1.0},
                        {"solver": "mu"}, {"solver": "mu", "alpha_W": 1e-3, "l1_ratio": 0.5}, {"solver": "mu", "tol": 0, "max_iter": 25},
                        {"solver": "mu", "beta_loss": "kullback-leibler"}, {"solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 1e-3})]
# Its transform() adds the penalty of sums to the divisor again in each iteration.
CASES += [Case("NMF", {"n_components": 2, "solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 1e-3, "l1_ratio": 0.3}, data,
               {name: check for name, check in PARTS.items() if name != "transform"}, **IN_F32) for data in ("iris", "wine", "breast_cancer")]
CASES += [Case("NMF", {}, "iris", PARTS, **IN_F32), Case("NMF", {"n_components": None}, "iris", PARTS, **IN_F32),
          Case("NMF", {"n_components": 5, "max_iter": 40}, "digits", PARTS | dict.fromkeys(("components_", "transform", "fit_transform"), 1e-3) | {"reconstruction_err_": 1e-5}, **IN_F32),
          Case("NMF", {"n_components": 2}, "regression", error="must have no negative value"),
          Case("NMF", {"n_components": 5, "init": "nndsvd"}, "iris", error="n_components is 5, must be at most 4 with init \"nndsvd\""),
          Case("NMF", {"beta_loss": "kullback-leibler"}, "iris", error="beta_loss is \"kullback-leibler\", must be \"frobenius\" with solver=\"cd\""),
          Case("NMF", {"n_components": 0}, "iris", error="n_components"),
          Case("NMF", {"init": "custom"}, "iris", error="init")]
