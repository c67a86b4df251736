// IncrementalPCA: principal components batch by batch, in the memory of one batch.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct IncrementalPCAParams {
  std::optional<std::int64_t> n_components, batch_size;
  bool whiten = false;
};

// Each batch, centred, is put below the components so far (times their singular values) and a row that corrects the
// mean; a triangle of those rows is decomposed, in double. Where all components are kept no batch loses anything, so
// that the triangles of many batches at once are put together and the last one alone is decomposed. Cost: O(n_samples *
// (n_features + n_components)^2) all in all. The same batches as scikit-learn's. Errors: kBadData for fewer than 2
// rows, more components than columns, or than rows of the first batch. Source: Ross, Lim, Lin and Yang, "Incremental
// learning for robust visual tracking", IJCV 77, 2008.
template <class T>
class IncrementalPCA final : public Transformer<T> {
 public:
  explicit IncrementalPCA(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kProducts; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void add_batch(const Context& ctx, MatrixView<const T> rows, bool is_last);
  void merge_moments(const std::vector<double>& mean, const std::vector<double>& variance, std::int64_t count);
  void take_spectrum(const std::vector<double>& singular, const std::vector<double>& vectors, std::int64_t batch_rows);

  IncrementalPCAParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_samples_seen_ = 0, batch_size_ = 0;
  double noise_variance_ = 0;
  std::vector<double> components_, singular_values_, explained_variance_, explained_variance_ratio_, mean_, var_;
  std::vector<double> known_;   // while it fits: rows that stand for all rows so far, centred
};

// Rows that are added at once where all components are kept, unless a batch has more.
std::int64_t incremental_block_rows(std::int64_t n_cols);

}  // namespace kedge::engine
