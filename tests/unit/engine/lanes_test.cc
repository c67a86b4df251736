// Folds side by side on one device: the results, warnings, events and errors of one after the other.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <thread>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/lanes.h"
#include "engine/core/lane.h"
#include "engine/core/stop.h"
#include "engine/generate/generate.h"
#include "engine/model_selection/lanes.h"
#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// KEDGE_GPU_LANES while it lives.
class WantedLanes {
 public:
  explicit WantedLanes(const std::string& value) { ::setenv(kLanesVariable, value.c_str(), 1); }
  ~WantedLanes() { ::unsetenv(kLanesVariable); }
  WantedLanes(const WantedLanes&) = delete;
  WantedLanes& operator=(const WantedLanes&) = delete;
};

emulated::DeviceMemory& emulated_memory(Device& device) {
  return static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory;
}

JobSpec spec_from(const std::string& json) {
  return schema::from_json<JobSpec>(json);
}

const DatasetFile& data_of(const JobSpec& spec) {
  if (const auto* name = std::get_if<schema::BuiltinRef>(&spec.dataset.source)) return builtin(name->name);
  static const TemporaryFolder folder;
  static std::list<std::pair<schema::GenerateRef, DatasetFile>> made;
  const auto& ref = std::get<schema::GenerateRef>(spec.dataset.source);
  for (const auto& [of, file] : made)
    if (of == ref) return file;
  const auto path = folder.path() / std::to_string(made.size());
  write_generated(ref, path);
  made.emplace_back(ref, path).second.name_columns();
  return made.back().second;
}

// What a job says and gives that no clock is in.
struct Outcome {
  std::string result, error;
  std::vector<std::string> said;        // metrics of folds and log lines, in order
  std::vector<std::int64_t> progress;   // of folds and fits
};

void note(const schema::EventBody& body, Outcome& outcome) {
  if (const auto* line = std::get_if<schema::LogEvent>(&body)) outcome.said.push_back(line->message);
  if (const auto* metric = std::get_if<schema::MetricEvent>(&body); metric && metric->fold >= 0)
    outcome.said.push_back(fmt::format("{} {} {}", metric->name, metric->value, metric->fold));
  if (const auto* at = std::get_if<schema::ProgressEvent>(&body);
      at && (at->phase == "fold" || at->phase == "candidate"))
    outcome.progress.push_back(at->done);
}

Outcome run(const JobSpec& spec, int lanes, Device& device, std::stop_token stop = {}) {
  const WantedLanes wanted(std::to_string(lanes));
  Outcome outcome;
  RunFiles files{.model_file = "/nonexistent/model", .keep = std::size_t{64} << 20};
  const StopScope scope(stop);
  const std::thread::id here = std::this_thread::get_id();
  const auto emit = [&](const schema::EventBody& body) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    note(body, outcome);
  };
  try {
    const Context ctx{.device = device, .seed = 0, .stop = stop, .emit = emit};
    schema::Result result = Pipeline::build(spec).run(ctx, data_of(spec), {}, &files);
    result.timings = {}, result.memory = {};
    if (result.search) {
      result.search->refit = 0;
      std::erase_if(result.search->cvResults,
                    [](const auto& column) { return column.first.find("_time") != std::string::npos; });
    }
    for (auto& [name, value] : result.evaluation)
      if (auto* curve = std::get_if<schema::ValueMap>(&value.data))
        std::erase_if(*curve, [](const auto& column) { return column.first.ends_with("_times"); });
    outcome.result = schema::to_json(result) + std::to_string(std::hash<std::string>()(files.model_bytes));
  } catch (const Error& error) {
    outcome.error = fmt::format("{} {}", static_cast<int>(error.code), error.message);
  }
  return outcome;
}

struct LaneJob {
  std::string name, spec;
  friend void PrintTo(const LaneJob& job, std::ostream* out) { *out << job.name; }
};

class JobsInLanes : public testing::TestWithParam<LaneJob> {};

TEST_P(JobsInLanes, GiveWhatTheyGiveWithout) {
  const JobSpec spec = spec_from(GetParam().spec);
  const auto device = make_cuda_device({.seed = 3});
  const Outcome alone = run(spec, 1, *device);
  const auto& memory = emulated_memory(*device);
  for (const int lanes : {3, 5}) {
    const auto other = make_cuda_device({.seed = 3});
    const Outcome beside = run(spec, lanes, *other);
    EXPECT_EQ(beside.result, alone.result);
    EXPECT_EQ(beside.error, alone.error);
    EXPECT_EQ(beside.said, alone.said);
    EXPECT_TRUE(std::ranges::is_sorted(beside.progress)) << testing::PrintToString(beside.progress);
    if (alone.error.empty()) {
      EXPECT_EQ(beside.progress.back(), alone.progress.back());
    }
    EXPECT_EQ(emulated_memory(*other).live_bytes(), memory.live_bytes());
  }
}

std::string job(const char* data, const char* steps, const char* task) {
  return fmt::format(R"({{"dataset": {}, "pipeline": [{}], "task": {}}})", data, steps, task);
}

constexpr const char* kIris = R"({"builtin": "iris"})";
constexpr const char* kFiveFolds = R"({"crossValidate": {"cv": 5}})";

const std::vector<LaneJob> kJobs = {
    {"Forest",
     job(kIris, R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 4}})",
         R"({"crossValidate": {"cv": 4, "returnTrainScore": true, "scoring": ["accuracy", "neg_log_loss"]}})")},
    {"ScalerAndLogistic", job(kIris, R"({"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"})",
                              R"({"crossValidate": {"cv": 5, "confusionMatrix": true, "curves": true}})")},
    {"NotConverged", job(kIris, R"({"estimator": "LogisticRegression", "params": {"max_iter": 2}})", kFiveFolds)},
    {"Parts",
     job(kIris, R"({"estimator": "BaggingClassifier", "params": {"n_estimators": 2, "max_features": 2}})", kFiveFolds)},
    {"Boosting",
     job(kIris, R"({"estimator": "HistGradientBoostingClassifier", "params": {"max_iter": 2}})", kFiveFolds)},
    {"Ridge",
     job(R"({"builtin": "diabetes"})", R"({"estimator": "StandardScaler"}, {"estimator": "Ridge"})", kFiveFolds)},
    {"Neighbours", job(kIris, R"({"estimator": "KNeighborsClassifier"})", kFiveFolds)},
    {"Search",
     job(kIris, R"({"estimator": "StandardScaler"}, {"estimator": "PCA"}, {"estimator": "KNeighborsClassifier"})",
         R"({"gridSearch": {"paramGrid": {"pca__n_components": [2, 3], "kneighborsclassifier__n_neighbors": [1, 3]}}})")},
    {"SearchOfTrees", job(kIris, R"({"estimator": "RandomForestClassifier", "params": {"max_features": 2}})",
                          R"({"gridSearch": {"paramGrid": {"n_estimators": [2, 4], "max_depth": [1, 2]}}})")},
    {"SearchThatPartlyFails", job(kIris, R"({"estimator": "KNeighborsClassifier"})",
                                  R"({"gridSearch": {"paramGrid": {"n_neighbors": [3, 119, 500, 121]}}})")},
    {"SearchThatRaises", job(kIris, R"({"estimator": "KNeighborsClassifier"})",
                             R"({"gridSearch": {"paramGrid": {"n_neighbors": [3, 500]}, "errorScore": "raise"}})")},
    {"SearchThatFails", job(kIris, R"({"estimator": "KNeighborsClassifier"})",
                            R"({"gridSearch": {"paramGrid": {"n_neighbors": [400, 500]}}})")},
    {"Randomized",
     job(kIris, R"({"estimator": "GaussianNB"})",
         R"({"randomizedSearch": {"paramDistributions": {"var_smoothing": [1e-9, 1e-3, 0.1]}, "nIter": 2}})")},
    {"Halving", job(kIris, R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 2}})",
                    R"({"halvingGridSearch": {"paramGrid": {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5]}}})")},
    {"PermutationTest",
     job(kIris, R"({"estimator": "GaussianNB"})",
         R"({"permutationTestScore": {"nPermutations": 7, "randomState": 1, "crossValidate": {"cv": 3}}})")},
    {"LearningCurve", job(kIris, R"({"estimator": "GaussianNB"})", R"({"learningCurve": {"trainSizes": [0.3, 1.0]}})")},
};

INSTANTIATE_TEST_SUITE_P(Cases, JobsInLanes, testing::ValuesIn(kJobs),
                         [](const auto& info) { return info.param.name; });

// From some allocation on lanes have no memory: at once, in the first folds, and when some folds are done.
TEST(Lanes, MakeWhatHasNoRoomAgainAlone) {
  const JobSpec spec = spec_from(kJobs[1].spec);
  const auto device = make_cuda_device({.seed = 3});
  const Outcome alone = run(spec, 1, *device);
  for (const int fails_at : {0, 7, 60}) {
    std::atomic<int> in_lanes{0}, failures{0};
    emulated_memory(*device).before_allocate = [&](std::size_t) {
      if (!in_lane() || ++in_lanes <= fails_at) return;
      ++failures;
      throw Error(ErrorCode::kOutOfMemory, "no memory in lanes");
    };
    const Outcome beside = run(spec, 3, *device);
    emulated_memory(*device).before_allocate = nullptr;
    EXPECT_EQ(beside.result, alone.result);
    EXPECT_EQ(beside.error, "");
    EXPECT_EQ(beside.said, alone.said);
    EXPECT_GT(failures, 0);
  }
}

TEST(Lanes, FailWhereThereIsNoMemoryAlone) {
  const auto device = make_cuda_device({});
  std::atomic<bool> has_been_in_lane{false};
  emulated_memory(*device).before_allocate = [&](std::size_t) {
    has_been_in_lane = has_been_in_lane || in_lane();
    if (has_been_in_lane) throw Error(ErrorCode::kOutOfMemory, "no memory at all");
  };
  const Outcome outcome = run(spec_from(kJobs[0].spec), 3, *device);
  emulated_memory(*device).before_allocate = nullptr;
  EXPECT_THAT(outcome.error, HasSubstr("no memory at all"));
}

// --- deal_to_lanes() ---

class Dealing : public testing::Test {
 protected:
  // Takes the numbers of pieces that were made.
  void deal(int lanes, std::int64_t n, const std::function<void(const Context&, std::int64_t)>& make) {
    const LaneWork work{.n = n,
                        .make =
                            [&](const Context& ctx, std::int64_t i) {
                              make(ctx, i);
                              return std::vector<std::byte>(static_cast<std::size_t>(i));
                            },
                        .take =
                            [&](std::int64_t i, std::span<const std::byte> made) {
                              EXPECT_EQ(std::ssize(made), i);
                              taken_.push_back(i);
                            }};
    deal_to_lanes(ctx_, lanes, work);
  }

  std::stop_source stop_;
  const std::unique_ptr<Device> device_ = make_cuda_device({});
  const Context ctx_{.device = *device_, .seed = 5, .stop = stop_.get_token()};
  std::vector<std::int64_t> taken_;
};

TEST_F(Dealing, TakesInOrderWhatLanesMakeOnDevicesOfTheirOwn) {
  std::atomic<int> here{0};
  deal(3, 3, [&](const Context& ctx, std::int64_t i) {
    EXPECT_TRUE(in_lane());
    EXPECT_NE(&ctx.device, device_.get());
    EXPECT_EQ(ctx.seed, 5U);
    ++here;
    while (here < 3) std::this_thread::yield();   // all three at the same time
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * (2 - i)));
    const Matrix<double> X(ctx.memory(), 3, 2, std::vector<double>{1, 2, 3, 4, 5, 6});
    Array<double> sums(ctx.memory(), 2);
    ctx.ops<double>().rows->column_sums(X.view(), sums.view());
    EXPECT_THAT(sums.to_host(), ElementsAre(9, 12));
  });
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2));
  EXPECT_FALSE(in_lane());
}

TEST_F(Dealing, ThrowsTheFirstErrorByPieceAndEndsTheOthers) {
  std::atomic<bool> second_failed{false};
  try {
    deal(3, 9, [&](const Context& ctx, std::int64_t i) {
      if (i == 1) {
        while (!second_failed) std::this_thread::yield();
        throw Error(ErrorCode::kBadData, "of piece 1");
      }
      if (i == 2) {
        second_failed = true;
        throw Error(ErrorCode::kBadData, "of piece 2");
      }
      static_cast<void>(ctx);
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message, "of piece 1");
  }
  EXPECT_THAT(taken_, ElementsAre(0));
}

TEST_F(Dealing, StopsPiecesBehindOneThatFails) {
  std::atomic<int> running{0};
  EXPECT_THROW(deal(2, 2,
                    [&](const Context& ctx, std::int64_t i) {
                      ++running;
                      while (running < 2) std::this_thread::yield();
                      if (i == 0) throw std::runtime_error("piece 0");
                      for (;;) ctx.check_stop();
                    }),
               std::runtime_error);
}

TEST_F(Dealing, EndsSoonWhenTheJobIsStopped) {
  std::atomic<int> running{0};
  std::jthread canceller([&] {
    while (running < 3) std::this_thread::yield();
    stop_.request_stop();
  });
  try {
    deal(3, 6, [&](const Context&, std::int64_t) {
      ++running;
      for (;;) check_job_stop();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
  }
  EXPECT_EQ(running, 3);
}

TEST_F(Dealing, EndsSoonWhenTheThreadOfTheJobIsStopped) {
  std::stop_source by_scope;
  const StopScope scope(by_scope.get_token());
  try {
    deal(2, 4, [&](const Context&, std::int64_t) {
      by_scope.request_stop();
      for (;;) check_job_stop();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
  }
}

TEST_F(Dealing, MakesAloneWhatHadNoMemory) {
  std::atomic<int> alone{0};
  deal(2, 5, [&](const Context& ctx, std::int64_t i) {
    if (in_lane() && i % 2 == 0) throw std::bad_alloc();
    if (in_lane()) return;
    EXPECT_EQ(&ctx.device, device_.get());
    ++alone;
  });
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_GE(alone, 2);
}

TEST_F(Dealing, EndsTheLanesWhereAResultCannotBeTaken) {
  const LaneWork work{.n = 4,
                      .make =
                          [](const Context& ctx, std::int64_t i) {
                            while (i > 0) ctx.check_stop();
                            return std::vector<std::byte>();
                          },
                      .take = [](std::int64_t, std::span<const std::byte>) { throw std::runtime_error("no room"); }};
  EXPECT_THROW(deal_to_lanes(ctx_, 3, work), std::runtime_error);
}

// --- how many ---

TEST(LanesFor, AreWhatTheVariableSaysWithinThePieces) {
  const auto device = make_cuda_device({});
  const Context ctx{.device = *device};
  EXPECT_EQ(lanes_for(ctx, {.pieces = 5}), 1);   // an emulated device gains nothing
  const WantedLanes wanted("4");
  EXPECT_EQ(lanes_for(ctx, {.pieces = 5}), 4);
  EXPECT_EQ(lanes_for(ctx, {.pieces = 3}), 3);
  EXPECT_EQ(lanes_for(ctx, {.pieces = 1}), 1);
  EXPECT_EQ(lanes_for({.device = cpu()}, {.pieces = 5}), 1);
  const LaneScope in_one;
  EXPECT_EQ(lanes_for(ctx, {.pieces = 5}), 1);
}

TEST(LanesFor, RefusesWhatIsNoNumberOfLanes) {
  const auto device = make_cuda_device({});
  for (const char* value : {"0", "-1", "33", "two", "3x"}) {
    const WantedLanes wanted(value);
    try {
      lanes_for({.device = *device}, {.pieces = 5});
      FAIL() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
      EXPECT_EQ(error.message, fmt::format("KEDGE_GPU_LANES is {}, must be 1 to 32", value));
    }
  }
}

// --- what lanes make once ---

TEST(MakeOnce, IsDoneByOneLane) {
  const auto device = make_cuda_device({});
  int made = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const LaneScope scope;
        make_once(&made, device->memory(), [&] { return made > 0; }, [&] { ++made; });
      });
  }
  EXPECT_EQ(made, 1);
}

TEST(MakeOnce, IsTriedAgainAfterAnError) {
  const auto device = make_cuda_device({});
  const LaneScope scope;
  int made = 0;
  const auto fails = [] { throw Error(ErrorCode::kOutOfMemory, "full"); };
  EXPECT_THROW(make_once(&made, device->memory(), [&] { return made > 0; }, fails), Error);
  make_once(&made, device->memory(), [&] { return made > 0; }, [&] { ++made; });
  EXPECT_EQ(made, 1);
}

}   // namespace
}   // namespace kedge::engine
