// The moves of one place in vectors of the places that it sees.
#include "engine/estimators/manifold/umap_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/backend/host/philox_run.h"
#include "engine/backend/simd.h"
#include "engine/estimators/manifold/row_blocks.h"

namespace kedge::engine {
namespace {

constexpr int kWide = 8;         // places by chance that are seen together
constexpr float kFurthest = 4;   // of a move along a coordinate, at a learning rate of 1

struct Force {
  float a, b, pull, push;   // pull: 2 a b, push: 2 repulsion b
};

// x^b of a normal x > 0, without branches: 2^(b log2 x) by polynomials, within 1e-6.
inline __attribute__((always_inline)) float power(float x, float b) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  constexpr float kRound =
      0x1.8p23F;   // added and taken away, it rounds to an integer, whose bits are the sum's lowest
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), exponent = (bits - kSqrtHalf) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23)), f = (m - 1) / (m + 1), s = f * f;
  const float series = 1 + s * (1.0F / 3 + s * (1.0F / 5 + s * (1.0F / 7 + s * (1.0F / 9))));
  const float wanted = b * (static_cast<float>(exponent) + 2.88539008F * f * series);
  const float kept = wanted < -120 ? -120 : (wanted > 120 ? 120 : wanted), shifted = kept + kRound;
  const float t = kept - (shifted - kRound);
  const float sum =
      1 +
      t * (0.693147181F + t * (0.240226507F + t * (0.0555041087F +
                                                   t * (0.00961812911F + t * (0.00133335581F + t * 0.000154035304F)))));
  return sum * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127) << 23);
}

inline __attribute__((always_inline)) float clipped(float x) {
  return x > kFurthest ? kFurthest : (x < -kFurthest ? -kFurthest : x);
}

// What one place sees in one step.
struct Seen {
  const std::int32_t* pulls;
  std::int64_t n_pulls;
  const std::int32_t* pushes;   // a multiple of kWide; -1 is nothing
  std::int64_t n_pushes;
};

KEDGE_CLONES void move_place(Force force, const float* __restrict places, std::int64_t n, std::int64_t dims, Seen seen,
                             float rate, float* __restrict at) {
  for (std::int64_t e = 0; e < seen.n_pulls; ++e) {
    const std::int32_t j = seen.pulls[e];
    float squared = 0;
    for (std::int64_t d = 0; d < dims; ++d) squared += (at[d] - places[d * n + j]) * (at[d] - places[d * n + j]);
    if (!(squared > 1e-30F)) continue;
    const float near = power(squared, force.b), slope = -force.pull * near / (squared * (force.a * near + 1));
    for (std::int64_t d = 0; d < dims; ++d) at[d] += rate * clipped(slope * (at[d] - places[d * n + j]));
  }
  for (std::int64_t first = 0; first < seen.n_pushes; first += kWide) {
    std::int32_t index[kWide];
    float squared[kWide] = {}, slope[kWide];
    for (int l = 0; l < kWide; ++l) index[l] = seen.pushes[first + l] < 0 ? 0 : seen.pushes[first + l];
    for (std::int64_t d = 0; d < dims; ++d)
      for (int l = 0; l < kWide; ++l) {
        const float gap = at[d] - places[d * n + index[l]];
        squared[l] += gap * gap;
      }
    for (int l = 0; l < kWide; ++l) {
      const float kept = squared[l] > 1e-30F ? squared[l] : 1e-30F, near = power(kept, force.b);
      const float value = force.push / ((0.001F + kept) * (force.a * near + 1));
      slope[l] = squared[l] > 0 && seen.pushes[first + l] >= 0 ? value : 0;
    }
    for (std::int64_t d = 0; d < dims; ++d) {
      float sums[kWide], here = at[d];
      for (int l = 0; l < kWide; ++l) sums[l] = clipped(slope[l] * (here - places[d * n + index[l]]));
      for (int width = kWide / 2; width > 0; width /= 2)
        for (int l = 0; l < width; ++l) sums[l] += sums[l + width];
      at[d] = here + rate * sums[0];
    }
  }
}

// due[e]: whether an edge of this share of all epochs pulls in this one.
KEDGE_CLONES void find_due(const float* shares, std::int64_t count, float epoch, std::uint8_t* due) {
  for (std::int64_t e = 0; e < count; ++e) due[e] = std::floor(epoch * shares[e]) > std::floor((epoch - 1) * shares[e]);
}

Force force_of(const LayoutMoves& moves) {
  const NearnessCurve& curve = moves.curve;
  return {static_cast<float>(curve.a), static_cast<float>(curve.b), static_cast<float>(2 * curve.a * curve.b),
          static_cast<float>(2 * moves.repulsion * curve.b)};
}

float rate_at(const LayoutMoves& moves, std::int64_t epoch) {
  return static_cast<float>(moves.learning_rate *
                            (1 - static_cast<double>(epoch - 1) / static_cast<double>(moves.epochs)));
}

// `count` places of n by chance, none of them `self`.
void draw_pushes(std::uint64_t seed, std::uint64_t stream, std::int64_t n, std::int32_t self, std::int64_t count,
                 std::vector<std::int32_t>& pushes) {
  constexpr std::int64_t kWords = 4 * kPhiloxRun;
  std::uint32_t words[kWords];
  pushes.assign(static_cast<std::size_t>((count + kWide - 1) / kWide * kWide), -1);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kWords == 0) philox_run(seed, stream, static_cast<std::uint64_t>(i / 4), words);
    const auto drawn = static_cast<std::int32_t>((words[i % kWords] * static_cast<std::uint64_t>(n)) >> 32);
    if (drawn != self) pushes[static_cast<std::size_t>(i)] = drawn;
  }
}

}   // namespace

void move_places(const Context& ctx, const Affinities& graph, const LayoutMoves& moves, Layout& layout) {
  const std::int64_t n = layout.n, dims = layout.dims;
  const Force force = force_of(moves);
  const double largest = graph.values.empty() ? 1 : *std::ranges::max_element(graph.values);
  std::vector<float> shares, moved(layout.coordinates.size());
  for (const double value : graph.values) shares.push_back(static_cast<float>(value / largest));
  std::vector<std::uint8_t> due(shares.size());
  const auto step = [&](std::int64_t epoch, int half, std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> pulls, pushes;
    std::vector<float> at(static_cast<std::size_t>(dims));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = graph.row_begin[static_cast<std::size_t>(i)],
                         last = graph.row_begin[static_cast<std::size_t>(i) + 1];
      if (half == 0) find_due(shares.data() + first, last - first, static_cast<float>(epoch), due.data() + first);
      pulls.clear();
      std::int64_t heads = 0;   // edges whose places by chance this end sees; the other end does in the other half
      for (std::int64_t e = first; e < last; ++e) {
        if (due[static_cast<std::size_t>(e)] == 0) continue;
        const std::int64_t j = graph.columns[static_cast<std::size_t>(e)];
        pulls.push_back(static_cast<std::int32_t>(j));
        heads += ((i + j + (i < j ? 1 : 0)) & 1) == half;
      }
      const auto stream = static_cast<std::uint64_t>((2 * epoch + half) * n + i);
      draw_pushes(moves.seed, stream, n, static_cast<std::int32_t>(i), heads * moves.negatives, pushes);
      for (std::int64_t d = 0; d < dims; ++d)
        at[static_cast<std::size_t>(d)] = layout.coordinates[static_cast<std::size_t>(d * n + i)];
      move_place(force, layout.coordinates.data(), n, dims,
                 {pulls.data(), static_cast<std::int64_t>(pulls.size()), pushes.data(),
                  static_cast<std::int64_t>(pushes.size())},
                 rate_at(moves, epoch), at.data());
      for (std::int64_t d = 0; d < dims; ++d)
        moved[static_cast<std::size_t>(d * n + i)] = at[static_cast<std::size_t>(d)];
    }
  };
  for (std::int64_t epoch = 1; epoch < moves.epochs; ++epoch) {
    for (int half = 0; half < 2; ++half) {
      ctx.check_stop();
      for_row_blocks(n, [&](std::int64_t begin, std::int64_t end) { step(epoch, half, begin, end); });
      layout.coordinates.swap(moved);
    }
    ctx.progress("epochs", epoch + 1, moves.epochs, "epochs");
  }
}

void move_new_place(const LayoutMoves& moves, const Layout& fixed, const std::vector<std::int32_t>& neighbors,
                    const std::vector<float>& shares, float* at) {
  const Force force = force_of(moves);
  std::vector<std::uint8_t> due(shares.size());
  std::vector<std::int32_t> pulls, pushes;
  for (std::int64_t epoch = 1; epoch < moves.epochs; ++epoch) {
    find_due(shares.data(), static_cast<std::int64_t>(shares.size()), static_cast<float>(epoch), due.data());
    pulls.clear();
    for (std::size_t e = 0; e < due.size(); ++e)
      if (due[e] != 0) pulls.push_back(neighbors[e]);
    draw_pushes(moves.seed, static_cast<std::uint64_t>(epoch), fixed.n, -1,
                static_cast<std::int64_t>(pulls.size()) * moves.negatives, pushes);
    move_place(force, fixed.coordinates.data(), fixed.n, fixed.dims,
               {pulls.data(), static_cast<std::int64_t>(pulls.size()), pushes.data(),
                static_cast<std::int64_t>(pushes.size())},
               rate_at(moves, epoch), at);
  }
}

}   // namespace kedge::engine
