// Compressed answers and trace context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "server/http/compress.h"
#include "server/http/trace.h"

namespace kedge::server::http {
namespace {

Response text(std::size_t size) {
  Response response;
  response.content_type = "application/json";
  for (std::size_t i = 0; response.body.size() < size; ++i) response.body += "{\"n\":" + std::to_string(i) + "},";
  return response;
}

std::string_view field(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.fields)
    if (key == name) return value;
  return {};
}

std::string from_gzip(const std::string& bytes) {
  std::string out(1 << 20, '\0');
  z_stream stream{};
  inflateInit2(&stream, 16 + MAX_WBITS);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())), stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data()), stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::string from_zstd(const std::string& bytes) {
  std::string out(1 << 20, '\0');
  out.resize(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()));
  return out;
}

TEST(Compress, GivesTheSameTextBack) {
  const Response plain = text(100'000);
  Response gzip = plain, zstd = plain;
  compress(gzip, "gzip");
  compress(zstd, "zstd");
  EXPECT_EQ(field(gzip, "Content-Encoding"), "gzip");
  EXPECT_EQ(field(zstd, "Content-Encoding"), "zstd");
  EXPECT_EQ(field(gzip, "Vary"), "Accept-Encoding");
  EXPECT_LT(gzip.body.size(), plain.body.size() / 2);
  EXPECT_EQ(from_gzip(gzip.body), plain.body);
  EXPECT_EQ(from_zstd(zstd.body), plain.body);
}

TEST(Compress, LeavesAloneWhatIsNotRequestedOrNotWorthIt) {
  const auto encoding_of = [](Response response, std::string_view accept) {
    compress(response, accept);
    return std::string(field(response, "Content-Encoding"));
  };
  EXPECT_EQ(encoding_of(text(100'000), ""), "");
  EXPECT_EQ(encoding_of(text(100'000), "br, identity"), "");
  EXPECT_EQ(encoding_of(text(100'000), "gzip;q=0, zstd;q=0"), "");
  EXPECT_EQ(encoding_of(text(100), "gzip"), "");
  Response binary = text(100'000);
  binary.content_type = "application/vnd.kedge.capnp";
  EXPECT_EQ(encoding_of(binary, "gzip"), "");
  Response encoded = text(100'000);
  encoded.fields.emplace_back("Content-Encoding", "gzip");
  compress(encoded, "zstd");
  EXPECT_EQ(field(encoded, "Content-Encoding"), "gzip");
}

TEST(Compress, PrefersWhatTheClientPrefers) {
  EXPECT_EQ(choose_encoding("gzip, zstd"), "zstd");
  EXPECT_EQ(choose_encoding("gzip;q=1, zstd;q=0.5"), "gzip");
  EXPECT_EQ(choose_encoding("GZIP"), "gzip");
  EXPECT_EQ(choose_encoding("*"), "zstd");
  EXPECT_EQ(choose_encoding("zstd;q=0, *"), "gzip");
  EXPECT_EQ(choose_encoding("deflate"), "");
}

TEST(TraceContext, IsKeptWhenValidAndMadeAnewOtherwise) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(traceparent(good), good);
  for (const char* bad : {"", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
                          "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"}) {
    const std::string made = traceparent(bad);
    EXPECT_NE(made, bad);
    EXPECT_EQ(traceparent(made), made) << "what is made is valid";
  }
  EXPECT_NE(traceparent(""), traceparent(""));
}

}  // namespace
}  // namespace kedge::server::http
