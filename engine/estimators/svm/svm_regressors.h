// SVR and NuSVR: support vector regression.
#pragma once

#include <vector>

#include "engine/estimators/memory_need.h"
#include "engine/estimators/svm/shared_kernel.h"
#include "engine/estimators/svm/svm_model.h"
#include "engine/estimators/svm/svm_params.h"

namespace kedge::engine {

// Two multipliers a row, for errors above and below. Cost as SvmClassifier's for one pair. Source: smo_block.h.
template <class T>
class SvmRegressor : public Regressor<T> {
 public:
  Squares squares() const override { return Squares::kRows; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  void announce(WorkCache& plan, const std::string& content) const override {
    announce_kernel(plan, content, name_, params_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override { model_.state(archive, 1, 1, 1); }

 protected:
  SvmRegressor(const char* name, bool is_nu, SvmParams params)
      : name_(name), is_nu_(is_nu), params_(std::move(params)) {}

 private:
  SmoProblem problem(const Target& y) const;

  const char* name_;
  bool is_nu_;
  SvmParams params_;
  SvmModel<T> model_;
};

template <class T>
class SVR final : public SvmRegressor<T> {
 public:
  explicit SVR(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class NuSVR final : public SvmRegressor<T> {
 public:
  explicit NuSVR(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
