// Neighbours among the rows of other groups: what a search among those rows alone finds, to the bit.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/backend/cpu/wide/byte_products.h"
#include "engine/backend/loader.h"
#include "schemas/error.h"
#include "tests/unit/backend/nearest_answer.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kCols = 32;

template <class T>
class NearestOfOthers : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_byte_products()) GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  }

  std::vector<T> normal(std::int64_t rows, std::uint64_t stream, double scale, double offset) {
    Matrix<T> x(cpu_->memory(), rows, kCols);
    cpu_->ops<T>().rows->fill_normal(7, stream, x.view());
    std::vector<T> host = x.to_host();
    for (T& v : host) v = static_cast<T>(static_cast<double>(v) * scale + offset);
    return host;
  }
  std::vector<T> images(std::int64_t rows, std::uint64_t stream) {
    std::vector<T> x = normal(rows, stream, 60, 128);
    for (T& v : x) v = std::floor(std::clamp(v, T{0}, T{255})) / T{255};
    return x;
  }
  // As of pictures that are not scaled; few levels, so that many distances are equal.
  std::vector<T> whole(std::int64_t rows, std::uint64_t stream, T low, T levels) {
    std::vector<T> x = normal(rows, stream, static_cast<double>(levels) / 4, static_cast<double>(levels) / 2);
    for (T& v : x) v = std::floor(std::clamp(v, T{0}, levels)) + low;
    return x;
  }
  // Row i is in group i * i mod count: unequal, and not side by side.
  static std::vector<std::int32_t> mixed(std::size_t rows, std::int32_t count) {
    std::vector<std::int32_t> groups;
    for (std::size_t i = 0; i < rows; ++i) groups.push_back(static_cast<std::int32_t>(i * i % static_cast<std::size_t>(count)));
    return groups;
  }

  std::optional<NearestAnswer<T>> together(
      const std::vector<T>& rows, const std::vector<std::int32_t>& groups, int k, const std::function<void()>& pause = [] {}) {
    const auto n = static_cast<std::int64_t>(groups.size()), d = static_cast<std::int64_t>(rows.size()) / n;
    const Matrix<T> X(cpu_->memory(), n, d, rows);
    Matrix<T> squared(cpu_->memory(), n, k);
    Matrix<std::int32_t> indices(cpu_->memory(), n, k);
    if (!cpu_->ops<T>().neighbours->nearest_of_others(X.view(), groups, k, pause, indices.view(), squared.view()))
      return std::nullopt;
    return NearestAnswer<T>{indices.to_host(), squared.to_host()};
  }

  NearestAnswer<T> one_by_one(const std::vector<T>& rows, const std::vector<std::int32_t>& groups, int k) {
    const auto width = static_cast<std::size_t>(k);
    NearestAnswer<T> answer{std::vector<std::int32_t>(groups.size() * width), std::vector<T>(groups.size() * width)};
    for (std::int32_t group = 0; group <= *std::ranges::max_element(groups); ++group) {
      std::vector<std::int32_t> own, others;
      std::vector<T> queries, points;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const bool is_own = groups[i] == group;
        (is_own ? own : others).push_back(static_cast<std::int32_t>(i));
        auto& to = is_own ? queries : points;
        to.insert(to.end(), rows.begin() + static_cast<std::ptrdiff_t>(i) * kCols,
                  rows.begin() + static_cast<std::ptrdiff_t>(i + 1) * kCols);
      }
      const auto m = static_cast<std::int64_t>(own.size());
      if (m == 0) continue;
      const Matrix<T> q(cpu_->memory(), m, kCols, queries),
          p(cpu_->memory(), static_cast<std::int64_t>(others.size()), kCols, points);
      Matrix<T> squared(cpu_->memory(), m, k);
      Matrix<std::int32_t> indices(cpu_->memory(), m, k);
      cpu_->ops<T>().distances->index_points(p.view(), {})->nearest(q.view(), k, indices.view(), squared.view());
      const auto found = indices.to_host();
      const auto distances = squared.to_host();
      for (std::size_t i = 0; i < own.size(); ++i)
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t at = static_cast<std::size_t>(own[i]) * width + j;
          answer.indices[at] = others[static_cast<std::size_t>(found[i * width + j])],
          answer.squared[at] = distances[i * width + j];
        }
    }
    return answer;
  }

  void expect_same(const std::vector<T>& rows, const std::vector<std::int32_t>& groups, int k) {
    const auto found = together(rows, groups, k);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, one_by_one(rows, groups, k));
  }

  std::unique_ptr<Device> cpu_ = open_device("cpu");
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(NearestOfOthers, Types);

TYPED_TEST(NearestOfOthers, AreThoseOfSeparateSearches) {
  for (const std::int32_t count : {2, 5, 11}) this->expect_same(this->images(1500, 1), this->mixed(1500, count), 7);
}
TYPED_TEST(NearestOfOthers, AreThoseOfSeparateSearchesInGroupsSideBySide) {
  std::vector<std::int32_t> groups(1300, 0);
  std::fill(groups.begin() + 700, groups.end(), 1), std::fill(groups.begin() + 701, groups.begin() + 1100, 2);
  this->expect_same(this->images(1300, 1), groups, 49);
}
TYPED_TEST(NearestOfOthers, AreExactForRowsThatBytesRound) {
  this->expect_same(this->normal(900, 2, 1, 0), this->mixed(900, 3), 5);
}
TYPED_TEST(NearestOfOthers, AreThoseOfSeparateSearchesAmongWholeNumbers) {
  for (const TypeParam levels : {4, 16, 255, 256})
    for (const TypeParam low : {0, -100, 1 << 20}) this->expect_same(this->whole(900, 4, low, levels), this->mixed(900, 3), 40);
}
TYPED_TEST(NearestOfOthers, TakeTheLowestIndicesAmongEqualRows) {
  const auto few = this->images(20, 2);
  std::vector<TypeParam> rows;
  for (int copy = 0; copy < 50; ++copy) rows.insert(rows.end(), few.begin(), few.end());
  this->expect_same(rows, this->mixed(1000, 7), 120);
}
TYPED_TEST(NearestOfOthers, MayBeAllOfThem) {
  std::vector<std::int32_t> groups(600, 0);
  std::fill(groups.begin() + 350, groups.end(), 1), std::fill(groups.begin() + 500, groups.end(), 2);
  for (const int k : {249, 250}) this->expect_same(this->images(600, 1), groups, k);
}
TYPED_TEST(NearestOfOthers, AreAllOtherRowsForGroupsOfOneRow) {
  std::vector<std::int32_t> groups(550);
  std::iota(groups.begin(), groups.end(), 0);
  this->expect_same(this->images(550, 3), groups, 9);
}
// The first rows are separated by bytes; those of the cluster, which the others make a single level, are not.
TYPED_TEST(NearestOfOthers, AreExactWhereBytesDoNotSeparate) {
  const auto few = this->images(81, 2);
  std::vector<TypeParam> rows;
  for (int copy = 0; copy < 9; ++copy) rows.insert(rows.end(), few.begin(), few.end());
  const auto cluster = this->normal(1500, 3, 1e-4, 0.5);
  rows.insert(rows.end(), cluster.begin(), cluster.end());
  this->expect_same(rows, this->mixed(2229, 5), 1);
}
TYPED_TEST(NearestOfOthers, DoNotDependOnTheNumberOfThreads) {
  const auto rows = this->images(1500, 1);
  const auto groups = this->mixed(1500, 5);
  const auto expected = this->together(rows, groups, 20);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(this->together(rows, groups, 20), expected) << threads;
  }
  omp_set_num_threads(before);
}
TYPED_TEST(NearestOfOthers, AreLeftToTheCallerInFewColumns) {
  EXPECT_FALSE(this->together(std::vector<TypeParam>(600 * 3, TypeParam{1}), this->mixed(600, 5), 4));
}
TYPED_TEST(NearestOfOthers, AreNotMoreThanThereAre) {
  std::vector<std::int32_t> groups(600, 0);
  groups.back() = 1;
  EXPECT_THROW(this->together(this->images(600, 1), groups, 2), schema::Error);
}
TYPED_TEST(NearestOfOthers, EndWithWhatThePauseThrows) {
  EXPECT_THROW(this->together(this->images(600, 1), this->mixed(600, 5), 2, [] { throw 7; }), int);
}

}   // namespace
}   // namespace kedge::engine
