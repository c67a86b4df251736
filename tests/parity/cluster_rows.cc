// Parity of the ops of k-means: labels exactly, ties included; sums in double.
#include <limits>

#include "engine/backend/distance.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kSum = 1e-13;   // sums of multiples of 1/64 with weights in [0.25, 1.25), in any order
template <class T>
constexpr double kRounded = 2 * std::numeric_limits<T>::epsilon();

double squared(const Table& a, std::int64_t i, const Table& b, std::int64_t j) {   // exact in any order
  double sum = 0;
  for (std::int64_t c = 0; c < a.cols; ++c) sum += engine::squared_difference(a.at(i, c), b.at(j, c));
  return sum;
}

std::vector<std::int32_t> nearest_rows(const Table& X, const Table& centers) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < centers.rows; ++c)
      if (squared(X, i, centers, c) < squared(X, i, centers, best)) best = c;
    labels.push_back(static_cast<std::int32_t>(best));
  }
  return labels;
}

// Shape: rows x columns, k centers.
template <class T>
void expect_assigned(Probe<T>& probe, const Table& X, const Table& centers) {
  const auto expected = nearest_rows(X, centers);
  std::vector<std::int32_t> before = expected;
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < before.size(); i += 3) before[i] = -1, ++changed;
  auto labels = probe.upload(before);
  EXPECT_EQ(probe.ops().clusters->assign_nearest(Padded<T>(probe.memory(), X).view(),
                                                 Padded<T>(probe.memory(), centers).view(), labels.view()),
            changed);
  EXPECT_EQ(labels.to_host(), expected);
}

template <class T>
void check_assign(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  expect_assigned(probe, probe.numbers(rows, cols, 1), probe.numbers(k, cols, 2));
}

template <class T>
void check_assign_among_equals(Probe<T>& probe) {   // every center twice: the first of the two
  const auto [rows, cols, k] = probe.shape();
  Table centers = probe.numbers(k, cols, 2);
  for (std::int64_t c = 1; c < k; c += 2) std::copy_n(centers.values.begin() + (c - 1) * cols, cols, centers.values.begin() + c * cols);
  expect_assigned(probe, probe.numbers(rows, cols, 1), centers);
}

template <class T>
void check_assign_far_away(Probe<T>& probe) {   // scores tell nothing: every row is searched exactly
  const auto [rows, cols, k] = probe.shape();
  expect_assigned(probe, probe.numbers(rows, cols, 1, 65536), probe.numbers(k, cols, 2, 65536));
}

// Centres as they come one after the other: some a little farther, the same again, two equal ones, all far away, all back.
std::vector<Table> steps_of(const Table& start) {
  std::vector<Table> steps(6, start);
  for (std::size_t step : {1, 2, 5})
    for (std::int64_t c = 0; c < start.rows; c += 3) steps[step].at(c, c % start.cols) += 0.125;
  std::copy_n(start.values.begin(), start.cols, steps[3].values.end() - start.cols);
  for (double& v : steps[4].values) v += 65536;
  return steps;
}

template <class T>
void check_follow_centers(Probe<T>& probe) {   // rows and centres in three places, so that bounds hold; as the plain ops say
  const auto [rows, cols, k] = probe.shape();
  Table X = probe.numbers(rows, cols, 1), centers = probe.numbers(k, cols, 2);
  for (std::int64_t i = 0; i < rows; ++i) X.at(i, 0) += static_cast<double>(32 * (i % 3));
  for (std::int64_t c = 0; c < k; ++c) centers.at(c, 0) += static_cast<double>(32 * (c % 3));
  const Padded<T> values(probe.memory(), X);
  for (const bool is_weighted : {false, true}) {
    const auto weights = probe.upload(is_weighted ? probe.weights(rows) : std::vector<double>{});
    std::vector<std::int32_t> before(static_cast<std::size_t>(rows), -1);
    auto labels = probe.upload(before);
    const auto followed = probe.ops().clusters->follow_centers(values.view(), weights.view(), labels.view());
    for (const Table& step : steps_of(centers)) {
      const auto expected = nearest_rows(X, step);
      std::int64_t changed = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) changed += expected[i] != before[i];
      EXPECT_EQ(followed->assign(Padded<T>(probe.memory(), step).view()), changed);
      EXPECT_EQ(labels.to_host(), expected);
      Padded<double> sums(probe.memory(), k, cols + 1), plain(probe.memory(), k, cols + 1);
      followed->sum(sums.view());
      probe.ops().clusters->label_sums(values.view(), std::as_const(labels).view(), weights.view(), plain.view());
      EXPECT_EQ(sums.to_table().values, plain.to_table().values);
      before = expected;
    }
  }
}

template <class T>
void check_squared_to_assigned(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  const Table X = probe.numbers(rows, cols, 1), centers = probe.numbers(k, cols, 2);
  const auto labels = probe.codes(rows, k, 3);
  Array<double> got(probe.memory(), rows);
  probe.ops().clusters->squared_to_assigned(Padded<T>(probe.memory(), X).view(),
                                            Padded<T>(probe.memory(), centers).view(), probe.upload(labels).view(),
                                            got.view());
  std::vector<double> expected;
  for (std::int64_t i = 0; i < rows; ++i) expected.push_back(squared(X, i, centers, labels[static_cast<std::size_t>(i)]));
  probe.expect_near(got, expected, 1, "squared");
}

template <class T>
void check_label_sums(Probe<T>& probe) {
  const auto [rows, cols, k] = probe.shape();
  const Table X = probe.numbers(rows, cols, 1);
  const auto labels = probe.codes(rows, k, 3);
  for (const bool is_weighted : {false, true}) {
    const std::vector<double> weights = is_weighted ? probe.weights(rows) : std::vector<double>{};
    Padded<double> sums(probe.memory(), k, cols + 1);
    probe.ops().clusters->label_sums(Padded<T>(probe.memory(), X).view(), probe.upload(labels).view(),
                                     probe.upload(weights).view(), sums.view());
    Table expected(k, cols + 1);
    for (std::int64_t i = 0; i < rows; ++i) {
      const double weight = is_weighted ? weights[static_cast<std::size_t>(i)] : 1.0;
      const auto label = labels[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < cols; ++j) expected.at(label, j) += weight * X.at(i, j);
      expected.at(label, cols) += weight;
    }
    probe.expect_near(sums.to_table(), expected, static_cast<double>(rows) * 8 + 1, is_weighted ? "weighted" : "plain");
  }
}

template <class T>
void check_nearest_within(Probe<T>& probe) {   // k candidates
  const auto [rows, cols, k] = probe.shape();
  const Table X = probe.numbers(rows, cols, 1);
  const auto candidates = probe.codes(k, static_cast<int>(rows), 3);
  const auto weights = probe.weights(rows);
  const std::vector<T> closest(static_cast<std::size_t>(rows), static_cast<T>(cols) * 30);
  for (const bool is_first : {true, false}) {
    Padded<T> least(probe.memory(), k, rows);
    Array<double> totals(probe.memory(), k);
    probe.ops().clusters->nearest_within(Padded<T>(probe.memory(), X).view(), probe.upload(candidates).view(),
                                         probe.upload(is_first ? std::vector<T>{} : closest).view(),
                                         probe.upload(weights).view(), least.view(), totals.view());
    Table expected(k, rows);
    std::vector<double> sums(static_cast<std::size_t>(k));
    for (std::int64_t c = 0; c < k; ++c)
      for (std::int64_t i = 0; i < rows; ++i) {
        const double distance = squared(X, i, X, candidates[static_cast<std::size_t>(c)]);
        expected.at(c, i) = is_first ? distance : std::min(distance, static_cast<double>(cols) * 30);
        sums[static_cast<std::size_t>(c)] += weights[static_cast<std::size_t>(i)] * static_cast<double>(static_cast<T>(expected.at(c, i)));
      }
    probe.expect_near(least.to_table(), expected, static_cast<double>(cols) * 512, "least");
    probe.expect_near(totals, sums, static_cast<double>(rows * cols) * 512, "totals");
  }
}

template <class T>
void check_cumulative_search(Probe<T>& probe) {   // k thresholds over `rows` values
  const auto [rows, cols, k] = probe.shape();
  const Table table = probe.numbers(rows, 1, 1, 8);   // 0 to 16: the sums are exact
  const std::vector<T> values(table.values.begin(), table.values.end());
  std::vector<double> sums, thresholds;
  for (const double v : table.values) sums.push_back((sums.empty() ? 0.0 : sums.back()) + v);
  for (int e = 0; e < k; ++e) thresholds.push_back(sums.back() * e / std::max(1, k - 2));   // the last lies beyond the end
  Array<std::int32_t> found(probe.memory(), k);
  probe.ops().clusters->cumulative_search(probe.upload(values).view(), {}, probe.upload(thresholds).view(),
                                          found.view());
  const auto got = found.to_host();
  for (int e = 0; e < k; ++e) {
    const auto expected = std::min<std::int64_t>(std::lower_bound(sums.begin(), sums.end(), thresholds[static_cast<std::size_t>(e)]) - sums.begin(), rows - 1);
    EXPECT_EQ(got[static_cast<std::size_t>(e)], expected) << "threshold " << e;
  }
}

template <class T>
void check_distances(Probe<T>& probe) {   // k rows of the second table
  const auto [rows, cols, k] = probe.shape();
  const Table X = probe.numbers(rows, cols, 1), Y = probe.numbers(k, cols, 2);
  for (const engine::Distance& distance : {engine::Distance{}, {engine::Metric::kManhattan}, {engine::Metric::kChebyshev}, {engine::Metric::kMinkowski, 3}}) {
    Padded<T> got(probe.memory(), rows, k);
    probe.ops().distances->pairwise(Padded<T>(probe.memory(), X).view(), Padded<T>(probe.memory(), Y).view(), distance,
                                    got.view());
    Table expected(rows, k);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < k; ++j) {
        double sum = 0, largest = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
          const double size = std::abs(X.at(i, c) - Y.at(j, c));
          sum += distance.metric == engine::Metric::kManhattan ? size : std::pow(size, distance.power), largest = std::max(largest, size);
        }
        expected.at(i, j) = distance.metric == engine::Metric::kChebyshev   ? largest
                            : distance.metric == engine::Metric::kManhattan ? sum
                                                                            : std::pow(sum, 1 / distance.power);
      }
    probe.expect_near(got.to_table(), expected, static_cast<double>(cols) * 16, "metric " + std::to_string(static_cast<int>(distance.metric)));
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> cluster_rows() {
  const std::vector<Shape> shapes{{1, 1, 1},    {5, 3, 8},     {300, 17, 5},   {700, 40, 20}, {200, 13, 6},
                                  {90, 21, 32}, {1100, 2, 70}, {130, 90, 600}, {150, 205, 6}, {260, 230, 20}};
  return {
      {"assign_nearest", kExact, &check_assign<T>, shapes},
      {"assign_nearest_of_wide", kExact, &check_assign<T>, {{130, 97, 8}, {90, 129, 5}, {70, 161, 12}, {41, 97, 30}}},
      {"assign_nearest_among_equals", kExact, &check_assign_among_equals<T>, {{300, 3, 10}, {70, 101, 10}}},
      {"assign_nearest_far_away", kExact, &check_assign_far_away<T>, {{300, 5, 20}, {70, 101, 20}}},
      {"follow_centers", kExact, &check_follow_centers<T>, {{1, 1, 1}, {300, 17, 5}, {2500, 6, 12}, {1500, 3, 200}}},
      {"squared_to_assigned", kExact, &check_squared_to_assigned<T>, shapes},
      {"label_sums",
       kSum,
       &check_label_sums<T>,
       {{1, 1, 1}, {3000, 17, 5}, {2100, 70, 3}, {9000, 4, 30}, {1500, 3, 200}}},
      {"nearest_within", kRounded<T>, &check_nearest_within<T>, {{1, 1, 1}, {700, 3, 4}, {600, 16, 11}, {300, 40, 6}}},
      {"cumulative_search", kExact, &check_cumulative_search<T>, {{1, 1, 3}, {257, 1, 5}, {70000, 1, 40}}},
      {"distances", kRounded<T>, &check_distances<T>, {{0, 3, 2}, {1, 1, 1}, {40, 16, 9}, {20, 33, 30}}},
  };
}

template std::vector<Row<float>> cluster_rows();
template std::vector<Row<double>> cluster_rows();

}  // namespace kedge::parity
