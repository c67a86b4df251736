// The dual problem of a support vector machine, its multipliers while they are solved, and what a fit gives.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/svm_functors.h"
#include "engine/estimators/svm/kernel_rows.h"

namespace kedge::engine {

// Minimises 1/2 a'Qa + p'a with Q_st = y_s y_t K(row of s, row of t), 0 <= a <= C, and the sum of y a held; with
// `by_sign` the sum of a over each sign. Rows are those of the kernel in some ranges of columns, numbered from 0
// through them. Host memory.
struct SmoProblem {
  std::vector<KernelColumns> ranges;
  std::vector<std::int32_t> row;   // of each variable
  std::vector<signed char> y;      // 1 or -1
  std::vector<double> C, alpha;    // bound; where it starts, which meets the sums
  std::vector<double> offset;      // -y p
  bool by_sign = false;
  std::size_t size() const { return row.size(); }
  std::int64_t n_rows() const;
};

struct SmoOptions {
  double tol = 1e-3;            // largest violation at the end, as LIBSVM has it
  std::int64_t max_iter = -1;   // steps; -1: no limit
};

struct SmoResult {
  std::vector<double> alpha;
  std::vector<double> values;      // sum of y a K of each row: its decision, without the threshold
  double threshold[2] = {0, 0};    // of the scores; by sign (1 first, then -1), or the same twice
  double objective = 0, gap = 0;   // of the dual; primal less dual
  std::int64_t n_iter = 0;
  bool has_converged = true;
  bool is_indefinite = false;   // see SmoBlock::Outcome
};

// Multipliers and the values of the rows with them. Borrows the problem.
struct SmoState {
  struct Extent {
    double highest = -kInfinite, lowest = kInfinite;
    double gap() const { return highest - lowest; }
  };

  explicit SmoState(const SmoProblem& problem)
      : problem(problem), alpha(problem.alpha), values(static_cast<std::size_t>(problem.n_rows()), 0.0) {}

  double y(std::size_t t) const { return problem.y[t]; }
  std::size_t group(std::size_t t) const { return problem.by_sign && problem.y[t] < 0 ? 1 : 0; }
  double score(std::size_t t) const { return problem.offset[t] - values[static_cast<std::size_t>(problem.row[t])]; }
  bool rises(std::size_t t) const { return may_rise(y(t), alpha[t], problem.C[t]); }
  bool falls(std::size_t t) const { return may_fall(y(t), alpha[t], problem.C[t]); }
  bool is_free(std::size_t t) const { return alpha[t] > 0 && alpha[t] < problem.C[t]; }
  std::array<Extent, 2> extents() const;       // of each group
  std::vector<double> sums_of_start() const;   // of y a by row, which the values begin with
  // Takes the multipliers and values away, adds thresholds, objective and gap.
  SmoResult result() &&;

  const SmoProblem& problem;
  std::vector<double> alpha, values;
  std::int64_t n_iter = 0;
  bool has_converged = true, is_indefinite = false;

 private:
  double threshold(std::size_t of_group, const Extent& extent) const;
};

// Steps at most, without a limit the largest number.
std::int64_t most_steps(const SmoOptions& options);

}   // namespace kedge::engine
