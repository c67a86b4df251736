// Nearest neighbours by products of bytes: rows rounded to 256 levels, exact integer distances between them, and a bound on what
// the rounding can hide. Four times the multiply-adds of float where the CPU has AVX-512 VNNI.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/cpu/wide/byte_shortlist.h"
#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Points p become levels q with p = middle + step * q + rest, so that the distance of two rows is step * |q - q'|,
// except for at most |rest| + |rest'| (triangle inequality). All points that this does not rule out are ranked by their
// distance in double: the answer is exact. Useful where the rests are small compared with the distances of neighbours,
// as for images. Whole numbers within 255 of each other are levels themselves, with no rests: their distances are
// known. Borrows the points. T: float or double.
template <class T>
class ByteScan {
 public:
  static constexpr std::int64_t kFewestColumns = 24, kMostColumns = 16384, kFewestPoints = 512;
  // Points that it can be made for: enough of them, finite, not all equal. order: where they lie side by side, if not as they come;
  // borrowed, and for nearest_of_others() alone.
  static std::unique_ptr<ByteScan> make(MatrixView<const T> points, std::span<const std::int32_t> order = {});

  // As NeighbourIndex::nearest, Euclidean, except for the queries that it returns: too many points could be near to
  // them. Any thread count gives the same.
  std::vector<std::int64_t> nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices,
                                    MatrixView<T> squared) const;
  // As NeighbourOps::nearest_of_others for the points themselves, except for the points that it returns.
  std::vector<std::int64_t> nearest_of_others(std::span<const std::int32_t> groups, int k, const std::function<void()>& pause,
                                              MatrixView<std::int32_t> indices, MatrixView<T> squared) const;
  // Whether ruling out by bytes leaves few enough of the points, tried on some of the queries.
  bool is_useful(MatrixView<const T> queries, int k) const;

 private:
  struct Queries {
    std::vector<std::int8_t> levels;     // words of four columns
    std::vector<std::int64_t> offsets;   // score + offset = |q - q'|^2
    std::vector<double> slack;           // twice what rounding hides, in steps; 0: the distance follows from the score
  };
  struct Level {
    double middle = 0, step = 0;
  };
  class Pairs;
  ByteScan(MatrixView<const T> points, std::span<const std::int32_t> order) : points_(points), order_(order) {}
  std::int32_t index(std::int64_t place) const {
    return order_.empty() ? static_cast<std::int32_t>(place) : order_[static_cast<std::size_t>(place)];
  }
  const T* row(std::int64_t place) const { return raw(points_) + index(place) * points_.stride; }
  double pack(std::int64_t block);
  Queries prepare(std::int64_t count, const std::function<const T*(std::int64_t)>& row) const;
  std::vector<ByteShortlist> shortlist(const Queries& queries, int k) const;

  MatrixView<const T> points_;
  std::span<const std::int32_t> order_;   // empty: places are indices
  Level level_;
  bool is_whole_ = false;              // step is 1, and the points have no rests
  std::int64_t words_ = 0;             // of four columns
  std::vector<std::uint8_t> levels_;   // blocks of 64 points: for each word, four bytes of each point, 0 to 255
  std::vector<std::int32_t> norms_;    // of the levels less 128; the largest for what is beyond the last point
  double largest_rest_ = 0;
};

}   // namespace kedge::engine
