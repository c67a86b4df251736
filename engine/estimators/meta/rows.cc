// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/meta/ada_boost.h"
#include "engine/estimators/meta/bagging.h"
#include "engine/estimators/meta/calibrated_classifier.h"
#include "engine/estimators/meta/memory.h"
#include "engine/estimators/meta/model_selectors.h"
#include "engine/estimators/meta/multi_output.h"
#include "engine/estimators/meta/multiclass.h"
#include "engine/estimators/meta/ransac.h"
#include "engine/estimators/meta/scored_selectors.h"
#include "engine/estimators/meta/stacking.h"
#include "engine/estimators/meta/target_chain.h"
#include "engine/estimators/meta/transformed_target.h"
#include "engine/estimators/meta/voting.h"

namespace kedge::engine {

constexpr const char* kAnswers = "what its estimators answer for each row, added up";
constexpr RowTraits kDealtFits{.host_part = kAnswers, .dealt = DealtFit::kFits, .is_composed = true};

// Of fits that wait for each other.
constexpr RowTraits fits_in_turn(const char* host_part, std::string_view inside) {
  return {.host_part = host_part, .dealt = DealtFit::kInside, .inside = inside, .is_composed = true};
}

void add_threshold_classifiers(Rows& rows);

void add_meta(Rows& rows) {
  add<VotingClassifier>(rows, memory::voting, {7, 3, 52}, kDealtFits);
  add<VotingRegressor>(rows, memory::voting, {10, 3, 48}, kDealtFits);
  add<StackingClassifier>(rows, memory::stacking, {62, 14, 179}, kDealtFits);
  add<StackingRegressor>(rows, memory::stacking, {49, 5, 120}, kDealtFits);
  add<BaggingClassifier>(rows, memory::bagging, {21, 8, 60}, kDealtFits);
  add<BaggingRegressor>(rows, memory::bagging, {30, 3, 48}, kDealtFits);
  add<AdaBoostClassifier>(rows, memory::boosted_copies, {40, 12, 300},
                          fits_in_turn(kAnswers, "DecisionTreeClassifier"));
  add<AdaBoostRegressor>(rows, memory::boosted_copies, {40, 6, 300}, fits_in_turn(kAnswers, "DecisionTreeRegressor"));
  add<OneVsRestClassifier>(rows, memory::one_vs_rest, {157, 13, 2}, kDealtFits);
  add<OneVsOneClassifier>(rows, memory::one_vs_one, {135, 9, 8}, kDealtFits);
  add<MultiOutputClassifier>(rows, memory::multi_output, {110, 16, 18}, kDealtFits);
  add<MultiOutputRegressor>(rows, memory::multi_output, {20, 4, 128}, kDealtFits);
  add<ClassifierChain>(rows, memory::target_chain, {120, 4, 16}, fits_in_turn(kAnswers, "LogisticRegression"));
  add<RegressorChain>(rows, memory::target_chain, {20, 4, 136}, fits_in_turn(kAnswers, "LinearRegression"));
  add<CalibratedClassifierCV>(rows, memory::calibrated, {285, 22, 51}, kDealtFits);
  add_threshold_classifiers(rows);
  add<TransformedTargetRegressor>(rows, memory::transformed_target, {7, 1, 64},
                                  fits_in_turn("functions of the target", "LinearRegression"));
  add<RANSACRegressor>(rows, memory::ransac, {600, 1, 600},
                       {.host_part = "the inliers, and what estimators without coefficients answer",
                        .dealt = DealtFit::kFits,
                        .is_composed = true});
  add<SelectFromModel>(rows, memory::model_selector, {55, 1, 9}, fits_in_turn("", "LogisticRegression"));
  add<RFE>(rows, memory::model_selector, {208, 1, 11}, fits_in_turn("", "LogisticRegression"));
  add<RFECV>(rows, memory::scored_selector, {200, 1, 100}, kDealtFits);
  add<SequentialFeatureSelector>(rows, memory::scored_selector, {500, 1, 400}, kDealtFits);
}

}   // namespace kedge::engine
