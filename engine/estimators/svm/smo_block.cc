// The steps of sequential minimal optimisation, in loops that become vectors.
#include "engine/estimators/svm/smo_block.h"

#include <algorithm>

#include "engine/backend/simd.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr int kWidth = 16;                  // lanes of a maximum: two vectors of AVX-512
constexpr double kLeastCurvature = 1e-12;   // LIBSVM's tau, of a pair along which the kernel is not positive
constexpr std::int64_t kStopEvery = 1024;   // steps between two looks whether the job is to stop

struct Extremes {
  double highest, lowest;
};

// scores[t] -= step * (a[t] - b[t]), and the extremes of what may rise and of what may fall.
KEDGE_CLONES Extremes update_scores(std::int64_t n, double step, const float* __restrict a, const float* __restrict b,
                                    const double* __restrict up, const double* __restrict low,
                                    double* __restrict scores) {
  double high[kWidth], deep[kWidth];
  for (int l = 0; l < kWidth; ++l) high[l] = -kInfinite, deep[l] = kInfinite;
  std::int64_t t = 0;
  for (; t + kWidth <= n; t += kWidth) {
    for (int l = 0; l < kWidth; ++l) {
      const double v = scores[t + l] - step * (static_cast<double>(a[t + l]) - static_cast<double>(b[t + l]));
      scores[t + l] = v;
      const double rises = v + up[t + l], falls = v + low[t + l];
      high[l] = high[l] < rises ? rises : high[l];
      deep[l] = falls < deep[l] ? falls : deep[l];
    }
  }
  for (int l = 0; t < n; ++t, ++l) {
    scores[t] -= step * (static_cast<double>(a[t]) - static_cast<double>(b[t]));
    high[l] = std::max(high[l], scores[t] + up[t]), deep[l] = std::min(deep[l], scores[t] + low[t]);
  }
  return {*std::max_element(high, high + kWidth), *std::min_element(deep, deep + kWidth)};
}

// gains[t] = what the objective falls by with the pair of variable i (whose score, diagonal and row are given) and t,
// to a factor of 2; 0 where that pair does not violate. Returns the largest.
KEDGE_CLONES double pair_gains(std::int64_t n, double score, double diagonal, const float* __restrict row,
                               const double* __restrict scores, const double* __restrict low,
                               const double* __restrict diagonals, double* __restrict gains) {
  double best[kWidth] = {};
  std::int64_t t = 0;
  for (; t + kWidth <= n; t += kWidth) {
    for (int l = 0; l < kWidth; ++l) {
      const double violation = score - (scores[t + l] + low[t + l]), b = violation > 0 ? violation : 0.0;
      const double curvature = (diagonal + diagonals[t + l]) - 2.0 * static_cast<double>(row[t + l]);
      const double gain = b * b / (curvature > kLeastCurvature ? curvature : kLeastCurvature);
      gains[t + l] = gain;
      best[l] = best[l] < gain ? gain : best[l];
    }
  }
  for (int l = 0; t < n; ++t, ++l) {
    const double b = std::max(0.0, score - (scores[t] + low[t]));
    const double curvature = (diagonal + diagonals[t]) - 2.0 * static_cast<double>(row[t]);
    gains[t] = b * b / (curvature > kLeastCurvature ? curvature : kLeastCurvature);
    best[l] = std::max(best[l], gains[t]);
  }
  return *std::max_element(best, best + kWidth);
}

KEDGE_CLONES void gather(std::int64_t n, const float* __restrict from, const std::int32_t* __restrict columns,
                         float* __restrict to) {
  std::int64_t s = 0;
  for (; s + kWidth <= n; s += kWidth)
    for (int l = 0; l < kWidth; ++l) to[s + l] = from[columns[s + l]];
  for (; s < n; ++s) to[s] = from[columns[s]];
}

}   // namespace

SmoBlock::SmoBlock(const std::vector<Variable>& variables, std::int64_t first_of_second)
    : n_(static_cast<std::int64_t>(variables.size())) {
  if (first_of_second > 0) groups_.push_back({0, first_of_second});
  if (first_of_second < n_) groups_.push_back({first_of_second, n_});
  for (const Variable& v : variables) {
    score_.push_back(v.score), alpha_.push_back(v.alpha), C_.push_back(v.C);
    diagonal_.push_back(v.diagonal), y_.push_back(v.y);
    sources_.push_back(v.kernel), columns_.push_back(v.column);
  }
  const auto n = static_cast<std::size_t>(n_);
  up_.resize(n), low_.resize(n), gains_.resize(n), has_row_.resize(n);
  kernel_ = std::make_unique_for_overwrite<float[]>(n * n);
  for (std::int64_t t = 0; t < n_; ++t) set_bounds(t);
}

const float* SmoBlock::row(std::int64_t t) {
  const auto at = static_cast<std::size_t>(t);
  float* const own = kernel_.get() + t * n_;
  if (!has_row_[at]) gather(n_, sources_[at], columns_.data(), own), has_row_[at] = 1;
  return own;
}

void SmoBlock::set_bounds(std::int64_t t) {
  const auto at = static_cast<std::size_t>(t);
  up_[at] = may_rise(y_[at], alpha_[at], C_[at]) ? 0 : -kInfinite;
  low_[at] = may_fall(y_[at], alpha_[at], C_[at]) ? 0 : kInfinite;
}

SmoBlock::Pair SmoBlock::best_pair(const Group& group) {
  Pair pair;
  for (std::int64_t t = group.begin; t < group.end; ++t) {
    if (score_[static_cast<std::size_t>(t)] + up_[static_cast<std::size_t>(t)] != group.highest) continue;
    pair.i = t;
    break;
  }
  const auto i = static_cast<std::size_t>(pair.i);
  const std::int64_t begin = group.begin;
  pair.gain = pair_gains(group.end - begin, group.highest, diagonal_[i], row(pair.i) + begin, score_.data() + begin,
                         low_.data() + begin, diagonal_.data() + begin, gains_.data() + begin);
  pair.j = std::find(gains_.begin() + begin, gains_.begin() + group.end, pair.gain) - gains_.begin();
  return pair;
}

void SmoBlock::move(const Pair& pair) {
  const auto i = static_cast<std::size_t>(pair.i), j = static_cast<std::size_t>(pair.j);
  const float *rising = row(pair.i), *falling = row(pair.j);
  const double curvature = diagonal_[i] + diagonal_[j] - 2.0 * static_cast<double>(rising[j]);
  const double room_i = y_[i] > 0 ? C_[i] - alpha_[i] : alpha_[i], room_j = y_[j] > 0 ? alpha_[j] : C_[j] - alpha_[j];
  const double step = std::min({(score_[i] - score_[j]) / std::max(curvature, kLeastCurvature), room_i, room_j});
  alpha_[i] = step == room_i ? (y_[i] > 0 ? C_[i] : 0.0) : alpha_[i] + y_[i] * step;   // a bound is met to the bit
  alpha_[j] = step == room_j ? (y_[j] > 0 ? 0.0 : C_[j]) : alpha_[j] - y_[j] * step;
  set_bounds(pair.i), set_bounds(pair.j);
  for (Group& group : groups_) {
    const std::int64_t b = group.begin;
    const auto [highest, lowest] =
        update_scores(group.end - b, step, rising + b, falling + b, up_.data() + b, low_.data() + b, score_.data() + b);
    group.highest = highest, group.lowest = lowest;
  }
}

SmoBlock::Outcome SmoBlock::solve(double tol, std::int64_t max_iter) {
  for (Group& group : groups_)
    for (std::int64_t t = group.begin; t < group.end; ++t) {
      const auto at = static_cast<std::size_t>(t);
      group.highest = std::max(group.highest, score_[at] + up_[at]);
      group.lowest = std::min(group.lowest, score_[at] + low_[at]);
    }
  for (std::int64_t iter = 0;; ++iter) {
    if (iter % kStopEvery == 0) check_job_stop();
    double worst = -kInfinite;
    for (const Group& group : groups_) worst = std::max(worst, group.highest - group.lowest);
    if (!(worst >= tol)) return {iter, true};
    if (iter >= max_iter) return {iter, false};
    Pair best;
    for (const Group& group : groups_) {
      if (!(group.highest - group.lowest > 0)) continue;
      if (const Pair pair = best_pair(group); best.i < 0 || pair.gain > best.gain) best = pair;
    }
    move(best);
  }
}

}   // namespace kedge::engine
