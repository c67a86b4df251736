// A step of many places: what each of them sees is gathered first, then all forces are made in vectors.
#include "engine/estimators/manifold/umap_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "engine/backend/host/step_team.h"
#include "engine/backend/simd.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 256;   // places whose forces are made together, with one key of their draws
constexpr int kParts = 2;              // of the edges; a step takes one of them
constexpr int kSteps = 2 * kParts;     // of an epoch
constexpr float kFurthest = 4;         // of a move along a coordinate, at a learning rate of 1
constexpr float kLeastSquare = 1e-30F;

struct Force {
  float a, b, pull, push;   // pull: 2 a b, push: 2 repulsion b
};

// x^b of a normal x > 0, without branches: 2^(b log2 x) by polynomials, within 1e-5.
inline __attribute__((always_inline)) float power(float x, float b) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  constexpr float kRound =
      0x1.8p23F;   // added and taken away, it rounds to an integer, whose bits are the sum's lowest
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), exponent = (bits - kSqrtHalf) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23)), f = (m - 1) / (m + 1), s = f * f;
  const float series = 1 + s * (1.0F / 3 + s * (1.0F / 5 + s * (1.0F / 7)));
  const float wanted = b * (static_cast<float>(exponent) + 2.88539008F * f * series);
  const float kept = wanted < -120 ? -120 : (wanted > 120 ? 120 : wanted), shifted = kept + kRound;
  const float t = kept - (shifted - kRound);
  const float sum =
      1 + t * (0.693147181F + t * (0.240226507F + t * (0.0555041087F + t * (0.00961812911F + t * 0.00133335581F))));
  return sum * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127) << 23);
}

inline __attribute__((always_inline)) float clipped(float x) {
  const float below = x < kFurthest ? x : kFurthest;
  return below > -kFurthest ? below : -kFurthest;
}

KEDGE_CLONES void find_pulls(Force force, const float* __restrict squares, std::int64_t count,
                             float* __restrict slopes) {
  for (std::int64_t t = 0; t < count; ++t) {
    const float kept = squares[t] > kLeastSquare ? squares[t] : kLeastSquare, near = power(kept, force.b);
    const float value = -force.pull * near / (kept * (force.a * near + 1));
    slopes[t] = squares[t] > kLeastSquare ? value : 0;
  }
}

KEDGE_CLONES void find_pushes(Force force, const float* __restrict squares, std::int64_t count,
                              float* __restrict slopes) {
  for (std::int64_t t = 0; t < count; ++t) {
    const float kept = squares[t] > kLeastSquare ? squares[t] : kLeastSquare, near = power(kept, force.b);
    const float value = force.push / ((0.001F + kept) * (force.a * near + 1));
    slopes[t] = squares[t] > 0 ? value : 0;   // itself, or one at the same place
  }
}

KEDGE_CLONES void add_squares(const float* __restrict gaps, std::int64_t count, float* __restrict squares) {
  for (std::int64_t t = 0; t < count; ++t) squares[t] += gaps[t] * gaps[t];
}

KEDGE_CLONES void make_moves(const float* __restrict slopes, std::int64_t count, float* __restrict gaps) {
  for (std::int64_t t = 0; t < count; ++t) gaps[t] = clipped(slopes[t] * gaps[t]);
}

// due[e]: whether an edge of this share of all epochs pulls in this one.
KEDGE_CLONES void find_due(const float* __restrict shares, std::int64_t count, float epoch,
                           std::uint8_t* __restrict due) {
  for (std::int64_t e = 0; e < count; ++e) due[e] = std::floor(epoch * shares[e]) > std::floor((epoch - 1) * shares[e]);
}

inline __attribute__((always_inline)) std::uint32_t mixed(std::uint32_t x) {   // Wellons, "lowbias32"
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

// `count` places of n by chance, by their numbers under a key.
KEDGE_CLONES void draw_places(std::array<std::uint32_t, 2> key, std::uint32_t n, std::int64_t count,
                              std::int32_t* __restrict places) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::uint32_t word = mixed(mixed(static_cast<std::uint32_t>(t) ^ key[0]) + key[1]);
    places[t] = static_cast<std::int32_t>((word * static_cast<std::uint64_t>(n)) >> 32);
  }
}

// What the places of a block see in one step, one place after another.
struct Seen {
  std::vector<std::int32_t> others;                  // all that pull, then all by chance
  std::vector<std::int64_t> pulls{0};                // the places before, then each: how many pull until then
  std::vector<std::int64_t> pushes{0};               // the same of those by chance
  std::vector<float> gaps, squares, slopes, moved;   // gaps: a coordinate of all after another

  void clear() { others.clear(), pulls.resize(1), pushes.resize(1); }
};

class Mover {
 public:
  Mover(const LayoutMoves& moves, std::int64_t n, std::int64_t dims)
      : moves_(moves),
        n_(n),
        dims_(dims),
        force_{static_cast<float>(moves.curve.a), static_cast<float>(moves.curve.b),
               static_cast<float>(2 * moves.curve.a * moves.curve.b),
               static_cast<float>(2 * moves.repulsion * moves.curve.b)} {}

  // The places by chance, as many as `pushes` says.
  void draw(std::int64_t epoch, int step, std::int64_t block, Seen& seen) const {
    const auto stream = static_cast<std::uint64_t>(epoch * kSteps + step);
    const PhiloxBlock drawn = philox(moves_.seed, stream, static_cast<std::uint64_t>(block));
    const std::int64_t pulls = seen.pulls.back(), count = seen.pushes.back();
    seen.others.resize(static_cast<std::size_t>(pulls + count));
    draw_places({drawn.word[0], drawn.word[1]}, static_cast<std::uint32_t>(n_), count, seen.others.data() + pulls);
  }

  // out = at, moved by what is seen; both are of the block's places.
  void move(std::int64_t epoch, const float* places, const float* at, Seen& seen, float* out) const {
    const auto count = static_cast<std::int64_t>(seen.others.size()), pulls = seen.pulls.back();
    seen.gaps.resize(static_cast<std::size_t>(dims_ * count));
    for_places(seen, [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
      find_gaps(places, at + i * dims_, seen.others.data(), begin, end, seen.gaps.data(), count);
    });
    seen.squares.assign(static_cast<std::size_t>(count), 0.0F);
    for (std::int64_t d = 0; d < dims_; ++d) add_squares(seen.gaps.data() + d * count, count, seen.squares.data());
    seen.slopes.resize(static_cast<std::size_t>(count));
    find_pulls(force_, seen.squares.data(), pulls, seen.slopes.data());
    find_pushes(force_, seen.squares.data() + pulls, count - pulls, seen.slopes.data() + pulls);
    for (std::int64_t d = 0; d < dims_; ++d) make_moves(seen.slopes.data(), count, seen.gaps.data() + d * count);
    const auto n = static_cast<std::int64_t>(seen.pulls.size()) - 1;
    seen.moved.assign(static_cast<std::size_t>(n * dims_), 0.0F);
    for_places(seen, [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
      add_moves(seen.gaps.data(), count, begin, end, seen.moved.data() + i * dims_);
    });
    const auto rate = static_cast<float>(moves_.learning_rate *
                                         (1 - static_cast<double>(epoch - 1) / static_cast<double>(moves_.epochs)));
    for (std::int64_t e = 0; e < n * dims_; ++e) out[e] = at[e] + rate * seen.moved[static_cast<std::size_t>(e)];
  }

 private:
  // body(i, begin, end) for the others that pull each place, then for those by chance.
  template <class Body>
  static void for_places(const Seen& seen, const Body& body) {
    for (std::size_t i = 0; i + 1 < seen.pulls.size(); ++i)
      body(static_cast<std::int64_t>(i), seen.pulls[i], seen.pulls[i + 1]);
    for (std::size_t i = 0; i + 1 < seen.pushes.size(); ++i)
      body(static_cast<std::int64_t>(i), seen.pulls.back() + seen.pushes[i], seen.pulls.back() + seen.pushes[i + 1]);
  }

  void find_gaps(const float* places, const float* own, const std::int32_t* others, std::int64_t begin,
                 std::int64_t end, float* gaps, std::int64_t count) const {
    if (dims_ == 2) {
      const float x = own[0], y = own[1];
      for (std::int64_t t = begin; t < end; ++t) {
        const float* const other = places + 2 * static_cast<std::int64_t>(others[t]);
        gaps[t] = x - other[0], gaps[count + t] = y - other[1];
      }
      return;
    }
    for (std::int64_t t = begin; t < end; ++t)
      for (std::int64_t d = 0; d < dims_; ++d) gaps[d * count + t] = own[d] - places[others[t] * dims_ + d];
  }

  void add_moves(const float* gaps, std::int64_t count, std::int64_t begin, std::int64_t end, float* moved) const {
    if (dims_ == 2) {
      float x = 0, y = 0;
      for (std::int64_t t = begin; t < end; ++t) x += gaps[t], y += gaps[count + t];
      moved[0] += x, moved[1] += y;
      return;
    }
    for (std::int64_t d = 0; d < dims_; ++d)
      moved[d] += std::accumulate(gaps + d * count + begin, gaps + d * count + end, 0.0F);
  }

  const LayoutMoves& moves_;
  std::int64_t n_, dims_;
  Force force_;
};

// The edges of each place by the step that takes them. A step takes a part of the edges, and each edge is in a step of
// the first half of an epoch and in one of the second: in one of them one end sees places by chance, in the other the
// other end.
struct SteppedEdges {
  std::vector<std::int64_t> begin{0};   // of group g of place i: begin[kSteps i + g]; a part has two groups
  std::vector<std::int32_t> columns;
  std::vector<float> shares;   // of all epochs

  explicit SteppedEdges(const Affinities& graph) : columns(graph.columns.size()), shares(graph.columns.size()) {
    const double largest = graph.values.empty() ? 1 : *std::ranges::max_element(graph.values);
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < graph.n_rows(); ++i) {
      const std::int64_t first = graph.row_begin[static_cast<std::size_t>(i)],
                         last = graph.row_begin[static_cast<std::size_t>(i) + 1];
      for (int group = 0; group < kSteps; ++group) {
        for (std::int64_t e = first; e < last; ++e) {
          if (group_of(i, graph.columns[static_cast<std::size_t>(e)]) != group) continue;
          columns[static_cast<std::size_t>(at)] = graph.columns[static_cast<std::size_t>(e)];
          shares[static_cast<std::size_t>(at++)] =
              static_cast<float>(graph.values[static_cast<std::size_t>(e)] / largest);
        }
        begin.push_back(at);
      }
    }
  }

 private:
  // Twice the part, and whether i sees places by chance in the second half: of i and j one does.
  static int group_of(std::int64_t i, std::int64_t j) {
    const auto low = static_cast<std::uint32_t>(std::min(i, j)), high = static_cast<std::uint32_t>(std::max(i, j));
    const auto part = static_cast<int>(mixed(low * 0x9E3779B1U + high) % kParts);
    return 2 * part + static_cast<int>((i + j + (i < j ? 1 : 0)) & 1);
  }
};

// What the places [begin, end) see of their edges in a step.
void see_edges(const SteppedEdges& edges, const std::uint8_t* due, int step, std::int64_t negatives, std::int64_t begin,
               std::int64_t end, Seen& seen) {
  const std::int64_t part = step % kParts, drawing = step / kParts;
  seen.clear();
  const auto all =
      edges.begin[static_cast<std::size_t>(kSteps * end)] - edges.begin[static_cast<std::size_t>(kSteps * begin)];
  seen.others.resize(static_cast<std::size_t>(all + 1));
  std::int64_t found = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t* const group = edges.begin.data() + kSteps * i + 2 * part;
    const std::int64_t before = found;
    for (std::int64_t e = group[0]; e < group[1]; ++e)
      seen.others[static_cast<std::size_t>(found)] = edges.columns[static_cast<std::size_t>(e)], found += due[e];
    const std::int64_t middle = found;
    for (std::int64_t e = group[1]; e < group[2]; ++e)
      seen.others[static_cast<std::size_t>(found)] = edges.columns[static_cast<std::size_t>(e)], found += due[e];
    seen.pulls.push_back(found);
    seen.pushes.push_back(seen.pushes.back() + negatives * (drawing == 0 ? middle - before : found - middle));
  }
  seen.others.resize(static_cast<std::size_t>(found));
}

}   // namespace

void move_places(const Context& ctx, const Affinities& graph, const LayoutMoves& moves, Layout& layout) {
  const std::int64_t n = layout.n, dims = layout.dims;
  const Mover mover(moves, n, dims);
  const SteppedEdges edges(graph);
  std::vector<std::uint8_t> due(edges.columns.size());
  std::vector<float> moved(layout.coordinates.size());
  const auto move_block = [&](std::int64_t epoch, int step, std::int64_t block, Seen& seen) {
    const std::int64_t begin = block * kBlock, end = std::min(n, begin + kBlock);
    const std::int64_t first = edges.begin[static_cast<std::size_t>(kSteps * begin)],
                       last = edges.begin[static_cast<std::size_t>(kSteps * end)];
    if (step == 0) find_due(edges.shares.data() + first, last - first, static_cast<float>(epoch), due.data() + first);
    see_edges(edges, due.data(), step, moves.negatives, begin, end, seen);
    mover.draw(epoch, step, block, seen);
    mover.move(epoch, layout.coordinates.data(), layout.coordinates.data() + begin * dims, seen,
               moved.data() + begin * dims);
  };
  with_step_team([&](StepTeam& team) {
    std::vector<Seen> seen(static_cast<std::size_t>(team.size()));   // of each thread
    for (std::int64_t epoch = 1; epoch < moves.epochs; ++epoch) {
      for (int step = 0; step < kSteps; ++step) {
        ctx.check_stop();
        team.run((n + kBlock - 1) / kBlock, [&](std::int64_t block, int worker) {
          move_block(epoch, step, block, seen[static_cast<std::size_t>(worker)]);
        });
        layout.coordinates.swap(moved);
      }
      ctx.progress("epochs", epoch + 1, moves.epochs, "epochs");
    }
  });
}

void move_new_place(const LayoutMoves& moves, const Layout& fixed, const std::vector<std::int32_t>& neighbors,
                    const std::vector<float>& shares, float* at) {
  const Mover mover(moves, fixed.n, fixed.dims);
  std::vector<std::uint8_t> due(shares.size());
  Seen seen;
  for (std::int64_t epoch = 1; epoch < moves.epochs; ++epoch) {
    find_due(shares.data(), static_cast<std::int64_t>(shares.size()), static_cast<float>(epoch), due.data());
    for (int part = 0; part < kParts; ++part) {
      seen.clear();
      for (std::size_t e = static_cast<std::size_t>(part); e < due.size(); e += kParts)
        if (due[e] != 0) seen.others.push_back(neighbors[e]);
      if (seen.others.empty()) continue;
      const auto pulls = static_cast<std::int64_t>(seen.others.size());
      seen.pulls.push_back(pulls), seen.pushes.push_back(pulls * moves.negatives);
      mover.draw(epoch, part, 0, seen);
      mover.move(epoch, fixed.coordinates.data(), at, seen, at);
    }
  }
}

}   // namespace kedge::engine
