// The rows that a generator fills, in place: the file's mapping, and what numpy does to whole arrays of them.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "engine/core/legacy_distributions.h"
#include "engine/core/legacy_random.h"

namespace kedge::engine::generate {

// One stream of draws, as of numpy.random.RandomState.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  LegacyRandom& random() { return random_; }
  double uniform() { return random_.uniform(); }
  double normal() { return normal_(random_); }
  std::int64_t below(std::int64_t n) {   // randint(n)
    return static_cast<std::int64_t>(random_.interval(static_cast<std::uint64_t>(n) - 1));
  }
  std::vector<double> uniforms(std::int64_t n) {
    std::vector<double> drawn(static_cast<std::size_t>(n));
    for (double& value : drawn) value = uniform();
    return drawn;
  }
  // numpy's arange(n), shuffled.
  std::vector<std::int64_t> shuffled(std::int64_t n) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    random_.shuffle(std::span(order));
    return order;
  }

 private:
  LegacyRandom random_;
  LegacyNormal normal_;
};

// n rows of d features and the target behind them. Borrows.
class Rows {
 public:
  Rows(std::span<double> cells, std::int64_t n, std::int64_t d) : cells_(cells), n_(n), d_(d) {}

  std::int64_t n() const { return n_; }
  std::int64_t d() const { return d_; }
  std::span<double> row(std::int64_t i) const {   // the target last
    return cells_.subspan(static_cast<std::size_t>(i * (d_ + 1)), static_cast<std::size_t>(d_ + 1));
  }
  double& x(std::int64_t i, std::int64_t j) const { return cells_[static_cast<std::size_t>(i * (d_ + 1) + j)]; }
  double& y(std::int64_t i) const { return x(i, d_); }

  // X[:, first : first + count] = draw(), row by row.
  template <class Draw>
  void fill(std::int64_t first, std::int64_t count, Draw&& draw) const {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = first; j < first + count; ++j) x(i, j) = draw();
  }
  // X += noise * standard_normal(X.shape)
  void add_noise(double noise, Draws& draws) const {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < d_; ++j) x(i, j) += noise * draws.normal();
  }
  // X, y = sklearn.utils.shuffle(X, y)
  void shuffle_rows(Draws& draws) const;
  // X = X[:, shuffled columns]
  void shuffle_columns(Draws& draws) const;

 private:
  std::span<double> cells_;
  std::int64_t n_, d_;
};

}   // namespace kedge::engine::generate
