// The jobs that run on the CPU and on the device: one for each estimator of the catalogue, and some whole ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "schemas/job.h"

namespace kedge::gpu_check {

enum class DataKind { kClasses, kValues, kPositive, kCounts, kGaps, kMixed };   // kPositive: values above 0

struct CheckedJob {
  std::string name;   // the estimator, or what the job does
  DataKind data = DataKind::kClasses;
  std::vector<schema::Step> pipeline = {};
  schema::Task task = schema::Fit{};
  // How far numbers may differ, relative to the largest of their list. Whole numbers may not.
  double bound64 = 1e-9, bound32 = 1e-4;
  std::vector<std::string> free_signs = {};   // attributes and outputs whose columns may have another sign
  std::vector<std::string> targets = {};      // of several; empty: y
};

std::vector<CheckedJob> checked_jobs();

// Writes a data set for a kind of job: `cols` numbers a row, a category beside them for kMixed, then the target. Every
// value is exact in float32. The same every time.
std::filesystem::path write_data(const std::filesystem::path& folder, DataKind kind, std::int64_t rows,
                                 std::int64_t cols);

}   // namespace kedge::gpu_check
