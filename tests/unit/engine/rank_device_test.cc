// Which GPU a rank opens, and which ranks are refused.
#include "engine/worker/rank_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/comm/rank_threads.h"

namespace kedge::engine {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

RankIdentity rank_on(const std::string& host, std::vector<RankGpu> gpus) {
  return {.version = "1",
          .processor = "EPYC",
          .kernels = "k",
          .mpi = "m",
          .host = host,
          .place = host,
          .gpus = std::move(gpus)};
}

std::vector<RankGpu> gpus(int n, const std::string& name = "H100") {
  std::vector<RankGpu> all;
  for (int i = 0; i < n; ++i) all.push_back({"cuda:" + std::to_string(i), name, "580.1", ""});
  return all;
}

std::string refusal(const std::vector<RankIdentity>& ranks, std::string_view wish = "cuda") {
  try {
    devices_of_ranks(ranks, wish);
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kDeviceUnavailable);
    return error.message;
  }
  return "none";
}

TEST(RankDevices, AreProcessorsUnlessGpusAreAskedFor) {
  EXPECT_THAT(devices_of_ranks(std::vector(2, rank_on("n1", gpus(2))), "cpu"), Each("cpu"));
}

TEST(RankDevices, AreTheGpusOfEachMachineInTheirOrder) {
  const std::vector<RankIdentity> ranks{rank_on("n1", gpus(2)), rank_on("n2", gpus(3)), rank_on("n1", gpus(2)),
                                        rank_on("n2", gpus(3))};
  for (const char* wish : {"cuda", "auto"})
    EXPECT_THAT(devices_of_ranks(ranks, wish), ElementsAre("cuda:0", "cuda:0", "cuda:1", "cuda:1"));
}

TEST(RankDevices, LeaveOutGpusThatCannotBeUsed) {
  const std::vector<RankGpu> second{gpus(2)[1]};
  EXPECT_THAT(devices_of_ranks(std::vector{rank_on("n1", second)}, "cuda"), ElementsAre("cuda:1"));
}

// As Slurm does with --gpus-per-task.
TEST(RankDevices, AreTheOnesThatALauncherShowsEachRank) {
  std::vector<RankIdentity> ranks{rank_on("n1", gpus(1)), rank_on("n1", gpus(1))};
  ranks[0].gpus[0].uuid = "0a", ranks[1].gpus[0].uuid = "0b";
  EXPECT_THAT(devices_of_ranks(ranks, "cuda"), ElementsAre("cuda:0", "cuda:0"));
}

TEST(RankDevices, RefuseTwoRanksOnOneGpu) {
  EXPECT_THAT(
      refusal(std::vector(3, rank_on("n1", gpus(2)))),
      HasSubstr("cluster-device is cuda, but 3 ranks are on n1 and two would share cuda:0, of 2 that they can use "
                "there: must be at most one rank for each GPU (cluster-ranks, cluster-hosts)"));
  // Two containers of one machine.
  std::vector<RankIdentity> ranks{rank_on("c1", gpus(1)), rank_on("c2", gpus(1))};
  EXPECT_EQ(refusal(ranks), "none");
  ranks[0].gpus[0].uuid = ranks[1].gpus[0].uuid = "0a";
  EXPECT_THAT(refusal(ranks), HasSubstr("two would share cuda:0"));
}

TEST(RankDevices, RefuseARankWithoutAGpuWithItsReason) {
  RankIdentity none = rank_on("n2", {});
  none.no_gpu = "cuda: no NVIDIA driver";
  const std::vector<RankIdentity> ranks{rank_on("n1", gpus(1)), none};
  EXPECT_EQ(refusal(ranks), "cluster-device is cuda, but rank 1 on n2 has no GPU: cuda: no NVIDIA driver");
  EXPECT_THAT(devices_of_ranks(ranks, "auto"), ElementsAre("cpu", "cpu"));
}

TEST(RankDevices, RefuseGpusAndDriversThatAreNotAlike) {
  EXPECT_THAT(
      refusal({rank_on("n1", gpus(1)), rank_on("n2", gpus(1, "A100"))}),
      HasSubstr("the ranks are not alike, so that results would depend on who computes them: the GPU of rank 1 on "
                "n2 is 'A100', of rank 0 on n1 'H100'"));
  std::vector<RankIdentity> ranks{rank_on("n1", gpus(1)), rank_on("n2", gpus(1))};
  ranks[1].gpus[0].driver = "570.2";
  EXPECT_THAT(refusal(ranks), HasSubstr("the driver of rank 1 on n2 is '570.2'"));
}

TEST(RankDevices, RefuseAnUnknownWish) {
  EXPECT_THROW(check_device_wish("cuda:1"), schema::Error);
  for (const char* wish : {"cpu", "cuda", "auto"}) EXPECT_NO_THROW(check_device_wish(wish));
}

TEST(RankDevices, ThatOneRankCannotOpenAreAnErrorOfAll) {
  const std::vector<RankIdentity> ranks(3, rank_on("n1", gpus(3)));
  const std::vector<std::string> devices{"cpu", "a broken one", "cpu"};
  EXPECT_THAT(on_ranks(3,
                       [&](Comm& comm) -> std::string {
                         open_own_device(comm, ranks, devices);
                         return "opened";
                       }),
              Each(HasSubstr("rank 1 on n1: device \"a broken one\" is unknown")));
}

TEST(RankDevices, AreOpenedByEachRank) {
  const std::vector<RankIdentity> ranks(2, rank_on("n1", {}));
  const std::vector<std::string> devices = devices_of_ranks(ranks, "cpu");
  EXPECT_THAT(on_ranks(2, [&](Comm& comm) { return open_own_device(comm, ranks, devices)->info().name; }),
              Each(testing::Not(testing::IsEmpty())));
}

TEST(RankIdentity, BringsTheGpusOfEachRank) {
  const std::vector<RankIdentity> ranks{rank_on("n1", gpus(2)), rank_on("n2", gpus(0))};
  on_ranks(2, [&](Comm& comm) -> std::string {
    EXPECT_EQ(gather_identities(comm, ranks[static_cast<std::size_t>(comm.rank())]), ranks);
    return "";
  });
}

}   // namespace
}   // namespace kedge::engine
