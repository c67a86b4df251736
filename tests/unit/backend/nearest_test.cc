// Nearest neighbours on the CPU: always the exact answer, also where the shortlist's bound cannot separate.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/cpu/wide/byte_products.h"
#include "engine/backend/cpu/wide/byte_scan.h"
#include "engine/backend/functors.h"
#include "engine/backend/loader.h"
#include "schemas/error.h"
#include "tests/unit/backend/nearest_answer.h"

namespace kedge::engine {
namespace {

// By the definition in backend.h, without any shortcut.
template <class T>
NearestAnswer<T> brute_force(const std::vector<T>& queries, const std::vector<T>& points, std::int64_t d, int k) {
  NearestAnswer<T> answer;
  for (std::size_t q = 0; q < queries.size(); q += static_cast<std::size_t>(d)) {
    std::vector<std::pair<double, std::int32_t>> all;
    for (std::size_t p = 0; p < points.size(); p += static_cast<std::size_t>(d)) {
      double lanes[kLanes] = {};
      for (std::int64_t j = 0; j < d; ++j)
        lanes[j % kLanes] += squared_difference(queries[q + static_cast<std::size_t>(j)], points[p + static_cast<std::size_t>(j)]);
      for (int width = kLanes / 2; width > 0; width /= 2)
        for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
      all.emplace_back(lanes[0], static_cast<std::int32_t>(p / static_cast<std::size_t>(d)));
    }
    std::sort(all.begin(), all.end());
    for (int i = 0; i < k; ++i) {
      answer.squared.push_back(static_cast<T>(all[static_cast<std::size_t>(i)].first));
      answer.indices.push_back(all[static_cast<std::size_t>(i)].second);
    }
  }
  return answer;
}

template <class T>
class NearestTest : public testing::Test {
 protected:
  std::unique_ptr<Device> cpu = open_device("cpu");

  std::vector<T> normal(std::int64_t rows, std::int64_t d, std::uint64_t stream, double scale = 1, double offset = 0) {
    Matrix<T> x(cpu->memory(), rows, d);
    cpu->ops<T>().rows->fill_normal(7, stream, x.view());
    auto host = x.to_host();
    for (T& v : host) v = static_cast<T>(static_cast<double>(v) * scale + offset);
    return host;
  }
  NearestAnswer<T> nearest(const std::vector<T>& queries, const std::vector<T>& points, std::int64_t d, int k) {
    const auto m = static_cast<std::int64_t>(queries.size()) / d, n = static_cast<std::int64_t>(points.size()) / d;
    Matrix<T> q(cpu->memory(), m, d, queries), p(cpu->memory(), n, d, points), squared(cpu->memory(), m, k);
    Matrix<std::int32_t> indices(cpu->memory(), m, k);
    cpu->ops<T>().neighbours->nearest(q.view(), p.view(), k, indices.view(), squared.view());
    return {indices.to_host(), squared.to_host()};
  }
  // Through an index, which may round rows to bytes.
  NearestAnswer<T> indexed(const std::vector<T>& queries, const std::vector<T>& points, std::int64_t d, int k) {
    const auto m = static_cast<std::int64_t>(queries.size()) / d, n = static_cast<std::int64_t>(points.size()) / d;
    const Matrix<T> q(cpu->memory(), m, d, queries), p(cpu->memory(), n, d, points);
    Matrix<T> squared(cpu->memory(), m, k);
    Matrix<std::int32_t> indices(cpu->memory(), m, k);
    cpu->ops<T>().distances->index_points(p.view(), {})->nearest(q.view(), k, indices.view(), squared.view());
    return {indices.to_host(), squared.to_host()};
  }
  std::vector<T> images(std::int64_t rows, std::int64_t d, std::uint64_t stream) {
    std::vector<T> x = normal(rows, d, stream, 60, 128);
    for (T& v : x) v = std::floor(std::clamp(v, T{0}, T{255})) / T{255};
    return x;
  }
  void expect_exact(const std::vector<T>& queries, const std::vector<T>& points, std::int64_t d, int k) {
    EXPECT_EQ(nearest(queries, points, d, k), brute_force(queries, points, d, k));
  }
  void expect_exact_by_bytes(const std::vector<T>& queries, const std::vector<T>& points, std::int64_t d, int k) {
    const auto m = static_cast<std::int64_t>(queries.size()) / d, n = static_cast<std::int64_t>(points.size()) / d;
    const Matrix<T> q(cpu->memory(), m, d, queries), p(cpu->memory(), n, d, points);
    Matrix<T> squared(cpu->memory(), m, k);
    Matrix<std::int32_t> indices(cpu->memory(), m, k);
    const auto scan = ByteScan<T>::make(p.view());
    ASSERT_TRUE(scan);
    EXPECT_TRUE(scan->nearest(q.view(), k, indices.view(), squared.view()).empty());
    EXPECT_EQ((NearestAnswer<T>{indices.to_host(), squared.to_host()}), brute_force(queries, points, d, k));
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(NearestTest, Types);

TYPED_TEST(NearestTest, IsExactOnRandomData) {
  this->expect_exact(this->normal(300, 20, 1), this->normal(3000, 20, 2), 20, 5);
}
TYPED_TEST(NearestTest, IsExactForOneQueryAndManyPoints) {
  this->expect_exact(this->normal(1, 7, 1), this->normal(20000, 7, 2), 7, 10);
}
TYPED_TEST(NearestTest, IsExactForTheLargestK) {
  this->expect_exact(this->normal(20, 4, 1), this->normal(1500, 4, 2), 4, 1024);
}
TYPED_TEST(NearestTest, IsExactFarFromTheOrigin) {
  this->expect_exact(this->normal(50, 10, 1, 1, 3e4), this->normal(2000, 10, 2, 1, 3e4), 10, 5);
}
// Two far clusters: centring does not help, and in float every score of a cluster is within the bound of every other.
TYPED_TEST(NearestTest, IsExactWhereTheBoundDoesNotSeparate) {
  auto points = this->normal(20000, 3, 2, 1e-3, 1e3);
  const auto other = this->normal(2000, 3, 3, 1e-3, -1e3);
  points.insert(points.end(), other.begin(), other.end());
  this->expect_exact(this->normal(20, 3, 1, 1e-3, 1e3), points, 3, 5);
}
TYPED_TEST(NearestTest, TakesTheLowestIndicesAmongEqualPoints) {
  const std::vector<TypeParam> points(12000, TypeParam{2});
  const auto answer = this->nearest({1, 1, 1, 1}, points, 2, 3);
  EXPECT_EQ(answer.indices, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(answer.squared, std::vector<TypeParam>(6, TypeParam{2}));
}
TYPED_TEST(NearestTest, SurvivesScoresThatOverflow) {
  const auto huge = std::numeric_limits<TypeParam>::max() / 4;
  this->expect_exact({huge, 1, 0, 0}, {huge, 0, -huge, 1, 0, 0, 1, 1}, 2, 2);
}
TYPED_TEST(NearestTest, DoesNotDependOnTheNumberOfThreads) {
  const auto queries = this->normal(100, 12, 1), points = this->normal(5000, 12, 2);
  const int before = omp_get_max_threads();
  const auto expected = this->nearest(queries, points, 12, 8);
  for (const int threads : {1, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(this->nearest(queries, points, 12, 8), expected) << threads;
  }
  omp_set_num_threads(before);
}
TYPED_TEST(NearestTest, IsExactOnImages) {
  const auto queries = this->images(200, 37, 1), points = this->images(1500, 37, 2);
  EXPECT_EQ(this->indexed(queries, points, 37, 7), brute_force(queries, points, 37, 7));
}
TYPED_TEST(NearestTest, IsExactForQueriesBeyondThePoints) {
  auto queries = this->images(200, 32, 1);
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i] = queries[i] * 3 - TypeParam(i % 5 == 0);
  const auto points = this->images(900, 32, 2);
  EXPECT_EQ(this->indexed(queries, points, 32, 3), brute_force(queries, points, 32, 3));
}
TYPED_TEST(NearestTest, TakesTheLowestIndicesAmongEqualImages) {
  const auto few = this->images(20, 32, 2);
  std::vector<TypeParam> points;
  for (int copy = 0; copy < 50; ++copy) points.insert(points.end(), few.begin(), few.end());
  EXPECT_EQ(this->indexed(few, points, 32, 120), brute_force(few, points, 32, 120));
}
// The first queries are separated by bytes; those within the cluster, which a point far away makes a single level, are
// not.
TYPED_TEST(NearestTest, IsExactWhereBytesDoNotSeparate) {
  auto points = this->images(700, 32, 2), queries = this->images(100, 32, 1);
  const auto cluster = this->normal(3000, 32, 3, 1e-4, 0.5), within = this->normal(20, 32, 4, 1e-4, 0.5);
  points.insert(points.end(), cluster.begin(), cluster.end()), queries.insert(queries.end(), within.begin(), within.end());
  EXPECT_EQ(this->indexed(queries, points, 32, 4), brute_force(queries, points, 32, 4));
}
// Rounding and ruling out, without the choice between bytes and products that an index makes.
TYPED_TEST(NearestTest, RulesOutByBytesOnlyWhatIsFarther) {
  if (!has_byte_products()) GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  this->expect_exact_by_bytes(this->normal(130, 30, 1), this->normal(2000, 30, 2), 30, 5);
}
// Bytes hide nothing of whole levels: the least list that will do has just the k nearest and what is equally far.
TYPED_TEST(NearestTest, RanksManyEqualImagesByTheirIndicesAmongBytes) {
  if (!has_byte_products()) GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  auto queries = this->images(64, 32, 1), points = this->images(400, 32, 2);
  for (auto* levels : {&queries, &points})
    for (TypeParam& v : *levels) v = std::rint(v * 255);
  const auto copy = points;
  points.insert(points.end(), copy.begin(), copy.end());
  for (const int k : {1, 49, 200}) this->expect_exact_by_bytes(queries, points, 32, k);
}
// Points are whole numbers and known to bytes; of the queries some are, some lie between or beyond.
TYPED_TEST(NearestTest, IsExactAmongWholeNumbersForAllQueries) {
  auto queries = this->normal(150, 30, 1, 3, 8), points = this->normal(1500, 30, 2, 3, 8);
  for (auto* rows : {&queries, &points})
    for (TypeParam& v : *rows) v = std::rint(v);
  for (std::size_t i = 0; i < queries.size(); i += 30 * 3) queries[i] += i % 2 ? TypeParam{0.5} : TypeParam{1000};
  for (const int k : {1, 40}) EXPECT_EQ(this->indexed(queries, points, 30, k), brute_force(queries, points, 30, k));
}
TYPED_TEST(NearestTest, RefusesMoreNeighboursThanPoints) {
  EXPECT_THROW(this->nearest({1, 2}, {1, 2}, 1, 3), schema::Error);
}

}  // namespace
}  // namespace kedge::engine
