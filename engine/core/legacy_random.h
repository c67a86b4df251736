// numpy's legacy generator, RandomState: scikit-learn shuffles and seeds with it, so equal folds and centres need equal draws.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kedge::engine {

// The draws of numpy.random.RandomState(seed). Value type; not thread safe.
// Source: Matsumoto, Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998; numpy/random/src/mt19937 and legacy code paths,
// which numpy has frozen (NEP 19).
class LegacyRandom {
 public:
  explicit LegacyRandom(std::uint32_t seed);

  std::uint32_t next();
  // Uniform in [0, max]; masked rejection, as numpy's random_interval().
  std::uint64_t interval(std::uint64_t max);
  // Uniform in [0, 1) with 53 bits: random_sample().
  double uniform();
  // choice(n, size, replace=False, p): `size` different positions of p, drawn by weight; p need not sum to 1. At least `size`
  // of its weights are above 0.
  std::vector<std::int64_t> choice_without_replacement(std::vector<double> p, std::int64_t size);

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) {
      const auto j = static_cast<std::size_t>(interval(i));
      std::swap(values[i], values[j]);
    }
  }
  // A shuffled 0, 1, ... n - 1.
  std::vector<std::int64_t> permutation(std::int64_t n);

 private:
  static constexpr std::size_t kWords = 624;
  void refill();

  std::array<std::uint32_t, kWords> state_;
  std::size_t position_ = kWords;
};

// choice(n, p) draws positions of a cumulated distribution: the first whose share exceeds `draw`, from uniform().
class CumulatedWeights {
 public:
  explicit CumulatedWeights(std::span<const double> weights);   // >= 0, not all 0; need not sum to 1
  std::int64_t at(double draw) const;

 private:
  std::vector<double> shares_;
};

// The same for n equal weights of 1 / n, to the bit, without a list of their sums: where adding does not leave a power
// of two, each addition rounds alike, so sums are few straight lines.
class EqualWeights {
 public:
  explicit EqualWeights(std::int64_t n);   // at least 1
  std::int64_t at(double draw) const;

 private:
  struct Line {   // sums first, first + step ... at positions begin, begin + 1 ...
    std::int64_t begin;
    double first, step;
  };
  double sum(std::int64_t position) const;

  std::int64_t n_;
  std::vector<Line> lines_;
  double total_;
};

}  // namespace kedge::engine
