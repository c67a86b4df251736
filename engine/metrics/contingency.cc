// Counts the pairs of two labellings.
#include "engine/metrics/contingency.h"

#include <algorithm>

namespace kedge::engine {
namespace {

// Tables may have this many entries for each row, and a few for nothing.
constexpr std::int64_t kTableEntriesPerRow = 4, kTableEntriesFree = 1 << 16;

bool table_pays(std::int64_t entries, std::size_t n_rows) {
  return entries <= kTableEntriesPerRow * static_cast<std::int64_t>(n_rows) + kTableEntriesFree;
}

void number_by_table(std::span<const std::int32_t> labels, std::int64_t lowest, std::int64_t span, Groups& groups) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(span));
  for (std::int32_t label : labels) ++rows[static_cast<std::size_t>(label - lowest)];
  std::vector<std::int32_t> number(rows.size());
  for (std::size_t v = 0; v < rows.size(); ++v) {
    if (rows[v] == 0) continue;
    number[v] = static_cast<std::int32_t>(groups.sizes.size());
    groups.sizes.push_back(rows[v]);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) groups.of_row[i] = number[static_cast<std::size_t>(labels[i] - lowest)];
}

void number_by_sort(std::span<const std::int32_t> labels, Groups& groups) {
  std::vector<std::int32_t> distinct(labels.begin(), labels.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  groups.sizes.resize(distinct.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    groups.of_row[i] = static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), labels[i]) - distinct.begin());
    ++groups.sizes[static_cast<std::size_t>(groups.of_row[i])];
  }
}

void count_by_table(const Groups& a, const Groups& b, Contingency& result) {
  const auto n_b = static_cast<std::size_t>(b.n_groups());
  std::vector<std::int64_t> rows(a.sizes.size() * n_b);
  for (std::size_t i = 0; i < a.of_row.size(); ++i) {
    ++rows[static_cast<std::size_t>(a.of_row[i]) * n_b + static_cast<std::size_t>(b.of_row[i])];
  }
  for (std::size_t cell = 0; cell < rows.size(); ++cell) {
    if (rows[cell] == 0) continue;
    result.cells.push_back({static_cast<std::int32_t>(cell / n_b), static_cast<std::int32_t>(cell % n_b), rows[cell]});
  }
}

void count_by_sort(const Groups& a, const Groups& b, Contingency& result) {
  std::vector<std::uint64_t> pairs(a.of_row.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = static_cast<std::uint64_t>(a.of_row[i]) << 32 | static_cast<std::uint32_t>(b.of_row[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  for (auto first = pairs.begin(); first != pairs.end();) {
    const auto end = std::upper_bound(first, pairs.end(), *first);
    result.cells.push_back({static_cast<std::int32_t>(*first >> 32), static_cast<std::int32_t>(*first), end - first});
    first = end;
  }
}

}  // namespace

Groups group_rows(std::span<const std::int32_t> labels) {
  Groups groups;
  groups.of_row.resize(labels.size());
  if (labels.empty()) return groups;
  const auto [lowest, highest] = std::minmax_element(labels.begin(), labels.end());
  const std::int64_t span = std::int64_t{*highest} - *lowest + 1;
  if (table_pays(span, labels.size())) {
    number_by_table(labels, *lowest, span, groups);
  } else {
    number_by_sort(labels, groups);
  }
  return groups;
}

Contingency contingency(std::span<const std::int32_t> labels_true, std::span<const std::int32_t> labels_pred) {
  const Groups a = group_rows(labels_true), b = group_rows(labels_pred);
  Contingency result{{}, a.sizes, b.sizes, static_cast<std::int64_t>(labels_true.size())};
  if (table_pays(a.n_groups() * b.n_groups(), labels_true.size())) {
    count_by_table(a, b, result);
  } else {
    count_by_sort(a, b, result);
  }
  return result;
}

}  // namespace kedge::engine
