// Nearest neighbours by products of bytes: rows rounded to 256 levels, exact integer distances between them, and a bound on what
// the rounding can hide. Four times the multiply-adds of float where the CPU has AVX-512 VNNI.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/core/view.h"

namespace kedge::engine {

bool has_byte_products();   // of this CPU

// Points p become levels q with p = middle + step * q + rest, so that the distance of two rows is step * |q - q'| but for at most
// |rest| + |rest'| (triangle inequality). All points that this does not rule out are ranked by their distance in double: the
// answer is exact. Useful where the rests are small beside the distances of neighbours, as for images. Borrows the points. T:
// float or double.
template <class T>
class ByteScan {
 public:
  static constexpr std::int64_t kFewestColumns = 24, kMostColumns = 16384, kFewestPoints = 512;
  // Points that it can be made for: enough of them, finite, not all equal.
  static std::unique_ptr<ByteScan> make(MatrixView<const T> points);

  // As NeighbourIndex::nearest, Euclidean, but for the queries that it returns: too many points could be near to them. Any thread
  // count gives the same.
  std::vector<std::int64_t> nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices,
                                    MatrixView<T> squared) const;
  // Whether ruling out by bytes leaves few enough of the points, tried on some of the queries.
  bool is_useful(MatrixView<const T> queries, int k) const;

 private:
  struct Queries;
  struct Shortlist;
  struct Level {
    double middle = 0, step = 0;
  };
  explicit ByteScan(MatrixView<const T> points) : points_(points) {}
  double pack(std::int64_t block);
  Queries prepare(MatrixView<const T> rows) const;
  std::vector<Shortlist> shortlist(const Queries& queries, int k) const;

  MatrixView<const T> points_;
  Level level_;
  std::int64_t words_ = 0;             // of four columns
  std::vector<std::uint8_t> levels_;   // blocks of 64 points: for each word, four bytes of each point, 0 to 255
  std::vector<std::int32_t> norms_;    // of the levels less 128; the largest for what is beyond the last point
  double largest_rest_ = 0;
};

}   // namespace kedge::engine
