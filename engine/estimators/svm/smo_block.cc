// The steps of sequential minimal optimisation in vectors, and now and then the step of all free variables.
#include "engine/estimators/svm/smo_block.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/simd.h"
#include "engine/core/stop.h"
#include "engine/estimators/svm/free_step.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kHalf = 4;            // lanes: a vector of AVX2; wider ones would fall apart into scalars there
constexpr std::int64_t kWidth = 2 * kHalf;   // two of them follow each other, since each waits for its last comparison
static_assert(kWidth == kSmoVector);

using Doubles __attribute__((vector_size(kHalf * sizeof(double)))) = double;
using Floats __attribute__((vector_size(kHalf * sizeof(float)))) = float;
using Places __attribute__((vector_size(kHalf * sizeof(std::int64_t)))) = std::int64_t;

template <class V, class T>
inline __attribute__((always_inline)) void load(const T* from, V& v) {
  __builtin_memcpy(&v, from, sizeof v);
}

struct Largest {
  double value;
  std::int64_t at;   // the first place that has it
};

// The largest value in each lane, and the first place that has it.
struct LargestOfLanes {
  Doubles values = Doubles{} - kInfinite;
  Places places{}, place;   // of the values; of the next ones

  explicit LargestOfLanes(std::int64_t first) {
    for (int l = 0; l < kHalf; ++l) place[l] = first + l;
    places = place;
  }
  inline __attribute__((always_inline)) void take(const Doubles& next) {
    const auto is_larger = values < next;
    values = is_larger ? next : values, places = is_larger ? place : places;
    place += kWidth;
  }
  inline __attribute__((always_inline)) void fold_into(Largest& all) const {
    for (int l = 0; l < kHalf; ++l)
      if (values[l] > all.value || (values[l] == all.value && places[l] < all.at)) all = {values[l], places[l]};
  }
};

inline __attribute__((always_inline)) Largest fold(const LargestOfLanes& even, const LargestOfLanes& odd) {
  Largest all{even.values[0], even.places[0]};
  even.fold_into(all), odd.fold_into(all);
  return all;
}

struct Extremes {
  Largest highest;
  double lowest;
};

// What a step changes: scores[t] -= step * (a[t] - b[t]).
struct Update {
  double step;
  const float *a, *b;
  const double *up, *low;
  double* scores;

  inline __attribute__((always_inline)) void at(std::int64_t t, LargestOfLanes& high, Doubles& deep) const {
    Floats of_a, of_b;
    Doubles score, rises, falls;
    load(a + t, of_a), load(b + t, of_b), load(scores + t, score), load(up + t, rises), load(low + t, falls);
    score -= step * (__builtin_convertvector(of_a, Doubles) - __builtin_convertvector(of_b, Doubles));
    __builtin_memcpy(scores + t, &score, sizeof score);
    rises += score, falls += score;
    high.take(rises);
    deep = falls < deep ? falls : deep;
  }
};

// Applies it, and finds the extremes of what may rise and of what may fall. n is a multiple of kWidth.
KEDGE_CLONES Extremes update_scores(std::int64_t n, const Update update) {
  LargestOfLanes even(0), odd(kHalf);
  Doubles deep = Doubles{} + kInfinite, deep_odd = deep;
  for (std::int64_t t = 0; t < n; t += kWidth) update.at(t, even, deep), update.at(t + kHalf, odd, deep_odd);
  double lowest = kInfinite;
  for (int l = 0; l < kHalf; ++l) lowest = std::min({lowest, deep[l], deep_odd[l]});
  return {fold(even, odd), lowest};
}

// What the objective falls by with the pair of variable i (whose score, diagonal and row are given) and t, to a factor
// of 2; it is 0 where that pair does not violate.
struct Gain {
  double score, diagonal;
  const float* row;
  const double *scores, *low, *diagonals;

  inline __attribute__((always_inline)) void at(std::int64_t t, LargestOfLanes& best) const {
    const Doubles zero{}, least = Doubles{} + kLeastCurvature;
    Floats values;
    Doubles falls, other, of_low;
    load(row + t, values), load(scores + t, falls), load(low + t, of_low), load(diagonals + t, other);
    Doubles violation = score - (falls + of_low);
    violation = violation > zero ? violation : zero;
    Doubles curvature = (diagonal + other) - 2.0 * __builtin_convertvector(values, Doubles);
    curvature = curvature > least ? curvature : least;
    best.take(violation * violation / curvature);
  }
};

// The largest. n is a multiple of kWidth.
KEDGE_CLONES Largest best_gain(std::int64_t n, const Gain gain) {
  LargestOfLanes even(0), odd(kHalf);
  for (std::int64_t t = 0; t < n; t += kWidth) gain.at(t, even), gain.at(t + kHalf, odd);
  return fold(even, odd);
}

KEDGE_CLONES void gather(std::int64_t n, const float* __restrict from, const std::int32_t* __restrict columns,
                         float* __restrict to) {
  for (std::int64_t s = 0; s < n; s += kWidth)
    for (int l = 0; l < kWidth; ++l) to[s + l] = from[columns[s + l]];
}

std::int64_t whole_vectors(std::int64_t n) {
  return (n + kWidth - 1) / kWidth * kWidth;
}

}   // namespace

SmoBlock::SmoBlock(const std::vector<Variable>& variables, std::int64_t first_of_second)
    : n_(static_cast<std::int64_t>(variables.size())),
      first_of_second_(first_of_second),
      shift_(whole_vectors(first_of_second) - first_of_second),
      places_(whole_vectors(n_ + shift_)) {
  const std::int64_t second = first_of_second + shift_;
  if (first_of_second > 0) groups_.push_back({0, second});
  if (first_of_second < n_) groups_.push_back({second, places_});
  const auto places = static_cast<std::size_t>(places_);
  for (std::vector<double>* const of : {&score_, &alpha_, &C_, &diagonal_, &y_}) of->resize(places);
  up_.assign(places, -kInfinite), low_.assign(places, kInfinite), has_row_.resize(places);
  sources_.resize(places), columns_.assign(places, variables.empty() ? 0 : variables.front().column);
  for (std::int64_t t = 0; t < n_; ++t) {
    const Variable& v = variables[static_cast<std::size_t>(t)];
    const std::size_t at = place(t);
    score_[at] = v.score, alpha_[at] = v.alpha, C_[at] = v.C, diagonal_[at] = v.diagonal, y_[at] = v.y;
    sources_[at] = v.kernel, columns_[at] = v.column;
    set_bounds(static_cast<std::int64_t>(at));
  }
  kernel_ = std::make_unique_for_overwrite<float[]>(places * places);
}

double SmoBlock::gap() const {
  double worst = -kInfinite;
  for (const Group& group : groups_) worst = std::max(worst, group.gap());
  return worst;
}

const float* SmoBlock::row(std::int64_t t) {
  const auto at = static_cast<std::size_t>(t);
  float* const own = kernel_.get() + t * places_;
  if (!has_row_[at]) gather(places_, sources_[at], columns_.data(), own), has_row_[at] = 1;
  return own;
}

void SmoBlock::set_bounds(std::int64_t t) {
  const auto at = static_cast<std::size_t>(t);
  up_[at] = may_rise(y_[at], alpha_[at], C_[at]) ? 0 : -kInfinite;
  low_[at] = may_fall(y_[at], alpha_[at], C_[at]) ? 0 : kInfinite;
}

double SmoBlock::room(std::int64_t t, bool rises) const {
  const auto at = static_cast<std::size_t>(t);
  return smo_room(y_[at], alpha_[at], C_[at], rises);
}

// y times the multiplier changes by `step`. A bound is met to the bit.
void SmoBlock::move_by(std::int64_t t, double step) {
  const auto at = static_cast<std::size_t>(t);
  alpha_[at] = smo_moved(y_[at], alpha_[at], C_[at], step);
  set_bounds(t);
}

SmoBlock::Pair SmoBlock::best_pair(const Group& group) {
  const std::int64_t b = group.begin;
  const Largest best = best_gain(group.end - b, {.score = group.highest,
                                                 .diagonal = diagonal_[static_cast<std::size_t>(group.first)],
                                                 .row = row(group.first) + b,
                                                 .scores = score_.data() + b,
                                                 .low = low_.data() + b,
                                                 .diagonals = diagonal_.data() + b});
  return {group.first, b + best.at, best.value};
}

void SmoBlock::update(double step, const float* a, const float* b) {
  for (Group& group : groups_) {
    const std::int64_t at = group.begin;
    const Extremes found =
        update_scores(group.end - at, {step, a + at, b + at, up_.data() + at, low_.data() + at, score_.data() + at});
    group.highest = found.highest.value, group.lowest = found.lowest, group.first = at + found.highest.at;
  }
}

void SmoBlock::move(const Pair& pair) {
  const auto i = static_cast<std::size_t>(pair.i), j = static_cast<std::size_t>(pair.j);
  const float *rising = row(pair.i), *falling = row(pair.j);
  const double curvature = diagonal_[i] + diagonal_[j] - 2.0 * static_cast<double>(rising[j]);
  is_indefinite_ = is_indefinite_ || curvature < -kOfRounding * (std::abs(diagonal_[i]) + std::abs(diagonal_[j]));
  const double step = std::min(
      {(score_[i] - score_[j]) / std::max(curvature, kLeastCurvature), room(pair.i, true), room(pair.j, false)});
  move_by(pair.i, step), move_by(pair.j, -step);
  update(step, rising, falling);
}

std::vector<std::int64_t> SmoBlock::free_places() const {
  std::vector<std::int64_t> found;
  for (std::size_t t = 0; t < alpha_.size(); ++t)
    if (alpha_[t] > 0 && alpha_[t] < C_[t]) found.push_back(static_cast<std::int64_t>(t));
  return found;
}

// One step of the variables, which are between their bounds, towards the optimum of their face. Whether one of them met
// its bound, which leaves a smaller face.
bool SmoBlock::move_free(const std::vector<std::int64_t>& places) {
  const std::size_t f = places.size();
  std::vector<const float*> rows;
  std::vector<double> K, scores;
  std::int64_t first_of_second = 0;
  for (const std::int64_t t : places) {
    rows.push_back(row(t)), scores.push_back(score_[static_cast<std::size_t>(t)]);
    if (t < first_of_second_) ++first_of_second;
    for (const std::int64_t u : places) K.push_back(static_cast<double>(rows.back()[u]));
  }
  std::vector<double> step = free_step(std::move(K), scores, first_of_second), sums(alpha_.size(), 0.0);
  add_multiples(places_, rows, step, sums.data());
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  const auto n_free = static_cast<std::int64_t>(f);
  const double slope = lane_sum(n_free, [&](std::int64_t k) { return step[at(k)] * scores[at(k)]; });
  const double curvature = lane_sum(n_free, [&](std::int64_t k) { return step[at(k)] * sums[at(places[at(k)])]; });
  double factor = kInfinite;
  if (!(slope > 0) || !std::isfinite(slope)) return false;
  if (curvature > 0) factor = slope / curvature;
  const auto most = [&](std::size_t k) {
    return step[k] == 0 ? kInfinite : room(places[k], step[k] > 0) / std::abs(step[k]);
  };
  bool is_bounded = false;
  for (std::size_t k = 0; k < f; ++k)
    if (most(k) <= factor) factor = most(k), is_bounded = true;
  if (!std::isfinite(factor)) return false;
  for (std::size_t k = 0; k < f; ++k)   // what ends the step meets its bound, whatever the product rounds to
    move_by(places[k], most(k) <= factor ? std::copysign(kInfinite, step[k]) : factor * step[k]);
  for (std::size_t t = 0; t < score_.size(); ++t) score_[t] -= factor * sums[t];
  update(0, rows.front(), rows.front());
  return is_bounded;
}

// Free variables move to the optimum of their face; those that meet a bound stay there. Returns the steps.
std::int64_t SmoBlock::solve_face(double tol, std::int64_t max_iter) {
  std::int64_t steps = 0;
  for (bool goes_on = true; goes_on && steps < max_iter && gap() >= tol;) {
    check_job_stop();
    const std::vector<std::int64_t> places = free_places();
    if (places.size() < 2 || places.size() > kMostFree) break;
    goes_on = move_free(places), ++steps;
  }
  return steps;
}

SmoBlock::Outcome SmoBlock::solve(double tol, std::int64_t max_iter) {
  if (n_ == 0) return {};
  const float* const any = row(groups_.front().begin);
  update(0, any, any);
  std::int64_t iter = 0;
  for (std::int64_t pairs = 0;;) {   // since the last step of the free variables
    check_job_stop();
    if (!(gap() >= tol)) return {iter, true, is_indefinite_};
    if (iter >= max_iter) return {iter, false, is_indefinite_};
    if (pairs % kLookEvery == kLookEvery - 1 &&
        static_cast<double>(pairs) > kOfFace * pairs_of_face(std::ssize(free_places()), places_)) {
      iter += solve_face(tol, max_iter - iter), pairs = 0;
      continue;
    }
    Pair best;
    for (const Group& group : groups_) {
      if (!(group.gap() > 0)) continue;
      if (const Pair pair = best_pair(group); best.i < 0 || pair.gain > best.gain) best = pair;
    }
    move(best), ++iter, ++pairs;
  }
}

}   // namespace kedge::engine
