// The trees of a batch on the host, by kind: the rows that they take to the device, and what their roots weigh.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "engine/backend/cuda/trees/trees_draw.cuh"
#include "engine/backend/cuda/trees/trees_kernels.cuh"
#include "engine/backend/host/tree_rows.h"
#include "engine/backend/raw.h"
#include "schemas/error.h"

namespace kedge::engine {

template <class T>
Array<T> upload(CudaRuntime& runtime, const std::vector<T>& host) {
  return Array<T>(runtime, std::span<const T>(host.data(), host.size()));
}

// The least weights of leaves in the units of the trees' rows.
inline std::vector<double> fixed_limits(const std::vector<TreeRules>& rules, const std::vector<double>& scale) {
  std::vector<double> limits;
  for (std::size_t t = 0; t < rules.size(); ++t) limits.push_back(rules[t].min_weight_leaf * scale[t]);
  return limits;
}

// The least weights of leaves, by tree.
inline std::vector<double> leaf_limits(const std::vector<TreeRules>& rules) {
  return fixed_limits(rules, std::vector<double>(rules.size(), 1.0));
}

// Trees of classes whose rows count as often as they are drawn.
class CountedTrees {
 public:
  using Kind = CountedKind;
  static constexpr bool kDrawsThere = true;   // on the device, where rows are drawn equally
  CountedTrees(const HostForestInput& in, std::size_t n_trees) : in_(in), roots_(n_trees), rules_(n_trees) {}

  void upload_rows(CudaRuntime&, const std::vector<std::vector<std::uint32_t>>&) {}
  // The rows of tree t by how often each position is drawn. Trees may be taken at once.
  std::vector<CountedRow> take(std::int64_t t, const std::vector<std::uint32_t>& drawn) {
    std::vector<CountedRow> rows;
    std::vector<std::int32_t> counts(static_cast<std::size_t>(in_.target.n_classes));
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (drawn[i] == 0) continue;
      const auto row = static_cast<std::uint32_t>(in_.rows ? in_.rows[i] : i);
      const std::int32_t cls = raw(in_.target.codes)[row];
      rows.push_back({row, static_cast<std::uint16_t>(cls), static_cast<std::uint16_t>(drawn[i])});
      counts[cls] += static_cast<std::int32_t>(drawn[i]);
    }
    set_root(t, counts);
    return rows;
  }
  // Draws and takes the rows of all trees on the device, and returns how many each has. parted: room for as many rows.
  std::vector<std::int64_t> draw_rows(CudaRuntime& runtime, const DeviceForestInput& in, std::int64_t first,
                                      Array<CountedRow>& rows, Array<CountedRow>& parted) {
    const std::int64_t n = in_.n_rows, n_tiles = (n + kDrawTile - 1) / kDrawTile, n_classes = in_.target.n_classes;
    const auto n_trees = static_cast<std::int64_t>(roots_.size());
    const auto grid = [&](std::int64_t blocks) {
      return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(n_trees));
    };
    Array<std::uint32_t> draws(runtime, in_.options.bootstrap ? n_trees * n : 0);
    draws.zero();
    if (in_.options.bootstrap) {
      const std::int64_t n_draws = in_.options.n_draws > 0 ? in_.options.n_draws : n;
      KEDGE_LAUNCH(runtime, count_draws, grid(blocks_for((n_draws + 1) / 2, kDrawThreads)), kDrawThreads, 0,
                   in_.options.seed, first, n_draws, n, draws.data());
    }
    const DrawnRows from{n, in_.options.bootstrap ? raw(draws) : nullptr, in.rows.empty() ? nullptr : raw(in.rows),
                         raw(in.classes), in_.target.n_classes};
    Array<std::int32_t> of_tile(runtime, n_trees * n_tiles),
        counts(runtime, n_trees * (1 + n_classes) + 1);   // rows, draws of classes, most
    of_tile.zero(), counts.zero();
    auto* const most = reinterpret_cast<std::uint32_t*>(raw(counts) + n_trees * (1 + n_classes));
    KEDGE_LAUNCH(runtime, count_rows, grid(n_tiles), kDrawThreads, 0, from, n_tiles, of_tile.data(),
                 counts.data() + n_trees, most);
    KEDGE_LAUNCH(runtime, scan_tiles, static_cast<unsigned>(n_trees), 32, 0, n_tiles, of_tile.data(), counts.data());
    const std::vector<std::int32_t> host = counts.to_host();
    if (host.back() != 0)
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          "a row was drawn " + std::to_string(static_cast<std::uint32_t>(host.back())) +
                              " times for one tree, at most 65535 is possible");
    std::vector<std::int64_t> sizes(host.begin(), host.begin() + n_trees), begin{0};
    for (std::int64_t t = 0; t < n_trees; ++t) {
      const auto of_class = host.begin() + n_trees + t * n_classes;
      set_root(t, {of_class, of_class + n_classes});
      begin.push_back(begin.back() + sizes[t]);
    }
    rows = Array<CountedRow>(runtime, begin.back());
    KEDGE_LAUNCH(runtime, put_rows, grid(n_tiles), kDrawThreads, 0, from, n_tiles, of_tile.data(),
                 upload(runtime, begin).data(), rows.data());
    draws = {}, parted = Array<CountedRow>(runtime, begin.back());
    return sizes;
  }
  const std::vector<std::int64_t>& root(std::size_t t) const { return roots_[t]; }
  const std::vector<TreeRules>& rules() const { return rules_; }

  // What the root of tree t weighs, and how impure it is, from its sums.
  NodeMeasure root_measure(std::size_t t, const NodeMeasure&) {
    return measure_classes(in_.target.n_classes, rules_[t].entropy,
                           [&](std::int32_t c) { return rules_[t].weight_of(c) * static_cast<double>(roots_[t][c]); });
  }
  std::int64_t weight(const std::int64_t* totals) const { return std::accumulate(totals, totals + in_.target.n_classes, std::int64_t{0}); }

  // What kind() points to; once all trees are taken and have a root.
  void upload_limits(CudaRuntime& runtime) {
    std::vector<double> class_weight, min_weight;
    for (const TreeRules& rules : rules_) {
      class_weight.insert(class_weight.end(), rules.class_weight.begin(), rules.class_weight.end());
      min_weight.push_back(rules.min_weight_leaf);
    }
    class_weight_ = upload(runtime, class_weight), min_weight_ = upload(runtime, min_weight);
  }
  static CountedKind kind_of(std::int32_t n_classes) { return {.n_classes = n_classes}; }
  CountedKind kind() const {
    return {in_.target.n_classes, class_weight_.size() > 0 ? raw(class_weight_) : nullptr, raw(min_weight_),
            in_.options.criterion == Criterion::kEntropy};
  }

 private:
  void set_root(std::size_t t, const std::vector<std::int32_t>& draws) {
    rules_[t] = make_rules(in_.options, std::span<const std::int32_t>(draws.data(), draws.size())),
    roots_[t].assign(draws.begin(), draws.end());
  }

  const HostForestInput& in_;
  std::vector<std::vector<std::int64_t>> roots_;   // sums of the root, by tree
  std::vector<TreeRules> rules_;
  Array<double> class_weight_, min_weight_;
};

// Trees of classes whose rows have weights of their own.
class WeighedTrees {
 public:
  using Kind = WeighedKind;
  static constexpr bool kDrawsThere = false;
  WeighedTrees(const HostForestInput& in, std::size_t n_trees)
      : in_(in), roots_(n_trees), scale_(n_trees), rules_(n_trees) {}

  void upload_rows(CudaRuntime&, const std::vector<std::vector<std::uint32_t>>&) {}
  std::vector<WeighedRow> take(std::int64_t t, const std::vector<std::uint32_t>& drawn) {
    const TreeRows taken = take_rows(in_, drawn);
    std::vector<WeighedRow> rows;
    roots_[t].assign(static_cast<std::size_t>(in_.target.n_classes), 0);
    for (std::uint32_t i = 0; i < taken.size(); ++i) {
      rows.push_back({taken.fixed_weight(i), taken.table_row[i], raw(in_.target.codes)[taken.table_row[i]]});
      roots_[t][rows[i].cls] += rows[i].weight;
    }
    scale_[t] = taken.weight_scale;
    return rows;
  }
  const std::vector<std::int64_t>& root(std::size_t t) const { return roots_[t]; }
  const std::vector<TreeRules>& rules() const { return rules_; }

  NodeMeasure root_measure(std::size_t t, const NodeMeasure&) {
    const NodeMeasure root = measure_classes(in_.target.n_classes, is_entropy(), [&](std::int32_t c) {
      return static_cast<double>(roots_[t][c]) / scale_[t];
    });
    rules_[t].min_weight_leaf = in_.options.min_weight_fraction_leaf * root.weight;
    return root;
  }
  std::int64_t weight(const std::int64_t* totals) const { return std::accumulate(totals, totals + in_.target.n_classes, std::int64_t{0}); }

  void upload_limits(CudaRuntime& runtime) {
    min_weight_ = upload(runtime, fixed_limits(rules_, scale_)), device_scale_ = upload(runtime, scale_);
  }
  static WeighedKind kind_of(std::int32_t n_classes) { return {.n_classes = n_classes}; }
  WeighedKind kind() const { return {in_.target.n_classes, raw(min_weight_), raw(device_scale_), is_entropy()}; }

 private:
  bool is_entropy() const { return in_.options.criterion == Criterion::kEntropy; }

  const HostForestInput& in_;
  std::vector<std::vector<std::int64_t>> roots_;
  std::vector<double> scale_;   // of the weights, by tree
  std::vector<TreeRules> rules_;
  Array<double> min_weight_, device_scale_;
};

// Trees of values.
class SummedTrees {
 public:
  using Kind = SummedKind;
  static constexpr bool kDrawsThere = false;
  SummedTrees(const HostForestInput& in, std::size_t n_trees)
      : in_(in), roots_(n_trees), scale_(n_trees), rules_(n_trees) {}

  // What measure() reads.
  void upload_rows(CudaRuntime& runtime, const std::vector<std::vector<std::uint32_t>>& drawn) {
    std::vector<std::uint16_t> draws;
    draws.reserve(drawn.size() * static_cast<std::size_t>(in_.n_rows));
    for (const auto& of_tree : drawn) draws.insert(draws.end(), of_tree.begin(), of_tree.end());
    draws_ = upload(runtime, draws);
    values_ = Array<double>(runtime, in_.target.values), weights_ = Array<double>(runtime, in_.target.weights);
  }
  std::vector<SummedRow> take(std::int64_t t, const std::vector<std::uint32_t>& drawn) {
    const TreeRows taken = take_rows(in_, drawn);
    std::vector<double> values;
    for (const std::uint32_t position : taken.position) values.push_back(in_.target.values[position]);
    const std::vector<std::int64_t> sums = fixed_sums(taken.weight, values, in_.options);
    std::vector<SummedRow> rows;
    std::vector<std::int64_t> root(2);
    for (std::uint32_t i = 0; i < taken.size(); ++i) {
      rows.push_back({taken.fixed_weight(i), sums[i], taken.table_row[i], taken.position[i]});
      root[0] += rows[i].weight, root[1] += rows[i].sum;
    }
    roots_[t] = root, scale_[t] = taken.weight_scale;
    return rows;
  }
  const std::vector<std::int64_t>& root(std::size_t t) const { return roots_[t]; }
  const std::vector<TreeRules>& rules() const { return rules_; }

  // Measures nodes, or their parts; left_rows and cuts are null for nodes as they are.
  template <int kThreads>
  void measure(CudaRuntime& runtime, const LevelNode* nodes, std::int64_t n, const DeviceCut* cuts,
               const std::int32_t* left_rows, const SummedRow* rows, NodeMeasure* measures) const {
    const MeasuredRows of{in_.n_rows, raw(values_), raw(draws_), in_.target.weights.empty() ? nullptr : raw(weights_)};
    KEDGE_LAUNCH(runtime, measure_nodes<kThreads>, blocks_for(left_rows ? 2 * n : n, 1), kThreads, 0, nodes, cuts,
                 left_rows, rows, of, is_poisson(), measures);
  }
  NodeMeasure root_measure(std::size_t t, const NodeMeasure& measured) {
    rules_[t].min_weight_leaf = in_.options.min_weight_fraction_leaf * measured.weight;
    return measured;
  }
  std::int64_t weight(const std::int64_t* totals) const { return totals[0]; }

  void upload_limits(CudaRuntime& runtime) { min_weight_ = upload(runtime, fixed_limits(rules_, scale_)); }
  static SummedKind kind_of(std::int32_t) { return {}; }
  SummedKind kind() const { return {raw(min_weight_), is_poisson()}; }

 private:
  bool is_poisson() const { return in_.options.criterion == Criterion::kPoisson; }

  const HostForestInput& in_;
  std::vector<std::vector<std::int64_t>> roots_;
  std::vector<double> scale_;   // of the weights, by tree
  std::vector<TreeRules> rules_;
  Array<double> values_, weights_, min_weight_;
  Array<std::uint16_t> draws_;
};

}  // namespace kedge::engine
