// Cholesky factors by rows: sums in eight lanes, which the compiler keeps in vector registers.
#include "engine/estimators/mixture/small_cholesky.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

double dot(const double* a, const double* b, std::int64_t n) {
  constexpr std::int64_t kWidth = 8;
  std::array<double, kWidth> lanes{};
  std::int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth)
    for (std::int64_t l = 0; l < kWidth; ++l) lanes[static_cast<std::size_t>(l)] += a[j + l] * b[j + l];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

}   // namespace

bool lower_cholesky(const double* A, std::int64_t d, double* L) {
  std::fill_n(L, d * d, 0.0);
  for (std::int64_t i = 0; i < d; ++i) {
    check_job_stop();
    for (std::int64_t j = 0; j < i; ++j) L[i * d + j] = (A[i * d + j] - dot(L + i * d, L + j * d, j)) / L[j * d + j];
    const double pivot = A[i * d + i] - dot(L + i * d, L + i * d, i);
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    L[i * d + i] = std::sqrt(pivot);
  }
  return true;
}

void invert_lower(const double* L, std::int64_t d, double* inverse) {
  std::fill_n(inverse, d * d, 0.0);
  for (std::int64_t i = 0; i < d; ++i) {
    check_job_stop();
    double* const row = inverse + i * d;
    for (std::int64_t k = 0; k < i; ++k) {
      const double factor = L[i * d + k];
      const double* const above = inverse + k * d;
      for (std::int64_t j = 0; j <= k; ++j) row[j] -= factor * above[j];
    }
    for (std::int64_t j = 0; j < i; ++j) row[j] /= L[i * d + i];
    row[i] = 1 / L[i * d + i];
  }
}

void lower_square(const double* M, std::int64_t d, double* out) {
  std::fill_n(out, d * d, 0.0);
  for (std::int64_t k = 0; k < d; ++k) {
    check_job_stop();
    const double* const row = M + k * d;
    for (std::int64_t i = 0; i <= k; ++i)
      for (std::int64_t j = 0; j <= k; ++j) out[i * d + j] += row[i] * row[j];
  }
}

}   // namespace kedge::engine
