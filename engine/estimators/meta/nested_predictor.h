// A classifier or regressor inside another estimator: one step, or several in a row of which the last one predicts.
// What voting, stacking, bagging and the like are made of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/estimators/composition/nested.h"
#include "engine/estimators/meta/dealt_fits.h"

namespace kedge::engine {

std::vector<schema::ParamForm> predictor_forms();   // a step, or a list of steps

// A predictor as the user wrote it. Resource: owns its estimators. Not thread safe.
template <class T>
class NestedPredictor {
 public:
  enum class Kind { kClassifier, kRegressor, kEither };

  // `value`: one of predictor_forms(); `path`: where it stands, "params.estimator". Errors: those of the estimators'
  // constructors under their path; kInvalidValue for one that does not predict as `kind` says, and for resampled rows
  // of a regressor.
  NestedPredictor(const schema::Value& value, const std::string& path, Kind kind);
  NestedPredictor again() const { return NestedPredictor(value_, path_, kind_); }   // not fitted

  bool is_classifier() const { return classifier_ != nullptr; }
  TargetKind target_kind() const { return is_classifier() ? TargetKind::kClasses : TargetKind::kValues; }
  const std::string& estimator() const { return last_step_.estimator; }
  // Not where rows are resampled: imbalanced-learn's counts them, whatever they weigh.
  bool takes_weights() const { return last_->takes_weights() && !(before_ && before_->resampler()); }
  bool has_proba() const { return classifier_ && classifier_->has_proba(); }
  bool has_decision() const { return classifier_ && classifier_->has_decision(); }
  bool has_attribute(std::string_view name) const;   // after fit()

  // `owner` stands before the messages of what the data lack: "StackingClassifier: 'rf': RandomForestClassifier: ...".
  void fit(const Context& ctx, const std::string& owner, const Samples<T>& X, const Target& y);
  // Host memory, row after row: n_classes numbers a row; as Classifier::decision_function, 1 or n_classes; 1.
  std::vector<double> proba(const Context& ctx, const std::string& owner, const Samples<T>& X) const;
  std::vector<double> decision(const Context& ctx, const std::string& owner, const Samples<T>& X) const;
  std::vector<std::int32_t> codes(const Context& ctx, const std::string& owner, const Samples<T>& X) const;
  std::vector<double> values(const Context& ctx, const std::string& owner, const Samples<T>& X) const;

  std::int64_t n_features() const { return n_features_; }
  schema::ValueMap last_attributes() const { return fitted_attributes(*last_, last_width_); }
  // Of a single step its fitted attributes; of several those of each, by name.
  schema::Value attributes() const;
  // n_classes: of the target that this predictor was fitted with, which may differ from the model's; 0: values.
  void state(StateArchive& archive);

  // What is known of fit() on such a table.
  PlannedFit planned(std::int64_t n_rows, std::int64_t n_cols) const;
  // What fit() left, for other ranks of the job; read() forgets what was there.
  void write(const Context& ctx, ByteWriter& out);
  void read(const Context& ctx, ByteReader& in);

 private:
  Samples<T> readable(const Context& ctx, const std::string& owner, const Samples<T>& X) const;

  schema::Value value_;
  std::string path_;
  Kind kind_;
  std::optional<NestedTransformer<T>> before_;   // the steps before the last one
  schema::Step last_step_;
  std::unique_ptr<Estimator<T>> last_;
  const Classifier<T>* classifier_ = nullptr;   // `last_` as what it is
  const Regressor<T>* regressor_ = nullptr;
  std::int64_t n_features_ = 0, last_width_ = 0;
};

// Fits that leave a predictor each, predictor(i); what they fit, and their plan, is the caller's to say.
template <class T>
InnerFits fits_of(const Context& ctx, std::function<NestedPredictor<T>&(std::size_t i)> predictor) {
  return {.write = [&ctx, predictor](std::size_t i, ByteWriter& out) { predictor(i).write(ctx, out); },
          .read = [&ctx, predictor](std::size_t i, ByteReader& in) { predictor(i).read(ctx, in); }};
}

// Whether an element of `estimators` is left out.
inline bool is_dropped(const schema::Value& value) {
  const auto* const word = std::get_if<std::string>(&value.data);
  return word && *word == "drop";
}

// One predictor of a list, with its name.
template <class T>
struct NamedPredictor {
  std::string name, owner;   // owner: "VotingClassifier: 'rf'"
  NestedPredictor<T> predictor;
};

// The elements of `estimators`, each {"name", "estimator"} or [name, estimator]; those that are "drop" are left out.
// Errors: kWrongType, kInvalidValue, kUnknownParameter under their path; also for one that predicts something else.
template <class T>
std::vector<NamedPredictor<T>> named_predictors(std::string_view owner, const schema::Value& list,
                                                typename NestedPredictor<T>::Kind kind);
schema::ParamForm named_predictors_form();

// Names of the elements of such a list in their order, those that are dropped included.
std::vector<std::string> predictor_names(std::string_view owner, const schema::Value& list);

// What a result says of them: their attributes by name.
template <class T>
schema::Value attributes_by_name(const std::vector<NamedPredictor<T>>& predictors);
template <class T>
void state_of(StateArchive& archive, std::vector<NamedPredictor<T>>& predictors);

}   // namespace kedge::engine
