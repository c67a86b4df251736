// How the docker provider asks an engine for GPUs: docker and podman have different words for it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "provisioning/providers.h"
#include "tests/unit/provisioning/scripted_fake.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {

ProviderFactory make_docker;

namespace {

// The arguments of `run` that an engine gets whose `version` says `words`.
std::string run_arguments(const std::string& words, int gpus) {
  const TemporaryDirectory directory;
  const std::string engine = (directory.path() / "engine").string(), arguments = (directory.path() / "arguments").string();
  std::ofstream(engine) << "#!/bin/sh\ncase $1 in version) echo '" << words << "';; run) echo \"$*\" >" << arguments
                        << ";; esac\n";
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  VirtualClock clock;
  ScriptedFake no_http({}, clock);
  const auto provider = make_docker(
      {.variable = [&engine](const std::string& name) { return name == "KEDGE_DOCKER" ? std::optional(engine) : std::nullopt; },
       .http = no_http,
       .clock = clock,
       .state_directory = {},
       .programs = {}});
  Intent intent{.id = "kedge-test-1"};
  intent.offer.gpus = gpus;
  provider->launch(intent);
  std::ifstream file(arguments);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DockerArguments, AskDockerForAllGpus) {
  EXPECT_NE(run_arguments("Client: Docker Engine", 1).find(" --gpus all "), std::string::npos);
}

TEST(DockerArguments, AskPodmanForTheDevicesByTheirCdiName) {
  const std::string arguments = run_arguments("Client: Podman Engine", 1);
  EXPECT_NE(arguments.find(" --device nvidia.com/gpu=all "), std::string::npos) << arguments;
  EXPECT_EQ(arguments.find("--gpus"), std::string::npos) << arguments;
}

TEST(DockerArguments, RequestNoGpuWhereThereIsNone) {
  for (const char* words : {"Docker", "Podman Engine"})
    for (const char* option : {"--gpus", "--device"}) EXPECT_EQ(run_arguments(words, 0).find(option), std::string::npos);
}

}   // namespace
}   // namespace kedge::provisioning
