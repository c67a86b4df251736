"""Covariance matrices, with and without shrinkage, and robust ones."""
from harness import Case, Exact

FOUND = {"location_": 1e-12, "covariance_": 1e-11, "precision_": 1e-8}

CASES = []
for data in ("iris", "wine", "digits", "wide"):
    for centred in (False, True):
        for estimator, more in (("EmpiricalCovariance", {}), ("ShrunkCovariance", {}), ("LedoitWolf", {"shrinkage_": 1e-9}), ("OAS", {"shrinkage_": 1e-9})):
            checks = {**FOUND, **more}
            if data in ("digits", "wide") and estimator == "EmpiricalCovariance":
                del checks["precision_"]   # singular: scikit-learn's pseudo-inverse keeps rounding errors there
            CASES.append(Case(estimator, {"assume_centered": centred}, data, checks, not_in_f32=("precision_",)))
CASES.append(Case("ShrunkCovariance", {"shrinkage": 0.7}, "wine", FOUND))
CASES.append(Case("LedoitWolf", {"store_precision": False, "block_size": 3}, "wine", {"covariance_": 1e-11, "shrinkage_": 1e-9}))
CASES.append(Case("OAS", {}, "offset_1e6", {"covariance_": 1e-8, "shrinkage_": 1e-8}, f32=None))

ROBUST = {"raw_location_": 1e-9, "raw_covariance_": 1e-9, "raw_support_": Exact(), "location_": 1e-9, "covariance_": 1e-9, "precision_": 1e-8, "support_": Exact(), "dist_": 1e-8}
NOT_IN_FLOAT = tuple(ROBUST)   # one row in or out of the support is another estimate
for data in ("iris", "wine", "breast_cancer", "blobs", "many_blobs", "very_many_blobs"):
    CASES.append(Case("MinCovDet", {"random_state": 0}, data, ROBUST, not_in_f32=NOT_IN_FLOAT))
CASES.append(Case("MinCovDet", {"random_state": 1, "assume_centered": True}, "blobs", ROBUST, not_in_f32=NOT_IN_FLOAT))
CASES.append(Case("MinCovDet", {"random_state": 1, "support_fraction": 0.9}, "many_blobs", ROBUST, not_in_f32=NOT_IN_FLOAT))
CASES.append(Case("MinCovDet", {"random_state": 1, "support_fraction": 1.0}, "blobs", ROBUST, not_in_f32=NOT_IN_FLOAT))
