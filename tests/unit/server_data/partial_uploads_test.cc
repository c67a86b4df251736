// Uploads by content that one connection begins and another ends.
#include "server/data/partial_uploads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "crypto/digest.h"
#include "schemas/error.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

std::string table(int rows) {
  std::string text = "a,b\n";
  for (int i = 0; i < rows; ++i) text += "1,2\n";
  return text;
}

std::string content_name(const std::string& text) {
  return "sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, "csv\n" + text);
}

struct Partial : testing::Test {
  using Writer = std::unique_ptr<PartialUploads::Writer>;
  Writer begin(const std::string& text, std::uint64_t offset = 0, const std::string& tenant = "alice") {
    return partials.begin(tenant, content_name(text), "csv", offset, text.size());
  }
  // A connection that breaks behind so many bytes.
  void break_after(const std::string& text, std::size_t bytes) {
    begin(text)->write(std::string_view(text).substr(0, bytes));
  }
  std::uint64_t waiting(const std::string& text) { return partials.waiting("alice", content_name(text)); }
  int conflict(const std::function<void()>& work) {
    try {
      work();
      return 0;
    } catch (const schema::Error& error) {
      return schema::http_status(error.code);
    }
  }
  std::size_t parts() const {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory.path()))
      count += file.path().extension() == ".part" || file.path().string().ends_with(".part.kds");
    return count;
  }

  TemporaryDirectory directory;
  TenantBytes bytes;
  Uploads uploads{directory.path() / "datasets", bytes};
  PartialUploads& partials = uploads.partials();
  const std::string text = table(20);
};

TEST_F(Partial, UploadsGoOnWhereTheyBroke) {
  break_after(text, 30);
  EXPECT_EQ(waiting(text), 30u);
  EXPECT_EQ(bytes.used("alice"), text.size()) << "what was announced counts while it waits";
  const Writer writer = begin(text, 30);
  ASSERT_TRUE(writer);
  EXPECT_EQ(waiting(text), 0u) << "a connection brings the rest";
  writer->write(std::string_view(text).substr(30));
  EXPECT_EQ(uploads.publish(writer->finish({})).rows, 20);
  EXPECT_EQ(waiting(text), 0u);
  EXPECT_EQ(parts(), 0u);
}

TEST_F(Partial, UploadsGoOnFromTheirPlaceAlone) {
  break_after(text, 30);
  EXPECT_FALSE(begin(text, 29));
  EXPECT_FALSE(begin(text, 31));
  EXPECT_FALSE(begin(text, 30, "bob"));
  EXPECT_TRUE(begin(text, 30));
}

TEST_F(Partial, UploadsBeginAnewFromTheirFirstByte) {
  break_after(text, 30);
  const Writer writer = begin(text);
  writer->write(text);
  EXPECT_EQ(uploads.publish(writer->finish({})).rows, 20);
}

TEST_F(Partial, UploadsOfTwoConnectionsDoNotDisturbEachOther) {
  const Writer first = begin(text), second = begin(text);
  first->write(text), second->write(text);
  EXPECT_EQ(uploads.publish(first->finish({})).rows, 20);
  EXPECT_EQ(uploads.publish(second->finish({})).rows, 20);
  EXPECT_EQ(parts(), 0u);
}

TEST_F(Partial, UploadsThatWereWrongAreNotKept) {
  {
    const Writer writer = begin(text);
    writer->write("a,b\n5,6\n");
    EXPECT_EQ(conflict([&] { writer->finish({}); }), 422) << "another content than that of the name";
  }
  EXPECT_EQ(waiting(text), 0u);
  EXPECT_EQ(parts(), 0u);
  EXPECT_EQ(bytes.used("alice"), 0u);
}

TEST_F(Partial, UploadsOfWhichNothingCameAreNotKept) {
  begin(text);
  EXPECT_EQ(waiting(text), 0u);
  EXPECT_EQ(bytes.used("alice"), 0u);
}

TEST_F(Partial, UploadsAreGivenUpForNewerOnes) {
  std::vector<std::string> texts;
  for (int i = 0; i < static_cast<int>(PartialUploads::kMostOfTenant) + 1; ++i) texts.push_back(table(30 + i));
  for (const std::string& one : texts) break_after(one, 10);
  EXPECT_EQ(waiting(texts.front()), 0u);
  for (std::size_t i = 1; i < texts.size(); ++i) EXPECT_EQ(waiting(texts[i]), 10u) << i;
  EXPECT_EQ(parts(), PartialUploads::kMostOfTenant);
}

TEST_F(Partial, UploadsWaitForSoLongAsTheyMay) {
  partials.set_kept(std::chrono::seconds(0));
  break_after(text, 30);
  EXPECT_EQ(waiting(text), 0u) << "not at all";
  partials.set_kept(std::chrono::seconds(1));
  break_after(text, 30);
  EXPECT_EQ(waiting(text), 30u);
  for (int i = 0; i < 2000 && waiting(text) != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(waiting(text), 0u);
  for (int i = 0; i < 2000 && parts() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(parts(), 0u) << "it takes no room any more";
}

}   // namespace
}   // namespace kedge::server
