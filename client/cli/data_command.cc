// Asks the server for a preview and prints it as tables.
#include "client/cli/data_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "client/cli/target.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

constexpr std::size_t kPlainWidth = 100;   // where no terminal says its own
constexpr std::size_t kWidest = 24;        // of a name or a cell

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : kPlainWidth;
}

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

// At most `most` characters, counted as code points.
std::string cut(const std::string& text, std::size_t most) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (++n > most) return text.substr(0, i) + "...";
  }
  return text;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cell_text(const schema::Value& cell) {
  if (cell.is_null()) return "-";
  if (const auto* text = std::get_if<std::string>(&cell.data)) return cut(*text, kWidest);
  if (const auto* number = std::get_if<double>(&cell.data)) return fmt::format("{:.6g}", *number);
  return schema::value_to_json(cell);
}

void append_padded(std::string& out, const std::string& text, std::size_t width, bool is_left) {
  const std::string pad(width - std::min(width, characters(text)), ' ');
  out += is_left ? text + pad : pad + text;
}

using Texts = std::vector<std::string>;

// Columns as wide as their widest text, two blanks between; the first is aligned left.
std::string table_of(const std::vector<Texts>& rows, std::size_t n_left) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Texts& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], characters(row[c]));
  std::string out;
  for (const Texts& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      append_padded(line, row[c], widths[c], c < n_left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

// The first rows, of as many columns as fit.
std::string rows_table(const schema::DatasetPreview& preview, std::size_t width) {
  std::vector<Texts> rows(1 + preview.firstRows.size());
  std::size_t used = 0, shown = 0;
  for (; shown < preview.columns.size(); ++shown) {
    Texts column{cut(preview.columns[shown].name, kWidest)};
    for (const schema::Value& row : preview.firstRows) column.push_back(cell_text(std::get<schema::ValueList>(row.data).at(shown)));
    std::size_t widest = 0;
    for (const std::string& text : column) widest = std::max(widest, characters(text));
    if (shown > 0 && used + 2 + widest > width) break;
    used += widest + (shown > 0 ? 2 : 0);
    for (std::size_t i = 0; i < column.size(); ++i) rows[i].push_back(column[i]);
  }
  const std::string rest = shown < preview.columns.size() ? fmt::format("{} of {} columns shown\n", shown, preview.columns.size()) : "";
  return table_of(rows, 0) + rest;
}

}  // namespace

std::string preview_table(const schema::DatasetPreview& preview, std::size_t width) {
  std::vector<Texts> rows{{"column", "type", "role", "missing", "distinct"}};
  for (const schema::PreviewColumn& column : preview.columns)
    rows.push_back({cut(column.name, kWidest), column.type, column.role == "leftOut" ? "left out" : column.role, std::to_string(column.missing),
                    std::to_string(column.distinct) + (column.moreDistinct ? "+" : "")});
  std::string out = fmt::format("{}: {} rows, {} columns\n\n", preview.name, preview.rows, preview.nColumns) + table_of(rows, 3);
  if (preview.countedRows < preview.rows) out += fmt::format("missing and distinct are of the first {} rows\n", preview.countedRows);
  if (!preview.firstRows.empty() && !preview.columns.empty()) out += "\n" + rows_table(preview, width);
  std::string notes;
  for (const schema::PreviewColumn& column : preview.columns)
    if (!column.hint.empty()) notes += fmt::format("{}: {}\n", cut(column.name, kWidest), column.hint);
  for (const std::string& note : preview.notes) notes += note + "\n";
  return notes.empty() ? out : out + "\n" + notes;
}

int data(const Options& options) {
  const Session session = connect_server(options);
  const schema::DatasetPreview preview = session.preview(asked_for(session, options.argument), options.rows);
  if (options.json) fmt::print("{}\n", schema::to_json(preview));
  else fmt::print("{}", preview_table(preview, terminal_width()));
  return kSucceeded;
}

}  // namespace kedge::cli
