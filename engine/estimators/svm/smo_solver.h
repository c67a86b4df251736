// The dual problem of a support vector machine, solved in working sets.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/svm/kernel_rows.h"

namespace kedge::engine {

// Minimises 1/2 a'Qa + p'a with Q_st = y_s y_t K(row of s, row of t), 0 <= a <= C, and the sum of y a held; with
// `by_sign` the sum of a over each sign. Rows are those of KernelRows in some ranges of columns, numbered from 0
// through them. Host memory.
struct SmoProblem {
  std::vector<KernelRows::Range> ranges;
  std::vector<std::int32_t> row;   // of each variable
  std::vector<signed char> y;      // 1 or -1
  std::vector<double> C, alpha;    // bound; where it starts, which meets the sums
  std::vector<double> offset;      // -y p
  bool by_sign = false;
  std::size_t size() const { return row.size(); }
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

// Small problems are one working set. Larger ones take the variables that violate most, and those of the former set
// that are between their bounds, 512 together; the decisions of all rows follow after each, by the kernel rows of those
// that moved. The same bits for any number of threads. May be called on several threads where all rows are loaded.
SmoResult solve_smo(KernelRows& kernel, const SmoProblem& problem, const SmoOptions& options);

inline constexpr std::int64_t kWholeProblem = 2048;   // variables of a small problem

}   // namespace kedge::engine
