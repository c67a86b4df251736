// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/discriminant/discriminant_analysis.h"
#include "engine/estimators/discriminant/memory.h"
#include "engine/estimators/discriminant/quadratic_discriminant_analysis.h"

namespace kedge::engine {

void add_discriminant(Rows& rows) {
  add<LinearDiscriminantAnalysis>(rows, memory::linear_discriminant);
  add<QuadraticDiscriminantAnalysis>(rows, memory::quadratic_discriminant);
}

}  // namespace kedge::engine
