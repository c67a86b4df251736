// What the ranks of a group compare before they take a job.
#include "engine/worker/rank_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/self.h"

namespace kedge::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RankIdentity, IsTheSameForTwoProcessesOfOneMachine) {
  const RankIdentity one = identity_of_this_rank("an MPI");
  EXPECT_EQ(one, identity_of_this_rank("an MPI"));
  EXPECT_FALSE(one.processor.empty());
  EXPECT_EQ(gather_identities(*make_self_comm(), one), std::vector<RankIdentity>{one});
}

TEST(RankIdentity, NamesTheRankThatDiffersAndInWhat) {
  const RankIdentity one{.version = "1", .processor = "EPYC", .kernels = "k", .mpi = "m", .host = "n1", .place = "a"};
  RankIdentity other = one;
  other.host = "n2", other.place = "b";   // another machine of one kind
  EXPECT_EQ(difference(std::vector{one, other, one}), std::nullopt);
  other.processor = "Xeon";
  EXPECT_THAT(difference(std::vector{one, one, other}).value(),
              AllOf(HasSubstr("processor of rank 2 on n2 is 'Xeon'"), HasSubstr("rank 0 on n1 'EPYC'")));
  other.processor = one.processor, other.version = "2";
  EXPECT_THAT(difference(std::vector{one, other}).value(), HasSubstr("version of rank 1"));
}

}   // namespace
}   // namespace kedge::engine
