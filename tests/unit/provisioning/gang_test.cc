// Gangs: all machines or none, whichever call fails and wherever the controller is killed.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "provisioning/controller.h"
#include "provisioning/providers.h"
#include "tests/unit/provisioning/virtual_clock.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {
namespace {

struct Killed {};   // no std::exception: nothing may catch it on the way

struct GangFaults {
  double refused = 0, lost_reply = 0, error = 0, lie = 0, dies = 0;
  std::int64_t lag_s = 0;   // at most
};

// Two offers of a cloud whose calls fail by chance, in virtual time.
class GangCloud final : public Provider {
 public:
  struct Row {
    Machine machine;
    std::int64_t visible = 0;
    int lies = 0;   // so many ends are agreed to and not done
    bool alive = true;
  };

  GangCloud(VirtualClock& clock, std::function<void()> step, unsigned seed)
      : clock_(clock), step_(std::move(step)), random_(seed) {}
  std::string_view name() const override { return "fake"; }
  std::string_view fuse() const override { return kNoFuse; }
  std::vector<Offer> offers(const Wish&) override {
    return {{.provider = "fake", .id = "cheap", .gpu = "H100", .gpus = 8, .region = "a", .price_usd_per_hour = 20},
            {.provider = "fake", .id = "dear", .gpu = "H100", .gpus = 8, .region = "b", .price_usd_per_hour = 30}};
  }
  Machine launch(const Intent& intent) override {
    call();
    if (++launches == refuse_launch || chance(faults.refused))
      throw ProviderError(Failure::kNoCapacity, "fake: launch", "sold out");
    const Machine made{.id = "m-" + intent.id,
                       .name = intent.id,
                       .state = MachineState::kRunning,
                       .address = "192.0.2.1",
                       .port = 5334,
                       .private_address = fmt::format("10.0.0.{}", launches),
                       .region = intent.offer.region};
    rows[intent.id] = {made, clock_.unix_seconds() + draw(faults.lag_s), chance(faults.lie) ? 2 : 0, true};
    launched.push_back(intent);
    step_();
    if (chance(faults.lost_reply)) throw ProviderError(Failure::kRetryLater, "fake: launch", "timeout", 0, true);
    return made;
  }
  std::optional<Machine> describe(const Intent& intent) override {
    call();
    const auto found = rows.find(intent.id);
    if (found == rows.end() || !found->second.alive || clock_.unix_seconds() < found->second.visible)
      return std::nullopt;
    if (chance(faults.dies)) return found->second.alive = false, std::nullopt;
    return found->second.machine;
  }
  void terminate(const Intent& intent) override {
    call();
    const auto found = rows.find(intent.id);
    if (found != rows.end() && found->second.lies-- <= 0) found->second.alive = false;
  }
  std::vector<Machine> list_owned(const std::string&) override {
    call();
    std::vector<Machine> all;
    for (const auto& [name, row] : rows)
      if (row.alive && clock_.unix_seconds() >= row.visible) all.push_back(row.machine);
    return all;
  }
  int alive() const {
    return static_cast<int>(std::ranges::count_if(rows, [](const auto& row) { return row.second.alive; }));
  }

  GangFaults faults;
  std::map<std::string, Row> rows;
  std::vector<Intent> launched;          // as they were given to launch()
  int launches = 0, refuse_launch = 0;   // number of the launch that is refused, from 1

 private:
  void call() {
    step_();
    clock_.sleep(std::chrono::milliseconds(50));
    if (chance(faults.error)) throw ProviderError(Failure::kRetryLater, "fake", "not now");
  }
  bool chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  std::int64_t draw(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random_); }

  VirtualClock& clock_;
  std::function<void()> step_;
  std::mt19937 random_;
};

// A cloud, a disk, and controllers that live and die on them.
class GangWorld {
 public:
  explicit GangWorld(unsigned seed = 1) {
    auto made = std::make_unique<GangCloud>(clock, [this] { step(); }, seed);
    cloud = made.get();
    providers_.push_back(std::move(made));
    options.wish = {.gpu = "H100", .gpus = 8, .nodes = 4};
    options.image = "kedge";
  }
  template <class Life>
  void live(Life life) {   // one process; Killed ends it
    IntentStore store(directory.path(), [this] { step(); });
    Controller controller(store, providers_, clock, [this](const Intent& intent) {
      step();
      EXPECT_FALSE(intent.is_agent()) << "an agent has no server";
      if (probe) return probe(intent);
      return Readiness{.ready = true, .busy = intent.id == busy, .version = "0.1.0"};
    });
    try {
      life(controller, store);
    } catch (const Killed&) {
    } catch (const schema::Error&) {   // it said that it could not; what it left is judged by the test
    }
  }
  void wish_cluster() {
    options.wish.cluster = true;
    options.new_host_key = [this] { return fmt::format("key {}", ++keys_); };
  }
  void kill_after(int steps) { left_ = steps; }
  void sweep(int times = 1) {
    for (; times > 0; --times) {
      clock.sleep(std::chrono::seconds(180));
      live([](Controller& controller, IntentStore&) { controller.sweep(); });
    }
  }
  std::size_t rows() const { return IntentStore(directory.path()).list().intents.size(); }

  VirtualClock clock;
  TemporaryDirectory directory;
  UpOptions options;
  GangCloud* cloud = nullptr;
  std::string busy;
  std::function<Readiness(const Intent&)> probe;
  int steps = 0;

 private:
  void step() {
    ++steps;
    if (left_ > 0 && --left_ == 0) throw Killed{};
  }
  std::vector<std::unique_ptr<Provider>> providers_;
  int left_ = -1, keys_ = 0;
};

TEST(Gang, IsFourMachinesOfOnePlaceWithOneLeaseAndEndsAsOne) {
  GangWorld world;
  world.live([&](Controller& controller, IntentStore& store) {
    const GangResult gang = controller.up_gang(world.options);
    ASSERT_EQ(gang.members.size(), 4u);
    std::set<std::string> names;
    for (const UpResult& member : gang.members) {
      EXPECT_EQ(member.intent.gang, gang.members[0].intent.id);
      EXPECT_EQ(member.intent.offer.region, "a");
      EXPECT_EQ(member.intent.lease, gang.members[0].intent.lease);
      names.insert(member.intent.id);
    }
    EXPECT_EQ(names.size(), 4u);
    EXPECT_EQ(store.find(*names.begin())->nodes, 4);   // as it is on disk
    EXPECT_TRUE(controller.end_gang(gang.members[0].intent.gang, "test"));
  });
  EXPECT_EQ(world.cloud->rows.size(), 4u);
  EXPECT_EQ(world.cloud->alive(), 0);
  EXPECT_EQ(world.rows(), 0u);
}

TEST(Gang, WhoseThirdMachineIsRefusedGivesTheOthersBackAndTakesTheNextOffer) {
  GangWorld world;
  world.cloud->refuse_launch = 3;
  world.live([&](Controller& controller, IntentStore&) {
    const GangResult gang = controller.up_gang(world.options);
    ASSERT_EQ(gang.attempts.size(), 1u);
    EXPECT_NE(gang.attempts[0].outcome.find("machine 3 of 4: "), std::string::npos) << gang.attempts[0].outcome;
    for (const UpResult& member : gang.members) EXPECT_EQ(member.intent.offer.id, "dear");
  });
  EXPECT_EQ(world.cloud->rows.size(), 6u);
  EXPECT_EQ(world.cloud->alive(), 4);
  EXPECT_EQ(world.rows(), 4u);
}

TEST(Gang, IsBoundByTheCapOfWhatAllItsMachinesCost) {
  GangWorld world;
  world.options.max_spend =
      20 * 1.0 * 4 / 6 + 0.2;   // the slack of ten minutes alone, of four machines at 20 USD an hour
  world.live(
      [&](Controller& controller, IntentStore&) { EXPECT_THROW(controller.up_gang(world.options), NothingRented); });
  EXPECT_TRUE(world.cloud->rows.empty());
  EXPECT_EQ(world.rows(), 0u);
}

class GangOrCluster : public testing::TestWithParam<bool> {
 protected:
  static void choose(GangWorld& world) {
    if (GetParam()) world.wish_cluster();
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, GangOrCluster, testing::Bool(),
                         [](const auto& info) { return info.param ? "Cluster" : "Gang"; });

TEST_P(GangOrCluster, KilledAtAnyStepIsWholeOrGone) {
  GangWorld undisturbed;
  choose(undisturbed);
  undisturbed.live([&](Controller& controller, IntentStore&) { controller.up_gang(undisturbed.options); });
  for (int step = 1; step <= undisturbed.steps; ++step) {
    GangWorld world;
    choose(world);
    world.options.lease.idle_s = 3600;
    world.kill_after(step);
    world.live([&](Controller& controller, IntentStore&) { controller.up_gang(world.options); });
    world.kill_after(-1);
    world.sweep(2);
    const int left = world.cloud->alive();
    EXPECT_TRUE(left == 0 || left == 4) << left << " after step " << step;
    EXPECT_EQ(world.rows(), static_cast<std::size_t>(left)) << "after step " << step;
  }
}

TEST(Gang, ThatLosesAMachineIsEndedByOneSweep) {
  GangWorld world;
  world.options.lease.idle_s = 3600;
  world.live([&](Controller& controller, IntentStore&) { controller.up_gang(world.options); });
  world.sweep();
  EXPECT_EQ(world.cloud->alive(), 4);
  std::prev(world.cloud->rows.end())->second.alive = false;
  world.sweep();
  EXPECT_EQ(world.cloud->alive(), 0);
  EXPECT_EQ(world.rows(), 0u);
}

TEST(Gang, IsUsedWhileOneOfItsMachinesIs) {
  GangWorld world;
  world.live([&](Controller& controller, IntentStore&) {
    world.busy = controller.up_gang(world.options).members[2].intent.id;
  });
  world.clock.sleep(std::chrono::hours(2));
  world.sweep();
  EXPECT_EQ(world.cloud->alive(), 4);
  world.busy.clear();
  world.clock.sleep(std::chrono::hours(2));
  world.sweep();
  EXPECT_EQ(world.cloud->alive(), 0);
}

TEST(Cluster, HasAHeadThatComesLastAndKnowsItsAgents) {
  GangWorld world;
  world.wish_cluster();
  world.live([&](Controller& controller, IntentStore& store) {
    const GangResult gang = controller.up_gang(world.options);
    const Intent head = *store.find(gang.members[0].intent.id);   // as it is on disk
    EXPECT_TRUE(head.is_clustered() && !head.is_agent());
    EXPECT_EQ(head.cluster, (ClusterPart{.key = "key 1",
                                         .ranks = 8,
                                         .device = "cuda",
                                         .patience_s = 900,
                                         .hosts = {"localhost:8", "10.0.0.1:8", "10.0.0.2:8", "10.0.0.3:8"}}));
    for (std::size_t i = 1; i < 4; ++i) {
      const Intent agent = *store.find(gang.members[i].intent.id);
      EXPECT_TRUE(agent.is_agent());
      EXPECT_EQ(agent.cluster.key, "key 1");
      EXPECT_TRUE(agent.url().empty() && agent.cluster.hosts.empty());
    }
    EXPECT_EQ(world.cloud->launched.back().cluster, head.cluster);
  });
}

TEST(Cluster, WithoutAWishForGpusHasARankOnTheProcessorsOfEachMachine) {
  GangWorld world;
  world.wish_cluster();
  world.options.wish.gpu.clear();
  world.live([&](Controller& controller, IntentStore&) { controller.up_gang(world.options); });
  EXPECT_EQ(world.cloud->launched.back().cluster.device, "cpu");
  EXPECT_THAT(world.cloud->launched.back().cluster.hosts,
              testing::ElementsAre("localhost:1", "10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"));
}

TEST(Cluster, WhoseMachineIsRefusedIsGivenBackAndTheNextHasAnotherKey) {
  for (const int refused : {2, 4}) {   // an agent, the head
    GangWorld world;
    world.wish_cluster();
    world.cloud->refuse_launch = refused;
    world.live([&](Controller& controller, IntentStore&) {
      const GangResult gang = controller.up_gang(world.options);
      ASSERT_EQ(gang.attempts.size(), 1u);
      const std::string which = refused == 2 ? "machine 3 of 4: " : "machine 1 of 4: ";
      EXPECT_NE(gang.attempts[0].outcome.find(which), std::string::npos) << gang.attempts[0].outcome;
      for (const UpResult& member : gang.members) EXPECT_EQ(member.intent.cluster.key, "key 2");
    });
    EXPECT_EQ(world.cloud->alive(), 4);
    EXPECT_EQ(world.rows(), 4u);
  }
}

// What the head says of its ranks, and what is said when nothing came of it.
std::string refusal(GangWorld& world, const std::function<Readiness(const Intent&)>& probe) {
  std::string said;
  world.wish_cluster();
  world.probe = probe;
  world.live([&](Controller& controller, IntentStore&) {
    try {
      controller.up_gang(world.options);
      ADD_FAILURE() << "it came up";
    } catch (const NothingRented& error) {
      said = error.message;
    }
  });
  EXPECT_EQ(world.cloud->alive(), 0);
  EXPECT_EQ(world.rows(), 0u);
  return said;
}

TEST(Cluster, WhoseRanksDoNotComeTogetherIsGivenBackWithTheReason) {
  GangWorld world;
  EXPECT_THAT(refusal(world,
                      [](const Intent&) {
                        return Readiness{.ready = true, .looking = true, .version = "1", .problem = "no agent"};
                      }),
              testing::HasSubstr("the server did not get ready within 600 s: no agent"));
}

TEST(Cluster, WhoseHeadCanHaveNoRanksIsGivenBackBeforeItsTimeIsOver) {
  GangWorld world;
  EXPECT_THAT(refusal(world,
                      [](const Intent&) {
                        return Readiness{.ready = true, .version = "1", .no_device = "cluster: no mpirun"};
                      }),
              testing::HasSubstr("its server has no device: cluster: no mpirun"));
}

TEST(Cluster, ThatLosesAnAgentWhileItsHeadWaitsIsGivenBack) {
  GangWorld world;
  EXPECT_THAT(refusal(world,
                      [&](const Intent& head) {
                        for (auto& [name, row] : world.cloud->rows) row.alive = row.alive && name == head.id;
                        return Readiness{.ready = true, .looking = true, .version = "1"};
                      }),
              testing::HasSubstr("which is to run ranks for it, ended"));
}

TEST(Cluster, IsRefusedWithTheReasonWhereStrangersOrNoRanksReachItsMachines) {
  const auto refusal = [](const Wish& wish) {
    try {
      check_gang(wish);
      return std::string("nothing is wrong");
    } catch (const schema::Error& error) {
      return error.where + ": " + error.message;
    }
  };
  EXPECT_THAT(refusal({.nodes = 2, .cluster = true, .provider = "digitalocean"}),
              testing::StartsWith("cluster: digitalocean rents no clusters: its droplets have no firewall"));
  EXPECT_THAT(refusal({.nodes = 2, .cluster = true, .provider = "vastai"}), testing::StartsWith("nodes: "));
  EXPECT_THAT(refusal({.nodes = 1, .cluster = true, .provider = "aws"}),
              testing::StartsWith("cluster: a cluster has 2 machines or more"));
  check_gang({.nodes = 2, .cluster = true, .provider = "aws"});
  const Offer offer{.provider = "digitalocean", .id = "x", .gpu = "H100", .gpus = 8, .price_usd_per_hour = 1};
  EXPECT_TRUE(select({.nodes = 2, .cluster = true}, {offer}).order.empty());
  EXPECT_EQ(select({.nodes = 2}, {offer}).order.size(), 1u);
}

TEST(Gang, IsRefusedWithTheReasonWhereMachinesShareNoPrivateNetwork) {
  try {
    check_gang({.nodes = 2, .provider = "vastai"});
    FAIL();
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "nodes");
    EXPECT_NE(error.message.find("vastai rents no gangs of 2 machines: its machines are of many hosts"),
              std::string::npos)
        << error.message;
  }
  check_gang({.nodes = 1, .provider = "vastai"});
  check_gang({.nodes = 2, .provider = "aws"});
  const Offer offer{.provider = "vastai", .id = "x", .gpu = "H100", .gpus = 8, .price_usd_per_hour = 1};
  EXPECT_TRUE(select({.nodes = 2}, {offer}).order.empty());
  EXPECT_EQ(select({.nodes = 1}, {offer}).order.size(), 1u);
}

// Machines that are not of a whole gang with its rows are a leak; so is what outlives its lease.
void simulate(unsigned seed) {
  GangWorld world(seed);
  std::mt19937 random(seed);
  world.options.wish.nodes = 2 + static_cast<int>(seed % 3);
  if (seed % 4 < 2) world.wish_cluster();
  world.options.lease.idle_s = 3600;
  world.cloud->faults = {.refused = 0.08, .lost_reply = 0.05, .error = 0.05, .lie = 0.1, .dies = 0.01, .lag_s = 20};
  world.kill_after(static_cast<int>(random() % 160) + 1);
  world.live([&](Controller& controller, IntentStore&) {
    const GangResult gang = controller.up_gang(world.options);
    if (seed % 2 == 0) controller.end_gang(gang.members[0].intent.gang, "test");
  });
  world.kill_after(-1);
  world.cloud->faults = {.lie = 0.1};
  world.sweep(3);
  const int left = world.cloud->alive();
  EXPECT_TRUE(left == 0 || left == world.options.wish.nodes) << "seed " << seed << ": " << left << " machines";
  EXPECT_EQ(world.rows(), static_cast<std::size_t>(left)) << "seed " << seed;
  world.clock.sleep(std::chrono::hours(9));   // beyond any life
  world.sweep(2);
  EXPECT_EQ(world.cloud->alive(), 0) << "seed " << seed << ": outlives its lease";
}

TEST(SimulatedGangs, LeaveNothing) {
  constexpr int kGangs = 1'000;
  const char* text = std::getenv("KEDGE_SIMULATED_GANGS");
  const int gangs = text ? std::atoi(text) : kGangs;
  for (int seed = 0; seed < gangs && !HasFailure(); ++seed) simulate(static_cast<unsigned>(seed));
}

}   // namespace
}   // namespace kedge::provisioning
