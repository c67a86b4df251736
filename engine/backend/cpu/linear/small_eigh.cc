// Householder's reduction to a tridiagonal matrix from the last row up, then the implicit QL iteration with Wilkinson's shift (Golub and
// Van Loan, Matrix Computations, 8.3; Martin, Reinsch and Wilkinson, tred2 and tql2). All of it goes along rows, padded to whole vectors, in
// double.
#include "engine/backend/cpu/linear/small_eigh.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr int kMostSteps = 60;   // for one eigenvalue; two are usual
constexpr int kWidth = 8;        // doubles of the widest vector

constexpr int padded(int n) { return (n + kWidth - 1) / kWidth * kWidth; }

inline __attribute__((always_inline)) double dot(const double* a, const double* b, int n) {
  double lanes[kWidth] = {};
  for (int j = 0; j < n; j += kWidth)
    for (int l = 0; l < kWidth; ++l) lanes[l] += a[j + l] * b[j + l];
  for (int half = kWidth / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// A = Q T Q' for the symmetric A (n rows, `stride` apart, zeros after each): T has the diagonal d and the off-diagonal
// e. Row i of A becomes the vector of the reflection I - tau[i] v v', which leaves rows i and on alone.
KEDGE_CLONES void reduce(double* A, int n, int stride, double* d, double* e, double* tau, double* __restrict p) {
  for (int i = n - 1; i > 0; --i) {
    double* const v = A + i * stride;
    const int width = padded(i);
    const double last = v[i - 1];
    d[i] = v[i];
    std::fill(v + i - 1, v + stride, 0.0);
    const double squares = dot(v, v, width);
    tau[i] = 0, e[i - 1] = last;
    if (squares < std::numeric_limits<double>::min()) continue;   // nothing compared with a largest element of 1
    const double norm = -std::copysign(std::sqrt(last * last + squares), last), inverse = 1 / (last - norm);
    e[i - 1] = norm, tau[i] = (norm - last) / norm;
    for (int j = 0; j < width; ++j) v[j] *= inverse;
    v[i - 1] = 1;
    std::fill(p + i, p + width, 0.0);
    for (int r = 0; r < i; ++r) p[r] = tau[i] * dot(A + r * stride, v, width);
    const double half = tau[i] * dot(p, v, width) / 2;
    for (int j = 0; j < width; ++j) p[j] -= half * v[j];
    for (int r = 0; r < i; ++r) {
      double* const row = A + r * stride;
      const double a = v[r], b = p[r];
      for (int j = 0; j < width; ++j) row[j] -= a * p[j] + b * v[j];
    }
  }
  d[0] = A[0], tau[0] = 0;
}

// Q' in the rows of Z, from the reflections that reduce() has left.
KEDGE_CLONES void multiply_reflections(const double* A, int n, int stride, const double* tau, double* __restrict Z) {
  std::fill(Z, Z + n * stride, 0.0);
  for (int i = 0; i < n; ++i) Z[i * stride + i] = 1;
  for (int i = 1; i < n; ++i) {
    if (tau[i] == 0) continue;
    const double* const v = A + i * stride;
    const int width = padded(i);
    for (int r = 0; r < i; ++r) {
      double* const row = Z + r * stride;
      const double along = tau[i] * dot(row, v, width);
      for (int j = 0; j < width; ++j) row[j] -= along * v[j];
    }
  }
}

// From row l on, the first that the next one is not tied to.
inline __attribute__((always_inline)) int end_of_block(int l, int n, const double* d, const double* e) {
  constexpr double kRound = std::numeric_limits<double>::epsilon() / 2;
  for (; l < n - 1; ++l)
    if (e[l] * e[l] <= kRound * kRound * std::abs(d[l]) * std::abs(d[l + 1]) + std::numeric_limits<double>::min()) break;
  return l;
}

// d becomes the eigenvalues of the tridiagonal matrix, in no order, and the rows of Z turn with it.
KEDGE_CLONES bool diagonalise(int n, int stride, double* d, double* e, double* Z) {
  e[n - 1] = 0;
  for (int l = 0; l < n; ++l) {
    int steps = 0;
    for (int end = end_of_block(l, n, d, e); end != l; end = end_of_block(l, n, d, e)) {
      if (++steps > kMostSteps) return false;
      const double slope = (d[l + 1] - d[l]) / (2 * e[l]);
      double g = d[end] - d[l] + e[l] / (slope + std::copysign(std::hypot(slope, 1.0), slope));
      double sine = 1, cosine = 1, shift = 0;
      int i = end - 1;
      for (; i >= l; --i) {
        const double f = sine * e[i], b = cosine * e[i], r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) break;   // underflow: the matrix falls apart here
        sine = f / r, cosine = g / r;
        g = d[i + 1] - shift;
        const double turned = (d[i] - g) * sine + 2 * cosine * b;
        shift = sine * turned, d[i + 1] = g + shift, g = cosine * turned - b;
        double *__restrict const upper = Z + i * stride, *__restrict const lower = upper + stride;
        for (int k = 0; k < stride; ++k) {
          const double below = lower[k];
          lower[k] = sine * upper[k] + cosine * below;
          upper[k] = cosine * upper[k] - sine * below;
        }
      }
      e[end] = 0;
      d[i < l ? l : i + 1] -= shift;
      if (i < l) e[l] = g;
    }
  }
  return true;
}

}  // namespace

template <class T>
bool small_eigh(MatrixView<T> A, VectorView<T> w) {
  const int n = static_cast<int>(A.rows), stride = padded(n);
  T largest = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const T size = std::abs(raw(A)[i * n + j]);
      if (!(size <= std::numeric_limits<T>::max())) return false;
      largest = std::max(largest, size);
    }
  if (largest == 0) return false;
  const int exponent = std::ilogb(largest);   // a power of two: the scaling rounds nothing, and no square overflows

  const std::size_t cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(stride), length = static_cast<std::size_t>(stride);
  std::vector<double> memory(2 * cells + 4 * length);
  double *const work = memory.data(), *const Z = work + cells;
  double *const d = Z + cells, *const e = d + stride, *const tau = e + stride, *const p = tau + stride;
  int place[kSmallEigh];   // the largest diagonal elements come last, where the reduction begins: so small eigenvalues keep their digits
  std::iota(place, place + n, 0);
  std::stable_sort(place, place + n,
                   [&](int a, int b) { return std::abs(raw(A)[a * n + a]) < std::abs(raw(A)[b * n + b]); });
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      work[i * stride + j] = std::scalbn(static_cast<double>(raw(A)[place[i] * n + place[j]]), -exponent);
  reduce(work, n, stride, d, e, tau, p);
  multiply_reflections(work, n, stride, tau, Z);
  if (!diagonalise(n, stride, d, e, Z)) return false;

  int order[kSmallEigh];
  std::iota(order, order + n, 0);
  std::stable_sort(order, order + n, [d](int a, int b) { return d[a] < d[b]; });
  for (int i = 0; i < n; ++i) {
    raw(w)[i] = static_cast<T>(std::scalbn(d[order[i]], exponent));
    for (int j = 0; j < n; ++j) raw(A)[i * n + place[j]] = static_cast<T>(Z[order[i] * stride + j]);
  }
  return true;
}

template bool small_eigh<float>(MatrixView<float>, VectorView<float>);
template bool small_eigh<double>(MatrixView<double>, VectorView<double>);

}  // namespace kedge::engine
