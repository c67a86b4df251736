// Models of XGBoost, LightGBM, CatBoost and ONNX on an emulated GPU: the bits of the CPU, and nodes that stay there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/loader.h"
#include "engine/core/params.h"
#include "engine/model/ensemble_model.h"
#include "schemas/codec.h"
#include "tests/support/launch_log.h"

namespace kedge::engine {
namespace {

namespace fs = std::filesystem;
using schema::Value;

const fs::path kFolder = KEDGE_IMPORTED;

const Context& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  static const Context ctx{.device = *device};
  return ctx;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<StoredModel> loaded(std::string_view bytes, const Context& ctx) {
  const std::unique_ptr<void, decltype(&std::free)> aligned(
      std::aligned_alloc(kModelAlignment, padded_size(bytes.size())), &std::free);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  return StoredModel::load(ctx, ModelFile(std::span(static_cast<const std::byte*>(aligned.get()), bytes.size())));
}

// Files whose trainers said something of rows.
std::vector<std::string> stored_models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (const std::string name = entry.path().filename();
        fs::exists(kFolder / (name.substr(0, name.find('.')) + ".answers.json")) && !name.ends_with(".answers.json"))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

ModelRows rows_of(const std::string& file, const schema::ModelInfo& info) {
  const Value told = schema::value_from_json(content_of(kFolder / (file.substr(0, file.find('.')) + ".answers.json")));
  const auto& map = std::get<schema::ValueMap>(told.data);
  return rows_of_body(info, "application/json",
                      schema::value_to_json(schema::ValueMap{{"columns", *find_value(map, "columns")},
                                                             {"rows", *find_value(map, "rows")}}));
}

// Rows again and again; some lack a cell.
ModelRows repeated(const ModelRows& rows, std::int64_t n) {
  ModelRows all{.n_rows = n, .features = rows.features};
  const auto n_cols = static_cast<std::int64_t>(rows.features.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto from = rows.values.begin() + i % rows.n_rows * n_cols;
    all.values.insert(all.values.end(), from, from + n_cols);
    if (i % 11 == 5) all.values[static_cast<std::size_t>(i * n_cols + i % n_cols)] = std::nan("");
  }
  return all;
}

// What a model says of the rows, or why it does not.
std::string said(StoredModel& model, const Context& ctx, const ModelRows& rows, const std::string& output) {
  try {
    return encoded_answer(model.answer(ctx, rows, output), "application/json");
  } catch (const schema::Error& error) {
    return error.message;
  }
}

class ImportedOnGpu : public testing::TestWithParam<std::string> {};

// One row, a few, and so many that a row and a tree have a thread.
TEST_P(ImportedOnGpu, HasTheBitsOfTheCpu) {
  const std::unique_ptr<Device> device = make_cuda_device({.seed = 5});
  const Context gpu{.device = *device};
  const std::string bytes = translated(cpu(), content_of(kFolder / GetParam())).bytes;
  const auto here = loaded(bytes, cpu()), there = loaded(bytes, gpu);
  const ModelRows rows = rows_of(GetParam(), here->info());
  ASSERT_EQ(here->info().outputs, there->info().outputs);
  for (const std::string& output : here->info().outputs) {
    for (const std::int64_t n : {std::int64_t{1}, rows.n_rows, std::int64_t{2500}}) {
      const ModelRows asked = repeated(rows, n);
      ASSERT_EQ(said(*there, gpu, asked, output), said(*here, cpu(), asked, output)) << output << " " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Imported, ImportedOnGpu, testing::ValuesIn(stored_models()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// The nodes go to the device with the model; each question sends its cells and fetches the sums.
TEST(ImportedModelOnGpu, KeepsItsNodesThereBetweenQuestions) {
  const std::unique_ptr<Device> device = make_cuda_device({.seed = 5});
  auto& runtime = static_cast<CudaRuntime&>(device->memory());
  const emulated::DeviceMemory& memory = static_cast<emulated::Emulator*>(runtime.stream())->memory;
  const Context gpu{.device = *device};
  const auto model = loaded(translated(cpu(), content_of(kFolder / "lgb_regression.txt")).bytes, gpu);
  const std::int64_t n_cols = std::ssize(model->info().columns), n_rows = 5;
  ModelRows rows{.n_rows = n_rows, .values = std::vector<double>(static_cast<std::size_t>(n_rows * n_cols), 0.5)};
  for (const schema::ModelColumn& column : model->info().columns) rows.features.push_back({.name = column.name});
  for (int question = 0; question < 2; ++question) {
    const std::int64_t sent = memory.bytes_to_device, fetched = memory.bytes_to_host;
    test::LaunchLog log(runtime);
    model->answer(gpu, rows, "predict");
    EXPECT_EQ(memory.bytes_to_device - sent, 8 * n_rows * n_cols);
    EXPECT_EQ(memory.bytes_to_host - fetched, 8 * n_rows);
    EXPECT_TRUE(log.has("sum_row_walk"));
  }
}

}   // namespace
}   // namespace kedge::engine
