// Jobs while memory runs out, in any place where the service allocates. A program of its own: it replaces new.
#include <gtest/gtest.h>

#include "engine/core/memory_reserve.h"
#include "server/data/flight.h"
#include "tests/support/failing_new.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::JobState;
using tests::failing;
using tests::failures;
using tests::is_exempt;
using tests::job_spec;
using tests::kNever;
using tests::taken;

constexpr std::size_t kReserve = 1 << 20;
[[maybe_unused]] const bool is_set_up = (engine::set_up_memory_reserve(kReserve), true);

struct JobsMemory : testing::Test {
  JobsMemory() {
    is_exempt = true;   // the test's own thread
    service = std::make_unique<JobService>(tests::service_options(dir.path(), KEDGE_FAKE_WORKER));
    end_of("Succeed");
  }
  ~JobsMemory() override { failing = kNever; }

  schema::Job end_of(const std::string& how) { return tests::wait_for_end(*service, tests::submit(*service, job_spec(how)).id); }

  // A job that ends while an allocation of the service fails, each one after the other, and those after it.
  void fail_each(const std::string& how, JobState end) {
    taken = 0;
    ASSERT_EQ(end_of(how).state, end);
    const std::int64_t all = taken;
    ASSERT_GT(all, 20);
    for (const std::int64_t in_a_row : {1, 5}) {
      for (std::int64_t i = 0; i < all; i += in_a_row) {
        taken = 0, failures = in_a_row, failing = i;
        const schema::Job job = end_of(how);
        failing = kNever;
        EXPECT_TRUE(job.state == end || (job.error && job.error->code == schema::ErrorCode::kOutOfMemory))
            << "allocation " << i << " of " << all << ": " << schema::job_state_name(job.state) << (job.error ? job.error->message : "");
      }
    }
  }

  tests::TempDir dir;
  std::unique_ptr<JobService> service;
};

TEST_F(JobsMemory, ThatRunsOutLosesNoJob) {
  fail_each("Succeed", JobState::kSucceeded);
}

TEST_F(JobsMemory, ThatRunsOutLosesNoJobThatFails) {
  fail_each("Fail", JobState::kFailed);
}

// Later calls would wait for a flight that has no thread.
TEST(FlightDeckMemory, ThatRunsOutDelaysNoCall) {
  FlightDeck deck;
  const auto land = [&deck] {
    return deck.fly("a", [](const Emit& emit, std::stop_token) {
      emit(schema::ProgressEvent{.phase = "download"});
      return AcquiredDataset{.path = "/dev/null"};
    }, [](schema::EventBody) {}, {});
  };
  is_exempt = false;
  int failed = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    taken = 0, failures = 1, failing = i;
    try {
      land();
    } catch (const std::exception&) {
      ++failed;
    }
    failing = kNever;
    EXPECT_EQ(land().path, "/dev/null");
  }
  EXPECT_GT(failed, 5);
}

TEST_F(JobsMemory, TheReserveIsTakenAndPutByAgain) {
  { const engine::UsesReserve reserve; }
  ASSERT_EQ(engine::memory_reserve(), kReserve);
  is_exempt = false, failures = 3, failing = 0, taken = 0;
  {
    const engine::UsesReserve reserve;
    for (int i = 0; i < 3; ++i) delete new int(i);
    EXPECT_LT(engine::memory_reserve(), kReserve);
  }
  { const engine::UsesReserve reserve; }
  EXPECT_EQ(engine::memory_reserve(), kReserve);
}

TEST_F(JobsMemory, AThreadWithoutTheReserveIsRefusedAtOnce) {
  is_exempt = false, failures = 1, failing = 0, taken = 0;
  EXPECT_THROW(delete new int(1), std::bad_alloc);
  EXPECT_EQ(engine::memory_reserve(), kReserve);
}

}   // namespace
}   // namespace kedge::server
