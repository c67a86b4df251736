// What a cut is judged by: integer sums of the rows on its left, for trees of values and for trees of weighted classes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/backend/host/random_scan.h"
#include "engine/backend/host/sklearn_score.h"
#include "engine/backend/ops/trees.h"
#include "engine/backend/tree_functors.h"

namespace kedge::engine {

// What a cut must leave on either side.
struct CutLimits {
  Criterion criterion = Criterion::kSquaredError;
  std::int64_t min_rows = 1;
  double min_weight = 0;   // in units of the items
  bool as_sklearn = false;
};

// Rows, weight, weighted value (fixed_sums()), nothing; weights and values are whole numbers of a fixed unit.
using Sums4 = std::int64_t __attribute__((vector_size(32)));

// The left side of the cuts of a node, for values.
class ValueSide {
 public:
  using Item = Sums4;
  explicit ValueSide(std::int32_t) {}

  // The node has the items named by `order`, or the first n where it is null.
  void set_node(const Item* items, const std::uint32_t* order, std::uint32_t n, const CutLimits& limits) {
    total_ = Item{}, limits_ = limits;
    for (std::uint32_t i = 0; i < n; ++i) total_ += items[order ? order[i] : i];
  }
  // Nothing is on the left; a copy, which a loop can keep in registers.
  ValueSide swept() const {
    ValueSide side = *this;
    side.left_ = Item{};
    return side;
  }
  void add(const Item& item) { left_ += item; }

  double score() const { return score_of(left_); }

 protected:
  double score_of(const Item& left) const {
    const Item right = total_ - left;
    if (left[0] < limits_.min_rows || right[0] < limits_.min_rows) return kRefusedCut;
    if (limits_.as_sklearn && limits_.criterion == Criterion::kPoisson) {
      if (is_too_light(limits_.min_weight, left[1], right[1])) return kRefusedCut;
      return sklearn_poisson_score(static_cast<double>(left[2]), static_cast<double>(left[1]),
                                   static_cast<double>(right[2]), static_cast<double>(right[1]));
    }
    return value_cut_score(limits_.criterion == Criterion::kPoisson, limits_.min_weight, total_[1], left[1], total_[2], left[2]);
  }

  Item total_{}, left_{};
  CutLimits limits_;
};

// ValueSide and what the random cuts of many columns need.
class ValueCuts : public ValueSide {
 public:
  using ValueSide::ValueSide;
  // The rows of a node, in their order.
  struct Rows {
    std::vector<std::int64_t> sums, weights;   // no weights where all rows weigh row_weight
    std::int64_t row_weight = 0;
    std::uint32_t n = 0;
  };
  // Borrows the rows until score_cuts().
  void set_rows(const Rows& rows, const CutLimits& limits) {
    rows_ = &rows, limits_ = limits, total_ = Item{rows.n, 0, 0, 0};
    for (std::uint32_t i = 0; i < rows.n; ++i) total_[2] += rows.sums[i];
    if (rows.weights.empty()) total_[1] = rows.n * rows.row_weight;
    else total_[1] = std::accumulate(rows.weights.begin(), rows.weights.end(), std::int64_t{0});
  }
  // The cuts of column k of `block` at left_bin[k] all at once: score_cuts() after sum_cuts().
  void sum_cuts(CodeBlock& block, const std::uint8_t* left_bin) {
    cut_rows_.fill(0), cut_weights_.fill(0), cut_sums_.fill(0);
    block.count_left(left_bin, nullptr, 1, cut_rows_.data());
    block.sum_left(left_bin, rows_->sums.data(), nullptr, cut_sums_.data());
    if (!rows_->weights.empty()) return block.sum_left(left_bin, rows_->weights.data(), nullptr, cut_weights_.data());
    for (std::size_t k = 0; k < cut_rows_.size(); ++k) cut_weights_[k] = cut_rows_[k] * rows_->row_weight;
  }
  void score_cuts(double* scores, std::size_t n) const {
    if (limits_.criterion != Criterion::kPoisson)
      return score_means(static_cast<std::int64_t>(n),
                         {total_[0], total_[1], total_[2], static_cast<double>(limits_.min_rows), limits_.min_weight}, cut_rows_.data(),
                         cut_weights_.data(), cut_sums_.data(), scores);
    for (std::size_t k = 0; k < n; ++k) scores[k] = score_of(Item{cut_rows_[k], cut_weights_[k], cut_sums_[k], 0});
  }

 private:
  const Rows* rows_ = nullptr;
  std::array<std::int32_t, CodeBlock::kMost> cut_rows_{};
  std::array<std::int64_t, CodeBlock::kMost> cut_weights_{}, cut_sums_{};
};

// Sums of the rows of each bin, all zero between scans.
class ValueBins {
 public:
  explicit ValueBins(std::int32_t) : sums_(256) {}
  // What a loop keeps in registers.
  struct Access {
    Sums4* sums;
    void add(std::uint8_t bin, const Sums4& item) const { sums[bin] += item; }
    void move_to(std::uint8_t bin, ValueSide& side) const { side.add(sums[bin]), sums[bin] = Sums4{}; }
  };
  Access access() { return {sums_.data()}; }

 private:
  std::vector<Sums4> sums_;
};

struct ClassItem {
  std::int64_t weight;   // whole number of a fixed unit
  std::int32_t cls;
};

// The left side of the cuts of a node, for classes.
class ClassSide {
 public:
  using Item = ClassItem;
  explicit ClassSide(std::int32_t n_classes) : left_(static_cast<std::size_t>(n_classes)), total_(left_.size()) {}

  void set_node(const Item* items, const std::uint32_t* order, std::uint32_t n, const CutLimits& limits) {
    std::fill(total_.begin(), total_.end(), 0);
    std::int64_t weight = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const Item& item = items[order ? order[i] : i];
      total_[item.cls] += item.weight, weight += item.weight;
    }
    limit(limits, n, weight);
  }
  ClassSide& swept() {   // nothing is on the left
    std::fill(left_.begin(), left_.end(), 0);
    left_rows_ = 0, left_weight_ = 0, left_squares_ = 0, right_squares_ = squares_;
    return *this;
  }
  void add(const Item& item) { add(item.cls, item.weight, 1); }
  void add(std::int32_t cls, std::int64_t weight, std::int64_t rows) {
    if (counted_) {
      const std::int64_t left = left_[cls], right = total_[cls] - left;
      left_squares_ += weight * (2 * left + weight), right_squares_ -= weight * (2 * right - weight);
    }
    left_[cls] += weight, left_rows_ += rows, left_weight_ += weight;
  }

  // As ValueCuts.
  struct Rows {
    std::vector<std::int32_t> classes;
    std::vector<std::int64_t> weights, total;   // total: weight by class
    std::int64_t row_weight = 0;
    std::uint32_t n = 0;
  };
  void set_rows(const Rows& rows, const CutLimits& limits) {
    of_node_ = &rows, total_ = rows.total;
    limit(limits, rows.n, std::accumulate(total_.begin(), total_.end(), std::int64_t{0}));
  }
  void sum_cuts(CodeBlock& block, const std::uint8_t* left_bin) {
    cut_rows_.assign(left_.size() * CodeBlock::kMost, 0);
    block.count_left(left_bin, of_node_->classes.data(), static_cast<std::int32_t>(left_.size()), cut_rows_.data());
    if (of_node_->weights.empty()) return;
    cut_weights_.assign(cut_rows_.size(), 0);
    block.sum_left(left_bin, of_node_->weights.data(), of_node_->classes.data(), cut_weights_.data());
  }
  void score_cuts(double* scores, std::size_t n) {
    if (counted_ && !limits_.as_sklearn)
      return score_shares(static_cast<std::int64_t>(n), static_cast<std::int32_t>(left_.size()),
                          {rows_, weight_, 0, static_cast<double>(limits_.min_rows), limits_.min_weight}, total_.data(), cut_rows_.data(),
                          of_node_->row_weight, of_node_->weights.empty() ? nullptr : cut_weights_.data(), scores);
    for (std::size_t k = 0; k < n; ++k) scores[k] = score_cut(k);
  }
  double score_cut(std::size_t k) {
    left_rows_ = 0, left_weight_ = 0;
    for (std::size_t c = 0; c < left_.size(); ++c) {
      const std::size_t at = c * CodeBlock::kMost + k;
      left_rows_ += cut_rows_[at], left_[c] = of_node_->weights.empty() ? cut_rows_[at] * of_node_->row_weight : cut_weights_[at];
      left_weight_ += left_[c];
    }
    return score();
  }

  double score() const {
    const std::int64_t right_weight = weight_ - left_weight_;
    if (left_rows_ < limits_.min_rows || rows_ - left_rows_ < limits_.min_rows || is_too_light(limits_.min_weight, left_weight_, right_weight))
      return kRefusedCut;
    if (limits_.as_sklearn)
      return sklearn_class_score(
          limits_.criterion == Criterion::kEntropy, static_cast<std::int32_t>(left_.size()),
          static_cast<double>(left_weight_), static_cast<double>(right_weight),
          [this](std::int32_t c) { return total_[c]; }, [this](std::int32_t c) { return left_[c]; });
    if (counted_) return gini_score(left_squares_, left_weight_, right_squares_, right_weight);
    return share_score(limits_.criterion == Criterion::kEntropy, static_cast<std::int32_t>(left_.size()), total_.data(),
                       [this](std::int32_t c) { return left_[c]; });
  }

 private:
  void limit(const CutLimits& limits, std::uint32_t n, std::int64_t weight) {
    limits_ = limits, rows_ = n, weight_ = weight;
    squares_ = 0, counted_ = has_exact_squares(limits.criterion == Criterion::kEntropy, weight_);
    for (const std::int64_t t : total_) squares_ += counted_ ? t * t : 0;
  }

  std::vector<std::int64_t> left_, total_;   // weight by class
  std::int64_t rows_ = 0, weight_ = 0, squares_ = 0, left_rows_ = 0, left_weight_ = 0, left_squares_ = 0, right_squares_ = 0;
  bool counted_ = false;   // squares of the weights fit into 64 bits
  CutLimits limits_;
  const Rows* of_node_ = nullptr;
  std::vector<std::int64_t> cut_weights_;   // classes x columns
  std::vector<std::int32_t> cut_rows_;
};

class ClassBins {
 public:
  explicit ClassBins(std::int32_t n_classes) : n_classes_(n_classes), weight_(std::size_t{256} * n_classes), rows_(weight_.size()) {}
  ClassBins& access() { return *this; }
  void add(std::uint8_t bin, const ClassItem& item) {
    const std::size_t at = std::size_t{bin} * n_classes_ + item.cls;
    weight_[at] += item.weight, ++rows_[at];
  }
  void move_to(std::uint8_t bin, ClassSide& side) {
    const std::size_t begin = std::size_t{bin} * n_classes_;
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      if (rows_[begin + c] == 0) continue;
      side.add(c, weight_[begin + c], rows_[begin + c]);
      weight_[begin + c] = 0, rows_[begin + c] = 0;
    }
  }

 private:
  std::int32_t n_classes_;
  std::vector<std::int64_t> weight_;
  std::vector<std::int32_t> rows_;
};

}  // namespace kedge::engine
