// A quadratic problem over few variables, solved by sequential minimal optimisation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/svm_functors.h"

namespace kedge::engine {

// Two variables a step: the one that violates most, and the one with which the objective falls most to second order.
// Scores are v = -y G of the gradient G. A variable may rise if its score is above the threshold, and fall if it is
// below. Variables of the same group, which are next to each other, share a threshold; pairs are within a group. Ties
// go to the earlier variable. Where many steps were needed so far, few variables are between their bounds, and these
// move to the optimum of their face at once: pairs take millions of steps there if the kernel is nearly singular and C
// large. Host memory, one thread. Sources: Fan, Chen and Lin, "Working set selection using second order information",
// JMLR 6, 2005; Scheinberg, "An efficient implementation of an active set method for SVMs", JMLR 7, 2006.
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
    bool is_indefinite = false;   // a pair met along which the kernel is below 0 by more than rounding
  };
  // Until no pair violates by `tol` or more, at most max_iter steps.
  Outcome solve(double tol, std::int64_t max_iter);

  std::int64_t size() const { return n_; }
  double alpha(std::int64_t t) const { return alpha_[place(t)]; }
  double score(std::int64_t t) const { return score_[place(t)]; }

 private:
  // Variables have places: each group begins at a whole vector, and what is left of its last one may not move.
  struct Group {
    std::int64_t begin, end;
    double highest = -kInfinite, lowest = kInfinite;   // score of what may rise, of what may fall
    std::int64_t first = -1;                           // the place that has the highest
    double gap() const { return highest - lowest; }
  };
  struct Pair {
    std::int64_t i = -1, j = -1;
    double gain = 0;
  };
  std::size_t place(std::int64_t t) const { return static_cast<std::size_t>(t < first_of_second_ ? t : t + shift_); }
  double gap() const;
  const float* row(std::int64_t t);
  void set_bounds(std::int64_t t);
  double room(std::int64_t t, bool rises) const;
  void move_by(std::int64_t t, double step);
  void update(double step, const float* a, const float* b);
  Pair best_pair(const Group& group);
  void move(const Pair& pair);
  std::vector<std::int64_t> free_places() const;
  bool move_free(const std::vector<std::int64_t>& places);
  std::int64_t solve_face(double tol, std::int64_t max_iter);

  std::int64_t n_, first_of_second_, shift_, places_;
  bool is_indefinite_ = false;
  std::vector<Group> groups_;
  std::vector<double> score_, alpha_, C_, diagonal_, y_, up_, low_;   // up_: 0 where it may rise, else -infinity
  std::vector<const float*> sources_;
  std::vector<std::int32_t> columns_;
  std::unique_ptr<float[]> kernel_;   // the rows that were needed, in the block's places
  std::vector<char> has_row_;
};

}   // namespace kedge::engine
