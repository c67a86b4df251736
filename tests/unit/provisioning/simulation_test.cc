// A controller that is killed at every step, on a cloud that misbehaves: nothing is left behind, nothing is rented twice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "provisioning/controller.h"
#include "provisioning/providers.h"
#include "tests/unit/provisioning/fake_ec2.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {

ProviderFactory make_aws;

namespace {

struct Killed {};  // no std::exception: nothing may catch it on the way

int runs() {
  const char* text = std::getenv("KEDGE_SIMULATED_RUNS");
  return text ? std::atoi(text) : 500;
}

// Renting through a provider that has no token for launches, as most.
class Unrepeatable final : public Provider {
 public:
  explicit Unrepeatable(std::unique_ptr<Provider> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return inner_->name(); }
  std::string_view fuse() const override { return inner_->fuse(); }
  std::vector<Offer> offers(const Wish& wish) override { return inner_->offers(wish); }
  Machine launch(const Intent& intent) override { return inner_->launch(intent); }
  std::optional<Machine> describe(const Intent& intent) override { return inner_->describe(intent); }
  void terminate(const Intent& intent) override { inner_->terminate(intent); }
  std::vector<Machine> list_owned(const std::string& owner) override { return inner_->list_owned(owner); }
  void cleanup(const Intent& intent) override { inner_->cleanup(intent); }

 private:
  std::unique_ptr<Provider> inner_;
};

// One world: a cloud, a disk, and controllers that live and die on them.
class World {
 public:
  explicit World(unsigned seed, bool honours_token = true) : cloud(clock, seed), honours_token_(honours_token) {
    cloud.honours_token = honours_token;
  }

  template <class Life>
  void live(Life life) {  // one process; Killed ends it
    std::unique_ptr<Provider> aws =
        make_aws({.variable = variable, .http = retrying_, .clock = clock, .state_directory = {}, .programs = {}});
    if (!honours_token_) aws = std::make_unique<Unrepeatable>(std::move(aws));
    std::vector<std::unique_ptr<Provider>> providers;
    providers.push_back(std::move(aws));
    IntentStore store(directory.path(), [this] { step(); });
    const Probe probe = [this](const Intent&) {
      step();
      return Readiness{.ready = true, .version = "0.1.0"};
    };
    Controller controller(store, providers, clock, probe);
    try {
      life(controller, store);
    } catch (const Killed&) {
    } catch (const schema::Error&) {  // it said that it could not; what it left is judged below
    }
  }

  void kill_after(int steps) {
    left_ = steps;
    cloud.step = [this] { step(); };
  }
  void spare() { left_ = -1; }

  static std::optional<std::string> variable(const std::string& name) {
    if (name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY") return "x";
    if (name == "KEDGE_AWS_AMI") return "ami-1";
    return std::nullopt;
  }

  VirtualClock clock;
  FakeEc2 cloud;
  TemporaryDirectory directory;

 private:
  void step() {
    if (left_ > 0 && --left_ == 0) throw Killed{};
  }
  http::RetryingClient retrying_{cloud, clock};
  bool honours_token_;
  int left_ = -1;
};

UpOptions options() {
  UpOptions options;
  options.wish.gpu = "L4";
  options.wish.market = Market::kSpotThenOnDemand;
  options.image = "kedge";
  return options;
}

Faults bad_day() {
  return {
      .lost_reply = 0.08, .server_error = 0.06, .throttle = 0.08, .no_capacity = 0.15, .partial = 0.05, .lie = 0.2, .lag_s = 30};
}

void expect_in_order(World& world, const std::string& what) {
  IntentStore store(world.directory.path());
  std::set<std::string> rows, names;
  for (const Intent& intent : store.list().intents) rows.insert(intent.id);
  for (const FakeInstance& instance : world.cloud.instances) {
    EXPECT_TRUE(names.insert(instance.token).second) << what << ": two machines for " << instance.token;
    if (world.cloud.alive(instance)) {
      EXPECT_TRUE(rows.contains(instance.token)) << what << ": no row for " << instance.id;
    }
    if (!world.cloud.exists(instance)) {
      EXPECT_FALSE(rows.contains(instance.token)) << what << ": a row for what is gone, " << instance.id;
    }
  }
  for (const std::string& row : rows) EXPECT_TRUE(names.contains(row)) << what << ": a row for nothing, " << row;
}

void two_sweeps(World& world) {
  for (int period = 0; period < 2; ++period) {
    world.clock.sleep(std::chrono::seconds(180));
    world.live([](Controller& controller, IntentStore&) { controller.sweep(); });
  }
}

void simulate(unsigned seed, bool honours_token) {
  World world(seed, honours_token);
  world.cloud.faults = bad_day();
  world.kill_after(static_cast<int>(seed % 75) + 1);  // an undisturbed life has about 60 steps
  world.live([&](Controller& controller, IntentStore& store) {
    const UpResult result = controller.up(options());
    if (seed % 2 == 0) return;
    controller.end(*store.find(result.intent.id), "not needed");
    controller.sweep();
  });
  world.spare();
  world.cloud.faults.lost_reply = world.cloud.faults.server_error = 0;  // the sweeps see lags, lies and throttling only
  two_sweeps(world);
  expect_in_order(world, "seed " + std::to_string(seed));
  world.clock.sleep(std::chrono::hours(9));  // beyond any life
  two_sweeps(world);
  for (const FakeInstance& instance : world.cloud.instances)
    EXPECT_FALSE(world.cloud.alive(instance)) << "seed " << seed << ": outlives its lease, " << instance.id;
}

TEST(SimulatedCloud, AKilledControllerLeavesNothingWhereLaunchesHaveATokenOfTheirOwn) {
  for (int seed = 0; seed < runs() && !HasFailure(); ++seed) simulate(static_cast<unsigned>(seed), true);
}

TEST(SimulatedCloud, AKilledControllerLeavesNothingWhereALaunchCannotBeRepeated) {
  for (int seed = 0; seed < runs() && !HasFailure(); ++seed) simulate(static_cast<unsigned>(seed), false);
}

TEST(SimulatedCloud, ALostRecordIsMadeUpForByTheProvidersList) {
  World world(1);
  world.live([](Controller& controller, IntentStore&) { controller.up(options()); });
  for (const auto& entry : std::filesystem::directory_iterator(world.directory.path() / "intents")) {
    std::ofstream(entry.path()) << "{\"id\": 12";  // half a file
  }
  world.clock.sleep(std::chrono::seconds(180));
  world.live([](Controller& controller, IntentStore&) {
    const Swept swept = controller.sweep();
    ASSERT_EQ(swept.ended.size(), 1u);
    EXPECT_NE(swept.ended[0].find("no record"), std::string::npos);
    EXPECT_EQ(swept.problems.size(), 1u);
  });
  EXPECT_FALSE(world.cloud.alive(world.cloud.instances.at(0)));
}

TEST(SimulatedCloud, AWrongClockIsFoundOutAndAllowedFor) {
  World world(1);
  world.cloud.clock_error_s = 7200;
  world.live([](Controller& controller, IntentStore&) { EXPECT_EQ(controller.up(options()).version, "0.1.0"); });
  EXPECT_EQ(world.cloud.instances.size(), 1u);
}

TEST(SimulatedCloud, NeverSpendsBeyondTheCap) {
  World world(3);
  constexpr double kCap = 4.0;
  UpOptions capped = options();
  capped.spend_cap = kCap;
  int rented = 0;
  world.live([&](Controller& controller, IntentStore& store) {
    for (int i = 0; i < 10; ++i) {
      try {
        controller.up(capped);
        ++rented;
      } catch (const NothingRented&) {
      }
      double committed = store.spent_since(0);
      for (const Intent& intent : store.list().intents) committed += cost_at_most(intent);
      EXPECT_LE(committed, kCap);
    }
  });
  EXPECT_GE(rented, 1);
  EXPECT_LT(rented, 10);
}

TEST(SimulatedCloud, LookingAtOffersChangesNothing) {
  World world(1);
  world.live([](Controller& controller, IntentStore&) {
    EXPECT_FALSE(select(options().wish, controller.offers(options().wish).offers).order.empty());
  });
  EXPECT_EQ(world.cloud.changing_calls, 0);
}

TEST(SimulatedCloud, SpotFallsBackToOnDemandWhenThereIsNone) {
  World world(1);
  std::vector<Attempt> attempts;
  world.cloud.faults.no_capacity = 1;
  world.live([&](Controller& controller, IntentStore&) {
    try {
      controller.up(options());
      ADD_FAILURE() << "there was no capacity";
    } catch (const NothingRented& error) {
      attempts = error.attempts;
    }
  });
  ASSERT_EQ(attempts.size(), 4u);
  EXPECT_TRUE(attempts[0].offer.spot);
  for (std::size_t i = 1; i < attempts.size(); ++i) EXPECT_FALSE(attempts[i].offer.spot);
  EXPECT_NE(attempts_table(attempts).find("InsufficientInstanceCapacity"), std::string::npos);
}

}  // namespace
}  // namespace kedge::provisioning
