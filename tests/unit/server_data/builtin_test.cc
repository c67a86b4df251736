// The built-in data sets equal those of scikit-learn, and MNIST's published label counts.
#include "server/data/builtin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/data/dataset_cache.h"
#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;

// Sums of at most 20,000 decimals in another order than numpy's.
constexpr double kSumTolerance = 1e-12;

Parsed load(const std::string& name) {
  const TemporaryDirectory directory;
  write_builtin(name, directory.path() / "x.kds");
  return read_file(directory.path() / "x.kds");
}

struct Reference {   // see builtin_reference.py
  const char* name;
  std::int64_t rows, features;
  double sum, weighted_sum, weighted_target;
};
void PrintTo(const Reference& r, std::ostream* out) { *out << r.name; }

class Builtin : public testing::TestWithParam<Reference> {};

TEST_P(Builtin, EqualsScikitLearns) {
  const Reference& r = GetParam();
  const Parsed p = load(r.name);
  ASSERT_EQ(p.meta.n_rows, r.rows);
  ASSERT_EQ(p.meta.n_values_columns, r.features + 1);
  double sum = 0, weighted = 0, target = 0;
  for (std::int64_t i = 0; i < r.rows; ++i) {
    for (std::int64_t j = 0; j < r.features; ++j) sum += p.at(i, j), weighted += p.at(i, j) * static_cast<double>((i + 1) * (j + 1));
    target += p.at(i, r.features) * static_cast<double>(i + 1);
  }
  EXPECT_NEAR(sum, r.sum, kSumTolerance * r.sum);
  EXPECT_NEAR(weighted, r.weighted_sum, kSumTolerance * r.weighted_sum);
  EXPECT_EQ(target, r.weighted_target);
}

INSTANTIATE_TEST_SUITE_P(Sets, Builtin,
                         testing::Values(Reference{"digits", 1797, 64, 561718.0, 16337198609.0, 7272861.0},
                                         Reference{"iris", 150, 4, 2078.7, 367026.19999999995, 16325.0},
                                         Reference{"wine", 178, 13, 159975.295999, 142224599.59428, 21577.0},
                                         Reference{"breast_cancer", 569, 30, 1056474.4596356, 4378439379.394156, 114561.0},
                                         Reference{"diabetes", 442, 10, 276404.2336, 343546088.6013, 15154516.0}),
                         [](const auto& info) { return info.param.name; });

TEST(BuiltinTargets, CarryTheNamesOfTheirClasses) {
  const auto classes = [](const char* name) { return load(name).meta.columns.back().categories; };
  EXPECT_THAT(classes("iris"), ElementsAre("setosa", "versicolor", "virginica"));
  EXPECT_THAT(classes("wine"), ElementsAre("class_0", "class_1", "class_2"));
  EXPECT_THAT(classes("breast_cancer"), ElementsAre("malignant", "benign"));
  EXPECT_EQ(classes("digits").size(), 10u);
  EXPECT_EQ(load("diabetes").meta.columns.back().type, engine::ColumnInfo::Type::kNumeric);
  EXPECT_EQ(load("iris").meta.target, "target");
}

TEST(BuiltinMnist, HasThePublishedShapeAndLabelCounts) {
  const Parsed p = load("mnist_10k");
  ASSERT_EQ(p.meta.n_rows, 10'000);
  ASSERT_EQ(p.meta.n_values_columns, 785);
  EXPECT_TRUE(p.meta.is_float32);
  EXPECT_EQ(p.meta.columns[0].name, "pixel1");
  EXPECT_EQ(p.meta.columns[783].name, "pixel784");
  EXPECT_EQ(p.meta.target, "class");
  std::vector<int> counts(10);
  double pixels = 0;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    ++counts[static_cast<std::size_t>(p.at(i, 784))];
    for (std::int64_t j = 0; j < 784; ++j) pixels += p.at(i, j);
  }
  EXPECT_THAT(counts, ElementsAre(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009));
  EXPECT_EQ(pixels, 264923200);   // summed from the IDX file with Python
}

TEST(BuiltinNames, AreAllLoadable) {
  for (const std::string& name : DatasetCache::builtin_names()) EXPECT_GT(load(name).meta.n_rows, 0) << name;
}

TEST(BuiltinNames, SuggestsTheNearest) {
  try {
    builtin_fingerprint("digit");
    FAIL() << "was accepted";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kDatasetNotFound);
    EXPECT_EQ(error.message, "there is no built-in data set 'digit'; did you mean 'digits'?");
  }
}

}  // namespace
}  // namespace kedge::server
