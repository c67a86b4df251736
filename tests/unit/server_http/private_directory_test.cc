// Data directories that others can read are made private, or refused.
#include "server/private_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "schemas/error.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;

class PrivateDirectory : public testing::Test {
 protected:
  PrivateDirectory() {
    std::string name = (fs::temp_directory_path() / "kedge-private-XXXXXX").string();
    parent_ = ::mkdtemp(name.data());
    fs::create_directory(data());
    set_mode(data(), 0755);
  }
  ~PrivateDirectory() override { fs::remove_all(parent_); }

  fs::path data() const { return parent_ / "data"; }
  static void set_mode(const fs::path& path, unsigned mode) { fs::permissions(path, static_cast<fs::perms>(mode)); }
  static unsigned mode(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }
  void write(const char* name, unsigned mode = 0644) const {
    std::ofstream(data() / name) << "x";
    set_mode(data() / name, mode);
  }

  fs::path parent_;
};

TEST_F(PrivateDirectory, MakesAnOpenOneOfAServerPrivateWithItsContents) {
  write("kedge.db"), write("auth.db-wal");
  fs::create_directory(data() / "datasets");
  set_mode(data() / "datasets", 0755);
  write("datasets/a.kds", 0640);
  EXPECT_THAT(make_private(data()), testing::HasSubstr("5 files and folders are private now"));
  EXPECT_EQ(mode(data()), 0700u);
  EXPECT_EQ(mode(data() / "kedge.db"), 0600u);
  EXPECT_EQ(mode(data() / "datasets"), 0700u);
  EXPECT_EQ(mode(data() / "datasets" / "a.kds"), 0600u);
  EXPECT_EQ(make_private(data()), "");
}

TEST_F(PrivateDirectory, RefusesOneWithFilesThatAreNotAServers) {
  write("thesis.tex");
  try {
    make_private(data());
    FAIL() << "it was taken";
  } catch (const schema::Error& error) {
    EXPECT_THAT(error.message, testing::HasSubstr("has files that are not a server's: 'chmod 700' it, or name another with --data-dir"));
  }
  EXPECT_EQ(mode(data()), 0755u);
  EXPECT_EQ(mode(data() / "thesis.tex"), 0644u);
}

TEST_F(PrivateDirectory, LeavesAPrivateOneAloneWithAnyContents) {
  write("thesis.tex");
  set_mode(data(), 0700);
  EXPECT_EQ(make_private(data()), "");
  EXPECT_EQ(mode(data() / "thesis.tex"), 0644u);
}

TEST_F(PrivateDirectory, SaysNothingOfOneThatIsNotThereYet) { EXPECT_EQ(make_private(data() / "new"), ""); }

TEST_F(PrivateDirectory, NewFilesArePrivateForAnyMask) {
  const mode_t before = ::umask(0);
  keep_new_files_private();
  std::ofstream(data() / "new") << "x";
  fs::create_directory(data() / "folder");
  ::umask(before);
  EXPECT_EQ(mode(data() / "new"), 0600u);
  EXPECT_EQ(mode(data() / "folder"), 0700u);
}

}  // namespace
}  // namespace kedge::server
