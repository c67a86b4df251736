// Parity of prepared neighbour searches, in trees and by scans: neighbours, counts and components exactly.
#include <numeric>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
using engine::Distance;
using engine::Metric;

const std::vector<Distance>& metrics() {
  static const std::vector<Distance> all{{}, {Metric::kManhattan}, {Metric::kChebyshev}, {Metric::kMinkowski, 3}};
  return all;
}

double reduced(const Distance& distance, const Table& a, std::int64_t i, const Table& b, std::int64_t j) {   // exact: multiples of 1/512
  double sum = 0, largest = 0;
  for (std::int64_t c = 0; c < a.cols; ++c) {
    const double size = std::abs(a.at(i, c) - b.at(j, c));
    largest = std::max(largest, size);
    sum += distance.metric == Metric::kEuclidean ? size * size : distance.metric == Metric::kManhattan ? size : size * size * size;
  }
  return distance.metric == Metric::kChebyshev ? largest : sum;
}

// A limit that about a tenth of the pairs keep; some reach it exactly.
double some_limit(const Distance& distance, const Table& a, const Table& b) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(a.rows, 20); ++i)
    for (std::int64_t j = 0; j < b.rows; ++j) all.push_back(reduced(distance, a, i, b, j));
  std::sort(all.begin(), all.end());
  return all[all.size() / 10];
}

template <class T>
void check_index_nearest(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  const Table points = probe.numbers(rows, cols, 1), queries = probe.numbers(19, cols, 2);
  const Padded<T> p(probe.memory(), points), q(probe.memory(), queries);
  for (const Distance& distance : metrics()) {
    Padded<std::int32_t> indices(probe.memory(), queries.rows, k);
    Padded<T> found(probe.memory(), queries.rows, k);
    probe.ops().distances->index_points(p.view(), distance)->nearest(q.view(), k, indices.view(), found.view());
    const Table got = indices.to_table(), distances = found.to_table();
    for (std::int64_t i = 0; i < queries.rows && !Findings::any(); ++i) {
      std::vector<std::pair<double, std::int64_t>> all;
      for (std::int64_t j = 0; j < rows; ++j) all.emplace_back(reduced(distance, queries, i, points, j), j);
      std::sort(all.begin(), all.end());
      for (int e = 0; e < k; ++e) {
        EXPECT_EQ(got.at(i, e), static_cast<double>(all[static_cast<std::size_t>(e)].second)) << "metric " << static_cast<int>(distance.metric);
        EXPECT_EQ(distances.at(i, e), static_cast<double>(static_cast<T>(all[static_cast<std::size_t>(e)].first)));
      }
    }
  }
}

template <class T>
void check_index_within(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  const Table points = probe.numbers(rows, cols, 1), queries = probe.numbers(k, cols, 2);
  const Padded<T> p(probe.memory(), points), q(probe.memory(), queries);
  for (const Distance& distance : metrics()) {
    const double limit = some_limit(distance, queries, points);
    const auto index = probe.ops().distances->index_points(p.view(), distance);
    Array<std::int32_t> counted(probe.memory(), k);
    index->count_within(q.view(), limit, counted.view());
    std::vector<std::int64_t> offsets{0};
    for (const std::int32_t count : counted.to_host()) offsets.push_back(offsets.back() + count);
    Array<std::int32_t> indices(probe.memory(), offsets.back());
    Array<T> found(probe.memory(), offsets.back());
    index->list_within(q.view(), limit, probe.upload(offsets).view(), indices.view(), found.view());
    const auto host = indices.to_host();
    const auto distances = found.to_host();
    for (int i = 0; i < k; ++i) {
      std::vector<std::int32_t> got(host.begin() + offsets[static_cast<std::size_t>(i)], host.begin() + offsets[static_cast<std::size_t>(i) + 1]), expected;
      for (std::size_t e = 0; e < got.size(); ++e)
        EXPECT_EQ(distances[static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]) + e], static_cast<T>(reduced(distance, queries, i, points, got[e])));
      std::sort(got.begin(), got.end());
      for (std::int64_t j = 0; j < rows; ++j)
        if (reduced(distance, queries, i, points, j) <= limit) expected.push_back(static_cast<std::int32_t>(j));
      ASSERT_EQ(got, expected) << "metric " << static_cast<int>(distance.metric) << ", query " << i;
    }
  }
}

// The lowest core point that each core point reaches, by walking.
std::vector<std::int32_t> reference_components(const std::vector<std::vector<std::int32_t>>& near, const std::vector<std::uint8_t>& core) {
  std::vector<std::int32_t> component(core.size(), -1);
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (!core[i] || component[i] >= 0) continue;
    std::vector<std::int32_t> stack{static_cast<std::int32_t>(i)};
    component[i] = static_cast<std::int32_t>(i);
    while (!stack.empty()) {
      const std::int32_t a = stack.back();
      stack.pop_back();
      for (const std::int32_t b : near[static_cast<std::size_t>(a)]) {
        if (component[static_cast<std::size_t>(b)] >= 0) continue;
        component[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(i);
        if (core[static_cast<std::size_t>(b)]) stack.push_back(b);
      }
    }
  }
  return component;
}

// k: what makes a core point.
template <class T>
void expect_components(Probe<T>& probe, const Table& points, const Distance& distance, double limit,
                       const std::vector<double>& weights) {
  const std::int64_t rows = points.rows;
  const int k = probe.shape().k;
  const Padded<T> p(probe.memory(), points);
  std::vector<std::vector<std::int32_t>> near(static_cast<std::size_t>(rows));
  std::vector<std::uint8_t> expected;
  for (std::int64_t i = 0; i < rows; ++i) {
    double weight = 0;
    for (std::int64_t j = 0; j < rows; ++j)
      if (reduced(distance, points, i, points, j) <= limit) {
        near[static_cast<std::size_t>(i)].push_back(static_cast<std::int32_t>(j));
        weight += weights.empty() ? 1.0 : weights[static_cast<std::size_t>(j)];
      }
    expected.push_back(weight >= k ? 1 : 0);
  }
  Array<std::uint8_t> core(probe.memory(), rows);
  Array<std::int32_t> component(probe.memory(), rows);
  probe.ops()
      .distances->index_points(p.view(), distance)
      ->density_components(limit, k, probe.upload(weights).view(), core.view(), component.view());
  EXPECT_EQ(core.to_host(), expected) << "metric " << static_cast<int>(distance.metric) << ", limit " << limit;
  EXPECT_EQ(component.to_host(), reference_components(near, expected))
      << "metric " << static_cast<int>(distance.metric) << ", limit " << limit;
}

template <class T>
void check_density(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  Table points = probe.numbers(rows, cols, 1);
  for (std::int64_t i = 0; i < rows; ++i) points.at(i, 0) += static_cast<double>(i % 4) * 12;   // four clouds that just touch
  for (const Distance& distance : metrics()) {
    const double limit = some_limit(distance, points, points) / 2;
    expect_components(probe, points, distance, limit, {});
    expect_components(probe, points, distance, limit, probe.weights(rows));
  }
}

// Limits that some distances reach exactly, where the cheapest arithmetic decides little or nothing: two clouds far
// apart, each point twice, and the same so small that squares underflow in float, or so large that they overflow.
template <class T>
void check_density_in_doubt(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  for (const double scale : {1.0, 0x1p-85, 0x1p90}) {
    for (const double apart : {0.0, 512.0, 16384.0}) {
      Table points = probe.numbers(rows, cols, 1);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j)
          points.at(i, j) =
              scale * (points.at(i / 2 * 2, j) + (i % 4 < 2 ? apart : 0) + (i % 2 == 1 && j == 0 ? 0.125 : 0));
      expect_components(probe, points, Distance{}, some_limit(Distance{}, points, points), {});
    }
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> index_rows() {
  return {
      {"index_nearest",
       kExact,
       &check_index_nearest<T>,
       {{1, 1, 1}, {300, 1, 5}, {1100, 3, 7}, {700, 10, 40}, {300, 17, 5}, {200, 40, 3}, {90, 3, 90}}},
      {"index_within", kExact, &check_index_within<T>, {{1, 1, 1}, {900, 2, 12}, {400, 9, 5}, {300, 20, 7}}},
      {"density_components",
       kExact,
       &check_density<T>,
       {{1, 1, 1}, {600, 2, 5}, {600, 2, 60}, {300, 6, 4}, {300, 6, 30}, {260, 20, 3}, {260, 36, 3}, {40, 3, 2}}},
      {"density_in_doubt", kExact, &check_density_in_doubt<T>, {{300, 12, 5}, {300, 36, 5}, {150, 40, 3}}},
  };
}

template std::vector<Row<float>> index_rows();
template std::vector<Row<double>> index_rows();

}  // namespace kedge::parity
