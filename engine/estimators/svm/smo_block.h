// A quadratic problem over few variables, solved by sequential minimal optimisation.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace kedge::engine {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Two variables a step: the one that violates most, and the one with which the objective falls most to second order.
// Scores are v = -y G of the gradient G. A variable may rise if its score is above the threshold, and fall if it is
// below. Variables of the same group, which are next to each other, share a threshold; pairs are within a group. Ties
// go to the earlier variable. Host memory, one thread. Source: Fan, Chen and Lin, "Working set selection using second
// order information", JMLR 6, 2005.
class SmoBlock {
 public:
  struct Variable {
    double score = 0, alpha = 0, C = 0, diagonal = 0;
    int y = 1;
    const float* kernel = nullptr;   // its row of the kernel matrix; borrowed
    std::int32_t column = 0;         // its place in such a row
  };
  // `first_of_second`: where the second group begins; all are of one if it is the number of variables.
  SmoBlock(const std::vector<Variable>& variables, std::int64_t first_of_second);

  struct Outcome {
    std::int64_t n_iter = 0;
    bool has_converged = true;
  };
  // Until no pair violates by `tol` or more, at most max_iter steps.
  Outcome solve(double tol, std::int64_t max_iter);

  std::int64_t size() const { return n_; }
  double alpha(std::int64_t t) const { return alpha_[static_cast<std::size_t>(t)]; }
  double score(std::int64_t t) const { return score_[static_cast<std::size_t>(t)]; }

 private:
  struct Group {
    std::int64_t begin, end;
    double highest = -kInfinite, lowest = kInfinite;   // score of what may rise, of what may fall
  };
  struct Pair {
    std::int64_t i = -1, j = -1;
    double gain = 0;
  };
  const float* row(std::int64_t t);
  void set_bounds(std::int64_t t);
  Pair best_pair(const Group& group);
  void move(const Pair& pair);

  std::int64_t n_;
  std::vector<Group> groups_;
  std::vector<double> score_, alpha_, C_, diagonal_, y_, up_, low_,
      gains_;   // up_: 0 where it may rise, else -infinity
  std::vector<const float*> sources_;
  std::vector<std::int32_t> columns_;
  std::unique_ptr<float[]> kernel_;   // the rows that were needed, in the block's columns
  std::vector<char> has_row_;
};

// Whether a multiplier may change so that y times it rises, or falls. One that has no room may do neither.
inline bool may_rise(double y, double alpha, double C) {
  return y > 0 ? alpha < C : alpha > 0 && C > 0;
}
inline bool may_fall(double y, double alpha, double C) {
  return y > 0 ? alpha > 0 && C > 0 : alpha < C;
}

}   // namespace kedge::engine
