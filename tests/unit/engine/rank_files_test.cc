// Files of a job on ranks whose machines do not have them.
#include "engine/worker/rank_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Four ranks on two machines. They are threads, so that the second machine lacks a file where its ranks look for it at
// another path.
class RankFilesTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", temporary_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  fs::path write(const std::string& text) {
    const fs::path file = data_.path() / "table";
    std::ofstream(file) << text;
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(++writes_));
    return file;
  }

  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // What each rank reads at the end of each of its calls, with what the first said; an error instead.
  std::vector<std::string> brought(const std::vector<std::string>& texts, const fs::path& elsewhere,
                                   const std::stop_token& stop = {}) {
    return on_ranks(4, [&](Comm& comm) {
      const auto is_second = comm.rank() >= 2;
      std::vector<RankIdentity> ranks;
      for (const char* host : {"n1", "n1", "n2", "n2"}) ranks.push_back({.host = host, .place = host});
      RankFiles files(comm, ranks);
      std::string seen;
      for (const std::string& text : texts) {
        if (comm.rank() == 0) write(text);
        comm.all_gather({});
        std::string path = is_second ? elsewhere : data_.path() / "table";
        files.bring(std::vector{&path}, stop, [&](const std::string& line) { seen += "(" + line + ")"; });
        seen += text_of(path) + ".";
        comm.all_gather({});
      }
      return seen;
    });
  }

  TemporaryFolder data_, temporary_;
  int writes_ = 0;
};

TEST_F(RankFilesTest, SendsAFileOnceToAMachineThatLacksItAndAgainWhenItHasChanged) {
  const std::string large(std::size_t{20} << 20, 'x');   // of several pieces
  EXPECT_THAT(brought({"one", "other", large}, data_.path() / "absent"),
              ElementsAre("(0.0 MB of data go to n2)one.(0.0 MB of data go to n2)other.(21.0 MB of data go to n2)" +
                              large + ".",
                          "one.other." + large + ".", "one.other." + large + ".", "one.other." + large + "."));
  EXPECT_THAT(std::vector<fs::path>(fs::directory_iterator(temporary_.path()), fs::directory_iterator()),
              IsEmpty());   // the copies have no names
}

TEST_F(RankFilesTest, KeepsCopiesForTheNextJobs) {
  write("one");
  EXPECT_THAT(
      on_ranks(2,
               [&](Comm& comm) {
                 RankFiles files(comm, {{.host = "n1", .place = "1"}, {.host = "n2", .place = "2"}});
                 std::string seen;
                 for (int job = 0; job < 3; ++job) {
                   std::string path = data_.path() / (comm.rank() == 0 ? "table" : "absent");
                   files.bring(std::vector{&path}, {}, [&](const std::string&) { seen += "sent "; });
                   seen += text_of(path) + " ";
                 }
                 return seen;
               }),
      ElementsAre("sent one one one ", "one one one "));
}

TEST_F(RankFilesTest, LeavesFilesThatAreThere) {
  EXPECT_THAT(brought({"one"}, data_.path() / "table"), Each("one."));
}

TEST_F(RankFilesTest, LeavesAPathWithoutAFileToWhoeverOpensIt) {
  EXPECT_THAT(on_ranks(2,
                       [&](Comm& comm) {
                         RankFiles files(comm, {{.place = "1"}, {.place = "2"}});
                         std::string path = "/no/such/file", empty;
                         files.bring(std::vector{&path, &empty}, {}, {});
                         return path + empty;
                       }),
              Each("/no/such/file"));
}

TEST_F(RankFilesTest, GivesAllRanksTheErrorOfTheMachineThatCannotKeepACopy) {
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THAT(
      brought({"one"}, data_.path() / "absent"),
      Each(HasSubstr("rank 2 on n2 could not keep the job's data in /no/such/folder: No such file or directory")));
}

// As root, who may mount one: a disk with room for one of the two files.
TEST_F(RankFilesTest, GivesUpEarlierCopiesWhereTheDiskIsFull) {
  const char* const disk = temporary_.path().c_str();
  if (::mount("none", disk, "tmpfs", 0, "size=3m") != 0)
    GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(errno);
  const std::string first(std::size_t{2} << 20, 'a'), second(std::size_t{2} << 20, 'b'),
      never(std::size_t{4} << 20, 'c');
  const std::vector<std::string> texts = brought({first, second}, data_.path() / "absent");
  const std::vector<std::string> failed = brought({first, never}, data_.path() / "absent");
  ::umount2(disk, MNT_DETACH);
  EXPECT_EQ(texts[0],
            "(2.1 MB of data go to n2)" + first + ".(2.1 MB of data go to n2)(2.1 MB of data go to n2)" + second + ".");
  EXPECT_EQ(texts[3], first + "." + second + ".");
  EXPECT_THAT(failed, Each(HasSubstr("rank 2 on n2 could not keep the job's data in " + std::string(disk) +
                                     ": No space left on device")));
}

TEST_F(RankFilesTest, EndsWithTheJob) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(brought({"one"}, data_.path() / "absent", stop.get_token()), Each(HasSubstr("the job was cancelled")));
}

}   // namespace
}   // namespace kedge::engine
