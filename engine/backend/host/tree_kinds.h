// What the rows of a tree are made of, by kind: what its cuts are judged by, and what its nodes predict.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "engine/backend/host/column_scan.h"
#include "engine/backend/host/median_side.h"
#include "engine/backend/host/tree_nodes.h"
#include "engine/backend/host/tree_rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {

// A kind makes items of rows, and for each node (its rows named in the order of the table) the node's statistics; it keeps what
// the nodes predict.
class ValueKind {
 public:
  using Scan = ColumnScan<ValueCuts, ValueBins, true>;

  void start(const HostForestInput& in, const TreeRows& rows) {
    criterion_ = in.options.criterion, weight_ = rows.weight, mean_.clear();
    value_.clear();
    for (const std::uint32_t position : rows.position) value_.push_back(in.target.values[position]);
    make_items(rows, in.options);
    are_equal_ = std::ranges::all_of(weights_, [this](std::int64_t w) { return w == weights_[0]; });
  }
  const std::vector<Sums4>& items() const { return items_; }
  void take_rows(const std::uint32_t* order, std::uint32_t n, ValueCuts::Rows& out) const {
    out.n = n, out.row_weight = weights_[0], out.sums.resize(n), out.weights.resize(are_equal_ ? 0 : n);
    take(sums_.data(), order, n, out.sums.data());
    if (!are_equal_) take(weights_.data(), order, n, out.weights.data());
  }

  DraftNode add_node(const std::uint32_t* order, std::uint32_t n) {
    double low = value_[order[0]], high = low;
    if (n == 1) {
      mean_.push_back(low);
      return {.weight = weight_[order[0]]};
    }
    node_weight_.resize(std::max<std::size_t>(node_weight_.size(), n)), node_value_.resize(node_weight_.size());
    double *const w = node_weight_.data(), *const y = node_value_.data();
    for (std::uint32_t i = 0; i < n; ++i) {
      w[i] = weight_[order[i]], y[i] = value_[order[i]];
      low = std::min(low, y[i]), high = std::max(high, y[i]);
    }
    const double weight = sum_in_lanes(n, [w](std::uint32_t i) { return w[i]; });
    if (low == high) {
      mean_.push_back(low);
      return {.weight = weight};
    }
    const double mean = sum_in_lanes(n, [w, y](std::uint32_t i) { return w[i] * y[i]; }) / weight;
    const bool poisson = criterion_ == Criterion::kPoisson;
    mean_.push_back(mean);
    return {.impurity = sum_in_lanes(n, [=](std::uint32_t i) { return w[i] * value_error(y[i], mean, poisson); }) / weight, .weight = weight};
  }
  void append_value(std::int32_t node, Forest& out) const { out.mean.push_back(mean_[node]); }

 private:
  void make_items(const TreeRows& rows, const ForestOptions& options) {
    sums_ = fixed_sums(weight_, value_, options);
    items_.clear(), weights_.clear();
    for (std::uint32_t i = 0; i < rows.size(); ++i) weights_.push_back(rows.fixed_weight(i)), items_.push_back(Sums4{1, weights_[i], sums_[i], 0});
  }

  Criterion criterion_{};
  std::vector<double> value_, weight_, mean_, node_value_, node_weight_;
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
    nodes_.start(in.target.n_classes, in.options.criterion == Criterion::kEntropy), items_.clear();
    scale_ = rows.weight_scale, total_.resize(static_cast<std::size_t>(in.target.n_classes)), classes_.clear(), weights_.clear();
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      classes_.push_back(raw(in.target.codes)[rows.table_row[i]]), weights_.push_back(rows.fixed_weight(i));
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
    return nodes_.add([this](std::int32_t c) { return static_cast<double>(total_[c]) / scale_; });
  }
  void append_value(std::int32_t node, Forest& out) const { nodes_.append_value(node, out); }

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

  bool are_equal_ = false;   // the weights
  double scale_ = 1;
  std::vector<std::int32_t> classes_, of_node_;   // by item; of the last node, by row
  std::vector<std::int64_t> weights_, total_;     // by item; of the last node, by class
  ShareNodes nodes_;
  std::vector<ClassItem> items_;
};

}  // namespace kedge::engine
