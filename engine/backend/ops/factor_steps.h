// What a device that takes the steps of a non-negative factorisation for whole rows has beside FactoriseOps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/backend/ops/factorise.h"
#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr std::int64_t kMostFactorParts = 32;

// X (n x d) as W H, all at least 0: W is kept transposed (k x n), H is k x d, both without padding.
template <class T>
struct FactorProblem {
  MatrixView<const T> X;
  MatrixView<T> W, H;
  bool by_coordinates = true;   // otherwise multiplicative updates of half the squared distance
  bool updates_h = true;
  double l1_w = 0, l2_w = 0, l1_h = 0, l2_h = 0;   // of sums, of squares
};

// The steps of one problem, which it borrows. H is not to be changed by others.
template <class T>
class FactorSteps {
 public:
  virtual ~FactorSteps() = default;

  // W for H, then H for W. By coordinates they take turns as `of_w` and `of_h` say (k numbers on the host; empty: in
  // order), and the sum of the projected gradients comes back, for which it waits; 0 otherwise. A coordinate is its
  // target less what the others explain, as in Cichocki and Phan's hierarchical least squares; where the Gram matrix of
  // the other factor has 0 it stays. Sums of a row are in T, those over rows are in T within 64 rows and in double
  // beyond: factors agree with any order of the same formula within n_parts + n_cols units of T a step. The same bits
  // on every GPU.
  virtual double step(std::span<const std::int64_t> of_w, std::span<const std::int64_t> of_h) = 0;
};

template <class T>
class FactorOps {
 public:
  virtual ~FactorOps() = default;
  // Null for more than kMostFactorParts parts, and for none.
  virtual std::unique_ptr<FactorSteps<T>> factor_steps(const FactorProblem<T>& problem) = 0;
};

// Null where factors are improved by products and maps of blocks, as on processors.
template <class T>
FactorOps<T>* factor_ops(FactoriseOps<T>& factorise) {
  return dynamic_cast<FactorOps<T>*>(&factorise);
}

}   // namespace kedge::engine
