// Rotations of k dimensions on the host; the rows are read in order.
#include "engine/estimators/cluster/label_assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace kedge::engine {
namespace {

// Rows of k numbers.
class Places {
 public:
  Places(const std::vector<double>& numbers, std::int64_t k) : numbers_(numbers), k_(static_cast<std::size_t>(k)) {}

  std::size_t size() const { return numbers_.size() / k_; }
  const double* row(std::size_t i) const { return numbers_.data() + i * k_; }
  // The product of row i and column c of a k x k matrix.
  double along(std::size_t i, const std::vector<double>& rotation, std::size_t c) const {
    double sum = 0;
    for (std::size_t j = 0; j < k_; ++j) sum += row(i)[j] * rotation[j * k_ + c];
    return sum;
  }

 private:
  const std::vector<double>& numbers_;
  std::size_t k_;
};

struct Decomposed {
  std::vector<double> U, Vt;   // k x k
  double sum;                  // of the singular values
};

Decomposed decomposed(const Context& ctx, const std::vector<double>& matrix, std::int64_t k) {
  Matrix<double> A(ctx.memory(), k, k, matrix), U(ctx.memory(), k, k), Vt(ctx.memory(), k, k);
  Array<double> s(ctx.memory(), k);
  ctx.ops<double>().factorise->svd(A.view(), U.view(), s.view(), Vt.view());
  const std::vector<double> values = s.to_host();
  return {U.to_host(), Vt.to_host(), std::accumulate(values.begin(), values.end(), 0.0)};
}

// A B, or (A B)'; k x k.
std::vector<double> product(const std::vector<double>& A, const std::vector<double>& B, std::size_t k,
                            bool transposed) {
  std::vector<double> out(k * k, 0.0);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t e = 0; e < k; ++e) out[transposed ? j * k + i : i * k + j] += A[i * k + e] * B[e * k + j];
  return out;
}

// Columns of length sqrt(n) whose first number is not positive, then rows of length 1.
void normalise(std::vector<double>& places, std::size_t k) {
  const std::size_t n = places.size() / k;
  for (std::size_t c = 0; c < k; ++c) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += places[i * k + c] * places[i * k + c];
    const double scale = std::sqrt(static_cast<double>(n) / squares) * (places[c] > 0 ? -1 : 1);
    for (std::size_t i = 0; i < n; ++i) places[i * k + c] *= scale;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = places.begin() + static_cast<std::ptrdiff_t>(i * k);
    const double length = std::sqrt(std::inner_product(row, row + static_cast<std::ptrdiff_t>(k), row, 0.0));
    if (length > 0) std::for_each(row, row + static_cast<std::ptrdiff_t>(k), [&](double& x) { x /= length; });
  }
}

// A row by chance, and others as far from being along those before as there are.
std::vector<double> first_rotation(const Places& places, std::size_t k, LegacyRandom& random) {
  std::vector<double> rotation(k * k, 0.0), used(places.size(), 0.0);
  const auto set = [&](std::size_t c, std::size_t row) {
    for (std::size_t j = 0; j < k; ++j) rotation[j * k + c] = places.row(row)[j];
  };
  set(0, static_cast<std::size_t>(random.interval(places.size() - 1)));
  for (std::size_t c = 1; c < k; ++c) {
    for (std::size_t i = 0; i < used.size(); ++i) used[i] += std::abs(places.along(i, rotation, c - 1));
    set(c, static_cast<std::size_t>(std::ranges::min_element(used) - used.begin()));
  }
  return rotation;
}

std::vector<std::int32_t> largest_coordinates(const Places& places, const std::vector<double>& rotation, std::size_t k,
                                              bool by_size) {
  std::vector<std::int32_t> labels(places.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < k; ++c) {
      const double value = places.along(i, rotation, c), score = by_size ? std::abs(value) : value;
      if (score > best) best = score, labels[i] = static_cast<std::int32_t>(c);
    }
  }
  return labels;
}

}   // namespace

std::vector<std::int32_t> discretized_labels(const Context& ctx, std::vector<double> numbers, std::int64_t k_columns,
                                             LegacyRandom& random) {
  constexpr int kMostTurns = 20;   // scikit-learn's
  const auto k = static_cast<std::size_t>(k_columns);
  normalise(numbers, k);
  const Places places(numbers, k_columns);
  std::vector<double> rotation = first_rotation(places, k, random);
  double last = 0;
  for (int turn = 1;; ++turn) {
    ctx.check_stop();
    std::vector<std::int32_t> labels = largest_coordinates(places, rotation, k, false);
    std::vector<double> sums(k * k, 0.0);   // of the rows of each label
    for (std::size_t i = 0; i < labels.size(); ++i)
      for (std::size_t j = 0; j < k; ++j) sums[static_cast<std::size_t>(labels[i]) * k + j] += places.row(i)[j];
    const Decomposed found = decomposed(ctx, sums, k_columns);
    const double cut = 2 * (static_cast<double>(labels.size()) - found.sum);
    if (std::abs(cut - last) < std::numeric_limits<double>::epsilon() || turn > kMostTurns) return labels;
    last = cut;
    rotation = product(found.U, found.Vt, k, true);
  }
}

std::vector<std::int32_t> pivoted_labels(const Context& ctx, const std::vector<double>& numbers,
                                         std::int64_t k_columns) {
  const auto k = static_cast<std::size_t>(k_columns);
  const std::size_t n = numbers.size() / k;
  std::vector<double> left = numbers, apart(k * k);   // what is not along the rows chosen; these rows, as columns
  for (std::size_t c = 0; c < k; ++c) {
    ctx.check_stop();
    double most = -1;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double* const row = left.data() + i * k;
      const double squared = std::inner_product(row, row + k, row, 0.0);
      if (squared > most) most = squared, chosen = i;
    }
    for (std::size_t j = 0; j < k; ++j) apart[j * k + c] = numbers[chosen * k + j];
    std::vector<double> axis(left.begin() + static_cast<std::ptrdiff_t>(chosen * k),
                             left.begin() + static_cast<std::ptrdiff_t>((chosen + 1) * k));
    for (std::size_t i = 0; i < n && most > 0; ++i) {
      double* const row = left.data() + i * k;
      const double share = std::inner_product(row, row + k, axis.begin(), 0.0) / most;
      for (std::size_t j = 0; j < k; ++j) row[j] -= share * axis[j];
    }
  }
  const Decomposed found = decomposed(ctx, apart, k_columns);
  return largest_coordinates(Places(numbers, k_columns), product(found.U, found.Vt, k, false), k, true);
}

}   // namespace kedge::engine
