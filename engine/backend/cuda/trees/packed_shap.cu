// Packs trees for contributions on the device: see packed_shap.h. Host code alone.
#include "engine/backend/cuda/trees/packed_shap.h"

#include <algorithm>

#include "engine/backend/host/tree_shap_trees.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostParts = std::int64_t{1} << 17;   // of a piece: 32 MiB for 32 rows

// Numbers that a warp keeps of a path: products, sums and PointChange by level and point, and a byte a lane.
std::int64_t scratch_of(const ShapTree& tree, std::int64_t leaf_values) {
  const std::int64_t sums = std::min<std::int64_t>(leaf_values, shap::kMostValues);
  return tree.n_levels * (tree.n_points * (32 * (1 + sums) + 4) + 4);
}

class ShapPacker {
 public:
  explicit ShapPacker(const ShapTrees& trees) : from_(trees), built_(trees), k_(trees.leaf_values()) {
    expected.assign(static_cast<std::size_t>(trees.n_outputs), 0.0);
    rule_at_.assign(shap::kMostPoints + 1, -1);
    pieces.emplace_back();
    for (std::int64_t t = 0; t < trees.n_trees(); ++t) add(t);
    finish_piece();
    for (std::size_t o = 0; o < expected.size(); ++o)
      expected[o] = trees.base.empty() ? expected[o] * trees.scale : expected[o] * trees.scale + trees.base[o];
  }

  std::vector<ShapPiece> pieces;
  std::vector<ShapStep> steps;
  std::vector<ShapTree> trees;
  std::vector<double> rules, values, expected;
  std::vector<std::int64_t> part_begin, part;

 private:
  struct Part {
    std::int64_t key, part;   // key: as ShapColumns
  };

  void add(std::int64_t t) {
    const shap::Tree& tree = built_.tree(t);
    const std::int64_t output = from_.tree_output.empty() ? 0 : from_.tree_output[static_cast<std::size_t>(t)];
    for (std::int64_t v = 0; v < k_; ++v) expected[static_cast<std::size_t>(output + v)] += tree.expected[v];
    if (tree.depth == 0) return;
    const std::int64_t n_parts = std::ssize(tree.columns) * k_;
    if (pieces.back().n_parts > 0 && pieces.back().n_parts + n_parts > kMostParts) finish_piece(), begin_piece();
    ShapPiece& piece = pieces.back();
    const ShapTree packed{.first = std::ssize(steps),
                          .parts = piece.n_parts,
                          .rule = rule_of(tree),
                          .n_steps = static_cast<std::int32_t>(tree.nodes.size()) - 1,
                          .n_slots = static_cast<std::int32_t>(tree.columns.size()),
                          .n_points = tree.n_points,
                          .n_levels = tree.depth + 1};
    trees.push_back(packed);
    const std::int64_t keys = from_.tree_output.empty() ? 0 : output * from_.n_cols;
    for (std::int64_t s = 0; s < packed.n_slots; ++s)
      parts_.push_back({keys + tree.columns[static_cast<std::size_t>(s)], packed.parts + s * k_});
    piece.last = std::ssize(trees), piece.n_parts += n_parts;
    piece.scratch = std::max(piece.scratch, scratch_of(packed, k_));
    for (std::size_t i = 1; i < tree.nodes.size(); ++i)
      add_step(tree.nodes[i], from_.tree_offset[static_cast<std::size_t>(t)]);
  }

  void add_step(const shap::Node& node, std::int64_t begin) {
    const auto own = static_cast<std::size_t>(begin + node.from), cut = static_cast<std::size_t>(begin + node.cut);
    ShapStep step{.share = node.share,
                  .before_share = node.before_share,
                  .threshold = from_.cuts.threshold[cut],
                  .set = from_.cuts.set.empty() ? -1 : from_.cuts.set[cut],
                  .column = node.feature,
                  .parent = node.parent - 1,
                  .leaf = -1,
                  .depth = node.depth,
                  .before_depth = node.before_depth,
                  .slot = node.slot,
                  .flags = from_.cuts.flags.empty() ? std::uint8_t{0} : from_.cuts.flags[cut],
                  .is_left = node.is_left};
    if (node.is_leaf) {
      step.leaf = static_cast<std::int32_t>(std::ssize(values) / k_);
      const auto at = from_.value.begin() + static_cast<std::int64_t>(own) * k_;
      values.insert(values.end(), at, at + k_);
    }
    steps.push_back(step);
  }

  std::int64_t rule_of(const shap::Tree& tree) {
    std::int64_t& at = rule_at_[static_cast<std::size_t>(tree.n_points)];
    if (at >= 0) return at;
    at = std::ssize(rules);
    const shap::Quadrature& rule = built_.rule(tree);
    for (const std::vector<double>* numbers : {&rule.points, &rule.rests, &rule.weights})
      rules.insert(rules.end(), numbers->begin(), numbers->end());
    return at;
  }

  void begin_piece() {
    pieces.push_back({.first = std::ssize(trees), .last = std::ssize(trees), .columns = std::ssize(part_begin)});
  }

  // Parts by column, each column's in the order of the trees.
  void finish_piece() {
    const std::int64_t n_keys = from_.n_cols * (from_.tree_output.empty() ? 1 : from_.n_outputs);
    std::ranges::stable_sort(parts_, {}, &Part::key);
    std::size_t at = 0;
    for (std::int64_t key = 0; key <= n_keys; ++key) {
      part_begin.push_back(std::ssize(part));
      for (; at < parts_.size() && parts_[at].key == key; ++at) part.push_back(parts_[at].part);
    }
    parts_.clear();
  }

  const ShapTrees& from_;
  const shap::BuiltTrees built_;
  const std::int64_t k_;
  std::vector<std::int64_t> rule_at_;   // by points
  std::vector<Part> parts_;             // of the piece
};

template <class U>
Array<U> uploaded(CudaRuntime& runtime, const std::vector<U>& values) {
  return Array<U>(runtime, std::span<const U>(values));
}

}   // namespace

PackedShap::PackedShap(CudaRuntime& runtime, const ShapTrees& trees)
    : n_cols_(trees.n_cols),
      n_outputs_(trees.n_outputs),
      leaf_values_(trees.leaf_values()),
      by_output_(!trees.tree_output.empty()),
      is_strict_(trees.cuts.is_strict),
      is_float32_(trees.cuts.is_float32),
      scale_(trees.scale) {
  ShapPacker packed(trees);
  pieces_ = std::move(packed.pieces);
  steps_ = uploaded(runtime, packed.steps), trees_ = uploaded(runtime, packed.trees);
  rules_ = uploaded(runtime, packed.rules), values_ = uploaded(runtime, packed.values);
  expected_ = uploaded(runtime, packed.expected);
  part_begin_ = uploaded(runtime, packed.part_begin), part_ = uploaded(runtime, packed.part);
  set_offset_ = uploaded(runtime, trees.cuts.set_offset), set_words_ = uploaded(runtime, trees.cuts.set_words);
}

ShapView PackedShap::view() const {
  return {.steps = raw(steps_),
          .trees = raw(trees_),
          .rules = raw(rules_),
          .values = raw(values_),
          .sets = {raw(set_offset_), raw(set_words_), is_float32_},
          .is_strict = is_strict_,
          .leaf_values = leaf_values_};
}

ShapColumns PackedShap::columns(const ShapPiece& piece) const {
  return {.begin = raw(part_begin_) + piece.columns,
          .part = raw(part_),
          .expected = raw(expected_),
          .n_cols = n_cols_,
          .n_outputs = n_outputs_,
          .by_output = by_output_,
          .scale = scale_};
}

std::int64_t PackedShap::most_parts() const {
  std::int64_t most = 0;
  for (const ShapPiece& piece : pieces_) most = std::max(most, piece.n_parts);
  return most;
}

}   // namespace kedge::engine
