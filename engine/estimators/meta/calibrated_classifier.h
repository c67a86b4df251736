// CalibratedClassifierCV: probabilities learnt from the scores of rows that a classifier was not fitted on.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/linear/isotonic_curve.h"
#include "engine/estimators/meta/calibration_curves.h"
#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

struct CalibratedParams {
  schema::Value estimator;
  std::string method = "sigmoid";
  schema::Value cv;
  schema::Value ensemble = "auto";
};

// With the method temperature, one number for all classes takes the place of the curves.
// For each fold (StratifiedKFold without shuffling) a copy of the estimator is fitted on the other folds and a curve
// for each class on this one; probabilities are averaged over the folds. With ensemble false, the curves are fitted on
// the scores of all folds, and one copy on all rows. Errors: kBadData for more folds than rows of any class, and those
// of the estimator.
template <class T>
class CalibratedClassifierCV final : public Classifier<T> {
 public:
  explicit CalibratedClassifierCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool takes_weights() const override { return like_.takes_weights(); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return static_cast<std::int32_t>(classes_.size()); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Curve {   // of one class
    bool is_there = false;
    SigmoidCurve sigmoid;
    IsotonicCurve isotonic;
  };
  struct Member {
    NestedPredictor<T> predictor;
    std::vector<Curve> curves = {};   // by class; of two classes that of the second alone; none of a temperature
    Temperature temperature = {};
  };
  bool is_ensemble() const { return params_.ensemble != schema::Value(false); }
  std::size_t width() const { return classes_.size() == 2 ? 1 : classes_.size(); }   // scores of a row
  std::vector<double> scores(const Context& ctx, const NestedPredictor<T>& predictor, const Samples<T>& X) const;
  bool has_temperature() const { return params_.method == "temperature"; }
  std::vector<Curve> curves_of(const std::vector<double>& scores, const Target& y) const;
  std::vector<double> logits_of(const std::vector<double>& scores) const;   // a number for each class
  std::vector<double> fit_members(const Context& ctx, const Samples<T>& X, const Target& y,
                                  const std::vector<std::int32_t>& fold_of, std::int64_t n_folds);
  void calibrate(Member& member, const std::vector<double>& scores, const Target& y) const;
  void add_softmax(const Member& member, const std::vector<double>& scores, std::vector<double>& shares) const;
  void add_shares(const Member& member, const std::vector<double>& scores, std::vector<double>& shares) const;

  CalibratedParams params_;
  schema::Value estimator_;
  NestedPredictor<T> like_;   // not fitted
  std::vector<Member> members_;
  std::vector<std::string> classes_;
};

}   // namespace kedge::engine
