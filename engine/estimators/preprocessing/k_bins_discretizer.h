// KBinsDiscretizer: each column cut into bins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct KBinsDiscretizerParams {
  schema::Value n_bins = 5;
  std::string encode = "onehot", strategy = "quantile", quantile_method = "averaged_inverted_cdf";
  std::optional<std::int64_t> subsample = 200'000, random_state;
};

// Edges are evenly spaced, at quantiles, or midway between the centres that k-means finds in the column; bins narrower
// than 1e-8 are joined, and a constant column has one. More than `subsample` rows are sampled with replacement by
// numpy's RandomState.choice. Cost: a sort of each column on the device; k-means, and anything with weights, on the
// host. Errors: kBadData without rows; kInvalidValue for weights with a quantile_method that knows none, or n_bins of
// another length than X has columns.
template <class T>
class KBinsDiscretizer final : public Transformer<T> {
 public:
  explicit KBinsDiscretizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Column {                          // without rows of weight 0
    std::vector<double> values, weights;   // values ascending; weights empty or one each
    std::int64_t n_bins = 0;
    std::int64_t n = 0;                 // numbers of the sorted column
    std::vector<std::int32_t> places;   // where `values` stand in it; empty: all are there
    double at(std::int64_t place) const;
  };
  std::vector<Column> columns(const Context& ctx, const Samples<T>& X, const std::vector<double>& weights) const;
  std::vector<std::int32_t> places_read(const std::vector<Column>& columns) const;
  void read_sorted(const Context& ctx, const Samples<T>& X, std::vector<Column>& columns) const;
  std::vector<double> edges_of(const Column& column) const;
  std::vector<double> quantile_edges(const Column& column) const;

  KBinsDiscretizerParams params_;
  std::vector<std::vector<double>> edges_;   // of each column, ends included
};

}  // namespace kedge::engine
