// Row A4: the comparison that ends a look-up of a token takes the same time at any position where two digests differ
// (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", DATE 2017: Welch's t-test over interleaved
// samples, the longest cut off).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/digest.h"
#include "crypto/random.h"

namespace kedge::crypto {
namespace {

constexpr double kLeak = 4.5;        // of |t|: a larger difference counts as a leak
constexpr int kRuns = 5;             // a leak shows in each, a disturbance of the machine does not
constexpr double kKept = 0.9;        // of the samples: interrupts are in the longest
constexpr std::size_t kBatch = 16;   // comparisons in a sample: the clock has 20 ns or so

struct Class {
  std::vector<double> samples;
  double mean = 0, variance = 0;
  void summarise(double longest) {
    std::erase_if(samples, [&](double sample) { return sample > longest; });
    mean = variance = 0;
    for (double sample : samples) mean += sample / static_cast<double>(samples.size());
    for (double sample : samples) variance += (sample - mean) * (sample - mean) / static_cast<double>(samples.size() - 1);
  }
};

using Compare = bool (*)(std::string_view, std::string_view);

double seconds_of(Compare compare, const std::string& secret, const std::string& guess) {
  const auto begin = std::chrono::steady_clock::now();
  bool same = true;
  for (std::size_t i = 0; i < kBatch; ++i) {
    same &= compare(secret, guess);
    asm volatile("" : "+r"(same) : : "memory");   // each is made
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of guesses that differ at the first digit from those that differ at the last one.
double t_value(Compare compare, std::size_t n, unsigned seed) {
  const std::string secret = sha256_hex("a token");
  std::array<std::string, 2> guesses{secret, secret};
  guesses[0].front() ^= 1, guesses[1].back() ^= 1;
  std::string guess = secret;   // one place in memory for both
  std::array<Class, 2> classes;
  std::mt19937 dice(seed);
  std::vector<double> all;
  for (std::size_t i = 0; i < n / kBatch; ++i) {
    const unsigned which = dice() & 1U;
    std::ranges::copy(guesses[which], guess.begin());
    classes[which].samples.push_back(seconds_of(compare, secret, guess));
    all.push_back(classes[which].samples.back());
  }
  const auto cut = all.begin() + static_cast<std::ptrdiff_t>(kKept * static_cast<double>(all.size()));
  std::ranges::nth_element(all, cut);
  for (Class& one : classes) one.summarise(*cut);
  const double error = std::sqrt(classes[0].variance / static_cast<double>(classes[0].samples.size()) +
                                 classes[1].variance / static_cast<double>(classes[1].samples.size()));
  return (classes[0].mean - classes[1].mean) / error;
}

// The smallest |t| of several runs.
double leak(Compare compare) {
  const std::size_t n = std::getenv("KEDGE_LONG") ? 10'000'000 : 1'000'000;
  double least = HUGE_VAL;
  for (unsigned run = 0; run < kRuns && least >= kLeak; ++run) least = std::min(least, std::abs(t_value(compare, n, run)));
  return least;
}

// Ends at the first difference, as `==` may on any machine.
bool equal_until_they_differ(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b);
}

TEST(Timing, DoesNotShowWhereADigestDiffers) {
  const double t = leak(&equal_in_constant_time);
  RecordProperty("t", std::to_string(t));
  EXPECT_LT(t, kLeak);
}

TEST(Timing, WouldShowAComparisonThatEndsEarly) {
  double t = 0;   // of the first try that nothing disturbed
  for (int tries = 0; tries < kRuns && t <= kLeak; ++tries) t = leak(&equal_until_they_differ);
  RecordProperty("t", std::to_string(t));
  EXPECT_GT(t, kLeak);
}

}   // namespace
}   // namespace kedge::crypto
