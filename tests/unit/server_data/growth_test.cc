// What a text may grow to on the disk: bounded by its size for every format, however it is made.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "engine/core/dataset_file.h"
#include "server/data/npy.h"
#include "server/data/npz.h"
#include "server/data/source_steps.h"
#include "tests/unit/server_data/npz_file.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

constexpr std::uintmax_t kHead = 16 << 10;   // of any file: its head and what it says of itself

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::string many_columns(int count, const std::string& cell) {
  std::string head, row;
  for (int i = 0; i < count; ++i) head += (i ? "," : "") + std::to_string(i), row += (i ? "," : "") + cell;
  return head + "\n" + row + "\n";
}

std::string distinct_words(int count) {
  std::string text = "word,n\n";
  for (int i = 0; i < count; ++i) text += "w" + std::to_string(i) + ",1\n";
  return text;
}

std::string npy_of_bytes(int count) {
  return npy_bytes("|i1", "(" + std::to_string(count) + ", 1)", std::string(static_cast<std::size_t>(count), '\1'));
}

std::string npz_of_bytes(int count) {
  return NpzFile()
      .add("X", npy_of_bytes(count))
      .add("y", npy_bytes("<f8", "(" + std::to_string(count) + ",)",
                          std::string(8 * static_cast<std::size_t>(count), '\x11')))
      .bytes();
}

// A row takes a byte of indptr, and two numbers of the table.
std::string npz_of_empty_rows(int count) {
  const std::string offsets(static_cast<std::size_t>(count), '\1');
  return NpzFile()
      .add("data", npy_bytes("<f8", "(1,)", std::string(8, '\x11')))
      .add("indices", npy_bytes("|i1", "(1,)", std::string(1, '\0')))
      .add("indptr", npy_bytes("|i1", "(" + std::to_string(count + 1) + ",)", '\0' + offsets))
      .add("shape", npy_bytes("<i8", "(2,)", raw_bytes<std::int64_t>({count, 3})))
      .bytes();
}

struct Growth {
  const char* name;
  std::string format, text;
  std::uintmax_t factor;   // bytes on the disk for each byte of the text, beyond kHead
  friend void PrintTo(const Growth& growth, std::ostream* out) { *out << growth.name; }
};

class Format : public testing::TestWithParam<Growth> {};

TEST_P(Format, GrowsNoMoreThanItsFactor) {
  const Growth& growth = GetParam();
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "table.kds";
  const auto describe = [](engine::DatasetMeta& meta) { set_target(meta, "", ""); };
  const ParseRequest request{.source = growth.name, .output = file, .describe = describe};
  if (growth.format == "npy") parse_npy(growth.text, request);
  else if (growth.format == "npz") parse_npz(growth.text, request);
  else parse_text(growth.text, growth.format, request);
  EXPECT_LE(std::filesystem::file_size(file), kHead + growth.factor * growth.text.size()) << "of " << growth.text.size() << " bytes";
  EXPECT_GT(engine::DatasetFile(file).meta().n_columns(), 0);
}

// The factors are those of the documentation: csv 32, arff 16, libsvm 16, npy 8, npz 32.
INSTANTIATE_TEST_SUITE_P(
    Texts, Format,
    testing::Values(
        Growth{"CsvOfManyColumns", "csv", many_columns(20'000, "1"), 32},
        Growth{"CsvOfEmptyCells", "csv", many_columns(20'000, ""), 32},
        Growth{"CsvOfDigits", "csv", "a,b\n0.1,1\n" + repeated("1,1\n", 50'000), 32},
        Growth{"CsvOfWords", "csv", distinct_words(20'000), 32},
        Growth{"ArffOfDigits", "arff",
               "@relation r\n@attribute a real\n@attribute b real\n@data\n0.1,1\n" + repeated("1,1\n", 50'000), 16},
        Growth{"ArffOfManyColumns", "arff",
               "@relation r\n" + repeated("@attribute a real\n", 1) + "@data\n" + repeated("?\n", 50'000), 16},
        Growth{"ArffOfSparseRows", "arff",
               "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n@data\n{0 0.1}\n" +
                   repeated("{}\n", 50'000),
               16},
        Growth{"LibsvmOfOneFarIndex", "libsvm", "0 2097152:1", 1},
        Growth{"LibsvmOfFarIndices", "libsvm", repeated("0 2097152:1\n", 5'000), 16},
        Growth{"LibsvmOfLabels", "libsvm", "1 1:0.1\n" + repeated("1\n", 50'000), 16},
        Growth{"LibsvmOfShortRows", "libsvm", "1 9:0.1\n" + repeated("1 1:1\n", 50'000), 16},
        Growth{"NpyOfBytes", "npy", npy_of_bytes(100'000), 8}, Growth{"NpzOfBytes", "npz", npz_of_bytes(100'000), 8},
        Growth{"NpzOfEmptyRows", "npz", npz_of_empty_rows(100'000), 32}),
    [](const auto& row) { return std::string(row.param.name); });

// The names can be read.
TEST(WideTable, KnowsItsColumnsByNumber) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "table.kds";
  const auto describe = [](engine::DatasetMeta& meta) { set_target(meta, "2097152", "target"); };
  parse_libsvm("0 1:1 2097152:1\n", {.source = "wide", .output = path, .describe = describe});
  engine::DatasetFile file(path);
  EXPECT_EQ(file.meta().n_columns(), (1 << 21) + 1);
  EXPECT_EQ(file.meta().columns.size(), 1u) << "the label alone has a name";
  EXPECT_EQ(file.meta().target, "2097152");
  file.name_columns();
  EXPECT_EQ(file.meta().columns.size(), (1u << 21) + 1);
  EXPECT_EQ(file.meta().columns.front().name, "1");
  EXPECT_EQ(file.meta().columns.at((1u << 21) - 1).name, "2097152");
  EXPECT_EQ(file.meta().columns.back().name, "label");
  EXPECT_THROW(parse_libsvm("0 1:1 2097152:1\n", {.source = "wide", .output = path, .describe = [](engine::DatasetMeta& meta) { set_target(meta, "0", "target"); }}),
               schema::Error);
}

}  // namespace
}  // namespace kedge::server
