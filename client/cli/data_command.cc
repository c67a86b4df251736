// Asks the server for a preview and prints it as tables.
#include "client/cli/data_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "client/cli/live_area.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
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

int data(const Options& options) {
  const Session session = connect_server(options);
  const schema::DatasetPreview preview = session.preview(asked_for(session, options.argument), options.rows);
  if (options.json) fmt::print("{}\n", schema::to_json(preview));
  else fmt::print("{}", preview_table(preview, page_of(STDOUT_FILENO)));
  return kSucceeded;
}

}  // namespace kedge::cli
