"""Scalers that shift and scale columns."""
from harness import Case, Exact

MOMENTS = {"mean_": 1e-12, "var_": 1e-10, "scale_": 1e-10, "n_samples_seen_": Exact(), "transform": 1e-9}
RANGES = {"min_": 1e-12, "scale_": 1e-12, "data_min_": 1e-15, "data_max_": 1e-15, "data_range_": 1e-12, "transform": 1e-12}

CASES = [Case("StandardScaler", {}, data, MOMENTS) for data in ("wine", "digits", "iris", "badly_scaled")]
CASES += [Case("StandardScaler", {}, "offset_1e6", MOMENTS, f32=None)]
CASES += [Case("MinMaxScaler", params, data, RANGES)
          for params in ({}, {"feature_range": [-1, 3]}, {"clip": True}) for data in ("wine", "digits", "breast_cancer")]
