// What a controller does when a machine, its server or its provider behaves oddly between launch and readiness.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "provisioning/controller.h"
#include "provisioning/http/client.h"
#include "tests/unit/provisioning/virtual_clock.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {
namespace {

// Two L4 at two prices; machines run at once and end at once.
class TwoOffers final : public Provider {
 public:
  std::string_view name() const override { return "fake"; }
  std::string_view fuse() const override { return kNoFuse; }
  std::vector<Offer> offers(const Wish&) override {
    if (!has_gpus) return {{.provider = "fake", .id = "plain", .gpus = 0, .price_usd_per_hour = 0.1}};
    return {{.provider = "fake", .id = "cheap", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 0.5},
            {.provider = "fake", .id = "dear", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 0.8}};
  }
  Machine launch(const Intent& intent) override { return machines[intent.id] = machine(intent.id); }
  std::optional<Machine> describe(const Intent& intent) override {
    if (failing_calls > 0 && described++ > 0) {
      --failing_calls;
      throw ProviderError(failure, "fake: describe", "not now");
    }
    return machines.contains(intent.id) ? std::optional(machine(intent.id)) : std::nullopt;
  }
  void terminate(const Intent& intent) override { machines.erase(intent.id); }
  std::vector<Machine> list_owned(const std::string&) override {
    std::vector<Machine> all;
    for (const auto& [name, machine] : machines) all.push_back(machine);
    return all;
  }

  std::string log(const Intent&) override { return printed; }

  std::map<std::string, Machine> machines;
  std::string printed;
  bool has_gpus = true;
  Failure failure = Failure::kRetryLater;
  int failing_calls = 0;   // of describe, after the first, which finds the address

 private:
  static Machine machine(const std::string& name) {
    return {.id = name, .name = name, .state = MachineState::kRunning, .address = "192.0.2.1", .port = 5334};
  }
  int described = 0;
};

class UpOnTwoOffers : public testing::Test {
 protected:
  UpOnTwoOffers() {
    auto made = std::make_unique<TwoOffers>();
    cloud = made.get();
    providers.push_back(std::move(made));
    options.wish.gpu = "L4";
    options.image = "kedge";
  }
  UpResult up() {
    Controller controller(store, providers, clock, [this](const Intent& intent) { return probe(intent); });
    return controller.up(options);
  }

  VirtualClock clock;
  TemporaryDirectory directory;
  IntentStore store{directory.path()};
  std::vector<std::unique_ptr<Provider>> providers;
  TwoOffers* cloud = nullptr;
  UpOptions options;
  std::function<Readiness(const Intent&)> probe = [](const Intent&) { return Readiness{.ready = true, .version = "0.1.0"}; };
};

TEST_F(UpOnTwoOffers, WaitsOnWhileTheProviderCannotBeAsked) {
  int probes = 0;
  probe = [&probes](const Intent&) { return Readiness{.ready = ++probes > 50, .version = "0.1.0"}; };
  cloud->failing_calls = 2;
  EXPECT_EQ(up().intent.offer.id, "cheap");
  EXPECT_EQ(cloud->failing_calls, 0);
}

TEST_F(UpOnTwoOffers, EndsTheMachineWhenTheProviderRefusesOurKeyOnTheWay) {
  probe = [](const Intent&) { return Readiness{}; };
  cloud->failing_calls = 1;
  cloud->failure = Failure::kAuth;
  EXPECT_THROW(up(), ProviderError);
  EXPECT_TRUE(cloud->machines.empty());
  EXPECT_TRUE(store.list().intents.empty());
}

TEST_F(UpOnTwoOffers, TakesTheNextOfferWhereTheServerCannotUseTheRequestedGpu) {
  probe = [](const Intent& intent) {
    return Readiness{.ready = true, .version = "0.1.0", .no_gpu = intent.offer.id == "cheap" ? "the driver is too old" : ""};
  };
  const UpResult result = up();
  EXPECT_EQ(result.intent.offer.id, "dear");
  ASSERT_EQ(result.attempts.size(), 1u);
  EXPECT_NE(result.attempts[0].outcome.find("the driver is too old"), std::string::npos) << result.attempts[0].outcome;
  EXPECT_EQ(cloud->machines.size(), 1u);
}

TEST_F(UpOnTwoOffers, KeepsAMachineWithoutAUsableGpuWhereNoneWasRequestedAndSaysWhy) {
  options.wish.gpu.clear();
  probe = [](const Intent&) { return Readiness{.ready = true, .version = "0.1.0", .no_gpu = "the driver is too old"}; };
  const UpResult result = up();
  EXPECT_EQ(result.intent.offer.id, "cheap");
  EXPECT_EQ(result.no_gpu, "the driver is too old");
}

TEST_F(UpOnTwoOffers, GivesAServerTimeToFindItsDevices) {
  int probes = 0;
  probe = [&probes](const Intent&) {
    const bool looking = ++probes < 5;
    return Readiness{.ready = true, .looking = looking, .version = "0.1.0", .no_gpu = looking ? "" : "none answers"};
  };
  EXPECT_THROW(up(), NothingRented);
  EXPECT_TRUE(cloud->machines.empty());
}

TEST_F(UpOnTwoOffers, IsReadyOnlyWhenADeviceIsAlsoWithoutGpus) {
  cloud->has_gpus = false;
  options.wish.gpu.clear();
  int probes = 0;
  probe = [&probes](const Intent&) { return Readiness{.ready = true, .looking = ++probes < 100, .version = "0.1.0"}; };
  up();
  EXPECT_EQ(probes, 100);
}

TEST_F(UpOnTwoOffers, EndsAMachineWhoseServerHasNoDevice) {
  probe = [](const Intent&) { return Readiness{.ready = true, .version = "0.1.0", .no_device = "cpu: no worker starts"}; };
  try {
    up();
    FAIL();
  } catch (const NothingRented& error) {
    EXPECT_NE(std::string(error.what()).find("cpu: no worker starts"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(cloud->machines.empty());
}

struct FakeServer final : http::Client {
  std::string devices;
  http::Response send(const http::Request& request) override {
    if (request.url.ends_with("/v1/info"))
      return {.status = 200, .body = R"({"version":"0.1.0","devices":[)" + devices + "]}"};
    return {.status = 200, .body = R"({"jobs":[]})"};
  }
};

TEST(HttpsProbe, DistinguishesNoDeviceYetFromNoneAtAll) {
  FakeServer server;
  const Probe probe = https_probe(server);
  EXPECT_TRUE(probe({}).looking);
  server.devices = R"({"id":"cpu","name":"a"},{"id":"cuda","missing":"no driver"})";
  EXPECT_FALSE(probe({}).looking);
  EXPECT_EQ(probe({}).no_device, "");
  EXPECT_EQ(probe({}).no_gpu, "no driver");
  server.devices = R"({"id":"cpu","missing":"no worker"},{"id":"cuda","missing":"no driver"})";
  EXPECT_EQ(probe({}).no_device, "cpu: no worker; cuda: no driver");
}

TEST(HttpsProbe, OfAHeadOfAClusterWaitsForItsRanks) {
  FakeServer server;
  const Probe probe = https_probe(server);
  const Intent head{.id = "a", .gang = "a", .nodes = 2, .cluster = {.key = "k", .device = "cuda", .hosts = {}}};
  const auto with = [&](const std::string& cluster) {
    server.devices = R"({"id":"cpu","name":"a","memoryBytes":"1"},{"id":"cuda","missing":"only for cpu, cluster"})" +
                     (cluster.empty() ? cluster : R"(,{"id":"cluster","name":"2 ranks",)" + cluster + "}");
    return probe(head);
  };
  Readiness said = with(R"("memoryBytes":"0")");
  EXPECT_TRUE(said.looking);
  EXPECT_EQ(said.problem, "its ranks have not come together");
  said = with(R"("missing":"its worker does not start: the launcher ended")");
  EXPECT_TRUE(said.looking);   // the server goes on trying
  EXPECT_EQ(said.problem, "its ranks have not come together: its worker does not start: the launcher ended");
  said = with(R"("missing":"there is no program mpirun")");
  EXPECT_FALSE(said.looking);
  EXPECT_EQ(said.no_device, "cluster: there is no program mpirun");
  EXPECT_EQ(with("").no_device, "cluster: it has no device of this name");
  said = with(R"("memoryBytes":"1024")");
  EXPECT_FALSE(said.looking);
  EXPECT_EQ(said.no_device + said.no_gpu + said.problem, "");
  server.devices.clear();
  EXPECT_EQ(probe(head).problem, "");   // it does not know its devices yet
}

TEST_F(UpOnTwoOffers, SweepsALaunchWithoutATraceInNoTimeAndKeepsItsRow) {
  Intent lost{.id = store.new_id(), .created = clock.unix_seconds()};
  lost.offer.provider = "fake";
  store.put(lost);
  Controller controller(store, providers, clock, probe);
  const double begin = clock.steady_seconds();
  EXPECT_EQ(controller.sweep().pending.size(), 1u);
  EXPECT_LE(clock.steady_seconds(), begin);
  EXPECT_EQ(store.list().intents.size(), 1u);
  clock.sleep(cloud->settle() + std::chrono::seconds(1));
  EXPECT_EQ(controller.sweep().ended.size(), 1u);
  EXPECT_TRUE(store.list().intents.empty());
}

TEST_F(UpOnTwoOffers, LeavesAloneWhatACopyOfThisMachineHasRentedUntilItIsNamed) {
  const std::string theirs = up().intent.id;
  TemporaryDirectory copy;
  IntentStore store_of_copy(copy.path());
  ASSERT_EQ(store_of_copy.owner(), store.owner());
  Controller controller(store_of_copy, providers, clock, probe);
  const Swept swept = controller.sweep();
  EXPECT_TRUE(swept.ended.empty());
  ASSERT_EQ(swept.others.size(), 1u);
  EXPECT_TRUE(swept.others[0].starts_with(theirs)) << swept.others[0];
  EXPECT_EQ(cloud->machines.size(), 1u);
  EXPECT_FALSE(controller.claim(theirs + "0"));
  const auto claimed = controller.claim(theirs);
  ASSERT_TRUE(claimed);
  EXPECT_TRUE(controller.end(*claimed, "test"));
  EXPECT_TRUE(cloud->machines.empty());
}

TEST(IntentStoreMark, IsTheSameForAllUsersOfADirectoryAndMadeAgainWhenItIsDamaged) {
  TemporaryDirectory directory;
  const IntentStore first(directory.path()), second(directory.path());
  const std::string id = first.new_id();
  EXPECT_TRUE(second.named_here(id));
  std::ofstream(directory.path() / "mark") << "?";
  const IntentStore third(directory.path());
  EXPECT_TRUE(third.is_ours(id));
  EXPECT_FALSE(third.named_here(id));
  EXPECT_TRUE(IntentStore(directory.path()).named_here(third.new_id()));
}

TEST_F(UpOnTwoOffers, ShowsTheLogOfAMachineThatNeverAnswersWithoutWhatATerminalWouldObey) {
  probe = [](const Intent&) { return Readiness{.problem = "no answer"}; };
  cloud->printed = "line\n\x1b[2J\xff done";
  try {
    up();
    FAIL();
  } catch (const NothingRented& error) {
    ASSERT_EQ(error.attempts.size(), 2u);
    EXPECT_NE(error.attempts[0].outcome.find("no answer"), std::string::npos) << error.attempts[0].outcome;
    EXPECT_NE(error.attempts[0].outcome.find("line\n?[2J\xef\xbf\xbd done"), std::string::npos) << error.attempts[0].outcome;
  }
  EXPECT_TRUE(cloud->machines.empty());
}

TEST_F(UpOnTwoOffers, SaysHowTheMachineEndsWhenItCannotBeReached) {
  EXPECT_EQ(up().fuse, kNoFuse);
}

}   // namespace
}   // namespace kedge::provisioning
