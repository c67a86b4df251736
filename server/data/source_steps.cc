// Steps that the sources share: timed download, timed parse, progress, choice of the target.
#include "server/data/source_steps.h"

#include <fmt/core.h>

#include <algorithm>

#include "server/data/cell.h"
#include "server/data/not_text.h"

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
