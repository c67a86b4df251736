// Imported trees: from the order of their file to ours, and to a stored model and back.
#include "engine/imported/tree_ensemble.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "engine/core/category_set.h"

namespace kedge::engine {
namespace {

constexpr std::int32_t kMostOutputs = 1 << 20;

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
  throw schema::Error(schema::ErrorCode::kModelCorrupt, where + problem);
}

// Checks one node of a tree of n nodes.
void check_node(const SourceTree& tree, std::int64_t node, std::int64_t n_cols, const std::string& where) {
  const auto n = static_cast<std::int64_t>(tree.left.size());
  const bool is_leaf = tree.left[node] < 0;
  const bool has_set = !is_leaf && (tree.flags[node] & node_flag::kCategory) != 0;
  // LightGBM parts missing values from all others by an infinite threshold.
  if (is_leaf && !std::isfinite(tree.threshold[node]))
    fail(where, fmt::format("the value of node {} is not finite", node));
  if (!has_set && std::isnan(tree.threshold[node]))
    fail(where, fmt::format("the threshold of node {} is no number", node));
  if (is_leaf) return;
  for (const std::int32_t child : {tree.left[node], tree.right[node]})
    if (child <= 0 || child >= n)
      fail(where, fmt::format("node {} has the child {}, must be from 1 to {}", node, child, n - 1));
  if (tree.feature[node] < 0 || tree.feature[node] >= n_cols)
    fail(where, fmt::format("node {} asks for feature {}, there are {}", node, tree.feature[node], n_cols));
}

std::int32_t append_set(const SourceTree& tree, std::int32_t node, TreeEnsemble& ensemble) {
  if (static_cast<std::size_t>(node) < tree.sets.size()) {
    const auto& words = tree.sets[static_cast<std::size_t>(node)];
    ensemble.set_words.insert(ensemble.set_words.end(), words.begin(), words.end());
  }
  ensemble.set_offset.push_back(static_cast<std::int64_t>(ensemble.set_words.size()));
  return static_cast<std::int32_t>(ensemble.set_offset.size()) - 2;
}

}   // namespace

void append_tree(const SourceTree& tree, std::int32_t output, const std::string& where, TreeEnsemble& ensemble) {
  if (tree.left.empty()) fail(where, "it has no nodes");
  if (ensemble.n_nodes() + static_cast<std::int64_t>(tree.left.size()) > kMaxSize) fail(where, "too many nodes");
  std::vector<std::int32_t> order{0};   // ours to the file's
  std::vector<bool> is_known(tree.left.size());
  is_known[0] = true;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t node = order[i];
    check_node(tree, node, ensemble.n_cols, where);
    const bool is_leaf = tree.left[node] < 0;
    const std::uint8_t flags = is_leaf ? 0 : tree.flags[node];
    const bool has_set = (flags & node_flag::kCategory) != 0;
    ensemble.feature.push_back(is_leaf ? -1 : tree.feature[node]);
    ensemble.threshold.push_back(has_set ? 0 : tree.threshold[node]);
    ensemble.left.push_back(is_leaf ? 0 : static_cast<std::int32_t>(order.size()));
    ensemble.flags.push_back(flags);
    ensemble.set.push_back(has_set ? append_set(tree, node, ensemble) : -1);
    if (!tree.cover.empty()) ensemble.cover.push_back(tree.cover[static_cast<std::size_t>(node)]);
    else if (tree.left.size() == 1) ensemble.cover.push_back(1);   // of a tree without cuts any will do
    if (is_leaf) continue;
    for (const std::int32_t child : {tree.left[node], tree.right[node]}) {
      if (is_known[child]) fail(where, fmt::format("node {} has two parents", child));
      is_known[child] = true, order.push_back(child);
    }
  }
  ensemble.tree_offset.push_back(ensemble.n_nodes());
  ensemble.tree_output.push_back(output);
}

namespace {

void check_offsets(StateArchive& archive, std::string_view name, const std::vector<std::int64_t>& offset,
                   std::int64_t size) {
  archive.expect(!offset.empty() && offset.front() == 0 && offset.back() == size, name, "does not cover what it parts");
  for (std::size_t i = 0; i + 1 < offset.size(); ++i)
    archive.expect(offset[i] <= offset[i + 1], name, "does not ascend");
}

// Every walk ends: children lie behind their parent, in the same tree.
void check_nodes(StateArchive& archive, const TreeEnsemble& e) {
  const auto n_sets = static_cast<std::int64_t>(e.set_offset.size()) - 1;
  for (std::int64_t t = 0; t < e.n_trees(); ++t) {
    const std::int64_t begin = e.tree_offset[t], n = e.tree_offset[t + 1] - begin;
    archive.expect(n > 0, "tree_offset", "has a tree without nodes");
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t node = begin + i;
      archive.expect(!std::isnan(e.threshold[node]), "threshold", "has NaN");
      if (e.feature[node] < 0) {
        archive.expect(std::isfinite(e.threshold[node]), "threshold", "has a leaf that is not finite");
        archive.expect(e.flags[node] == 0, "flags", "has some of a leaf");
        continue;
      }
      archive.expect_in("left", e.left[node], i + 1, n - 2);
      const bool has_set = (e.flags[node] & node_flag::kCategory) != 0;
      archive.expect_in("set", e.set[node], has_set ? 0 : -1, has_set ? n_sets - 1 : -1);
    }
  }
}

}   // namespace

bool is_in_set(const TreeEnsemble& e, std::int32_t set, double category) {
  const std::int64_t begin = e.set_offset[set];
  return is_in_category_set(e.set_words.data() + begin, e.set_offset[set + 1] - begin, e.is_float32, category);
}

namespace {

// In the type of the cells: half the bytes of float32, none lost.
void numbers_of(StateArchive& archive, std::string_view name, bool is_float32, std::int64_t size,
                std::vector<double>& values) {
  if (!is_float32) return archive.field(name, values, size);
  std::vector<float> narrow(values.begin(), values.end());
  archive.field(name, narrow, size);
  values.assign(narrow.begin(), narrow.end());
}

}   // namespace

// Of the tensors in a model's file.
std::int64_t TreeEnsemble::file_bytes() const {
  const std::int64_t node = 4 + (is_float32 ? 4 : 8) + 4 + 1 + (set_words.empty() ? 0 : 4);
  const std::int64_t of_cover = has_cover() ? (is_float32 ? 4 : 8) : 0;
  return n_nodes() * (node + of_cover) + 12 * n_trees() + 8 * n_outputs +
         8 * static_cast<std::int64_t>(set_offset.size()) + 4 * static_cast<std::int64_t>(set_words.size()) +
         (std::int64_t{1} << 12);
}

void TreeEnsemble::state(StateArchive& archive, bool has_cover) {
  archive.field("source", source);
  archive.field("objective", objective);
  archive.field("is_float32", is_float32);
  archive.field("is_strict", is_strict);
  archive.field("is_classifier", is_classifier);
  archive.number("n_features", n_cols, archive.n_features(), archive.n_features());
  archive.number("n_outputs", n_outputs, 1, kMostOutputs);
  archive.field("base", base, n_outputs);
  archive.expect_finite("base", base);
  archive.field("divisor", divisor);
  archive.expect(divisor > 0 && std::isfinite(divisor), "divisor", "is not above 0");
  auto code = static_cast<std::uint8_t>(link);
  archive.number("link", code, 0, static_cast<std::uint8_t>(EnsembleLink::kStep));
  link = EnsembleLink{code};
  archive.field("link_scale", link_scale);
  archive.expect(std::isfinite(link_scale), "link_scale", "is not finite");
  archive.field("tree_offset", tree_offset, kAnySize);
  archive.expect(!tree_offset.empty(), "tree_offset", "is empty");
  archive.indices("tree_output", tree_output, n_trees(), 0, n_outputs - 1);
  archive.indices("feature", feature, kAnySize, -1, n_cols - 1);
  check_offsets(archive, "tree_offset", tree_offset, n_nodes());
  numbers_of(archive, "threshold", is_float32, n_nodes(), threshold);
  archive.field("left", left, n_nodes());
  archive.indices("flags", flags, n_nodes(), 0, node_flag::kAll);
  archive.field("set_offset", set_offset, kAnySize);
  std::vector<std::uint8_t> bytes(set_words.size() * 4);
  if (!bytes.empty()) std::memcpy(bytes.data(), set_words.data(), bytes.size());
  archive.field("set_bytes", bytes, kAnySize);
  archive.expect(bytes.size() % 4 == 0, "set_bytes", "has a part of a word");
  set_words.resize(bytes.size() / 4);
  if (!bytes.empty()) std::memcpy(set_words.data(), bytes.data(), bytes.size());
  check_offsets(archive, "set_offset", set_offset, static_cast<std::int64_t>(set_words.size()));
  if (set_offset.size() > 1) archive.field("set", set, n_nodes());
  else set.assign(feature.size(), -1);
  if (has_cover) numbers_of(archive, "cover", is_float32, n_nodes(), cover);
  check_nodes(archive, *this);
  archive.expect(!is_classifier || archive.n_classes() == n_classes(), "n_outputs", "does not fit the classes");
}

}   // namespace kedge::engine
