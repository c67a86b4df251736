// Stored models that several ranks ask: the file of one process, byte for byte, and its errors.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "engine/backend/loader.h"
#include "engine/comm/ranks.h"
#include "engine/job/dealt.h"
#include "engine/model/dealt_answer.h"
#include "engine/model/model_task.h"
#include "engine/pipeline.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::Step;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kRows = 20'001, kCols = 5, kFitted = 600;

struct AskedModel {
  std::string name;
  std::vector<Step> steps;
  std::vector<std::string> outputs;
  friend void PrintTo(const AskedModel& model, std::ostream* out) { *out << model.name; }
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ModelOnRanks : public testing::TestWithParam<AskedModel> {
 protected:
  // `holes`: rows whose first cell is missing.
  void write(const std::vector<std::int64_t>& holes = {}) {
    std::vector<ColumnInfo> columns;
    for (std::int64_t j = 0; j < kCols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
    columns.push_back(nominal("y", {"no", "yes", "perhaps"}));
    std::vector<double> values;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kCols; ++j)
        values.push_back(std::sin(static_cast<double>(i * (j + 1))) + static_cast<double>(i % 3));
      values.push_back(static_cast<double>(i % 3));
    }
    for (const std::int64_t row : holes)
      values[static_cast<std::size_t>(row * (kCols + 1))] = std::numeric_limits<double>::quiet_NaN();
    write_dataset(folder_.path(), std::move(columns), values, "y");
  }
  // The same columns as a sparse matrix, of which every third cell is stored.
  void write_sparse() const {
    DatasetMeta meta{.name = "small", .n_rows = kRows, .n_values_columns = kCols + 1, .target = "y"};
    for (std::int64_t j = 0; j < kCols; ++j) meta.columns.push_back(numeric("x" + std::to_string(j)));
    meta.columns.push_back(nominal("y", {"no", "yes", "perhaps"}));
    for (std::size_t j = 0; j < meta.columns.size(); ++j) meta.columns[j].values_column = static_cast<std::int64_t>(j);
    const auto is_stored = [](std::int64_t i, std::int64_t j) { return (i + j) % 3 == 0 || j == kCols; };
    meta.n_entries = 0;
    for (std::int64_t cell = 0; cell < kRows * (kCols + 1); ++cell)
      meta.n_entries += is_stored(cell / (kCols + 1), cell % (kCols + 1));
    DatasetFileWriter writer(folder_.path() / "small.kedge", meta);
    const SparseSpans<double> to = writer.sparse_f64();
    std::size_t at = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j <= kCols; ++j) {
        if (!is_stored(i, j)) continue;
        to.columns[at] = static_cast<std::int32_t>(j);
        to.values[at++] = j == kCols ? static_cast<double>(i % 3) : std::sin(static_cast<double>(i * (j + 1)));
      }
      to.offsets[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(at);
    }
    writer.finish();
  }
  void fit(const std::vector<Step>& steps) {
    const schema::JobSpec spec{
        .dataset = {schema::StoredRef{"made"}}, .select = {.rows = kFitted}, .pipeline = steps, .task = schema::Fit{}};
    RunFiles files{.model_file = folder_.path() / "model.kedge", .data_digest = "feed"};
    const std::unique_ptr<Device> device = open_device("cpu");
    Pipeline::build(spec).run({.device = *device}, DatasetFile(folder_.path() / "small.kedge"), {}, &files);
  }
  // What the job writes, and whether this rank is the one that does; or its error.
  std::string ask(const schema::Task& task, Ranks* ranks = nullptr) const {
    const std::unique_ptr<Device> device = open_device("cpu");
    const Context ctx{.device = *device};
    const int rank = ranks ? ranks->rank() : 0;
    const std::filesystem::path output = folder_.path() / ("of_rank_" + std::to_string(rank));
    std::filesystem::remove_all(output), std::filesystem::create_directory(output);
    const RanksScope scope(ranks);
    const schema::JobSpec spec{.dataset = {schema::StoredRef{"made"}}, .task = task};
    EXPECT_TRUE(job_is_dealt(spec, *device));
    const std::unique_ptr<StoredModel> model = StoredModel::load(ctx, folder_.path() / "model.kedge");
    const schema::Result result =
        run_model_task(ctx, spec, *model, DatasetFile(folder_.path() / "small.kedge"), output);
    if (result.artifacts.empty()) return std::filesystem::is_empty(output) ? "nothing" : "a file that it does not name";
    return text_of(output / result.artifacts[0].name);
  }
  std::vector<std::string> ask_on_ranks(int size, const schema::Task& task) const {
    return on_ranks(size, [&](Comm& comm) -> std::string {
      omp_set_num_threads(1 + comm.rank() % 2);   // machines may have different numbers of cores
      Ranks ranks(comm);
      std::string said;
      std::optional<schema::Error> error;
      try {
        said = ask(task, &ranks);
      } catch (const schema::Error& failure) {
        error = failure;
      }
      error = ranks.end(error);
      return error ? error->message : said;
    });
  }
  void expect_the_file_of_one_process(const schema::Task& task) const {
    const std::string alone = ask(task);
    EXPECT_GT(alone.size(), kRows);
    for (const int size : {1, 2, 3, 4, 7}) {
      const std::vector<std::string> said = ask_on_ranks(size, task);
      EXPECT_EQ(std::hash<std::string>()(said[0]), std::hash<std::string>()(alone)) << size << " ranks";
      EXPECT_THAT(std::vector(said.begin() + 1, said.end()), Each("nothing"));
    }
  }

  TemporaryFolder folder_;
};

std::vector<AskedModel> asked_models() {
  const std::vector<std::string> both{"predict", "predict_proba"};
  return {{"Neighbours", {{"KNeighborsClassifier", {}}}, both},
          {"Forest", {{"RandomForestClassifier", {{"n_estimators", std::int64_t{5}}}}}, both},
          {"Vectors", {{"StandardScaler", {}}, {"SVC", {}}}, {"predict", "decision_function"}},
          {"Network", {{"MLPClassifier", {{"max_iter", std::int64_t{3}}}}}, both},
          {"Components", {{"PCA", {{"n_components", std::int64_t{3}}}}}, {"transform"}},
          {"Polynomials", {{"PolynomialFeatures", {}}, {"LogisticRegression", {}}}, both},
          {"Clusters", {{"KMeans", {{"n_clusters", std::int64_t{4}}}}}, {"predict", "transform"}}};
}
INSTANTIATE_TEST_SUITE_P(Models, ModelOnRanks, testing::ValuesIn(asked_models()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ModelOnRanks, WritesTheFileOfOneProcess) {
  write();
  fit(GetParam().steps);
  for (const std::string& output : GetParam().outputs) {
    SCOPED_TRACE(output);
    if (output == "transform") expect_the_file_of_one_process(schema::Transform{.model = "m"});
    else expect_the_file_of_one_process(schema::Predict{.model = "m", .output = output, .format = "csv"});
  }
}

using ModelOnRanksRows = ModelOnRanks;
INSTANTIATE_TEST_SUITE_P(Of, ModelOnRanksRows,
                         testing::Values(AskedModel{"Line", {{"LogisticRegression", {}}}, {"predict"}}));

TEST_P(ModelOnRanksRows, OfASparseTableGiveTheFileOfOneProcess) {
  write_sparse();
  fit(GetParam().steps);
  expect_the_file_of_one_process(schema::Predict{.model = "m", .output = "predict_proba", .format = "csv"});
}

// Each row on one rank, and of a sparse table no other rank holds it.
TEST_P(ModelOnRanksRows, AreReadByTheirOwnRankAlone) {
  write_sparse();
  fit(GetParam().steps);
  constexpr std::int64_t kTile = 1024;
  for (const int size : {1, 2, 3, 4, 7}) {
    const std::vector<std::string> read = on_ranks(size, [&](Comm& comm) {
      Ranks ranks(comm);
      const RanksScope scope(&ranks);
      const std::unique_ptr<Device> device = open_device("cpu");
      const Context ctx{.device = *device};
      const std::unique_ptr<StoredModel> model = StoredModel::load(ctx, folder_.path() / "model.kedge");
      const DatasetFile data(folder_.path() / "small.kedge");
      const AskedRows own = own_asked_rows(kRows, kTile);
      const DatasetRows rows(model->info(), data, own.end, own.begin);
      std::int64_t next = own.begin;
      dealt_answer(ctx, *model, kRows, kTile, "predict", [&](std::int64_t first, std::int64_t count) {
        EXPECT_EQ(first, next);
        next += count;
        return rows.rows(first, count);
      });
      EXPECT_EQ(next, own.end);
      ranks.end(std::nullopt);
      return fmt::format("{}-{} ", own.begin, own.end);
    });
    std::int64_t begin = 0;
    for (const std::string& part : read) {
      EXPECT_EQ(std::stoll(part), begin) << size << " ranks";
      begin = std::stoll(part.substr(part.find('-') + 1));
    }
    EXPECT_EQ(begin, kRows);
  }
}

TEST_P(ModelOnRanksRows, OfOneTileAreTheFirstRanks) {
  for (const auto& part : on_ranks(3, [&](Comm& comm) {
         Ranks ranks(comm);
         const RanksScope scope(&ranks);
         const AskedRows own = own_asked_rows(500, 1024);
         return fmt::format("{} has {}", ranks.rank(), own.end - own.begin);
       }))
    EXPECT_THAT(part, testing::AnyOf("0 has 500", "1 has 0", "2 has 0"));
}

using ModelOnRanksErrors = ModelOnRanks;
INSTANTIATE_TEST_SUITE_P(OfOne, ModelOnRanksErrors,
                         testing::Values(AskedModel{"Line", {{"LogisticRegression", {}}}, {"predict"}}));

TEST_P(ModelOnRanksErrors, AreThoseOfOneProcessOnEveryRank) {
  write({12'345, 19'999});   // in tiles of different ranks
  fit(GetParam().steps);
  const schema::Task task = schema::Predict{.model = "m"};
  std::string alone;
  try {
    ask(task);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("NaN"));
  for (const int size : {2, 3, 4}) EXPECT_THAT(ask_on_ranks(size, task), Each(alone)) << size << " ranks";
}

TEST_P(ModelOnRanksErrors, OfTheOutputAreSaidByEveryRank) {
  write();
  fit(GetParam().steps);
  const schema::Task task = schema::Predict{.model = "m", .output = "weight"};
  EXPECT_THAT(ask_on_ranks(2, task), Each(HasSubstr("output is 'weight'")));
}

}   // namespace
}   // namespace kedge::engine
