// A factorisation U'DU of the kernel of the free multipliers, and the step with its sums held.
#include "engine/estimators/svm/free_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/backend/simd.h"
#include "engine/backend/svm_functors.h"

namespace kedge::engine {
namespace {

constexpr int kWidth = 8;   // lanes: rows are short

// to += factor * from, of doubles or floats.
template <class T>
KEDGE_CLONES void add_multiple(std::int64_t n, double factor, const T* __restrict from, double* __restrict to) {
  std::int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth)
    for (int l = 0; l < kWidth; ++l) to[j + l] += factor * static_cast<double>(from[j + l]);
  for (; j < n; ++j) to[j] += factor * static_cast<double>(from[j]);
}

KEDGE_CLONES double product(std::int64_t n, const double* a, const double* b) {
  return lane_sum(n, [=](std::int64_t j) { return a[j] * b[j]; });
}

// The upper triangle of K becomes D on the diagonal and D U beside it.
class Factor {
 public:
  Factor(std::vector<double> K, std::int64_t n) : K_(std::move(K)), n_(n) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(row(i)[i]));
    const double least = std::max(kLeastPivot * largest, 1e-300);
    for (std::int64_t k = 0; k < n; ++k) {
      double& pivot = row(k)[k];
      pivot = std::max(pivot, least);
      for (std::int64_t i = k + 1; i < n; ++i) add_multiple(n - i, -row(k)[i] / pivot, row(k) + i, row(i) + i);
    }
  }

  void solve(std::vector<double>& x) {
    for (std::int64_t k = 0; k < n_; ++k) {
      double& value = x[static_cast<std::size_t>(k)];
      value /= row(k)[k];
      add_multiple(n_ - k - 1, -value, row(k) + k + 1, x.data() + k + 1);
    }
    for (std::int64_t k = n_ - 1; k >= 0; --k) {
      const double sum = product(n_ - k - 1, row(k) + k + 1, x.data() + k + 1);
      x[static_cast<std::size_t>(k)] -= sum / row(k)[k];
    }
  }

 private:
  double* row(std::int64_t i) { return K_.data() + i * n_; }

  std::vector<double> K_;
  std::int64_t n_;
};

struct Part {
  std::ptrdiff_t begin, end;
  double sum(const std::vector<double>& x) const {
    return lane_sum(end - begin, [&](std::int64_t i) { return x[static_cast<std::size_t>(begin + i)]; });
  }
  void center(std::vector<double>& x) const {
    const double mean = sum(x) / static_cast<double>(end - begin);
    for (std::ptrdiff_t i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] -= mean;
  }
};

}   // namespace

std::vector<double> free_step(std::vector<double> K, std::vector<double> s, std::int64_t first_of_second) {
  const auto n = static_cast<std::int64_t>(s.size());
  std::vector<Part> parts;
  if (first_of_second > 0) parts.push_back({0, first_of_second});
  if (first_of_second < n) parts.push_back({first_of_second, n});
  for (const Part& part : parts) part.center(s);   // changes nothing, and less cancels below
  Factor factor(std::move(K), n);
  factor.solve(s);
  std::vector<std::vector<double>> ones;   // K^-1 of the indicator of each part
  for (const Part& part : parts) {
    ones.emplace_back(s.size(), 0.0);
    std::fill(ones.back().begin() + part.begin, ones.back().begin() + part.end, 1.0);
    factor.solve(ones.back());
  }
  std::array<double, 2> held{};   // how much of each of them takes the sums away
  if (parts.size() == 1) {
    held[0] = parts[0].sum(s) / parts[0].sum(ones[0]);
  } else {
    const double a = parts[0].sum(ones[0]), b = parts[0].sum(ones[1]), d = parts[1].sum(ones[1]);
    const double x = parts[0].sum(s), z = parts[1].sum(s), det = a * d - b * b;
    held = {(x * d - b * z) / det, (a * z - b * x) / det};
  }
  for (std::size_t p = 0; p < parts.size(); ++p) add_multiple(n, -held[p], ones[p].data(), s.data());
  for (const Part& part : parts) part.center(s);   // what rounding left
  return s;
}

void add_multiples(std::int64_t n, const std::vector<const float*>& rows, const std::vector<double>& coefs,
                   double* sums) {
  for (std::size_t i = 0; i < rows.size(); ++i) add_multiple(n, coefs[i], rows[i], sums);
}

}   // namespace kedge::engine
