// What the rows of a tree are made of, by kind: what its cuts are judged by, and what its nodes predict.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "engine/backend/host/column_scan.h"
#include "engine/backend/host/host_grower.h"
#include "engine/backend/host/median_side.h"

namespace kedge::engine {

// The rows that a tree drew, in the order of the table.
struct TreeRows {
  std::vector<std::uint32_t> position, table_row;   // in what grow() was given, in the table
  std::vector<double> weight;                       // draws times weights; above 0
  double weight_scale = 1;                          // the fixed unit of the items' weights is 1 / weight_scale
  std::uint32_t size() const { return static_cast<std::uint32_t>(position.size()); }
  std::int64_t fixed_weight(std::uint32_t i) const { return std::llround(weight[i] * weight_scale); }
};

// A kind makes items of rows, and for each node (its rows named in the order of the table) the node's statistics; it keeps what
// the nodes predict. Sums over rows are in double and in the order of the table.
class ValueKind {
 public:
  using Scan = ColumnScan<ValueCuts, ValueBins, true>;

  void start(const HostForestInput& in, const TreeRows& rows) {
    criterion_ = in.options.criterion, weight_ = rows.weight, mean_.clear();
    value_.clear();
    for (const std::uint32_t position : rows.position) value_.push_back(in.target.values[position]);
    make_items(rows);
    are_equal_ = std::ranges::all_of(weights_, [this](std::int64_t w) { return w == weights_[0]; });
  }
  const std::vector<Sums4>& items() const { return items_; }
  void take_rows(const std::uint32_t* order, std::uint32_t n, ValueCuts::Rows& out) const {
    out.n = n, out.row_weight = weights_[0], out.sums.resize(n), out.weights.resize(are_equal_ ? 0 : n);
    take(sums_.data(), order, n, out.sums.data());
    if (!are_equal_) take(weights_.data(), order, n, out.weights.data());
  }

  DraftNode add_node(const std::uint32_t* order, std::uint32_t n) {
    double weight = 0, sum = 0, low = value_[order[0]], high = low;
    for (std::uint32_t i = 0; i < n; ++i) {
      const double w = weight_[order[i]], y = value_[order[i]];
      weight += w, sum += w * y, low = std::min(low, y), high = std::max(high, y);
    }
    const double mean = low == high ? low : sum / weight;
    mean_.push_back(mean);
    return {.impurity = low == high ? 0 : impurity(order, n, mean, weight), .weight = weight};
  }
  void append_value(std::int32_t node, Forest& out) const { out.mean.push_back(mean_[node]); }

 private:
  double impurity(const std::uint32_t* order, std::uint32_t n, double mean, double weight) const {
    double sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const double y = value_[order[i]];
      sum += weight_[order[i]] * (criterion_ == Criterion::kPoisson ? (y > 0 ? y * tree_log(y / mean) : 0) : (y - mean) * (y - mean));
    }
    return sum / weight;
  }
  void make_items(const TreeRows& rows) {
    double weight = 0, sum = 0, most = 0;
    for (std::uint32_t i = 0; i < rows.size(); ++i) weight += weight_[i], sum += weight_[i] * value_[i];
    const double centre = criterion_ == Criterion::kPoisson ? 0 : sum / weight;
    for (const double y : value_) most = std::max(most, std::abs(y - centre));
    const double scale = fixed_point_scale(most * weight);
    items_.clear(), weights_.clear(), sums_.clear();
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      weights_.push_back(rows.fixed_weight(i)), sums_.push_back(std::llround(weight_[i] * (value_[i] - centre) * scale));
      items_.push_back(Sums4{1, weights_[i], sums_[i], 0});
    }
  }
  Criterion criterion_{};
  std::vector<double> value_, weight_, mean_;
  std::vector<Sums4> items_;
  std::vector<std::int64_t> weights_, sums_;   // those of the items
  bool are_equal_ = false;                     // the weights
};

class MedianKind {
 public:
  using Scan = ColumnScan<MedianSide, NoBins, false>;

  void start(const HostForestInput& in, const TreeRows& rows) {
    median_.clear(), items_.clear(), scale_ = rows.weight_scale;
    for (std::uint32_t i = 0; i < rows.size(); ++i) items_.push_back({rows.fixed_weight(i), in.target.values[rows.position[i]]});
  }
  const std::vector<MedianItem>& items() const { return items_; }
  void take_rows(const std::uint32_t* order, std::uint32_t n, MedianSide::Rows& out) const {
    out.n = n, out.items.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) out.items[i] = items_[order[i]];
  }

  DraftNode add_node(const std::uint32_t* order, std::uint32_t n) {
    side_.set_node(items_.data(), order, n, {});
    const RankWeights::Median median = side_.node_median();
    median_.push_back(median.value);
    const auto weight = static_cast<double>(side_.node_weight());
    return {.impurity = std::max(0.0, median.error / weight), .weight = weight / scale_};
  }
  void append_value(std::int32_t node, Forest& out) const { out.mean.push_back(median_[node]); }

 private:
  MedianSide side_{0};
  double scale_ = 1;
  std::vector<double> median_;
  std::vector<MedianItem> items_;
};

class ClassKind {
 public:
  using Scan = ColumnScan<ClassSide, ClassBins, true>;

  void start(const HostForestInput& in, const TreeRows& rows) {
    entropy_ = in.options.criterion == Criterion::kEntropy, shares_.clear(), items_.clear();
    scale_ = rows.weight_scale, total_.resize(static_cast<std::size_t>(in.target.n_classes)), classes_.clear(), weights_.clear();
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      classes_.push_back(in.target.codes.data[rows.table_row[i]]), weights_.push_back(rows.fixed_weight(i));
      items_.push_back({weights_[i], classes_[i]});
    }
    are_equal_ = std::ranges::all_of(weights_, [this](std::int64_t w) { return w == weights_[0]; });
  }
  const std::vector<ClassItem>& items() const { return items_; }
  void take_rows(const std::uint32_t* order, std::uint32_t n, ClassSide::Rows& out) {
    out.n = n, out.row_weight = weights_[0], out.weights.resize(are_equal_ ? 0 : n);
    if (!are_equal_) take(weights_.data(), order, n, out.weights.data());
    add_up(order, n);
    out.total = total_, out.classes.swap(of_node_);
  }

  DraftNode add_node(const std::uint32_t* order, std::uint32_t n) {
    add_up(order, n);
    SideSum sum;
    for (const std::int64_t t : total_) sum.add(static_cast<double>(t) / scale_, entropy_);
    for (const std::int64_t t : total_) shares_.push_back(static_cast<float>(static_cast<double>(t) / scale_ / sum.weight));
    return {.impurity = node_impurity(sum, entropy_), .weight = sum.weight};
  }
  void append_value(std::int32_t node, Forest& out) const {
    const auto begin = shares_.begin() + std::int64_t{node} * static_cast<std::int64_t>(total_.size());
    out.value.insert(out.value.end(), begin, begin + static_cast<std::ptrdiff_t>(total_.size()));
  }

 private:
  // Sets the node's classes by row and weight by class.
  void add_up(const std::uint32_t* order, std::uint32_t n) {
    of_node_.resize(n);
    take(classes_.data(), order, n, of_node_.data());
    if (are_equal_) {
      count_values(of_node_.data(), n, static_cast<std::int32_t>(total_.size()), total_.data());
      for (std::int64_t& t : total_) t *= weights_[0];
    } else {
      std::fill(total_.begin(), total_.end(), 0);
      for (std::uint32_t i = 0; i < n; ++i) total_[of_node_[i]] += weights_[order[i]];
    }
  }

  bool entropy_ = false, are_equal_ = false;   // are_equal_: the weights
  double scale_ = 1;
  std::vector<std::int32_t> classes_, of_node_;   // by item; of the last node, by row
  std::vector<std::int64_t> weights_, total_;     // by item; of the last node, by class
  std::vector<float> shares_;   // nodes x classes
  std::vector<ClassItem> items_;
};

}  // namespace kedge::engine
