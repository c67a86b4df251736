// A download that broke off continues where it stopped, or starts over where the server cannot promise that the file is
// the same.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "crypto/digest.h"
#include "schemas/error.h"
#include "server/data/fetch.h"
#include "server/data/fetch_answer.h"
#include "tests/unit/server_data/gzip.h"
#include "tests/unit/server_data/scripted_server.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kText = "0123456789abcdefghij";
constexpr std::size_t kCut = 8;   // bytes that come before the connection breaks
const std::string kTag = "ETag: \"one\"\r\n";

std::string answer(const std::string& status, const std::string& fields, std::size_t length, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + fields + "Content-Length: " + std::to_string(length) + "\r\n\r\n" + body;
}
std::string broken(const std::string& text, const std::string& fields) { return answer("200 OK", fields, text.size(), text.substr(0, kCut)); }
std::string whole(const std::string& text, const std::string& fields) { return answer("200 OK", fields, text.size(), text); }
std::string rest(const std::string& text, const std::string& fields, std::size_t from = kCut) {
  const std::string range = "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(text.size() - 1) + "/" +
                            std::to_string(text.size()) + "\r\n";
  return answer("206 Partial Content", fields + range, text.size() - from, text.substr(from));
}

class Resume : public testing::Test {
 protected:
  // Fetches from a server with these answers; the text that came, or "error: ...".
  std::string fetch(std::vector<std::string> answers) {
    ScriptedServer server(std::move(answers));
    const FetchLibrary library;
    const Fetcher fetcher(AddressRules({"127.0.0.1"}, ""), {.first_pause = std::chrono::milliseconds(1)});
    const FetchRequest request{.what = "file", .url = server.url(), .expected = expected_, .trace = trace_};
    std::string text;
    try {
      fetcher.to_file(request, directory_.path() / "file", {}, {});
      std::ifstream in(directory_.path() / "file", std::ios::binary);
      text.assign(std::istreambuf_iterator<char>(in), {});
    } catch (const schema::Error& error) {
      text = "error: " + error.message;
    }
    requests_ = server.requests();
    return text;
  }

  TemporaryDirectory directory_;
  std::string expected_ = crypto::hex_digest(crypto::DigestKind::kSha256, kText);
  std::string trace_;
  std::vector<std::string> requests_;
};

TEST_F(Resume, SendsTheTraceThatItIsDoneFor) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736";
  trace_ = trace + "-00f067aa0ba902b7-01";
  EXPECT_EQ(fetch({broken(kText, kTag), rest(kText, kTag)}), kText);
  for (const std::string& request : requests_) {
    EXPECT_THAT(request, HasSubstr("traceparent: " + trace + "-"));
    EXPECT_THAT(request, Not(HasSubstr("00f067aa0ba902b7"))) << "each request has an id of its own";
  }
  trace_.clear();
  fetch({whole(kText, kTag)});
  EXPECT_THAT(requests_.at(0), Not(HasSubstr("traceparent")));
}

TEST_F(Resume, RequestsTheRestOfTheSameFile) {
  EXPECT_EQ(fetch({broken(kText, kTag), rest(kText, kTag)}), kText);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_THAT(requests_[0], Not(HasSubstr("Range")));
  EXPECT_THAT(requests_[1], HasSubstr("Range: bytes=8-\r\n"));
  EXPECT_THAT(requests_[1], HasSubstr("If-Range: \"one\"\r\n"));
}

TEST_F(Resume, ContinuesInTheMiddleOfAGzipStream) {
  const std::string packed = gzip(kText), fields = kTag + "Content-Encoding: gzip\r\n";
  EXPECT_EQ(fetch({broken(packed, fields), rest(packed, fields)}), kText);
  EXPECT_THAT(requests_.at(1), HasSubstr("Range: bytes=8-"));
}

TEST_F(Resume, ContinuesTwice) {
  const std::string second = answer("206 Partial Content", kTag + "Content-Range: bytes 8-19/20\r\n", 12, kText.substr(8, 5));
  EXPECT_EQ(fetch({broken(kText, kTag), second, rest(kText, kTag, 13)}), kText);
  EXPECT_THAT(requests_.at(2), HasSubstr("Range: bytes=13-"));
}

TEST_F(Resume, KeepsWhatItHasThroughAServerError) {
  EXPECT_EQ(fetch({broken(kText, kTag), answer("503 Busy", "", 0, ""), rest(kText, kTag)}), kText);
}

TEST_F(Resume, StartsOverWhenTheServerSendsEverything) {
  EXPECT_EQ(fetch({broken(kText, kTag), whole(kText, kTag)}), kText);
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(Resume, StartsOverWhenTheFileHasAnotherEtag) {
  const std::string other = "ETag: \"two\"\r\n";
  expected_.clear();   // no checksum to tell
  EXPECT_EQ(fetch({broken("an older version of it", kTag), whole(kText, other)}), kText);
  EXPECT_EQ(fetch({broken("an older version of it", kTag), rest(kText, other), whole(kText, other)}), kText);
  EXPECT_THAT(requests_.at(2), Not(HasSubstr("Range")));
}

TEST_F(Resume, StartsOverWhenThereIsNoSuchRange) {
  EXPECT_EQ(fetch({broken(kText, kTag), answer("416 Range Not Satisfiable", "", 0, ""), whole(kText, kTag)}), kText);
  EXPECT_THAT(requests_.at(2), Not(HasSubstr("Range")));
}

TEST_F(Resume, StartsOverWhenAnotherPartComes) {
  expected_.clear();
  EXPECT_EQ(fetch({broken(kText, kTag), rest(kText, kTag, kCut + 1), whole(kText, kTag)}), kText);
  EXPECT_EQ(fetch({broken(kText, kTag), rest(kText, kTag + "Content-Encoding: gzip\r\n"), whole(kText, kTag)}), kText);
}

TEST_F(Resume, StartsOverWhereNothingDistinguishesVersions) {
  for (const std::string fields : {"", "ETag: W/\"weak\"\r\n", "Last-Modified: Mon, 01 Jan 2024 10:00:00 GMT\r\n"}) {
    EXPECT_EQ(fetch({broken(kText, fields), whole(kText, fields)}), kText);
    EXPECT_THAT(requests_.at(1), Not(HasSubstr("Range"))) << fields;
  }
}

TEST_F(Resume, ContinuesByTheDateOfAFileThatIsOldEnough) {
  const std::string fields = "Last-Modified: Mon, 01 Jan 2024 10:00:00 GMT\r\nDate: Mon, 01 Jan 2024 10:02:00 GMT\r\n";
  EXPECT_EQ(fetch({broken(kText, fields), rest(kText, fields)}), kText);
  EXPECT_THAT(requests_.at(1), HasSubstr("If-Range: Mon, 01 Jan 2024 10:00:00 GMT\r\n"));
}

TEST_F(Resume, LetsTheChecksumDecide) {
  const std::string lie = "0123456789ABCDEFGHIJ";   // other bytes under the same tag
  EXPECT_EQ(fetch({broken(kText, kTag), rest(lie, kTag), whole(kText, kTag)}), kText);
  EXPECT_THAT(requests_.at(2), Not(HasSubstr("Range")));
  EXPECT_THAT(fetch({broken(kText, kTag), rest(lie, kTag), whole(lie, kTag)}), HasSubstr("error: file: checksum "));
}

TEST_F(Resume, RefusesAPartThatItDidNotRequest) {
  const std::string part = rest(kText, kTag);
  EXPECT_EQ(fetch({part, part, part}),
            "error: file: the server sent another part of the file than the requested one, 3 attempts");
}

TEST_F(Resume, SaysHowFarItCameInAllAttempts) {
  const std::string second = answer("206 Partial Content", kTag + "Content-Range: bytes 8-19/20\r\n", 12, kText.substr(8, 5));
  const std::string third = answer("206 Partial Content", kTag + "Content-Range: bytes 13-19/20\r\n", 7, kText.substr(13, 2));
  EXPECT_EQ(fetch({broken(kText, kTag), second, third}), "error: file: connection closed after 15 bytes of 20 bytes, 3 attempts");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST(RangeStart, ReadsContentRangeOnly) {
  EXPECT_EQ(range_start({.content_range = "bytes 8-19/20"}), 8);
  EXPECT_EQ(range_start({.content_range = "Bytes 8-19/*"}), 8);
  for (const char* bad : {"", "bytes", "bytes */20", "bytes 8", "bytes x-1/2", "items 8-19/20", "bytes 99999999999999999999-1/2"})
    EXPECT_EQ(range_start({.content_range = bad}), std::nullopt) << bad;
}

}  // namespace
}  // namespace kedge::server
