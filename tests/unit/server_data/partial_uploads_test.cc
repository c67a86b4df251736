// Uploads by content that one connection begins and another ends.
#include "server/data/partial_uploads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "crypto/digest.h"
#include "schemas/error.h"
#include "tests/unit/server_data/gzip.h"
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

// Servers one after the other on one folder.
struct Outlasting : testing::Test {
  void start() {
    uploads.reset();
    bytes = std::make_unique<TenantBytes>(most);
    uploads = std::make_unique<Uploads>(directory.path() / "datasets", *bytes);
  }
  PartialUploads& partials() { return uploads->partials(); }
  std::unique_ptr<PartialUploads::Writer> begin(const std::string& text, std::uint64_t offset = 0,
                                                const std::string& format = "csv") {
    return partials().begin("alice", name_of(text, format), format, offset, text.size());
  }
  void break_after(const std::string& text, std::size_t n, const std::string& format = "csv") {
    begin(text, 0, format)->write(std::string_view(text).substr(0, n));
  }
  std::uint64_t waiting(const std::string& text, const std::string& format = "csv") {
    return partials().waiting("alice", name_of(text, format));
  }
  static std::string name_of(const std::string& text, const std::string& format) {
    return "sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, format + "\n" + text);
  }
  std::filesystem::path folder() const { return directory.path() / "datasets" / "uploads" / "unfinished"; }
  std::size_t n_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator()));
  }
  // Ends, begins again, and brings the rest: the table has so many rows.
  void expect_rest(const std::string& text, std::size_t n, const std::string& format, std::int64_t rows) {
    start();
    ASSERT_EQ(waiting(text, format), n);
    const auto writer = begin(text, n, format);
    ASSERT_TRUE(writer);
    writer->write(std::string_view(text).substr(n));
    EXPECT_EQ(uploads->publish(writer->finish({})).rows, rows);
    EXPECT_EQ(n_files(), 0u);
  }

  std::uint64_t most = 0;   // of a tenant
  TemporaryDirectory directory;
  std::unique_ptr<TenantBytes> bytes;
  std::unique_ptr<Uploads> uploads;
  const std::string text = table(400'000);   // 1.6 MB
};

TEST_F(Outlasting, UploadsGoOnAfterANewStart) {
  start();
  break_after(text, 1'000'003);
  expect_rest(text, 1'000'003, "csv", 400'000);
}

TEST_F(Outlasting, UploadsGoOnAfterANewStartThoughTheyArePacked) {
  std::string lines = "a,b\n";
  for (std::uint32_t i = 0; i < 200'000; ++i) lines += fmt::format("{},{}\n", i * 2654435761U, i * 40503U);
  const std::string packed = gzip(lines);
  ASSERT_GT(packed.size(), PartialUploads::kLeastOutlasting);
  start();
  break_after(packed, 900'001);
  expect_rest(packed, 900'001, "csv", 200'000);
}

TEST_F(Outlasting, UploadsGoOnAfterTwoNewStarts) {
  start();
  break_after(text, 500'000);
  start();
  begin(text, 500'000)->write(std::string_view(text).substr(500'000, 300'000));
  EXPECT_EQ(waiting(text), 800'000u);
  expect_rest(text, 800'000, "csv", 400'000);
}

TEST_F(Outlasting, UploadsCountAndAreRemovedWhenTheyBeginAnew) {
  start();
  break_after(text, 600'000);
  start();
  EXPECT_EQ(bytes->used("alice"), 600'000u);
  EXPECT_EQ(n_files(), 2u);
  {
    const auto writer = begin(text);
    EXPECT_EQ(bytes->used("alice"), text.size()) << "what was announced";
    writer->write(text);
    uploads->publish(writer->finish({}));
  }
  EXPECT_EQ(n_files(), 0u);
}

TEST_F(Outlasting, SmallUploadsEndWithTheServer) {
  start();
  const std::string small = table(20);
  break_after(small, 30);
  EXPECT_EQ(n_files(), 0u);
  start();
  EXPECT_EQ(waiting(small), 0u);
}

TEST_F(Outlasting, UploadsAreBoundedInCountBytesAndAge) {
  std::vector<std::string> texts;
  for (int i = 0; i < static_cast<int>(PartialUploads::kMostOfTenant) + 1; ++i) texts.push_back(table(300'000 + i));
  start();
  for (const std::string& one : texts) break_after(one, 100'000);
  start();
  EXPECT_EQ(n_files(), 2 * PartialUploads::kMostOfTenant);
  EXPECT_EQ(waiting(texts.front()), 0u);
  partials().set_most_bytes(350'000);
  break_after(text, 100'000);
  EXPECT_EQ(n_files(), 2u * 3);
  partials().set_kept(std::chrono::seconds(0));
  for (int i = 0; i < 2000 && n_files() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(n_files(), 0u);
  EXPECT_EQ(bytes->used("alice"), 0u);
}

TEST_F(Outlasting, WhatIsDamagedIsRemovedAndSaidToTheSender) {
  start();
  break_after(text, 600'000);
  std::filesystem::path file;
  for (const auto& one : std::filesystem::directory_iterator(folder()))
    if (one.path().extension() == ".bytes") file = one.path();
  std::ofstream(folder() / "stray.new") << "x";
  uploads.reset();
  std::ofstream(file, std::ios::in | std::ios::out | std::ios::binary) << "z";
  start();
  EXPECT_FALSE(std::filesystem::exists(folder() / "stray.new"));
  {
    const auto writer = begin(text, 600'000);
    writer->write(std::string_view(text).substr(600'000));
    EXPECT_THROW(writer->finish({}), schema::Error) << "its digest is another";
  }
  EXPECT_EQ(n_files(), 0u);
  std::ofstream(folder() / "half.bytes") << "a,b\n";
  start();
  EXPECT_EQ(n_files(), 0u) << "bytes without an entry";
}

TEST_F(Outlasting, UploadsThatHaveNoRoomForASecondFileEndWithTheServer) {
  std::string packed = "a,b\n";
  for (std::uint32_t i = 0; i < 200'000; ++i) packed += fmt::format("{},{}\n", i * 2654435761U, i * 40503U);
  const std::string lines = packed;
  packed = gzip(packed);
  most = lines.size() + packed.size() / 2;
  start();
  const auto writer = begin(packed);
  writer->write(packed);
  EXPECT_EQ(n_files(), 0u);
  EXPECT_EQ(uploads->publish(writer->finish({})).rows, 200'000);
}

}   // namespace
}   // namespace kedge::server
