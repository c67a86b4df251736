// Trees that another program has grown, as they predict: one form for XGBoost, LightGBM, CatBoost and ONNX.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/core/state_archive.h"

namespace kedge::engine {

// From the sum of the leaves, the margin, to what is predicted.
enum class EnsembleLink : std::uint8_t {
  kIdentity,
  kSigmoid,   // 1 / (1 + exp(-scale * margin))
  kSoftmax,   // over the outputs
  kExp,
  kLog1pExp,       // log(1 + exp(margin))
  kSignedSquare,   // margin * |margin|
  kStep,           // 1 above 0, otherwise 0
};

// What a node says beside its cut. A missing value is NaN.
namespace node_flag {
inline constexpr std::uint8_t kMissingLeft = 1;     // where a missing value goes
inline constexpr std::uint8_t kCategory = 2;        // the categories of a set go left, all others right
inline constexpr std::uint8_t kZeroIsMissing = 4;   // NaN and everything within kZeroRange go where missing values go
inline constexpr std::uint8_t kMissingIsZero = 8;   // NaN is compared as 0
inline constexpr std::uint8_t kEqual = 16;          // equal values go left, not those below
inline constexpr std::uint8_t kAll = 31;
}   // namespace node_flag
inline constexpr double kZeroRange = 1e-35f;   // LightGBM's kZeroThreshold

// Value semantics. Trees lie one after the other, each in breadth-first order: children behind their parent, the right
// one after the left one. After state() or finish() every index is in range and every walk ends at a leaf.
struct TreeEnsemble {
  std::string source;           // "xgboost", "lightgbm", "catboost", "onnx"
  std::string objective;        // in its words
  bool is_float32 = true;       // cells, cuts and sums; otherwise float64
  bool is_strict = true;        // value < threshold goes left; otherwise value <= threshold
  bool is_classifier = false;   // with n_outputs = 1: of two classes
  std::int64_t n_cols = 0;
  std::int32_t n_outputs = 1;
  std::vector<double> base;   // n_outputs: where the sums begin
  double divisor = 1;         // of the sums, where the trees are averaged
  EnsembleLink link = EnsembleLink::kIdentity;
  double link_scale = 1;
  std::vector<std::int64_t> tree_offset{0};   // n_trees + 1
  std::vector<std::int32_t> tree_output;      // by tree: to which sum it is added
  std::vector<std::int32_t> feature;          // -1 for a leaf
  std::vector<double> threshold;              // of a leaf its value
  std::vector<std::int32_t> left;             // within its tree; 0 for a leaf
  std::vector<std::uint8_t> flags;            // node_flag
  std::vector<std::int32_t> set;              // of kCategory; -1 otherwise
  std::vector<std::int64_t> set_offset{0};    // by set: its words
  std::vector<std::uint32_t> set_words;       // bit c % 32 of word c / 32: category c is in the set
  std::vector<double> cover;   // weight of the rows that a node was fitted on; empty: the file does not say it

  std::int64_t n_trees() const { return static_cast<std::int64_t>(tree_offset.size()) - 1; }
  std::int64_t n_nodes() const { return static_cast<std::int64_t>(feature.size()); }
  std::int32_t n_classes() const { return !is_classifier ? 0 : n_outputs == 1 ? 2 : n_outputs; }
  std::int64_t file_bytes() const;   // of its tensors in a model's file
  bool has_margin() const { return is_classifier || link != EnsembleLink::kIdentity; }

  bool has_cover() const { return !cover.empty(); }

  // Of a model file; checks everything that is read. has_cover: whether the file has it, which older ones do not.
  void state(StateArchive& archive, bool has_cover);
};

// A tree as its file has it, in any order of nodes.
struct SourceTree {
  std::vector<std::int32_t> feature, left, right;   // left < 0: a leaf
  std::vector<double> threshold;
  std::vector<std::uint8_t> flags;
  std::vector<std::vector<std::uint32_t>> sets;   // by node; may be shorter than the tree
  std::vector<double> cover;                      // by node; empty: not known
};

// Appends the nodes that node 0 reaches. Errors: kModelCorrupt, beginning with `where`: a child or feature out of
// range, a node with two parents, a cut or leaf that is not finite.
void append_tree(const SourceTree& tree, std::int32_t output, const std::string& where, TreeEnsemble& ensemble);

// Whether a category is in a set; one that has no place there is not.
bool is_in_set(const TreeEnsemble& ensemble, std::int32_t set, double category);

// From margins to predictions, in place.
void to_predictions(const TreeEnsemble& ensemble, std::vector<double>& margins);

// What each column contributes to the margins of rows x n_cols values (row-major, host), by trees that have a cover:
// as tree_contributions() in engine/backend/host/tree_shap.h, in double. background: values of the same form that they
// are counted against; empty: none. among_pairs: as tree_interactions() there, without a background. Errors: as there.
std::vector<double> ensemble_contributions(const TreeEnsemble& ensemble, std::span<const double> rows,
                                           std::span<const double> background, std::int64_t n_rows,
                                           bool among_pairs = false);

// Margins of rows x n_cols values (row-major, host), a missing one NaN, as rows x n_outputs
// numbers; each is a float where the ensemble is_float32. Sums take the trees in order: the bits of the program that
// grew them. A category without a place in the set is in none.
class EnsembleWalk {
 public:
  explicit EnsembleWalk(const TreeEnsemble& ensemble) : EnsembleWalk(ensemble, {}) {}   // borrows it; O(nodes)
  // leaf_values: rows of n_outputs numbers, which are copied; a leaf's threshold is its row. Empty: its value.
  EnsembleWalk(const TreeEnsemble& ensemble, std::span<const double> leaf_values);
  ~EnsembleWalk();
  EnsembleWalk(const EnsembleWalk&) = delete;

  // O(rows * trees * depth), on all threads where that pays. Errors: kCancelled.
  std::vector<double> margins(std::span<const double> rows, std::int64_t n_rows) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}   // namespace kedge::engine
