// What the neighbour estimators share: the metric parameters, and fitted points that answer searches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

class StateArchive;
struct FoldParts;

// Base of the parameters of every neighbour estimator.
struct NeighborParams {
  std::string algorithm = "auto";
  std::optional<double> p = 2;
  std::string metric = "minkowski";
};

// What metric and p mean.
struct NeighborMetric {
  explicit NeighborMetric(const NeighborParams& params);
  Distance distance;
  bool is_cosine = false;
  std::string effective;
  std::optional<double> power;   // of a Minkowski metric that has no name of its own
  // Of points of this content: equal for equal distances.
  std::string work_key(const std::string& content) const;
};

// Adds algorithm, leaf_size, metric, p, metric_params and n_jobs, with their documentation, to the set of P, a NeighborParams.
template <class P>
ParamSet<P>& add_neighbor_params(ParamSet<P>& set) {
  return set
      .add(
          "algorithm", &P::algorithm, {"auto", "ball_tree", "kd_tree", "brute"},
          "A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same.")
      .ignore("leaf_size", 30, {integer_form(at_least(1))})
      .add("p", &P::p, above(0), "Power of the Minkowski metric; null means 2.")
      .add("metric", &P::metric,
           {"minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "infinity", "cosine"},
           "Distance.")
      .ignore("metric_params", nullptr, {null_form()})
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
}
std::vector<schema::ParamForm> neighbor_weight_forms();   // "uniform", "distance" or null
// Throws Error{kInvalidValue} for pairs that scikit-learn refuses: trees with cosine, or with p < 1.
void check_neighbor_params(std::string_view owner, const NeighborParams& params);

// The neighbours of queries first .. first + count - 1, nearest first: those of each lie `stride` behind those of the one before.
struct NearestLists {
  std::int64_t first = 0, count = 0;
  std::size_t k = 0, stride = 0;
  const std::int32_t* indices = nullptr;
  const double* distances = nullptr;
  std::span<const std::int32_t> indices_of(std::int64_t i) const { return {indices + static_cast<std::size_t>(i) * stride, k}; }
  std::span<const double> distances_of(std::int64_t i) const { return {distances + static_cast<std::size_t>(i) * stride, k}; }
};

// Points and their index. fit() keeps the rows: it shares the table where nothing has to be gathered, otherwise it
// holds a copy. Within a search, candidates that differ in the number of neighbours or in their weights share the
// points, and one search for the largest number that any of them wants; folds that partition the rows share one search
// where the backend does that (NeighbourOps::nearest_of_others): the neighbours are the same to the bit.
template <class T>
class NeighborModel {
 public:
  // Announces a search for k neighbours among points of this content.
  static void announce(WorkCache& plan, const std::string& content, const NeighborParams& params, std::int64_t k);
  void fit(const Context& ctx, const Samples<T>& X, const NeighborParams& params);
  void state(StateArchive& archive, const NeighborParams& params);
  bool is_fitted() const { return points_ || origin_; }
  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_cols() const { return n_cols_; }

  // For each query its k nearest points, nearest first, of equal distances the lower index. Calls take() for batches of
  // queries in order. Errors: kBadData for fewer points than k.
  using TakeNearest = std::function<void(const NearestLists&)>;
  void nearest(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t k, const TakeNearest& take) const;
  // The k nearest points of these queries, nearest first, with their distances; queries x k on the device. Errors:
  // kBadData for distances that leave T.
  struct DeviceLists {
    Matrix<std::int32_t> indices;
    Matrix<T> distances;
  };
  DeviceLists device_lists(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t k) const;
  // Names the lists of these queries that the candidates of a search share: equal names, equal neighbours as far as both go, taken in
  // one batch. Empty where nothing is shared.
  std::string shared_lists(const Context& ctx, const Samples<T>& queries, std::int64_t k) const;
  // For each query the points within `radius`, in no order that means anything. Calls take(query, indices, distances) in order.
  using TakeWithin = std::function<void(std::int64_t, std::span<const std::int32_t>, std::span<const double>)>;
  void within(const Context& ctx, std::string_view owner, const Samples<T>& queries, double radius, const TakeWithin& take) const;
  // DBSCAN's components of the points themselves: see NeighbourIndex.
  void components(const Context& ctx, double radius, double least, VectorView<const double> weights, VectorView<std::uint8_t> core,
                  VectorView<std::int32_t> component) const;

  // effective_metric_, effective_metric_params_, n_samples_fit_.
  schema::ValueMap attributes() const;
  static std::vector<std::string> attribute_names();

 private:
  struct Points {
    Samples<T> rows;                             // neither selected nor mapped any more
    std::unique_ptr<NeighbourIndex<T>> index;    // borrows them
  };
  struct Lists {                                 // of all queries, k of each
    std::int64_t k = 0;
    std::vector<std::int32_t> indices;
    std::vector<double> distances;
  };
  struct FoldLists {
    std::shared_ptr<Table<T>> table;             // whose address names them
    Lists lists;                                 // k = 0: there are none
  };
  Points index_points(const Context& ctx, const Samples<T>& X) const;
  Points& points(const Context& ctx) const;
  Lists make_lists(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t most) const;
  bool is_of_folds(const Context& ctx, const FoldParts* folds, const Samples<T>& queries, std::int64_t most) const;
  const Lists* lists_of_folds(const Context& ctx, FoldParts& folds, std::int64_t most) const;
  void search(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t k, const TakeNearest& take) const;
  std::int64_t shared_k(const Context& ctx, const Samples<T>& queries, std::int64_t k) const;
  std::string lists_name(const Samples<T>& queries, std::int64_t most) const;
  void take_shared(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t most, std::int64_t k,
                   const TakeNearest& take) const;
  MatrixView<const T> batch(const Context& ctx, const Samples<T>& X, std::int64_t first, std::int64_t count, Matrix<T>& scratch) const;
  double limit_of(double radius) const;
  double restored(T reduced) const;

  NeighborMetric metric_{NeighborParams{}};
  std::int64_t n_rows_ = 0, n_cols_ = 0;
  mutable std::shared_ptr<Points> points_;       // shared with other candidates of a search; null until they are wanted
  std::optional<Samples<T>> origin_;             // from which they will be made
  std::string work_key_;                         // of the points; empty: nothing is shared
};

// None where distances are sums of absolute values, or the largest of them.
Squares squares_of(const NeighborParams& params);

// The weights of neighbours at these distances: 1 each, or 1 / distance, where a neighbour at distance 0 takes all.
void neighbor_weights(std::span<const double> distances, bool by_distance, std::vector<double>& weights);

}  // namespace kedge::engine
