// The limited memory of a quasi-Newton method: the last steps and changes of the gradient, and the direction that they give.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace kedge::engine {

// A value. Source: Nocedal, "Updating quasi-Newton matrices with limited storage", Math. of Computation 35, 1980.
class LbfgsMemory {
 public:
  explicit LbfgsMemory(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {}
  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }
  // product = step . change, which must be positive. Forgets the oldest pair when full.
  void add(std::vector<double> step, std::vector<double> change, double product);
  // -H gradient, by the two-loop recursion; -gradient while empty. Cost: O(capacity * size).
  std::vector<double> direction(const std::vector<double>& gradient) const;

 private:
  struct Pair {
    std::vector<double> step, change;
    double product;
  };
  std::size_t capacity_;
  double scale_ = 1;
  std::deque<Pair> pairs_;
};

double dot(const std::vector<double>& a, const std::vector<double>& b);
double largest_magnitude(const std::vector<double>& v);                                 // 0 for an empty one
void add_scaled(double factor, const std::vector<double>& v, std::vector<double>& to);  // to += factor * v

}  // namespace kedge::engine
