// What the resamplers by class share: the plan of a fit, its attribute, and what they leave alone.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/memory_need.h"
#include "engine/estimators/resampler.h"
#include "engine/estimators/resampling/sampling_strategy.h"

namespace kedge::engine {

template <class T>
class ClassResampler : public Resampler<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override { this->fit_resample(ctx, X, y); }
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;   // sampling_strategy_: rows of each class that were made, or kept
  void state(StateArchive& archive) override;

 protected:
  // Errors: those of check_sampling_strategy().
  ClassResampler(const char* owner, Sampling sampling, schema::Value strategy);
  // What a fit on these rows does, which it keeps. Errors: those of class_samples(); kBadData for more rows than 2^31.
  std::vector<ClassSample> plan(const Context& ctx, const Samples<T>& X, const Target& y);

 private:
  const char* owner_;
  Sampling sampling_;
  schema::Value strategy_;
  std::vector<std::string> classes_;   // that were resampled
  std::vector<std::int64_t> counts_;   // rows of each
  std::int64_t n_features_ = 0;
};

// Rows of each class by code, ascending; host.
std::vector<std::vector<std::int32_t>> rows_by_class(const Target& y);

namespace memory {
// The most that a step of this strategy makes of X: rows beside those that are there.
std::int64_t made_rows(const SampleShape& X, const schema::Step& step);
}   // namespace memory

}   // namespace kedge::engine
