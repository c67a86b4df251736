// BIRCH's tree: subclusters as counts, means and sums of squares, found by the nearest mean from the root on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace kedge::engine {

// What is known of the rows of a subcluster: how many, their mean, and the sum of their squares about it, which, unlike
// the sum of squares about 0, loses nothing where the rows are far from 0. Source: Lang, Schubert, "BETULA: fast
// clustering of large data with improved BIRCH CF-trees", Information Systems 108, 2022.
struct SubclusterStats {
  double count = 0, squares = 0;

  void add(const SubclusterStats& other, double squared_gap) {   // between the means
    const double both = count + other.count;
    squares += other.squares + squared_gap * (count * other.count / both);
    count = both;
  }
};

// Rows are inserted one by one: each goes down to the nearest subcluster and joins it if the radius stays within the
// threshold, otherwise it is one of its own. A node of more than `branching` subclusters is divided by the two that are
// farthest apart. Source: Zhang, Ramakrishnan, Livny, "BIRCH", SIGMOD 1996, in scikit-learn's order.
class FeatureTree {
 public:
  FeatureTree(std::int64_t dims, double threshold, std::int64_t branching);
  ~FeatureTree();

  void insert(const double* row);
  // The means of the subclusters, row-major, leaf after leaf.
  std::vector<double> means() const;

 private:
  struct Node;
  struct Entry {
    SubclusterStats stats;
    std::unique_ptr<Node> child;
  };
  // A node's two halves, as entries of their parent, with their means.
  struct Halves {
    Entry first, second;
    std::vector<double> first_mean, second_mean;
  };

  bool insert_into(Node& node, const double* row);
  Halves split(std::unique_ptr<Node> node) const;
  bool split_child(Node& node, std::size_t place);

  std::int64_t dims_, branching_;
  double squared_threshold_;
  std::unique_ptr<Node> root_;
  Node* first_leaf_ = nullptr;
  mutable std::vector<double> gaps_;   // of a row to the subclusters of a node
};

}   // namespace kedge::engine
