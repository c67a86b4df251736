// libsvm text: indices from 0 or 1, groups, comments, sparse and dense storage, and what is wrong with a
// line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;

Parsed libsvm(std::string_view text, int threads = 0) {
  return parse(parse_libsvm, text, threads);
}

std::vector<std::string> names(const engine::DatasetMeta& meta) {
  std::vector<std::string> result;
  for (const auto& column : meta.columns) result.push_back(column.name);
  return result;
}

TEST(Libsvm, ReadsIndicesFromOne) {
  const Parsed p = libsvm("+1 1:0.5 3:-2\n-1 2:1e2  # a comment\n\n# another\n0\n");
  EXPECT_THAT(names(p.meta), ElementsAre("1", "2", "3", "label"));
  EXPECT_THAT(p.values, ElementsAre(0.5, 0, -2, 1, 0, 100, 0, -1, 0, 0, 0, 0));
  EXPECT_TRUE(p.meta.is_float32);
}

TEST(Libsvm, ReadsIndicesFromZeroWhereOneIsZero) {
  const Parsed p = libsvm("1 0:0 2:5\n2 1:4\n");
  EXPECT_THAT(names(p.meta), ElementsAre("0", "1", "2", "label"));
  EXPECT_THAT(p.values, ElementsAre(0, 0, 5, 1, 0, 4, 0, 2));
}

TEST(Libsvm, NamesGroupsAndLeavesThemOutOfTheFeatures) {
  const Parsed p = libsvm("1 qid:7 1:2\r\n0 qid:8 2:3\r\n");
  EXPECT_THAT(names(p.meta), ElementsAre("1", "2", "qid", "label"));
  EXPECT_THAT(p.meta.ignored, ElementsAre("qid"));
  EXPECT_THAT(p.values, ElementsAre(2, 0, 7, 1, 0, 3, 8, 0));
}

TEST(Libsvm, StoresFewValuesSparseAndManyDense) {
  EXPECT_EQ(libsvm("1 40:1\n2 3:1\n").meta.n_entries, 4);  // labels are entries as well
  EXPECT_FALSE(libsvm("1 1:1 2:1 3:1\n2 1:4 2:5 3:6\n").meta.is_sparse());
}

TEST(Libsvm, CountsTheLastIndexEvenIfItsValueIsZero) {
  EXPECT_EQ(libsvm("1 1:3 9:0\n").meta.n_values_columns, 10);
}

TEST(Libsvm, IsTheSameFromAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 60000; ++i)
    text += std::to_string(i % 3) + " " + std::to_string(i % 50 + 1) + ":0.1 " + std::to_string(i % 90 + 60) +
            ":" + std::to_string(i % 7) + "\n";
  const Parsed one = libsvm(text, 1), four = libsvm(text, 4);
  EXPECT_TRUE(one.meta.is_sparse());
  EXPECT_EQ(one.meta, four.meta);
  EXPECT_EQ(one.values, four.values);
  EXPECT_EQ(one.at(59999, 149 - 1), 0);
  EXPECT_EQ(one.at(1, 1), 0.1);
}

struct ErrorCase {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const ErrorCase& c, std::ostream* out) {
  *out << c.name;
}

class LibsvmError : public testing::TestWithParam<ErrorCase> {};

TEST_P(LibsvmError, NamesLineAndReason) {
  EXPECT_EQ(parse_error(parse_libsvm, GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LibsvmError,
    testing::Values(
        ErrorCase{"unsorted", "1 1:1\n2 3:1 2:1\n",
                  "x line 2: index 2 comes after 3: indices must ascend and none may come twice"},
        ErrorCase{"twice", "1 3:1 3:2\n",
                  "x line 1: index 3 comes again after 3: indices must ascend and none may come twice"},
        ErrorCase{"negative", "1 -1:1\n", "x line 1: index -1 is not a whole number of at least 0"},
        ErrorCase{"broken_index", "1 1.5:1\n", "x line 1: index 1.5 is not a whole number of at least 0"},
        ErrorCase{"huge", "1 3000000000:1\n", "x line 1: index 3000000000 is beyond 2097152"},
        ErrorCase{"infinite", "1 1e999:1\n", "x line 1: index 1e999 is beyond 2097152"},
        ErrorCase{"no_value", "1 2:\n", "x line 1: the value is '', must be a number"},
        ErrorCase{"no_colon", "1 2\n", "x line 1: '2' is not index:value"},
        ErrorCase{"glued", "1 2:3x\n", "x line 1: 'x' behind a value"},
        ErrorCase{"label", "spam 2:3\n", "x line 1: the label is 'spam', must be a number"},
        ErrorCase{"labels", "1,2 2:3\n", "x line 1: several labels in a row, must be one number"},
        ErrorCase{"empty", "# nothing\n", "another code: x: it has no rows"},
        ErrorCase{"no_feature", "1\n2\n", "another code: x: no row has an index"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kedge::server
