// What a confined worker can no longer do, and what it still can. Each test runs in a child, which does not come back.
#include "engine/worker/confine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace kedge::engine {
namespace {

constexpr int kSkipped = 77;

// Runs `check` in a confined child; its answer is the exit code.
template <class Check>
[[noreturn]] void confined(Check check) {
  leave_network();
  limit_resources();
  if (!deny_system_calls().empty()) std::_Exit(kSkipped);
  std::_Exit(check() ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool may_succeed_or_skip(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_SUCCESS || WEXITSTATUS(status) == kSkipped);
}

TEST(WorkerConfineDeathTest, HasLocalSocketsAndNoOthers) {
  EXPECT_EXIT(confined([] {
                const bool denied = ::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EACCES;
                return denied && ::socket(AF_INET6, SOCK_DGRAM, 0) < 0 && ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
              }),
              may_succeed_or_skip, "");
}

TEST(WorkerConfineDeathTest, StartsThreadsAndNoProcesses) {
  EXPECT_EXIT(confined([] {
                bool ran = false;
                std::thread([&] { ran = true; }).join();
                if (::fork() >= 0 || errno != EPERM) return false;
                return ran && ::execl("/bin/true", "true", nullptr) < 0 && errno == EPERM;
              }),
              may_succeed_or_skip, "");
}

TEST(WorkerConfineDeathTest, IsToldWhenItAsksForTooMuchMemory) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer reserves more address space than the bound";
  EXPECT_EXIT(confined([] {
                limit_memory(std::int64_t{1} << 30);
                try {
                  const std::vector<char> huge(std::size_t{4} << 30);
                  return huge.empty();
                } catch (const std::bad_alloc&) {
                  return true;
                }
              }),
              may_succeed_or_skip, "");
}

// The address sanitizer looks for leaks at the end, which what is denied must not hinder.
TEST(WorkerConfineDeathTest, EndsAsAnyOtherProcess) {
  EXPECT_EXIT(
      {
        if (!deny_system_calls().empty()) std::_Exit(kSkipped);
        std::exit(EXIT_SUCCESS);
      },
      may_succeed_or_skip, "");
}

TEST(WorkerConfineDeathTest, LeavesNoCoreFile) {
  EXPECT_EXIT(confined([] {
                rlimit limit{};
                return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
              }),
              may_succeed_or_skip, "");
}

}   // namespace
}   // namespace kedge::engine
