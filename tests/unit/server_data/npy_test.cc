// .npy files as NumPy writes them, and files that are damaged.
#include "server/data/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "schemas/error.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

// As numpy.save writes it: the header padded with spaces to a multiple of 64.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false, int version = 1) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  const std::size_t width = version == 1 ? 2 : 4;
  while ((8 + width + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string head = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (std::size_t i = 0; i < width; ++i) head += static_cast<char>(dict.size() >> 8 * i & 255);
  return head + dict + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

struct Npy : testing::Test {
  engine::DatasetMeta parse(const std::string& bytes) { return parse_npy(bytes, {.source = "x.npy", .output = directory.path() / "x.kds"}); }
  std::vector<double> values(const std::string& bytes) {
    parse(bytes);
    const engine::DatasetFile file(directory.path() / "x.kds");
    std::vector<double> all(file.values_f32().begin(), file.values_f32().end());
    all.insert(all.end(), file.values_f64().begin(), file.values_f64().end());
    return all;
  }
  std::string error(const std::string& bytes) {
    try {
      parse(bytes);
      return "";
    } catch (const schema::Error& e) {
      EXPECT_EQ(e.code, schema::ErrorCode::kDatasetCorrupt);
      return e.message;
    }
  }
  TemporaryDirectory directory;
};

TEST_F(Npy, IsReadInEveryTypeAndOrder) {
  const std::vector<double> expected{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(values(npy("<f8", "(2, 3)", raw<double>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<i8", "(2, 3)", raw<std::int64_t>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<i4", "(2, 3)", raw<std::int32_t>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("|u1", "(2, 3)", raw<std::uint8_t>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<f8", "(2, 3)", raw<double>({1, 4, 2, 5, 3, 6}), true)), expected);
  EXPECT_EQ(values(npy(">i2", "(2, 3)", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12))), expected);
  EXPECT_EQ(values(npy("<f8", "(2, 3)", raw<double>({1, 2, 3, 4, 5, 6}), false, 2)), expected);
  EXPECT_EQ(values(npy("|b1", "(2,)", std::string("\1\0", 2))), (std::vector<double>{1, 0}));
}

TEST_F(Npy, NamesItsColumnsAndCountsWhatIsMissing) {
  const auto meta = parse(npy("<f8", "(2, 2)", raw<double>({1, NAN, 3, NAN})));
  EXPECT_EQ(meta.columns[1].name, "x1");
  EXPECT_EQ(meta.columns[1].missing, 2);
  EXPECT_FALSE(meta.is_float32);
  EXPECT_TRUE(parse(npy("<f4", "(1, 1)", raw<float>({1}))).is_float32);
}

TEST_F(Npy, IsRefusedWhereItIsDamagedOrOfAnotherKind) {
  const std::string good = npy("<f8", "(2, 3)", raw<double>({1, 2, 3, 4, 5, 6}));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(error(good.substr(0, size)), "") << size;
  EXPECT_NE(error(good + "x"), "");
  for (const char* descr : {"<c16", "|O", "<U5", "<f2", "<f16", "<i3", "", "f", "<f", "<fx"}) EXPECT_NE(error(npy(descr, "(1, 1)", std::string(8, '\0'))), "") << descr;
  for (const char* shape : {"()", "(0,)", "(2, 0)", "(1, 1, 1)", "(-1, 1)", "1", "(9223372036854775807, 9223372036854775807)", "(4611686018427387904, 4)", "(1, 99999999)", "(x,)"})
    EXPECT_NE(error(npy("<f8", shape, std::string(8, '\0'))), "") << shape;
  EXPECT_NE(error(npy("<i8", "(1, 1)", raw<std::int64_t>({(std::int64_t{1} << 53) + 2}))), "") << "not exact in float64";
}

}  // namespace
}  // namespace kedge::server
