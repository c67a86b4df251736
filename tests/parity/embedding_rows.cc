// Descents of points on a device that moves them itself, against plain sums in double. Devices that leave them to the
// host have nothing to check here.
#include "tests/parity/embedding_rows.h"

#include <cmath>

#include "engine/backend/layout_functors.h"
#include "engine/backend/ops/embedding.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

// Of forces, 2^-15 of the sum of their magnitudes (embedding.h); of places, after a few iterations, this share of the
// largest one.
constexpr double kPlaces = 2e-4, kMeasures = 1e-3;

// A symmetric graph: each point and some by chance, one point with very many and one with none.
struct Graph {
  std::vector<std::int64_t> row_begin{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  Graph(std::int64_t n, std::uint64_t stream) {
    Table dense(n, n);
    engine::PhiloxStream random(17, stream);
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i; ++j) {
        const bool is_edge = i != 3 && j != 3 && (j == 1 || random.below(6) == 0);
        const double weight = 0.05 + random.uniform();
        if (!is_edge) continue;
        dense.at(i, j) = dense.at(j, i) = weight, total += 2 * weight;
      }
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j)
        if (dense.at(i, j) > 0)
          columns.push_back(static_cast<std::int32_t>(j)), values.push_back(dense.at(i, j) / total);
      row_begin.push_back(static_cast<std::int64_t>(columns.size()));
    }
  }
  engine::GraphView view() const { return {row_begin, columns, values}; }
};

// The same descent in double, point by point.
class PlainDescent {
 public:
  PlainDescent(const Graph& graph, std::vector<double> points, int dims)
      : graph_(graph),
        n_(static_cast<std::int64_t>(graph.row_begin.size()) - 1),
        dims_(dims),
        points_(std::move(points)) {
    restart();
  }
  void restart() { steps_.assign(points_.size(), 0.0), gains_.assign(points_.size(), 1.0); }
  const std::vector<double>& points() const { return points_; }

  engine::DescentMeasure iterate(const engine::PointStep& step) {
    const double freedom = dims_ == 3 ? 2 : 1, factor = 2 * (freedom + 1) / freedom;
    std::vector<double> slopes(points_.size(), 0.0), pushes(points_.size(), 0.0);
    double total = 0;
    engine::DescentMeasure measure;
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        if (i == j) continue;
        const double q = nearness(i, j), w = weight(i, j);
        total += q;
        for (int d = 0; d < dims_; ++d) pushes[at(d, i)] += q * w * gap(d, i, j);
      }
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t e = graph_.row_begin[at(i)]; e < graph_.row_begin[at(i + 1)]; ++e) {
        const std::int64_t j = graph_.columns[at(e)];
        const double p = graph_.values[at(e)] * step.exaggeration;
        measure.divergence += p * std::log(p / (nearness(i, j) / total));
        for (int d = 0; d < dims_; ++d) slopes[at(d, i)] += p * weight(i, j) * gap(d, i, j);
      }
    for (std::size_t e = 0; e < slopes.size(); ++e) {
      const double slope = factor * (slopes[e] - pushes[e] / total);
      gains_[e] = std::max(0.01, steps_[e] * slope < 0 ? gains_[e] + 0.2 : gains_[e] * 0.8);
      measure.squares += std::pow(slope * gains_[e], 2);
      steps_[e] = step.momentum * steps_[e] - step.rate * slope * gains_[e];
      points_[e] += steps_[e];
    }
    return measure;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::size_t at(int d, std::int64_t i) const { return at(d * n_ + i); }
  double gap(int d, std::int64_t i, std::int64_t j) const { return points_[at(d, i)] - points_[at(d, j)]; }
  double weight(std::int64_t i, std::int64_t j) const {
    double squared = 0;
    for (int d = 0; d < dims_; ++d) squared += gap(d, i, j) * gap(d, i, j);
    return 1 / (1 + (dims_ == 3 ? squared / 2 : squared));
  }
  double nearness(std::int64_t i, std::int64_t j) const {
    const double w = weight(i, j);
    return dims_ == 3 ? w * std::sqrt(w) : w;
  }

  const Graph& graph_;
  std::int64_t n_;
  int dims_;
  std::vector<double> points_, steps_, gains_;
};

// Shape: rows points in cols dimensions.
void check_descent(engine::Device& device, Probe<double>& probe) {
  engine::EmbeddingOps* const ops = engine::embedding_ops(device);
  if (!ops) return;
  const auto [n, dims, k] = probe.shape();
  const Graph graph(n, 1);
  const std::vector<double> first = probe.numbers(dims, n, 2).values;   // with ties: points at one place
  const engine::PointStep early{.momentum = 0.5, .exaggeration = 4, .rate = static_cast<double>(n) / 8},
      late{.momentum = 0.8, .exaggeration = 1, .rate = static_cast<double>(n) / 16};
  PlainDescent expected(graph, first, static_cast<int>(dims));
  std::vector<double> before;
  for (int run = 0; run < 2; ++run) {   // the same bits again
    const auto descent = ops->descend(graph.view(), first, static_cast<int>(dims));
    std::vector<engine::DescentMeasure> found{descent->advance(early, 1), descent->advance(early, 2)};
    descent->restart();
    found.push_back(descent->advance(late, 3));
    const std::vector<double> places = descent->points();
    if (run == 1) {
      EXPECT_EQ(places == before, true) << "a second run has other bits";
      return;
    }
    before = places;
    std::vector<engine::DescentMeasure> wanted{expected.iterate(early)};
    for (int i = 0; i < 2; ++i) wanted.resize(2), wanted[1] = expected.iterate(early);
    expected.restart();
    for (int i = 0; i < 3; ++i) wanted.resize(3), wanted[2] = expected.iterate(late);
    for (std::size_t m = 0; m < wanted.size(); ++m) {
      probe.expect_near(found[m].divergence, wanted[m].divergence, kMeasures * (1 + std::abs(wanted[m].divergence)),
                        "divergence");
      probe.expect_near(found[m].squares, wanted[m].squares, kMeasures * wanted[m].squares, "squares");
    }
    double largest = 0;
    for (const double place : expected.points()) largest = std::max(largest, std::abs(place));
    for (std::size_t e = 0; e < places.size(); ++e)
      probe.expect_near(places[e], expected.points()[e], kPlaces * largest, "coordinate " + std::to_string(e));
  }
}

// Edges of each place in four groups, with shares from never to always.
struct Groups {
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> columns;
  std::vector<float> shares;

  explicit Groups(std::int64_t n) {
    engine::PhiloxStream random(23, 4);
    for (std::int64_t i = 0; i < n; ++i)
      for (int group = 0; group < engine::kLayoutSteps; ++group) {
        const std::uint32_t count = i == 2 ? 90 : random.below(5);
        for (std::uint32_t e = 0; e < count; ++e) {
          columns.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(n))));
          shares.push_back(random.below(3) == 0 ? 1.0F : static_cast<float>(random.uniform()));
        }
        begin.push_back(static_cast<std::int64_t>(columns.size()));
      }
  }
};

// A step of an epoch, place by place, as ops/embedding.h has it.
std::vector<float> plain_step(const Groups& groups, const engine::LayoutRules& rules, std::int64_t epoch, int step,
                              float rate, const std::vector<float>& places, std::int64_t dims) {
  const std::int64_t n = static_cast<std::int64_t>(places.size()) / dims;
  std::vector<float> moved = places;
  std::uint32_t drawn = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % engine::kLayoutBlock == 0) drawn = 0;
    const engine::PhiloxBlock key =
        engine::philox(rules.seed, static_cast<std::uint64_t>(epoch * engine::kLayoutSteps + step),
                       static_cast<std::uint64_t>(i / engine::kLayoutBlock));
    std::vector<float> sums[2] = {std::vector<float>(static_cast<std::size_t>(dims)),
                                  std::vector<float>(static_cast<std::size_t>(dims))};
    const auto see = [&](std::int64_t j, bool is_pull) {
      float square = 0;
      for (std::int64_t d = 0; d < dims; ++d) {
        const float gap =
            places[static_cast<std::size_t>(i * dims + d)] - places[static_cast<std::size_t>(j * dims + d)];
        square += gap * gap;
      }
      const float slope = is_pull ? engine::pull_slope(rules.force, square) : engine::push_slope(rules.force, square);
      for (std::int64_t d = 0; d < dims; ++d) {
        const float gap =
            places[static_cast<std::size_t>(i * dims + d)] - places[static_cast<std::size_t>(j * dims + d)];
        sums[is_pull ? 0 : 1][static_cast<std::size_t>(d)] += engine::clipped_move(slope * gap);
      }
    };
    std::int64_t draws = 0;
    const std::size_t first = static_cast<std::size_t>(engine::kLayoutSteps * i + 2 * (step % engine::kLayoutParts));
    for (std::size_t g = first; g < first + 2; ++g)
      for (std::int64_t e = groups.begin[g]; e < groups.begin[g + 1]; ++e) {
        if (!engine::is_due(groups.shares[static_cast<std::size_t>(e)], static_cast<float>(epoch))) continue;
        see(groups.columns[static_cast<std::size_t>(e)], true);
        if (static_cast<int>(g - first) == step / engine::kLayoutParts) draws += rules.negatives;
      }
    for (; draws > 0; --draws)
      see(engine::place_by_chance(key.word[0], key.word[1], drawn++, static_cast<std::uint32_t>(n)), false);
    for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d)
      moved[static_cast<std::size_t>(i * dims) + d] += rate * (0.0F + sums[0][d] + sums[1][d]);
  }
  return moved;
}

// Shape: rows places in cols dimensions, k draws for each edge. The same bits.
void check_layout(engine::Device& device, Probe<double>& probe) {
  engine::EmbeddingOps* const ops = engine::embedding_ops(device);
  if (!ops) return;
  const auto [n, dims, k] = probe.shape();
  const Groups groups(n);
  const Table numbers = probe.numbers(n, dims, 3);   // with ties: places at one place
  std::vector<float> expected(numbers.values.begin(), numbers.values.end());
  const engine::LayoutRules rules{.force = {1.577F, 0.895F, 2.82F, 1.79F}, .negatives = k, .seed = 77};
  const auto layout =
      ops->lay_out({.begin = groups.begin, .columns = groups.columns, .shares = groups.shares}, rules, expected, dims);
  const std::vector<float> rates{1.0F, 0.75F, 0.3F};
  layout->advance(1, std::span(rates).first(2));
  layout->advance(3, std::span(rates).last(1));
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch)
    for (int step = 0; step < engine::kLayoutSteps; ++step)
      expected = plain_step(groups, rules, epoch, step, rates[static_cast<std::size_t>(epoch - 1)], expected, dims);
  EXPECT_EQ(layout->places() == expected, true) << "other bits";
}

using Check = void (*)(engine::Device&, Probe<double>&);

Case case_of(const char* op, const Shape& shape, Check check) {
  const auto run = [shape, check](engine::Device& device, const LaunchWatch& launches) {
    Findings findings;
    Probe<double> probe(device, shape, 1, launches);
    check(device, probe);
    return findings.take();
  };
  return {op, "float32", shape, run};
}

}   // namespace

std::vector<Case> embedding_cases() {
  std::vector<Case> cases;
  // One point, few, several blocks; more than one part of the sources.
  for (const Shape& shape : {Shape{2, 2, 0}, Shape{5, 3, 0}, Shape{70, 2, 0}, Shape{600, 2, 0}, Shape{270, 3, 0}})
    cases.push_back(case_of("descend", shape, &check_descent));
  for (const Shape& shape :
       {Shape{1, 2, 5}, Shape{40, 2, 0}, Shape{600, 2, 5}, Shape{300, 3, 2}, Shape{300, 1, 1}, Shape{270, 5, 3}})
    cases.push_back(case_of("lay_out", shape, &check_layout));
  return cases;
}

}   // namespace kedge::parity
