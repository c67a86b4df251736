// Data for the jobs: multiples of 1/256 from a generator of the project's own.
#include <cmath>
#include <limits>

#include "engine/core/dataset_file.h"
#include "engine/core/rng.h"
#include "gpu_check/jobs.h"

namespace kedge::gpu_check {
namespace {

using engine::ColumnInfo;

constexpr int kClasses = 3;
constexpr double kStep = 256;

double rounded(double value) {
  return std::round(value * kStep) / kStep;
}

struct Row {
  std::vector<double> cells;   // and the category of a mixed table
  double target = 0;
};

// Blobs that overlap a little: a column is higher for the class whose turn it is.
void fill_classes(engine::PhiloxStream& random, int label, Row& row) {
  row.target = label;
  for (std::size_t j = 0; j < row.cells.size(); ++j) {
    const double spread = random.uniform() + random.uniform() + random.uniform();
    row.cells[j] = rounded(spread + (static_cast<int>(j) % kClasses == label ? 1.5 : 0.0));
  }
}

void fill_values(engine::PhiloxStream& random, Row& row) {
  double sum = 0;
  for (std::size_t j = 0; j < row.cells.size(); ++j) {
    row.cells[j] = rounded(2 * random.uniform() - 1);
    sum += (j % 4 == 3 ? 0.0 : 1.0 + static_cast<double>(j % 5)) * row.cells[j];
  }
  row.target = rounded(10 + sum + row.cells.front() * row.cells.back() + 0.2 * random.uniform());
}

void fill_counts(engine::PhiloxStream& random, int label, Row& row) {
  row.target = label;
  for (std::size_t j = 0; j < row.cells.size(); ++j)
    row.cells[j] =
        static_cast<double>(random.below(4) + (static_cast<int>(j) % kClasses == label ? random.below(4) : 0));
}

Row row_of(engine::PhiloxStream& random, DataKind kind, std::int64_t i, std::int64_t cols) {
  Row row{.cells = std::vector<double>(static_cast<std::size_t>(cols))};
  const int label = static_cast<int>(i % kClasses);
  if (kind == DataKind::kValues || kind == DataKind::kPositive) fill_values(random, row);
  else if (kind == DataKind::kCounts) fill_counts(random, label, row);
  else fill_classes(random, label, row);
  if (kind == DataKind::kPositive) row.target = std::abs(row.target) + 1 / kStep;
  if (kind == DataKind::kGaps || kind == DataKind::kMixed) {
    for (std::size_t j = 0; j + 1 < row.cells.size(); ++j)
      if (random.below(7) == 0) row.cells[j] = std::numeric_limits<double>::quiet_NaN();
  }
  if (kind == DataKind::kMixed) row.cells.push_back(static_cast<double>(random.below(2) ? label : random.below(4)));
  return row;
}

engine::DatasetMeta meta_of(DataKind kind, std::int64_t rows, std::int64_t cols) {
  engine::DatasetMeta meta{.name = "made here", .n_rows = rows, .target = "y"};
  for (std::int64_t j = 0; j < cols; ++j) meta.columns.push_back({.name = "x" + std::to_string(j)});
  const auto add_nominal = [&](const char* name, std::vector<std::string> categories) {
    meta.columns.push_back({.name = name, .type = ColumnInfo::Type::kNominal, .categories = std::move(categories)});
  };
  if (kind == DataKind::kMixed) add_nominal("colour", {"red", "green", "blue", "none"});
  if (kind == DataKind::kValues || kind == DataKind::kPositive) meta.columns.push_back({.name = "y"});
  else add_nominal("y", {"a", "b", "c"});
  for (ColumnInfo& column : meta.columns) column.values_column = meta.n_values_columns++;
  return meta;
}

}   // namespace

std::filesystem::path write_data(const std::filesystem::path& folder, DataKind kind, std::int64_t rows,
                                 std::int64_t cols) {
  const std::filesystem::path path =
      folder / ("data" + std::to_string(static_cast<int>(kind)) + "_" + std::to_string(rows));
  if (std::filesystem::exists(path)) return path;
  engine::DatasetFileWriter writer(path, meta_of(kind, rows, cols));
  engine::PhiloxStream random(2718, static_cast<std::uint64_t>(kind));
  auto cell = writer.values_f64().begin();
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row row = row_of(random, kind, i, cols);
    cell = std::copy(row.cells.begin(), row.cells.end(), cell);
    *cell++ = row.target;
  }
  writer.finish();
  return path;
}

}   // namespace kedge::gpu_check
