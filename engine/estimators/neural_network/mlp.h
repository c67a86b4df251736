// MLPClassifier and MLPRegressor: multi-layer perceptrons.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/neural_network/mlp_fit.h"
#include "engine/estimators/neural_network/network_search.h"

namespace kedge::engine {

// What both have in common: the fitted network, what is reported of it, and how it is stored.
template <class T>
class MlpModel {
 public:
  // key: of the parameters. Small networks of a search are fitted together, see network_search.h.
  void fit(const Context& ctx, const MlpParams& params, const std::string& key, const Samples<T>& X,
           const MlpTarget& target);
  bool is_by_epochs() const { return is_by_epochs_; }
  // The last layer's values with its intercepts, or their exponentials: X.n_rows() x n_outputs, device.
  Matrix<T> outputs(const Context& ctx, const char* owner, const Samples<T>& X, Activation last) const;
  schema::ValueMap attributes(const char* out_activation) const;
  void state(StateArchive& archive, const MlpParams& params, std::int64_t n_outputs);

  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

 private:
  MlpFit<T> fit_;
  bool is_by_epochs_ = true;   // otherwise L-BFGS, which has no curves
  bool is_extended_ = false;
};

// Errors: kBadData for no rows or columns, and those of fit_mlp().
template <class T>
class MLPClassifier final : public Classifier<T> {
 public:
  explicit MLPClassifier(const schema::ValueMap& params)
      : params_(read_mlp_params(mlp_classifier_params(), params)), key_(schema::to_string(params)) {}
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step) { return MlpModel<T>::memory(X, step); }

  void announce(WorkCache& plan, const std::string& content) const override {
    announce_network(plan, content, this->target_kind(), key_, params_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t n_outputs() const { return present_.size() > 2 ? present_.size() : 1; }
  // One column for each present class; of two the first is 0. A single class has a column of 0.
  Matrix<T> margins(const Context& ctx, const Samples<T>& X) const;

  MlpParams params_;
  std::string key_;
  PresentClasses present_;
  MlpModel<T> model_;
};

// Errors: also kBadData for a negative target with loss "poisson".
template <class T>
class MLPRegressor final : public Regressor<T> {
 public:
  explicit MLPRegressor(const schema::ValueMap& params)
      : params_(read_mlp_params(mlp_regressor_params(), params)), key_(schema::to_string(params)) {}
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step) { return MlpModel<T>::memory(X, step); }

  void announce(WorkCache& plan, const std::string& content) const override {
    announce_network(plan, content, this->target_kind(), key_, params_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  bool is_poisson() const { return params_.loss == "poisson"; }

  MlpParams params_;
  std::string key_;
  MlpModel<T> model_;
};

}   // namespace kedge::engine
