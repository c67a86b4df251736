// Bounds on bytes' distances, and the exact ranks of what they leave.
#include "engine/backend/cpu/wide/byte_shortlist.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/neighbours/score_selection.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr double kRounding = 1e-9;   // of sums in double, far more than they have
constexpr std::int64_t kGap = 64;    // between the last score and its list's capacity

// ranks[i] = how many come before i, by distance and then by their place.
KEDGE_CLONES void rank_all(const double* __restrict distances, std::int64_t n, std::int64_t* __restrict ranks) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double own = distances[i];
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < i; ++j) before += distances[j] <= own;
    for (std::int64_t j = i + 1; j < n; ++j) before += distances[j] < own;
    ranks[i] = before;
  }
}

// The same of keys that all differ.
KEDGE_CLONES void rank_all(const std::int64_t* __restrict keys, std::int64_t n, std::int64_t* __restrict ranks) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t own = keys[i];
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < n; ++j) before += keys[j] < own;
    ranks[i] = before;
  }
}

constexpr std::size_t kRanked = 160;   // comparing all pairs in vectors is faster than sorting most of a short list

bool is_short(std::size_t n, std::int64_t k) { return n <= kRanked && n < 4 * static_cast<std::size_t>(k); }

using Found = std::vector<std::pair<double, std::int32_t>>;   // distances and points, in the order of the points

// Calls put(rank, point, distance) for the k nearest, of equal distances the first.
template <class Put>
void take_nearest(Found& found, std::int64_t k, const Put& put) {
  if (is_short(found.size(), k)) {
    double distances[kRanked] = {};
    std::int64_t ranks[kRanked];
    for (std::size_t i = 0; i < found.size(); ++i) distances[i] = found[i].first;
    rank_all(distances, static_cast<std::int64_t>(found.size()), ranks);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (ranks[i] < k) put(ranks[i], found[i].second, found[i].first);
    return;
  }
  std::ranges::partial_sort(found, found.begin() + k);
  for (std::int64_t j = 0; j < k; ++j)
    put(j, found[static_cast<std::size_t>(j)].second, found[static_cast<std::size_t>(j)].first);
}

// Calls put(rank, key) for the k lowest.
template <class Put>
void take_lowest(std::vector<std::int64_t>& keys, std::int64_t k, const Put& put) {
  if (is_short(keys.size(), k)) {
    std::int64_t ranks[kRanked];
    rank_all(keys.data(), static_cast<std::int64_t>(keys.size()), ranks);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (ranks[i] < k) put(ranks[i], keys[i]);
    return;
  }
  std::ranges::partial_sort(keys, keys.begin() + k);
  for (std::int64_t j = 0; j < k; ++j) put(j, keys[static_cast<std::size_t>(j)]);
}

// The largest score that what rounding hides can bring as near as the k-th.
std::int32_t reach_of(std::int32_t kth, std::int64_t offset, double slack) {
  if (slack == 0) return kth;
  const double reach = (std::sqrt(static_cast<double>(kth + offset)) + slack) * (1 + kRounding);
  return static_cast<std::int32_t>(std::min(std::ceil(reach * reach) - static_cast<double>(offset), static_cast<double>(kNeverNear - 1)));
}

}   // namespace

ByteShortlist::ByteShortlist(int k, std::int64_t n_points)
    : k(static_cast<std::size_t>(k)),
      capacity(std::max(2 * this->k, this->k + kGap)),
      most(std::max(4 * this->k, static_cast<std::size_t>(n_points / 8))) {
  scores.reserve(capacity + kGap), points.reserve(capacity + kGap);
}

void ByteShortlist::prune(std::int64_t offset, double slack) {
  if (points.size() < k || given_up) return;
  const auto n = static_cast<std::int64_t>(points.size());
  limit = reach_of(kth_score(scores.data(), n, static_cast<std::int64_t>(k)), offset, slack);
  const auto kept = static_cast<std::size_t>(keep_near(scores.data(), points.data(), n, limit));
  scores.resize(kept), points.resize(kept);
  if (2 * kept > capacity) capacity *= 2;
  if (kept > most) given_up = true, limit = std::numeric_limits<std::int32_t>::min(), scores.clear(), points.clear();
}

template <class T>
KEDGE_CLONES double exact_distance(const T* a, const T* b, std::int64_t d) {
  return lane_sum(d, [=](std::int64_t j) { return squared_difference(a[j], b[j]); });
}

template <class T>
void NearestOfListed<T>::write_found(int k, std::int64_t row, MatrixView<std::int32_t> indices, MatrixView<T> squared) {
  take_nearest(found_, k, [&](std::int64_t j, std::int32_t point, double distance) {
    raw(indices)[row * indices.stride + j] = point, raw(squared)[row * squared.stride + j] = static_cast<T>(distance);
  });
}

template <class T>
void NearestOfListed<T>::write_scored(const ByteShortlist& list, std::int64_t offset, int k, std::int64_t row,
                                      MatrixView<std::int32_t> indices, MatrixView<T> squared) {
  keys_.clear();
  for (std::size_t i = 0; i < list.points.size(); ++i) keys_.push_back((list.scores[i] + offset) << 32 | list.points[i]);
  take_lowest(keys_, k, [&](std::int64_t j, std::int64_t key) {
    raw(indices)[row * indices.stride + j] = static_cast<std::int32_t>(key & 0xffffffff);
    raw(squared)[row * squared.stride + j] = static_cast<T>(key >> 32);
  });
}

template double exact_distance(const float*, const float*, std::int64_t);
template double exact_distance(const double*, const double*, std::int64_t);
template class NearestOfListed<float>;
template class NearestOfListed<double>;

}   // namespace kedge::engine
