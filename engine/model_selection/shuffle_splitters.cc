// ShuffleSplit, StratifiedShuffleSplit and train_test_split: sizes and draws (sklearn/model_selection/_split.py).
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/row_parts.h"
#include "engine/core/stop.h"
#include "engine/model_selection/split_checks.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

std::string text_of(const SplitSize& size) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, size);
}

// Rows that a size stands for; a fraction is rounded by `round`.
std::int64_t rows_of(const SplitSize& size, std::int64_t n_samples, double (*round)(double), const char* name,
                     const std::string& path) {
  if (const auto* fraction = std::get_if<double>(&size)) {
    require_split(*fraction > 0 && *fraction < 1, ErrorCode::kInvalidValue, path,
                  "{} is {}, must be a fraction between 0 and 1 or a whole number of rows", name, *fraction);
    return static_cast<std::int64_t>(round(*fraction * static_cast<double>(n_samples)));
  }
  const std::int64_t rows = std::get<std::int64_t>(size);
  require_split(rows >= 1, ErrorCode::kInvalidValue, path, "{} is {}, must be at least 1 row or a fraction between 0 and 1", name, rows);
  require_split(rows < n_samples, ErrorCode::kBadData, path, "{} is {}, must be below the {} rows of the data", name, rows, n_samples);
  return rows;
}

double fraction_of(const std::optional<SplitSize>& size) {
  const auto* fraction = size ? std::get_if<double>(&*size) : nullptr;
  return fraction ? *fraction : 0.0;
}

Split as_split(RowParts parts) {
  return {.train = std::move(parts.train), .test = std::move(parts.test)};
}

}  // namespace

SplitCounts split_counts(std::int64_t n_samples, const SplitSizes& sizes) {
  const std::string test_path = std::string(sizes.task) + ".testSize", train_path = std::string(sizes.task) + ".trainSize";
  const std::optional<SplitSize> test = sizes.test || sizes.train ? sizes.test : SplitSize(sizes.default_test);
  SplitCounts counts;
  if (test) counts.test = rows_of(*test, n_samples, std::ceil, "testSize", test_path);
  if (sizes.train) counts.train = rows_of(*sizes.train, n_samples, std::floor, "trainSize", train_path);
  const double fractions = fraction_of(test) + fraction_of(sizes.train);
  require_split(fractions <= 1, ErrorCode::kInvalidValue, train_path, "testSize and trainSize are {} together, must be at most 1",
                fractions);
  if (!sizes.train) counts.train = n_samples - counts.test;
  if (!test) counts.test = n_samples - counts.train;
  require_split(counts.train + counts.test <= n_samples, ErrorCode::kBadData, train_path,
                "testSize and trainSize ask for {} rows, the data have {}", counts.train + counts.test, n_samples);
  require_split(counts.train > 0, ErrorCode::kBadData, test_path, "with {} rows and testSize {} nothing is left to train on",
                n_samples, test ? text_of(*test) : "unset");
  return counts;
}

SplitCounts split_counts(std::int64_t n_samples, const std::optional<SplitSize>& test_size,
                         const std::optional<SplitSize>& train_size) {
  return split_counts(n_samples, SplitSizes{.test = test_size, .train = train_size});
}

std::vector<Split> shuffle_split(std::int64_t n_samples, std::int64_t n_splits, const SplitCounts& counts, std::uint32_t seed) {
  require_splits(n_splits, 1);
  LegacyRandom random(seed);
  std::vector<Split> splits;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    check_job_stop();
    splits.push_back(as_split(draw_parts(n_samples, counts.train, counts.test, random)));
  }
  return splits;
}

std::vector<Split> stratified_shuffle_split(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                            const SplitCounts& counts, std::uint32_t seed) {
  require_splits(n_splits, 1);
  const ClassMembers members = class_members(codes, n_classes);
  LegacyRandom random(seed);
  std::vector<Split> splits;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    check_job_stop();
    splits.push_back(as_split(draw_stratified_parts(members, counts.train, counts.test, random)));
  }
  return splits;
}

Split ordered_split(const SplitCounts& counts) {
  Split split;
  for (std::int64_t i = 0; i < counts.train; ++i) split.train.push_back(static_cast<std::int32_t>(i));
  for (std::int64_t i = 0; i < counts.test; ++i) split.test.push_back(static_cast<std::int32_t>(counts.train + i));
  return split;
}

Split shuffled_split(std::int64_t n_samples, const SplitCounts& counts, std::uint32_t seed) {
  return shuffle_split(n_samples, 1, counts, seed).front();
}

Split stratified_split(std::span<const std::int32_t> codes, std::int32_t n_classes, const SplitCounts& counts,
                       std::uint32_t seed) {
  return stratified_shuffle_split(codes, n_classes, 1, counts, seed).front();
}

}  // namespace kedge::engine
