// The script that a new machine starts with, run here by a shell with an engine, a clock and an off switch of its own.
#include "provisioning/bootstrap.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "provisioning/process.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {
namespace {

class StartScript : public testing::Test {
 protected:
  StartScript() {
    intent.id = "kedge-test-1";
    intent.image = "kedge/server:1";
    intent.lease.life_s = 3600;
    intent.identity.token = "the-token";
    // The fuse's sleep is over when `fuse` says so, any other at once.
    put("sleep", "echo \"$1\" >>slept; [ \"$1\" != 4200 ] || eval \"$(cat fuse)\"");
    put("docker",
        "echo \"$*\" >>engine; case $1 in run) eval \"$(cat server)\";; pull) eval \"$(cat pull)\";; image) exit 1;; esac");
    write("fuse", "until [ -e off ]; do /bin/sleep 0.02; done");
    write("server", "exit 0");
    write("pull", "exit 0");
  }

  std::string path(const std::string& name) const { return (directory.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text << '\n'; }
  void put(const std::string& name, const std::string& text) const {
    write(name, "#!/bin/sh\ncd " + directory.path().string() + "\n" + text);
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Outcome run() const {
    const std::string text = start_script(intent, "touch " + path("off"));
    return run_program({"env", "PATH=" + directory.path().string() + ":/usr/bin:/bin", "sh", "-s"}, text,
                       std::chrono::seconds(20));
  }

  TemporaryDirectory directory;
  Intent intent;
};

TEST_F(StartScript, EndsTheMachineWhenTheServerHasEnded) {
  EXPECT_EQ(run().status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("off")));
  EXPECT_NE(read("engine").find("run --rm --name kedge --read-only"), std::string::npos) << read("engine");
}

TEST_F(StartScript, EndsTheMachineTenMinutesAfterItsLifeThoughTheServerHangs) {
  write("fuse", "");
  write("server", "until [ -e off ]; do /bin/sleep 0.02; done");
  EXPECT_FALSE(run().timed_out);
  EXPECT_TRUE(std::filesystem::exists(path("off")));
  EXPECT_EQ(read("slept"), "4200\n");
}

TEST_F(StartScript, EndsTheMachineWhoseImageCannotBePulledAfterFiveTries) {
  write("pull", "exit 1");
  write("server", "exit 125");
  EXPECT_EQ(run().status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("off")));
  std::string pulls = read("engine");
  int count = 0;
  for (std::size_t at = 0; (at = pulls.find("pull kedge/server:1", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 5);
}

// Without NVIDIA's toolkit, and with a driver that answers the third call.
TEST_F(StartScript, WaitsForTheDriverAndInstallsTheToolkitThatDockerNeedsForGpus) {
  intent.offer.gpus = 1;
  put("nvidia-smi", "echo x >>asked; [ $(wc -l <asked) -ge 3 ]");
  for (const char* tool : {"tee", "curl", "systemctl", "nvidia-ctk-later"}) put(tool, "echo \"$0 $*\" >>engine");
  put("apt-get", "echo \"apt-get $*\" >>engine; [ $1 = update ] || mv nvidia-ctk-later nvidia-ctk");
  EXPECT_EQ(run().status, 0);
  const std::string done = read("engine");
  EXPECT_EQ(read("asked"), "x\nx\nx\n");
  std::size_t at = 0;
  for (const char* step :
       {"tee /etc/apt/sources.list.d/nvidia-container-toolkit.list", "apt-get install -y -qq nvidia-container-toolkit",
        "nvidia-ctk runtime configure --runtime=docker", "systemctl restart docker", "--gpus all"}) {
    const std::size_t found = done.find(step, at);
    ASSERT_NE(found, std::string::npos) << step << " is not in its place in\n" << done;
    at = found;
  }
}

TEST_F(StartScript, InstallsNothingWhereTheToolkitIsThereAndSaysThatNoDriverAnswers) {
  intent.offer.gpus = 1;
  put("nvidia-ctk", "exit 0");
  put("nvidia-smi", "exit 9");
  put("apt-get", "echo apt-get >>engine");
  EXPECT_NE(run().out.find("no NVIDIA driver answers"), std::string::npos);
  EXPECT_EQ(read("engine").find("apt-get"), std::string::npos) << read("engine");
}

TEST_F(StartScript, TellsTheServerWhatItsGangCosts) {
  intent.offer.price_usd_per_hour = 0.75;
  intent.nodes = 4;
  const std::string text = start_script(intent);
  EXPECT_NE(text.find("export KEDGE_PRICE_PER_HOUR='3'"), std::string::npos) << text;
  EXPECT_NE(text.find(" -e KEDGE_PRICE_PER_HOUR"), std::string::npos);
}

TEST_F(StartScript, GivesTheHeadOfAClusterItsHostsAndTheirKey) {
  intent.nodes = 2;
  intent.gang = intent.id;
  intent.cluster = {.key = "kedge-host-token: x\ny\n",
                    .ranks = 8,
                    .device = "cuda",
                    .patience_s = 900,
                    .hosts = {"localhost:8", "10.0.0.2:8"}};
  const std::string text = start_script(intent);
  for (const char* part : {"export KEDGE_CLUSTER_RANKS='16'\n", "export KEDGE_CLUSTER_HOSTS='localhost:8,10.0.0.2:8'\n",
                           "export KEDGE_CLUSTER_DEVICE='cuda'\n", "export KEDGE_DEVICES='cpu'\n",
                           "export KEDGE_HOST_KEY='kedge-host-token: x\ny\n'\n", "--network host",
                           " -v kedge-copies:/var/tmp", " -e KEDGE_HOST_KEY"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  EXPECT_EQ(text.find("-p 5334"), std::string::npos);
  EXPECT_EQ(run().status, 0);
  EXPECT_NE(read("engine").find("run --rm --name kedge --read-only"), std::string::npos) << read("engine");
}

TEST_F(StartScript, LetsMpiUseTheNetworkOfTheAgentsAlone) {
  intent.gang = intent.id;
  const auto network = [&](std::vector<std::string> agents) {
    agents.insert(agents.begin(), "localhost:1");
    intent.cluster = {.key = "k", .device = "cpu", .hosts = std::move(agents)};
    const std::string text = start_script(intent);
    const std::size_t at = text.find("export OMPI_MCA_btl_tcp_if_include=");
    return at == std::string::npos ? std::string() : text.substr(at + 35, text.find('\n', at) - at - 35);
  };
  EXPECT_EQ(network({"172.31.5.6:1"}), "'172.31.0.0/16'");   // Docker's bridge has 172.17.0.1
  EXPECT_EQ(network({"172.31.5.6:1", "172.31.80.1:1"}), "'172.31.0.0/16'");
  EXPECT_EQ(network({"10.106.34.208:1", "10.104.3.1:1"}), "'10.0.0.0/8'");
  EXPECT_EQ(network({"10.106.34.208:1", "192.168.3.1:1"}), "");
  EXPECT_EQ(network({"fd00::2:1"}), "");
}

TEST_F(StartScript, StartsAnAgentOnTheOtherMachinesOfACluster) {
  intent.gang = "kedge-test-0";
  intent.cluster = {.key = "the-key", .device = "cpu", .patience_s = 900, .hosts = {}};
  const std::string text = start_script(intent);
  for (const char* part :
       {"export KEDGE_HOST_AGENT='0.0.0.0:5335'\n", "export KEDGE_AGENT_IDLE_END='900'\n",
        "export KEDGE_AGENT_LIFE_END='3600'\n", "export KEDGE_HOST_KEY='the-key'\n", "--network host"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  for (const char* part : {"KEDGE_TOKEN_SHA256", "KEDGE_TLS_KEY", "KEDGE_CLUSTER_"})
    EXPECT_EQ(text.find(part), std::string::npos) << part;
}

TEST_F(StartScript, HoldsTheTokensHashAndNotTheToken) {
  const std::string text = start_script(intent);
  EXPECT_EQ(text.find("the-token"), std::string::npos);
  EXPECT_NE(text.find("KEDGE_TOKEN_SHA256="), std::string::npos);
}

}   // namespace
}   // namespace kedge::provisioning
