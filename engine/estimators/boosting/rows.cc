// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/boosting/gradient_boosting.h"
#include "engine/estimators/boosting/hist_boosting.h"
#include "engine/estimators/boosting/memory.h"
#include "engine/estimators/catalogue_rows.h"

namespace kedge::engine {

constexpr const char
    *kHist =
        "fits of up to 8,192 rows or of absolute errors and quantiles, bins of categories and by weights of up to "
        "200,000 rows, and the link of answers",
    *kExact = "the growth of the trees";

void add_boosting(Rows& rows) {
  add<HistGradientBoostingClassifier>(rows, memory::hist_boosting, {1, 3, 48},
                                      {.host_part = kHist, .dealt = DealtFit::kRowSums});
  add<HistGradientBoostingRegressor>(rows, memory::hist_boosting, {1, 1, 48},
                                     {.host_part = kHist, .dealt = DealtFit::kRowSums});
  add<GradientBoostingClassifier>(rows, memory::exact_boosting, {1, 7, 48}, {.host_part = kExact});
  add<GradientBoostingRegressor>(rows, memory::exact_boosting, {1, 1, 48}, {.host_part = kExact});
}

}   // namespace kedge::engine
