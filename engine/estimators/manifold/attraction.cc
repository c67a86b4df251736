// Gathers of neighbours' places, in vectors.
#include "engine/estimators/manifold/attraction.h"

#include <numeric>

#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr int kWide = 16;

double sum_of(const float* lanes) { return std::accumulate(lanes, lanes + kWide, 0.0); }

KEDGE_CLONES Pull pull2(const float* __restrict x, const float* __restrict y, std::int64_t i, Entries entries) {
  float fx[kWide] = {}, fy[kWide] = {};
  const float px = x[i], py = y[i];
  std::int64_t e = 0;
  for (; e + kWide <= entries.count; e += kWide) {
    for (int l = 0; l < kWide; ++l) {
      const std::int32_t j = entries.columns[e + l];
      const float dx = px - x[j], dy = py - y[j], pull = entries.weights[e + l] / (1 + dx * dx + dy * dy);
      fx[l] += pull * dx, fy[l] += pull * dy;
    }
  }
  for (int l = 0; e < entries.count; ++e, ++l) {
    const std::int32_t j = entries.columns[e];
    const float dx = px - x[j], dy = py - y[j], pull = entries.weights[e] / (1 + dx * dx + dy * dy);
    fx[l] += pull * dx, fy[l] += pull * dy;
  }
  return {{sum_of(fx), sum_of(fy)}};
}

Pull pull3(const float* points, std::int64_t n, std::int64_t i, Entries entries) {
  Pull made{};
  for (std::int64_t e = 0; e < entries.count; ++e) {
    float gap[3], squared = 0;
    for (int d = 0; d < 3; ++d) {
      gap[d] = points[d * n + i] - points[d * n + entries.columns[e]];
      squared += gap[d] * gap[d];
    }
    for (int d = 0; d < 3; ++d) made.force[d] += entries.weights[e] / (1 + squared / 2) * gap[d];
  }
  return made;
}

}   // namespace

Pull pull(const float* points, std::int64_t n, int dims, std::int64_t i, Entries entries) {
  return dims == 3 ? pull3(points, n, i, entries) : pull2(points, points + n, i, entries);
}

}   // namespace kedge::engine
