// Nearest centres with proof: scores from a matrix product settle nearly every row, distances the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr std::int64_t kScoredRows = 256;   // that are multiplied together

// Squared distance in the order of distance.h.
template <class T>
double squared_between(const T* a, const T* b, std::int64_t d);
// In any order of summation: for bounds alone.
template <class T>
double rough_squared_norm(const T* row, std::int64_t d);
// dots = X B', n x k; not for results.
template <class T>
void multiply_few(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> dots);

// Centres ready for scores |c|^2 - 2 x.c.
template <class T>
struct Centers {
  explicit Centers(MatrixView<const T> rows);

  MatrixView<const T> rows;
  std::vector<T> norms;   // squared, and infinity up to a multiple of the lanes of a vector
  T largest = 0;          // of the norms
};

// Bounds |score + |x|^2 - squared distance|; infinite where T might not hold the scores.
template <class T>
T error_of_scores(double squared_norm, T largest, std::int64_t d);

// A row's nearest centre, and the squares of bounds in double: its distance is at most `own`, that of all others at least
// `others`.
struct Nearest {
  std::int32_t center = -1;
  double own = 0, others = 0;
};

// Finds the centre whose distance, computed in double, is the smallest; of equal ones the first. Many rows of doubles
// are scored in float first, where some of them show that float separates the centres. Borrows the centres and X, the
// rows to come.
template <class T>
class NearestCenters {
 public:
  NearestCenters(MatrixView<const T> centers, MatrixView<const T> X);
  // For each of `rows` (indices into X, at most kScoredRows), found[i] is of rows[i]. Thread-safe.
  void find(std::span<const std::int32_t> rows, Nearest* found) const;

 private:
  bool float_tells() const;

  MatrixView<const T> X_;
  Centers<T> centers_;
  std::vector<float> values_;   // the centres, if float separates them
  std::vector<Centers<float>> in_float_;
};

}   // namespace kedge::engine
