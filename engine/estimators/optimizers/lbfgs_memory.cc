// The limited memory of a quasi-Newton method.
#include "engine/estimators/optimizers/lbfgs_memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kedge::engine {

// Eight sums side by side: one would wait for itself.
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums)
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  for (std::size_t s = 0; i + s < a.size(); ++s) sums[s] += a[i + s] * b[i + s];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double largest_magnitude(const std::vector<double>& v) {
  double largest = 0;
  for (const double e : v) largest = std::max(largest, std::abs(e));
  return largest;
}

void add_scaled(double factor, const std::vector<double>& v, std::vector<double>& to) {
  for (std::size_t i = 0; i < v.size(); ++i) to[i] += factor * v[i];
}

void LbfgsMemory::add(std::vector<double> step, std::vector<double> change, double product) {
  if (pairs_.size() == capacity_) pairs_.pop_front();
  scale_ = product / dot(change, change);
  pairs_.push_back({std::move(step), std::move(change), product});
}

std::vector<double> LbfgsMemory::direction(const std::vector<double>& gradient) const {
  std::vector<double> d = gradient, alpha(pairs_.size());
  for (std::size_t i = pairs_.size(); i-- > 0;) {
    alpha[i] = dot(pairs_[i].step, d) / pairs_[i].product;
    add_scaled(-alpha[i], pairs_[i].change, d);
  }
  const double factor = pairs_.empty() ? 1.0 : scale_;
  for (double& e : d) e *= factor;
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    add_scaled(alpha[i] - dot(pairs_[i].change, d) / pairs_[i].product, pairs_[i].step, d);
  for (double& e : d) e = -e;
  return d;
}

}  // namespace kedge::engine
