// What a job's warnings say of the host's share of the work, where the device is a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/model/model_task.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/builtin_data.h"

namespace kedge::engine {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kHost = "on a GPU the host still computes ";

// A model of iris, fitted on the CPU.
std::filesystem::path fitted(const std::filesystem::path& folder, std::vector<schema::Step> steps) {
  RunFiles files{.model_file = folder / "model.kedge", .data_digest = "feed"};
  const schema::JobSpec spec{
      .dataset = {schema::BuiltinRef{"iris"}}, .pipeline = std::move(steps), .task = schema::Fit{}};
  Pipeline::build(spec).run({.device = cpu()}, builtin("iris"), {}, &files);
  return files.model_file;
}

std::vector<std::string> warnings(Device& device, const std::filesystem::path& model_file) {
  const TemporaryFolder output;
  const Context ctx{.device = device};
  const auto model = StoredModel::load(ctx, model_file);
  const schema::JobSpec spec{.dataset = {schema::BuiltinRef{"iris"}}, .task = schema::Predict{.model = "mdl_1"}};
  return run_model_task(ctx, spec, *model, builtin("iris"), output.path()).warnings;
}

TEST(HostParts, OfAPredictionAreInTheResult) {
  const TemporaryFolder folder;
  const auto model = fitted(folder.path(), {{"StandardScaler", {}}, {"KNeighborsClassifier", {}}});
  const auto gpu = make_cuda_device({});
  const std::vector<std::string> said = warnings(*gpu, model);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0], std::string("KNeighborsClassifier: ") + kHost + "the votes of the neighbours");
}

TEST(HostParts, OfAPredictionAreNotThereWhereTheDeviceDoesAll) {
  const TemporaryFolder folder;
  const auto gpu = make_cuda_device({});
  EXPECT_THAT(warnings(*gpu, fitted(folder.path(), {{"StandardScaler", {}}, {"GaussianNB", {}}})), IsEmpty());
  EXPECT_THAT(warnings(cpu(), fitted(folder.path(), {{"KNeighborsClassifier", {}}})), IsEmpty());
}

// A fit's are other ones.
TEST(HostParts, OfAFitAreInTheResult) {
  const auto gpu = make_cuda_device({});
  const schema::JobSpec spec{.dataset = {schema::BuiltinRef{"iris"}},
                             .pipeline = {{"RandomForestClassifier", {{"n_estimators", 1}}}},
                             .task = schema::Fit{}};
  EXPECT_THAT(Pipeline::build(spec).run({.device = *gpu}, builtin("iris")).warnings,
              Contains(StartsWith(std::string("RandomForestClassifier: ") + kHost)));
}

}   // namespace
}   // namespace kedge::engine
