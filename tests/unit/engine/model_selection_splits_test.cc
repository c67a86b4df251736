// Every splitter against fingerprints of scikit-learn's splits, over many sizes, seeds, classes and groups; and what each refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model_selection/splitters.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::uint64_t kRefused = 0;   // scikit-learn raises an error

struct SplitCase {
  std::string splitter;
  std::int64_t n;
  std::int32_t n_labels;   // classes or groups
  std::uint32_t data_seed;
  std::int64_t n_splits, n_repeats;
  std::optional<SplitSize> test, train;
  std::optional<std::int64_t> max_train;
  std::int64_t gap;
  std::optional<std::uint32_t> seed;
  std::uint64_t fingerprint;
};

#include "tests/unit/engine/model_selection_splits_golden.inc"

std::vector<std::int32_t> labels_of(const SplitCase& c) {
  std::vector<std::int32_t> labels;
  std::uint32_t x = c.data_seed;
  for (std::int64_t i = 0; i < c.n; ++i) {
    x = (1103515245u * x + 12345u) & 0x7fffffffu;
    const std::uint32_t u = (x >> 16) % 1000;
    labels.push_back(static_cast<std::int32_t>(u * u / 1000) * c.n_labels / 1000);
  }
  return labels;
}

std::uint64_t fingerprint(const std::vector<Split>& splits) {
  std::uint64_t value = 0xcbf29ce484222325u;
  const auto add = [&value](std::uint64_t word) { value = (value ^ word) * 0x100000001b3u; };
  for (const Split& split : splits) {
    for (const auto* part : {&split.train, &split.test}) {
      add(part->size());
      for (std::int32_t row : *part) add(static_cast<std::uint64_t>(row));
    }
  }
  return value;
}

SplitCounts counts_of(const SplitCase& c) {
  return split_counts(c.n, {.test = c.test, .train = c.train, .default_test = 0.1, .task = "task.crossValidate"});
}

std::vector<Split> splits_of(const SplitCase& c) {
  const std::vector<std::int32_t> y = labels_of(c);
  const std::uint32_t seed = c.seed.value_or(0);
  std::string warning;
  if (c.splitter == "KFold") return k_fold(c.n, c.n_splits, c.seed);
  if (c.splitter == "StratifiedKFold") return stratified_k_fold(y, c.n_labels, c.n_splits, c.seed, warning);
  if (c.splitter == "GroupKFold") return group_k_fold(y, c.n_splits, c.seed);
  if (c.splitter == "RepeatedKFold") return repeated_k_fold(c.n, c.n_splits, c.n_repeats, seed);
  if (c.splitter == "RepeatedStratifiedKFold") {
    return repeated_stratified_k_fold(y, c.n_labels, c.n_splits, c.n_repeats, seed, warning);
  }
  if (c.splitter == "ShuffleSplit") return shuffle_split(c.n, c.n_splits, counts_of(c), seed);
  if (c.splitter == "StratifiedShuffleSplit") return stratified_shuffle_split(y, c.n_labels, c.n_splits, counts_of(c), seed);
  if (c.splitter == "LeaveOneOut") return leave_one_out(c.n);
  if (c.splitter == "LeaveOneGroupOut") return leave_one_group_out(y);
  const std::optional<std::int64_t> test = c.test ? std::optional(std::get<std::int64_t>(*c.test)) : std::nullopt;
  return time_series_split(c.n, {.n_splits = c.n_splits, .max_train_size = c.max_train, .test_size = test, .gap = c.gap});
}

TEST(Splitters, GiveTheSplitsOfScikitLearn) {
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    const SplitCase& c = kSplits[i];
    const std::string what = "case " + std::to_string(i) + ": " + c.splitter + " of " + std::to_string(c.n) + " rows";
    if (c.fingerprint == kRefused) {
      EXPECT_THROW(splits_of(c), schema::Error) << what;
    } else {
      EXPECT_EQ(fingerprint(splits_of(c)), c.fingerprint) << what;
    }
  }
}

struct Refusal {
  const char* name;
  std::vector<Split> (*split)();
  const char* where;
  const char* words;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

const std::vector<std::int32_t> kTwoGroups = {0, 0, 7, 7, 0};

class SplittersRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(SplittersRefuse, WithFieldAndBound) {
  try {
    GetParam().split();
    FAIL() << "nothing was thrown";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, GetParam().where);
    EXPECT_THAT(error.message, testing::HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, SplittersRefuse,
    testing::Values(
        Refusal{"OneFold", [] { return k_fold(9, 1, 0); }, "task.crossValidate.cv", "cv is 1, must be at least 2"},
        Refusal{"NoRepeat", [] { return repeated_k_fold(9, 3, 0, 0); }, "task.crossValidate.nRepeats", "nRepeats is 0, must be at least 1"},
        Refusal{"FewGroups", [] { return group_k_fold(kTwoGroups, 3, std::nullopt); }, "task.crossValidate.cv", "only 2 groups"},
        Refusal{"OneGroup", [] { return leave_one_group_out(std::vector<std::int32_t>{4, 4}); }, "select.groups", "must be at least 2"},
        Refusal{"OneRow", [] { return leave_one_out(1); }, "task.crossValidate.splitter", "1 rows, must be at least 2"},
        Refusal{"TooManyRows", [] { return leave_one_out(20000); }, "task.crossValidate.splitter", "20000 rows, must be at most 16384"},
        Refusal{"NegativeGap", [] { return time_series_split(9, {.gap = -1}); }, "task.crossValidate.gap", "gap is -1, must be at least 0"},
        Refusal{"EmptyTest", [] { return time_series_split(9, {.test_size = 0}); }, "task.crossValidate.testSize", "must be at least 1 row"},
        Refusal{"NegativeTrain", [] { return time_series_split(9, {.max_train_size = -2}); }, "task.crossValidate.maxTrainSize", "is -2"},
        Refusal{"FewRows", [] { return time_series_split(5, {.n_splits = 5}); }, "task.crossValidate.cv", "only 5 rows"},
        Refusal{"LargeGap", [] { return time_series_split(12, {.gap = 2}); }, "task.crossValidate.cv", "nothing of 12 rows"},
        Refusal{"NoSplit", [] { return shuffle_split(9, 0, {6, 3}, 0); }, "task.crossValidate.cv", "cv is 0, must be at least 1"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(SplitCountsOfCrossValidation, AreRefusedAtItsFields) {
  const auto where = [](SplitSizes sizes) {
    sizes.task = "task.crossValidate";
    try {
      split_counts(10, sizes);
    } catch (const schema::Error& error) {
      return error.where + ": " + error.message;
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(where({.test = SplitSize(1.5)}),
            "task.crossValidate.testSize: testSize is 1.5, must be a fraction between 0 and 1 or a whole number of rows");
  EXPECT_EQ(where({.train = SplitSize(std::int64_t{0})}),
            "task.crossValidate.trainSize: trainSize is 0, must be at least 1 row or a fraction between 0 and 1");
  EXPECT_EQ(where({.test = SplitSize(0.55), .train = SplitSize(0.5)}),
            "task.crossValidate.trainSize: testSize and trainSize are 1.05 together, must be at most 1");
}

}  // namespace
}  // namespace kedge::engine
