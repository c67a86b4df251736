// Every provider behind HTTP, against a script of its API, with every fault at every call.
#include <gtest/gtest.h>

#include <ostream>

#include "provisioning/controller.h"
#include "provisioning/providers.h"
#include "tests/unit/provisioning/scripted_fake.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {

void PrintTo(const FakeRow& row, std::ostream* out) {
  *out << row.provider;
}

namespace {

class ScriptedProvider : public testing::TestWithParam<FakeRow> {
 protected:
  struct Bench {
    explicit Bench(const FakeRow& row) : row(row) {}
    const FakeRow& row;
    VirtualClock clock;
    ScriptedFake fake{row.script, clock};
    http::RetryingClient http{fake, clock};
    TemporaryDirectory directory;
    IntentStore store{directory.path()};
    std::vector<std::unique_ptr<Provider>> providers = make();
    Controller controller{store, providers, clock, [](const Intent&) { return Readiness{.ready = true, .version = "0.1.0"}; }};

    std::vector<std::unique_ptr<Provider>> make() {
      return make_providers({.variable = [this](const std::string& name) -> std::optional<std::string> {
                               const auto found = row.environment.find(name);
                               return found == row.environment.end() ? std::nullopt : std::optional(found->second);
                             },
                             .http = http,
                             .clock = clock,
                             .state_directory = directory.path(),
                             .programs = {}},
                            row.provider);
    }
    UpOptions options() const {
      UpOptions options;
      options.wish.gpu = "L4";
      options.wish.max_price = 1.0;
      options.image = "kedge";
      return options;
    }
    // Rents and gives back, with what went wrong on the way; then two sweeps.
    void live() {
      try {
        const UpResult result = controller.up(options());
        controller.end(result.intent, "test");
      } catch (const schema::Error&) {
      }
      for (int period = 0; period < 2; ++period) {
        clock.sleep(std::chrono::seconds(180));
        controller.sweep();
      }
    }
  };

  void expect_nothing_left(Bench& bench, const std::string& what) {
    EXPECT_EQ(bench.fake.machines.alive(), 0) << what;
    EXPECT_TRUE(bench.store.list().intents.empty()) << what;
    EXPECT_EQ(bench.fake.machines.side_objects, 0) << what;
  }
};

TEST_P(ScriptedProvider, RentsAMachineWithAnAddressAndGivesItBack) {
  Bench bench(GetParam());
  const UpResult result = bench.controller.up(bench.options());
  EXPECT_EQ(attempts_table(result.attempts),
            "");   // the first offer was taken, and the launch is as the provider expects it
  EXPECT_EQ(result.intent.offer.gpu, "L4");
  EXPECT_GT(result.intent.offer.price_usd_per_hour, 0);
  EXPECT_TRUE(result.intent.url().starts_with("https://192.0.2.")) << result.intent.url();
  EXPECT_EQ(bench.fake.machines.rows.at(0).name, result.intent.id);
  EXPECT_TRUE(bench.controller.end(result.intent, "test"));
  expect_nothing_left(bench, "after the end");
}

TEST_P(ScriptedProvider, EveryFaultAtEveryCallLeavesNothingBehind) {
  Bench undisturbed(GetParam());
  undisturbed.live();
  const int limit = std::max(undisturbed.fake.calls, 40);   // a fault makes more calls, without end
  for (const Fault fault : {Fault::kLostReply, Fault::kTooManyRequests, Fault::kServerError, Fault::kErrorAfterSuccess}) {
    for (int call = 1, most = 1; call <= most; ++call) {
      Bench bench(GetParam());
      bench.fake.fault = fault;
      bench.fake.fault_at = call;
      bench.live();
      expect_nothing_left(bench, "fault " + std::to_string(static_cast<int>(fault)) + " at call " + std::to_string(call));
      std::set<std::string> names;
      for (const auto& row : bench.fake.machines.rows)
        EXPECT_TRUE(names.insert(row.name).second) << "two machines for one intent";
      most = std::min(bench.fake.calls, limit);
    }
  }
}

TEST_P(ScriptedProvider, AGangIsWholeOrNothingWithAnyFaultAtAnyCall) {
  if (const auto reason = why_no_gang(GetParam().provider); !reason.empty())
    GTEST_SKIP() << "rents no gangs: " << reason;
  static constexpr int kNodes = 3;
  const auto live = [](Bench& bench) {
    UpOptions options = bench.options();
    options.wish.nodes = kNodes;
    std::size_t rented = 0;
    try {
      const GangResult gang = bench.controller.up_gang(options);
      rented = gang.members.size();
      EXPECT_EQ(bench.fake.machines.alive(), kNodes);
      bench.controller.end_gang(gang.members[0].intent.gang, "test");
    } catch (const schema::Error&) {
    }
    for (int period = 0; period < 2; ++period) {
      bench.clock.sleep(std::chrono::seconds(180));
      bench.controller.sweep();
    }
    return rented;
  };
  Bench undisturbed(GetParam());
  EXPECT_EQ(live(undisturbed), static_cast<std::size_t>(kNodes));
  expect_nothing_left(undisturbed, "no fault");
  for (const Fault fault : {Fault::kLostReply, Fault::kServerError, Fault::kErrorAfterSuccess}) {
    for (int call = 1; call <= undisturbed.fake.calls; ++call) {
      Bench bench(GetParam());
      bench.fake.fault = fault;
      bench.fake.fault_at = call;
      live(bench);
      expect_nothing_left(bench,
                          "fault " + std::to_string(static_cast<int>(fault)) + " at call " + std::to_string(call));
    }
  }
}

TEST_P(ScriptedProvider, AClusterHasThePrivateAddressesOfItsMachines) {
  if (const auto reason = why_no_cluster(GetParam().provider); !reason.empty())
    GTEST_SKIP() << "rents no clusters: " << reason;
  Bench bench(GetParam());
  UpOptions options = bench.options();
  options.wish.nodes = 3;
  options.wish.cluster = true;
  options.new_host_key = [] { return "key"; };
  const GangResult gang = bench.controller.up_gang(options);
  const std::vector<std::string>& hosts = gang.members[0].intent.cluster.hosts;
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0], "localhost:1");
  for (std::size_t i = 1; i < 3; ++i) EXPECT_TRUE(hosts[i].starts_with("10.0.0.")) << hosts[i];
  bench.controller.end_gang(gang.members[0].intent.gang, "test");
  expect_nothing_left(bench, "after the end");
}

TEST_P(ScriptedProvider, AnEndThatIsAgreedToAndNotDoneIsRequestedAgain) {
  Bench bench(GetParam());
  bench.fake.machines.lies = 3;
  bench.live();
  expect_nothing_left(bench, "lies");
}

TEST_P(ScriptedProvider, AnEndThatIsRefusedWhileTheMachineIsMadeIsRequestedAgain) {
  Bench bench(GetParam());
  bench.fake.machines.busy_s = 45;
  bench.live();
  expect_nothing_left(bench, "busy");
}

TEST_P(ScriptedProvider, AMachineThatShowsLateIsFound) {
  Bench bench(GetParam());
  bench.fake.machines.lag_s = 30;
  bench.live();
  EXPECT_EQ(bench.fake.machines.rows.size(), 1u);
  expect_nothing_left(bench, "lag");
}

TEST_P(ScriptedProvider, AnAnswerWithoutOrWithABareIdIsUnderstood) {
  for (const bool bare : {false, true}) {
    Bench bench(GetParam());
    (bare ? bench.fake.machines.id_only : bench.fake.machines.partial) = true;
    bench.live();
    expect_nothing_left(bench, bare ? "id only" : "partial");
  }
}

TEST_P(ScriptedProvider, WrongCredentialsAreSaidToBeWrong) {
  FakeRow row = GetParam();
  row.script = [](FakeMachines&, const http::Request&, std::int64_t) {
    return http::Response{.status = 401, .body = R"({"error":"bad key"})"};
  };
  Bench bench(row);
  const Catalogue catalogue = bench.controller.offers(bench.options().wish);
  ASSERT_EQ(catalogue.problems.size(), 1u);
  EXPECT_NE(catalogue.problems[0].find("credentials refused 401: bad key"), std::string::npos) << catalogue.problems[0];
}

INSTANTIATE_TEST_SUITE_P(Providers, ScriptedProvider, testing::ValuesIn(fake_rows()),
                         [](const auto& info) { return std::string(info.param.provider); });

TEST(Selection, NamesTheNearestGpuThatIsOffered) {
  const std::vector<Offer> offers{{.provider = "a", .id = "x", .gpu = "L40S", .gpus = 1, .price_usd_per_hour = 1}};
  EXPECT_NE(select({.gpu = "L40"}, offers).advice.find("nearest is L40S"), std::string::npos);
}

TEST(Selection, NamesTheCheapestWhenEveryOfferIsAboveTheCap) {
  const std::vector<Offer> offers{{.provider = "a", .id = "x", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 1.5},
                                  {.provider = "b", .id = "y", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 1.2}};
  const Selection selection = select({.gpu = "nvidia l4", .max_price = 1.0}, offers);
  EXPECT_TRUE(selection.order.empty());
  EXPECT_NE(selection.advice.find("1.200 USD/h (b y"), std::string::npos) << selection.advice;
}

TEST(Selection, LeavesOutWhatTheServersCudaCannotUse) {
  const std::vector<Offer> offers{
      {.provider = "a", .id = "old", .gpu = "V100", .gpus = 1, .price_usd_per_hour = 0.2},
      {.provider = "a", .id = "driver", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 0.3, .flaw = "old driver"},
      {.provider = "a", .id = "good", .gpu = "L4", .gpus = 1, .price_usd_per_hour = 0.4}};
  const Selection selection = select({}, offers);
  ASSERT_EQ(selection.order.size(), 1u);
  EXPECT_EQ(selection.order[0].id, "good");
  EXPECT_EQ(selection.refused.at(0).reason, "V100 is older than what CUDA 13 runs on");
  EXPECT_EQ(selection.refused.at(1).reason, "old driver");
}

TEST(Selection, LeavesOutGpusOfVultrWhoseSystemHasNoDriver) {
  FakeRow row;
  for (const FakeRow& one : fake_rows())
    if (std::string_view(one.provider) == "vultr") row = one;
  row.environment.erase("KEDGE_VULTR_OS_ID");
  VirtualClock clock;
  ScriptedFake fake(row.script, clock);
  const auto providers = make_providers({.variable = [&](const std::string& name) -> std::optional<std::string> {
                                           return row.environment.contains(name) ? std::optional(row.environment.at(name)) : std::nullopt;
                                         },
                                         .http = fake,
                                         .clock = clock,
                                         .state_directory = {},
                                         .programs = {}},
                                        "vultr");
  const Selection selection = select({.gpu = "L4"}, providers.at(0)->offers({.gpu = "L4"}));
  EXPECT_TRUE(selection.order.empty());
  EXPECT_NE(selection.refused.at(0).reason.find("KEDGE_VULTR_OS_ID"), std::string::npos);
}

TEST(Selection, HoldsTheCapAgainstThePriceOfTheMarketThatIsUsed) {
  const std::vector<Offer> offers{{.provider = "a", .id = "x", .spot = true, .price_usd_per_hour = 0.3},
                                  {.provider = "a", .id = "x", .price_usd_per_hour = 1.3}};
  EXPECT_TRUE(select({.max_price = 1.0}, offers).order.empty());
  EXPECT_EQ(select({.max_price = 1.0, .market = Market::kSpotThenOnDemand}, offers).order.size(), 1u);
  EXPECT_FALSE(select({.market = Market::kSpotThenOnDemand}, offers).order.at(1).spot);
}

TEST(Credentials, WhenThereAreNoneItSaysWhereItLooked) {
  VirtualClock clock;
  ScriptedFake fake({}, clock);
  const Surroundings nowhere{.variable = [](const std::string&) { return std::nullopt; },
                             .http = fake,
                             .clock = clock,
                             .state_directory = {},
                             .programs = {}};
  try {
    make_providers(nowhere);
    FAIL();
  } catch (const schema::Error& error) {
    for (const char* word : {"RUNPOD_API_KEY", "AWS_ACCESS_KEY_ID", "~/.aws/credentials", "VERDA_CLIENT_ID"})
      EXPECT_NE(error.message.find(word), std::string::npos) << word;
  }
  EXPECT_THROW(make_providers(nowhere, "runpot"), schema::Error);
}

}   // namespace
}   // namespace kedge::provisioning
