// Points are sorted along a Morton curve; a cell is a run of them whose codes begin alike.
#include "engine/estimators/manifold/repulsion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/backend/simd.h"
#include "engine/estimators/manifold/row_blocks.h"

namespace kedge::engine {
namespace {

constexpr std::int32_t kLeafPoints = 16, kGroup = 32;
constexpr int bits_of(int dims) { return dims == 2 ? 31 : 21; }   // of a coordinate in a code

// The bits of x, 2 or 3 apart.
std::uint64_t spread(std::uint64_t x, int dims) {
  if (dims == 2) {
    x = (x | x << 16) & 0x0000FFFF0000FFFF, x = (x | x << 8) & 0x00FF00FF00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F, x = (x | x << 2) & 0x3333333333333333;
    return (x | x << 1) & 0x5555555555555555;
  }
  x = (x | x << 32) & 0x001F00000000FFFF, x = (x | x << 16) & 0x001F0000FF0000FF;
  x = (x | x << 8) & 0x100F00F00F00F00F, x = (x | x << 4) & 0x10C30C30C30C30C3;
  return (x | x << 2) & 0x1249249249249249;
}

constexpr int kWide = 16;   // sources that are taken together; their number is filled up to a multiple

// The force on one point from `count` sources, and the sum of q, by coordinates.
struct Push {
  double force[kMostDims];
  double q;
};

double sum_of(const float* lanes) { return std::accumulate(lanes, lanes + kWide, 0.0); }

KEDGE_CLONES Push push2(const float* __restrict x, const float* __restrict y, const float* __restrict weight,
                        std::int64_t count, float px, float py) {
  float fx[kWide] = {}, fy[kWide] = {}, sum[kWide] = {};
  for (std::int64_t s = 0; s < count; s += kWide) {
    for (int l = 0; l < kWide; ++l) {
      const float dx = px - x[s + l], dy = py - y[s + l], q = 1 / (1 + dx * dx + dy * dy), wq = weight[s + l] * q;
      sum[l] += wq, fx[l] += wq * q * dx, fy[l] += wq * q * dy;
    }
  }
  return {{sum_of(fx), sum_of(fy)}, sum_of(sum)};
}

KEDGE_CLONES Push push3(const float* __restrict x, const float* __restrict y, const float* __restrict z,
                        const float* __restrict weight, std::int64_t count, float px, float py, float pz) {
  float fx[kWide] = {}, fy[kWide] = {}, fz[kWide] = {}, sum[kWide] = {};
  for (std::int64_t s = 0; s < count; s += kWide) {
    for (int l = 0; l < kWide; ++l) {
      const float dx = px - x[s + l], dy = py - y[s + l], dz = pz - z[s + l];
      const float w = 1 / (1 + (dx * dx + dy * dy + dz * dz) / 2), q = weight[s + l] * w * __builtin_sqrtf(w);
      sum[l] += q, fx[l] += q * w * dx, fy[l] += q * w * dy, fz[l] += q * w * dz;
    }
  }
  return {{sum_of(fx), sum_of(fy), sum_of(fz)}, sum_of(sum)};
}

}   // namespace

struct Repulsion::Sources {
  std::array<std::vector<float>, kMostDims> at;
  std::vector<float> weight;

  void clear() {
    for (auto& lane : at) lane.clear();
    weight.clear();
  }
  template <int kDims>
  void add(const float* place, float count) {
    for (int d = 0; d < kDims; ++d) at[static_cast<std::size_t>(d)].push_back(place[d]);
    weight.push_back(count);
  }
  template <int kDims>
  void fill_up() {
    const float nowhere[kMostDims] = {};
    while (weight.size() % kWide != 0) add<kDims>(nowhere, 0.0F);
  }
};

void Repulsion::order_points(const EmbeddedPoints& points) {
  dims_ = points.dims, side_ = 0;
  std::array<double, kMostDims> low{};
  for (int d = 0; d < dims_; ++d) {
    const auto [least, most] = std::minmax_element(points.lane(d), points.lane(d) + points.n);
    low[static_cast<std::size_t>(d)] = *least, side_ = std::max(side_, *most - *least);
  }
  const int bits = bits_of(dims_);
  const auto cells = static_cast<double>(std::uint64_t{1} << bits);
  std::vector<std::pair<std::uint64_t, std::int32_t>> coded(static_cast<std::size_t>(points.n));
  for_row_blocks(team_, points.n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint64_t code = 0;
      for (int d = 0; d < dims_; ++d) {
        const double share = side_ > 0 ? (points.lane(d)[i] - low[static_cast<std::size_t>(d)]) / side_ : 0;
        const auto place = static_cast<std::uint64_t>(std::min(share * cells, cells - 1));
        code |= spread(place, dims_) << d;
      }
      coded[static_cast<std::size_t>(i)] = {code, static_cast<std::int32_t>(i)};
    }
  });
  std::ranges::sort(coded);
  codes_.resize(coded.size()), order_.resize(coded.size());
  for (std::size_t i = 0; i < coded.size(); ++i) std::tie(codes_[i], order_[i]) = coded[i];
  for (int d = 0; d < dims_; ++d) {
    auto& lane = sorted_[static_cast<std::size_t>(d)];
    lane.resize(coded.size());
    for (std::size_t i = 0; i < lane.size(); ++i) lane[i] = static_cast<float>(points.lane(d)[order_[i]]);
  }
}

// Adds the cell of these points and those below it; returns its number.
std::int32_t Repulsion::add_cell(std::int32_t begin, std::int32_t end, int level) {
  const auto own = static_cast<std::int32_t>(cells_.size());
  const bool is_leaf = end - begin <= kLeafPoints || level == bits_of(dims_);
  cells_.push_back({.mean = {}, .width = side_ / static_cast<double>(std::uint64_t{1} << level), .begin = begin, .end = end,
                    .next = own + 1, .is_leaf = is_leaf});
  if (!is_leaf) {
    const int shift = (bits_of(dims_) - level - 1) * dims_;
    for (std::int32_t first = begin; first < end;) {
      const std::uint64_t part = codes_[static_cast<std::size_t>(first)] >> shift;
      const auto after = std::upper_bound(codes_.begin() + first, codes_.begin() + end, part,
                                          [&](std::uint64_t value, std::uint64_t code) { return value < code >> shift; });
      const auto last = static_cast<std::int32_t>(after - codes_.begin());
      add_cell(first, last, level + 1);
      first = last;
    }
  }
  Cell& cell = cells_[static_cast<std::size_t>(own)];
  cell.next = static_cast<std::int32_t>(cells_.size());
  if (is_leaf) {
    for (int d = 0; d < dims_; ++d) {
      const float* const lane = sorted_[static_cast<std::size_t>(d)].data();
      cell.mean[static_cast<std::size_t>(d)] = static_cast<float>(std::accumulate(lane + begin, lane + end, 0.0) / (end - begin));
    }
  } else {
    std::array<double, kMostDims> sum{};
    for (std::int32_t below = own + 1; below < cell.next; below = cells_[static_cast<std::size_t>(below)].next) {
      const Cell& part = cells_[static_cast<std::size_t>(below)];
      for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += static_cast<double>(part.mean[d]) * (part.end - part.begin);
    }
    for (std::size_t d = 0; d < sum.size(); ++d) cell.mean[d] = static_cast<float>(sum[d] / (end - begin));
  }
  return own;
}

// What pushes the points begin .. end - 1 in order, which lie near each other.
template <int kDims>
void Repulsion::collect(std::int32_t begin, std::int32_t end, double angle, Sources& sources) const {
  std::array<float, kDims> low, high;
  for (int d = 0; d < kDims; ++d) {
    const float* const lane = sorted_[static_cast<std::size_t>(d)].data();
    const auto [least, most] = std::minmax_element(lane + begin, lane + end);
    low[d] = *least, high[d] = *most;
  }
  sources.clear();
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(cells_.size());) {
    const Cell& cell = cells_[static_cast<std::size_t>(c)];
    double squared = 0;   // from the nearest place where a point of the group may be
    for (int d = 0; d < kDims; ++d) {
      const double gap = std::max({low[d] - cell.mean[d], cell.mean[d] - high[d], 0.0F});
      squared += gap * gap;
    }
    if (cell.width * cell.width < angle * angle * squared) {
      sources.add<kDims>(cell.mean.data(), static_cast<float>(cell.end - cell.begin));
      c = cell.next;
    } else if (cell.is_leaf) {
      for (std::int32_t i = cell.begin; i < cell.end; ++i) {
        float place[kDims];
        for (int d = 0; d < kDims; ++d) place[d] = sorted_[static_cast<std::size_t>(d)][static_cast<std::size_t>(i)];
        sources.add<kDims>(place, 1.0F);
      }
      c = cell.next;
    } else {
      ++c;
    }
  }
  sources.fill_up<kDims>();
}

// Returns the sum of q over these points, in order.
template <int kDims>
double Repulsion::push_block(std::int64_t begin, std::int64_t end, double angle, EmbeddedPoints& forces) const {
  Sources sources;
  double total = 0;
  for (auto group = static_cast<std::int32_t>(begin); group < end; group += kGroup) {
    const std::int32_t last = std::min(group + kGroup, static_cast<std::int32_t>(end));
    collect<kDims>(group, last, angle, sources);
    const auto count = static_cast<std::int64_t>(sources.weight.size());
    for (std::int32_t i = group; i < last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Push push;
      if constexpr (kDims == 3)
        push = push3(sources.at[0].data(), sources.at[1].data(), sources.at[2].data(), sources.weight.data(), count,
                     sorted_[0][at], sorted_[1][at], sorted_[2][at]);
      else
        push = push2(sources.at[0].data(), sources.at[1].data(), sources.weight.data(), count, sorted_[0][at], sorted_[1][at]);
      total += push.q - 1;   // without the point itself
      for (int d = 0; d < kDims; ++d) forces.lane(d)[order_[at]] = push.force[d];
    }
  }
  return total;
}

template <int kDims>
double Repulsion::push_all(double angle, EmbeddedPoints& forces) {
  std::vector<double> sums(static_cast<std::size_t>(row_blocks(forces.n)));
  for_row_blocks(team_, forces.n, [&](std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(begin / kRowBlock)] = push_block<kDims>(begin, end, angle, forces);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double Repulsion::forces(const EmbeddedPoints& points, double angle, EmbeddedPoints& forces) {
  order_points(points);
  cells_.clear();
  add_cell(0, static_cast<std::int32_t>(points.n), 0);
  return dims_ == 3 ? push_all<3>(angle, forces) : push_all<2>(angle, forces);
}

}   // namespace kedge::engine
