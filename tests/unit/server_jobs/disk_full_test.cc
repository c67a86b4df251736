// A disk that is really full: a small tmpfs, for which the test has to be root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/jobs/job_service.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::JobState;

// Mounted over a temporary directory.
class SmallDisk {
 public:
  SmallDisk() { error_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=2m") == 0 ? 0 : errno; }
  ~SmallDisk() {
    if (error_ == 0) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  int error() const { return error_; }
  std::filesystem::path operator/(const char* name) const { return dir_ / name; }

  void fill() {
    std::ofstream file(*this / "ballast", std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void free() { std::filesystem::remove(*this / "ballast"); }

 private:
  tests::TempDir dir_;
  int error_ = 0;
};

TEST(FullDisk, RefusesJobsAndRecoversByItself) {
  SmallDisk disk;
  if (disk.error() != 0) GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(disk.error());
  JobService service(tests::service_options(disk / "state", KEDGE_FAKE_WORKER));
  const std::string before = tests::submit(service, tests::job_spec("Succeed")).id;
  tests::wait_for_end(service, before);
  const std::string running = tests::submit(service, tests::job_spec("Hold", disk / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(service, running, JobState::kRunning));
  std::ofstream(disk / "go") << "go";   // what the job says now may or may not find room
  disk.fill();

  std::vector<std::string> accepted;
  ErrorCode refusal = ErrorCode::kInternal;
  constexpr int kEnough = 10'000;   // the log has a little room of its own left
  for (int i = 0; i < kEnough && refusal == ErrorCode::kInternal; ++i) {
    try {
      accepted.push_back(tests::submit(service, tests::job_spec("Succeed")).id);
    } catch (const schema::Error& error) {
      refusal = error.code;
    }
  }
  EXPECT_EQ(refusal, ErrorCode::kStorageFull);
  EXPECT_THAT(service.unready_reason(), testing::HasSubstr("full"));
  EXPECT_EQ(service.find(before)->state, JobState::kSucceeded);   // reading still works

  disk.free();
  EXPECT_TRUE(tests::Waiter().until([&] { return service.ready(); }, std::chrono::seconds(5)));
  accepted.push_back(running);
  accepted.push_back(tests::submit(service, tests::job_spec("Succeed")).id);
  for (const std::string& id : accepted) EXPECT_EQ(tests::wait_for_end(service, id).state, JobState::kSucceeded) << id;
}

// It begins on its way to the disk, and must not keep a worker that could never be freed.
TEST(FullDisk, ForgetsAJobThatItRefuses) {
  SmallDisk disk;
  if (disk.error() != 0) GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(disk.error());
  JobService service(tests::service_options(disk / "state", KEDGE_FAKE_WORKER));
  tests::wait_for_end(service, tests::submit(service, tests::job_spec("Succeed")).id);
  disk.fill();
  std::vector<std::string> accepted;
  try {
    while (true) accepted.push_back(tests::submit(service, tests::job_spec("WaitForCancel")).id);
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kStorageFull);
  }
  disk.free();
  ASSERT_TRUE(tests::Waiter().until([&] { return service.ready(); }));
  for (const std::string& id : accepted) service.cancel(id);
  EXPECT_EQ(tests::wait_for_end(service, tests::submit(service, tests::job_spec("Succeed")).id).state, JobState::kSucceeded);
}

}  // namespace
}  // namespace kedge::server
