// Parity of the neighbour ops: the neighbours and their order exactly, ties included.
#include <limits>

#include "engine/backend/functors.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
template <class T>
constexpr double kShare = 4 * std::numeric_limits<T>::epsilon();

struct Found {
  double squared;
  std::int32_t index;
  friend auto operator<=>(const Found&, const Found&) = default;
};

std::vector<Found> reference_nearest(const Table& queries, std::int64_t q, const Table& points, int k) {
  std::vector<Found> all;
  for (std::int64_t p = 0; p < points.rows; ++p) {
    double sum = 0;   // of multiples of 1/64: exact in any order
    for (std::int64_t j = 0; j < points.cols; ++j) sum += engine::squared_difference(queries.at(q, j), points.at(p, j));
    all.push_back({sum, static_cast<std::int32_t>(p)});
  }
  std::sort(all.begin(), all.end());
  all.resize(static_cast<std::size_t>(k));
  return all;
}

// Shape: points x columns, k neighbours.
template <class T>
void expect_nearest(Probe<T>& probe, const Table& queries, const Table& points) {
  const int k = probe.shape().k;
  Padded<std::int32_t> indices(probe.memory(), queries.rows, k);
  Padded<T> squared(probe.memory(), queries.rows, k);
  probe.ops().neighbours->nearest(Padded<T>(probe.memory(), queries).view(), Padded<T>(probe.memory(), points).view(),
                                  k, indices.view(), squared.view());
  const Table got = indices.to_table(), distances = squared.to_table();
  for (std::int64_t q = 0; q < queries.rows && !Findings::any(); ++q) {
    const auto expected = reference_nearest(queries, q, points, k);
    for (int i = 0; i < k; ++i) {
      probe.expect_near(got.at(q, i), expected[static_cast<std::size_t>(i)].index, 1, "neighbour");
      probe.expect_near(distances.at(q, i), static_cast<double>(static_cast<T>(expected[static_cast<std::size_t>(i)].squared)), 1, "distance");
    }
  }
}

template <class T>
void check_nearest(Probe<T>& probe) {
  const Shape& s = probe.shape();
  for (const std::int64_t n : {0, 1, 37}) expect_nearest(probe, probe.numbers(n, s.cols, 11, 2), probe.numbers(s.rows, s.cols, 12, 2));
}

template <class T>
void check_nearest_among_equals(Probe<T>& probe) {   // too many ties for any shortlist
  expect_nearest(probe, probe.numbers(3, probe.shape().cols, 11), Table(probe.shape().rows, probe.shape().cols));
}

template <class T>
void check_nearest_beyond_the_bound(Probe<T>& probe) {   // two clusters so far apart that scores tell nothing within one
  Table points = probe.numbers(probe.shape().rows, probe.shape().cols, 12, 4096);
  for (std::int64_t i = 0; i < points.rows; i += 2) {
    for (std::int64_t j = 0; j < points.cols; ++j) points.at(i, j) -= 8192;
  }
  expect_nearest(probe, probe.numbers(3, probe.shape().cols, 11, 4096), points);
}

template <class T>
void check_vote(Probe<T>& probe) {   // shape: queries x classes, k neighbours
  const auto [rows, classes, k] = probe.shape();
  const auto y = probe.codes(50, static_cast<int>(classes), 1), chosen = probe.codes(rows * k, 50, 2);
  Table indices(rows, k), squared = probe.numbers(rows, k, 3, 8);   // 0 to 16: some are 0
  std::copy(chosen.begin(), chosen.end(), indices.values.begin());
  for (const bool by_distance : {false, true}) {
    Padded<T> proba(probe.memory(), rows, classes);
    probe.ops().neighbours->vote(Padded<std::int32_t>(probe.memory(), indices).view(),
                                 Padded<T>(probe.memory(), squared).view(), probe.upload(y).view(), by_distance,
                                 proba.view());
    Table expected(rows, classes);
    for (std::int64_t q = 0; q < rows; ++q) {
      std::vector<double> votes;
      for (int i = 0; i < k; ++i) votes.push_back(by_distance ? 1 / std::sqrt(squared.at(q, i)) : 1);
      const bool exact = std::ranges::any_of(votes, [](double v) { return std::isinf(v); });
      double total = 0;
      for (double& v : votes) v = exact ? static_cast<double>(std::isinf(v)) : v, total += v;
      for (int i = 0; i < k; ++i) expected.at(q, y[static_cast<std::size_t>(indices.at(q, i))]) += votes[static_cast<std::size_t>(i)] / total;
    }
    probe.expect_near(proba.to_table(), expected, k, by_distance ? "by distance" : "uniform");
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> neighbour_rows() {
  return {
      {"nearest", kExact, &check_nearest<T>, {{1, 1, 1}, {5, 1, 5}, {40, 3, 7}, {300, 17, 5}, {1500, 40, 3}, {5000, 6, 20}, {1100, 2, 1024}}},
      {"nearest_among_equals", kExact, &check_nearest_among_equals<T>, {{9000, 2, 3}}},
      {"nearest_beyond_the_bound", kExact, &check_nearest_beyond_the_bound<T>, {{6000, 3, 5}}},
      {"vote", kShare<T>, &check_vote<T>, {{0, 2, 3}, {1, 1, 1}, {300, 10, 5}, {40, 3, 30}}},
  };
}

template std::vector<Row<float>> neighbour_rows();
template std::vector<Row<double>> neighbour_rows();

}  // namespace kedge::parity
