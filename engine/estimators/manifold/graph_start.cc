// Parts of a graph, their eigenvectors, and the centres around which they lie.
#include "engine/estimators/manifold/graph_start.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/rng.h"
#include "engine/estimators/manifold/affinity_graph.h"

namespace kedge::engine {
namespace {

using Members = std::vector<std::int32_t>;

std::size_t row_begin(const Affinities& graph, std::int64_t i) {
  return static_cast<std::size_t>(graph.row_begin[static_cast<std::size_t>(i)]);
}

// The rows of each part, ascending; parts by their first row.
std::vector<Members> parts_of(const Affinities& graph) {
  std::vector<Members> parts;
  std::vector<bool> seen(static_cast<std::size_t>(graph.n_rows()));
  for (std::int32_t first = 0; first < graph.n_rows(); ++first) {
    if (seen[static_cast<std::size_t>(first)]) continue;
    Members part{first};
    seen[static_cast<std::size_t>(first)] = true;
    for (std::size_t at = 0; at < part.size(); ++at)
      for (std::size_t e = row_begin(graph, part[at]); e < row_begin(graph, part[at] + 1); ++e) {
        const std::int32_t j = graph.columns[e];
        if (seen[static_cast<std::size_t>(j)]) continue;
        seen[static_cast<std::size_t>(j)] = true, part.push_back(j);
      }
    std::ranges::sort(part);
    parts.push_back(std::move(part));
  }
  return parts;
}

Affinities graph_of_part(const Affinities& graph, const Members& part, std::vector<std::int32_t>& numbers) {
  for (std::size_t i = 0; i < part.size(); ++i)
    numbers[static_cast<std::size_t>(part[i])] = static_cast<std::int32_t>(i);
  Affinities made{.row_begin = {0}, .columns = {}, .values = {}};
  for (const std::int32_t i : part) {
    for (std::size_t e = row_begin(graph, i); e < row_begin(graph, i + 1); ++e) {
      made.columns.push_back(numbers[static_cast<std::size_t>(graph.columns[e])]);
      made.values.push_back(graph.values[e]);
    }
    made.row_begin.push_back(static_cast<std::int64_t>(made.columns.size()));
  }
  return made;
}

// The eigenvectors after the first, a coordinate each, with a positive largest coordinate; rows of dims numbers.
std::vector<double> eigenplaces(const Context& ctx, const char* owner, const Affinities& part, std::int64_t dims) {
  constexpr double kResidual = 1e-5;   // a start need not be exact
  AffinityGraph graph = graph_of_affinities(ctx, part);
  const Eigenpairs pairs = graph_eigenpairs(ctx, owner, graph, dims + 1, kResidual);
  const auto n = static_cast<std::size_t>(part.n_rows()), columns = static_cast<std::size_t>(dims);
  std::vector<double> places(n * columns);
  for (std::size_t d = 0; d < columns; ++d) {
    const double* const vector = pairs.vectors.data() + (d + 1) * n;
    const double largest =
        *std::max_element(vector, vector + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    for (std::size_t i = 0; i < n; ++i) places[i * columns + d] = largest < 0 ? -vector[i] : vector[i];
  }
  return places;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Of each part, dims numbers.
std::vector<double> centres_of(const std::vector<Members>& parts, std::size_t dims,
                               const std::function<std::vector<double>()>& rough) {
  std::vector<double> centres(parts.size() * dims, 0.0);
  if (parts.size() <= 2 * dims) {
    const std::size_t half = (parts.size() + 1) / 2;
    for (std::size_t p = 0; p < parts.size(); ++p) centres[p * dims + p % half] = p < half ? 1 : -1;
    return centres;
  }
  const std::vector<double> places = rough();
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const std::int32_t i : parts[p])
      for (std::size_t d = 0; d < dims; ++d)
        centres[p * dims + d] += places[static_cast<std::size_t>(i) * dims + d] / static_cast<double>(parts[p].size());
  const double largest = largest_of(centres);
  for (double& x : centres) x /= largest > 0 ? largest : 1;
  return centres;
}

// Half the distance to the nearest other centre.
double room_of(const std::vector<double>& centres, std::size_t part, std::size_t dims) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < centres.size() / dims; ++other) {
    double squared = 0;
    for (std::size_t d = 0; d < dims; ++d) squared += std::pow(centres[part * dims + d] - centres[other * dims + d], 2);
    if (squared > 0) least = std::min(least, squared);
  }
  return std::isinf(least) ? 1 : std::sqrt(least) / 2;
}

}   // namespace

std::vector<double> places_of_graph(const Context& ctx, const char* owner, const Affinities& graph, std::int64_t dims,
                                    std::uint64_t seed, const std::function<std::vector<double>()>& rough) {
  const std::vector<Members> parts = parts_of(graph);
  if (parts.size() == 1) return eigenplaces(ctx, owner, graph, dims);
  const auto columns = static_cast<std::size_t>(dims), n = static_cast<std::size_t>(graph.n_rows());
  const std::vector<double> centres = centres_of(parts, columns, rough);
  std::vector<double> places(n * columns);
  std::vector<std::int32_t> numbers(n);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    ctx.check_stop();
    const double room = room_of(centres, p, columns);
    const auto size = static_cast<std::int64_t>(parts[p].size());
    std::vector<double> own(parts[p].size() * columns);
    if (size < 2 * dims || size <= dims + 1) {
      PhiloxStream random(seed, p);
      for (double& x : own) x = room * (2 * random.uniform() - 1);
    } else {
      own = eigenplaces(ctx, owner, graph_of_part(graph, parts[p], numbers), dims);
      const double largest = largest_of(own);
      for (double& x : own) x *= room / largest;
    }
    for (std::size_t i = 0; i < parts[p].size(); ++i)
      for (std::size_t d = 0; d < columns; ++d)
        places[static_cast<std::size_t>(parts[p][i]) * columns + d] = centres[p * columns + d] + own[i * columns + d];
  }
  return places;
}

}   // namespace kedge::engine
