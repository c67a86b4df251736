// What both mixtures do with rows: fit by a rule, labels, shares of the components, log densities, the stored form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/mixture/mixture_fit.h"
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

// Rows are centred and read as double, whatever T is, so that neither an offset nor float32 costs digits. A mixture
// derives from it and says how it maximises.
template <class T>
class MixtureModel : public Clusterer<T>, public RowScorer<T> {
 public:
  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  std::vector<std::string> row_outputs() const override;
  Matrix<double> row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

 protected:
  // `name` is kept as it is.
  MixtureModel(const char* name, const MixtureParams& params) : name_(name), shared_(params) {}
  // The rule for rows (device, less `mean`), whose errors name what of the parameters does not fit them.
  virtual std::unique_ptr<MixtureRule> rule(const Context& ctx, MatrixView<const double> X,
                                            const std::vector<double>& mean, MixtureRows& rows) = 0;
  CovarianceKind kind() const { return covariance_kind(shared_.covariance_type); }
  std::int64_t n_features() const { return n_features_; }
  // Row-major means of the columns of X as they are.
  std::vector<double> uncentred(std::vector<double> means) const;
  const MixtureState& fitted() const { return fitted_.state; }
  MixtureState& fitted() { return fitted_.state; }
  const std::vector<double>& centre() const { return mean_; }
  // Covariances or factors, as nested lists by kind.
  schema::Value by_kind(const std::vector<double>& numbers) const;

 private:
  using Visit = std::function<void(std::int64_t, MixtureRows&)>;
  void for_blocks(const Context& ctx, const Samples<T>& X, const Visit& visit) const;

  const char* name_;
  MixtureParams shared_;
  std::int64_t n_features_ = 0;
  std::vector<double> mean_;   // of the columns
  FittedMixture fitted_;
  std::vector<double> log_weights_;   // what prediction adds to the log densities
  std::vector<std::int32_t> labels_;
};

}   // namespace kedge::engine
