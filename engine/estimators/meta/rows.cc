// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/meta/ada_boost.h"
#include "engine/estimators/meta/bagging.h"
#include "engine/estimators/meta/calibrated_classifier.h"
#include "engine/estimators/meta/memory.h"
#include "engine/estimators/meta/model_selectors.h"
#include "engine/estimators/meta/multiclass.h"
#include "engine/estimators/meta/scored_selectors.h"
#include "engine/estimators/meta/stacking.h"
#include "engine/estimators/meta/transformed_target.h"
#include "engine/estimators/meta/voting.h"

namespace kedge::engine {

constexpr const char* kAnswers = "what its estimators answer for each row, added up";

void add_meta(Rows& rows) {
  add<VotingClassifier>(rows, memory::voting, {.host_part = kAnswers, .is_composed = true});
  add<VotingRegressor>(rows, memory::voting, {.host_part = kAnswers, .is_composed = true});
  add<StackingClassifier>(rows, memory::stacking, {.host_part = kAnswers, .is_composed = true});
  add<StackingRegressor>(rows, memory::stacking, {.host_part = kAnswers, .is_composed = true});
  add<BaggingClassifier>(rows, memory::bagging, {.host_part = kAnswers, .is_composed = true});
  add<BaggingRegressor>(rows, memory::bagging, {.host_part = kAnswers, .is_composed = true});
  add<AdaBoostClassifier>(rows, memory::boosted_copies, {.host_part = kAnswers, .is_composed = true});
  add<AdaBoostRegressor>(rows, memory::boosted_copies, {.host_part = kAnswers, .is_composed = true});
  add<OneVsRestClassifier>(rows, memory::one_vs_rest, {.host_part = kAnswers, .is_composed = true});
  add<OneVsOneClassifier>(rows, memory::one_vs_one, {.host_part = kAnswers, .is_composed = true});
  add<CalibratedClassifierCV>(rows, memory::calibrated, {.host_part = kAnswers, .is_composed = true});
  add<TransformedTargetRegressor>(rows, memory::transformed_target,
                                  {.host_part = "functions of the target", .is_composed = true});
  add<SelectFromModel>(rows, memory::model_selector, {.is_composed = true});
  add<RFE>(rows, memory::model_selector, {.is_composed = true});
  add<RFECV>(rows, memory::scored_selector, {.host_part = kAnswers, .is_composed = true});
  add<SequentialFeatureSelector>(rows, memory::scored_selector, {.host_part = kAnswers, .is_composed = true});
}

}   // namespace kedge::engine
