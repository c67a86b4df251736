// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/resampling/random_samplers.h"
#include "engine/estimators/resampling/smote.h"

namespace kedge::engine {

void add_resampling(Rows& rows) {
  add<SMOTE>(rows, SMOTE<double>::memory, {20, 1, 100}, {.host_part = "which rows and neighbours are drawn"});
  add<RandomOverSampler>(rows, RandomOverSampler<double>::memory, {1, 1}, {.host_part = "which rows are drawn"});
  add<RandomUnderSampler>(rows, RandomUnderSampler<double>::memory, {1, 1}, {.host_part = "which rows are drawn"});
}

}   // namespace kedge::engine
