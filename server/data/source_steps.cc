// Steps that the sources share: timed download, timed parse, progress, choice of the target.
#include "server/data/source_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/arrow.h"
#include "server/data/cell.h"
#include "server/data/mapped_text.h"
#include "server/data/not_text.h"
#include "server/data/upload_decoder.h"

namespace kedge::server {

Fetcher::Progress download_progress(const Emit& emit) {
  return [&emit](std::int64_t done, std::int64_t total) { emit(schema::ProgressEvent{"download", done, total, "bytes"}); };
}

ParallelOptions parse_options(const SourceContext& context) {
  const auto progress = [&emit = context.emit](std::int64_t done, std::int64_t total) {
    emit(schema::ProgressEvent{"parse", done, total, "bytes"});
  };
  return {.threads = 0, .progress = progress, .stop = context.stop};
}

void parse_text(std::string_view text, const std::string& format, const ParseRequest& request) {
  refuse_what_is_not_text(text, request.source);
  if (same_ignoring_case(format, "csv")) parse_csv(text, request);
  else if (same_ignoring_case(format, "libsvm")) parse_libsvm(text, request);
  else parse_arff(text, request);
}

namespace {

// Unpacks a file into another; false when it is not packed.
bool unpack(std::string_view packed, const std::filesystem::path& to, const std::string& what,
            std::int64_t most_bytes) {
  if (!is_packed(packed)) return false;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::ofstream out(to, std::ios::binary);
  std::int64_t written = 0;
  const UploadDecoder::Sink write = [&](std::string_view piece) {
    written += static_cast<std::int64_t>(piece.size());
    engine::require(written <= most_bytes, schema::ErrorCode::kInvalidValue,
                    "{}: inflates to more than the limit of {} bytes", what, most_bytes);
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  };
  UploadDecoder decoder(what);
  for (; !packed.empty(); packed.remove_prefix(std::min(kPiece, packed.size())))
    decoder.feed(packed.substr(0, kPiece), write);
  decoder.finish(write);
  out.close();
  engine::require(out.good(), schema::ErrorCode::kInternal, "{}: cannot be written", engine::shown(to));
  return true;
}

}   // namespace

void parse_file(const std::filesystem::path& file, const std::string& format, const ParseRequest& request,
                const SourceContext& context) {
  const RemovedFile plain{context.store.temporary_path()};
  const bool is_unpacked =
      unpack(MappedText(file).text(), plain.path, request.source, context.options.max_download_bytes);
  const std::filesystem::path& content = is_unpacked ? plain.path : file;
  const MappedText mapped(content);
  if (is_arrow_format(format) || !arrow_format_of(mapped.text()).empty()) parse_arrow(content, request);
  else parse_text(mapped.text(), format, request);
}

std::string base_name(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? url : name;
}

void set_target(engine::DatasetMeta& meta, const std::string& wanted, const std::string& where) {
  meta.target = wanted.empty() ? meta.columns.back().name : wanted;
  if (meta.has_column(meta.target)) return;
  std::vector<std::string> names;
  for (const engine::ColumnInfo& column : meta.columns) names.push_back(column.name);
  const std::string_view nearest = schema::nearest_name(wanted, names);
  const std::string hint = nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
  throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("there is no column '{}'{}", wanted, hint), where);
}

void log(const Emit& emit, const char* level, std::string message) { emit(schema::LogEvent{level, std::move(message)}); }

}  // namespace kedge::server
