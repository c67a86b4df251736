// Networks by their list of layers: torch's losses and predictions, the same at any number of threads and on every
// device.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using testing::Data;

// Of torch 2.15.0, by tests/estimators/torch_peer.py: five losses, then three predictions.
struct Case {
  std::vector<const char*> layers;
  const char* solver;
  double decay, most;
  const char* schedule;
  std::vector<double> expected;
};

// clang-format off
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
    {{"dense(6)", "relu", "dense(4)", "relu"}, "adam", 0.0, 0.0, "",
     {0.578824490966, 0.335388475123, 0.359125294593, 0.301977725225, 0.265903101836, -0.140548907035, -0.0608041088668, -0.0449705156437}},
    {{"dense(6)", "leaky_relu", "dense(4)", "leaky_relu"}, "adam", 0.0, 0.0, "",
     {0.547525424612, 0.325449852699, 0.343437257747, 0.304824915503, 0.286029518104, -0.424917015217, -0.221896925626, 0.0203679669092}},
    {{"dense(6)", "elu", "dense(4)", "elu"}, "adam", 0.0, 0.0, "",
     {0.863290587781, 0.208931493125, 0.264138440604, 0.318939206662, 0.303713779567, 0.00198474375027, 0.0889212203169, 0.156418732478}},
    {{"dense(6)", "gelu", "dense(4)", "gelu"}, "adam", 0.0, 0.0, "",
     {0.773333429459, 0.356550819488, 0.294992167693, 0.268064566965, 0.264575559488, -0.106266851208, 0.0121109224756, -0.00377062351729}},
    {{"dense(6)", "silu", "dense(4)", "silu"}, "adam", 0.0, 0.0, "",
     {0.775475524563, 0.308627252164, 0.259607915149, 0.257640127208, 0.291513420405, -0.268383599207, -0.21034659962, -0.118193472953}},
    {{"dense(6)", "tanh", "dense(4)", "tanh"}, "adam", 0.0, 0.0, "",
     {0.571201761434, 0.242635753304, 0.258015105674, 0.280369965951, 0.278844591615, -0.122632966654, -0.0392245871923, 0.146407807178}},
    {{"dense(6)", "logistic", "dense(4)", "logistic"}, "adam", 0.0, 0.0, "",
     {0.533798607558, 0.330184811339, 0.358577135661, 0.323001072131, 0.280511979092, 0.0166704720771, 0.037484934733, 0.047244879422}},
    {{"dense(6)", "identity", "dense(4)", "identity"}, "adam", 0.0, 0.0, "",
     {0.788410310278, 0.348050870781, 0.39683639692, 0.344997277256, 0.304823448133, -0.152031696808, 0.30839066946, 0.320622396482}},
    {{"dense(6)", "batch_norm", "gelu", "dense(4, silu)", "batch_norm"}, "adam", 0.0, 0.0, "",
     {0.634659049138, 0.306317928702, 0.230878618316, 0.245679431041, 0.236341223941, -0.423633117172, -0.167712637588, -0.328830613486}},
    {{"dense(6)", "layer_norm", "gelu", "dense(4, silu)", "layer_norm"}, "adam", 0.0, 0.0, "",
     {0.682687315666, 0.367225519117, 0.248241562574, 0.286920285422, 0.293445205131, -0.0543836877708, -0.069719348147, -0.0153552133068}},
    {{"dense(5, elu)", "batch_norm", "layer_norm"}, "adam", 0.0, 0.0, "",
     {0.60989087086, 0.440245338915, 0.377334406981, 0.332151890297, 0.233138996534, -0.0156194148353, -0.100279330658, -0.149619539243}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "rmsprop", 0.0, 0.0, "",
     {1.62326341388, 1.0974525034, 0.851373233348, 0.702995864099, 0.602982864642, -0.849119928456, -0.849119928456, -0.815142363484}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adamw", 0.5, 0.0, "",
     {1.11212354695, 0.362352590918, 0.321993446239, 0.295547051703, 0.277022009907, 0.062003234909, 0.0720664068372, -0.084718747174}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.05, "",
     {1.13678995568, 0.402837020853, 0.340474768513, 0.310708756968, 0.319623932313, 0.189506988085, 0.192739444583, -0.0991965183076}},
    {{"dense(6, relu)", "batch_norm"}, "sgd", 0.0, 0.1, "",
     {0.725003710245, 0.602920394987, 0.443774898759, 0.311938817476, 0.248378570557, -0.228239214642, -0.491853846273, -0.274538902769}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "step(2, 0.5)",
     {1.13859823456, 0.389202352256, 0.341400399888, 0.315829074285, 0.287743494555, 0.129933739115, 0.12858124582, 0.102183443456}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "exponential(0.8)",
     {1.13859823456, 0.381025127311, 0.344657120307, 0.31595900285, 0.291884979656, 0.130626177355, 0.129825819628, 0.0810743794972}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "cosine(4)",
     {1.13859823456, 0.383088043945, 0.340792281661, 0.314193616408, 0.304520353799, 0.085295517037, 0.085295517037, 0.211046552079}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "warm_restarts(2)",
     {1.13859823456, 0.371937301013, 0.35750348511, 0.317243487448, 0.306600219791, 0.16380812262, 0.164865522456, -0.016637503169}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "warmup(4)",
     {1.65735812663, 0.868511979669, 0.420456391033, 0.36928281811, 0.351582163847, 0.259845690226, 0.25386119113, 0.209830585876}},
  };
  return all;
}
// clang-format on

constexpr double kNear = 1e-9;   // five epochs of double arithmetic, in other orders

Data waves() {
  Data data{.n_rows = 12, .n_cols = 3};
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j < 3; ++j) data.X.push_back(std::sin(1.3 * i + 0.7 * j));
    data.values.push_back(std::cos(0.9 * i));
  }
  return data;
}

// Three classes in 400 rows.
Data rings() {
  Data data{.n_rows = 400, .n_cols = 4, .classes = {"a", "b", "c"}};
  PhiloxStream random(7, 0);
  for (int i = 0; i < 400; ++i) {
    double sum = 0;
    for (int j = 0; j < 4; ++j) {
      data.X.push_back(2 * random.uniform() - 1);
      sum += data.X.back() * data.X.back();
    }
    data.y.push_back(sum < 1 ? 0 : sum < 1.6 ? 1 : 2);
    data.values.push_back(sum);
  }
  return data;
}

Value texts(const std::vector<const char*>& layers) {
  ValueList list;
  for (const char* const layer : layers) list.emplace_back(layer);
  return list;
}

struct Answer {
  std::vector<double> curve, predictions;
  ValueMap attributes;
};

Answer answer(const std::string& name, const ValueMap& params, const Data& data, const char* device = "cpu") {
  const Context ctx{.device = testing::device_named(device)};
  const testing::Loaded<double> loaded(ctx.device, data);
  auto estimator = find_estimator(name)->make_f64(params);
  estimator->fit(ctx, loaded.all(), loaded.target());
  Answer found{.attributes = estimator->attributes()};
  found.curve = numbers_of(*find_value(found.attributes, "loss_curve_")).value();
  if (auto* const regressor = dynamic_cast<Regressor<double>*>(estimator.get()))
    found.predictions = regressor->predict(ctx, loaded.all());
  return found;
}

ValueMap params_of(const Case& c) {
  const bool is_rms = std::string(c.solver) == "rmsprop";
  ValueMap params{{"layers", texts(c.layers)},
                  {"solver", c.solver},
                  {"learning_rate_init", is_rms ? 0.01 : 0.1},
                  {"alpha", 0.0},
                  {"batch_size", 4},
                  {"shuffle", false},
                  {"max_iter", 5},
                  {"n_iter_no_change", "inf"},
                  {"epsilon", 1e-12},
                  {"weight_decay", c.decay},
                  {"random_state", 1}};
  if (is_rms) params.emplace_back("beta_2", 0.9);
  if (c.most > 0) params.emplace_back("max_grad_norm", c.most);
  if (*c.schedule) params.emplace_back("lr_schedule", c.schedule);
  return params;
}

std::string refusal(const std::string& name, const ValueMap& params) {
  try {
    find_estimator(name)->make_f64(params);
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "none";
}

const ValueMap kDeep{
    {"layers", texts({"dense(16)", "batch_norm", "gelu", "dropout(0.25)", "dense(9, leaky_relu)", "layer_norm"})},
    {"solver", "adamw"},
    {"max_iter", 6},
    {"batch_size", 64},
    {"max_grad_norm", 0.5},
    {"early_stopping", true},
    {"scoring", "loss"},
    {"random_state", 3}};

TEST(NetworkLayers, TrainAsInTorch) {
  const Data data = waves();
  for (const char* device : {"cpu", "emulated"}) {
    for (const Case& c : cases()) {
      const Answer found = answer("MLPRegressor", params_of(c), data, device);
      const std::string name =
          std::string(device) + ", " + c.layers[0] + " " + c.layers.back() + " " + c.solver + c.schedule;
      ASSERT_EQ(found.curve.size(), 5u) << name;
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found.curve[i], c.expected[i], kNear) << name << ", epoch " << i;
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(found.predictions[i], c.expected[5 + i], kNear) << name << ", row " << i;
    }
  }
}

TEST(NetworkLayers, LearnTheSameOnEveryDevice) {
  const Data data = rings();
  const Answer cpu = answer("MLPClassifier", kDeep, data), gpu = answer("MLPClassifier", kDeep, data, "emulated");
  ASSERT_EQ(cpu.curve.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(cpu.curve[i], gpu.curve[i], kNear) << "epoch " << i;
}

TEST(NetworkLayers, LearnTheSameAtAnyNumberOfThreads) {
  const Data data = rings();
  const int before = omp_get_max_threads();
  Answer found[2];
  for (const int threads : {1, 2}) {
    omp_set_num_threads(threads);
    found[threads - 1] = answer("MLPRegressor", kDeep, data);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(found[0].curve, found[1].curve);
  EXPECT_EQ(found[0].predictions, found[1].predictions);
}

TEST(NetworkLayers, KeepTheBestEpoch) {
  ValueMap params{{"layers", texts({"dense(32, relu)", "batch_norm"})},
                  {"learning_rate_init", 0.05},
                  {"max_iter", 30},
                  {"early_stopping", true},
                  {"n_iter_no_change", 4},
                  {"scoring", "loss"},
                  {"random_state", 2}};
  const ValueMap found = answer("MLPRegressor", params, rings()).attributes;
  const auto scores = numbers_of(*find_value(found, "validation_scores_")).value();
  const auto best = std::ranges::max_element(scores);
  EXPECT_EQ(std::get<std::int64_t>(find_value(found, "best_epoch_")->data), best - scores.begin() + 1);
  EXPECT_EQ(std::get<double>(find_value(found, "best_validation_score_")->data), *best);
  EXPECT_LT(best, scores.end() - 1) << "the last epoch is not the best one, so that keeping matters";
}

TEST(NetworkLayers, DropoutLeavesPredictionsAlone) {
  ValueMap params{{"layers", texts({"dense(16, relu)", "dropout(0.5)"})}, {"max_iter", 3}, {"random_state", 2}};
  const Answer first = answer("MLPRegressor", params, rings()), again = answer("MLPRegressor", params, rings());
  EXPECT_EQ(first.predictions, again.predictions);
  params.front().second = texts({"dense(16, relu)", "dropout(0)"});
  EXPECT_NE(first.curve, answer("MLPRegressor", params, rings()).curve);
}

TEST(NetworkLayers, NameTheLayerAndWhatIsWrong) {
  const auto said = [](const std::vector<const char*>& layers) {
    return refusal("MLPClassifier", {{"layers", texts(layers)}});
  };
  const std::pair<std::vector<const char*>, const char*> wrong[] = {
      {{"dense(8, relu)", "dropout(1.5)"}, "layer 2: the rate must be a number of at least 0 and below 1"},
      {{"dense(0)"}, "layer 1: units must be an integer from 1 to"},
      {{"dense(4, rleu)"}, "layer 1: the activation is 'rleu', must be one of identity, logistic"},
      {{"dense(4)", "conv(3)"}, "layer 2: 'conv' is no layer"},
      {{"dropout(0.1)"}, "layer 1: the first layer must be dense"},
      {{"dense(4"}, "layer 1: must be a name, or a name with values in brackets"},
      {{"dense(4)", "batch_norm(2)"}, "layer 2: batch_norm takes nothing"}};
  for (const auto& [layers, problem] : wrong) EXPECT_NE(said(layers).find(problem), std::string::npos) << said(layers);
}

TEST(NetworkLayers, RefuseWhatDoesNotGoTogether) {
  const Value one = texts({"dense(4, relu)"});
  EXPECT_NE(refusal("MLPRegressor", {{"layers", one}, {"solver", "lbfgs"}}).find("must be another where layers"),
            std::string::npos);
  EXPECT_NE(refusal("MLPRegressor", {{"lr_schedule", "step(2, 0.5)"}, {"learning_rate", "adaptive"}})
                .find("must be constant"),
            std::string::npos);
  EXPECT_NE(refusal("MLPRegressor", {{"scoring", "loss"}}).find("needs early_stopping"), std::string::npos);
  for (const char* schedule : {"step(2)", "step(0, 0.5)", "cosine(1.5)", "exponential(2)", "linear(3)", "cosine(4"})
    EXPECT_NE(refusal("MLPRegressor", {{"lr_schedule", schedule}}).find("lr_schedule"), std::string::npos) << schedule;
}

}   // namespace
}   // namespace kedge::engine
