// Loops over the coordinates of many points, each compiled for several widths of vectors.
#include "engine/estimators/cluster/point_lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/simd.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

KEDGE_CLONES void add_squares(const double* lane, double x, std::int64_t n, double* __restrict sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += (lane[i] - x) * (lane[i] - x);
}

KEDGE_CLONES void add_sizes(const double* lane, double x, std::int64_t n, double* __restrict sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += std::abs(lane[i] - x);
}

KEDGE_CLONES void take_largest(const double* lane, double x, std::int64_t n, double* __restrict most) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double size = std::abs(lane[i] - x);
    most[i] = size > most[i] ? size : most[i];
  }
}

void add_powers(const double* lane, double x, double power, std::int64_t n, double* __restrict sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += minkowski_term(std::abs(lane[i] - x), power);
}

}   // namespace

PointLanes::PointLanes(const std::vector<double>& rows, std::int64_t n, std::int64_t dims)
    : size_(n), stride_(n), dims_(dims), coordinates_(rows.size()) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < dims; ++j)
      coordinates_[static_cast<std::size_t>(j * stride_ + i)] = rows[static_cast<std::size_t>(i * dims + j)];
}

std::vector<double> PointLanes::point(std::int64_t place) const {
  std::vector<double> made(static_cast<std::size_t>(dims_));
  for (std::size_t j = 0; j < made.size(); ++j)
    made[j] = coordinates_[j * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(place)];
  return made;
}

void PointLanes::set(std::int64_t place, const std::vector<double>& point) {
  for (std::size_t j = 0; j < point.size(); ++j)
    coordinates_[j * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(place)] = point[j];
}

void PointLanes::remove(std::int64_t place) {
  set(place, point(size_ - 1));
  --size_;
}

void PointLanes::reduced(const Distance& distance, const double* point, std::int64_t begin, std::int64_t count,
                         double* out) const {
  std::fill_n(out, count, 0.0);
  for (std::int64_t j = 0; j < dims_; ++j) {
    const double* const lane = coordinates_.data() + j * stride_ + begin;
    switch (distance.metric) {
      case Metric::kEuclidean: add_squares(lane, point[j], count, out); break;
      case Metric::kManhattan: add_sizes(lane, point[j], count, out); break;
      case Metric::kChebyshev: take_largest(lane, point[j], count, out); break;
      case Metric::kMinkowski: add_powers(lane, point[j], distance.power, count, out); break;
    }
  }
}

std::int64_t PointLanes::for_blocks(const std::function<void(std::int64_t, std::int64_t)>& body) const {
  constexpr std::int64_t kAlone = 100'000;   // coordinates; to wake a thread takes as long as these
  const std::int64_t blocks = (size_ + kBlock - 1) / kBlock;
  const auto work = [&](std::int64_t block) { body(block * kBlock, std::min(size_ - block * kBlock, kBlock)); };
  if (size_ * (dims_ + 4) >= kAlone) side_by_side(blocks, work);
  else
    for (std::int64_t block = 0; block < blocks; ++block) work(block);
  return blocks;
}

KEDGE_CLONES double least_of(const double* values, std::int64_t n) {
  std::array<double, 8> lanes;
  lanes.fill(std::numeric_limits<double>::infinity());
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lanes[l] = values[i + l] < lanes[l] ? values[i + l] : lanes[l];
  for (; i < n; ++i) lanes[0] = values[i] < lanes[0] ? values[i] : lanes[0];
  return *std::ranges::min_element(lanes);
}

void make_unit_rows(std::string_view owner, std::vector<double>& rows, std::int64_t dims) {
  for (auto row = rows.begin(); row != rows.end(); row += dims) {
    double largest = 0, sum = 0;   // scaled: neither overflow nor underflow
    for (auto x = row; x != row + dims; ++x) largest = std::max(largest, std::abs(*x));
    require(largest > 0, schema::ErrorCode::kBadData, "{}: row {} is 0 in all columns, so it has no cosine", owner,
            (row - rows.begin()) / dims);
    for (auto x = row; x != row + dims; ++x) *x /= largest, sum += *x * *x;
    for (auto x = row; x != row + dims; ++x) *x /= std::sqrt(sum);
  }
}

}   // namespace kedge::engine
