// The parity rows as items: every op against plain references.
#include <algorithm>
#include <set>
#include <utility>

#include "gpu_check/section.h"
#include "tests/parity/cases.h"

namespace kedge::gpu_check {
namespace {

using parity::Case;

Item item_of(Bench& bench, const Case& checked) {
  return {checked.dtype + " " + checked.name(),
          [&bench, checked] { return Finding{.disagreements = checked.run(bench.device(), {})}; }};
}

// Cells of data of a case, as the first measure of its work.
std::int64_t cells(const Case& checked) {
  const auto& [rows, cols, k] = checked.shape;
  return std::max<std::int64_t>(rows, 1) * std::max<std::int64_t>(cols, 1) * std::max(k, 1);
}

// All cases, those of one op and dtype together.
std::vector<std::vector<Case>> by_op() {
  std::vector<std::vector<Case>> groups;
  for (Case& one : parity::all_cases()) {
    const bool goes_on =
        !groups.empty() && groups.back().front().op == one.op && groups.back().front().dtype == one.dtype;
    if (!goes_on) groups.emplace_back();
    groups.back().push_back(std::move(one));
  }
  return groups;
}

// Of medium work: larger than a tile where the op has such shapes, and not the largest.
std::size_t middle_of(const std::vector<Case>& cases) {
  std::vector<std::size_t> order(cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return cells(cases[i]); });
  return order[order.size() / 2];
}

}   // namespace

std::vector<Item> op_items(Bench& bench) {
  std::vector<Item> items;
  for (const auto& cases : by_op()) items.push_back(item_of(bench, cases[middle_of(cases)]));
  return items;
}

std::vector<Item> other_op_items(Bench& bench) {
  std::vector<Item> items;
  for (const auto& cases : by_op())
    for (std::size_t i = 0, middle = middle_of(cases); i < cases.size(); ++i)
      if (i != middle) items.push_back(item_of(bench, cases[i]));
  return items;
}

std::vector<Item> short_op_items(Bench& bench) {
  constexpr std::int64_t kEnoughCells = 20;   // fewer: hardly a thread has work
  std::vector<Item> items;
  for (const auto& cases : by_op()) {
    const auto work = [&](const Case& one) { return std::pair(cells(one) < kEnoughCells, cells(one)); };
    items.push_back(item_of(bench, *std::ranges::min_element(cases, {}, work)));
  }
  return items;
}

}   // namespace kedge::gpu_check
