"""LightGBM's and XGBoost's names of parameters, for HistGradientBoostingClassifier and -Regressor."""
from __future__ import annotations

from typing import Any

_OURS = {
    "max_iter": ("n_estimators", "num_iterations", "num_boost_round", "num_round", "num_trees"),
    "max_leaf_nodes": ("num_leaves", "num_leaf", "max_leaves"),
    "learning_rate": ("eta", "shrinkage_rate"),
    "min_samples_leaf": ("min_child_samples", "min_data_in_leaf", "min_data"),
    "l2_regularization": ("reg_lambda", "lambda_l2"),
    "max_bins": ("max_bin",),
    "max_features": ("colsample_bynode", "feature_fraction_bynode"),
    "monotonic_cst": ("monotone_constraints",),
    "interaction_cst": ("interaction_constraints",),
    "categorical_features": ("categorical_feature", "cat_feature"),
    "n_iter_no_change": ("early_stopping_rounds", "early_stopping_round"),
    "random_state": ("seed", "random_seed"),
    "loss": ("objective", "application"),
}
_NAMES = {theirs: ours for ours, names in _OURS.items() for theirs in names}
_LOSSES = {
    "log_loss": ("binary", "multiclass", "softmax", "binary:logistic", "multi:softprob", "multi:softmax", "log_loss"),
    "squared_error": ("regression", "regression_l2", "l2", "mse", "mean_squared_error", "reg:squarederror", "squared_error"),
    "absolute_error": ("regression_l1", "l1", "mae", "mean_absolute_error", "reg:absoluteerror", "absolute_error"),
    "poisson": ("poisson", "count:poisson"),
    "gamma": ("gamma", "reg:gamma"),
    "quantile": ("quantile", "reg:quantileerror"),
}
_LOSS_OF = {theirs: ours for ours, names in _LOSSES.items() for theirs in names}
# What changes no tree.
_IGNORED = {"n_jobs", "nthread", "num_threads", "silent", "verbosity", "device", "device_type", "importance_type", "force_row_wise", "force_col_wise",
            "deterministic", "metric", "eval_metric"}
# What there is nothing for here, and the values with which it does nothing there.
_NEUTRAL = {
    "subsample": (1,), "bagging_fraction": (1,), "subsample_freq": (0,), "bagging_freq": (0,), "colsample_bytree": (1,), "feature_fraction": (1,), "colsample_bylevel": (1,),
    "reg_alpha": (0,), "lambda_l1": (0,), "gamma": (0,), "min_split_loss": (0,), "min_split_gain": (0,), "min_gain_to_split": (0,),
    "min_child_weight": (0, 1e-3), "min_sum_hessian_in_leaf": (0, 1e-3), "scale_pos_weight": (1,), "max_delta_step": (0,),
    "boosting_type": ("gbdt",), "boosting": ("gbdt",), "booster": ("gbtree",), "tree_method": ("auto", "hist"), "grow_policy": ("lossguide",),
}


def of_peers(owner: str, given: dict[str, Any]) -> dict[str, Any]:
    """`given`: parameters, and under "others" those by other names, which come back under ours. Raises TypeError for an unknown name, for a
    parameter that is named twice, and for one that changes trees there and has no counterpart here."""
    params = dict(given)
    for name, value in params.pop("others", {}).items():
        if name in _IGNORED or value is None or name in _NEUTRAL and value in _NEUTRAL[name]:
            continue
        if name in _NEUTRAL:
            raise TypeError(f"{owner}: {name} is {value!r}, must be {' or '.join(map(repr, _NEUTRAL[name]))}: nothing here does the same")
        ours = _NAMES.get(name)
        if ours is None:
            raise TypeError(f"{owner}.__init__() got an unexpected keyword argument {name!r}")
        if ours in params:
            raise TypeError(f"{owner}: {name} is another name of {ours}, which is given as well")
        if ours == "loss":
            if value not in _LOSS_OF:
                raise TypeError(f"{owner}: {name} is {value!r}, must be one of {', '.join(sorted(_LOSS_OF))}")
            value = _LOSS_OF[value]
        params[ours] = value
        if ours == "n_iter_no_change":
            params.setdefault("early_stopping", True)
    for bound in ("max_depth", "max_leaf_nodes"):   # no bound is 0 or -1 there
        if isinstance(params.get(bound), int) and params[bound] <= 0:
            params[bound] = None
    return params
