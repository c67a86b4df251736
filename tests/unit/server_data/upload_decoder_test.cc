// Uploads that are packed, known by their first bytes; and the format of what names none.
#include "server/data/upload_decoder.h"

#include <bzlib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "schemas/error.h"
#include "tests/unit/server_data/gzip.h"

namespace kedge::server {
namespace {

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string bzip2(std::string text) {
  std::string out(text.size() + text.size() / 50 + 700, '\0');
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(out.data(), &size, text.data(), static_cast<unsigned>(text.size()), 9, 0, 0);
  out.resize(size);
  return out;
}

// In pieces of so many bytes.
std::string decoded(const std::string& bytes, std::size_t piece = 7) {
  UploadDecoder decoder("table.csv");
  std::string text;
  const auto sink = [&](std::string_view part) { text.append(part); };
  for (std::size_t i = 0; i < bytes.size(); i += piece) decoder.feed(std::string_view(bytes).substr(i, piece), sink);
  decoder.finish(sink);
  return text;
}

schema::Error error_of(const std::string& bytes) {
  try {
    decoded(bytes, 1 << 16);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(UploadDecoder, PassesPlainBytesAsTheyAre) {
  for (const char* text : {"", "a", "abc", "abcd", "a,b\n1,2\n", "BZh", "BZh9 is a name\n", "BZh91AY"})
    for (const std::size_t piece : {1U, 3U, 100U}) EXPECT_EQ(decoded(text, piece), text);
}

TEST(UploadDecoder, DecodesWhatIsPackedInPiecesOfAnySize) {
  const std::string text = "a,b\n1,2\n3,4\n";
  for (const std::size_t piece : {1U, 2U, 5U, 1000U}) {
    EXPECT_EQ(decoded(gzip(text), piece), text);
    EXPECT_EQ(decoded(zstd(text), piece), text);
    EXPECT_EQ(decoded(bzip2(text), piece), text);
    EXPECT_EQ(decoded(bzip2(text) + bzip2("5,6\n"), piece), text + "5,6\n");   // as parallel ones write it
    EXPECT_EQ(decoded(bzip2(""), piece), "");
    EXPECT_EQ(decoded(zstd(text) + zstd("5,6\n"), piece), text + "5,6\n");   // as zstd's own tool writes several files
  }
}

TEST(UploadDecoder, RefusesWhatIsDamagedOrEndsEarly) {
  const std::string text(5000, 'x');
  for (const std::string& packed : {gzip(text), zstd(text), bzip2(text)}) {
    EXPECT_THAT(error_of(packed.substr(0, packed.size() - 3)).message, testing::HasSubstr("ends early"));
    EXPECT_EQ(error_of(packed.substr(0, packed.size() / 2)).code, schema::ErrorCode::kDatasetCorrupt);
  }
  std::string broken = bzip2(text);
  broken[12] ^= 1;
  EXPECT_THAT(error_of(broken).message,
              testing::HasSubstr("table.csv: damaged bzip2 file: its checksum or a block is wrong"));
  EXPECT_THAT(error_of(bzip2(text) + "what is this?").message,
              testing::HasSubstr("no bzip2 stream where one should begin"));
  EXPECT_THAT(error_of(std::string("\x28\xB5\x2F\xFD") + "no frame at all").message, testing::HasSubstr("table.csv: damaged zstd file"));
}

TEST(UploadDecoder, RefusesABomb) {
  const std::string zeros(std::size_t{100} << 20, '0');
  for (const std::string& bomb : {gzip(zeros), zstd(zeros), bzip2(zeros)})
    EXPECT_THAT(error_of(bomb).message, testing::HasSubstr("more than 200 times as large"));
}

TEST(FormatOfContent, KnowsWhatBeginsAsNoOtherDoes) {
  EXPECT_EQ(format_of_content("\x93NUMPY\x01"), "npy");
  EXPECT_EQ(format_of_content("% a comment\n\n@RELATION iris\n"), "arff");
  EXPECT_EQ(format_of_content("1 3:0.5 7:2\n"), "libsvm");
  EXPECT_EQ(format_of_content("-1 qid:3 1:0.5\n"), "libsvm");
  EXPECT_EQ(format_of_content("\xEF\xBB\xBF" "a,b\r\n1,2\r\n"), "csv");
  EXPECT_EQ(format_of_content("time,at\n12:30,1\n"), "csv");
  for (const char* text : {"", "hello", "PK\x03\x04"}) EXPECT_EQ(format_of_content(text), "") << text;
}

TEST(FormatOfContent, LooksIntoPackedBytes) {
  EXPECT_EQ(decoded_head(gzip("a,b\n1,2\n")), "a,b\n1,2\n");
  EXPECT_EQ(decoded_head(zstd("a,b\n1,2\n")), "a,b\n1,2\n");
  EXPECT_EQ(decoded_head(bzip2("a,b\n1,2\n")), "a,b\n1,2\n");
  EXPECT_EQ(decoded_head("a,b"), "a,b");
  EXPECT_LE(decoded_head(gzip(std::string(1 << 20, 'x'))).size(), std::size_t{64} << 10);
}

TEST(FormatOfContent, LeavesACodingOutOfTheName) {
  EXPECT_EQ(without_coding("iris.csv.gz"), "iris.csv");
  EXPECT_EQ(without_coding("iris.csv.zst"), "iris.csv");
  EXPECT_EQ(without_coding("iris.csv.bz2"), "iris.csv");
  EXPECT_EQ(without_coding("iris.csv"), "iris.csv");
}

}  // namespace
}  // namespace kedge::server
