// TruncatedSVD: the leading singular vectors of the rows as they are, without centring.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct TruncatedSVDParams {
  std::int64_t n_components = 2, n_iter = 5, n_oversamples = 10;
  std::string algorithm = "randomized", power_iteration_normalizer = "auto";
  std::optional<std::int64_t> random_state;
};

// "randomized" costs 2 (n_iter + 1) passes over X with n_components + n_oversamples vectors, "arpack" is exact:
// eigenvectors of the Gram matrix where that keeps the digits, otherwise a full decomposition. Signs: the largest
// loading of each component is positive. Errors: kBadData for fewer than 2 columns or more components than the data
// has. Source: Halko, Martinsson and Tropp, SIAM Review 53(2), 2011.
template <class T>
class TruncatedSVD final : public Transformer<T> {
 public:
  explicit TruncatedSVD(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kProducts; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool accepts_sparse() const override { return true; }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  TruncatedSVDParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0;
  std::vector<double> components_, singular_values_, explained_variance_, explained_variance_ratio_;
};

}  // namespace kedge::engine
