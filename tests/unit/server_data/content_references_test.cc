// What goes with the last holder of a content: its file, and what was made of it.
#include "server/data/content_references.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

TEST(ContentReferences, TakeWhatWasMadeOfAFileAlong) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "trash");
  const auto file = [&](const std::string& name) {
    std::ofstream(directory.path() / name) << "x";
    return directory.path() / name;
  };
  const auto content = file("stored-1.kds"), rows = file(derived_prefix("stored-1.kds") + "a.kds"),
             others = file(derived_prefix("stored-2.kds") + "a.kds");
  const auto references = std::make_shared<ContentReferences>(directory.path(), directory.path() / "trash");
  CacheHold one = references->hold("stored-1.kds"), two = one;
  one.reset();
  EXPECT_TRUE(std::filesystem::exists(rows)) << "it has another holder";
  two.reset();
  EXPECT_FALSE(std::filesystem::exists(content));
  EXPECT_FALSE(std::filesystem::exists(rows));
  EXPECT_TRUE(std::filesystem::exists(others));
}

}   // namespace
}   // namespace kedge::server
