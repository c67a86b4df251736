// sklearn://20newsgroups from a small archive of the same form, compared with what scikit-learn makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "crypto/digest.h"
#include "server/data/mapped_text.h"
#include "server/data/sklearn_sets.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/gzip.h"
#include "tests/unit/server_data/parsing.h"
#include "tests/unit/server_data/reference_bytes.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

#include "tests/unit/server_data/newsgroups_reference.inc"

std::string table_of(const char* url, const std::string& file, std::int64_t most_bytes = 1 << 20) {
  const TemporaryDirectory directory;
  const auto csv = directory.path() / "table.csv";
  write_sklearn_table(sklearn_set(url), file, csv, most_bytes);
  return std::string(MappedText(csv).text());
}

schema::Error refusal(const std::string& file, const char* url = "sklearn://20newsgroups",
                      std::int64_t most_bytes = 1 << 20) {
  try {
    table_of(url, file, most_bytes);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "the file was read";
  return {ErrorCode::kInternal, ""};
}

TEST(SklearnNewsgroups, AreTheTextsAndGroupsOfScikitLearnInItsOrder) {
  const std::string archive = from_hex(kArchive);
  EXPECT_EQ(table_of("sklearn://20newsgroups", archive), from_hex(kTrain));
  EXPECT_EQ(table_of("sklearn://20newsgroups_test", archive), from_hex(kTest));
  EXPECT_EQ(table_of("sklearn://20newsgroups_all", archive), from_hex(kAll));
}

TEST(SklearnNewsgroups, BecomeTwoColumnsOfCategories) {
  const Parsed p = parse(parse_csv, table_of("sklearn://20newsgroups", from_hex(kArchive)));
  ASSERT_EQ(p.meta.n_rows, 8);
  EXPECT_EQ(p.meta.columns[0].missing, 1);   // the text without a byte
  EXPECT_THAT(p.meta.columns[0].categories, testing::SizeIs(7));
  EXPECT_THAT(p.meta.columns[0].categories, testing::Contains("say \"hi\", \"\n\n\"\""));
  EXPECT_THAT(p.meta.columns[0].categories, testing::Contains("From: a\r\n\r\nbody\rend "));
  EXPECT_THAT(p.meta.columns[1].categories, ElementsAre("alt.atheism", "comp.graphics", "sci.space"));
}

TEST(SklearnNewsgroups, AreReadFromPlainArchivesOfOldPrograms) {
  const std::string text =
      tar_file("./20news-bydate-train/", "", '\0') + tar_file("./20news-bydate-train/a/1", "x", '\0');
  EXPECT_EQ(table_of("sklearn://20newsgroups", text), "text,target\n\"x\",\"a\"\n");
  std::string long_name = tar_file("a/1", "x");   // whose folder is in ustar's prefix
  long_name.replace(257, 5, "ustar");
  long_name.replace(345, 19, "20news-bydate-train");
  EXPECT_EQ(table_of("sklearn://20newsgroups", long_name), "text,target\n\"x\",\"a\"\n");
}

TEST(SklearnNewsgroups, OfADamagedArchiveAreRefused) {
  const std::string packed = from_hex(kArchive);
  for (std::size_t size = 0; size < packed.size(); size += 13)
    EXPECT_EQ(refusal(packed.substr(0, size)).code, ErrorCode::kDatasetCorrupt) << size;
  const std::string file = tar_file("20news-bydate-train/a/1", std::string(600, 'x'));
  for (const std::size_t size : {1, 511, 512, 900, 1112, 1535})
    EXPECT_THAT(refusal(file.substr(0, size)).message, HasSubstr("ends within a file")) << size;
  std::string damaged = file;
  damaged[130] = 'x';
  EXPECT_THAT(refusal(damaged).message, HasSubstr("the header of '20news-bydate-train/a/1' has no size"));
  EXPECT_THAT(refusal(tar_file("20news-bydate-train/a/1", "", '1')).message, HasSubstr("is a link, must be a file"));
  EXPECT_THAT(refusal(tar_file("20news-bydate-train/a/b/1", "x")).message,
              HasSubstr("deeper than folder, group and text"));
}

TEST(SklearnNewsgroups, ThatAreNotThereAreNamed) {
  const std::string train = tar_file("20news-bydate-train/a/1", "x");
  EXPECT_EQ(refusal(gzip(train), "sklearn://20newsgroups_test").message,
            "20news-bydate.tar.gz: it has no texts in 20news-bydate-test");
  EXPECT_EQ(refusal(train, "sklearn://20newsgroups_all").message,
            "20news-bydate.tar.gz: it has no texts in 20news-bydate-test");
  EXPECT_THAT(refusal(tar_file("20news-bydate-trainer/a/1", "x")).message,
              HasSubstr("no texts in 20news-bydate-train"));
  EXPECT_EQ(refusal(from_hex(kArchive), "sklearn://20newsgroups", 100).code, ErrorCode::kInvalidValue);   // the limit
}

class SklearnNewsgroupsByUrl : public CacheTest {};

TEST_F(SklearnNewsgroupsByUrl, AreFetchedWithTheirChecksumAndAreATableEach) {
  const std::string packed = from_hex(kArchive);
  const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n\r\n" + packed;
  const ScriptedServer origin({reply, reply, reply, reply, reply});
  DataOptions given = options("http://openml.invalid");
  given.allow_fetch = {"127.0.0.1"};
  given.stores = {{.prefix = "sklearn://", .endpoint = origin.url().substr(0, origin.url().rfind('/')), .signing = {}}};
  DatasetCache cache(given);
  const schema::Error wrong = failure(cache, {schema::UrlRef{.url = "sklearn://20newsgroups"}});   // three attempts
  EXPECT_EQ(wrong.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(wrong.message, HasSubstr("8f1b2514ca22a5ad"));
  const std::string digest = crypto::hex_digest(crypto::DigestKind::kSha256, packed);
  const Parsed train =
      read_file(acquire(cache, {schema::UrlRef{.url = "sklearn://20newsgroups", .sha256 = digest}}).path);
  const Parsed all =
      read_file(acquire(cache, {schema::UrlRef{.url = "sklearn://20newsgroups_all", .sha256 = digest}}).path);
  EXPECT_EQ(train.meta.n_rows, 8);
  EXPECT_EQ(train.meta.target, "target");
  EXPECT_EQ(all.meta.n_rows, 13);
  EXPECT_THAT(origin.requests(), testing::SizeIs(5));
  EXPECT_THAT(origin.requests()[4], HasSubstr("GET /files/5975967 "));
}

}   // namespace
}   // namespace kedge::server
