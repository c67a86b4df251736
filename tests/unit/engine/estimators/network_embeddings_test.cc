// Embeddings of networks: numpy's losses, predictions and vectors, the same at any number of threads and on every
// device, and what is no code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "engine/estimators/memory_need.h"
#include "network_fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using testing::Answer;
using testing::answer;
using testing::Data;
using testing::failure;
using ::testing::HasSubstr;
using testing::refusal;

constexpr double kNear = 1e-9;   // five epochs of double arithmetic, in other orders

Value embedding(ValueList columns, Value input_dim, Value output_dim) {
  return ValueMap{
      {"embedding", ValueMap{{"columns", std::move(columns)}, {"input_dim", input_dim}, {"output_dim", output_dim}}}};
}

// Of numpy 2.4.6, by tests/estimators/embedding_peer.py: five losses, three predictions, then numbers of vectors.
struct Case {
  std::vector<const char*> layers;
  const char* solver;
  std::vector<double> expected;
};

// clang-format off
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
    {{"dense(4, tanh)"}, "sgd",
     {0.60253490856, 0.352088965256, 0.348128095093, 0.335356314658, 0.30308308581, 0.314976563291, 0.220230057719, -0.0818530545005, 0.1159827971, 0.0194400157728, 0.016414829606}},
    {{"dense(4, tanh)"}, "adam",
     {0.625034138208, 0.259053755734, 0.273710348139, 0.260742845249, 0.236994357432, 0.579104614832, 0.444324703918, 0.0138126230151, -0.0661987034203, 0.0194400157728, 0.154484036691}},
    {{}, "sgd",
     {0.33268500821, 0.275292433106, 0.25619099947, 0.236050646196, 0.211847062812, 0.339872538247, 0.437967213775, 0.295422749856, -0.119822926685, -0.0460945216767, -0.0579379156735}},
    {{}, "adam",
     {0.379432707476, 0.225283381918, 0.198948738449, 0.195913368724, 0.189155572103, 0.529199905814, 0.381855487616, -0.1160272907, 0.0409870959936, -0.0460945216767, -0.0181311693788}},
  };
  return all;
}
// clang-format on

// Two columns of numbers and three of codes.
Data coded_waves() {
  Data data{.n_rows = 12, .n_cols = 5};
  for (int i = 0; i < 12; ++i) {
    data.X.insert(data.X.end(), {std::sin(1.3 * i), 7.0 * i - 5 * (7 * i / 5), std::cos(0.7 * i),
                                 (5.0 * i + 2) - 4 * ((5 * i + 2) / 4), 3.0 * i - 4 * (3 * i / 4)});
    data.values.push_back(std::cos(0.9 * i));
  }
  return data;
}

ValueMap params(const std::vector<const char*>& layers, const char* solver) {
  ValueList list{embedding({1}, 6, 3), embedding({4, 3}, 4, 2)};
  for (const char* const layer : layers) list.emplace_back(layer);
  return {{"layers", std::move(list)},
          {"solver", solver},
          {"learning_rate_init", 0.1},
          {"alpha", 0.1},
          {"batch_size", 4},
          {"shuffle", false},
          {"max_iter", 5},
          {"epsilon", 1e-6},
          {"n_iter_no_change", "inf"},
          {"random_state", 1}};
}

// 300 rows: a number, a code with many values, two codes of one vocabulary.
Data shops() {
  Data data{.n_rows = 300, .n_cols = 4, .classes = {"a", "b", "c"}};
  PhiloxStream random(3, 0);
  for (int i = 0; i < 300; ++i) {
    const double x = random.uniform();
    const auto shop = random.below(40), first = random.below(6), second = random.below(6);
    data.X.insert(data.X.end(), {x, double(shop), double(first), double(second)});
    data.y.push_back(static_cast<std::int32_t>((shop * 7 % 5 + first + (x > 0.5 ? 1 : 0)) % 3));
    data.values.push_back(x + double(shop % 4) - double(second % 3));
  }
  return data;
}

ValueMap deep() {
  return {{"layers", ValueList{embedding({1}, 50, 4), embedding({2, 3}, 6, 3), "dense(16)", "batch_norm", "gelu",
                               "dropout(0.25)"}},
          {"solver", "adamw"},
          {"max_iter", 6},
          {"batch_size", 64},
          {"max_grad_norm", 0.5},
          {"early_stopping", true},
          {"scoring", "loss"},
          {"random_state", 3}};
}

ValueMap with_layers(ValueList layers) {
  return {{"layers", std::move(layers)}, {"max_iter", 2}};
}

std::string said(ValueList layers) {
  return refusal("MLPClassifier", with_layers(std::move(layers)));
}

TEST(NetworkEmbeddings, LearnAsInNumpy) {
  const Data data = coded_waves();
  for (const char* device : {"cpu", "emulated"}) {
    for (const Case& c : cases()) {
      const Answer found = answer("MLPRegressor", params(c.layers, c.solver), data, device);
      const std::string name = std::string(device) + ", " + (c.layers.empty() ? "none" : c.layers[0]) + ", " + c.solver;
      ASSERT_EQ(found.curve.size(), 5u) << name;
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found.curve[i], c.expected[i], kNear) << name << ", epoch " << i;
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(found.predictions[i], c.expected[5 + i], kNear) << name << ", row " << i;
      const auto& tables = std::get<ValueList>(find_value(found.attributes, "embeddings_")->data);
      ASSERT_EQ(tables.size(), 2u);
      const auto wide = rows_of(tables[0]).value(), shared = rows_of(tables[1]).value();
      ASSERT_EQ(wide.size(), 6u);
      ASSERT_EQ(shared.size(), 4u);
      EXPECT_NEAR(wide[4][1], c.expected[8], kNear) << name;
      EXPECT_NEAR(wide[5][2], c.expected[9], kNear) << name << ": of a code that no row has";
      EXPECT_NEAR(shared[3][0], c.expected[10], kNear) << name;
    }
  }
}

TEST(NetworkEmbeddings, LearnTheSameOnEveryDevice) {
  const Data data = shops();
  for (const char* name : {"MLPClassifier", "MLPRegressor"}) {
    const Answer cpu = answer(name, deep(), data), gpu = answer(name, deep(), data, "emulated");
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(cpu.curve[i], gpu.curve[i], kNear) << name << ", epoch " << i;
    for (std::size_t i = 0; i < cpu.predictions.size(); ++i)
      EXPECT_NEAR(cpu.predictions[i], gpu.predictions[i], 1e-7) << name << ", place " << i;
  }
}

TEST(NetworkEmbeddings, LearnTheSameAtAnyNumberOfThreads) {
  const Data data = shops();
  const int before = omp_get_max_threads();
  for (const char* device : {"cpu", "emulated"}) {
    Answer found[2];
    for (const int threads : {1, 2}) {
      omp_set_num_threads(threads);
      found[threads - 1] = answer("MLPRegressor", deep(), data, device);
    }
    omp_set_num_threads(before);
    EXPECT_EQ(found[0].curve, found[1].curve) << device;
    EXPECT_EQ(found[0].predictions, found[1].predictions) << device;
  }
}

TEST(NetworkEmbeddings, TakeColumnsInAnyPlace) {
  const Data data = shops();
  Data moved = data;   // the number behind the codes
  for (std::size_t i = 0; i < moved.X.size(); i += 4)
    std::rotate(moved.X.begin() + static_cast<std::ptrdiff_t>(i), moved.X.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                moved.X.begin() + static_cast<std::ptrdiff_t>(i) + 4);
  ValueMap own = deep();
  std::get<ValueList>(own[0].second.data)[0] = embedding({0}, 50, 4);
  std::get<ValueList>(own[0].second.data)[1] = embedding({1, 2}, 6, 3);
  EXPECT_EQ(answer("MLPClassifier", own, moved).predictions, answer("MLPClassifier", deep(), data).predictions);
}

TEST(NetworkEmbeddings, RefuseWhatIsNoCode) {
  for (const char* device : {"cpu", "emulated"}) {
    for (const double wrong : {-1.0, 6.0, 2.5}) {
      Data data = shops();
      data.X[4 * 17 + 3] = wrong;
      const std::string failed = failure("MLPClassifier", deep(), data, device);
      EXPECT_THAT(failed, HasSubstr("MLPClassifier: column 3 has ")) << wrong;
      EXPECT_THAT(failed, HasSubstr(", must be an integer from 0 to 5, a code of its embedding")) << wrong;
    }
  }
}

// A code that no fitted row has keeps its first vector; one beyond the table is refused, at a prediction, too.
TEST(NetworkEmbeddings, CheckTheCodesOfPredictions) {
  const Data data = shops();
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  auto fitted = find_estimator("MLPRegressor")->make_f64(deep());
  fitted->fit(ctx, loaded.all(), loaded.target());
  const auto& model = dynamic_cast<const Regressor<double>&>(*fitted);
  Data unseen = data;
  unseen.X[1] = 49;
  for (const double value : model.predict(ctx, testing::Loaded<double>(ctx.device, unseen).all()))
    EXPECT_TRUE(std::isfinite(value));
  unseen.X[1] = 50;
  try {
    model.predict(ctx, testing::Loaded<double>(ctx.device, unseen).all());
    FAIL() << "a code beyond the table was taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    EXPECT_EQ(error.message, "MLPRegressor: column 1 has 50, must be an integer from 0 to 49, a code of its embedding");
  }
}

TEST(NetworkEmbeddings, NameTheLayerAndWhatIsWrong) {
  EXPECT_THAT(said({"dense(4)", embedding({0}, 5, 2)}), HasSubstr("layer 2: an embedding must come before all other"));
  EXPECT_THAT(said({embedding({0}, 5, 0)}),
              HasSubstr("layer 1: output_dim is 0, must be an integer from 1 to 16777216"));
  EXPECT_THAT(said({embedding({0}, 0, 2)}), HasSubstr("layer 1: input_dim is 0, must be"));
  EXPECT_THAT(said({embedding({0}, 2.5, 2)}), HasSubstr("layer 1: input_dim is 2.5, must be an integer"));
  EXPECT_THAT(said({embedding({-1}, 5, 2)}), HasSubstr("layer 1: a column is -1, must be an integer from 0"));
  EXPECT_THAT(said({embedding({"shop"}, 5, 2)}), HasSubstr("layer 1: a column is \"shop\", must be an integer"));
  EXPECT_THAT(said({embedding({2, 2}, 5, 2)}), HasSubstr("layer 1: column 2 is there twice"));
  EXPECT_THAT(said({embedding({}, 5, 2)}), HasSubstr("layer 1: columns must be a list of at least one position"));
  EXPECT_THAT(said({ValueMap{{"embedding", ValueMap{{"columns", ValueList{0}}, {"output_dim", 2}}}}}),
              HasSubstr("layer 1: input_dim is missing"));
  EXPECT_THAT(said({ValueMap{{"embedding", ValueMap{{"rows", 3}}}}}), HasSubstr("an embedding has no 'rows'"));
  EXPECT_THAT(said({ValueMap{{"dense", 3}}}), HasSubstr("layer 1: an object must be {\"embedding\""));
  EXPECT_THAT(said({embedding({0}, 5, 2), "relu"}), HasSubstr("layer 2: the first layer must be dense"));
  EXPECT_THAT(refusal("MLPRegressor", {{"layers", ValueList{embedding({0}, 5, 2)}}, {"solver", "lbfgs"}}),
              HasSubstr("must be another where layers"));
}

TEST(NetworkEmbeddings, RefuseAColumnThatThereIsNot) {
  EXPECT_EQ(failure("MLPClassifier", with_layers({embedding({1, 4}, 50, 2)}), shops()),
            "MLPClassifier: layers has an embedding of column 4, the last of the table is 3");
}

TEST(NetworkEmbeddings, AreInTheMemoryPlan) {
  const SampleShape shape{.rows = 1000, .cols = 4, .value_bytes = 4, .n_outputs = 3};
  const auto need = [&](const Value& entry) {
    return memory_need(shape, {.estimator = "MLPClassifier", .params = with_layers({entry, "dense(8, relu)"})});
  };
  constexpr std::int64_t kTable = std::int64_t{16'000'000} * 64 * sizeof(float);
  const MemoryNeed large = need(embedding({0}, 16'000'000, 64)), small = need(embedding({0}, 100, 64));
  EXPECT_GE(large.minimum, 3 * kTable) << "itself, its gradient and a mean";
  EXPECT_GE(large.work, large.minimum);
  EXPECT_LT(small.work, std::int64_t{1} << 24);
  EXPECT_GT(need(embedding({0}, 1 << 24, 1 << 24)).minimum, std::int64_t{1} << 50) << "sizes do not overflow";
  EXPECT_GT(need(embedding({9}, 100, 64)).work, 0) << "a column that there is not is refused by the fit";
}

}   // namespace
}   // namespace kedge::engine
