// Parquet and Arrow files as far as no library is needed: what is known by its first bytes, and a server without the
// program. tests/integration/arrow_test.py has the files of pyarrow and polars.
#include "server/data/arrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "schemas/error.h"
#include "server/data/arrow_writer.h"
#include "server/data/upload_decoder.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

TEST(ArrowFiles, AreKnownByTheirFirstBytes) {
  EXPECT_EQ(format_of_content("PAR1\x15\x04"), "parquet");
  EXPECT_EQ(format_of_content(std::string("ARROW1\0\0", 8)), "arrow");
  EXPECT_EQ(format_of_content(std::string("\xFF\xFF\xFF\xFF\x10\0\0\0", 8)), "arrow");
  EXPECT_EQ(format_of_content("PARTS,of\n1,2\n"), "csv");
  EXPECT_TRUE(is_arrow_format("Parquet"));
  EXPECT_FALSE(is_arrow_format("csv"));
}

// Whether the program is there depends on the build: with it the file is refused for what it is.
TEST(ArrowFiles, WithoutTheirProgramAreRefusedInWords) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "t.parquet";
  std::ofstream(file) << "PAR1 and nothing else";
  const bool is_there =
      std::filesystem::exists(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedge-arrow");
  try {
    parse_arrow(file, {.source = "t.parquet", .output = directory.path() / "t.kds"});
    FAIL() << "the file was read";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, is_there ? schema::ErrorCode::kDatasetCorrupt : schema::ErrorCode::kInvalidValue);
    EXPECT_THAT(error.message, testing::StartsWith("t.parquet"));
    EXPECT_EQ(error.message.find("./run.sh arrow") != std::string::npos, !is_there) << error.message;
  }
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "t.kds.part"));
}

// Without the program none is started; with it the table is written.
TEST(ArrowFiles, AreWrittenOnlyByTheirProgram) {
  const TemporaryDirectory directory;
  const AnswerTable table = parse_answer("a\n1.5\n", "text/csv", {.source = "t", .output = directory.path() / "t.kds"});
  const auto output = directory.path() / "t.parquet";
  if (can_write_arrow()) {
    write_arrow(table, engine::ArrowForm::kParquet, output, "t", {});
    EXPECT_GT(std::filesystem::file_size(output), 0u);
    return;
  }
  EXPECT_THROW(write_arrow(table, engine::ArrowForm::kParquet, output, "t", {}), schema::Error);
  EXPECT_FALSE(std::filesystem::exists(output));
}

}   // namespace
}   // namespace kedge::server
