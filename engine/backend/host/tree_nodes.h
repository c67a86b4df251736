// What the nodes of a tree of classes weigh and predict, on every device.
#pragma once

#include <vector>

#include "engine/backend/host/tree_draft.h"

namespace kedge::engine {

class ShareNodes {
 public:
  void start(std::int32_t n_classes, bool entropy) { n_classes_ = n_classes, entropy_ = entropy, shares_.clear(); }
  // weight(c): what the node's rows of class c weigh together.
  template <class Weight>
  DraftNode add(const Weight& weight) {
    SideSum sum;
    for (std::int32_t c = 0; c < n_classes_; ++c) sum.add(weight(c), entropy_);
    for (std::int32_t c = 0; c < n_classes_; ++c) shares_.push_back(sum.weight > 0 ? weight(c) / sum.weight : 0.0);
    return {.impurity = node_impurity(sum, entropy_), .weight = sum.weight};
  }
  void append_value(std::int32_t node, Forest& out) const {
    const auto begin = shares_.begin() + std::int64_t{node} * n_classes_;
    out.value.insert(out.value.end(), begin, begin + n_classes_);
  }

 private:
  std::int32_t n_classes_ = 0;
  bool entropy_ = false;
  std::vector<double> shares_;   // nodes x classes
};

}  // namespace kedge::engine
