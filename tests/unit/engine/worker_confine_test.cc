// What a confined worker can no longer do, and what it still can. Each test runs in a child, which does not come back.
#include "engine/worker/confine.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

TEST(WorkerConfineDeathTest, GetsAnErrorWhenItAllocatesTooMuch) {
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

// Files of the test: one of the worker's own, and one of another user.
class WorkerFilesDeathTest : public testing::Test {
 protected:
  WorkerFilesDeathTest() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-confine-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(own());
    std::ofstream(strangers()) << "secret";
    std::ofstream(own() / "mine") << "mine";
  }
  ~WorkerFilesDeathTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path own() const { return folder_ / "own"; }
  std::filesystem::path strangers() const { return folder_ / "strangers"; }
  static bool opens(const std::filesystem::path& path, int flags) { return ::open(path.c_str(), flags | O_CLOEXEC, 0600) >= 0; }
  static bool is_denied(const std::filesystem::path& path, int flags = O_RDONLY) { return !opens(path, flags) && errno == EACCES; }

  template <class Check>
  [[noreturn]] void confined_to_own(Check check) const {
    if (!confine_files(own()).empty()) std::_Exit(kSkipped);
    std::_Exit(check() ? EXIT_SUCCESS : EXIT_FAILURE);
  }

  std::filesystem::path folder_;
};

TEST_F(WorkerFilesDeathTest, OpensItsOwnFilesAndNoOthers) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer needs files of its own, so that such a worker is not confined from files";
  EXPECT_EXIT(confined_to_own([this] {
                const bool works = opens(own() / "mine", O_RDONLY) && opens(own() / "new", O_RDWR | O_CREAT) && opens("/proc/self/status", O_RDONLY);
                return works && is_denied(strangers()) && is_denied(folder_ / "new", O_RDWR | O_CREAT) && is_denied("/etc/passwd");
              }),
              may_succeed_or_skip, "");
}

TEST_F(WorkerFilesDeathTest, MovesNothingOutOfItsFolderAndNothingIn) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "such a worker is not confined from files";
  EXPECT_EXIT(confined_to_own([this] {
                const bool stays = ::rename((own() / "mine").c_str(), (folder_ / "mine").c_str()) != 0;
                return stays && ::link(strangers().c_str(), (own() / "link").c_str()) != 0;
              }),
              may_succeed_or_skip, "");
}

TEST_F(WorkerFilesDeathTest, MapsWhatItWasLentThough) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "such a worker is not confined from files";
  const int lent = ::open(strangers().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EXIT(confined_to_own([lent] { return ::mmap(nullptr, 6, PROT_READ, MAP_PRIVATE, lent, 0) != MAP_FAILED; }), may_succeed_or_skip, "");
  ::close(lent);
}

TEST_F(WorkerFilesDeathTest, ReadsNoMemoryOfItsParentAndNoneOfItsEnvironment) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "such a worker is not confined from files";
  EXPECT_EXIT(confined_to_own([] {
                const std::filesystem::path parent = fmt::format("/proc/{}", ::getppid());
                return is_denied(parent / "mem") && is_denied(parent / "environ") && is_denied(parent / "fd" / "0");
              }),
              may_succeed_or_skip, "");
}

}   // namespace
}   // namespace kedge::engine
