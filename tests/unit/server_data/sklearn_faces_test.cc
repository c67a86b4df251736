// sklearn://olivetti_faces from small files of scipy.io.savemat, in place of the 4 MB that scikit-learn fetches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "schemas/error.h"
#include "server/data/mapped_text.h"
#include "server/data/mat_file.h"
#include "server/data/sklearn_sets.h"
#include "tests/unit/server_data/reference_bytes.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPixels = 4096, kFaces = 11;

std::string head() {
  std::string text = "MATLAB 5.0 MAT-file";
  text.resize(124, ' ');
  return text + std::string("\x00\x01IM", 4);
}

void append_number(std::string& out, std::uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string element(std::uint32_t type, std::string content) {
  std::string out;
  append_number(out, type), append_number(out, static_cast<std::uint32_t>(content.size()));
  content.resize((content.size() + 7) / 8 * 8, '\0');
  return out + content;
}

std::string matrix(const std::string& name, std::uint32_t rows, std::uint32_t columns, const std::string& values) {
  std::string shape;
  append_number(shape, rows), append_number(shape, columns);
  return element(
      14, element(6, std::string("\x09\0\0\0\0\0\0\0", 8)) + element(5, shape) + element(1, name) + element(2, values));
}

std::string faces() {
  std::string bytes(kPixels * kFaces, '\x28');   // 40
  bytes[1] = 90, bytes[10 * kPixels + 64] = '\x8C', bytes[11 * kPixels - 1] = 60;
  return bytes;
}

// The same by scipy 1.17: savemat(..., {"p": arange(3.0), "faces": faces}, do_compression=True), without its head.
constexpr std::string_view kCompressed =
    "0f0000002c000000789ce3636060f000623620e680d220c00ae5330231339866642800d29c402cc1800e3ed843190e004271027e0f0000007f"
    "000000789cedcec109c2000c05d05fc1a214c4313a820727e9ad947681aee1308e68c4de3df6d0f7207c9210c82dc9e39db49597aa6b7ece5b"
    "9f7bd25534db6c19a779ad3c7d7775d70f3d00000000000000000000000000000000000000000000000000000000000000000000000000000"
    "01cde6bef07000000807f9e1fa8af862f";

std::vector<std::string> table_of(const std::string& file) {
  const TemporaryDirectory directory;
  const auto csv = directory.path() / "table.csv";
  write_sklearn_table(sklearn_set("sklearn://olivetti_faces"), file, csv, 1 << 24);
  std::vector<std::string> lines;
  const MappedText text(csv);
  for (std::size_t start = 0; start < text.text().size();) {
    const std::size_t end = text.text().find('\n', start);
    lines.emplace_back(text.text().substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

void expect_faces(const std::vector<std::string>& lines) {
  ASSERT_EQ(lines.size(), kFaces + 1);
  EXPECT_THAT(lines[0], testing::StartsWith("pixel_0,pixel_1,"));
  EXPECT_THAT(lines[0], testing::EndsWith(",pixel_4095,target"));
  std::string first;
  for (std::size_t p = 0; p < kPixels; ++p) first += p == 64 ? "0.5," : "0,";   // its second byte: pictures are upright
  EXPECT_EQ(lines[1], first + "0");
  EXPECT_THAT(lines[11], testing::StartsWith("0,1,0,"));
  EXPECT_THAT(lines[11], testing::EndsWith(",0,0.20000000298023224,1"));   // 0.2 in float32; the second person
}

schema::Error refusal(const std::string& file) {
  try {
    table_of(file);
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "the file was read";
  return {schema::ErrorCode::kInternal, ""};
}

TEST(OlivettiFaces, AreUprightPicturesOfNumbersFromZeroToOne) {
  expect_faces(table_of(head() + matrix("p", 1, 3, "abc") + matrix("faces", kPixels, kFaces, faces())));
}

TEST(OlivettiFaces, AreReadFromACompressedFile) {
  expect_faces(table_of(head() + from_hex(kCompressed)));
}

TEST(OlivettiFaces, OfADamagedFileAreRefused) {
  const std::string plain = head() + matrix("faces", kPixels, kFaces, faces()), packed = head() + from_hex(kCompressed);
  EXPECT_THAT(refusal("no such file").message, HasSubstr("no MATLAB file of version 5"));
  EXPECT_THAT(refusal(head() + matrix("p", 1, 3, "abc")).message, HasSubstr("it has no matrix 'faces'"));
  EXPECT_THAT(refusal(head() + matrix("faces", 16, 2, std::string(32, 'a'))).message, HasSubstr("16 pixels"));
  EXPECT_THAT(refusal(head() + matrix("faces", kPixels, 3, faces())).message, HasSubstr("is no matrix of bytes"));
  EXPECT_THAT(refusal(head() + matrix("faces", kPixels, 2, std::string(2 * kPixels, 'a'))).message,
              HasSubstr("all pixels are 97"));
  for (std::size_t size = 128; size < packed.size(); size += 7)
    EXPECT_EQ(refusal(packed.substr(0, size)).code, schema::ErrorCode::kDatasetCorrupt) << size;
  EXPECT_EQ(refusal(plain.substr(0, plain.size() / 2)).code, schema::ErrorCode::kDatasetCorrupt);
  for (std::size_t at = 128; at < packed.size(); ++at) {   // each byte damaged: read or refused, nothing worse
    std::string damaged = packed;
    damaged[at] = static_cast<char>(~damaged[at]);
    try {
      byte_matrix_of(damaged, "faces", "t.mat");
    } catch (const schema::Error&) {
    }
  }
}

}   // namespace
}   // namespace kedge::server
