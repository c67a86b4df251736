// Networks by their list of layers: torch's losses and predictions, the same at any number of threads and on every
// device.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "network_fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;
using testing::Answer;
using testing::answer;
using testing::Data;
using testing::refusal;
using testing::rings;
using testing::texts;
using testing::waves;

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
     {0.584144697547, 0.335823246347, 0.361293582671, 0.303222800069, 0.265773703586, -0.141846682468, -0.0572739135905, -0.0427607362282}},
    {{"dense(6)", "leaky_relu", "dense(4)", "leaky_relu"}, "adam", 0.0, 0.0, "",
     {0.54404459297, 0.323805537229, 0.341886565829, 0.303046625589, 0.294168235603, -0.334624528164, -0.151792947565, 0.035230423821}},
    {{"dense(6)", "elu", "dense(4)", "elu"}, "adam", 0.0, 0.0, "",
     {0.863025424337, 0.208861270654, 0.264545808868, 0.318738375876, 0.303629433329, 0.00464005001892, 0.0907754538583, 0.157664819875}},
    {{"dense(6)", "gelu", "dense(4)", "gelu"}, "adam", 0.0, 0.0, "",
     {0.773818343013, 0.357291116281, 0.297006942518, 0.26812126087, 0.266007221075, -0.118514878854, 0.000884534094586, -0.016747999412}},
    {{"dense(6)", "silu", "dense(4)", "silu"}, "adam", 0.0, 0.0, "",
     {0.774851459294, 0.30826201627, 0.259067159435, 0.259161373847, 0.291759726676, -0.257377099412, -0.201771777524, -0.119713221412}},
    {{"dense(6)", "tanh", "dense(4)", "tanh"}, "adam", 0.0, 0.0, "",
     {0.570637104849, 0.242139325531, 0.257929343902, 0.280422412511, 0.278638022561, -0.113889434127, -0.0297851282818, 0.144448551269}},
    {{"dense(6)", "logistic", "dense(4)", "logistic"}, "adam", 0.0, 0.0, "",
     {0.533670723022, 0.330244542133, 0.358584279895, 0.322937539512, 0.280453636788, 0.0158426159423, 0.0367737933126, 0.0476993439737}},
    {{"dense(6)", "identity", "dense(4)", "identity"}, "adam", 0.0, 0.0, "",
     {0.787183033766, 0.348163271457, 0.396859899489, 0.344762362013, 0.304802191106, -0.157037489261, 0.303699056174, 0.325277245726}},
    {{"dense(6)", "batch_norm", "gelu", "dense(4, silu)", "batch_norm"}, "adam", 0.0, 0.0, "",
     {0.635050759261, 0.303723280253, 0.232059214817, 0.243148818031, 0.234493650888, -0.431911945678, -0.162175340459, -0.326879259115}},
    {{"dense(6)", "layer_norm", "gelu", "dense(4, silu)", "layer_norm"}, "adam", 0.0, 0.0, "",
     {0.682731063577, 0.36677096877, 0.248347492575, 0.286778830481, 0.293274996335, -0.0534272766251, -0.0692785130439, -0.0151617588172}},
    {{"dense(5, elu)", "batch_norm", "layer_norm"}, "adam", 0.0, 0.0, "",
     {0.609918039673, 0.44022377358, 0.377353364936, 0.332150161148, 0.233072058852, -0.0128107021579, -0.0952634943633, -0.149031918644}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "rmsprop", 0.0, 0.0, "",
     {1.62326799728, 1.09746097046, 0.851380375119, 0.703001413191, 0.602987352959, -0.849118692688, -0.849118692688, -0.815156743933}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adamw", 0.5, 0.0, "",
     {1.11215318684, 0.362395553913, 0.322023631449, 0.29555340926, 0.27701125031, 0.062054298235, 0.0721008014335, -0.0845540230487}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.05, "",
     {1.13812139531, 0.404946770593, 0.340848597988, 0.310907060989, 0.321336756971, 0.208694092838, 0.208694092838, -0.0895850223706}},
    {{"dense(6, relu)", "batch_norm"}, "sgd", 0.0, 0.1, "",
     {0.725003710245, 0.602920394987, 0.443774898759, 0.311938817476, 0.248378570557, -0.228239214642, -0.491853846273, -0.274538902769}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "step(2, 0.5)",
     {1.13862850751, 0.389276504272, 0.341472970582, 0.315875604703, 0.287756585634, 0.130040121936, 0.128690330473, 0.102302047348}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "exponential(0.8)",
     {1.13862850751, 0.381098321946, 0.344716880382, 0.315996064349, 0.29189004472, 0.130735581552, 0.12993512496, 0.0811597030407}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "cosine(4)",
     {1.13862850751, 0.383161549272, 0.34085634972, 0.314248808032, 0.304570496833, 0.0853536137903, 0.0853536137903, 0.210991075522}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "warm_restarts(2)",
     {1.13862850751, 0.372008035801, 0.357554978496, 0.317270711125, 0.306586458475, 0.163947697581, 0.164992878387, -0.0165699465677}},
    {{"dense(5, relu)", "dense(4, tanh)"}, "adam", 0.0, 0.0, "warmup(4)",
     {1.65737864332, 0.868549904621, 0.420474276346, 0.36930578508, 0.351616208345, 0.259917867904, 0.253923316297, 0.209995628968}},
  };
  return all;
}
// clang-format on

constexpr double kNear = 1e-9;   // five epochs of double arithmetic, in other orders

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
                  {"epsilon", 1e-6},
                  {"weight_decay", c.decay},
                  {"random_state", 1}};
  if (is_rms) params.emplace_back("beta_2", 0.9);
  if (c.most > 0) params.emplace_back("max_grad_norm", c.most);
  if (*c.schedule) params.emplace_back("lr_schedule", c.schedule);
  return params;
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
