// Graphs of ONNX: what is wrong is refused with its place, what is not taken by its name, and a small file asks for no
// great memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "engine/backend/loader.h"
#include "engine/core/process_memory.h"
#include "engine/model/ensemble_model.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

const Context& context() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  static const Context ctx{.device = *device};
  return ctx;
}

// --- a writer of the wire format ---

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes.push_back(static_cast<char>((number & 127) | 128));
  return bytes + static_cast<char>(number);
}
std::string number_field(int field, std::int64_t number) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(number));
}
std::string bytes_field(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string float_field(int field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes = varint(static_cast<std::uint64_t>(field) << 3 | 5);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(bits >> (8 * i)));
  return bytes;
}

std::string ints(const std::string& name, const std::vector<std::int64_t>& numbers) {
  std::string attribute = bytes_field(1, name);
  for (const std::int64_t number : numbers) attribute += number_field(8, number);
  return bytes_field(5, attribute);
}
std::string integer(const std::string& name, std::int64_t number) {
  return bytes_field(5, bytes_field(1, name) + number_field(3, number));
}
std::string floats(const std::string& name, const std::vector<float>& numbers) {
  std::string attribute = bytes_field(1, name);
  for (const float number : numbers) attribute += float_field(7, number);
  return bytes_field(5, attribute);
}
std::string texts(const std::string& name, const std::vector<std::string>& values) {
  std::string attribute = bytes_field(1, name);
  for (const std::string& value : values) attribute += bytes_field(9, value);
  return bytes_field(5, attribute);
}
std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& attributes = {}) {
  std::string message;
  for (const std::string& name : inputs) message += bytes_field(1, name);
  for (const std::string& name : outputs) message += bytes_field(2, name);
  return bytes_field(1, message + bytes_field(4, op) + attributes);
}
std::string input(const std::string& name, std::int64_t type, std::int64_t width) {
  const std::string shape = bytes_field(1, bytes_field(2, "N")) + bytes_field(1, number_field(1, width));
  return bytes_field(
      11, bytes_field(1, name) + bytes_field(2, bytes_field(1, number_field(1, type) + bytes_field(2, shape))));
}
std::string model(const std::string& graph, const std::string& output = "y") {
  return number_field(1, 8) + bytes_field(2, "test") + bytes_field(7, graph + bytes_field(12, bytes_field(1, output)));
}

constexpr std::int64_t kFloat = 1, kText = 8;

struct Trees {
  std::vector<std::int64_t> trees{0, 0, 0}, nodes{0, 1, 2}, features{0, 0, 0}, is_true{1, 0, 0}, is_false{2, 0, 0};
  std::vector<std::string> modes{"BRANCH_LEQ", "LEAF", "LEAF"};
  std::vector<float> values{0.5F, 0, 0};
  std::vector<std::int64_t> leaf_trees{0, 0}, leaf_nodes{1, 2}, leaf_ids{0, 0};
  std::vector<float> weights{10, 20};
  std::int64_t targets = 1;

  std::string attributes() const {
    return ints("nodes_treeids", trees) + ints("nodes_nodeids", nodes) + ints("nodes_featureids", features) +
           ints("nodes_truenodeids", is_true) + ints("nodes_falsenodeids", is_false) + texts("nodes_modes", modes) +
           floats("nodes_values", values) + ints("target_treeids", leaf_trees) + ints("target_nodeids", leaf_nodes) +
           ints("target_ids", leaf_ids) + floats("target_weights", weights) + integer("n_targets", targets);
  }
  std::string file() const {
    return model(input("X", kFloat, 2) + node("TreeEnsembleRegressor", {"X"}, {"y"}, attributes()));
  }
};

Error error_of(const std::string& file) {
  try {
    translated(context(), file);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "it was taken";
  return {};
}

class Loaded {
 public:
  explicit Loaded(const std::string& file) {
    const std::string bytes = translated(context(), file).bytes;
    memory_.reset(std::aligned_alloc(kModelAlignment, padded_size(bytes.size())));
    std::memcpy(memory_.get(), bytes.data(), bytes.size());
    model_ =
        StoredModel::load(context(), ModelFile(std::span(static_cast<const std::byte*>(memory_.get()), bytes.size())));
  }
  // Of one row; a text is its code, those that the model knows first.
  ModelAnswer answer(std::vector<double> row, const std::string& output) {
    ModelRows rows{.n_rows = 1, .values = std::move(row)};
    for (const schema::ModelColumn& column : model_->info().columns)
      rows.features.push_back({column.name, column.categories, column.kind == "category"});
    return model_->answer(context(), rows, output);
  }
  const schema::ModelInfo& info() const { return model_->info(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::unique_ptr<StoredModel> model_;
};

TEST(OnnxModel, AsksATree) {
  Loaded loaded(Trees().file());
  EXPECT_EQ(loaded.answer({0.5, 9}, "predict").numbers, std::vector<double>{10});
  EXPECT_EQ(loaded.answer({0.6, 9}, "predict").numbers, std::vector<double>{20});
  EXPECT_EQ(loaded.answer({std::numeric_limits<double>::quiet_NaN(), 9}, "predict").numbers, std::vector<double>{20});
  EXPECT_EQ(loaded.info().columns.at(1).name, "X_1");
}

TEST(OnnxModel, NamesThePlaceOfWhatIsWrongInATree) {
  struct Wrong {
    void (*change)(Trees&);
    std::string message;
  };
  const std::vector<Wrong> all{
      {[](Trees& t) { t.modes[0] = "LEAF"; }, "tree 0 has two roots"},
      {[](Trees& t) { t.is_true[0] = 0; }, "2 of its nodes are in no tree with a root"},
      {[](Trees& t) { t.is_true[0] = 2; }, "node 2 of tree 0 has two parents"},
      {[](Trees& t) { t.modes[1] = t.modes[2] = "BRANCH_LEQ", t.is_true = {1, 2, 0}, t.is_false = {2, 0, 1}; },
       "has two parents"},
      {[](Trees& t) {
         t.modes[0] = "LEAF", t.modes[1] = "BRANCH_LT", t.is_true[1] = 1, t.is_false[1] = 2;
         t.leaf_nodes = {0, 2};
       },
       "2 of its nodes are in no tree with a root"},
      {[](Trees& t) { t.is_false[0] = std::int64_t{1} << 31; },
       "nodes_falsenodeids[0] names node 2147483648 of tree 0, which is not there"},
      {[](Trees& t) { t.is_false[0] = -1; }, "names node -1"},
      {[](Trees& t) { t.nodes[2] = 1; }, "names node 1 of tree 0 twice"},
      {[](Trees& t) { t.features[0] = 2; }, "nodes_featureids[0] is 2, there are 2 columns"},
      {[](Trees& t) { t.modes[0] = "BRANCH_IN"; }, "nodes_modes[0] is 'BRANCH_IN'"},
      {[](Trees& t) { t.values[0] = std::numeric_limits<float>::quiet_NaN(); }, "nodes_values[0] is not finite"},
      {[](Trees& t) { t.weights[1] = std::numeric_limits<float>::infinity(); }, "target_weights[1] is not finite"},
      {[](Trees& t) { t.leaf_ids[1] = 1; }, "target_ids[1] is 1, must be from 0 to 0"},
      {[](Trees& t) { t.leaf_nodes[1] = 0; }, "target_nodeids[1] names a node that is no leaf"},
      {[](Trees& t) { t.modes.pop_back(); }, "nodes_modes has 2 values, must have 3"},
      {[](Trees& t) { t.targets = std::int64_t{1} << 31; }, "n_targets is 2147483648"},
      {[](Trees& t) { t.weights.clear(), t.leaf_ids.clear(), t.leaf_nodes.clear(), t.leaf_trees.clear(); },
       "its leaves have no weights"},
  };
  for (const Wrong& wrong : all) {
    Trees trees;
    wrong.change(trees);
    const Error error = error_of(trees.file());
    EXPECT_THAT(error.message, testing::HasSubstr(wrong.message));
    EXPECT_THAT(error.message, testing::HasSubstr("ONNX model: node 0 (TreeEnsembleRegressor)"));
  }
}

TEST(OnnxModel, RefusesByNameWhatItDoesNotTake) {
  const std::string X = input("X", kFloat, 2);
  const std::vector<std::pair<std::string, std::string>> all{
      {model(X + node("SVMClassifier", {"X"}, {"y"})), "node 0 (SVMClassifier): this operator is not taken"},
      {model(X + node("", {"X"}, {"y"})), "node 0 (): this operator is not taken"},
      {model(X + node("Scaler", {"Z"}, {"y"})), "its input 'Z' is made by no node before it"},
      {model(X + node("Scaler", {}, {"y"})), "it has 0 inputs, must have 1"},
      {model(X + node("Scaler", {"X"}, {"y"}, floats("offset", {1, 2, 3}) + floats("scale", {1}))),
       "offset has 3 values for 2 columns"},
      {model(X + node("Concat", {"X", "X"}, {"y"}, integer("axis", 0))), "axis is 0, must be 1"},
      {model(X + node("Cast", {"X"}, {"y"}, integer("to", kText))), "it casts to type 8"},
      {model(X + node("LinearRegressor", {"X"}, {"y"}, floats("coefficients", {1}))),
       "it has 1 coefficients of 2 columns for 1 outputs"},
      {model(X + node("Identity", {"X"}, {"z"})), "the output 'y' is made by no node"},
      {model(X + node("Identity", {"X"}, {"X"})), "'X' is made twice"},
      {model(input("X", 16, 2)), "input 'X' has elements of type 16"},
      {model(input("X", kFloat, 1 << 30)), "input 'X' has 1073741824 columns"},
      {model(""), "it has no inputs"},
      {number_field(1, 8) + bytes_field(2, "test"), "it has no graph"},
  };
  for (const auto& [file, message] : all) EXPECT_THAT(error_of(file).message, testing::HasSubstr(message));
}

TEST(OnnxModel, NamesTheByteThatIsWrong) {
  const std::string good = Trees().file();
  EXPECT_THAT(error_of(good.substr(0, good.size() - 1)).message, testing::HasSubstr("bytes must follow, there are"));
  EXPECT_THAT(error_of(number_field(1, 8) + bytes_field(2, "x") + std::string(12, '\x80')).message,
              testing::HasSubstr("more than ten bytes"));
  EXPECT_THAT(error_of(number_field(1, 8) + bytes_field(2, "x") + "\x0b").message,
              testing::HasSubstr("wire type 3 is not known"));
}

TEST(OnnxModel, TakesTextsByNameAndRefusesUnknownOnesWhereTheGraphDoes) {
  const auto file = [](std::int64_t zeros) {
    return model(input("k", kText, 1) + node("OneHotEncoder", {"k"}, {"y"},
                                             texts("cats_strings", {"red", "green"}) + integer("zeros", zeros)));
  };
  Loaded lenient(file(1));
  EXPECT_THAT(lenient.info().columns.at(0).categories, testing::ElementsAre("red", "green"));
  EXPECT_THAT(lenient.answer({1}, "transform").numbers, testing::ElementsAre(0, 1));
  EXPECT_THAT(lenient.answer({2}, "transform").numbers, testing::ElementsAre(0, 0));
  Loaded strict(file(0));
  EXPECT_THAT(strict.answer({0}, "transform").numbers, testing::ElementsAre(1, 0));
  EXPECT_THROW(strict.answer({2}, "transform"), Error);
}

// A few bytes that ask for a great many columns, numbers or leaves.
TEST(OnnxModel, TakesNoMoreMemoryThanItsBound) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  constexpr std::int64_t kFixed = std::int64_t{96} << 20;
  std::string doubling = input("X", kFloat, 2), last = "X";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "x" + std::to_string(i);
    doubling += node("Concat", {last, last}, {next});
    last = next;
  }
  std::vector<std::int64_t> many(5000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i);
  const std::string maps = ints("keys_int64s", many) + ints("values_int64s", many);
  Trees wide;   // 400 leaves for 65,536 outputs
  wide.targets = 1 << 16;
  for (std::int64_t tree = 1; tree < 400; ++tree) {
    wide.trees.push_back(tree), wide.nodes.push_back(0), wide.features.push_back(0), wide.is_true.push_back(0),
        wide.is_false.push_back(0);
    wide.modes.emplace_back("LEAF"), wide.values.push_back(0);
  }
  wide.leaf_ids[1] = 1;
  std::string empty_nodes;
  for (int i = 0; i < 300'000; ++i) empty_nodes += bytes_field(1, "");
  for (const std::string& file :
       {model(doubling), model(input("X", 7, 60'000) + node("LabelEncoder", {"X"}, {"y"}, maps)), wide.file(),
        model(empty_nodes)}) {
    reset_peak_memory();
    const std::int64_t held = process_memory().held;
    EXPECT_THROW(translated(context(), file), Error);
    EXPECT_LE(process_memory().peak - held, kMostLoadedPerByte * static_cast<std::int64_t>(file.size()) + kFixed);
  }
}

}   // namespace
}   // namespace kedge::engine
