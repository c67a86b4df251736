// Counts and sums by group, and the encodings made of them.
#include "engine/estimators/preprocessing/target_statistics.h"

#include <cmath>

#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kBetweenStops = 1 << 16;

// A class counts rows: its squares follow from them, without rounding up to 2^53.
std::vector<TargetMoments> class_moments(const EncodedTarget& y, std::span<const std::int64_t> group_of,
                                         std::int64_t n_groups) {
  const auto groups = static_cast<std::size_t>(n_groups), outputs = static_cast<std::size_t>(y.n_outputs);
  std::vector<TargetMoments> moments(groups * outputs);
  std::vector<double> counts(groups, 0.0);
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (i % kBetweenStops == 0) check_job_stop();
    if (group_of[i] < 0) continue;
    const auto group = static_cast<std::size_t>(group_of[i]), code = static_cast<std::size_t>(y.codes[i]);
    ++counts[group];
    if (outputs > 1) ++moments[code * groups + group].sum;
    else if (code == 1) ++moments[group].sum;
  }
  for (std::size_t e = 0; e < moments.size(); ++e) {
    TargetMoments& m = moments[e];
    m.count = counts[e % groups];
    m.squares = m.count > 0 ? m.sum * (m.count - m.sum) / m.count : 0;
  }
  return moments;
}

}   // namespace

TargetMoments TargetMoments::with(const TargetMoments& other) const {
  if (count == 0) return other;
  if (other.count == 0) return *this;
  const double n = count + other.count, apart = other.mean() - mean();
  return {n, sum + other.sum, squares + other.squares + apart * apart * (count * (other.count / n))};
}

std::vector<TargetMoments> moments_by_group(const EncodedTarget& y, std::span<const std::int64_t> group_of,
                                            std::int64_t n_groups) {
  if (y.is_classes()) return class_moments(y, group_of, n_groups);
  std::vector<TargetMoments> moments(static_cast<std::size_t>(n_groups));
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (i % kBetweenStops == 0) check_job_stop();
    if (group_of[i] < 0) continue;
    TargetMoments& m = moments[static_cast<std::size_t>(group_of[i])];
    ++m.count, m.sum += y.values[i];
  }
  std::vector<double> means;
  means.reserve(moments.size());
  for (const TargetMoments& m : moments) means.push_back(m.mean());
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (i % kBetweenStops == 0) check_job_stop();
    if (group_of[i] < 0) continue;
    const auto group = static_cast<std::size_t>(group_of[i]);
    const double apart = y.values[i] - means[group];
    moments[group].squares += apart * apart;
  }
  return moments;
}

double encoding(const TargetMoments& category, const TargetMoments& all, std::optional<double> smooth) {
  const double n = category.count, prior = all.mean();
  if (smooth) return n + *smooth == 0 ? prior : (*smooth * prior + category.sum) / (*smooth + n);
  if (n == 0) return prior;
  const double variance = all.squares / all.count, own = variance * n;
  const double share = own / (own + category.squares / n);
  return std::isnan(share) ? prior : share * category.mean() + (1 - share) * prior;   // NaN: nothing varies
}

}   // namespace kedge::engine
