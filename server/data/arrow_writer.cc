// The side of kedged: it hands over the table, its description and the file that is written.
#include "server/data/arrow_writer.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <system_error>
#include <utility>

#include "engine/core/dataset_layout.h"
#include "engine/core/dataset_meta_codec.h"
#include "engine/core/require.h"
#include "server/data/arrow_process.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using engine::ArrowForm;
using engine::ArrowSays;
using engine::require;
using schema::Error;
using schema::ErrorCode;

struct FormRow {
  std::string_view media_type;
  ArrowForm form;
  std::string_view ending;
};

constexpr std::array kForms{FormRow{kArrowFile, ArrowForm::kFile, ".arrow"},
                            FormRow{kArrowStream, ArrowForm::kStream, ".arrows"},
                            FormRow{kParquet, ArrowForm::kParquet, ".parquet"}};

Error lacks_libraries() {
  return Error(ErrorCode::kNotAcceptable,
               fmt::format("Parquet and Arrow answers need {}, which does not find Arrow's libraries: pip install "
                           "'kedge-server[arrow]' brings those of the wheel; or accept CSV or NPY",
                           kArrowProgram),
               "Accept");
}

}   // namespace

std::optional<ArrowForm> arrow_form(std::string_view media_type) {
  for (const FormRow& row : kForms)
    if (row.media_type == media_type) return row.form;
  return std::nullopt;
}

std::string_view arrow_ending(ArrowForm form) {
  for (const FormRow& row : kForms)
    if (row.form == form) return row.ending;
  return {};
}

bool can_write_arrow() {
  return !arrow_program().empty();
}

Error needs_arrow_program(std::string_view accept) {
  return Error(ErrorCode::kNotAcceptable,
               fmt::format("{}Parquet and Arrow answers need {}, which is not installed beside kedged. Its source's "
                           "./run.sh arrow builds it; or accept CSV or NPY",
                           accept.empty() ? "" : fmt::format("Accept is '{}': ", accept), kArrowProgram),
               "Accept");
}

void write_arrow(const AnswerTable& table, ArrowForm form, const fs::path& output, const std::string& source,
                 std::stop_token stop) {
  const engine::DatasetMeta& meta = table.meta;
  if (!can_write_arrow()) throw needs_arrow_program({});
  require(!meta.is_sparse(), ErrorCode::kInternal, "{}: a sparse table is not written", source);
  const engine::ArrowInput input{.offset = engine::kDatasetValuesOffset,
                                 .n_columns = static_cast<std::int64_t>(meta.columns.size()),
                                 .form = form};
  std::string body(reinterpret_cast<const char*>(&input), sizeof input);
  for (const engine::ColumnInfo& column : meta.columns)
    body += static_cast<char>(table.is_whole && column.type == engine::ColumnInfo::Type::kNumeric);
  body += engine::encode_meta(meta);
  try {
    const OpenedFile file(output, O_WRONLY | O_CREAT | O_EXCL);
    ArrowProcess writer({.input = table.file, .writes = true, .source = source, .lacks_libraries = lacks_libraries()},
                        std::move(stop));
    writer.send(ArrowSays::kGo, body, file.get());
    writer.receive(ArrowSays::kDone);
  } catch (...) {
    std::error_code ignored;
    fs::remove(output, ignored);
    throw;
  }
}

}   // namespace kedge::server
