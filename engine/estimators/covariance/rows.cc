// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/covariance/covariance_estimators.h"
#include "engine/estimators/covariance/robust_covariance.h"

namespace kedge::engine {

void add_covariance(Rows& rows) {
  add<EmpiricalCovariance>(rows, EmpiricalCovariance<double>::memory);
  add<ShrunkCovariance>(rows, ShrunkCovariance<double>::memory);
  add<LedoitWolf>(rows, LedoitWolf<double>::memory);
  add<OAS>(rows, OAS<double>::memory);
  constexpr const char* kTrials = "the trials on subsets of 300 rows, and the choice of the nearest rows";
  add<MinCovDet>(rows, MinCovDet<double>::memory, {.host_part = kTrials});
  add<EllipticEnvelope>(rows, EllipticEnvelope<double>::memory, {.host_part = kTrials});
}

}   // namespace kedge::engine
