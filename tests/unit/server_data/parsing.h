// Helpers of the parser tests: text in, data set file and cells out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dataset_file.h"
#include "schemas/error.h"
#include "server/data/parse.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {

struct Parsed {
  engine::DatasetMeta meta;
  std::vector<double> values;   // row-major
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * meta.n_values_columns + column)];
  }
};

inline Parsed read_file(const std::filesystem::path& path) {
  const engine::DatasetFile file(path);
  Parsed parsed{file.meta(), {}};
  parsed.values.assign(file.values_f32().begin(), file.values_f32().end());
  parsed.values.insert(parsed.values.end(), file.values_f64().begin(), file.values_f64().end());
  if (!parsed.meta.is_sparse()) return parsed;
  parsed.values.resize(static_cast<std::size_t>(parsed.meta.n_rows * parsed.meta.n_values_columns));
  for (std::int64_t j = 0; j < parsed.meta.n_values_columns; ++j) {
    const std::vector<double> column = file.column(j, parsed.meta.n_rows);
    for (std::size_t i = 0; i < column.size(); ++i) parsed.values[i * static_cast<std::size_t>(parsed.meta.n_values_columns) + static_cast<std::size_t>(j)] = column[i];
  }
  return parsed;
}

using Parser = engine::DatasetMeta (*)(std::string_view, const ParseRequest&);

inline Parsed parse(Parser parser, std::string_view text, int threads = 0) {
  const TemporaryDirectory directory;
  parser(text, {.source = "x", .output = directory.path() / "x.kds", .parallel = {.threads = threads}});
  return read_file(directory.path() / "x.kds");
}

// The message of the kDatasetCorrupt that the text causes; anything else fails the test that compares it.
inline std::string parse_error(Parser parser, std::string_view text) {
  try {
    parse(parser, text);
  } catch (const schema::Error& error) {
    return error.code == schema::ErrorCode::kDatasetCorrupt ? error.message : "another code: " + error.message;
  }
  return "no error";
}

}  // namespace kedge::server
