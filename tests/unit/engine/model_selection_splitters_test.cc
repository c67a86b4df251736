// Splitters against index choices of scikit-learn, and their errors.
#include "engine/model_selection/splitters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/legacy_random.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

struct DrawCase {
  std::uint32_t seed;
  std::vector<std::uint32_t> words;
  std::vector<std::vector<std::int64_t>> permutations;   // of 1, 2, 13 and 40
};
struct KFoldCase {
  std::int64_t n, k;
  std::optional<std::uint32_t> seed;
  std::vector<Split> splits;
};
struct StratifiedCase {
  std::vector<std::int32_t> y;
  std::int64_t k;
  std::optional<std::uint32_t> seed;
  std::vector<Split> splits;
};
struct TrainTestCase {
  std::vector<std::int32_t> y;
  std::string kind;
  std::optional<SplitSize> test, train;
  std::uint32_t seed;
  Split split;
};

#include "tests/unit/engine/model_selection_golden.inc"

std::int32_t classes_of(const std::vector<std::int32_t>& y) { return *std::max_element(y.begin(), y.end()) + 1; }

template <class Call>
schema::Error error_of(Call&& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(LegacyRandom, DrawsTheWordsAndPermutationsOfNumpy) {
  for (const DrawCase& c : kDraws) {
    LegacyRandom words(c.seed);
    for (std::uint32_t word : c.words) EXPECT_EQ(words.next(), word);
    for (const auto& permutation : c.permutations) {
      EXPECT_EQ(LegacyRandom(c.seed).permutation(static_cast<std::int64_t>(permutation.size())), permutation);
    }
  }
}

TEST(LegacyRandom, KeepsStepWithNumpyOverManyRefills) {
  const std::vector<std::int64_t> order = LegacyRandom(5).permutation(100000);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) sum += order[i] * static_cast<std::int64_t>(i);
  EXPECT_EQ(sum, kLongPermutationWeightedSum);
}

TEST(LegacyRandom, DrawsTheUniformNumbersAndChoicesOfNumpy) {   // numpy 2: RandomState(5).random_sample(), RandomState(7).choice
  LegacyRandom uniform(5), choice(7);
  for (const double expected : {0.22199317108973948, 0.8707323061773764, 0.20671915533942642}) EXPECT_EQ(uniform.uniform(), expected);
  const std::vector<double> p{.1, .5, .2, .0, .15, .05};
  EXPECT_EQ(choice.choice_without_replacement(p, 4), (std::vector<std::int64_t>{0, 2, 1, 5}));
  const CumulatedWeights cumulated(p);
  for (const std::int64_t expected : {1, 1, 0, 1, 1}) EXPECT_EQ(cumulated.at(choice.uniform()), expected);
}

TEST(EqualWeights, DrawWhatTheirListDraws) {   // at the borders between two positions, and one unit beside them
  for (const std::int64_t n : {1, 2, 3, 7, 10, 100, 255, 256, 257, 1000, 4099, 65536, 99991, 1000003}) {
    const std::vector<double> weights(static_cast<std::size_t>(n), 1.0 / static_cast<double>(n));
    const CumulatedWeights listed(weights);
    const EqualWeights equal(n);
    std::vector<double> sums(weights.size());
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    for (std::int64_t i = 0; i < n; i += std::max<std::int64_t>(1, n / 1009)) {
      const double border = sums[static_cast<std::size_t>(i)] / sums.back();
      for (const double draw : {border, std::nextafter(border, 0.0), std::nextafter(border, 2.0)})
        ASSERT_EQ(equal.at(draw), listed.at(draw)) << n << " weights, position " << i;
    }
  }
}

TEST(KFold, GivesTheFoldsOfScikitLearn) {
  for (const KFoldCase& c : kKFolds) EXPECT_EQ(k_fold(c.n, c.k, c.seed), c.splits) << c.n << " rows in " << c.k;
}

TEST(KFold, RefusesMoreFoldsThanRows) {
  const schema::Error error = error_of([] { k_fold(3, 4, std::nullopt); });
  EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
  EXPECT_EQ(error.where, "task.crossValidate.cv");
  EXPECT_EQ(error.message, "cv is 4, but there are only 3 rows: every fold needs one");
}

TEST(StratifiedKFold, GivesTheFoldsOfScikitLearn) {
  for (const StratifiedCase& c : kStratified) {
    std::string warning;
    EXPECT_EQ(stratified_k_fold(c.y, classes_of(c.y), c.k, c.seed, warning), c.splits) << c.k << " folds";
  }
}

TEST(StratifiedKFold, WarnsWhenAClassIsSmallerThanTheNumberOfFolds) {
  const std::vector<std::int32_t> y = {0, 0, 0, 0, 1, 1};
  std::string warning;
  stratified_k_fold(y, 2, 2, std::nullopt, warning);
  EXPECT_EQ(warning, "");
  stratified_k_fold(y, 2, 3, std::nullopt, warning);
  EXPECT_THAT(warning, testing::HasSubstr("only 2 members"));
}

TEST(StratifiedKFold, RefusesMoreFoldsThanTheLargestClass) {
  const std::vector<std::int32_t> y = {0, 1, 0, 1, 2};
  std::string warning;
  const schema::Error error = error_of([&] { stratified_k_fold(y, 3, 3, std::nullopt, warning); });
  EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
  EXPECT_EQ(error.message, "cv is 3, but no class has more than 2 members");
}

TEST(TrainTestSplit, ChoosesTheRowsOfScikitLearn) {
  for (const TrainTestCase& c : kTrainTests) {
    const auto n = static_cast<std::int64_t>(c.y.size());
    const SplitCounts counts = split_counts(n, c.test, c.train);
    const Split split = c.kind == "ordered"    ? ordered_split(counts)
                        : c.kind == "shuffled" ? shuffled_split(n, counts, c.seed)
                                               : stratified_split(c.y, classes_of(c.y), counts, c.seed);
    EXPECT_EQ(split, c.split) << c.kind << " of " << n << " rows, seed " << c.seed;
  }
}

TEST(TrainTestSplit, RefusesSizesThatTheRowsCannotGive) {
  const auto rows = [](std::int64_t n) { return SplitSize(n); };
  EXPECT_EQ(error_of([&] { split_counts(10, rows(10), std::nullopt); }).where, "task.fitScore.testSize");
  EXPECT_EQ(error_of([&] { split_counts(10, std::nullopt, rows(11)); }).where, "task.fitScore.trainSize");
  EXPECT_EQ(error_of([&] { split_counts(10, rows(6), rows(5)); }).message,
            "testSize and trainSize ask for 11 rows, the data have 10");
  EXPECT_THAT(error_of([&] { split_counts(1, SplitSize(0.5), std::nullopt); }).message, testing::HasSubstr("nothing is left"));
}

TEST(TrainTestSplit, RefusesToStratifyAClassWithOneMember) {
  const std::vector<std::int32_t> y = {0, 0, 0, 1};
  EXPECT_THAT(error_of([&] { stratified_split(y, 2, {2, 2}, 0); }).message, testing::HasSubstr("only 1 member"));
}

}  // namespace
}  // namespace kedge::engine
