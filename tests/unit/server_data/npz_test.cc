// .npz files as NumPy and SciPy write them, and files that are damaged or hostile.
#include "server/data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/core/dataset_file.h"
#include "schemas/error.h"
#include "tests/unit/server_data/npz_file.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Type = engine::ColumnInfo::Type;

const std::string kX = npy_bytes("<f8", "(3, 2)", raw_bytes<double>({1, 2, 3, NAN, 0.1, 6}));
const std::string kY = npy_bytes("<i8", "(3,)", raw_bytes<std::int64_t>({0, 1, 1}));

struct Npz : testing::Test {
  engine::DatasetMeta parse(const std::string& bytes) { return parse_npz(bytes, {.source = "x.npz", .output = path}); }
  engine::DatasetMeta parse(const NpzFile& file) { return parse(file.bytes()); }
  std::vector<double> column(std::int64_t place) const {
    const engine::DatasetFile file(path);
    return file.column(place, file.meta().n_rows);
  }
  std::string error(const std::string& bytes) {
    std::filesystem::remove(path);
    try {
      parse(bytes);
      return "";
    } catch (const schema::Error& e) {
      EXPECT_EQ(e.code, schema::ErrorCode::kDatasetCorrupt);
      EXPECT_FALSE(std::filesystem::exists(path)) << "refused, and a file is left behind";
      return e.message;
    }
  }
  std::string error(const NpzFile& file) { return error(file.bytes()); }

  TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.kds";
};

NpzFile with(const std::string& name, const std::string& content) {
  return NpzFile().add("X", kX).add(name, content);
}

std::vector<std::string> names(const engine::DatasetMeta& meta) {
  std::vector<std::string> names;
  for (const engine::ColumnInfo& column : meta.columns) names.push_back(column.name);
  return names;
}

TEST_F(Npz, IsAMatrixWithItsTargetWeightsAndGroups) {
  for (const bool deflate : {false, true})
    for (const bool zip64 : {false, true}) {
      NpzFile file;
      file.add("X", kX, deflate).add("y", kY, deflate);
      file.add("sample_weight", npy_bytes("<f4", "(3,)", raw_bytes<float>({1, 0.5, 2})))
          .add("groups", npy_bytes("|u1", "(3,)", "\1\2\1"), deflate);
      const engine::DatasetMeta meta = parse(file.bytes(zip64));
      EXPECT_THAT(names(meta), ElementsAre("x0", "x1", "y", "sample_weight", "groups"));
      EXPECT_EQ(meta.target, "y");
      EXPECT_THAT(meta.ignored, ElementsAre("sample_weight", "groups"));
      EXPECT_FALSE(meta.is_float32);
      EXPECT_EQ(meta.columns[1].missing, 1);
      EXPECT_THAT(column(0), ElementsAre(1, 3, 0.1));
      EXPECT_THAT(column(2), ElementsAre(0, 1, 1));
      EXPECT_THAT(column(3), ElementsAre(1, 0.5, 2));
      EXPECT_THAT(column(4), ElementsAre(1, 2, 1));
    }
}

TEST_F(Npz, WithoutATargetHasNone) {
  EXPECT_EQ(parse(NpzFile().add("X", kX)).target, "");
  EXPECT_EQ(parse(with("y", kY).add("target_name", npy_texts_of({"left"}, 4))).target, "left");
}

TEST_F(Npz, IsReadInFortranOrder) {
  parse(NpzFile().add("X", npy_bytes("<f4", "(2, 3)", raw_bytes<float>({1, 4, 2, 5, 3, 6}), true)));
  EXPECT_THAT(column(0), ElementsAre(1, 4));
  EXPECT_THAT(column(2), ElementsAre(3, 6));
}

TEST_F(Npz, KeepsFloat32WhereTheTargetIsExactInIt) {
  const std::string single = npy_bytes("<f4", "(3, 1)", raw_bytes<float>({1, 2, 3}));
  EXPECT_TRUE(parse(NpzFile().add("X", single).add("y", kY)).is_float32);
  EXPECT_FALSE(
      parse(NpzFile().add("X", single).add("y", npy_bytes("<f8", "(3,)", raw_bytes<double>({0.1, 1, 2})))).is_float32);
  EXPECT_THAT(column(1), ElementsAre(0.1, 1, 2));
}

TEST_F(Npz, NamesFeaturesAndCategories) {
  const engine::DatasetMeta meta =
      parse(NpzFile()
                .add("columns.0", npy_bytes("<f8", "(3,)", raw_bytes<double>({1.5, NAN, 2})))
                .add("columns.1", npy_bytes("<i4", "(3,)", raw_bytes<std::int32_t>({1, -1, 0})))
                .add("columns.2", npy_texts_of({"b", "a", "b"}, 1))
                .add("categories.1", npy_texts_of({"low", "high"}, 4))
                .add("feature_names", npy_texts_of({"age", "plan", "kind"}, 4))
                .add("y", npy_texts_of({"no", "yes", "no"}, 3)));
  EXPECT_THAT(names(meta), ElementsAre("age", "plan", "kind", "y"));
  EXPECT_EQ(meta.columns[0].type, Type::kNumeric);
  EXPECT_EQ(meta.columns[1].type, Type::kNominal);
  EXPECT_THAT(meta.columns[1].categories, ElementsAre("low", "high")) << "in the order that the file gives";
  EXPECT_EQ(meta.columns[1].missing, 1);
  EXPECT_THAT(meta.columns[2].categories, ElementsAre("a", "b")) << "sorted";
  EXPECT_THAT(meta.columns[3].categories, ElementsAre("no", "yes"));
  EXPECT_THAT(column(2), ElementsAre(1, 0, 1));
  EXPECT_THAT(column(3), ElementsAre(0, 1, 0));
  EXPECT_TRUE(std::isnan(column(1)[1]));
}

TEST_F(Npz, HasCategoriesInAMatrixAndOfTheTarget) {
  const engine::DatasetMeta meta = parse(NpzFile()
                                             .add("X", npy_bytes("|i1", "(2, 2)", std::string("\0\5\1\6", 4)))
                                             .add("categories.0", npy_texts_of({"a", "b"}, 1))
                                             .add("y", npy_bytes("|i1", "(2,)", std::string("\1\0", 2)))
                                             .add("categories.y", npy_texts_of({"no", "yes"}, 3)));
  EXPECT_EQ(meta.columns[0].type, Type::kNominal);
  EXPECT_EQ(meta.columns[1].type, Type::kNumeric);
  EXPECT_THAT(meta.columns[2].categories, ElementsAre("no", "yes"));
}

NpzFile sparse(const std::string& indices, const std::string& indptr,
               const std::string& data = raw_bytes<float>({5, 6, 7})) {
  const auto count = [](const std::string& bytes) { return "(" + std::to_string(bytes.size() / 4) + ",)"; };
  return NpzFile()
      .add("data", npy_bytes("<f4", count(data), data))
      .add("indices", npy_bytes("<i4", count(indices), indices))
      .add("indptr", npy_bytes("<i4", count(indptr), indptr))
      .add("shape", npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({3, 40})))
      .add("format", npy_bytes("|S3", "()", "csr"));
}

TEST_F(Npz, StaysSparseWithItsTarget) {
  const engine::DatasetMeta meta =
      parse(sparse(raw_bytes<std::int32_t>({1, 39, 0}), raw_bytes<std::int32_t>({0, 2, 2, 3})).add("y", kY));
  EXPECT_TRUE(meta.is_sparse());
  EXPECT_EQ(meta.n_entries, 5) << "three of the matrix, two of the target";
  EXPECT_EQ(meta.columns[0].name, "0");
  EXPECT_EQ(meta.columns.back().name, "y");
  EXPECT_THAT(column(1), ElementsAre(5, 0, 0));
  EXPECT_THAT(column(39), ElementsAre(6, 0, 0));
  EXPECT_THAT(column(0), ElementsAre(0, 0, 7));
  EXPECT_THAT(column(40), ElementsAre(0, 1, 1));
}

TEST_F(Npz, IsStoredDenseWhereMoreThanAQuarterIsThere) {
  const engine::DatasetMeta meta =
      parse(NpzFile()
                .add("data", npy_bytes("<f8", "(3,)", raw_bytes<double>({0.1, NAN, 3})))
                .add("indices", npy_bytes("<i8", "(3,)", raw_bytes<std::int64_t>({0, 1, 1})))
                .add("indptr", npy_bytes("<i8", "(3,)", raw_bytes<std::int64_t>({0, 2, 3})))
                .add("shape", npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({2, 2}))));
  EXPECT_FALSE(meta.is_sparse());
  EXPECT_EQ(meta.columns[1].missing, 1);
  EXPECT_THAT(column(0), ElementsAre(0.1, 0));
}

TEST_F(Npz, SparseIsRefusedWhereItsPartsDoNotFit) {
  const std::string rows = raw_bytes<std::int32_t>({0, 2, 2, 3}), good = raw_bytes<std::int32_t>({1, 39, 0});
  EXPECT_THAT(error(sparse(raw_bytes<std::int32_t>({1, 40, 0}), rows)),
              HasSubstr("member 'indices': row 1: there is no column 40"));
  EXPECT_THAT(error(sparse(raw_bytes<std::int32_t>({1, -1, 0}), rows)), HasSubstr("no column -1"));
  EXPECT_THAT(error(sparse(raw_bytes<std::int32_t>({3, 3, 0}), rows)),
              HasSubstr("column 3 comes after 3; call sum_duplicates()"));
  EXPECT_THAT(error(sparse(raw_bytes<std::int32_t>({3, 4}), rows)),
              HasSubstr("member 'indices': it has 2 elements, data has 3"));
  EXPECT_THAT(error(sparse(good, raw_bytes<std::int32_t>({0, 2, 1, 3}))),
              HasSubstr("member 'indptr': row 2 ends at 1"));
  EXPECT_THAT(error(sparse(good, raw_bytes<std::int32_t>({0, 2, 2, 4}))), HasSubstr("member 'indptr'"));
  EXPECT_THAT(error(sparse(good, raw_bytes<std::int32_t>({0, 2, 2, 2}))), HasSubstr("member 'indptr'"));
  EXPECT_THAT(error(sparse(good, raw_bytes<std::int32_t>({1, 2, 2, 3}))), HasSubstr("must begin with 0"));
  EXPECT_THAT(error(sparse(good, raw_bytes<std::int32_t>({0, 2, 3}))), HasSubstr("one more than the 3 rows"));
  NpzFile columns = sparse(good, rows);
  columns.entries().pop_back();
  EXPECT_THAT(error(columns.add("format", npy_bytes("|S3", "()", "csc"))),
              HasSubstr("the format is 'csc', must be 'csr'"));
}

TEST_F(Npz, NamesTheMemberThatIsWrong) {
  EXPECT_THAT(error(with("y", npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({0, 1})))),
              HasSubstr("member 'y': it has 2 elements, must have 3, one for each row"));
  EXPECT_THAT(error(with("y", npy_bytes("|O", "(3,)", "cos\nsystem\n"))),
              HasSubstr("member 'y': the type '|O' is not a boolean"));
  EXPECT_THAT(error(with("y", npy_bytes("<c16", "(3,)", std::string(48, '\0')))), HasSubstr("'<c16'"));
  EXPECT_THAT(error(with("y", npy_bytes("<M8[ns]", "(3,)", std::string(24, '\0')))), HasSubstr("'<M8[ns]'"));
  EXPECT_THAT(error(with("y", npy_bytes("<f8", "(3, 1)", std::string(24, '\0')))),
              HasSubstr("2 dimensions, must have 1"));
  EXPECT_THAT(error(with("groups", npy_texts_of({"a", "b", "a"}, 1))), HasSubstr("member 'groups'"));
  EXPECT_THAT(error(with("y", npy_bytes("<i8", "(3,)", raw_bytes<std::int64_t>({0, (std::int64_t{1} << 53) + 2, 0})))),
              HasSubstr("member 'y': element 1: the integer is beyond 2^53"));
  EXPECT_THAT(error(NpzFile().add("X", npy_bytes("<u8", "(1, 2)", raw_bytes<std::uint64_t>({1, ~std::uint64_t{0}})))),
              HasSubstr("member 'X': row 1, column 1: the integer"));
  EXPECT_THAT(error(NpzFile().add("X", npy_bytes("<f8", "(1, 1, 1)", std::string(8, '\0')))),
              HasSubstr("3 dimensions, must have 2"));
  EXPECT_THAT(error(NpzFile().add("X", npy_bytes("<f8", "(0, 2)", ""))), HasSubstr("0 rows and 2 columns"));
  EXPECT_THAT(error(with("arr_0", kY)), HasSubstr("member 'arr_0' is not known"));
  EXPECT_THAT(error(with("columns.01", kY)), HasSubstr("not known"));
  EXPECT_THAT(error(with("columns.0", kY)), HasSubstr("several of the members X, columns.0 and data"));
  EXPECT_THAT(error(NpzFile().add("y", kY)), HasSubstr("none of the members"));
  EXPECT_THAT(error(NpzFile().add("columns.0", kY).add("columns.2", kY)), HasSubstr("no 'columns.1'"));
  EXPECT_THAT(error(with("feature_names", npy_texts_of({"a"}, 1))),
              HasSubstr("member 'feature_names': it has 1 elements, must have 2"));
  EXPECT_THAT(error(with("feature_names", npy_texts_of({"a", "a"}, 1))), HasSubstr("two columns are named 'a'"));
  EXPECT_THAT(error(with("feature_names", npy_texts_of({"a", "y"}, 1)).add("y", kY)),
              HasSubstr("two columns are named 'y'"));
  EXPECT_THAT(error(with("target_name", npy_texts_of({"x1"}, 2)).add("y", kY)),
              HasSubstr("two columns are named 'x1'"));
  EXPECT_THAT(error(with("categories.2", npy_texts_of({"a"}, 1))), HasSubstr("there are 2 columns"));
  EXPECT_THAT(error(with("categories.0", npy_texts_of({"a", "b"}, 1))),
              HasSubstr("member 'X': 3 is not the code of one of its 2 categories"));
  EXPECT_THAT(error(with("y", kY).add("categories.y", npy_texts_of({"a", "a"}, 1))),
              HasSubstr("the category 'a' comes twice"));
  EXPECT_THAT(error(with("categories.y", npy_texts_of({"a"}, 1))), HasSubstr("but no 'y'"));
}

TEST_F(Npz, IsRefusedWhereTheZipIsDamaged) {
  const std::string good = NpzFile().add("X", kX, true).add("y", kY).bytes();
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(error(good.substr(0, size)), "") << size;
  for (const auto& [change, word] : std::initializer_list<std::pair<void (*)(NpzFile::Entry&), const char*>>{
           {[](NpzFile::Entry& e) { e.crc ^= 1; }, "its checksum is wrong"},
           {[](NpzFile::Entry& e) { e.flags = 1; }, "is encrypted"},
           {[](NpzFile::Entry& e) { e.method = 12; }, "packed by method 12"},
           {[](NpzFile::Entry& e) { e.size += 8; }, "two sizes"},
           {[](NpzFile::Entry& e) { e.name = "y"; }, "is no .npy array"},
           {[](NpzFile::Entry& e) { e.name = "X.npy"; }, "two members 'X.npy'"}}) {
    NpzFile file = with("y", kY);
    change(file.entries().back());
    EXPECT_THAT(error(file), HasSubstr(word));
  }
  NpzFile cut;
  cut.add("X", kX, true);
  cut.entries()[0].packed.resize(cut.entries()[0].packed.size() / 2);
  EXPECT_THAT(error(cut), HasSubstr("member 'X.npy' is"));
  NpzFile grows;
  grows.add("X", kX + std::string(100'000, '\0'), true);
  grows.entries()[0].size = kX.size();
  EXPECT_THAT(error(grows), HasSubstr("becomes larger than its directory says"));
}

TEST_F(Npz, ThatWouldFillTheDiskIsRefused) {
  const std::string many = npy_bytes("|i1", "(1, 80000000)", std::string(80'000'000, '\0'));
  EXPECT_THAT(error(NpzFile().add("X", many, true)), HasSubstr("become more than 200 times as large"));
  NpzFile claims = with("y", kY);
  claims.entries()[1].method = 8, claims.entries()[1].size = std::uint64_t{1} << 40;
  EXPECT_THAT(error(claims.bytes(true)), HasSubstr("become more than 200 times as large"));
}

TEST_F(Npz, WhoseMembersShareBytesIsRefused) {
  std::string bytes = with("y", kY).bytes();
  const std::size_t first = bytes.find("PK\x01\x02"), second = bytes.find("PK\x01\x02", first + 4);
  bytes.replace(second + 42, 4, bytes.substr(first + 42, 4));   // y's place is X's
  EXPECT_THAT(error(bytes), HasSubstr("another name at its place"));
}

TEST_F(Npz, TakesNamesOfEveryScript) {
  const std::string name = std::string("\xE9\0\0\0\x2D\x4E\0\0\0\xF6\1\0", 12);   // é, 中 and an emoji
  EXPECT_EQ(parse(NpzFile()
                      .add("X", npy_bytes("<f8", "(1, 1)", raw_bytes<double>({1})))
                      .add("feature_names", npy_bytes("<U3", "(1,)", name)))
                .columns[0]
                .name,
            "\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80");
  EXPECT_THAT(error(with("feature_names", npy_bytes("|S1", "(2,)", "\xE9\xEA"))), HasSubstr("not ASCII"));
}

}   // namespace
}   // namespace kedge::server
