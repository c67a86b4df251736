// The mean of a target in each category of a column, drawn towards the mean of all rows: TargetEncoder's arithmetic. On
// the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kedge::engine {

// Rows of one group: how many, the sum of their targets, and the squares about their mean.
struct TargetMoments {
  double count = 0, sum = 0, squares = 0;

  double mean() const { return sum / count; }   // NaN without rows
  // Of both groups together. Source: Chan, Golub, LeVeque, "Updating formulae", 1979.
  TargetMoments with(const TargetMoments& other) const;
};

// One number per row and output, row after row: classes give one output each (1 for the rows that have it), or the
// second of two; values one.
struct EncodedTarget {
  std::span<const std::int32_t> codes;   // of classes; empty: values
  std::span<const double> values;
  std::int64_t n_outputs = 1;   // above 1: output c is class c; 1 of classes: class 1

  bool is_classes() const { return !codes.empty(); }
  std::int64_t n_rows() const { return static_cast<std::int64_t>(is_classes() ? codes.size() : values.size()); }
};

// The rows' moments by group and output: those of output k in group g are at [k * n_groups + g]. group_of: the group of
// each row, -1 for none.
std::vector<TargetMoments> moments_by_group(const EncodedTarget& y, std::span<const std::int64_t> group_of,
                                            std::int64_t n_groups);

// What a category with these moments becomes. smooth: as many rows as the mean of all counts for; nothing: as many as
// the variances say (empirical Bayes). all: the moments of all rows. Without rows, the mean of all. Source:
// Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes", SIGKDD Explorations 3(1), 2001.
double encoding(const TargetMoments& category, const TargetMoments& all, std::optional<double> smooth);

}   // namespace kedge::engine
