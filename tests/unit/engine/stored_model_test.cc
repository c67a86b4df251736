// Stored models: what they remember, what they say of rows of any source, and what becomes of a damaged file.
#include "engine/model/stored_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/backend/loader.h"
#include "engine/core/npy.h"
#include "engine/core/process_memory.h"
#include "engine/core/rng.h"
#include "engine/core/state_archive.h"
#include "engine/pipeline.h"
#include "schemas/worker.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr int kMutations = 3000;   // of each damaged file: some seconds

Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("kedge_models_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

// A table with a number, a category and a target of three classes.
std::filesystem::path write_mixed(const std::filesystem::path& folder) {
  DatasetMeta meta{.name = "mixed", .n_rows = 60, .n_values_columns = 3, .target = "kind"};
  meta.columns = {{.name = "age", .values_column = 0},
                  {.name = "colour", .type = ColumnInfo::Type::kNominal, .categories = {"red", "green"}, .values_column = 1},
                  {.name = "kind", .type = ColumnInfo::Type::kNominal, .categories = {"a", "b", "c"}, .values_column = 2}};
  DatasetFileWriter writer(folder / "mixed.kds", meta);
  for (int i = 0; i < 60; ++i) {
    const int kind = i % 3;
    writer.values_f64()[i * 3] = kind * 10 + i % 7;
    writer.values_f64()[i * 3 + 1] = (kind + i / 30) % 2;
    writer.values_f64()[i * 3 + 2] = kind;
  }
  writer.finish();
  return folder / "mixed.kds";
}

std::vector<schema::Step> mixed_pipeline(const std::string& handle_unknown = "error", const std::string& last = "KNeighborsClassifier") {
  const Value scaler = ValueMap{{"estimator", "StandardScaler"}};
  const Value encoder = ValueMap{{"estimator", "OneHotEncoder"}, {"params", ValueMap{{"handle_unknown", handle_unknown}}}};
  return {{"ColumnTransformer",
           {{"transformers", ValueList{ValueList{"num", scaler, ValueList{"age"}}, ValueList{"cat", encoder, ValueList{"colour"}}}}}},
          {last, {}}};
}

std::filesystem::path fitted_model(const std::filesystem::path& folder, std::vector<schema::Step> pipeline) {
  const DatasetFile data(write_mixed(folder));
  const schema::JobSpec spec{.dataset = {schema::InlineRef{.csv = "secret", .target = "kind"}}, .pipeline = std::move(pipeline), .task = schema::Fit{}};
  RunFiles files{.model_file = folder / "model.kedge", .data_digest = "feed"};
  Pipeline::build(spec).run({.device = cpu()}, data, {}, &files);
  EXPECT_TRUE(files.model.has_value());
  return files.model_file;
}

std::string said(StoredModel& model, std::string_view body, std::string_view output = "predict", std::string_view type = "text/csv",
                 std::string_view accept = "text/csv") {
  const Context ctx{.device = cpu()};
  return encoded_answer(model.answer(ctx, rows_of_body(model.info(), type, body), output), accept);
}

template <class Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// A file whose state is one value, of these bytes.
void write_value_file(const std::filesystem::path& path, const std::string& bytes) {
  ModelFileWriter writer(path);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const std::string head("\1\0\0\0v\10", 6);   // the length of its name, the name, the type
  writer.state() = head + std::string(reinterpret_cast<const char*>(&size), sizeof size) + bytes;
  writer.finish({});
}

// Lists in lists. Each says that it has as many elements as there are bytes after it.
std::string nested_lists(int depth, std::uint32_t size) {
  std::string bytes;
  for (int level = 0; level < depth; ++level) {
    const std::uint32_t count = size - static_cast<std::uint32_t>(bytes.size()) - 5;
    bytes += '\6';
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  }
  bytes.resize(size);
  return bytes;
}

TEST(ModelState, TakesNoMoreMemoryThanItsBoundForAnyLists) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  constexpr std::int64_t kSize = 500'000, kFixed = std::int64_t{8} << 20;
  const Folder folder;
  for (const int depth : {1, 2, 47}) {
    write_value_file(folder.path / "value", nested_lists(depth, kSize));
    const ModelFile file(folder.path / "value");
    const Context ctx{.device = cpu()};
    StateArchive archive(ctx, file, 0);
    reset_peak_memory();
    const std::int64_t held = process_memory().held;
    Value value;
    try {
      archive.field("v", value);
      EXPECT_EQ(depth, 1);
    } catch (const Error& error) {
      EXPECT_GT(depth, 1);
      EXPECT_EQ(error.code, ErrorCode::kModelCorrupt);
    }
    EXPECT_LE(process_memory().peak - held, kMostLoadedPerByte * kSize + kFixed) << depth << " lists";
  }
}

TEST(ModelState, ReadsNestedValuesAsTheyWere) {
  const Folder folder;
  Value deep = ValueMap{{"a", ValueList{1, "x", Value(), std::vector<double>{1, 2}}}, {"", ValueMap{{"b", ValueList{}}}}};
  for (int level = 0; level < 40; ++level) deep = ValueList{deep, true, 2.5};
  Value saved = deep;
  const Context ctx{.device = cpu()};
  ModelFileWriter writer(folder.path / "value");
  StateArchive(ctx, writer, 0).field("v", saved);
  writer.finish({});
  const ModelFile file(folder.path / "value");
  StateArchive archive(ctx, file, 0);
  Value loaded;
  archive.field("v", loaded);
  archive.finish();
  EXPECT_EQ(loaded, deep);
}

TEST(StoredModel, RemembersWhatItWasFittedOn) {
  const Folder folder;
  const ModelFile file(fitted_model(folder.path, mixed_pipeline()));
  const schema::ModelInfo& info = file.info();
  EXPECT_EQ(info.pipeline, mixed_pipeline());
  EXPECT_EQ(info.columns, (std::vector<schema::ModelColumn>{{"age"}, {"colour", "category", {"red", "green"}}}));
  EXPECT_EQ(info.classes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(info.outputs, (std::vector<std::string>{"predict", "predict_proba"}));
  EXPECT_EQ(info.target, "kind");
  EXPECT_EQ(info.dataDigest, "feed");
  EXPECT_EQ(std::get<schema::InlineRef>(info.dataset.source).csv, "");   // the data are not given away
}

TEST(StoredModel, ThatIsSmallComesWithoutAFileIfTheCallerKeepsIt) {
  const Folder folder;
  std::ifstream written(fitted_model(folder.path, mixed_pipeline()), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(written), {}};
  const DatasetFile data(folder.path / "mixed.kds");
  const schema::JobSpec spec{
      .dataset = {schema::InlineRef{.csv = "secret", .target = "kind"}}, .pipeline = mixed_pipeline(), .task = schema::Fit{}};
  for (const std::size_t keep : {whole.size(), whole.size() - 1}) {
    const bool is_kept = keep == whole.size();
    RunFiles files{.model_file = folder.path / (is_kept ? "kept" : "written"), .data_digest = "feed", .keep = keep};
    Pipeline::build(spec).run({.device = cpu()}, data, {}, &files);
    EXPECT_TRUE(files.model.has_value());
    EXPECT_EQ(std::filesystem::exists(files.model_file), !is_kept);
    EXPECT_EQ(files.model_bytes, is_kept ? whole : "");
    if (is_kept) continue;
    EXPECT_EQ(std::filesystem::file_size(files.model_file), whole.size());
  }
}

TEST(StoredModel, MatchesColumnsByNameInAnyOrder) {
  const Folder folder;
  const auto model = StoredModel::load({.device = cpu()}, fitted_model(folder.path, mixed_pipeline()));
  EXPECT_EQ(said(*model, "colour,extra,age\nred,x,0\ngreen,y,12\n"), "prediction\na\nb\n");
  const std::string rows = R"({"rows": [{"colour": "red", "age": 0}, {"age": 12, "colour": "green"}]})";
  EXPECT_EQ(said(*model, rows, "predict", "application/json", "application/json"), "{\"values\":[\"a\",\"b\"]}\n");
  const std::string lists = R"({"columns": ["age", "colour"], "rows": [[0, "red"], [12, "green"]]})";
  EXPECT_EQ(said(*model, lists, "predict", "application/json", "application/json"), "{\"values\":[\"a\",\"b\"]}\n");
}

TEST(StoredModel, NamesTheColumnThatIsMissing) {
  const Folder folder;
  const auto model = StoredModel::load({.device = cpu()}, fitted_model(folder.path, mixed_pipeline()));
  const Error error = error_of([&] { said(*model, "color,age\nred,1\n"); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.message, "the rows have no column 'colour', which the model reads; the nearest name is 'color'");
  EXPECT_EQ(error_of([&] { said(*model, "age,colour\nold,red\n"); }).message, "column 'age', row 0 (counted from 0) is 'old', must be a number");
}

TEST(StoredModel, TreatsAnUnknownCategoryAsHandleUnknownSays) {
  const Folder folder;
  const auto strict = StoredModel::load({.device = cpu()}, fitted_model(folder.path, mixed_pipeline("error")));
  const Error error = error_of([&] { said(*strict, "age,colour\n1,blue\n"); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_NE(error.message.find("blue"), std::string::npos) << error.message;
  const auto lenient = StoredModel::load({.device = cpu()}, fitted_model(folder.path, mixed_pipeline("ignore")));
  EXPECT_EQ(said(*lenient, "age,colour\n1,blue\n"), "prediction\na\n");
}

TEST(StoredModel, RefusesAnOutputThatItDoesNotHave) {
  const Folder folder;
  const auto model = StoredModel::load({.device = cpu()}, fitted_model(folder.path, mixed_pipeline()));
  const Error error = error_of([&] { said(*model, "age,colour\n1,red\n", "decision_function"); });
  EXPECT_EQ(error.message, "output is 'decision_function', this model has predict, predict_proba");
}

TEST(StoredModel, ReadsAndWritesNpy) {
  const Folder folder;
  std::vector<schema::Step> pipeline{{"OrdinalEncoder", {}}, {"GaussianNB", {}}};
  const auto model = StoredModel::load({.device = cpu()}, fitted_model(folder.path, std::move(pipeline)));
  const std::int64_t shape[] = {2, 2};
  std::string body = npy_header("<f8", shape);
  const double cells[] = {0, 0, 12, 1};   // by position; the categories are named 'red' and 'green', so 0 and 1 are unknown
  body.append(reinterpret_cast<const char*>(cells), sizeof cells);
  EXPECT_EQ(error_of([&] { said(*model, body, "predict", "application/x-npy"); }).code, ErrorCode::kBadData);
  const std::string proba = said(*model, "age,colour\n0,red\n12,green\n", "predict_proba", "text/csv", "application/x-npy");
  const NpyArray array = read_npy(proba);
  ASSERT_EQ(array.rows, 2);
  ASSERT_EQ(array.cols, 3);
  EXPECT_NEAR(array.values[0] + array.values[1] + array.values[2], 1, 1e-12);
}

TEST(StoredModel, NamesTheColumnsOfAnArrayInALineInFront) {
  const ModelAnswer wide{.n_rows = 1,
                         .n_cols = 2,
                         .is_vector = false,
                         .is_float32 = true,
                         .numbers = {0.5, 1},
                         .columns = {"a,\n\"b\"", "c"}};
  const std::string answer = encoded_answer(wide, kNamedNpy);
  const std::size_t end = answer.find('\n');
  EXPECT_EQ(answer.substr(0, end), R"(["a,\n\"b\"","c"])");
  EXPECT_EQ(answer.substr(end + 1), encoded_answer(wide, "application/x-npy"));
  const ModelAnswer texts{.n_rows = 2, .texts = {"red", "green"}};
  EXPECT_EQ(encoded_answer(texts, kNamedNpy), "[]\n" + encoded_answer(texts, "application/x-npy"));
}

// --- damage ---

using Bytes = std::vector<char>;

Bytes read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// At an address that ModelFile takes.
struct Aligned {
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
  std::span<std::byte> bytes;
  explicit Aligned(const Bytes& from)
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, padded_size(std::max<std::size_t>(from.size(), 1)))), &std::free),
        bytes(memory.get(), from.size()) {
    std::ranges::copy(std::as_bytes(std::span(from)), bytes.begin());
  }
};

// Loads the bytes and predicts with the model. The outcome is always an Error or an answer.
void load_and_ask(std::span<std::byte> bytes) {
  const Context ctx{.device = cpu()};
  try {
    const auto model = StoredModel::load(ctx, ModelFile(bytes));
    for (const std::string& output : model->info().outputs) {
      ModelRows rows{.n_rows = 2};
      for (const schema::ModelColumn& column : model->info().columns)
        rows.features.push_back({column.name, column.categories, column.kind == "category"});
      rows.values.assign(2 * rows.features.size(), 0.5);
      model->answer(ctx, rows, output);
    }
  } catch (const Error& error) {
    EXPECT_NE(error.code, ErrorCode::kInternal) << error.message;
  }
}

TEST(DamagedModel, OfAnyLengthIsRefused) {
  const Folder folder;
  const Bytes whole = read_all(fitted_model(folder.path, mixed_pipeline()));
  for (std::size_t size = 0; size < whole.size(); size += size < 256 ? 1 : 37) {
    const Aligned cut(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_EQ(error_of([&] { ModelFile{std::span<const std::byte>(cut.bytes)}; }).code, ErrorCode::kModelCorrupt) << size << " bytes";
  }
}

TEST(DamagedModel, WithAnyBitTurnedOverIsRefused) {
  const Folder folder;
  Bytes bytes = read_all(fitted_model(folder.path, mixed_pipeline()));
  for (std::size_t at = 0; at < bytes.size(); at += at < 128 ? 1 : 13) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    const Aligned damaged(bytes);
    EXPECT_EQ(error_of([&] { ModelFile{std::span<const std::byte>(damaged.bytes)}; }).code, ErrorCode::kModelCorrupt) << "byte " << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
  }
}

class SealedDamage : public ::testing::TestWithParam<std::string> {};

// With a checksum that fits, as an attacker would make it: only the checks of each part are left.
TEST_P(SealedDamage, NeverCrashes) {
  const Folder folder;
  const Bytes whole = read_all(fitted_model(folder.path, mixed_pipeline("ignore", GetParam())));
  PhiloxStream random(11, 0);
  for (int i = 0; i < kMutations; ++i) {
    Aligned damaged(whole);
    for (std::uint32_t n = 1 + random.below(3); n > 0; --n) {
      const std::uint32_t at = random.below(static_cast<std::uint32_t>(whole.size()));
      const std::uint32_t how = random.below(4);
      auto& byte = damaged.bytes[at];
      byte = how == 0 ? std::byte{0} : how == 1 ? std::byte{0xff} : how == 2 ? byte ^ std::byte(1 << random.below(8)) : std::byte(random.below(256));
    }
    seal_model(damaged.bytes);
    load_and_ask(damaged.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(LastSteps, SealedDamage,
                         ::testing::Values("KNeighborsClassifier", "RandomForestClassifier", "LogisticRegression", "LinearDiscriminantAnalysis",
                                           "RadiusNeighborsClassifier", "KMeans", "DummyClassifier"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kedge::engine
