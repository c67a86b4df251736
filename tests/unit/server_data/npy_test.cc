// .npy files as NumPy writes them, and files that are damaged.
#include "server/data/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "schemas/error.h"
#include "tests/unit/server_data/npz_file.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false, int version = 1) {
  return npy_bytes(descr, shape, data, fortran, version);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return raw_bytes(values);
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

struct NpyArrives : Npy {
  ParseRequest request() const { return {.source = "x.npy", .output = directory.path() / "y.kds"}; }
  // The first piece has the header, the others have `size` bytes each.
  std::unique_ptr<NpyStream> arrive(const std::string& bytes, std::size_t size) const {
    auto stream = NpyStream::begin(bytes.substr(0, kHead), request());
    for (std::size_t at = kHead; stream && at < bytes.size(); at += size) stream->write(bytes.substr(at, size));
    return stream;
  }
  static constexpr std::size_t kHead = 128;   // the length of the head that npy() writes for short shapes
};

TEST_F(NpyArrives, IsTheSameTableHoweverItIsCut) {
  const std::string bytes = npy("<f8", "(3, 2)", raw<double>({1, NAN, 3, 4, 5, 6}));
  const engine::DatasetMeta whole = parse(bytes);
  const engine::DatasetFile expected(directory.path() / "x.kds");
  for (std::size_t size = 1; size <= 48; ++size) {
    const auto stream = arrive(bytes, size);
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->finish(), whole) << size;
    const engine::DatasetFile file(directory.path() / "y.kds");
    ASSERT_EQ(file.values_f64().size(), 6u);
    EXPECT_EQ(std::memcmp(file.values_f64().data(), expected.values_f64().data(), 48), 0) << size;
  }
}

TEST_F(NpyArrives, IsTheSameToTheBitOfASignallingNan) {
  const std::string bytes = npy("<f4", "(2, 2)", std::string("\0\0\x80\x3f\1\0\xa0\xff\1\0\xa0\x7f\0\0\0\x40", 16));
  const engine::DatasetMeta whole = parse(bytes);
  const auto stream = arrive(bytes, 8);
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->finish(), whole);
  const engine::DatasetFile expected(directory.path() / "x.kds"), file(directory.path() / "y.kds");
  EXPECT_EQ(std::memcmp(file.values_f32().data(), expected.values_f32().data(), 16), 0);
}

TEST_F(NpyArrives, SaysAtTheEndWhatIsWrongAndLeavesNothing) {
  const std::string good = npy("<i8", "(3, 1)", raw<std::int64_t>({1, 2, 3}));
  const std::string inexact = npy("<i8", "(3, 1)", raw<std::int64_t>({1, (std::int64_t{1} << 53) + 2, 3}));
  for (const std::string& bytes : {good.substr(0, good.size() - 1), good + "x", good + std::string(100, 'x'), inexact}) {
    const auto stream = arrive(bytes, 8);
    ASSERT_TRUE(stream);
    try {
      stream->finish();
      ADD_FAILURE() << "accepted";
    } catch (const schema::Error& e) {
      EXPECT_EQ(e.message, error(bytes)) << "the words of parse_npy";
    }
  }
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "y.kds"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "y.kds.part"));
}

TEST_F(NpyArrives, LeavesWhatItCannotReadInOneGo) {
  EXPECT_FALSE(arrive(npy("<f8", "(2, 3)", raw<double>({1, 4, 2, 5, 3, 6}), true), 8)) << "Fortran order";
  EXPECT_FALSE(arrive("no array", 8));
  EXPECT_FALSE(NpyStream::begin(npy("<f8", "(1, 1)", raw<double>({1})).substr(0, 100), request())) << "half a header";
}

}  // namespace
}  // namespace kedge::server
