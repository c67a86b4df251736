// Points on the host, each coordinate of all of them in a row, so that the distances from one to many are made in
// vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/backend/distance.h"

namespace kedge::engine {

// A set of points, each at a place below size(), from which points are taken out: the last one moves to the free place.
class PointLanes {
 public:
  static constexpr std::int64_t kBlock = 512;   // places whose distances are made together

  PointLanes(const std::vector<double>& rows, std::int64_t n, std::int64_t dims);

  std::int64_t size() const { return size_; }
  std::int64_t dims() const { return dims_; }
  std::vector<double> point(std::int64_t place) const;
  void set(std::int64_t place, const std::vector<double>& point);
  void remove(std::int64_t place);
  // out[i] = the reduced distance from `point` to that at place begin + i, summed column after column; count <= kBlock.
  void reduced(const Distance& distance, const double* point, std::int64_t begin, std::int64_t count,
               double* out) const;
  // body(begin, count) for each block of places, in any order, on all threads if that pays. Returns how many blocks.
  std::int64_t for_blocks(const std::function<void(std::int64_t, std::int64_t)>& body) const;

 private:
  std::int64_t size_, stride_, dims_;
  std::vector<double> coordinates_;   // dims_ x stride_
};

// The least of n values; infinite for none.
double least_of(const double* values, std::int64_t n);

// Gives the rows length 1, so that half the squared distance of two is 1 less their cosine. Errors: kBadData naming
// `owner` for a row of zeros.
void make_unit_rows(std::string_view owner, std::vector<double>& rows, std::int64_t dims);

}   // namespace kedge::engine
