// What the metrics are built from: the sort by score, sums on any number of threads, large inputs; and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/metrics/cluster_shape.h"
#include "engine/metrics/clustering.h"
#include "engine/metrics/expected_mutual_info.h"
#include "engine/metrics/probability.h"
#include "engine/metrics/ranking.h"
#include "engine/metrics/regression.h"
#include "engine/metrics/score_order.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

struct ExpectedCase {
  std::vector<std::int64_t> sizes_a, sizes_b;
  double information;
};

#include "tests/unit/engine/metrics_parts_golden.inc"

// 20000 terms added in another order than numpy's.
constexpr double kRelativeTolerance = 1e-12;

struct Generated {
  std::vector<std::int32_t> y;
  std::vector<double> scores, weights;
};

Generated generated() {
  Generated data;
  std::uint32_t x = 17;
  for (std::int64_t i = 0; i < kGeneratedRows; ++i) {
    x = (1103515245u * x + 12345u) & 0x7fffffffu;
    const auto u = static_cast<std::int32_t>(x >> 12);
    data.y.push_back(u % 3 == 0);
    data.scores.push_back((u / 3 % 4001 - 2000 + 300 * data.y.back()) / 512.0);
    data.weights.push_back(u / 7 % 5);
  }
  return data;
}

void expect_close(double value, double expected) { EXPECT_NEAR(value, expected, kRelativeTolerance * std::abs(expected)); }

TEST(Metrics, OfManyRowsAgreeWithScikitLearn) {
  const Generated data = generated();
  const std::vector<double> y(data.y.begin(), data.y.end()), zeros(data.y.size());
  expect_close(roc_auc_score({data.y, data.scores, 2}), kGeneratedRocAuc);
  expect_close(roc_auc_score({data.y, data.scores, 2, data.weights}), kGeneratedWeightedRocAuc);
  expect_close(average_precision_score({data.y, data.scores, 2}), kGeneratedAveragePrecision);
  expect_close(r2_score({data.scores, y}), kGeneratedR2);
  expect_close(median_absolute_error({data.scores, zeros, data.weights}), kGeneratedWeightedMedian);
  expect_close(mean_squared_error({data.scores, y, data.weights}), kGeneratedWeightedSquaredError);
}

TEST(Metrics, AreEqualToTheLastBitOnAnyNumberOfThreads) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const std::int64_t n = 200000, n_clustered = 3000, d = 5;
  std::vector<double> y(n), p(n);
  std::vector<std::int32_t> labels(n);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = normal(random), p[i] = normal(random);
    labels[i] = static_cast<std::int32_t>(random() % 12);
  }
  const std::span<const double> X(y.data(), n_clustered * d);
  const std::span<const std::int32_t> clusters(labels.data(), n_clustered), others(labels.data() + n_clustered, n_clustered);
  const auto scores = [&](int threads) {
    omp_set_num_threads(threads);
    return std::vector<double>{r2_score({y, p}), mean_absolute_error({y, p}), silhouette_score({X, d, clusters}),
                               calinski_harabasz_score({X, d, clusters}), davies_bouldin_score({X, d, clusters}),
                               adjusted_mutual_info_score({clusters, others})};
  };
  const int threads = omp_get_max_threads();
  const std::vector<double> one = scores(1), three = scores(3);
  omp_set_num_threads(threads);
  EXPECT_EQ(one, three);
}

TEST(ExpectedMutualInformation, IsExactForLargeClusters) {
  for (const ExpectedCase& c : kExpected) {
    std::int64_t n = 0;
    for (std::int64_t size : c.sizes_a) n += size;
    expect_close(expected_mutual_information(c.sizes_a, c.sizes_b, n), c.information);
  }
}

TEST(SortByKey, KeepsTheOrderOfEqualScoresInShortAndLongLists) {
  std::mt19937_64 random(3);
  for (const std::size_t n : {10, 4095, 4096, 50000}) {
    std::vector<RankedRow> rows;
    std::vector<double> scores;
    for (std::size_t i = 0; i < n; ++i) {
      const double special[] = {0.0, -0.0, kInfinity, -kInfinity, 1e300, -1e-310};
      scores.push_back(i % 5 == 0 ? special[random() % 6] : std::ldexp(static_cast<double>(random() % 2001) - 1000, static_cast<int>(random() % 40) - 20));
      rows.push_back({falling_key(scores[i]), static_cast<std::uint32_t>(i)});
      ASSERT_EQ(score_of_key(rows[i].key), scores[i]);
    }
    sort_by_key(rows);
    for (std::size_t i = 1; i < n; ++i) {
      const RankedRow &a = rows[i - 1], &b = rows[i];
      ASSERT_TRUE(scores[a.row] > scores[b.row] || (scores[a.row] == scores[b.row] && a.row < b.row)) << n << " rows, at " << i;
    }
  }
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    return "score " + std::to_string(call());
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    return error.message;
  }
}

TEST(Metrics, NameWhatTheyRefuse) {
  using Codes = std::vector<std::int32_t>;
  using Values = std::vector<double>;
  const Codes y = {0, 1};
  const Values one = {1, 1}, zero = {0, 0}, negative = {2, -1}, infinite = {1, kInfinity}, nan = {1, kNaN}, shares = {0.5, 0.5, 1.5, -0.5};
  EXPECT_EQ(refusal([&] { return log_loss({y, shares, 2}); }), "log_loss: a probability in row 1 is 1.5, must be from 0 to 1");
  EXPECT_EQ(refusal([&] { return roc_auc_score({y, nan, 2}); }), "roc_auc: the score of row 1 is NaN");
  EXPECT_EQ(refusal([&] { return r2_score({infinite, one}); }), "r2: y_true is inf in row 1, must be finite");
  EXPECT_EQ(refusal([&] { return mean_gamma_deviance({one, negative}); }), "mean_gamma_deviance: y_pred is -1 in row 1, must be above 0");
  EXPECT_EQ(refusal([&] { return mean_poisson_deviance({negative, one}); }), "mean_poisson_deviance: y_true is -1 in row 1, must be at least 0");
  EXPECT_EQ(refusal([&] { return mean_squared_log_error({negative, one}); }), "mean_squared_log_error: y_true is -1 in row 1, must be above -1");
  EXPECT_EQ(refusal([&] { return mean_squared_error({one, one, zero}); }), "mean_squared_error: the sample weights of the 2 rows sum to 0");
  EXPECT_EQ(refusal([&] { return silhouette_score({one, 1, y}); }), "silhouette_score: there are 2 clusters of 2 rows, must be at least 2 and fewer than the rows");
  const Codes three = {0, 1, 1};
  EXPECT_EQ(refusal([&] { return davies_bouldin_score({Values{1, 2, 3, kNaN, 5, 6}, 2, three}); }),
            "davies_bouldin_score: X is not finite in row 1, column 1 (counted from 0)");
}

}  // namespace
}  // namespace kedge::engine
