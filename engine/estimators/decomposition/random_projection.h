// GaussianRandomProjection and SparseRandomProjection: rows times a random matrix, which keeps their distances.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct RandomProjectionParams {
  schema::Value n_components = "auto";
  double eps = 0.1;
  bool compute_inverse_components = false;
  std::optional<std::int64_t> random_state;
};
struct SparseRandomProjectionParams : RandomProjectionParams {
  schema::Value density = "auto";
};

// What both do once the matrix is drawn. The draws are those of numpy's RandomState, so a seed gives scikit-learn's
// matrix. Cost: n_components * n_features draws on the host; transform is one product. Errors: kBadData where
// n_components = "auto" asks for more components than there are columns.
template <class T>
class RandomProjection : public Transformer<T> {
 public:
  bool accepts_sparse() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

 protected:
  // `name` is kept as it is.
  RandomProjection(const char* name, const RandomProjectionParams& params);
  // n_components x n_features numbers, row by row.
  virtual std::vector<double> draw(LegacyRandom& random, std::int64_t n_components, std::int64_t n_features) = 0;

 private:
  std::int64_t count_components(const Context& ctx, std::int64_t n, std::int64_t d) const;

  const char* name_;
  RandomProjectionParams shared_;
  std::int64_t n_features_ = 0, n_components_ = 0;
  std::vector<T> components_;                // n_components x n_features
  std::vector<double> inverse_components_;   // n_features x n_components, or empty
};

// Entries of variance 1 / n_components. Source: Dasgupta and Gupta, "An elementary proof of the Johnson-Lindenstrauss
// lemma", 1999.
template <class T>
class GaussianRandomProjection final : public RandomProjection<T> {
 public:
  explicit GaussianRandomProjection(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  std::vector<double> draw(LegacyRandom& random, std::int64_t n_components, std::int64_t n_features) override;
};

// Entries that are 0 but for a share `density`, which have one size and a random sign. Source: Li, Hastie and Church,
// "Very sparse random projections", KDD 2006.
template <class T>
class SparseRandomProjection final : public RandomProjection<T> {
 public:
  explicit SparseRandomProjection(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  explicit SparseRandomProjection(const SparseRandomProjectionParams& params);
  std::vector<double> draw(LegacyRandom& random, std::int64_t n_components, std::int64_t n_features) override;

  SparseRandomProjectionParams params_;
  double density_ = 0;
};

}   // namespace kedge::engine
