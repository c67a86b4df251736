// KernelDensity: the density of rows as a sum of kernels around the fitted rows.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

struct KernelDensityParams {
  schema::Value bandwidth = 1.0;
  std::string algorithm = "auto", kernel = "gaussian", metric = "euclidean";
};

// Sums over all fitted rows, in double, in blocks: no tolerance is spent, so that atol and rtol are ignored. Gaussian
// and exponential kernels are summed relative to the nearest fitted row, so that densities far from all are right.
// Cost: n_queries * n_samples * n_features. Source: Silverman, "Density estimation for statistics and data analysis",
// 1986.
template <class T>
class KernelDensity final : public RowScorer<T> {
 public:
  explicit KernelDensity(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool takes_weights() const override { return true; }
  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<std::string> row_outputs() const override { return {std::string(kScoreSamples)}; }
  Matrix<double> row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const override;
  schema::ValueMap attributes() const override { return {{"bandwidth_", bandwidth_}}; }
  void state(StateArchive& archive) override;

 private:
  KernelDensityParams params_;
  std::int64_t n_features_ = 0, n_rows_ = 0;
  double bandwidth_ = 0;
  std::vector<double> mean_, weights_;   // of the columns; of the rows, or empty
  Matrix<double> points_;                // the fitted rows less mean_
};

}   // namespace kedge::engine
