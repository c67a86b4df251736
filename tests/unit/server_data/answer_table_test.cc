// Answers of models as columns: what their types and names become.
#include "server/data/answer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/core/npy.h"
#include "tests/unit/server_data/npz_file.h"
#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using testing::HasSubstr;
using Type = engine::ColumnInfo::Type;

constexpr std::string_view kNpy = "application/x-npy", kCsv = "text/csv";

struct AnswerTables : testing::Test {
  AnswerTable parse(const std::string& bytes, std::string_view type = kNpy) {
    return parse_answer(bytes, type, {.source = "the answer", .output = directory.path() / "x.kds"});
  }
  Parsed read(const std::string& bytes, std::string_view type = kNpy) { return read_file(parse(bytes, type).file); }
  std::string error(const std::string& bytes, std::string_view type = kNpy) {
    try {
      parse(bytes, type);
      return "no error";
    } catch (const schema::Error& e) {
      EXPECT_FALSE(std::filesystem::exists(directory.path() / "x.kds"));
      EXPECT_FALSE(std::filesystem::exists(directory.path() / "x.kds.part"));
      return e.message;
    }
  }
  static std::vector<std::string> names(const engine::DatasetMeta& meta) {
    std::vector<std::string> all;
    for (const engine::ColumnInfo& column : meta.columns) all.push_back(column.name);
    return all;
  }
  TemporaryDirectory directory;
};

TEST_F(AnswerTables, KeepTheTypeOfNumbers) {
  EXPECT_TRUE(parse(npy_bytes("<f4", "(2,)", raw_bytes<float>({1, 2}))).meta.is_float32);
  EXPECT_FALSE(parse(npy_bytes("<f8", "(2,)", raw_bytes<double>({1, 2}))).meta.is_float32);
  EXPECT_FALSE(parse(npy_bytes("<f8", "(2,)", raw_bytes<double>({1, 2}))).is_whole);
  EXPECT_TRUE(parse(npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({1, 2}))).is_whole);
  EXPECT_EQ(read(npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({7, -2}))).values, (std::vector<double>{7, -2}));
}

TEST_F(AnswerTables, HaveAPredictionOrNumberedColumns) {
  EXPECT_EQ(names(parse(npy_bytes("<f8", "(2,)", raw_bytes<double>({1, 2}))).meta),
            std::vector<std::string>{"prediction"});
  EXPECT_EQ(names(parse(npy_bytes("<f8", "(1, 2)", raw_bytes<double>({1, 2}))).meta),
            (std::vector<std::string>{"x0", "x1"}));
}

TEST_F(AnswerTables, OfTextsAreSortedCategories) {
  const Parsed parsed = read(npy_texts_of({"red", "NA", "red", ""}, 3));
  ASSERT_EQ(parsed.meta.columns.size(), 1u);
  EXPECT_EQ(parsed.meta.columns[0].type, Type::kNominal);
  EXPECT_EQ(parsed.meta.columns[0].categories, (std::vector<std::string>{"", "NA", "red"}));
  EXPECT_EQ(parsed.values, (std::vector<double>{2, 1, 2, 0}));
}

TEST_F(AnswerTables, TakeTheirNamesFromTheLineInFront) {
  const std::string numbers = npy_bytes("<f4", "(1, 2)", raw_bytes<float>({0.5, 1.5}));
  const Parsed parsed = read("[\"a, \\\"b\\n\",\"c\"]\n" + numbers, engine::kNamedNpy);
  EXPECT_EQ(names(parsed.meta), (std::vector<std::string>{"a, \"b\n", "c"}));
  EXPECT_EQ(parsed.values, (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(names(parse("[]\n" + npy_texts_of({"red"}, 3), engine::kNamedNpy).meta),
            std::vector<std::string>{"prediction"});
}

TEST_F(AnswerTables, MayHaveNoRows) {
  const AnswerTable empty = parse("[\"a\",\"b\"]\n" + npy_bytes("<i8", "(0, 2)", ""), engine::kNamedNpy);
  EXPECT_EQ(empty.meta.n_rows, 0);
  EXPECT_TRUE(empty.is_whole);
  EXPECT_EQ(names(read_file(empty.file).meta), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read(npy_bytes("<U1", "(0,)", "")).meta.n_rows, 0);
  EXPECT_EQ(read(npy_bytes("<f4", "(0,)", "")).meta.n_rows, 0);
}

TEST_F(AnswerTables, OfCsvAreReadAsAnUpload) {
  const Parsed parsed = read("a,word\n1.5,red\n,blue\n", kCsv);
  EXPECT_EQ(names(parsed.meta), (std::vector<std::string>{"a", "word"}));
  EXPECT_EQ(parsed.meta.columns[0].missing, 1);
  EXPECT_EQ(parsed.meta.columns[1].type, Type::kNominal);
}

TEST_F(AnswerTables, ThatAreDamagedSayWhere) {
  EXPECT_THAT(error(npy_bytes("<f8", "(3,)", raw_bytes<double>({1}))), HasSubstr("the answer"));
  EXPECT_THAT(error(npy_bytes("<f8", "(1, 1, 1)", raw_bytes<double>({1}))), HasSubstr("has 3 dimensions"));
  EXPECT_THAT(error(npy_bytes("<U3", "(2,)", "short")), HasSubstr("does not fill its 5 bytes"));
  EXPECT_THAT(error("no array"), HasSubstr("the answer"));
  const std::string numbers = npy_bytes("<f4", "(1, 2)", raw_bytes<float>({1, 2}));
  EXPECT_THAT(error("[\"a\"]\n" + numbers, engine::kNamedNpy), HasSubstr("1 names for 2 columns"));
  EXPECT_THAT(error("[1, 2]\n" + numbers, engine::kNamedNpy), HasSubstr("is no text"));
  EXPECT_THAT(error("{}\n" + numbers, engine::kNamedNpy), HasSubstr("no list of names"));
  EXPECT_THAT(error("[]", engine::kNamedNpy), HasSubstr("no line of names"));
}

}   // namespace
}   // namespace kedge::server
