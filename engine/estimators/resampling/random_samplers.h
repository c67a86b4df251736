// RandomOverSampler and RandomUnderSampler: rows of classes that are drawn again, or left out.
#pragma once

#include <optional>
#include <vector>

#include "engine/estimators/resampling/class_resampler.h"

namespace kedge::engine {

struct RandomSamplerParams {
  schema::Value sampling_strategy = "auto";
  std::optional<std::int64_t> random_state;
  bool replacement = false;   // of the under-sampler
};

// Both only choose rows: no value is copied, whatever the columns hold, and weights go with their rows. The draws are
// imbalanced-learn's. O(n_samples) on the host. Errors: those of class_samples().
template <class T, Sampling kSampling>
class RandomSampler final : public ClassResampler<T> {
 public:
  explicit RandomSampler(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool accepts_sparse() const override { return true; }
  bool keeps_weights() const override { return true; }
  Resampled<T> fit_resample(const Context& ctx, const Samples<T>& X, const Target& y) override;

 private:
  explicit RandomSampler(RandomSamplerParams params);
  std::vector<std::int32_t> chosen(std::uint32_t seed, const std::vector<ClassSample>& plan, const Target& y) const;

  RandomSamplerParams params_;
};

template <class T>
using RandomOverSampler = RandomSampler<T, Sampling::kOver>;
template <class T>
using RandomUnderSampler = RandomSampler<T, Sampling::kUnder>;

}   // namespace kedge::engine
