// Points that may be among the nearest by the distances of bytes, and their ranking by the true ones.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr std::int32_t kNeverNear = std::numeric_limits<std::int32_t>::max();

// Points whose score is at most the limit, which falls as they come in.
struct ByteShortlist {
  std::vector<std::int32_t> scores, points;
  std::size_t k = 0, capacity = 0, most = 0;
  std::int32_t limit = kNeverNear - 1;
  bool given_up = false;   // too many points could be near

  ByteShortlist(int k, std::int64_t n_points);
  void add(std::int32_t score, std::int32_t point) { scores.push_back(score), points.push_back(point); }
  bool is_long() const { return points.size() >= capacity; }
  // Drops what is too far. score + offset = the squared distance; slack: twice what rounding hides, in the steps of the levels; 0: nothing.
  void prune(std::int64_t offset, double slack);
};

// In double, summed in the lane order of functors.h.
template <class T>
double exact_distance(const T* a, const T* b, std::int64_t d);

// Writes the k nearest of the listed points, which ascend, to row `row` of indices and squared: by distance in double, of equal
// distances the first. One for each thread.
template <class T>
class NearestOfListed {
 public:
  explicit NearestOfListed(MatrixView<const T> points) : points_(points) {}
  void write(const T* query, const std::vector<std::int32_t>& listed, int k, std::int64_t row, MatrixView<std::int32_t> indices,
             MatrixView<T> squared) {
    write(listed, k, row, indices, squared,
          [&](std::int32_t p) { return exact_distance(query, raw(points_) + p * points_.stride, points_.cols); });
  }
  // distance(point): the same to the bit, by another way.
  template <class Distance>
  void write(const std::vector<std::int32_t>& listed, int k, std::int64_t row, MatrixView<std::int32_t> indices,
             MatrixView<T> squared, const Distance& distance) {
    found_.clear();
    for (const std::int32_t p : listed) found_.emplace_back(distance(p), p);
    write_found(k, row, indices, squared);
  }
  // The same of points in any order for which score + offset is the squared distance.
  void write_scored(const ByteShortlist& list, std::int64_t offset, int k, std::int64_t row, MatrixView<std::int32_t> indices,
                    MatrixView<T> squared);

 private:
  void write_found(int k, std::int64_t row, MatrixView<std::int32_t> indices, MatrixView<T> squared);

  MatrixView<const T> points_;
  std::vector<std::pair<double, std::int32_t>> found_;   // distances and points, in the order of the points
  std::vector<std::int64_t> keys_;                       // the distance above, the point below
};

}   // namespace kedge::engine
