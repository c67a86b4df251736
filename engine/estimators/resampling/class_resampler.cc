// Plans a resampling by class, and describes it.
#include "engine/estimators/resampling/class_resampler.h"

#include <algorithm>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {

template <class T>
ClassResampler<T>::ClassResampler(const char* owner, Sampling sampling, schema::Value strategy)
    : owner_(owner), sampling_(sampling), strategy_(std::move(strategy)) {
  check_sampling_strategy(owner, strategy_);
}

template <class T>
std::vector<ClassSample> ClassResampler<T>::plan(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X);
  ctx.check_stop();
  const PresentClasses present(ctx, y);
  std::vector<ClassSample> samples = class_samples(owner_, sampling_, strategy_, present, y);
  n_features_ = X.n_cols();
  classes_.clear(), counts_.clear();
  std::int64_t room = std::numeric_limits<std::int32_t>::max() - X.n_rows();   // rows have 32-bit numbers
  for (const ClassSample& one : samples) {
    classes_.push_back(y.classes[static_cast<std::size_t>(one.code)]), counts_.push_back(one.count);
    if (sampling_ == Sampling::kUnder) continue;
    require(one.count <= room, schema::ErrorCode::kBadData,
            "{}: {} more rows of class '{}' are too many; a table has at most {} rows", owner_, one.count,
            classes_.back(), std::numeric_limits<std::int32_t>::max());
    room -= one.count;
  }
  return samples;
}

template <class T>
Samples<T> ClassResampler<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(owner_, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  return X;
}

template <class T>
schema::ValueMap ClassResampler<T>::attributes() const {
  schema::ValueMap rows;
  for (std::size_t c = 0; c < classes_.size(); ++c) rows.emplace_back(classes_[c], counts_[c]);
  return {{"sampling_strategy_", std::move(rows)}};
}

template <class T>
void ClassResampler<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("classes", classes_);
  archive.field("counts", counts_, static_cast<std::int64_t>(classes_.size()));
}

std::vector<std::vector<std::int32_t>> rows_by_class(const Target& y) {
  std::vector<std::vector<std::int32_t>> rows(y.classes.size());
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    rows[static_cast<std::size_t>(y.codes[i])].push_back(static_cast<std::int32_t>(i));
  return rows;
}

// Words and ratios make no class larger than the largest, which has fewer rows than all.
std::int64_t memory::made_rows(const SampleShape& X, const schema::Step& step) {
  const schema::Value* strategy = find_value(step.params, "sampling_strategy");
  const auto* rows = strategy ? std::get_if<schema::ValueMap>(&strategy->data) : nullptr;
  if (!rows) return bytes_of(X.rows, std::max<std::int64_t>(1, X.n_outputs - 1), 1);
  std::int64_t made = 0;
  for (const auto& [name, value] : *rows)
    if (const auto* count = std::get_if<std::int64_t>(&value.data)) made += std::clamp<std::int64_t>(*count, 0, kMost);
  return std::min(made, kMost);
}

template class ClassResampler<float>;
template class ClassResampler<double>;

}   // namespace kedge::engine
