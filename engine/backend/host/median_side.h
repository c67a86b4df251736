// The left side of the cuts of a node for the absolute error: medians of both sides while rows move from right to left.
// Source: Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and Experience 24(3), 1994.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/backend/host/tree_rows.h"
#include "engine/backend/host/tree_sums.h"

namespace kedge::engine {

// weight: a whole number of a fixed unit, so that adding and taking away leaves no trace.
struct MedianItem {
  std::int64_t weight;
  double value;
};

// Weights by rank, with prefix sums in O(log n).
class RankWeights {
 public:
  void assign(std::size_t n) { weight_.assign(n + 1, 0), sum_.assign(n + 1, 0), total_ = 0, total_sum_ = 0; }
  void add(std::size_t rank, std::int64_t weight, std::int64_t sum) {
    total_ += weight, total_sum_ += sum;
    for (std::size_t i = rank + 1; i < weight_.size(); i += i & -i) weight_[i] += weight, sum_[i] += sum;
  }
  std::int64_t total() const { return total_; }

  // The weighted median of `values` (by rank), the middle where it lies between two, and the sum of absolute errors from it.
  struct Median {
    double value, error;
  };
  Median median(const std::vector<double>& values, double unit) const {
    const Prefix below = find(total_, false), through = find(total_, true);
    const double low = values[below.rank], high = values[std::min(through.rank, values.size() - 1)], value = low == high ? low : (low + high) / 2;
    const double left_sum = static_cast<double>(through.sum) * unit, all = static_cast<double>(total_sum_) * unit;
    const auto left = static_cast<double>(through.weight), right = static_cast<double>(total_ - through.weight);
    return {value, all - left_sum - value * right + value * left - left_sum};
  }

 private:
  struct Prefix {
    std::size_t rank;   // the first whose weight, with all before it, reaches half of the total (or exceeds it)
    std::int64_t weight, sum;   // before it
  };
  Prefix find(std::int64_t twice, bool beyond) const {
    Prefix at{0, 0, 0};
    for (std::size_t step = std::bit_floor(weight_.size() - 1); step > 0; step /= 2) {
      const std::size_t next = at.rank + step;
      if (next >= weight_.size()) continue;
      const std::int64_t weight = 2 * (at.weight + weight_[next]);
      if (beyond ? weight <= twice : weight < twice) at = {next, at.weight + weight_[next], at.sum + sum_[next]};
    }
    return at;
  }
  std::vector<std::int64_t> weight_, sum_;
  std::int64_t total_ = 0, total_sum_ = 0;
};

class MedianSide {
 public:
  using Item = MedianItem;
  explicit MedianSide(std::int32_t) {}

  void set_node(const Item* items, const std::uint32_t* order, std::uint32_t n, const CutLimits& limits) {
    items_ = items, n_ = n, limits_ = limits;
    std::vector<std::uint32_t> by_value(n);
    if (order) std::copy_n(order, n, by_value.begin());
    else std::iota(by_value.begin(), by_value.end(), 0u);
    std::stable_sort(by_value.begin(), by_value.end(), [&](std::uint32_t a, std::uint32_t b) { return items[a].value < items[b].value; });
    rank_.resize(std::max<std::size_t>(rank_.size(), n == 0 ? 0 : *std::max_element(by_value.begin(), by_value.end()) + std::size_t{1}));
    values_.resize(n), all_.assign(n);
    double most = 0, weight = 0;
    for (const std::uint32_t i : by_value)
      most = std::max(most, std::abs(items[i].value)), weight += static_cast<double>(items[i].weight);
    scale_ = fixed_point_scale(most * weight);
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t i = by_value[r];
      rank_[i] = r, values_[r] = items[i].value;
      all_.add(r, items[i].weight, sum_of(items[i]));
    }
  }
  MedianSide& swept() {   // nothing is on the left
    left_.assign(n_), right_ = all_, left_rows_ = 0;
    return *this;
  }
  void add(const Item& item) {
    const std::uint32_t rank = rank_[&item - items_];
    left_.add(rank, item.weight, sum_of(item)), right_.add(rank, -item.weight, -sum_of(item)), ++left_rows_;
  }

  // As ValueCuts.
  struct Rows {
    std::vector<MedianItem> items;
    std::uint32_t n = 0;
  };
  void set_rows(const Rows& rows, const CutLimits& limits) { set_node(rows.items.data(), nullptr, rows.n, limits); }
  void sum_cuts(CodeBlock& block, const std::uint8_t* left_bin) { block_ = &block, left_bin_ = left_bin; }
  void score_cuts(double* scores, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
      swept();
      for (std::int64_t i = 0; i < n_; ++i)
        if (block_->at(i, static_cast<std::int64_t>(k)) <= left_bin_[k]) add(items_[i]);
      scores[k] = score();
    }
  }

  double score() const {
    const auto l = static_cast<double>(left_.total()), r = static_cast<double>(right_.total());
    if (left_rows_ < limits_.min_rows || n_ - left_rows_ < limits_.min_rows || !(l > 0) || !(r > 0) || l < limits_.min_weight ||
        r < limits_.min_weight)
      return kRefusedCut;
    return -(left_.median(values_, 1 / scale_).error + right_.median(values_, 1 / scale_).error);
  }
  // Of the whole node.
  RankWeights::Median node_median() const { return all_.median(values_, 1 / scale_); }
  std::int64_t node_weight() const { return all_.total(); }

 private:
  std::int64_t sum_of(const Item& item) const {
    return static_cast<std::int64_t>(static_cast<double>(item.weight) * item.value * scale_);
  }
  const CodeBlock* block_ = nullptr;   // of sum_cuts(), borrowed until score_cuts()
  const std::uint8_t* left_bin_ = nullptr;
  const Item* items_ = nullptr;
  std::int64_t n_ = 0, left_rows_ = 0;
  CutLimits limits_;
  double scale_ = 1;
  std::vector<std::uint32_t> rank_;   // by item
  std::vector<double> values_;        // by rank
  RankWeights all_, left_, right_;
};

// Rows are not added up before they are looked at.
struct NoBins {
  explicit NoBins(std::int32_t) {}
  NoBins& access() { return *this; }
};

}  // namespace kedge::engine
