// MeanShift: clusters around the places where the rows are densest.
#pragma once

#include <optional>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct MeanShiftParams {
  std::optional<double> bandwidth;
  schema::Value seeds;
  bool bin_seeding = false, cluster_all = true;
  std::int64_t min_bin_freq = 1, max_iter = 300;
};

// A seed moves to the mean of the rows within the bandwidth, until it stays. Seeds that end within the bandwidth of one
// with more rows around it are dropped. Source: Comaniciu, Meer, "Mean shift: a robust approach toward feature space
// analysis", PAMI 2002.
template <class T>
class MeanShift final : public Clusterer<T> {
 public:
  explicit MeanShift(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> seeds_for(const Context& ctx, const std::vector<double>& rows, double bandwidth) const;

  MeanShiftParams params_;
  std::vector<T> centers_;   // row-major
  std::vector<std::int32_t> labels_;
  std::int64_t n_features_ = 0, n_iter_ = 0;
};

}   // namespace kedge::engine
