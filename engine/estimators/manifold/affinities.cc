// The width of each Gaussian by bisection, and the sum with the transposed matrix.
#include "engine/estimators/manifold/affinities.h"

#include <algorithm>
#include <atomic>
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

struct Entry {
  std::int32_t column;
  double value;
};

// body(i) for each row, on the host's threads.
template <class Body>
void for_rows(std::int64_t n, const Body& body) {
  for_row_blocks(n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) body(static_cast<std::size_t>(i));
  });
}

}   // namespace

Affinities with_transpose(const NeighborLists& lists, const std::vector<double>& p,
                          const std::function<double(double, double)>& join) {
  const auto n = static_cast<std::size_t>(lists.n), k = static_cast<std::size_t>(lists.k);
  // The entries of a row, its own before those of the others, which come in any order: sorting by column decides it.
  std::vector<std::int64_t> begin(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) begin[i + 1] += lists.k;
  for (const std::int32_t j : lists.indices) ++begin[static_cast<std::size_t>(j) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Entry> entries(2 * n * k);
  std::vector<std::int64_t> next(n);
  for (std::size_t i = 0; i < n; ++i) next[i] = begin[i] + lists.k;
  for_rows(lists.n, [&](std::size_t i) {
    for (std::size_t e = i * k; e < (i + 1) * k; ++e) {
      const std::int32_t j = lists.indices[e];
      const std::int64_t there =
          std::atomic_ref(next[static_cast<std::size_t>(j)]).fetch_add(1, std::memory_order_relaxed);
      entries[static_cast<std::size_t>(begin[i]) + e - i * k] = {j, p[e]};
      entries[static_cast<std::size_t>(there)] = {static_cast<std::int32_t>(i), p[e]};
    }
  });
  const auto joined = [](auto e, auto last) { return e + 1 != last && (e + 1)->column == e->column; };
  Affinities made{.row_begin = std::vector<std::int64_t>(n + 1, 0), .columns = {}, .values = {}};
  for_rows(lists.n, [&](std::size_t i) {
    const auto first = entries.begin() + begin[i], last = entries.begin() + begin[i + 1];
    std::sort(first, last, [](const Entry& a, const Entry& b) { return a.column < b.column; });
    made.row_begin[i + 1] = last - first;
    for (auto e = first; e != last; ++e) made.row_begin[i + 1] -= joined(e, last);
  });
  std::partial_sum(made.row_begin.begin(), made.row_begin.end(), made.row_begin.begin());
  made.columns.resize(static_cast<std::size_t>(made.row_begin[n]));
  made.values.resize(made.columns.size());
  for_rows(lists.n, [&](std::size_t i) {
    auto to = static_cast<std::size_t>(made.row_begin[i]);
    const auto last = entries.begin() + begin[i + 1];
    for (auto e = entries.begin() + begin[i]; e != last; ++e, ++to) {
      const bool is_in_both = joined(e, last);
      made.columns[to] = e->column;
      made.values[to] = join(e->value, is_in_both ? (e + 1)->value : 0.0);
      if (is_in_both) ++e;
    }
  });
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
