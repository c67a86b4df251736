// Uploads with progress, lists, deletes; asks the server for a preview and prints it as tables.
#include "client/cli/data_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/cli/live_area.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "client/cli/units.h"
#include "client/cli/upload_progress.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

constexpr int kPlainWidth = 100;   // where no terminal says its own
constexpr int kWidest = 24;        // of a name or a cell

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(schema::ErrorCode::kNotFound, fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

// The data set and the selection of a job, or of what is one already; other fields of a job do not matter here.
schema::PreviewRequest request_of(const std::string& text) {
  const schema::Value value = schema::value_from_json(text);
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  if (!map) throw Error(schema::ErrorCode::kMalformed, "must be an object with a \"dataset\", such as a job");
  schema::ValueMap wanted;
  for (const auto& [name, member] : *map)
    if (name == "dataset" || name == "select") wanted.emplace_back(name, member);
  if (wanted.empty()) wanted.emplace_back("dataset", value);   // the reference alone
  return schema::from_json<schema::PreviewRequest>(schema::value_to_json(schema::Value(std::move(wanted))));
}

// NAME of an upload or of a built-in set, a JSON file with a job, or a reference as JSON: {"openml": {"name": "iris"}}.
schema::PreviewRequest asked_for(const Session& session, const std::string& what) {
  if (what.starts_with('{')) return request_of(what);
  if (what.ends_with(".json")) return request_of(read_file(what));
  const std::vector<std::string> builtin = session.info().builtinDatasets;
  if (std::ranges::find(builtin, what) != builtin.end()) return {.dataset = {schema::BuiltinRef{what}}};
  return {.dataset = {schema::StoredRef{what}}};
}

std::string cell_text(const schema::Value& cell) {
  if (cell.is_null()) return "-";
  if (const auto* text = std::get_if<std::string>(&cell.data)) return cut(printable(*text), kWidest);
  if (const auto* number = std::get_if<double>(&cell.data)) return fmt::format("{:.6g}", *number);
  return schema::value_to_json(cell);
}

std::string columns_table(const schema::DatasetPreview& preview, const Page& page) {
  using enum TextTable::Align;
  TextTable table({{.title = "column", .fit = TextTable::Fit::kCut}, {"type"}, {"role"}, {"missing", kRight}, {"distinct", kRight}});
  for (const schema::PreviewColumn& column : preview.columns)
    table.row({column.name, column.type, column.role == "leftOut" ? "left out" : column.role, std::to_string(column.missing),
               std::to_string(column.distinct) + (column.moreDistinct ? "+" : "")});
  return table.text(page);
}

// The first rows, of as many columns as fit on the page.
std::string rows_table(const schema::DatasetPreview& preview, const Page& page) {
  std::vector<TextTable::Column> columns;
  std::vector<std::vector<std::string>> rows(preview.firstRows.size());
  int used = 0;
  for (const schema::PreviewColumn& column : preview.columns) {
    const std::string title = cut(printable(column.name), kWidest);
    int widest = display_width(title);
    std::vector<std::string> cells;
    for (const schema::Value& row : preview.firstRows) {
      cells.push_back(cell_text(std::get<schema::ValueList>(row.data).at(columns.size())));
      widest = std::max(widest, display_width(cells.back()));
    }
    used += widest + (columns.empty() ? 0 : 2);
    if (!columns.empty() && used > (page.columns > 0 ? page.columns : kPlainWidth)) break;
    columns.push_back({title, TextTable::Align::kRight});
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(std::move(cells[i]));
  }
  const std::size_t shown = columns.size();
  TextTable table(std::move(columns));
  for (std::vector<std::string>& row : rows) table.row(std::move(row));
  return table.text(page) + (shown < preview.columns.size() ? fmt::format("{} of {} columns shown\n", shown, preview.columns.size()) : "");
}

}  // namespace

std::string preview_table(const schema::DatasetPreview& preview, const Page& page) {
  const std::string title = fmt::format("{}: {} rows, {} columns", printable(preview.name), preview.rows, preview.nColumns);
  std::string out = paragraph(page, line_of(title, Style::kBold)) + "\n" + columns_table(preview, page);
  if (preview.countedRows < preview.rows) out += fmt::format("missing and distinct are of the first {} rows\n", preview.countedRows);
  if (!preview.firstRows.empty() && !preview.columns.empty()) out += "\n" + rows_table(preview, page);
  std::string notes;
  for (const schema::PreviewColumn& column : preview.columns)
    if (!column.hint.empty()) notes += paragraph(page, line_of(printable(column.name + ": " + column.hint)), 2);
  for (const std::string& note : preview.notes) notes += paragraph(page, line_of(printable(note)), 2);
  return notes.empty() ? out : out + "\n" + notes;
}

namespace {

int show(const Session& session, const Options& options) {
  const schema::DatasetPreview preview = session.preview(asked_for(session, options.argument), options.rows);
  if (options.json) fmt::print("{}\n", schema::to_json(preview));
  else fmt::print("{}", preview_table(preview, page_of(STDOUT_FILENO)));
  return kSucceeded;
}

std::string name_of_upload(const Options& options) {
  if (!options.name.empty()) return options.name;
  if (options.upload == "-")
    throw Error(schema::ErrorCode::kInvalidValue, "what comes from stdin needs a name: --name NAME", "name");
  return std::filesystem::path(options.upload).filename().string();
}

// The upload, and as a preview what the server has read.
int add(const Session& session, const Options& options) {
  const std::string name = name_of_upload(options);
  schema::Value stored;
  {
    UploadProgress progress;
    stored = session.upload(name, options.upload, options.format,
                            [&](std::int64_t bytes, std::int64_t total) { progress.show(bytes, total); });
  }
  if (options.json) {
    fmt::print("{}\n", schema::value_to_json(stored));
    return kSucceeded;
  }
  const schema::DatasetPreview preview = session.preview({.dataset = {schema::StoredRef{name}}}, options.rows);
  fmt::print("{}", preview_table(preview, page_of(STDOUT_FILENO)));
  return kSucceeded;
}

int remove(const Session& session, const Options& options) {
  for (const std::string& name : options.arguments) {
    session.remove_dataset(name);
    if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", name}}));
  }
  return kSucceeded;
}

std::string field(const schema::ValueMap& upload, std::string_view name) {
  const auto found = std::ranges::find(upload, name, &schema::ValueMap::value_type::first);
  if (found == upload.end()) return {};
  const auto* text = std::get_if<std::string>(&found->second.data);
  return text ? printable(*text) : schema::to_string(found->second);
}

std::string bytes_text(const schema::ValueMap& upload) {
  const std::string bytes = field(upload, "bytes");
  return bytes.empty() ? bytes : size_text(std::stoll(bytes));
}

int list(const Session& session, const Options& options) {
  using enum TextTable::Align;
  const schema::Value answer = session.datasets();
  if (options.json) {
    fmt::print("{}\n", schema::value_to_json(answer));
    return kSucceeded;
  }
  TextTable table({{.title = "name", .fit = TextTable::Fit::kCut},
                   {"format"},
                   {"size", kRight},
                   {"rows", kRight},
                   {"columns", kRight},
                   {"created"}});
  bool has_any = false;
  for (const auto& [key, uploads] : std::get<schema::ValueMap>(answer.data)) {
    const auto* entries = std::get_if<schema::ValueList>(&uploads.data);
    if (!entries) continue;   // the token of the next page
    for (const schema::Value& entry : *entries) {
      const auto& upload = std::get<schema::ValueMap>(entry.data);
      table.row({field(upload, "name"), field(upload, "format"), bytes_text(upload), field(upload, "rows"),
                 field(upload, "columns"), field(upload, "created")});
      has_any = true;
    }
  }
  if (has_any) fmt::print("{}", table.text(page_of(STDOUT_FILENO)));
  else fmt::print(stderr, "no uploads; kedge data add FILE makes one\n");
  return kSucceeded;
}

}   // namespace

int data(const Options& options) {
  const Session session = connect_server(options);
  if (!options.upload.empty()) return add(session, options);
  if (!options.arguments.empty()) return remove(session, options);
  return options.argument.empty() ? list(session, options) : show(session, options);
}

}  // namespace kedge::cli
