// The multipliers of support vector machines, on a device that chooses and solves working sets itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/backend.h"

namespace kedge::engine {

inline constexpr std::int64_t kSmoSet = 512;   // variables of a working set

// Minimises 1/2 a'Qa + p'a with Q_st = y_s y_t K(row of s, row of t), 0 <= a <= C, and the sum of y a held; with
// `by_sign` the sum of a over each sign. Host; borrows.
struct SmoVariables {
  std::span<const std::int32_t> row;   // of the kernel matrix
  std::span<const signed char> y;      // 1 or -1
  std::span<const double> C, alpha;    // bound; where it starts
  std::span<const double> offset;      // -y p
  bool by_sign = false;
  std::int64_t n_rows = 0;
};

// What the solution of a working set gave.
struct SmoSet {
  double gap = 0;   // of the whole problem before it, the largest violation
  std::int64_t n_iter = 0;
  bool has_converged = true, is_indefinite = false;
  std::vector<std::int32_t> rows;   // of its variables; empty where the gap is below tol
  std::vector<double> changes;      // of y a, of each of them
};

// A problem that is solved in working sets: choose(), solve(), add(), until a set is empty. The scores of its variables
// are offset[t] - values[row[t]], and values start at 0: what the start needs is added first. The bits of the host's
// solver (engine/estimators/svm/smo_solver.h) on the same kernel values. A resource of one device.
class SmoSteps {
 public:
  virtual ~SmoSteps() = default;

  // The variables that violate most and those of the former set between their bounds; none where no pair violates by
  // tol. Gives the rows of the kernel matrix of kSmoSet variables, 0 beyond those that were chosen. Does not wait.
  virtual VectorView<const std::int32_t> choose(double tol) = 0;
  // Solves the chosen variables, at most max_iter steps. K: kSmoSet squared and packed, the kernel values between the
  // rows that choose() gave. Waits.
  virtual SmoSet solve(MatrixView<const float> K, std::int64_t max_iter) = 0;
  // values[j] += sum_i coefs[i] * kept[places[i], j], in this order; at most kSmoSet rows.
  virtual void add(MatrixView<const float> kept, std::span<const std::int32_t> places,
                   std::span<const double> coefs) = 0;

  virtual std::vector<double> alpha() const = 0;
  virtual std::vector<double> values() const = 0;   // of each row of the kernel matrix
};

class SupportVectorOps {
 public:
  virtual ~SupportVectorOps() = default;
  // Copies what it is given.
  virtual std::unique_ptr<SmoSteps> smo_steps(const SmoVariables& variables) = 0;
  // to[places[i]] = from[i], rounded; with an empty `places` to[i].
  virtual void put_rows(MatrixView<const float> from, VectorView<const std::int32_t> places, MatrixView<float> to) = 0;
  virtual void put_rows(MatrixView<const float> from, VectorView<const std::int32_t> places, MatrixView<double> to) = 0;
  virtual void put_rows(MatrixView<const double> from, VectorView<const std::int32_t> places, MatrixView<float> to) = 0;
};

// A Device that solves working sets itself is one of these, too.
class SupportVectorDevice {
 public:
  virtual ~SupportVectorDevice() = default;
  virtual SupportVectorOps& support_vectors() = 0;
};

// Null where the host solves them, engine/estimators/svm.
inline SupportVectorOps* support_vector_ops(Device& device) {
  auto* const solving = dynamic_cast<SupportVectorDevice*>(&device);
  return solving ? &solving->support_vectors() : nullptr;
}

}   // namespace kedge::engine
