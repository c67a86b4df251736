// TreeEnsembleClassifier and TreeEnsembleRegressor: nodes of all trees in lists, found by the numbers of tree and node.
#include "engine/imported/onnx_trees.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostLeaves = 1 << 24;                     // rows of values that a float32 threshold can name
constexpr std::int64_t kMostLeafBytes = std::int64_t{48} << 20;   // of their values: they go through a channel

struct Mode {
  std::string_view name;
  bool is_below = false;      // value < threshold is what parts, otherwise value <= threshold
  bool is_mirrored = false;   // true goes right
  bool is_equal = false;
};
constexpr auto kModes = std::to_array<Mode>({{"BRANCH_LEQ"},
                                             {"BRANCH_LT", true},
                                             {"BRANCH_GTE", true, true},
                                             {"BRANCH_GT", false, true},
                                             {"BRANCH_EQ", false, false, true},
                                             {"BRANCH_NEQ", false, true, true}});
constexpr std::string_view kLeaf = "LEAF";

using Key = std::pair<std::int64_t, std::int64_t>;   // tree, node

// The lists of an operator, of one length.
class Lists {
 public:
  Lists(const OnnxNode& node, const char* prefix)
      : node_(node),
        trees(ids("nodes_treeids")),
        nodes(ids("nodes_nodeids")),
        features(ids("nodes_featureids")),
        is_true(ids("nodes_truenodeids")),
        is_false(ids("nodes_falsenodeids")),
        tracks(node.integers("nodes_missing_value_tracks_true")),
        modes(node.texts("nodes_modes")),
        values(node.reals("nodes_values")),
        leaf_trees(node.integers(fmt::format("{}_treeids", prefix))),
        leaf_nodes(node.integers(fmt::format("{}_nodeids", prefix))),
        leaf_ids(node.integers(fmt::format("{}_ids", prefix))),
        weights(node.reals(fmt::format("{}_weights", prefix))) {
    if (trees.empty()) node.fail("it has no nodes");
    check("nodes_nodeids", nodes.size(), trees.size());
    check("nodes_featureids", features.size(), trees.size());
    check("nodes_truenodeids", is_true.size(), trees.size());
    check("nodes_falsenodeids", is_false.size(), trees.size());
    check("nodes_modes", modes.size(), trees.size());
    check("nodes_values", values.size(), trees.size());
    if (!tracks.empty()) check("nodes_missing_value_tracks_true", tracks.size(), trees.size());
    check(fmt::format("{}_treeids", prefix), leaf_trees.size(), weights.size());
    check(fmt::format("{}_nodeids", prefix), leaf_nodes.size(), weights.size());
    check(fmt::format("{}_ids", prefix), leaf_ids.size(), weights.size());
    if (weights.empty()) node.fail("its leaves have no weights");
  }

 private:
  const std::vector<std::int64_t>& ids(std::string_view name) const { return node_.integers(name); }
  void check(std::string_view name, std::size_t size, std::size_t wanted) const {
    if (size != wanted) node_.fail(fmt::format("{} has {} values, must have {}", name, size, wanted));
  }
  const OnnxNode& node_;

 public:
  const std::vector<std::int64_t>&trees, &nodes, &features, &is_true, &is_false, &tracks;
  const std::vector<std::string_view>& modes;
  const std::vector<double>& values;
  const std::vector<std::int64_t>&leaf_trees, &leaf_nodes, &leaf_ids;
  const std::vector<double>& weights;
};

class Reader {
 public:
  Reader(const OnnxNode& node, const char* prefix, std::int64_t n_outputs, OnnxTrees& result)
      : node_(node),
        prefix_(prefix),
        lists_(node, prefix),
        e_(result.ensemble.trees),
        result_(result),
        n_outputs_(n_outputs) {}

  void read() {
    index_nodes();
    choose_cut();
    read_weights();
    for (std::size_t t = 0; t < roots_.size(); ++t) append(t);
    check_all_are_reached();
  }

 private:
  std::size_t size() const { return lists_.trees.size(); }
  std::int64_t tree_of(std::size_t i) const { return lists_.trees[i]; }
  bool is_leaf(std::size_t i) const { return lists_.modes[i] == kLeaf; }

  // The place of a node in the lists.
  std::size_t find(std::int64_t tree, std::int64_t id, std::string_view list, std::size_t at) const {
    const Key key{tree, id};
    const auto found = std::ranges::lower_bound(order_, key, {}, [&](std::size_t i) { return key_of(i); });
    if (found == order_.end() || key_of(*found) != key)
      node_.fail(fmt::format("{}[{}] names node {} of tree {}, which is not there", list, at, id, tree));
    return *found;
  }
  Key key_of(std::size_t i) const { return {lists_.trees[i], lists_.nodes[i]}; }

  const Mode& mode_of(std::size_t i) const {
    const auto found = std::ranges::find(kModes, lists_.modes[i], &Mode::name);
    if (found == kModes.end())
      node_.fail(fmt::format("nodes_modes[{}] is '{}', which is not known", i, lists_.modes[i].substr(0, 40)));
    return *found;
  }

  // A root is a node that no other names; the trees come in the order in which their first nodes do.
  void index_nodes() {
    if (size() > static_cast<std::size_t>(kMaxSize)) node_.fail("too many nodes");
    order_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) order_[i] = i;
    std::ranges::sort(order_, {}, [&](std::size_t i) { return key_of(i); });
    for (std::size_t k = 1; k < size(); ++k)
      if (key_of(order_[k - 1]) == key_of(order_[k]))
        node_.fail(
            fmt::format("nodes_nodeids names node {} of tree {} twice", lists_.nodes[order_[k]], tree_of(order_[k])));
    children_.assign(size(), {0, 0});
    std::vector<bool> is_child(size());
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_leaf(i)) continue;
      mode_of(i);
      children_[i] = {find(tree_of(i), lists_.is_true[i], "nodes_truenodeids", i),
                      find(tree_of(i), lists_.is_false[i], "nodes_falsenodeids", i)};
      for (const std::size_t child : children_[i]) {
        if (is_child[child])
          node_.fail(fmt::format("node {} of tree {} has two parents", lists_.nodes[child], tree_of(child)));
        is_child[child] = true;
      }
    }
    std::map<std::int64_t, std::size_t> root_of;
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_child[i]) continue;
      if (!root_of.emplace(tree_of(i), i).second)
        node_.fail(fmt::format("tree {} has two roots, one is node {}", tree_of(i), lists_.nodes[i]));
      roots_.push_back(i);
    }
  }

  // All cuts are of one kind: if both occur, those below become those up to the number before.
  void choose_cut() {
    bool has_below = false, has_up_to = false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_leaf(i) || mode_of(i).is_equal) continue;
      (mode_of(i).is_below ? has_below : has_up_to) = true;
    }
    e_.is_strict = has_below && !has_up_to;
  }
  double threshold_of(std::size_t i) const {
    const double value = e_.is_float32 ? static_cast<double>(static_cast<float>(lists_.values[i])) : lists_.values[i];
    if (!std::isfinite(value)) node_.fail(fmt::format("nodes_values[{}] is not finite", i));
    if (!mode_of(i).is_below || e_.is_strict) return value;
    if (!e_.is_float32) return std::nextafter(value, -std::numeric_limits<double>::infinity());
    return static_cast<double>(std::nextafter(static_cast<float>(value), -std::numeric_limits<float>::infinity()));
  }

  void read_weights() {
    leaf_.assign(size(), 0);
    first_id_.assign(size(), -1);
    bool has_rows = false;
    std::map<std::int64_t, std::int64_t> output_of;   // by tree, where all its leaves are for one
    for (std::size_t w = 0; w < lists_.weights.size(); ++w) {
      const std::int64_t id = lists_.leaf_ids[w];
      if (id < 0 || id >= n_outputs_)
        node_.fail(fmt::format("{}_ids[{}] is {}, must be from 0 to {}", prefix_, w, id, n_outputs_ - 1));
      if (!std::isfinite(lists_.weights[w])) node_.fail(fmt::format("{}_weights[{}] is not finite", prefix_, w));
      const std::size_t leaf = find(lists_.leaf_trees[w], lists_.leaf_nodes[w], fmt::format("{}_nodeids", prefix_), w);
      if (!is_leaf(leaf)) node_.fail(fmt::format("{}_nodeids[{}] names a node that is no leaf", prefix_, w));
      result_.has_negative |= lists_.weights[w] < 0;
      if (first_id_[leaf] < 0) first_id_[leaf] = id;
      has_rows |= first_id_[leaf] != id || output_of.emplace(tree_of(leaf), id).first->second != id;
    }
    result_.has_one_output =
        std::ranges::all_of(lists_.leaf_ids, [&](std::int64_t id) { return id == lists_.leaf_ids[0]; });
    for (const std::size_t root : roots_) {
      const auto found = output_of.find(tree_of(root));
      outputs_.push_back(has_rows || found == output_of.end() ? 0 : static_cast<std::int32_t>(found->second));
    }
    if (has_rows) make_rows();
    std::vector<double>& values = has_rows ? result_.ensemble.leaf_values : leaf_;
    for (std::size_t w = 0; w < lists_.weights.size(); ++w) {
      const std::size_t leaf = find(lists_.leaf_trees[w], lists_.leaf_nodes[w], "", w);
      const std::size_t at = has_rows ? static_cast<std::size_t>(leaf_[leaf]) * n_outputs_ + lists_.leaf_ids[w] : leaf;
      values[at] = sum(values[at], lists_.weights[w]);
    }
  }
  double sum(double a, double b) const {
    return e_.is_float32 ? static_cast<double>(static_cast<float>(a) + static_cast<float>(b)) : a + b;
  }
  // Each leaf's number of its row, and the rows.
  void make_rows() {
    std::int64_t n_leaves = 0;
    for (std::size_t i = 0; i < size(); ++i)
      if (is_leaf(i)) leaf_[i] = static_cast<double>(n_leaves++);
    const std::int64_t bytes = 8 * n_leaves * n_outputs_;   // below 2^31 * 2^16 * 8
    if (n_leaves > kMostLeaves || bytes > kMostLeafBytes)
      node_.refuse(fmt::format("the values of {} leaves for {} outputs take {} bytes, at most {} are taken", n_leaves,
                               n_outputs_, bytes, kMostLeafBytes));
    result_.ensemble.leaf_values.assign(static_cast<std::size_t>(n_leaves * n_outputs_), 0.0);
  }

  // Node 0 of the tree is its root; the others in the order in which they are met.
  void append(std::size_t t) {
    SourceTree tree;
    std::vector<std::size_t> met{roots_[t]};
    for (std::size_t k = 0; k < met.size(); ++k) {
      const std::size_t i = met[k];
      if (is_leaf(i)) {
        tree.feature.push_back(-1), tree.left.push_back(-1), tree.right.push_back(-1);
        tree.threshold.push_back(leaf_[i]), tree.flags.push_back(0);
        continue;
      }
      const Mode& mode = mode_of(i);
      if (lists_.features[i] < 0 || lists_.features[i] >= e_.n_cols)
        node_.fail(fmt::format("nodes_featureids[{}] is {}, there are {} columns", i, lists_.features[i], e_.n_cols));
      const auto left = static_cast<std::int32_t>(met.size());
      met.insert(met.end(), children_[i].begin(), children_[i].end());   // the true one first
      const bool is_true_missing = mode.name == "BRANCH_NEQ" || (!lists_.tracks.empty() && lists_.tracks[i] != 0);
      tree.feature.push_back(static_cast<std::int32_t>(lists_.features[i]));
      tree.left.push_back(mode.is_mirrored ? left + 1 : left);
      tree.right.push_back(mode.is_mirrored ? left : left + 1);
      tree.threshold.push_back(threshold_of(i));
      tree.flags.push_back(
          static_cast<std::uint8_t>((is_true_missing != mode.is_mirrored ? node_flag::kMissingLeft : 0) |
                                    (mode.is_equal ? node_flag::kEqual : 0)));
    }
    n_reached_ += met.size();
    append_tree(tree, outputs_[t], fmt::format("{}: tree {}: ", node_.place, tree_of(roots_[t])), e_);
  }
  void check_all_are_reached() const {
    if (n_reached_ != size())
      node_.fail(fmt::format("{} of its nodes are in no tree with a root", size() - n_reached_));
  }

  const OnnxNode& node_;
  const char* prefix_;
  const Lists lists_;
  TreeEnsemble& e_;
  OnnxTrees& result_;
  std::int64_t n_outputs_;
  std::vector<std::size_t> order_, roots_;
  std::vector<std::array<std::size_t, 2>> children_;
  std::vector<double> leaf_;   // its value or the number of its row
  std::vector<std::int64_t> first_id_;
  std::vector<std::int32_t> outputs_;
  std::size_t n_reached_ = 0;
};

}   // namespace

OnnxTrees read_onnx_trees(const OnnxNode& node, const char* prefix, std::int64_t n_cols, std::int64_t n_outputs,
                          bool is_float32) {
  OnnxTrees result;
  TreeEnsemble& trees = result.ensemble.trees;
  trees.source = "onnx", trees.objective = std::string(node.op);
  trees.is_float32 = is_float32, trees.n_cols = n_cols, trees.n_outputs = static_cast<std::int32_t>(n_outputs);
  trees.base.assign(static_cast<std::size_t>(n_outputs), 0.0);
  Reader(node, prefix, n_outputs, result).read();
  const std::string_view how = node.text("aggregate_function", "SUM");
  if (how == "AVERAGE") trees.divisor = static_cast<double>(trees.n_trees());
  else if (how != "SUM")
    node.refuse(fmt::format("aggregate_function is '{}', taken are SUM and AVERAGE", how.substr(0, 40)));
  return result;
}

}   // namespace kedge::engine
