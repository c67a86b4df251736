// PolynomialCountSketch: an approximate feature map of the polynomial kernel, by hashed columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct PolynomialCountSketchParams {
  double gamma = 1, coef0 = 0;
  std::int64_t degree = 2, n_components = 100;
  std::optional<std::int64_t> random_state;
};

// Each of `degree` count sketches adds up columns, with random signs, at random places; the map is their convolution.
// Hashes are those of numpy's RandomState, so that a seed gives scikit-learn's map. The Fourier transforms are matrix
// products: with the hashes before them they are one product of the rows each. Cost a row: n_components *
// (2 * degree * n_features + 2 * n_components). Source: Pham and Pagh, "Fast and scalable polynomial kernels via
// explicit feature maps", KDD 2013.
template <class T>
class PolynomialCountSketch final : public Transformer<T> {
 public:
  explicit PolynomialCountSketch(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t n_hashed() const { return n_features_ + (params_.coef0 != 0 ? 1 : 0); }   // columns, coef0 among them

  PolynomialCountSketchParams params_;
  std::int64_t n_features_ = 0;
  std::vector<std::int64_t> places_, signs_;   // degree x n_hashed: where a column is added, and 1 or -1
};

}   // namespace kedge::engine
