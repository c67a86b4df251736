// The tree's nodes: means in lanes, so that the distances from a row to all of a node are made in vectors.
#include "engine/estimators/cluster/feature_tree.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

KEDGE_CLONES void add_squares(const double* __restrict lane, double x, std::size_t n, double* __restrict sums) {
  for (std::size_t i = 0; i < n; ++i) sums[i] += (lane[i] - x) * (lane[i] - x);
}

}   // namespace

struct FeatureTree::Node {
  Node(std::size_t dims, bool is_leaf) : dims(dims), is_leaf(is_leaf) {}

  std::size_t dims, capacity = 0;
  bool is_leaf;
  std::vector<Entry> entries;
  std::vector<double> lanes;                  // dims x capacity: the means
  Node *before = nullptr, *after = nullptr;   // leaves in their order

  double& mean(std::size_t place, std::size_t column) { return lanes[column * capacity + place]; }
  double mean(std::size_t place, std::size_t column) const { return lanes[column * capacity + place]; }
  std::vector<double> mean_of(std::size_t place) const {
    std::vector<double> made(dims);
    for (std::size_t j = 0; j < dims; ++j) made[j] = mean(place, j);
    return made;
  }
  void set_mean(std::size_t place, const double* values) {
    for (std::size_t j = 0; j < dims; ++j) mean(place, j) = values[j];
  }
  void append(Entry entry, const double* values) {
    if (entries.size() == capacity) grow();
    entries.push_back(std::move(entry));
    set_mean(entries.size() - 1, values);
  }
  void squared_gaps(const double* row, std::vector<double>& gaps) const {
    gaps.assign(entries.size(), 0.0);
    for (std::size_t j = 0; j < dims; ++j)
      add_squares(lanes.data() + j * capacity, row[j], entries.size(), gaps.data());
  }
  // Rows with these statistics join the entry at a place.
  void join(std::size_t place, const SubclusterStats& stats, const double* values, double squared_gap) {
    entries[place].stats.add(stats, squared_gap);
    const double share = stats.count / entries[place].stats.count;
    for (std::size_t j = 0; j < dims; ++j) mean(place, j) += (values[j] - mean(place, j)) * share;
  }

 private:
  void grow() {
    const std::size_t larger = std::max<std::size_t>(8, 2 * capacity);
    std::vector<double> moved(dims * larger);
    for (std::size_t j = 0; j < dims; ++j)
      std::copy_n(lanes.data() + j * capacity, capacity, moved.data() + j * larger);
    lanes = std::move(moved), capacity = larger;
  }
};

FeatureTree::FeatureTree(std::int64_t dims, double threshold, std::int64_t branching)
    : dims_(dims),
      branching_(branching),
      squared_threshold_(threshold * threshold),
      root_(std::make_unique<Node>(static_cast<std::size_t>(dims), true)),
      first_leaf_(root_.get()) {}

FeatureTree::~FeatureTree() = default;

// True where the node has too many subclusters now.
bool FeatureTree::insert_into(Node& node, const double* row) {
  const SubclusterStats one{.count = 1};
  if (node.entries.empty()) {
    node.append({.stats = one}, row);
    return false;
  }
  node.squared_gaps(row, gaps_);
  const auto place = static_cast<std::size_t>(std::ranges::min_element(gaps_) - gaps_.begin());
  const double gap = gaps_[place];
  if (!node.is_leaf) {
    if (insert_into(*node.entries[place].child, row)) return split_child(node, place);
    node.join(place, one, row, gap);
    return false;
  }
  SubclusterStats joined = node.entries[place].stats;
  joined.add(one, gap);
  if (joined.squares <= squared_threshold_ * joined.count) {
    node.join(place, one, row, gap);
    return false;
  }
  node.append({.stats = one}, row);
  return static_cast<std::int64_t>(node.entries.size()) > branching_;
}

bool FeatureTree::split_child(Node& node, std::size_t place) {
  const bool is_first = node.entries[place].child.get() == first_leaf_;
  Halves halves = split(std::move(node.entries[place].child));
  if (is_first) first_leaf_ = halves.first.child.get();
  node.entries[place] = std::move(halves.first);
  node.set_mean(place, halves.first_mean.data());
  node.append(std::move(halves.second), halves.second_mean.data());
  return static_cast<std::int64_t>(node.entries.size()) > branching_;
}

// By the two subclusters that are farthest apart: each other one goes to the nearer, of equal ones to the second.
FeatureTree::Halves FeatureTree::split(std::unique_ptr<Node> node) const {
  const std::size_t n = node->entries.size(), dims = node->dims;
  std::vector<double> gaps, of_first, of_second;
  double most = -1;
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) {
    node->squared_gaps(node->mean_of(i).data(), gaps);
    const auto far = std::ranges::max_element(gaps);
    if (*far <= most) continue;
    const std::vector<double> other = node->mean_of(static_cast<std::size_t>(far - gaps.begin()));
    most = *far, first = i, of_first = gaps;
    node->squared_gaps(other.data(), of_second);
  }
  Halves halves{.first_mean = std::vector<double>(dims), .second_mean = std::vector<double>(dims)};
  halves.first.child = std::make_unique<Node>(dims, node->is_leaf),
  halves.second.child = std::make_unique<Node>(dims, node->is_leaf);
  if (node->is_leaf) {
    Node *const a = halves.first.child.get(), *const b = halves.second.child.get();
    a->before = node->before, a->after = b, b->before = a, b->after = node->after;
    if (node->before) node->before->after = a;
    if (node->after) node->after->before = b;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const bool goes_first = i == first || of_first[i] < of_second[i];
    Entry& half = goes_first ? halves.first : halves.second;
    std::vector<double>& mean = goes_first ? halves.first_mean : halves.second_mean;
    const std::vector<double> own = node->mean_of(i);
    const SubclusterStats stats = node->entries[i].stats;
    double gap = 0;
    for (std::size_t j = 0; j < dims; ++j) gap += (own[j] - mean[j]) * (own[j] - mean[j]);
    half.stats.add(stats, half.stats.count > 0 ? gap : 0.0);
    for (std::size_t j = 0; j < dims; ++j) mean[j] += (own[j] - mean[j]) * (stats.count / half.stats.count);
    half.child->append(std::move(node->entries[i]), own.data());
  }
  return halves;
}

void FeatureTree::insert(const double* row) {
  if (!insert_into(*root_, row)) return;
  const bool is_leaf = root_->is_leaf;
  Halves halves = split(std::move(root_));
  root_ = std::make_unique<Node>(static_cast<std::size_t>(dims_), false);
  if (is_leaf) first_leaf_ = halves.first.child.get();
  root_->append(std::move(halves.first), halves.first_mean.data());
  root_->append(std::move(halves.second), halves.second_mean.data());
}

std::vector<double> FeatureTree::means() const {
  std::vector<double> all;
  for (const Node* leaf = first_leaf_; leaf; leaf = leaf->after)
    for (std::size_t place = 0; place < leaf->entries.size(); ++place) {
      const std::vector<double> mean = leaf->mean_of(place);
      all.insert(all.end(), mean.begin(), mean.end());
    }
  return all;
}

}   // namespace kedge::engine
