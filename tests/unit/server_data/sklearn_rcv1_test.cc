// sklearn://rcv1/CCAT from small files of the same form, compared with what scikit-learn makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/digest.h"
#include "server/data/mapped_text.h"
#include "server/data/rcv1.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/gzip.h"
#include "tests/unit/server_data/parsing.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::HasSubstr;

#include "tests/unit/server_data/rcv1_reference.inc"

constexpr std::string_view kLastColumn =
    " 47236:0";   // of the first row, which makes the table as wide as the real one

std::string packed(std::size_t i) {
  return gzip(std::string(kFiles[i]));
}

std::string text_of(const std::string& url, std::int64_t most_bytes = 1 << 20) {
  const Rcv1Set set = rcv1_set(url);
  const std::size_t first = set.vectors.size() == 4 ? 2 : 1;   // of kFiles
  const TemporaryDirectory directory;
  const auto path = directory.path() / "rcv1.txt";
  const Rcv1Labels labels(packed(0), set.topic);
  Rcv1Text rows(path, labels, most_bytes);
  for (std::size_t i = 0; i < set.vectors.size(); ++i) rows.add(set.vectors[i].name, packed(first + i));
  rows.finish();
  return std::string(MappedText(path).text());
}

std::string widened(std::string_view table) {
  return std::string(table).insert(table.find('\n'), kLastColumn);
}

template <class Call>
schema::Error refusal(const Call& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorCode::kInternal, ""};
}

TEST(SklearnRcv1, IsTheTableOfScikitLearnWithOneTopic) {
  EXPECT_EQ(text_of("sklearn://rcv1/CCAT"), widened(kAllCcat));
  EXPECT_EQ(text_of("sklearn://rcv1_train/MCAT"), widened(kTrainMcat));
  EXPECT_EQ(text_of("sklearn://rcv1_test/E11"), widened(kTestE11));
}

TEST(SklearnRcv1, HasTheFilesOfItsSubsetInScikitLearnsOrder) {
  std::vector<std::string_view> names;
  for (const Rcv1File& file : rcv1_set("sklearn://rcv1/CCAT").vectors) names.push_back(file.address);
  EXPECT_THAT(names, testing::ElementsAre("/files/5976057", "/files/5976069", "/files/5976066", "/files/5976063",
                                          "/files/5976060"));
  EXPECT_THAT(rcv1_set("sklearn://rcv1_train/CCAT").vectors, testing::SizeIs(1));
  EXPECT_EQ(rcv1_set("sklearn://rcv1_test/CCAT").vectors.front().name, "lyrl2004_vectors_test_pt0.dat.gz");
}

TEST(SklearnRcv1, NeedsATopicThatThereIs) {
  for (const char* url : {"sklearn://rcv1", "sklearn://rcv1_train/"}) {
    const schema::Error error = refusal([&] { rcv1_set(url); });
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, "dataset.url.url");
    EXPECT_THAT(error.message, HasSubstr("name one, as in 'sklearn://rcv1"));
  }
  const schema::Error error = refusal([] { text_of("sklearn://rcv1/CAT"); });
  EXPECT_EQ(error.where, "dataset.url.url");
  EXPECT_EQ(error.message, "rcv1 has no topic 'CAT', did you mean 'CCAT'?; it has 4, such as C15");
  EXPECT_FALSE(is_rcv1_url("sklearn://rcv12/CCAT"));
  EXPECT_FALSE(is_rcv1_url("hf://rcv1/CCAT"));
}

TEST(SklearnRcv1, OfDamagedFilesIsRefused) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "rcv1.txt";
  const std::string topics = packed(0), vectors = packed(1);
  for (std::size_t size = 10; size < topics.size(); size += 7)
    EXPECT_EQ(refusal([&] { Rcv1Labels(topics.substr(0, size), "CCAT"); }).code, ErrorCode::kDatasetCorrupt) << size;
  EXPECT_THAT(refusal([] { Rcv1Labels("CCAT x 1\n", "CCAT"); }).message, HasSubstr("is not a topic and a document"));
  const Rcv1Labels labels(topics, "CCAT");
  const auto added = [&](const std::string& text) {
    return refusal([&] { Rcv1Text(path, labels, 1 << 20).add("v", text); });
  };
  for (std::size_t size = 10; size < vectors.size(); size += 7)
    EXPECT_EQ(added(vectors.substr(0, size)).code, ErrorCode::kDatasetCorrupt) << size;
  for (const char* line : {"x 1:1\n", "2286 1:1 47237:1\n", "2286 word\n", "-2 1:1"})
    EXPECT_THAT(added(line).message, HasSubstr("v: the line '")) << line;
  EXPECT_THAT(added("2285 1:1\n").message, HasSubstr("it has no topic of document 2285"));
  EXPECT_EQ(refusal([] { text_of("sklearn://rcv1/CCAT", 100); }).code, ErrorCode::kInvalidValue);   // the limit
}

class SklearnRcv1ByUrl : public CacheTest {
 protected:
  DataOptions from(const ScriptedServer& origin) const {
    DataOptions given = options("http://openml.invalid");
    given.allow_fetch = {"127.0.0.1"};
    given.stores = {
        {.prefix = "sklearn://", .endpoint = origin.url().substr(0, origin.url().rfind('/')), .signing = {}}};
    return given;
  }
};

std::string reply(std::size_t i) {
  const std::string body = packed(i);
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string digest_of_files() {
  std::vector<std::string> digests;
  for (std::size_t i = 0; i < kFiles.size(); ++i)
    digests.push_back(crypto::hex_digest(crypto::DigestKind::kSha256, packed(i)));
  return rcv1_digest(digests);
}

TEST_F(SklearnRcv1ByUrl, IsFetchedOnceAndSparse) {
  const ScriptedServer origin({reply(0), reply(1), reply(2), reply(3), reply(4), reply(5)});
  DatasetCache cache(from(origin));
  const schema::DatasetRef ref{schema::UrlRef{.url = "sklearn://rcv1/CCAT", .sha256 = digest_of_files()}};
  const AcquiredDataset first = acquire(cache, ref), second = acquire(cache, ref);
  const engine::DatasetFile file(first.path);
  EXPECT_EQ(file.meta().n_rows, 8);
  EXPECT_EQ(file.meta().n_values_columns, 47237);   // and the label
  EXPECT_EQ(file.meta().target, "label");
  EXPECT_TRUE(file.meta().is_sparse());
  EXPECT_THAT(file.column(47236, 8), testing::ElementsAre(1, 0, 1, 0, 1, 1, 0, 1));
  EXPECT_EQ(second.path, first.path);
  EXPECT_THAT(origin.requests(), testing::SizeIs(6));
  EXPECT_THAT(origin.requests()[0], HasSubstr("GET /files/5976048 "));
  EXPECT_THAT(origin.requests()[5], HasSubstr("GET /files/5976060 "));
  EXPECT_EQ(count_files(), 1) << "its texts are gone";
}

TEST_F(SklearnRcv1ByUrl, IsRefusedForAWrongChecksumOrTopic) {
  const ScriptedServer origin({reply(0), reply(0), reply(0), reply(0), reply(0), reply(1)});
  DatasetCache cache(from(origin));
  const schema::Error wrong = failure(cache, {schema::UrlRef{.url = "sklearn://rcv1_train/CCAT"}});   // three attempts
  EXPECT_EQ(wrong.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(wrong.message, HasSubstr("2a98e5e5d8b770bd"));
  const std::string other(64, '0');
  EXPECT_THAT(failure(cache, {schema::UrlRef{.url = "sklearn://rcv1/X", .sha256 = other}}).message,
              HasSubstr("no topic 'X'"));
  EXPECT_THAT(origin.requests(), testing::SizeIs(4)) << "a wrong topic costs one file";
  const schema::Error all = failure(cache, {schema::UrlRef{.url = "sklearn://rcv1_train/CCAT", .sha256 = other}});
  EXPECT_EQ(all.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(all.message, HasSubstr("the SHA-256 of its files is"));
  EXPECT_EQ(count_files(), 0);
}

}   // namespace
}   // namespace kedge::server
