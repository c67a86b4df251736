// FastICA: directions along which the data are independent of each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct FastICAParams {
  std::optional<std::int64_t> n_components, random_state;
  std::string algorithm = "parallel", fun = "logcosh", whiten_solver = "svd";
  schema::Value whiten = std::string("unit-variance"), fun_args, w_init;
  std::int64_t max_iter = 200;
  double tol = 1e-4;
};

// The rows are whitened by their principal components (unless whiten is false), then a square matrix is turned until
// the contrast of its rows is largest. An iteration is two products of n_samples x n_components and n_components^2.
// Errors: kBadData for fewer than 2 rows, more components than the data have directions, without whitening for fewer
// rows than columns. Source: Hyvarinen and Oja, "Independent component analysis: algorithms and applications", Neural
// Networks 13, 2000.
template <class T>
class FastICA final : public Transformer<T> {
 public:
  explicit FastICA(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kProducts; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct White {   // rows in their principal directions, each of variance 1, and what made them
    Samples<T> rows;
    std::vector<double> directions, scales;   // k x d; k singular values
  };
  bool is_whitened() const;
  std::int64_t count_components(const Context& ctx, std::int64_t n, std::int64_t d) const;
  std::int64_t checked_rank(const std::vector<double>& scales, double least) const;
  White whitened(const Context& ctx, const Samples<T>& X);
  std::vector<double> start(const Context& ctx) const;
  void finish(const White& white, std::vector<double> W, std::int64_t n);

  FastICAParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_iter_ = 0;
  std::vector<double> components_, mixing_, mean_,
      whitening_;   // k x d, d x k, d, k x d; the last two with whitening alone
};

}   // namespace kedge::engine
