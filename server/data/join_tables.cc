// Categories have other codes in each part: a map for each column and part says which they become.
#include "server/data/join_tables.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using engine::DatasetFile;
using engine::require;
using schema::ErrorCode;
using Type = ColumnInfo::Type;

const char* noun(Type type) {
  return type == Type::kNumeric ? "numbers" : type == Type::kNominal ? "texts" : "cells that are not kept";
}

void require_same_columns(const TablePartFile& first, const engine::DatasetMeta& wanted, const TablePartFile& part,
                          const engine::DatasetMeta& meta) {
  require(!meta.is_sparse() && !wanted.is_sparse(), ErrorCode::kBadData, "{}: sparse tables cannot be joined",
          part.name);
  require(meta.columns.size() == wanted.columns.size(), ErrorCode::kBadData, "{} has {} columns, {} has {}", part.name,
          meta.columns.size(), first.name, wanted.columns.size());
  for (std::size_t c = 0; c < meta.columns.size(); ++c) {
    const ColumnInfo &a = wanted.columns[c], &b = meta.columns[c];
    require(a.name == b.name, ErrorCode::kBadData, "{}: column {} is '{}', in {} it is '{}'", part.name, c + 1, b.name,
            first.name, a.name);
    require(a.type == b.type, ErrorCode::kBadData, "{}: column '{}' holds {}, in {} it holds {}", part.name, b.name,
            noun(b.type), first.name, noun(a.type));
  }
}

// codes[c][i] is what code i of the part's column c becomes; empty for numbers.
using Codes = std::vector<std::vector<double>>;

// Sorts the categories of each column of all parts into `meta`.
std::vector<Codes> merge_categories(const std::deque<DatasetFile>& files, engine::DatasetMeta& meta) {
  std::vector<Codes> codes(files.size(), Codes(meta.columns.size()));
  for (std::size_t c = 0; c < meta.columns.size(); ++c) {
    if (meta.columns[c].type != Type::kNominal) continue;
    std::map<std::string_view, double> sorted;
    for (const DatasetFile& file : files)
      for (const std::string& text : file.meta().columns[c].categories) sorted.emplace(text, 0);
    std::vector<std::string> names;
    for (auto& [text, code] : sorted) code = static_cast<double>(names.size()), names.emplace_back(text);
    for (std::size_t i = 0; i < files.size(); ++i)
      for (const std::string& text : files[i].meta().columns[c].categories) codes[i][c].push_back(sorted.at(text));
    meta.columns[c].categories = std::move(names);
  }
  return codes;
}

template <class To, class From>
void copy_rows(std::span<const From> from, std::span<To> to, const engine::DatasetMeta& meta, const Codes& codes) {
  std::ranges::transform(from, to.begin(), [](From value) { return static_cast<To>(value); });
  const auto width = static_cast<std::size_t>(meta.n_values_columns);
  for (std::size_t c = 0; c < meta.columns.size(); ++c) {
    if (codes[c].empty()) continue;
    for (std::size_t i = static_cast<std::size_t>(meta.columns[c].values_column); i < to.size(); i += width)
      if (to[i] == to[i]) to[i] = static_cast<To>(codes[c].at(static_cast<std::size_t>(to[i])));
  }
}

template <class To>
void write_all(const std::deque<DatasetFile>& files, std::span<To> to, const engine::DatasetMeta& meta,
               const std::vector<Codes>& codes) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const DatasetFile& file = files[i];
    const auto cells = static_cast<std::size_t>(file.meta().n_rows * meta.n_values_columns);
    if (file.meta().is_float32) copy_rows(file.values_f32(), to.first(cells), meta, codes[i]);
    else copy_rows(file.values_f64(), to.first(cells), meta, codes[i]);
    to = to.subspan(cells);
  }
}

}   // namespace

void join_tables(const std::vector<TablePartFile>& parts, const std::filesystem::path& output,
                 const std::function<void(engine::DatasetMeta&)>& describe) {
  std::deque<DatasetFile> files;
  for (const TablePartFile& part : parts) files.emplace_back(part.file);
  engine::DatasetMeta meta = files.front().meta();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const engine::DatasetMeta& more = files[i].meta();
    require_same_columns(parts.front(), meta, parts[i], more);
    meta.n_rows += more.n_rows;
    meta.is_float32 = meta.is_float32 && more.is_float32;
    for (std::size_t c = 0; c < meta.columns.size(); ++c) meta.columns[c].missing += more.columns[c].missing;
  }
  if (describe) describe(meta);
  const std::vector<Codes> codes = merge_categories(files, meta);
  engine::DatasetFileWriter writer(output, meta);
  if (meta.is_float32) write_all(files, writer.values_f32(), meta, codes);
  else write_all(files, writer.values_f64(), meta, codes);
  writer.finish();
}

}   // namespace kedge::server
