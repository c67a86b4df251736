// The order of jobs, device wishes, ids and times, and the thinning of progress.
#include "server/jobs/queue.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/store/clock.h"
#include "server/jobs/devices.h"
#include "server/jobs/fetch_slots.h"
#include "server/jobs/progress_gate.h"

namespace kedge::server {
namespace {

using testing::HasSubstr;

bool any(std::string_view) { return true; }

TEST(JobQueue, GivesTheOldestJobFirstAcrossWishes) {
  JobQueue queue;
  queue.push("job_2", {"cpu", ""});
  queue.push("job_1", {"auto", ""});
  queue.push("job_3", {"auto", ""});
  EXPECT_EQ(queue.take_to_fetch(), "job_1");
  EXPECT_EQ(queue.take_to_fetch(), "job_2");
  EXPECT_EQ(queue.take_to_fetch(), "job_3");
  EXPECT_EQ(queue.take_to_fetch(), std::nullopt);
}

TEST(JobQueue, LetsJobsThatNeedNoNetworkPassThoseThatDo) {
  JobQueue queue;
  queue.push("job_1", {"cpu", "alice"}, Supply::kNetwork);
  queue.push("job_2", {"cpu", "alice"});
  EXPECT_EQ(queue.take_to_fetch(Supply::kLocal), "job_2");
  EXPECT_EQ(queue.take_to_fetch(Supply::kLocal), std::nullopt);
  EXPECT_EQ(queue.take_to_fetch(Supply::kNetwork), "job_1");
  queue.push("job_3", {"cpu", "alice"}, Supply::kNetwork);
  queue.remove("job_3", {"cpu", "alice"});
  EXPECT_EQ(queue.take_to_fetch(Supply::kNetwork), std::nullopt);
}

TEST(JobQueue, SharesFetchesBetweenTenants) {
  JobQueue queue;
  FetchSlots slots(4);
  slots.set_per_tenant(3);
  for (int i = 0; i < 9; ++i) queue.push("job_1" + std::to_string(i), {"cpu", "flood"}, Supply::kNetwork);
  const JobQueue::Fetching fetching{.may = [&](std::string_view tenant) { return slots.has_room(tenant); },
                                    .running = [&](std::string_view tenant) { return slots.running(tenant); }};
  const auto take = [&](const std::string& tenant) {
    const auto job = queue.take_to_fetch(Supply::kNetwork, fetching);
    if (job) slots.take(tenant);
    return job;
  };
  for (const char* job : {"job_10", "job_11", "job_12"}) EXPECT_EQ(take("flood"), job);
  EXPECT_EQ(take("flood"), std::nullopt) << "it has as many as one tenant may";
  queue.push("job_20", {"cpu", "lone"}, Supply::kNetwork);
  queue.push("job_21", {"cpu", "lone"}, Supply::kNetwork);
  EXPECT_EQ(take("lone"), "job_20");
  EXPECT_EQ(take("lone"), std::nullopt) << "no more are fetched at a time";
  slots.give_back("flood");
  EXPECT_EQ(take("lone"), "job_21") << "the tenant with the fewest comes first, though the flood's jobs are older";
}

TEST(JobQueue, GivesReadyJobsOnlyToADeviceThatServesThem) {
  JobQueue queue;
  queue.push_ready("job_1", {"cuda", ""});
  queue.push_ready("job_2", {"cpu", ""});
  const auto cpu = [](std::string_view wish) { return wish == "cpu"; };
  EXPECT_EQ(queue.take_ready(cpu), "job_2");
  EXPECT_EQ(queue.take_ready(cpu), std::nullopt);
  EXPECT_EQ(queue.take_ready(any), "job_1");
}

TEST(JobQueue, FetchesNoMoreForAWishThatHasEnoughReady) {
  JobQueue queue;
  for (std::size_t i = 0; i < JobQueue::kReadyAhead; ++i) queue.push_ready("job_a" + std::to_string(i), {"cuda", ""});
  queue.push("job_b", {"cuda", ""});
  queue.push("job_c", {"cpu", ""});
  EXPECT_EQ(queue.take_to_fetch(), "job_c");
  EXPECT_EQ(queue.take_to_fetch(), std::nullopt);
  EXPECT_EQ(queue.take_ready(any), "job_a0");
  EXPECT_EQ(queue.take_to_fetch(), "job_b");
}

TEST(JobQueue, LetsTheTenantGoFirstThatHasUsedLeast) {
  JobQueue queue;
  for (int i = 1; i < 5; ++i) queue.push_ready("job_" + std::to_string(i), {"cpu", "flood"});
  EXPECT_EQ(queue.take_ready(any), "job_1");
  queue.charge("flood", 10);
  queue.push_ready("job_9", {"cpu", "lone"});
  EXPECT_EQ(queue.take_ready(any), "job_9") << "although it came last";
  EXPECT_EQ(queue.take_ready(any), "job_2");
}

TEST(JobQueue, GivesEqualTenantsEqualTimeHoweverManyJobsEachHas) {
  JobQueue queue;
  for (int i = 0; i < 400; ++i) queue.push_ready(fmt::format("job_a{:03}", i), {"cpu", "many"});
  for (int i = 0; i < 100; ++i) queue.push_ready(fmt::format("job_b{:03}", i), {"cpu", "few"});
  double many = 0, few = 0;
  for (int i = 0; i < 100; ++i) {   // few's runs take three times as long
    const bool is_few = queue.take_ready(any)->starts_with("job_b");
    queue.charge(is_few ? "few" : "many", is_few ? 3 : 1);
    (is_few ? few : many) += is_few ? 3 : 1;
  }
  EXPECT_NEAR(many / few, 1, 0.05);   // one quantum of about 75 is not yet balanced
}

TEST(JobQueue, DividesTheTimeByWeightHoweverLongTheRunsOfEachTake) {
  JobQueue queue;
  queue.set_weights({{"b", 2}, {"c", 4}});   // a has 1
  const std::map<std::string, double> run{{"a", 1}, {"b", 3}, {"c", 0.5}};
  for (const auto& [tenant, seconds] : run)
    for (int i = 0; i < 3000; ++i) queue.push_ready(fmt::format("job_{}{:04}", tenant, i), {"cpu", tenant});
  std::map<std::string, double> used;
  for (double all = 0; all < 1400;) {
    const std::string tenant = queue.take_ready(any)->substr(4, 1);
    queue.charge(tenant, run.at(tenant));
    used[tenant] += run.at(tenant), all += run.at(tenant);
  }
  constexpr double kRuns = 6;   // seconds: a run of each, and what their starts count
  EXPECT_NEAR(used["a"], 200, kRuns);
  EXPECT_NEAR(used["b"], 400, kRuns);
  EXPECT_NEAR(used["c"], 800, kRuns);
}

TEST(JobQueue, TakesNewWeightsForWhatComes) {
  JobQueue queue;
  for (int i = 0; i < 900; ++i) queue.push_ready(fmt::format("job_a{:03}", i), {"cpu", "a"}), queue.push_ready(fmt::format("job_b{:03}", i), {"cpu", "b"});
  const auto runs_of_a = [&](int of) {
    int mine = 0;
    for (int i = 0; i < of; ++i) {
      const std::string tenant = queue.take_ready(any)->substr(4, 1);
      queue.charge(tenant, 1);
      mine += tenant == "a";
    }
    return mine;
  };
  EXPECT_NEAR(runs_of_a(400), 200, 1);
  queue.set_weights({{"a", 3}});
  EXPECT_NEAR(runs_of_a(400), 300, 2);
  queue.set_weights({});
  EXPECT_NEAR(runs_of_a(400), 200, 2);
}

TEST(JobQueue, SavesNothingUpForATenantThatWasAway) {
  JobQueue queue;
  for (int i = 0; i < 10; ++i) queue.push_ready("job_a" + std::to_string(i), {"cpu", "busy"});
  for (int i = 0; i < 5; ++i) queue.take_ready(any), queue.charge("busy", 100);
  for (int i = 0; i < 5; ++i) queue.push_ready("job_b" + std::to_string(i), {"cpu", "back"});
  EXPECT_EQ(queue.take_ready(any), "job_b0");
  queue.charge("back", 150);
  EXPECT_EQ(queue.take_ready(any), "job_a5") << "back has used more since it came back";
}

TEST(JobQueue, KeepsRoomForTheDataOfEachTenant) {
  JobQueue queue;
  for (std::size_t i = 0; i < JobQueue::kReadyAhead; ++i) queue.push_ready("job_a" + std::to_string(i), {"cpu", "flood"});
  queue.push("job_a9", {"cpu", "flood"});
  queue.push("job_b", {"cpu", "lone"});
  EXPECT_EQ(queue.take_to_fetch(), "job_b");
  EXPECT_EQ(queue.take_to_fetch(), std::nullopt);
}

TEST(JobQueue, ForgetsRemovedJobsAndEmptyLanes) {
  JobQueue queue;
  queue.push("job_1", {"cpu", ""});
  queue.push_ready("job_2", {"cpu", ""});
  EXPECT_EQ(queue.jobs_of("cpu").size(), 2u);
  queue.remove("job_1", {"cpu", ""});
  queue.remove("job_2", {"cpu", ""});
  EXPECT_TRUE(queue.wishes().empty());
  EXPECT_EQ(queue.take_ready(any), std::nullopt);
}

TEST(DeviceTable, AutoTakesCudaWhereThereIsOne) {
  const DeviceTable both({{.id = "cpu"}, {.id = "cuda:0"}}, {});
  EXPECT_TRUE(both.serves("cuda:0", "auto"));
  EXPECT_FALSE(both.serves("cpu", "auto"));
  const DeviceTable cpu({{.id = "cpu"}, {.id = "cuda", .missing = "no driver"}}, {});
  EXPECT_TRUE(cpu.serves("cpu", "auto"));
}

TEST(DeviceTable, TakesTheCpuForSmallDataWhereItRunsOne) {
  DeviceTable both({{.id = "cpu"}, {.id = "cuda:0"}}, {});
  EXPECT_TRUE(both.serves("cpu", kAutoSmall));
  EXPECT_FALSE(both.serves("cuda:0", kAutoSmall));
  both.set_missing("cpu", "its worker does not start");
  EXPECT_TRUE(both.serves("cuda:0", kAutoSmall));
  EXPECT_EQ(both.missing_reason(kAutoSmall), "");
  EXPECT_THAT(DeviceTable({{.id = "cuda:0", .missing = "no driver"}}, {}).missing_reason(kAutoSmall),
              HasSubstr("\"auto\" is not available"));
}

TEST(DeviceTable, SaysWhyADeviceIsMissing) {
  const DeviceTable table({{.id = "cpu"}, {.id = "cuda", .missing = "no NVIDIA driver"}}, {});
  EXPECT_THAT(table.missing_reason("cuda"), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(table.missing_reason("cuda:1"), HasSubstr("no NVIDIA driver"));
  EXPECT_EQ(table.missing_reason("cpu"), "");
  EXPECT_EQ(table.missing_reason("auto"), "");
  const DeviceTable one({{.id = "cpu"}, {.id = "cuda:0"}}, {});
  EXPECT_THAT(one.missing_reason("cuda:1"), HasSubstr("this server has cpu, cuda:0"));
}

TEST(DeviceTable, OffersOnlyTheDevicesThatAreAllowed) {
  const DeviceTable table({{.id = "cpu"}, {.id = "cuda:0"}}, {"cpu"});
  EXPECT_EQ(table.usable(), std::vector<std::string>{"cpu"});
  EXPECT_THAT(table.missing_reason("cuda"), HasSubstr("only for cpu"));
  EXPECT_TRUE(table.serves("cpu", "auto"));
}

TEST(DeviceTable, LosesAndRegainsADevice) {
  DeviceTable table({{.id = "cpu"}, {.id = "cuda:0"}}, {});
  table.set_missing("cuda:0", "its worker does not start");
  EXPECT_TRUE(table.serves("cpu", "auto"));
  EXPECT_THAT(table.missing_reason("cuda:0"), HasSubstr("does not start"));
  table.update({.id = "cuda:0", .name = "L4"});
  EXPECT_FALSE(table.serves("cpu", "auto"));
}

TEST(DeviceTable, TakesTheClusterOnlyWhereAJobAsksForIt) {
  const DeviceTable table({{.id = "cpu"}, {.id = "cluster"}}, {});
  EXPECT_TRUE(table.serves("cluster", "cluster"));
  for (const char* wish : {"auto", "cpu", "cuda"}) EXPECT_FALSE(table.serves("cluster", wish)) << wish;
  EXPECT_TRUE(table.serves("cpu", "auto"));
  EXPECT_FALSE(table.serves("cpu", "cluster"));
  EXPECT_FALSE(table.serves("cluster", kAutoSmall));
  EXPECT_THAT(DeviceTable({{.id = "cpu"}}, {}).missing_reason("cluster"), HasSubstr("cluster-ranks"));
  EXPECT_THAT(DeviceTable({{.id = "cpu"}, {.id = "cluster", .missing = "no mpirun"}}, {}).missing_reason("cluster"),
              HasSubstr("no mpirun"));
}

TEST(JobIds, SortInTheOrderInWhichTheyWereMade) {
  JobIds ids;
  const auto time = std::chrono::system_clock::now();
  std::string last = ids.next(time);
  EXPECT_EQ(last.size(), 30u);
  EXPECT_TRUE(JobIds::is_id(last));
  for (int i = 0; i < 1000; ++i) {
    const std::string id = ids.next(time - std::chrono::milliseconds(i));   // the clock may stand still or go back
    ASSERT_LT(last, id);
    last = id;
  }
}

TEST(JobIds, GoOnAfterTheLastOneOfTheStore) {
  JobIds ids;
  const std::string last = ids.next(std::chrono::system_clock::now() + std::chrono::hours(1));
  EXPECT_LT(last, JobIds(last).next());
}

TEST(JobIds, HaveTheTimeOfTheUlidSpecification) {
  // The example of the specification: 1469918176385 ms is 01ARYZ6S41.
  const std::string id = JobIds().next(std::chrono::system_clock::time_point(std::chrono::milliseconds(1469918176385)));
  EXPECT_EQ(id.substr(0, 14), "job_01ARYZ6S41");
}

TEST(Times, AreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(format_time(std::chrono::system_clock::time_point(std::chrono::milliseconds(1767323045678))),
            "2026-01-02T03:04:05.678Z");
  EXPECT_DOUBLE_EQ(seconds_between("2026-01-02T03:04:05.500Z", "2026-01-02T03:05:06.750Z"), 61.25);
  EXPECT_EQ(seconds_between("2026-01-02T03:04:05.500Z", "2026-01-02T03:04:05.400Z"), 0);
  EXPECT_EQ(seconds_between("", "2026-01-02T03:04:05.400Z"), 0);
}

TEST(ProgressGate, PassesTenASecondOfEachPhaseAndTheLast) {
  ProgressGate gate;
  ProgressGate::Clock::time_point now{};
  int passed = 0;
  for (int ms = 0; ms < 1000; ++ms)
    passed += gate.passes({.phase = "trees", .done = ms, .total = 1001}, now + std::chrono::milliseconds(ms));
  EXPECT_EQ(passed, 10);
  EXPECT_TRUE(gate.passes({.phase = "fold", .done = 0, .total = 5}, now));
  EXPECT_TRUE(gate.passes({.phase = "trees", .done = 1001, .total = 1001}, now + std::chrono::milliseconds(1000)));
  EXPECT_FALSE(gate.passes({.phase = "trees", .done = 1, .total = 0}, now + std::chrono::milliseconds(1001)));
}

}  // namespace
}  // namespace kedge::server
