// Selections among scores against the standard library's.
#include "engine/backend/cpu/neighbours/score_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "engine/backend/cpu/wide/byte_products.h"

namespace kedge::engine {
namespace {

constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min(), kMost = std::numeric_limits<std::int32_t>::max() - 1;

std::vector<std::int32_t> drawn(std::size_t n, std::int32_t low, std::int32_t high) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_int_distribution<std::int32_t> draw(low, high);
  std::vector<std::int32_t> scores(n);
  for (std::int32_t& score : scores) score = draw(random);
  return scores;
}

// Of every k: the k-th score, and what is no farther.
void expect_selected(const std::vector<std::int32_t>& given) {
  const auto n = static_cast<std::int64_t>(given.size());
  std::vector<std::int32_t> sorted = given;
  std::ranges::sort(sorted);
  for (std::int64_t k = 1; k <= n; ++k) {
    const std::int32_t kth = sorted[static_cast<std::size_t>(k - 1)];
    ASSERT_EQ(kth_score(given.data(), n, k), kth) << k << " of " << n;
    std::vector<std::int32_t> scores = given, points(given.size()), near_scores, near_points;
    std::iota(points.begin(), points.end(), 7);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i] <= kth) near_scores.push_back(given[i]), near_points.push_back(points[i]);
    const auto kept = static_cast<std::size_t>(keep_near(scores.data(), points.data(), n, kth));
    scores.resize(kept), points.resize(kept);
    ASSERT_EQ(scores, near_scores);
    ASSERT_EQ(points, near_points);
  }
}

TEST(ScoreSelection, IsThatOfASortForEveryLengthAndRange) {
  if (!has_byte_products()) GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  for (const std::size_t n : {1, 2, 15, 16, 17, 63, 113, 160})
    for (const auto& [low, high] : std::vector<std::pair<std::int32_t, std::int32_t>>{{5, 5}, {-1, 1}, {0, 5000}, {kLeast, kMost}, {kMost - 3, kMost}})
      expect_selected(drawn(n, low, high));
}

}  // namespace
}  // namespace kedge::engine
