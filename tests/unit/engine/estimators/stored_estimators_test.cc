// Every row of the catalogue in a model's file: what is loaded says the same, on every device, with any parameters.
#include <gtest/gtest.h>

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "catalogue_rows.h"
#include "engine/core/state_archive.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using testing::all_rows;
using testing::Data;
using testing::make;
using testing::Row;
using testing::row_name;
using testing::said_of;

// A model's file that is removed at the end of the test.
struct ModelPath {
  std::filesystem::path path;
  explicit ModelPath(const std::string& name)
      : path(std::filesystem::temp_directory_path() / (name + "_" + std::to_string(::getpid()) + ".kedge")) {}
  ~ModelPath() { std::filesystem::remove(path); }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

template <class T>
void save(const Context& ctx, Estimator<T>& estimator, const Data& data, const ModelPath& to) {
  ModelFileWriter writer(to.path);
  StateArchive archive(ctx, writer, static_cast<std::int32_t>(data.classes.size()));
  const StateArchive::Scope scope(archive, "estimator", data.n_cols);
  estimator.state(archive);
  writer.finish({});
}

template <class T>
void load(const Context& ctx, Estimator<T>& estimator, const Data& data, const ModelPath& from) {
  const ModelFile file(from.path);
  StateArchive archive(ctx, file, static_cast<std::int32_t>(data.classes.size()));
  const StateArchive::Scope scope(archive, "estimator", data.n_cols);
  estimator.state(archive);
  archive.finish();
}

template <class T>
void expect_stored(const Row& row) {
  const Data data = testing::make_data(40, 6, 3);
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data, row.estimator);
  const auto fitted = make<T>(row.estimator), same = make<T>(row.estimator);
  fitted->fit(ctx, loaded.all(), loaded.target());
  const ModelPath file("kedge_" + row.estimator + row.device + (row.is_double ? "d" : "f"));
  save(ctx, *fitted, data, file);
  load(ctx, *same, data, file);
  EXPECT_EQ(said_of<T>(ctx, *same, loaded.all()), said_of<T>(ctx, *fitted, loaded.all()));
  EXPECT_EQ(schema::to_string(same->attributes()), schema::to_string(fitted->attributes()));
  for (const std::string& name : testing::device_names()) {   // the tensors do not know where they were made
    const Context other{.device = testing::device_named(name)};
    const auto there = make<T>(row.estimator);
    load(other, *there, data, file);
    const ModelPath again("kedge_again_" + row.estimator + row.device + name + (row.is_double ? "d" : "f"));
    save(other, *there, data, again);
    EXPECT_EQ(again.bytes(), file.bytes()) << "loaded on " << name;
  }
}

class StoredEstimator : public ::testing::TestWithParam<Row> {};

TEST_P(StoredEstimator, IsTheSameOnEveryDevice) {
  if (GetParam().is_double) expect_stored<double>(GetParam());
  else expect_stored<float>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rows, StoredEstimator, ::testing::ValuesIn(all_rows()), row_name);

// Some of what a parameter may be.
std::vector<schema::Value> values_of(const schema::ParamInfo& param) {
  using Type = schema::ParamForm::Type;
  std::vector<schema::Value> values;
  for (const schema::ParamForm& form : param.forms) {
    const double least = form.minimum.value_or(0) + (form.exclusiveMinimum ? 1 : 0);
    if (form.type == Type::kNull) values.emplace_back();
    if (form.type == Type::kBoolean) values.emplace_back(false), values.emplace_back(true);
    if (form.type == Type::kString) values.insert(values.end(), form.choices.begin(), form.choices.end());
    if (form.type == Type::kInteger)
      for (const int more : {0, 2}) values.emplace_back(static_cast<std::int64_t>(least) + more);
    if (form.type == Type::kNumber) values.emplace_back(form.minimum.value_or(0) + 0.25);
  }
  return values;
}

// False where the estimator refuses these parameters, or these data with them.
template <class T>
bool is_stored_with(const Context& ctx, const std::string& estimator, const schema::ValueMap& params,
                    const Data& data) {
  const testing::Loaded<T> loaded(ctx.device, data, estimator);
  std::unique_ptr<Estimator<T>> fitted;
  std::string said;
  try {
    fitted = make<T>(estimator, params);
    fitted->fit(ctx, loaded.all(), loaded.target());
    said = said_of<T>(ctx, *fitted, loaded.all());
  } catch (const schema::Error& error) {
    EXPECT_NE(error.code, ErrorCode::kInternal) << error.message;
    return false;
  }
  const ModelPath file("kedge_" + estimator + "_params");
  save(ctx, *fitted, data, file);
  const auto same = make<T>(estimator, params);
  load(ctx, *same, data, file);
  EXPECT_EQ(said_of<T>(ctx, *same, loaded.all()), said);
  return true;
}

TEST(Catalogue, StoresEveryValueOfAParameter) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = testing::make_data(40, 6, 3);
  for (const CatalogueEntry& entry : catalogue()) {
    int stored = 0;
    for (const schema::ParamInfo& param : entry.info.params)
      for (const schema::Value& value : values_of(param)) {
        SCOPED_TRACE(fmt::format("{} {}={}", entry.info.name, param.name, schema::to_string(value)));
        schema::ValueMap params = testing::small_params(entry.info.name);
        std::erase_if(params, [&](const auto& known) { return known.first == param.name; });
        params.emplace_back(param.name, value);
        stored += is_stored_with<double>(ctx, entry.info.name, params, data) +
                  is_stored_with<float>(ctx, entry.info.name, params, data);
      }
    EXPECT_GT(stored, 0) << entry.info.name;
  }
}

// A network of the codes in one column.
schema::ValueMap layers_of_codes(int column) {
  const schema::Value table = schema::ValueMap{
      {"embedding", schema::ValueMap{{"columns", schema::ValueList{column}}, {"input_dim", 5}, {"output_dim", 2}}}};
  return {{"layers", schema::ValueList{table, "dense(4)", "batch_norm", "relu"}}, {"max_iter", 2}, {"random_state", 1}};
}

TEST(Catalogue, StoresNetworksOfLayers) {
  Data data = testing::make_data(40, 6, 3);
  for (std::size_t e = 5; e < data.X.size(); e += 6) data.X[e] = std::floor(data.X[e]);
  for (const std::string& device : testing::device_names()) {
    const Context ctx{.device = testing::device_named(device)};
    for (const char* estimator : {"MLPClassifier", "MLPRegressor"}) {
      EXPECT_TRUE(is_stored_with<double>(ctx, estimator, layers_of_codes(5), data)) << estimator << ", " << device;
      EXPECT_TRUE(is_stored_with<float>(ctx, estimator, layers_of_codes(5), data)) << estimator << ", " << device;
    }
  }
}

TEST(Catalogue, RefusesAStoredEmbeddingOfAColumnThatThereIsNot) {
  const Context ctx{.device = testing::device_named("cpu")};
  Data data = testing::make_data(40, 6, 3);
  for (std::size_t e = 5; e < data.X.size(); e += 6) data.X[e] = std::floor(data.X[e]);
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto fitted = make<double>("MLPClassifier", layers_of_codes(5));
  fitted->fit(ctx, loaded.all(), loaded.target());
  const ModelPath file("kedge_embedding");
  save(ctx, *fitted, data, file);
  try {
    load(ctx, *make<double>("MLPClassifier", layers_of_codes(6)), data, file);
    FAIL() << "column 6 of 6 columns was taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kModelCorrupt);
    EXPECT_NE(error.message.find("has an embedding of a column that the model does not have"), std::string::npos)
        << error.message;
  }
}

}   // namespace
}   // namespace kedge::engine
