// SMOTE: rows of rare classes, made on the lines between neighbours.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/estimators/resampling/class_resampler.h"

namespace kedge::engine {

struct SmoteParams {
  schema::Value sampling_strategy = "auto";
  std::optional<std::int64_t> random_state;
  std::int64_t k_neighbors = 5;
};

// A new row lies between a row of its class and one of that row's nearest neighbours in the class, at a place that is
// drawn. The draws are imbalanced-learn's. Rows are searched and made on the device; the host draws. Cost: a search for
// the neighbours of the rows that are drawn, in their class. Errors: kBadData for a class that is to grow and has not
// more rows than k_neighbors, and those of class_samples(). Source: Chawla, Bowyer, Hall, Kegelmeyer, "SMOTE: synthetic
// minority over-sampling technique", JAIR 16, 2002.
template <class T>
class SMOTE final : public ClassResampler<T> {
 public:
  explicit SMOTE(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  bool keeps_weights() const override { return false; }
  Resampled<T> fit_resample(const Context& ctx, const Samples<T>& X, const Target& y) override;

 private:
  explicit SMOTE(SmoteParams params);
  void make(const Context& ctx, MatrixView<const T> given, std::span<const std::int32_t> members,
            MatrixView<T> out) const;

  SmoteParams params_;
};

}   // namespace kedge::engine
