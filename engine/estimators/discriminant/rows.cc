// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/discriminant/discriminant_analysis.h"
#include "engine/estimators/discriminant/memory.h"
#include "engine/estimators/discriminant/quadratic_discriminant_analysis.h"

namespace kedge::engine {

constexpr const char* kClassRows = "the lists of the rows of each class";

void add_discriminant(Rows& rows) {
  add<LinearDiscriminantAnalysis>(rows, memory::linear_discriminant, {13, 5},
                                  {.host_part = kClassRows, .dealt = DealtFit::kRowSums});
  add<QuadraticDiscriminantAnalysis>(rows, memory::quadratic_discriminant, {14, 10},
                                     {.host_part = "the lists of the rows of each class, and the scores"});
}

}  // namespace kedge::engine
