// Networks whose batches are recorded learn the same bits as those whose ops start one by one.
#include <gtest/gtest.h>

#include <memory>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/recorded_steps.h"
#include "network_fixture.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueMap;
using testing::Data;
using testing::texts;

// The emulated GPU without its recorder.
class OneByOne : public Device {
 public:
  const DeviceInfo& info() const override { return gpu_->info(); }
  DeviceTraits traits() const override { return gpu_->traits(); }
  Memory& memory() override { return gpu_->memory(); }
  Backend<float>& f32() override { return gpu_->f32(); }
  Backend<double>& f64() override { return gpu_->f64(); }
  TreeOps& trees() override { return gpu_->trees(); }

 protected:
  std::unique_ptr<Device> gpu_ = make_cuda_device({.seed = 9});
};

// With it, and what was made of it.
class Recording final : public OneByOne, public StepRecorder {
 public:
  explicit Recording(int most = 100) : most_(most) {}   // later recordings fail, as with a driver that refuses
  std::unique_ptr<RecordedSteps> record(const std::function<void()>& ops) override {
    if (made_ == most_) return nullptr;
    ++made_;
    return std::make_unique<Counted>(step_recorder(*gpu_)->record(ops), runs_);
  }
  int made() const { return made_; }
  int runs() const { return runs_; }

 private:
  class Counted final : public RecordedSteps {
   public:
    Counted(std::unique_ptr<RecordedSteps> steps, int& runs) : steps_(std::move(steps)), runs_(runs) {}
    void run() override { ++runs_, steps_->run(); }

   private:
    std::unique_ptr<RecordedSteps> steps_;
    int& runs_;
  };
  int most_, made_ = 0, runs_ = 0;
};

struct Learnt {
  std::vector<double> predictions;
  ValueMap attributes;
  bool operator==(const Learnt&) const = default;
};

template <class T>
Learnt learn(Device& device, const std::string& name, const ValueMap& params, const Data& data,
             const std::vector<double>& weights = {}) {
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data);
  const CatalogueEntry& entry = *find_estimator(name);
  std::unique_ptr<Estimator<T>> estimator;
  if constexpr (std::is_same_v<T, float>) estimator = entry.make_f32(params);
  else estimator = entry.make_f64(params);
  Target y = loaded.target();
  y.weights = weights;
  estimator->fit(ctx, loaded.all(), y);
  Learnt found{.predictions = {}, .attributes = estimator->attributes()};
  if (auto* const regressor = dynamic_cast<Regressor<T>*>(estimator.get()))
    found.predictions = regressor->predict(ctx, loaded.all());
  if (auto* const classifier = dynamic_cast<Classifier<T>*>(estimator.get())) {
    Matrix<double> proba(ctx.memory(), data.n_rows, classifier->n_classes());
    classifier->predict_proba(ctx, loaded.all(), proba.view());
    found.predictions = proba.to_host();
  }
  return found;
}

// Codes of an embedding in the first column.
Data coded() {
  Data data = testing::rings();
  for (std::int64_t i = 0; i < data.n_rows; ++i) data.X[static_cast<std::size_t>(i * data.n_cols)] = double(i * 7 % 5);
  return data;
}

Value embedding() {
  return schema::ValueMap{
      {"embedding", schema::ValueMap{{"columns", schema::ValueList{0}}, {"input_dim", 5}, {"output_dim", 3}}}};
}

struct Case {
  const char* what;
  const char* estimator;
  ValueMap params;
  int made;   // recordings
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"a last batch of 16 rows", "MLPClassifier", {{"batch_size", 64}, {"max_iter", 5}}, 2},
      {"batches that divide the rows", "MLPClassifier", {{"batch_size", 50}, {"max_iter", 5}}, 1},
      {"more batches than one recording has", "MLPRegressor", {{"batch_size", 9}, {"max_iter", 4}}, 2},
      {"one batch", "MLPRegressor", {{"batch_size", 400}, {"max_iter", 5}, {"activation", "tanh"}}, 1},
      {"rows in order", "MLPClassifier", {{"batch_size", 64}, {"max_iter", 4}, {"shuffle", false}}, 2},
      {"rates that fall by the rows seen",
       "MLPClassifier",
       {{"batch_size", 64}, {"max_iter", 6}, {"solver", "sgd"}, {"learning_rate", "invscaling"}},
       2},
      {"rates that fall where there is no gain, and an early end",
       "MLPRegressor",
       {{"batch_size", 64},
        {"max_iter", 40},
        {"solver", "sgd"},
        {"learning_rate", "adaptive"},
        {"learning_rate_init", 0.05},
        {"n_iter_no_change", 2},
        {"tol", 0.02},
        {"early_stopping", true}},
       2},
      {"a schedule, decay and clipping",
       "MLPRegressor",
       {{"batch_size", 64},
        {"max_iter", 6},
        {"solver", "adamw"},
        {"lr_schedule", "step(2, 0.5)"},
        {"max_grad_norm", 0.5}},
       2},
      {"root mean squares", "MLPRegressor", {{"batch_size", 64}, {"max_iter", 4}, {"solver", "rmsprop"}}, 2},
      {"dropout and norms",
       "MLPClassifier",
       {{"layers", texts({"dense(16)", "batch_norm", "gelu", "dropout(0.25)", "dense(9, leaky_relu)", "layer_norm",
                          "dropout(0.5)"})},
        {"batch_size", 64},
        {"max_iter", 5}},
       2},
      {"scratch of more than 256 rows",
       "MLPClassifier",
       {{"layers", schema::ValueList{embedding(), "dense(8, relu)"}}, {"batch_size", 300}, {"max_iter", 4}},
       2},
      {"a single epoch", "MLPClassifier", {{"batch_size", 64}, {"max_iter", 1}}, 0},
      {"two epochs", "MLPClassifier", {{"batch_size", 64}, {"max_iter", 2}}, 2},
  };
  return all;
}

template <class T>
void expect_the_same_bits() {
  const Data data = coded();
  for (Case c : cases()) {
    SCOPED_TRACE(c.what);
    if (c.params.front().first != "layers") c.params.emplace_back("hidden_layer_sizes", schema::ValueList{7, 5});
    c.params.emplace_back("random_state", 4);
    OneByOne plain;
    Recording recording;
    const Learnt expected = learn<T>(plain, c.estimator, c.params, data);
    EXPECT_EQ(learn<T>(recording, c.estimator, c.params, data), expected);
    EXPECT_EQ(recording.made(), c.made);
    EXPECT_EQ(recording.runs() > 0, c.made > 0);
  }
}

TEST(NetworkRecorded, LearnsTheSameBitsInFloat) {
  expect_the_same_bits<float>();
}
TEST(NetworkRecorded, LearnsTheSameBitsInDouble) {
  expect_the_same_bits<double>();
}

TEST(NetworkRecorded, GoesOnWithoutWhereNoRecordingCanBeMade) {
  const ValueMap params{{"batch_size", 64}, {"max_iter", 4}, {"random_state", 4}};
  OneByOne plain;
  const Learnt expected = learn<double>(plain, "MLPClassifier", params, coded());
  for (const int most : {0, 1}) {   // of the two: for full batches, and for the rest
    Recording refusing(most);
    EXPECT_EQ(learn<double>(refusing, "MLPClassifier", params, coded()), expected) << most;
    EXPECT_EQ(refusing.runs(), 0) << most;
  }
}

TEST(NetworkRecorded, StartsTensOfBatchesByOneCall) {
  Recording recording;
  learn<double>(recording, "MLPRegressor",
                {{"batch_size", 3}, {"max_iter", 4}, {"n_iter_no_change", "inf"}, {"random_state", 4}}, coded());
  EXPECT_EQ(recording.runs(), 3 * (4 + 1)) << "134 batches: four times 32, and the rest";
}

// A batch's factor follows its weights, which the host adds up.
TEST(NetworkRecorded, LeavesWeightedRowsToTheHost) {
  const Data data = coded();
  std::vector<double> weights;
  for (std::int64_t i = 0; i < data.n_rows; ++i) weights.push_back(1 + double(i % 3));
  const ValueMap params{{"batch_size", 64}, {"max_iter", 3}, {"random_state", 4}};
  OneByOne plain;
  Recording recording;
  EXPECT_EQ(learn<double>(recording, "MLPClassifier", params, data, weights),
            learn<double>(plain, "MLPClassifier", params, data, weights));
  EXPECT_EQ(recording.made(), 0);
}

}   // namespace
}   // namespace kedge::engine
