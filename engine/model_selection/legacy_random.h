// numpy's legacy generator, RandomState: scikit-learn shuffles with it, so equal folds need equal draws.
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

}  // namespace kedge::engine
