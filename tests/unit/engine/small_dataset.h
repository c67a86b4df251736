// Data set files made in a test from a few rows.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

// A folder that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed for " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline ColumnInfo numeric(std::string name) { return {.name = std::move(name)}; }
inline ColumnInfo nominal(std::string name, std::vector<std::string> categories) {
  return {.name = std::move(name), .type = ColumnInfo::Type::kNominal, .categories = std::move(categories)};
}
inline ColumnInfo text(std::string name) { return {.name = std::move(name), .type = ColumnInfo::Type::kString}; }

// Writes a data set and returns its path. `values`: rows of all columns but the text ones, row after row; codes where nominal.
inline std::filesystem::path write_dataset(const std::filesystem::path& folder, std::vector<ColumnInfo> columns,
                                           const std::vector<double>& values, std::string target = "", bool is_float32 = false) {
  DatasetMeta meta{.name = "small", .is_float32 = is_float32, .columns = std::move(columns), .target = std::move(target)};
  for (ColumnInfo& column : meta.columns) {
    if (column.type != ColumnInfo::Type::kString) column.values_column = meta.n_values_columns++;
  }
  meta.n_rows = static_cast<std::int64_t>(values.size()) / meta.n_values_columns;
  const std::filesystem::path path = folder / "small.kedge";
  DatasetFileWriter writer(path, meta);
  if (is_float32) {
    std::transform(values.begin(), values.end(), writer.values_f32().begin(), [](double v) { return static_cast<float>(v); });
  } else {
    std::copy(values.begin(), values.end(), writer.values_f64().begin());
  }
  writer.finish();
  return path;
}

}  // namespace kedge::engine
