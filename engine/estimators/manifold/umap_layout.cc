// A step of many places: what each of them sees is gathered first, then all forces are made in vectors.
#include "engine/estimators/manifold/umap_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/backend/host/step_team.h"
#include "engine/backend/layout_functors.h"
#include "engine/backend/ops/embedding.h"
#include "engine/backend/simd.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

KEDGE_CLONES void find_pulls(LayoutForce force, const float* __restrict squares, std::int64_t count,
                             float* __restrict slopes) {
  for (std::int64_t t = 0; t < count; ++t) slopes[t] = pull_slope(force, squares[t]);
}

KEDGE_CLONES void find_pushes(LayoutForce force, const float* __restrict squares, std::int64_t count,
                              float* __restrict slopes) {
  for (std::int64_t t = 0; t < count; ++t) slopes[t] = push_slope(force, squares[t]);
}

KEDGE_CLONES void add_squares(const float* __restrict gaps, std::int64_t count, float* __restrict squares) {
  for (std::int64_t t = 0; t < count; ++t) squares[t] += gaps[t] * gaps[t];
}

KEDGE_CLONES void make_moves(const float* __restrict slopes, std::int64_t count, float* __restrict gaps) {
  for (std::int64_t t = 0; t < count; ++t) gaps[t] = clipped_move(slopes[t] * gaps[t]);
}

KEDGE_CLONES void find_due(const float* __restrict shares, std::int64_t count, float epoch,
                           std::uint8_t* __restrict due) {
  for (std::int64_t e = 0; e < count; ++e) due[e] = is_due(shares[e], epoch);
}

// `count` places of n by chance, by their numbers under a key.
KEDGE_CLONES void draw_places(std::array<std::uint32_t, 2> key, std::uint32_t n, std::int64_t count,
                              std::int32_t* __restrict places) {
  for (std::int64_t t = 0; t < count; ++t)
    places[t] = place_by_chance(key[0], key[1], static_cast<std::uint32_t>(t), n);
}

// What the places of a block see in one step, one place after another.
struct Seen {
  std::vector<std::int32_t> others;                  // all that pull, then all by chance
  std::vector<std::int64_t> pulls{0};                // the places before, then each: how many pull until then
  std::vector<std::int64_t> pushes{0};               // the same of those by chance
  std::vector<float> gaps, squares, slopes, moved;   // gaps: a coordinate of all after another

  void clear() { others.clear(), pulls.resize(1), pushes.resize(1); }
};

LayoutForce force_of(const LayoutMoves& moves) {
  return {static_cast<float>(moves.curve.a), static_cast<float>(moves.curve.b),
          static_cast<float>(2 * moves.curve.a * moves.curve.b),
          static_cast<float>(2 * moves.repulsion * moves.curve.b)};
}

float rate_of(const LayoutMoves& moves, std::int64_t epoch) {
  return static_cast<float>(moves.learning_rate *
                            (1 - static_cast<double>(epoch - 1) / static_cast<double>(moves.epochs)));
}

class Mover {
 public:
  Mover(const LayoutMoves& moves, std::int64_t n, std::int64_t dims)
      : moves_(moves), n_(n), dims_(dims), force_(force_of(moves)) {}

  // The places by chance, as many as `pushes` says.
  void draw(std::int64_t epoch, int step, std::int64_t block, Seen& seen) const {
    const auto stream = static_cast<std::uint64_t>(epoch * kLayoutSteps + step);
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
    const float rate = rate_of(moves_, epoch);
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
  LayoutForce force_;
};

// The edges of each place by the step that takes them. A step takes a part of the edges, and each edge is in a step of
// the first half of an epoch and in one of the second: in one of them one end sees places by chance, in the other the
// other end.
struct SteppedEdges {
  std::vector<std::int64_t> begin{0};   // of group g of place i: begin[kLayoutSteps i + g]; a part has two groups
  std::vector<std::int32_t> columns;
  std::vector<float> shares;   // of all epochs

  explicit SteppedEdges(const Affinities& graph) : columns(graph.columns.size()), shares(graph.columns.size()) {
    const double largest = graph.values.empty() ? 1 : *std::ranges::max_element(graph.values);
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < graph.n_rows(); ++i) {
      const std::int64_t first = graph.row_begin[static_cast<std::size_t>(i)],
                         last = graph.row_begin[static_cast<std::size_t>(i) + 1];
      for (int group = 0; group < kLayoutSteps; ++group) {
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
    const auto part = static_cast<int>(mixed_bits(low * 0x9E3779B1U + high) % kLayoutParts);
    return 2 * part + static_cast<int>((i + j + (i < j ? 1 : 0)) & 1);
  }
};

// What the places [begin, end) see of their edges in a step.
void see_edges(const SteppedEdges& edges, const std::uint8_t* due, int step, std::int64_t negatives, std::int64_t begin,
               std::int64_t end, Seen& seen) {
  const std::int64_t part = step % kLayoutParts, drawing = step / kLayoutParts;
  seen.clear();
  const auto all = edges.begin[static_cast<std::size_t>(kLayoutSteps * end)] -
                   edges.begin[static_cast<std::size_t>(kLayoutSteps * begin)];
  seen.others.resize(static_cast<std::size_t>(all + 1));
  std::int64_t found = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t* const group = edges.begin.data() + kLayoutSteps * i + 2 * part;
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

bool is_finite(const std::vector<float>& places) {
  float sum = 0;   // of zeros, or NaN
  for (const float place : places) sum += 0 * place;
  return sum == 0;
}

std::int64_t move_on_device(const Context& ctx, EmbeddingOps& ops, const SteppedEdges& edges, const LayoutMoves& moves,
                            Layout& layout) {
  constexpr std::int64_t kTold = 20;   // epochs between two waits
  const auto moving = ops.lay_out({.begin = edges.begin, .columns = edges.columns, .shares = edges.shares},
                                  {.force = force_of(moves), .negatives = moves.negatives, .seed = moves.seed},
                                  layout.coordinates, layout.dims);
  for (std::int64_t epoch = 1; epoch < moves.epochs;) {
    ctx.check_stop();
    std::vector<float> rates;
    for (const std::int64_t last = std::min(moves.epochs, epoch + kTold); epoch < last; ++epoch)
      rates.push_back(rate_of(moves, epoch));
    moving->advance(epoch - static_cast<std::int64_t>(rates.size()), rates);
    ctx.progress("epochs", epoch, moves.epochs, "epochs");
  }
  layout.coordinates = moving->places();
  return is_finite(layout.coordinates) ? 0 : moves.epochs;
}

std::int64_t move_on_host(const Context& ctx, const SteppedEdges& edges, const LayoutMoves& moves, Layout& layout) {
  const std::int64_t n = layout.n, dims = layout.dims;
  const Mover mover(moves, n, dims);
  std::vector<std::uint8_t> due(edges.columns.size());
  std::vector<float> moved(layout.coordinates.size());
  const auto move_block = [&](std::int64_t epoch, int step, std::int64_t block, Seen& seen) {
    const std::int64_t begin = block * kLayoutBlock, end = std::min(n, begin + kLayoutBlock);
    const std::int64_t first = edges.begin[static_cast<std::size_t>(kLayoutSteps * begin)],
                       last = edges.begin[static_cast<std::size_t>(kLayoutSteps * end)];
    if (step == 0) find_due(edges.shares.data() + first, last - first, static_cast<float>(epoch), due.data() + first);
    see_edges(edges, due.data(), step, moves.negatives, begin, end, seen);
    mover.draw(epoch, step, block, seen);
    mover.move(epoch, layout.coordinates.data(), layout.coordinates.data() + begin * dims, seen,
               moved.data() + begin * dims);
  };
  std::int64_t left_numbers = 0;
  with_step_team([&](StepTeam& team) {
    std::vector<Seen> seen(static_cast<std::size_t>(team.size()));   // of each thread
    for (std::int64_t epoch = 1; epoch < moves.epochs && left_numbers == 0; ++epoch) {
      for (int step = 0; step < kLayoutSteps; ++step) {
        ctx.check_stop();
        team.run((n + kLayoutBlock - 1) / kLayoutBlock, [&](std::int64_t block, int worker) {
          move_block(epoch, step, block, seen[static_cast<std::size_t>(worker)]);
        });
        layout.coordinates.swap(moved);
      }
      if (!is_finite(layout.coordinates)) left_numbers = epoch;
      ctx.progress("epochs", epoch + 1, moves.epochs, "epochs");
    }
  });
  return left_numbers;
}

}   // namespace

std::int64_t move_places(const Context& ctx, const Affinities& graph, const LayoutMoves& moves, Layout& layout) {
  const SteppedEdges edges(graph);
  EmbeddingOps* const ops = embedding_ops(ctx.device);
  return ops ? move_on_device(ctx, *ops, edges, moves, layout) : move_on_host(ctx, edges, moves, layout);
}

double edge_loss(const Affinities& graph, const NearnessCurve& curve, const Layout& layout) {
  double sum = 0, weights = 0;
  for (std::int64_t i = 0; i < layout.n; ++i)
    for (std::int64_t e = graph.row_begin[static_cast<std::size_t>(i)];
         e < graph.row_begin[static_cast<std::size_t>(i) + 1]; ++e) {
      const std::int64_t j = graph.columns[static_cast<std::size_t>(e)];
      double squared = 0;
      for (std::int64_t d = 0; d < layout.dims; ++d)
        squared += std::pow(layout.coordinates[static_cast<std::size_t>(i * layout.dims + d)] -
                                layout.coordinates[static_cast<std::size_t>(j * layout.dims + d)],
                            2.0);
      const double weight = graph.values[static_cast<std::size_t>(e)];
      sum += weight * std::log1p(curve.a * std::pow(squared, curve.b)), weights += weight;
    }
  return weights > 0 ? sum / weights : 0;
}

void move_new_place(const LayoutMoves& moves, const Layout& fixed, const std::vector<std::int32_t>& neighbors,
                    const std::vector<float>& shares, float* at) {
  const Mover mover(moves, fixed.n, fixed.dims);
  std::vector<std::uint8_t> due(shares.size());
  Seen seen;
  for (std::int64_t epoch = 1; epoch < moves.epochs; ++epoch) {
    find_due(shares.data(), static_cast<std::int64_t>(shares.size()), static_cast<float>(epoch), due.data());
    for (int part = 0; part < kLayoutParts; ++part) {
      seen.clear();
      for (std::size_t e = static_cast<std::size_t>(part); e < due.size(); e += kLayoutParts)
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
