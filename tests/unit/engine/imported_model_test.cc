// Models of XGBoost, LightGBM, CatBoost and ONNX: they say what their trainers said, and what is malformed is refused
// with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "engine/backend/loader.h"
#include "engine/core/params.h"
#include "engine/core/process_memory.h"
#include "engine/imported/imported_model.h"
#include "engine/model/ensemble_model.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;
using schema::Value;

// KEDGE_IMPORTED_FOLDER: another folder of models and what their trainers said.
const fs::path kFolder = std::getenv("KEDGE_IMPORTED_FOLDER") ? std::getenv("KEDGE_IMPORTED_FOLDER") : KEDGE_IMPORTED;
// Of each file: some seconds in all. KEDGE_MUTATIONS: another number.
const int kMutations = std::getenv("KEDGE_MUTATIONS") ? std::atoi(std::getenv("KEDGE_MUTATIONS")) : 4000;

const Context& context() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  static const Context ctx{.device = *device};
  return ctx;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<StoredModel> loaded(std::string_view bytes) {
  const std::unique_ptr<void, decltype(&std::free)> aligned(
      std::aligned_alloc(kModelAlignment, padded_size(bytes.size())), &std::free);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  return StoredModel::load(context(), ModelFile(std::span(static_cast<const std::byte*>(aligned.get()), bytes.size())));
}

Error error_of(std::string_view file) {
  try {
    translated(context(), file);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "it was taken";
  return {};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// --- what the trainers said ---

std::vector<std::string> stored_models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (const std::string name = entry.path().filename();
        fs::exists(kFolder / (name.substr(0, name.find('.')) + ".answers.json")) && !name.ends_with(".answers.json"))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void flatten(const Value& value, std::vector<double>& numbers) {
  if (const auto* list = std::get_if<schema::ValueList>(&value.data))
    for (const Value& item : *list) flatten(item, numbers);
  else if (const auto* flat = std::get_if<std::vector<double>>(&value.data))
    numbers.insert(numbers.end(), flat->begin(), flat->end());
  else if (const auto* real = std::get_if<double>(&value.data)) numbers.push_back(*real);
  else numbers.push_back(static_cast<double>(std::get<std::int64_t>(value.data)));
}

// Sums of leaves have the trainer's bits, LightGBM's within one unit in the last place. exp() is another one where the
// C library picks another implementation for the processor: one unit there, too, and a second one for what follows.
// CatBoost's exp() is its own, and rounds otherwise.
double most_apart(double said, bool is_float32, bool is_linked, bool is_catboost) {
  if (!is_linked && is_float32) return 0;
  const double units = is_catboost ? 4 : is_linked ? 2 : 1;
  const double size = std::max(std::abs(said), std::numeric_limits<double>::min());
  return units * size * (is_float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon());
}

// onnxruntime adds the leaves of many trees in another order, and multiplies matrices in float32. Its PROBIT is an
// approximation.
double most_apart_in_onnx(double said, bool is_probit) {
  return (is_probit ? 1e-5 : 1e-6) * std::max(1.0, std::abs(said));
}

std::vector<std::string> texts_of(const Value& value) {
  std::vector<std::string> texts;
  for (const Value& item : std::get<schema::ValueList>(value.data)) texts.push_back(std::get<std::string>(item.data));
  return texts;
}

class StoredAnswers : public testing::TestWithParam<std::string> {};

TEST_P(StoredAnswers, AreWhatTheTrainerSaid) {
  const std::string content = content_of(kFolder / GetParam());
  ASSERT_TRUE(is_foreign_model(content));
  const auto model = loaded(translated(context(), content).bytes);
  const std::string stem = GetParam().substr(0, GetParam().find('.'));
  const Value told = schema::value_from_json(content_of(kFolder / (stem + ".answers.json")));
  const auto& map = std::get<schema::ValueMap>(told.data);
  const std::string body = schema::value_to_json(
      schema::ValueMap{{"columns", *find_value(map, "columns")}, {"rows", *find_value(map, "rows")}});
  const ModelRows rows = rows_of_body(model->info(), "application/json", body);
  const bool is_graph = GetParam().ends_with(".onnx"), is_probit = stem == "onnx_probit",
             is_catboost = stem.starts_with("catboost_");
  for (const std::string& output : model->info().outputs) {
    const Value* const said = find_value(map, output);
    if (!said) continue;   // averaged margins, which LightGBM does not give
    const ModelAnswer answer = model->answer(context(), rows, output);
    if (!answer.texts.empty()) {
      EXPECT_EQ(answer.texts, texts_of(*said));
      continue;
    }
    std::vector<double> expected;
    flatten(*said, expected);
    ASSERT_EQ(answer.numbers.size(), expected.size()) << output;
    const std::vector<std::string>& outputs = model->info().outputs;
    const bool has_link = std::ranges::find(outputs, "decision_function") != outputs.end();
    const bool is_linked = output != "decision_function" && has_link && !answer.is_whole;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_LE(std::abs(answer.numbers[i] - expected[i]),
                is_graph ? most_apart_in_onnx(expected[i], is_probit)
                         : most_apart(expected[i], answer.is_float32, is_linked, is_catboost))
          << output << " " << i << ": " << answer.numbers[i] << ", said " << expected[i];
    // Alone and among others a row gets the same answer.
    ModelRows first{
        .n_rows = 1,
        .values = {rows.values.begin(), rows.values.begin() + static_cast<std::ptrdiff_t>(rows.features.size())},
        .features = rows.features};
    const ModelAnswer alone = model->answer(context(), first, output);
    for (std::size_t k = 0; k < alone.numbers.size(); ++k) EXPECT_EQ(alone.numbers[k], answer.numbers[k]);
  }
}

std::string name_of_model(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Imported, StoredAnswers, testing::ValuesIn(stored_models()), name_of_model);

std::vector<std::string> models_of_trainers() {
  std::vector<std::string> names = stored_models();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("xgb_") && !name.starts_with("lgb_"); });
  return names;
}

class StoredContributions : public testing::TestWithParam<std::string> {};

// XGBoost adds up in float32; LightGBM in double. contributions.json has 10 digits behind the point. LightGBM's are of
// the sum of a forest's trees; Kedge's add up to their mean, which both answer.
TEST_P(StoredContributions, AreWhatTheTrainerSaid) {
  constexpr double kForest = 4;   // trees
  const std::string stem = GetParam().substr(0, GetParam().find('.'));
  const Value all = schema::value_from_json(content_of(kFolder / "contributions.json"));
  const auto& by_file = std::get<schema::ValueMap>(all.data);
  const Value* said = find_value(by_file, stem + (stem.starts_with("xgb") ? ".ubj" : ".txt"));
  ASSERT_TRUE(said);
  const auto n_rows = static_cast<std::int64_t>(std::get<schema::ValueList>(said->data).size());
  std::vector<double> expected;
  flatten(*said, expected);
  const auto model = loaded(translated(context(), content_of(kFolder / GetParam())).bytes);
  const Value told = schema::value_from_json(content_of(kFolder / (stem + ".answers.json")));
  const auto& map = std::get<schema::ValueMap>(told.data);
  ModelRows rows = rows_of_body(model->info(), "application/json",
                                schema::value_to_json(schema::ValueMap{{"columns", *find_value(map, "columns")},
                                                                       {"rows", *find_value(map, "rows")}}));
  rows.n_rows = n_rows, rows.values.resize(static_cast<std::size_t>(n_rows) * rows.features.size());
  const ModelAnswer answer = model->answer(context(), rows, "contributions");
  ASSERT_EQ(answer.numbers.size(), expected.size());
  ASSERT_EQ(answer.columns.size(), static_cast<std::size_t>(answer.n_cols));
  if (stem.starts_with("lgb_forest"))
    for (double& value : expected) value /= kForest;
  const double kApart = stem.starts_with("xgb") ? 1e-5 : 1e-9;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(answer.numbers[i], expected[i], kApart * std::max(1.0, std::abs(expected[i]))) << i;
}

INSTANTIATE_TEST_SUITE_P(Imported, StoredContributions, testing::ValuesIn(models_of_trainers()), name_of_model);

// --- what is refused ---

std::string small_xgboost() {
  return R"({"learner":{"attributes":{},"feature_names":["x","y"],"gradient_booster":{"model":{
    "gbtree_model_param":{"num_parallel_tree":"1","num_trees":"1"},"iteration_indptr":[0,1],"tree_info":[0],"trees":[
    {"categories":[],"categories_nodes":[],"categories_segments":[],"categories_sizes":[],"default_left":[0,0,0,0,0],
    "left_children":[1,3,-1,-1,-1],"right_children":[2,4,-1,-1,-1],"split_conditions":[0.5,0.25,3E0,1E0,2E0],
    "split_indices":[0,1,0,0,0],"split_type":[0,0,0,0,0],"tree_param":{"num_nodes":"5","size_leaf_vector":"1"}}]},"name":"gbtree"},
    "learner_model_param":{"base_score":"[0E0]","num_class":"0","num_feature":"2","num_target":"1"},
    "objective":{"name":"reg:squarederror"}},"version":[3,2,0]})";
}
std::string small_lightgbm() {
  return "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\nobjective=regression\n"
         "feature_names=x y\nfeature_infos=[0:1] [0:1]\ntree_sizes=300\n\nTree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\n"
         "threshold=0.5 0.25\ndecision_type=2 2\nleft_child=1 -1\nright_child=-3 -2\nleaf_value=1 2 3\nis_linear=0\nshrinkage=1\n\n\n"
         "end of trees\n\npandas_categorical:null\n";
}

double said_of(std::string_view file, double x, double y) {
  const auto model = loaded(translated(context(), file).bytes);
  const ModelRows rows{.n_rows = 1, .values = {x, y}, .features = {{"x"}, {"y"}}};
  return model->answer(context(), rows, "predict").numbers.at(0);
}

TEST(ImportedModel, CutsBelowInXgboostAndUpToInLightgbm) {
  EXPECT_EQ(said_of(small_xgboost(), 0.5, 0), 3);
  EXPECT_EQ(said_of(small_lightgbm(), 0.5, 0), 1);
  EXPECT_EQ(said_of(small_xgboost(), 0.4, 0.25), 2);
  EXPECT_EQ(said_of(small_lightgbm(), 0.4, 0.25), 1);
}

TEST(ImportedModel, HasContributionsOnlyWhereTheFileSaysHowManyRowsANodeHad) {
  for (const std::string& file : {small_xgboost(), small_lightgbm()}) {
    const auto model = loaded(translated(context(), file).bytes);
    const ModelRows rows{.n_rows = 1, .values = {0, 0}, .features = {{"x"}, {"y"}}};
    try {
      model->answer(context(), rows, "contributions");
      ADD_FAILURE() << "it has contributions";
    } catch (const Error& error) {
      EXPECT_EQ(error.where, "output");
      EXPECT_EQ(error.message, "output is 'contributions', this model has predict");
    }
  }
  const std::string file = replaced(small_xgboost(), R"("tree_param":)", R"("sum_hessian":[8,6,2,3,3],"tree_param":)");
  const auto model = loaded(translated(context(), file).bytes);
  const ModelRows rows{.n_rows = 1, .values = {0, 0}, .features = {{"x"}, {"y"}}};
  // Against a row that goes left by x alone and one that goes right: x's part is the mean of 0 and -2, y's of -1 and 0.
  ModelRows against = rows;
  against.background =
      std::make_shared<const ModelRows>(ModelRows{.n_rows = 2, .values = {0.25, 1, 1, 0.1}, .features = rows.features});
  EXPECT_THAT(model->answer(context(), against, "contributions").numbers,
              testing::ElementsAre(testing::DoubleNear(-1, 1e-14), testing::DoubleNear(-0.5, 1e-14),
                                   testing::DoubleNear(2.5, 1e-14)));
  // Known alone, x changes 15/8 to 3/2 and y to 12/8; both are 1.
  EXPECT_THAT(model->answer(context(), rows, "contributions").numbers,
              testing::ElementsAre(testing::DoubleNear(-0.4375, 1e-14), testing::DoubleNear(-0.4375, 1e-14),
                                   testing::DoubleNear(1.875, 1e-14)));
}

// What parts missing values from all others in LightGBM.
TEST(ImportedModel, TakesAnInfiniteThreshold) {
  const std::string file =
      replaced(replaced(small_lightgbm(), "threshold=0.5", "threshold=inf"), "decision_type=2", "decision_type=8");
  EXPECT_EQ(said_of(file, 1e300, 0), 1);
  EXPECT_EQ(said_of(file, std::numeric_limits<double>::quiet_NaN(), 0), 3);
}

struct Refusal {
  std::string from, to, place;
};

TEST(ImportedModel, NamesThePlaceOfWhatIsWrongInXgboost) {
  const std::string tree = "XGBoost model.learner.gradient_booster.model.trees[0]";
  const std::vector<Refusal> refusals{
      {"[1,3,-1,-1,-1]", "[1,0,-1,-1,-1]", tree + ": node 1 has the child 0"},
      {"[1,3,-1,-1,-1]", "[1,1,-1,-1,-1]", tree + ": node 1 has two parents"},
      {"[1,3,-1,-1,-1]", "[1,2,-1,-1,-1]", tree + ": node 2 has two parents"},
      {"[1,3,-1,-1,-1]", "[1,2147483647,-1,-1,-1]", tree + ": node 1 has the child 2147483647"},
      {"[1,3,-1,-1,-1]", "[1,2147483648,-1,-1,-1]", tree + ".left_children: [1] is 2147483648"},
      {"[1,3,-1,-1,-1]", "[1,3,-1,-1]", tree + ".tree_param.num_nodes"},
      {"\"5\"", "\"2147483648\"", tree + ".tree_param.num_nodes: is 2147483648"},
      {"[0.5,0.25,", "[0.5,\"nan\",", tree + ": the threshold of node 1 is no number"},
      {"[0.5,0.25,3E0", "[0.5,0.25,\"nan\"", tree + ": the value of node 2 is not finite"},
      {"[0,1,0,0,0]", "[0,2,0,0,0]", tree + ": node 1 asks for feature 2, there are 2"},
      {"\"tree_info\":[0]", "\"tree_info\":[1]", "model.tree_info: [0] is 1"},
      {"\"num_feature\":\"2\"", "\"num_feature\":\"2147483648\"", "learner_model_param.num_feature"},
      {"\"num_class\":\"0\"", "\"num_class\":\"2147483647\"", "learner_model_param.num_class"},
      {"\"[0E0]\"", "\"[0E0;]\"", "learner_model_param.base_score"},
      {"\"name\":\"gbtree\"", "\"name\":\"gblinear\"", "gradient_booster.name is 'gblinear'"},
      {"reg:squarederror", "my:own", "objective.name is 'my:own'"},
      {"\"size_leaf_vector\":\"1\"", "\"size_leaf_vector\":\"2\"", "several values in a leaf"},
      {"\"attributes\":{}", "\"attributes\":{\"best_iteration\":\"1\"}", "best_iteration"},
  };
  for (const Refusal& refusal : refusals)
    EXPECT_THAT(error_of(replaced(small_xgboost(), refusal.from, refusal.to)).message,
                testing::HasSubstr(refusal.place));
}

TEST(ImportedModel, NamesThePlaceOfWhatIsWrongInLightgbm) {
  const std::vector<Refusal> refusals{
      {"left_child=1 -1", "left_child=0 -1", "Tree=0: node 0 has the child 0"},
      {"left_child=1 -1", "left_child=1 1", "Tree=0: node 1 has two parents"},
      {"left_child=1 -1", "left_child=1 -2147483648", "Tree=0: node 1 has the child 2147483647"},
      {"num_leaves=3", "num_leaves=2147483648", "Tree=0: num_leaves is 2147483648"},
      {"num_leaves=3", "num_leaves=1000000000", "Tree=0: leaf_value has 3 numbers"},
      {"threshold=0.5 0.25", "threshold=0.5 nan", "Tree=0: the threshold of node 1 is no number"},
      {"leaf_value=1 2 3", "leaf_value=1 2 inf", "Tree=0: the value of node 4 is not finite"},
      {"split_feature=0 1", "split_feature=0 2", "Tree=0: node 1 asks for feature 2"},
      {"decision_type=2 2", "decision_type=2 1", "Tree=0: decision_type has a cut on categories"},
      {"max_feature_idx=1", "max_feature_idx=2147483646", "header: feature_names has 2 names"},
      {"is_linear=0", "is_linear=1", "Tree=0: linear models in leaves"},
      {"version=v4", "version=v9", "header: version is 'v9'"},
      {"objective=regression", "objective=mine", "the objective is 'mine'"},
      {"end of trees", "", "'end of trees' must follow"},
      {"num_tree_per_iteration=1", "num_tree_per_iteration=2", "num_tree_per_iteration is 2"},
  };
  for (const Refusal& refusal : refusals)
    EXPECT_THAT(error_of(replaced(small_lightgbm(), refusal.from, refusal.to)).message,
                testing::HasSubstr(refusal.place));
}

std::string small_catboost() {
  return R"({"features_info":{"float_features":[{"feature_index":0,"flat_feature_index":0,"feature_id":"x","nan_value_treatment":"AsTrue"},
    {"feature_index":1,"flat_feature_index":1,"feature_id":"y"}]},"model_info":{"params":{"loss_function":{"type":"RMSE"}}},
    "oblivious_trees":[{"leaf_values":[1,2,3,4],"splits":[
    {"split_type":"FloatFeature","border":0.5,"float_feature_index":0},
    {"split_type":"FloatFeature","border":0.25,"float_feature_index":1}]}],"scale_and_bias":[2,[10]]})";
}

TEST(ImportedModel, TakesTheBitsOfCatBoostsLeaves) {
  EXPECT_EQ(said_of(small_catboost(), 0.5, 0.25), 12);
  EXPECT_EQ(said_of(small_catboost(), 0.6, 0.25), 14);
  EXPECT_EQ(said_of(small_catboost(), 0.5, 0.26), 16);
  EXPECT_EQ(said_of(small_catboost(), 0.6, 0.26), 18);
  const double missing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(said_of(small_catboost(), missing, missing), 14);   // x: as above all borders, y: below
}

TEST(ImportedModel, NamesThePlaceOfWhatIsWrongInCatBoost) {
  const std::vector<Refusal> refusals{
      {"\"leaf_values\":[1,2,3,4]", "\"leaf_values\":[1,2,3]",
       "oblivious_trees[0].leaf_values: has 3 numbers, must have 4"},
      {"\"leaf_values\":[1,2", "\"leaf_values\":[1,1e999", "CatBoost model"},
      {"\"float_feature_index\":1", "\"float_feature_index\":2", "splits[1].float_feature_index: is 2"},
      {"\"border\":0.25", "\"border\":\"nan\"", "the threshold of node 0 is no number"},
      {"FloatFeature\",\"border\":0.25", "OnlineCtr\",\"border\":0.25", "is 'OnlineCtr', taken is FloatFeature"},
      {"\"oblivious_trees\"", "\"trees\"", "trees that are not oblivious are not taken"},
      {"{\"float_features\"", "{\"categorical_features\":[{}],\"float_features\"", "only columns of numbers are taken"},
      {"\"type\":\"RMSE\"", "\"type\":\"Mine\"", "loss_function.type: is 'Mine'"},
      {"\"type\":\"RMSE\"", "\"type\":\"Logloss\"", "has no 'class_params'"},
      {"[2,[10]]", "[2,[10],3]", "scale_and_bias: has 3 values"},
      {"[2,[10]]", "[2,[]]", "has 0 biases"},
      {"\"feature_index\":1", "\"feature_index\":7", "float_features[1].feature_index: is 7"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string file = replaced(small_catboost(), refusal.from, refusal.to);
    EXPECT_THAT(error_of(file).message, testing::HasSubstr(refusal.place));
  }
}

TEST(ImportedModel, NamesTheByteThatIsWrongInUbjson) {
  using namespace std::string_literals;
  EXPECT_EQ(error_of("{L\0\0\0\0\0\0\0\1a"s).message, "UBJSON: byte 11: the document ends here, something must follow");
  EXPECT_THAT(error_of("{i\1a[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff"s).message,
              testing::HasSubstr("byte 17: a length is 9223372036854775807"));
  EXPECT_THAT(error_of("{i\1a[$T#i\5}"s).message, testing::HasSubstr("an array of this type is not known"));
  EXPECT_THAT(error_of("{i\1a" + std::string(100, '[')).message, testing::HasSubstr("nests deeper than 32"));
}

// --- mutations ---

// Some bytes changed, a part cut out, repeated or exchanged for a hostile number.
std::string mutated(std::string file, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  static constexpr std::array<std::string_view, 10> kHostile{
      "-1", "0", "2147483647", "2147483648", "-2147483648", "1e999", "nan", "9223372036854775807", "", "[[[["};
  for (std::size_t change = 0, n = 1 + below(4); change < n && !file.empty(); ++change) {
    const std::size_t at = below(file.size());
    switch (below(5)) {
      case 0:
        file[at] = static_cast<char>(below(256));
        break;
      case 1:
        file.erase(at, 1 + below(20));
        break;
      case 2:
        file.insert(at, file.substr(below(file.size()), 1 + below(40)));
        break;
      case 3:
        file.resize(at);
        break;
      default: {
        const std::size_t digit = file.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = std::min(file.find_first_not_of("0123456789.eE+-", digit), file.size());
        file.replace(digit, end - digit, kHostile[below(kHostile.size())]);
      }
    }
  }
  return file;
}

class MutatedFile : public testing::TestWithParam<std::string> {};

TEST_P(MutatedFile, IsRefusedOrAnswers) {
  const std::string file = content_of(kFolder / GetParam());
  std::mt19937 random(20261126);
  int n_taken = 0, n_refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string other = mutated(file, random);
    if (!is_foreign_model(other)) continue;
    try {
      const auto model = loaded(translated(context(), other).bytes);
      ModelRows rows{.n_rows = 3};
      for (const schema::ModelColumn& column : model->info().columns)
        rows.features.push_back({column.name, column.categories, column.kind == "category"});
      rows.values.assign(3 * rows.features.size(), 0.5);
      rows.values.front() = std::numeric_limits<double>::quiet_NaN(), rows.values.back() = 3;
      for (const std::string& output : model->info().outputs) model->answer(context(), rows, output);
      ++n_taken;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code == ErrorCode::kModelCorrupt || error.code == ErrorCode::kInvalidValue) << error.message;
      EXPECT_FALSE(error.message.empty());
      ++n_refused;
    }
  }
  EXPECT_GT(n_taken, 0);
  EXPECT_GT(n_refused, kMutations / 4);
}

INSTANTIATE_TEST_SUITE_P(Imported, MutatedFile,
                         testing::Values("xgb_categories.json", "xgb_categories.ubj", "xgb_dart.ubj",
                                         "lgb_categories.txt", "lgb_multiclass.txt", "onnx_pipeline.onnx",
                                         "onnx_modes.onnx", "onnx_forest.onnx", "catboost_names.json"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(ImportedModel, TakesNoMoreMemoryThanItsBoundForAnyFile) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  constexpr std::int64_t kFixed = std::int64_t{48} << 20;
  const std::string many = R"({"learner":[)" + std::string(1 << 20, '[');
  std::string empties = R"({"learner":[)";
  for (int i = 0; i < 300'000; ++i) empties += "[],";
  for (const std::string& file : {many, empties + "0]}"}) {
    reset_peak_memory();
    const std::int64_t held = process_memory().held;
    EXPECT_THROW(translated(context(), file), Error);
    EXPECT_LE(process_memory().peak - held, kMostLoadedPerByte * static_cast<std::int64_t>(file.size()) + kFixed);
  }
}

}   // namespace
}   // namespace kedge::engine
