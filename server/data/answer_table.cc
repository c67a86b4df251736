// Numbers by the parsers of uploads; texts, and tables without rows, which those do not take, here.
#include "server/data/answer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/npy.h"
#include "engine/core/require.h"
#include "schemas/codec.h"
#include "server/data/npy.h"
#include "server/data/npy_header.h"

namespace kedge::server {
namespace {

using engine::DatasetMeta;
using engine::require;
using schema::ErrorCode;
using Names = std::vector<std::string>;

constexpr std::string_view kCsv = "text/csv", kNpy = "application/x-npy", kAlone = "prediction";

// The first line of engine::kNamedNpy, which is taken off `bytes`.
Names take_names(std::string_view& bytes, const std::string& source) {
  const std::size_t end = bytes.find('\n');
  require(end != std::string_view::npos, ErrorCode::kDatasetCorrupt, "{}: it begins with no line of names", source);
  const schema::Value line = schema::value_from_json(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  Names names;
  const auto* const list = std::get_if<schema::ValueList>(&line.data);
  require(list != nullptr, ErrorCode::kDatasetCorrupt, "{}: its first line is no list of names", source);
  for (const schema::Value& name : *list) {
    const auto* const text = std::get_if<std::string>(&name.data);
    require(text != nullptr, ErrorCode::kDatasetCorrupt, "{}: a name in its first line is no text", source);
    names.push_back(*text);
  }
  return names;
}

void name_columns(DatasetMeta& meta, const Names& names, bool is_vector, const std::string& source) {
  if (names.empty() && is_vector) meta.columns[0].name = kAlone;
  if (names.empty()) return;
  require(names.size() == meta.columns.size(), ErrorCode::kDatasetCorrupt, "{}: {} names for {} columns", source,
          names.size(), meta.columns.size());
  for (std::size_t c = 0; c < names.size(); ++c) meta.columns[c].name = names[c];
}

// One text a row.
DatasetMeta write_texts(const NpyHeader& header, std::string_view elements, const Names& names,
                        const ParseRequest& request) {
  const auto n_rows = static_cast<std::size_t>(header.shape[0]);
  std::vector<std::string> texts(n_rows);
  std::map<std::string_view, double> codes;
  for (std::size_t row = 0; row < n_rows; ++row) {
    texts[row] = npy_text(header, elements.substr(row * header.size, header.size));
    codes.emplace(texts[row], 0);
  }
  engine::ColumnInfo column{.name = {}, .type = engine::ColumnInfo::Type::kNominal, .values_column = 0};
  for (auto& [text, code] : codes) {
    code = static_cast<double>(column.categories.size());
    column.categories.emplace_back(text);
  }
  DatasetMeta meta{.n_rows = header.shape[0], .columns = {std::move(column)}, .n_values_columns = 1};
  name_columns(meta, names, true, request.source);
  engine::DatasetFileWriter writer(request.output, meta);
  const std::span<double> values = writer.values_f64();
  for (std::size_t row = 0; row < n_rows; ++row) values[row] = codes.at(texts[row]);
  writer.finish();
  return meta;
}

DatasetMeta write_no_rows(const NpyHeader& header, const Names& names, const ParseRequest& request) {
  DatasetMeta meta{.is_float32 = header.is_exact_in_float()};
  meta.n_values_columns = header.shape.size() == 2 ? header.shape[1] : 1;
  for (std::int64_t c = 0; c < meta.n_values_columns; ++c)
    meta.columns.push_back({.name = fmt::format("x{}", c), .values_column = c});
  name_columns(meta, names, header.shape.size() == 1, request.source);
  engine::DatasetFileWriter(request.output, meta).finish();
  return meta;
}

AnswerTable parse_numpy(std::string_view bytes, const Names& names, const ParseRequest& request) {
  const std::string& source = request.source;
  const NpyHeader header = read_npy_header(bytes, source);
  const std::size_t n_dimensions = header.shape.size();
  require(n_dimensions == 1 || n_dimensions == 2, ErrorCode::kDatasetCorrupt,
          "{}: the array has {} dimensions, must have one or two", source, n_dimensions);
  if (header.kind == 'U') {
    const std::string_view elements = bytes.substr(header.bytes);
    const bool is_whole = n_dimensions == 1 && (header.shape[0] == 0 || header.size > 0) &&
                          static_cast<unsigned __int128>(header.shape[0]) * header.size == elements.size();
    require(is_whole, ErrorCode::kDatasetCorrupt, "{}: its shape does not fill its {} bytes", source, elements.size());
    return {.file = request.output, .meta = write_texts(header, elements, names, request)};
  }
  const bool is_integer = header.kind == 'i' || header.kind == 'u' || header.kind == 'b';
  if (header.is_number() && header.shape[0] == 0 && (n_dimensions == 1 || header.shape[1] > 0))
    return {.file = request.output, .meta = write_no_rows(header, names, request), .is_whole = is_integer};
  ParseRequest named{.source = source, .output = request.output, .parallel = request.parallel};
  named.complete = [&](DatasetMeta& meta) { name_columns(meta, names, n_dimensions == 1, source); };
  return {.file = request.output, .meta = parse_npy(bytes, named), .is_whole = is_integer};
}

}   // namespace

AnswerTable parse_answer(std::string_view bytes, std::string_view media_type, const ParseRequest& request) {
  if (media_type == kCsv)
    return {
        .file = request.output,
        .meta = parse_csv(bytes, {.source = request.source, .output = request.output, .parallel = request.parallel})};
  Names names;
  if (media_type == engine::kNamedNpy) names = take_names(bytes, request.source);
  else require(media_type == kNpy, ErrorCode::kInternal, "{} is no table", media_type);
  return parse_numpy(bytes, names, request);
}

}   // namespace kedge::server
