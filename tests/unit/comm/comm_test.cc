// Communicators of one rank and of threads, and how work is dealt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/counted.h"
#include "engine/comm/mpi.h"
#include "engine/comm/ranks.h"
#include "engine/comm/self.h"
#include "engine/comm/threads.h"
#include "tests/unit/comm/comm_battery.h"
#include "tests/unit/comm/rank_threads.h"

namespace kedge::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class ThreadComms : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadComms, testing::Range(1, 9), testing::PrintToStringParamName());

TEST_P(ThreadComms, DoWhatOneProcessComputes) {
  for (const std::string& faults : on_ranks(GetParam(), [](Comm& comm) { return joined(comm_faults(comm)); }))
    EXPECT_EQ(faults, "");
}

TEST_P(ThreadComms, AddExactSumsToTheBitsOfOneProcess) {
  const auto alone = make_self_comm();
  for (const std::string& sum : on_ranks(GetParam(), sum_over_ranks)) EXPECT_EQ(sum, sum_over_ranks(*alone));
}

TEST(SelfComm, DoesWhatOneProcessComputes) {
  EXPECT_THAT(comm_faults(*make_self_comm()), IsEmpty());
}

TEST(ThreadComms, RefuseCallsThatDifferBetweenRanks) {
  const auto results = on_ranks(3, [](Comm& comm) {
    std::vector<std::int64_t> values(comm.rank() == 2 ? 5 : 4);
    comm.all_reduce(values, IntegerOp::kSum);
    return std::string("passed");
  });
  for (const std::string& result : results) EXPECT_THAT(result, HasSubstr("ranks make different calls"));
}

TEST(ThreadComms, RefuseSumsThatOverflow) {
  const auto results = on_ranks(2, [](Comm& comm) {
    std::vector<std::int64_t> values{std::numeric_limits<std::int64_t>::max()};
    comm.all_reduce(values, IntegerOp::kSum);
    return std::string("passed");
  });
  for (const std::string& result : results) EXPECT_THAT(result, HasSubstr("more than 64 bits"));
}

TEST(ThreadComms, ReleaseTheOthersWhenOneAborts) {
  const auto results = on_ranks(4, [](Comm& comm) -> std::string {
    if (comm.rank() == 3) comm.abort({schema::ErrorCode::kInternal, "gone"});
    comm.all_gather({});
    return "passed";
  });
  EXPECT_THAT(results, ElementsAre("gone", "gone", "gone", "gone"));
}

TEST(CountedComm, CountsWhatItsRankBringsAndPassesAllCallsOn) {
  for (const std::string& faults : on_ranks(3, [](Comm& comm) {
         CountedComm counted(comm);
         return joined(comm_faults(counted));
       }))
    EXPECT_EQ(faults, "");
  on_ranks(3, [](Comm& comm) {
    CountedComm counted(comm);
    std::vector<std::int64_t> integers(5), mine(2);
    std::vector<double> doubles(2);
    std::vector<std::byte> bytes(7);
    PartedBytes out;
    for (int r = 0; r < 3; ++r) out.add(std::span(bytes).first(static_cast<std::size_t>(r) + 1));
    counted.all_reduce(integers, IntegerOp::kSum);
    counted.all_reduce(doubles, OrderOp::kMax);
    counted.reduce_scatter(std::vector<std::int64_t>(6), mine);
    counted.broadcast(bytes, 1);
    counted.all_gather(std::span(bytes).first(3));
    counted.all_to_all(out);   // 6 bytes, of which rank r keeps r + 1
    const std::int64_t moved = (comm.rank() == 1 ? 7 : 0) + 3 + 6 - (comm.rank() + 1);
    EXPECT_EQ(counted.counts(),
              (CommCounts{.sums = 3, .summed_bytes = 40 + 16 + 48, .moves = 3, .moved_bytes = moved}));
    return std::string();
  });
}

TEST(Ranks, AreThoseOfTheInnermostScope) {
  EXPECT_EQ(ranks_of_job(), nullptr);
  on_ranks(2, [](Comm& comm) {
    Ranks ranks(comm);
    const RanksScope outer(&ranks);
    EXPECT_EQ(ranks_of_job(), &ranks);
    {
      const RanksScope hidden(nullptr);
      EXPECT_EQ(ranks_of_job(), nullptr);
    }
    EXPECT_EQ(ranks_of_job(), &ranks);
    return std::string();
  });
}

TEST(Ranks, AreHiddenWithinParallelRegions) {
#if defined(__SANITIZE_THREAD__)   // of gcc
  GTEST_SKIP() << "gcc's OpenMP does not tell the thread sanitizer what waits for what";
#endif
  on_ranks(2, [](Comm& comm) {
    Ranks ranks(comm);
    const RanksScope scope(&ranks);
    int seen = 0;
#pragma omp parallel num_threads(2) reduction(+ : seen)
    seen += ranks_of_job() != nullptr;
    EXPECT_EQ(seen, 0);
    return std::string();
  });
}

TEST(Ranks, AreNoneWhereThereIsOne) {
  const auto comm = make_self_comm();
  Ranks ranks(*comm);
  const RanksScope scope(&ranks);
  EXPECT_EQ(ranks_of_job(), nullptr);
}

TEST(Ranks, GatherSharesOnTheFirst) {
  const auto results = on_ranks(3, [](Comm& comm) {
    Ranks ranks(comm);
    const PartedBytes shares = ranks.gather([&] {
      EXPECT_EQ(ranks_of_job(), nullptr);
      return std::vector<std::byte>(static_cast<std::size_t>(comm.rank()), std::byte{7});
    });
    std::string sizes;
    for (int r = 0; r < shares.size(); ++r) sizes += std::to_string(shares.part(r).size());
    return sizes;
  });
  EXPECT_THAT(results, ElementsAre("012", "000", "000"));
}

TEST(Ranks, GatherTheErrorOfTheLowestOnAll) {
  const auto results = on_ranks(4, [](Comm& comm) -> std::string {
    Ranks ranks(comm);
    ranks.gather([&]() -> std::vector<std::byte> {
      if (comm.rank() > 1) throw schema::Error(schema::ErrorCode::kBadData, "of " + std::to_string(comm.rank()));
      return {};
    });
    return "passed";
  });
  EXPECT_THAT(results, ElementsAre("of 2", "of 2", "of 2", "of 2"));
}

TEST(ConsecutiveShares, CostAboutTheSame) {
  EXPECT_THAT(consecutive_shares(std::vector<double>(10, 1.0), 4), ElementsAre(0, 2, 5, 7, 10));
  EXPECT_THAT(consecutive_shares(std::vector<double>{1, 1, 1, 1, 8, 8}, 2), ElementsAre(0, 5, 6));
  EXPECT_THAT(consecutive_shares(std::vector<double>{5}, 3), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(consecutive_shares({}, 3), ElementsAre(0, 0, 0, 0));
}

TEST(Bytes, ComeBackAsTheyWere) {
  ByteWriter out;
  out.number(2.5);
  out.text("text");
  out.numbers(std::vector<double>{1, -0.0});
  out.text("");
  ByteReader in(out.bytes());
  EXPECT_EQ(in.number<double>(), 2.5);
  EXPECT_EQ(in.text(), "text");
  EXPECT_THAT(in.numbers<double>(), ElementsAre(1, -0.0));
  EXPECT_EQ(in.text(), "");
  EXPECT_TRUE(in.at_end());
  EXPECT_THROW(in.number<char>(), schema::Error);
}

TEST(Mpi, SaysThatThePlugInIsMissing) {
  try {
    open_mpi("/nowhere/libkedge_mpi.so");
    FAIL();
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kDeviceUnavailable);
    EXPECT_THAT(error.message, HasSubstr("/nowhere/libkedge_mpi.so"));
  }
}

}   // namespace
}   // namespace kedge::engine
