// SpectralEmbedding: rows at the places that the eigenvectors of a graph of them give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct SpectralEmbeddingParams {
  std::int64_t n_components = 2;
  std::string affinity = "nearest_neighbors";
  std::optional<double> gamma;
  std::optional<std::int64_t> n_neighbors;
};

// embedding_ is the answer: other rows have no place in it. The same bits for any number of threads.
// Source: Belkin, Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", Neural
// Computation 15(6), 2003; affinity_graph.h.
template <class T>
class SpectralEmbedding final : public Estimator<T> {
 public:
  explicit SpectralEmbedding(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  SpectralEmbeddingParams params_;
  std::vector<double> embedding_;   // a row of n_components each
  std::int64_t n_neighbors_ = 0, n_rows_ = 0, n_features_ = 0;
};

}   // namespace kedge::engine
