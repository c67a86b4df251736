// The width of each Gaussian by bisection, and the sum with the transposed matrix.
#include "engine/estimators/manifold/affinities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/estimators/manifold/row_blocks.h"

namespace kedge::engine {
namespace {

// p[j] of one row, which sum up to 1.
void conditional(std::span<const double> distances, double perplexity, std::span<double> p) {
  constexpr double kTolerance = 1e-5, kInfinity = std::numeric_limits<double>::infinity();   // scikit-learn's
  constexpr double kLeastSum = 1e-8;
  constexpr int kMostSteps = 100;
  double beta = 1, low = -kInfinity, high = kInfinity;
  for (int step = 0; step < kMostSteps; ++step) {
    double sum = 0, weighted = 0;
    for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] = std::exp(-distances[j] * beta);
    if (sum == 0) sum = kLeastSum;
    for (std::size_t j = 0; j < p.size(); ++j) p[j] /= sum, weighted += distances[j] * p[j];
    const double excess = std::log(sum) + beta * weighted - std::log(perplexity);
    if (std::abs(excess) <= kTolerance) return;
    if (excess > 0) low = beta, beta = std::isinf(high) ? beta * 2 : (beta + high) / 2;
    else high = beta, beta = std::isinf(low) ? beta / 2 : (beta + low) / 2;
  }
}

}   // namespace

Affinities with_transpose(const NeighborLists& lists, const std::vector<double>& p,
                          const std::function<double(double, double)>& join) {
  const auto n = static_cast<std::size_t>(lists.n), k = static_cast<std::size_t>(lists.k);
  struct Entry {
    std::int32_t column;
    double value;
  };
  std::vector<std::int64_t> begin(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) begin[i + 1] += lists.k;
  for (const std::int32_t j : lists.indices) ++begin[static_cast<std::size_t>(j) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Entry> entries(2 * n * k);
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t e = i * k; e < (i + 1) * k; ++e) {
      const std::int32_t j = lists.indices[e];
      entries[static_cast<std::size_t>(next[i]++)] = {j, p[e]};
      entries[static_cast<std::size_t>(next[static_cast<std::size_t>(j)]++)] = {static_cast<std::int32_t>(i), p[e]};
    }
  Affinities made{.row_begin = {0}, .columns = {}, .values = {}};
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = entries.begin() + begin[i], last = entries.begin() + begin[i + 1];
    std::ranges::stable_sort(first, last, {}, &Entry::column);
    for (auto e = first; e != last; ++e) {
      const bool is_in_both = e + 1 != last && (e + 1)->column == e->column;
      made.columns.push_back(e->column), made.values.push_back(join(e->value, is_in_both ? (e + 1)->value : 0.0));
      if (is_in_both) ++e;
    }
    made.row_begin.push_back(static_cast<std::int64_t>(made.columns.size()));
  }
  return made;
}

Affinities joint_probabilities(const Context& ctx, const NeighborLists& lists, double perplexity) {
  std::vector<double> p(lists.distances.size());
  for_row_blocks(lists.n, [&](std::int64_t begin, std::int64_t end) {
    ctx.check_stop();
    const auto k = static_cast<std::size_t>(lists.k);
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      conditional({lists.distances.data() + i * k, k}, perplexity, {p.data() + i * k, k});
  });
  Affinities made = with_transpose(lists, p, std::plus<>{});
  const double total = std::max(std::accumulate(made.values.begin(), made.values.end(), 0.0),
                                std::numeric_limits<double>::epsilon());
  for (double& value : made.values) value /= total;
  return made;
}

}   // namespace kedge::engine
