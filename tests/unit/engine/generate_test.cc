// Generated tables beside scikit-learn's, and what is refused.
#include "engine/generate/generate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "engine/core/dataset_file.h"
#include "engine/core/stop.h"
#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

struct Golden {
  const char* name;
  const char* params;
  std::int64_t rows;
  std::vector<double> cells;   // by rows, the target last
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> cases{
#include "generate_golden.inc"
  };
  return cases;
}

class GenerateTest : public testing::Test {
 protected:
  GenerateTest() : file_(std::filesystem::temp_directory_path() / ("kedge-generate-" + std::to_string(::getpid()))) {}
  ~GenerateTest() override { std::filesystem::remove(file_); }

  static schema::GenerateRef ref(const std::string& name, const std::string& params) {
    return {name, std::get<schema::ValueMap>(schema::value_from_json(params).data)};
  }
  static std::string refusal(const std::string& name, const std::string& params) {
    try {
      check_generated(ref(name, params));
    } catch (const schema::Error& error) {
      return error.where + ": " + error.message;
    }
    return "";
  }

  const std::filesystem::path file_;
};

TEST_F(GenerateTest, MakesTheNumbersOfScikitLearn) {
  for (const Golden& wanted : golden()) {
    SCOPED_TRACE(std::string(wanted.name) + " " + wanted.params);
    write_generated(ref(wanted.name, wanted.params), file_);
    const DatasetFile data(file_);
    ASSERT_EQ(data.meta().n_rows, wanted.rows);
    const std::span<const double> cells = data.values_f64();
    ASSERT_EQ(cells.size(), wanted.cells.size());
    constexpr double kRounding = 1e-13;   // sums of products in another order, sines of another library
    for (std::size_t i = 0; i < cells.size(); ++i)
      EXPECT_NEAR(cells[i], wanted.cells[i], kRounding * (1 + std::abs(wanted.cells[i])));
  }
}

TEST_F(GenerateTest, CoversEveryGenerator) {
  for (const GeneratorInfo& info : generators())
    EXPECT_TRUE(std::ranges::any_of(golden(), [&](const Golden& g) { return g.name == info.name; })) << info.name;
}

TEST_F(GenerateTest, NamesClassesAndColumns) {
  write_generated(ref("make_blobs", R"({"n_samples": 6, "n_features": 3})"), file_);
  const DatasetFile data(file_);
  EXPECT_EQ(data.meta().target, "y");
  ASSERT_EQ(data.meta().columns.size(), 4u);
  EXPECT_EQ(data.meta().columns[2].name, "x2");
  EXPECT_EQ(data.meta().columns[3].categories, (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(GenerateTest, RefusesWhatCannotBeMade) {
  EXPECT_EQ(refusal("make_blob", "{}"),
            "dataset.generate.name: there is no generator 'make_blob'; did you mean 'make_blobs'?");
  EXPECT_EQ(refusal("make_blobs", R"({"n_sample": 5})"),
            "dataset.generate.params.n_sample: make_blobs has no parameter \"n_sample\"; did you mean \"n_samples\"?");
  EXPECT_EQ(refusal("make_blobs", R"({"n_samples": 0})"),
            "dataset.generate.params.n_samples: make_blobs: n_samples is 0, must be at least 1");
  EXPECT_EQ(refusal("make_blobs", R"({"n_samples": 9000000000000000})"),
            "dataset.generate.params.n_samples: make_blobs: n_samples is 9000000000000000, must be at most 50000000");
  EXPECT_EQ(refusal("make_regression", R"({"n_features": 100001})"),
            "dataset.generate.params.n_features: make_regression: n_features is 100001, must be at most 100000");
  EXPECT_NE(refusal("make_classification", R"({"n_features": 3})"), "");
  EXPECT_NE(refusal("make_classification", R"({"n_classes": 5})"), "");
  EXPECT_NE(refusal("make_classification", R"({"weights": [0.9, 0.9]})"), "");
  EXPECT_NE(refusal("make_classification", R"({"weights": [0.1, 0.2, 0.3, 0.4]})"), "");
  EXPECT_NE(refusal("make_blobs", R"({"center_box": [3, 1]})"), "");
  EXPECT_NE(refusal("make_moons", R"({"noise": -1})"), "");
}

// A table of one row may ask for centres and mixing matrices that no memory holds.
TEST_F(GenerateTest, RefusesWhatWouldBeHeldBesideTheTable) {
  const auto params = [](const std::string& more) { return R"({"n_samples": 40, )" + more + "}"; };
  EXPECT_NE(refusal("make_blobs", params(R"("centers": 100000, "n_features": 100000)")), "");
  EXPECT_NE(refusal("make_classification", params(R"("n_features": 100000, "n_informative": 90000)")), "");
  EXPECT_NE(
      refusal("make_classification", params(R"("n_features": 99999, "n_informative": 3000, "n_redundant": 90000)")),
      "");
  EXPECT_NE(
      refusal("make_classification",
              params(R"("n_features": 40, "n_informative": 27, "n_classes": 10000, "n_clusters_per_class": 10000)")),
      "");
  EXPECT_NE(
      refusal("make_classification",
              params(R"("n_features": 3000, "n_informative": 2900, "n_classes": 10000, "n_clusters_per_class": 5)")),
      "");
  EXPECT_EQ(
      refusal("make_blobs", R"({"n_samples": 40000000, "n_features": 20})"),
      "dataset.generate.params.n_samples: make_blobs: n_samples is 40000000, is too much: a table may have 500000000 cells");
}

TEST_F(GenerateTest, EndsWhenTheJobIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const StopScope scope(stop.get_token());
  EXPECT_THROW(write_generated(ref("make_blobs", R"({"n_samples": 100000})"), file_), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
