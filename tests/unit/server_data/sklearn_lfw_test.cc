// sklearn://lfw_people from a small archive of the same form, compared with what scikit-learn and Pillow make of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "crypto/digest.h"
#include "server/data/mapped_text.h"
#include "server/data/picture.h"
#include "server/data/sklearn_sets.h"
#include "server/data/tar_reader.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/parsing.h"
#include "tests/unit/server_data/reference_bytes.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::HasSubstr;

#include "tests/unit/server_data/faces_reference.inc"

std::string table_of(const std::string& url, const std::string& file) {
  const TemporaryDirectory directory;
  const auto csv = directory.path() / "table.csv";
  write_sklearn_table(sklearn_set(url), file, csv, 1 << 24);
  return std::string(MappedText(csv).text());
}

schema::Error refusal(const std::string& file, const std::string& url = "sklearn://lfw_people") {
  try {
    table_of(url, file);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "the file was read";
  return {ErrorCode::kInternal, ""};
}

std::string people_of(const Parsed& parsed) {
  const std::size_t target = parsed.meta.columns.size() - 1;
  std::string people;
  for (std::int64_t row = 0; row < parsed.meta.n_rows; ++row)
    people += (row == 0 ? "" : ";") +
              parsed.meta.columns[target]
                  .categories[static_cast<std::size_t>(parsed.at(row, static_cast<std::int64_t>(target)))];
  return people;
}

TEST(SklearnLfw, ArePixelsAndPeopleOfScikitLearnInItsOrder) {
  const std::string archive = from_hex(kArchive);
  for (const Expected& expected : kExpected) {
    const Parsed parsed = parse(parse_csv, table_of("sklearn://lfw_people" + std::string(expected.options), archive));
    ASSERT_EQ(parsed.meta.n_columns(), expected.columns + 1) << expected.options;
    std::string bytes;
    for (std::int64_t row = 0; row < parsed.meta.n_rows; ++row)
      for (std::int64_t column = 0; column < expected.columns; ++column) {
        const auto value = static_cast<float>(parsed.at(row, column));
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
    EXPECT_EQ(people_of(parsed), expected.people) << expected.options;
    EXPECT_EQ(crypto::hex_digest(crypto::DigestKind::kSha256, bytes), expected.sha256) << expected.options;
  }
}

TEST(SklearnLfw, OptionsAreCheckedBeforeAnythingIsFetched) {
  for (const auto& [options, message] :
       std::map<std::string, std::string>{{"many", "MIN_FACES is 'many', must be a whole number"},
                                          {"-1", "MIN_FACES is -1"},
                                          {"1000001", "MIN_FACES is 1000001"},
                                          {"/0.4", "MIN_FACES is ''"},
                                          {"70/", "RESIZE is ''"},
                                          {"70/0", "RESIZE is 0, must be a number from 0.02 to 1"},
                                          {"70/1.5", "RESIZE is 1.5"},
                                          {"70/nan", "RESIZE is nan"},
                                          {"70/0.4/1", "RESIZE is '0.4/1'"}}) {
    try {
      sklearn_set("sklearn://lfw_people/" + options);
      ADD_FAILURE() << options;
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kInvalidValue) << options;
      EXPECT_EQ(error.where, "dataset.url.url") << options;
      EXPECT_THAT(error.message, HasSubstr(message)) << options;
    }
  }
}

TEST(SklearnLfw, OfADamagedArchiveAreRefused) {
  const std::string packed = from_hex(kArchive);
  for (std::size_t size = 0; size < packed.size(); size += 997)
    EXPECT_EQ(refusal(packed.substr(0, size)).code, ErrorCode::kDatasetCorrupt) << size;
  EXPECT_THAT(refusal(packed, "sklearn://lfw_people/9").message, HasSubstr("nobody has so many pictures"));
  EXPECT_THAT(refusal(tar_file("lfw_funneled/A_B/A_B_0001.jpg", "no picture")).message,
              HasSubstr("lfw-funneled.tgz: A_B/A_B_0001.jpg: no JPEG file"));
  EXPECT_THAT(refusal(tar_file("lfw_funneled/A_B/C/A_B_0001.jpg", "x")).message, HasSubstr("deeper than"));
  EXPECT_THAT(refusal(tar_file("lfw/A_B/A_B_0001.jpg", "x")).message, HasSubstr("it has no pictures"));
}

// A changed byte gives other pixels or an error with the picture's name, nothing else.
TEST(SklearnLfw, DamagedPicturesAreRefusedOrRead) {
  std::string jpeg;
  const auto wants = [&](std::string_view name) { return name.ends_with("Aaron_First_0001.jpg"); };
  read_tar("it", from_hex(kArchive), {.wants = wants, .content = [&](std::string_view bytes) { jpeg += bytes; }});
  ASSERT_EQ(read_jpeg(jpeg, 62'500, "it").bytes.size(), std::size_t{3 * 62'500});
  for (std::size_t at = 0; at < jpeg.size(); at += 7) {
    std::string changed = jpeg;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    try {
      read_jpeg(changed, 62'500, "it");
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kDatasetCorrupt);
      EXPECT_THAT(error.message, HasSubstr("it: "));
    }
  }
  try {
    read_jpeg(jpeg, 62'499, "it");
    ADD_FAILURE() << "too many pixels were read";
  } catch (const schema::Error& error) {
    EXPECT_THAT(error.message, HasSubstr("a picture of 250 x 250 pixels, must have at most 62499"));
  }
}

class SklearnLfwByUrl : public CacheTest {};

TEST_F(SklearnLfwByUrl, AreATableForEachOption) {
  const std::string packed = from_hex(kArchive);
  const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n\r\n" + packed;
  const ScriptedServer origin({reply, reply});
  DataOptions given = options("http://openml.invalid");
  given.allow_fetch = {"127.0.0.1"};
  given.stores = {{.prefix = "sklearn://", .endpoint = origin.url().substr(0, origin.url().rfind('/')), .signing = {}}};
  DatasetCache cache(given);
  const std::string digest = crypto::hex_digest(crypto::DigestKind::kSha256, packed);
  const auto rows = [&](const char* url) {
    return read_file(acquire(cache, {schema::UrlRef{.url = url, .sha256 = digest}}).path).meta.n_rows;
  };
  EXPECT_EQ(rows("sklearn://lfw_people"), 6);
  EXPECT_EQ(rows("sklearn://lfw_people/3/0.1"), 3);
  EXPECT_THAT(origin.requests()[1], HasSubstr("GET /files/5976015 "));
}

}   // namespace
}   // namespace kedge::server
