// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/covariance/covariance_estimators.h"
#include "engine/estimators/covariance/robust_covariance.h"

namespace kedge::engine {

void add_covariance(Rows& rows) {
  add<EmpiricalCovariance>(rows, EmpiricalCovariance<double>::memory, {4, 0});
  add<ShrunkCovariance>(rows, ShrunkCovariance<double>::memory, {4, 0});
  add<LedoitWolf>(rows, LedoitWolf<double>::memory, {5, 0});
  add<OAS>(rows, OAS<double>::memory, {4, 0});
  constexpr const char* kTrials = "the trials on subsets of 300 rows, and the choice of the nearest rows";
  add<MinCovDet>(rows, MinCovDet<double>::memory, {7, 0, 56}, {.host_part = kTrials});
  add<EllipticEnvelope>(rows, EllipticEnvelope<double>::memory, {8, 9, 56}, {.host_part = kTrials});
}

}   // namespace kedge::engine
