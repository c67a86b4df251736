// Exact sums against integers of 2,200 bits: random and hard terms, extreme exponents, every order, and what is not
// finite.
#include "engine/backend/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "engine/backend/cpu/exact_tables.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMost = std::numeric_limits<double>::max(), kLeast = std::numeric_limits<double>::denorm_min();

// Any sum of doubles, in units of 2^-1074: words of 32 bits in signed 64, carried when read.
class BigSum {
 public:
  void add(double t, std::int64_t times = 1) {
    int exponent = 0;
    const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(t), &exponent), 53));
    int place = exponent - 53 + 1074, dropped = std::max(0, -place);   // what is dropped is 0
    place = std::max(place, 0);
    const auto shifted = static_cast<unsigned __int128>(digits >> dropped) << (place % 32);
    const std::int64_t sign = std::signbit(t) ? -times : times;
    for (std::size_t w = 0; w < 4; ++w)
      words_[static_cast<std::size_t>(place / 32) + w] +=
          sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * w)));
  }

  double value() const {
    auto words = words_;
    carry(words);
    const bool is_negative = words.back() < 0;
    if (is_negative) {
      for (auto& word : words) word = -word;
      carry(words);
    }
    const auto bit = [&](int i) { return i < 0 ? 0 : words[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1; };
    int top = 32 * static_cast<int>(words.size()) - 1;
    while (top >= 0 && !bit(top)) --top;
    const int last = std::max(0, top - 52);   // the lowest bit that is kept
    std::int64_t digits = 0;
    for (int i = top; i >= last; --i) digits = 2 * digits + bit(i);
    bool is_more = false;
    for (int i = 0; i < last - 1; ++i) is_more = is_more || bit(i);
    if (bit(last - 1) && (is_more || digits % 2)) ++digits;
    const double magnitude = std::ldexp(static_cast<double>(digits), last - 1074);
    return is_negative ? -magnitude : magnitude;
  }

 private:
  static void carry(std::array<std::int64_t, 72>& words) {
    for (std::size_t w = 0; w + 1 < words.size(); ++w) {
      words[w + 1] += words[w] >> 32;
      words[w] &= 0xffffffff;
    }
  }
  std::array<std::int64_t, 72> words_ = {};
};

double reference(const std::vector<double>& terms) {
  BigSum sum;
  for (const double t : terms) sum.add(t);
  return sum.value();
}

double by_terms(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double t : terms) sum.largest = std::max(sum.largest, magnitude_bits(t));
  for (const double t : terms) sum.add(t);
  return sum.value();
}

double by_table(const std::vector<double>& terms) {
  double total = kNaN;
  add_tables(terms.data(), static_cast<std::int64_t>(terms.size()), 1, &total);
  return total;
}

std::uint64_t bits(double v) {
  return std::bit_cast<std::uint64_t>(v);
}

void expect_sum(const std::vector<double>& terms, double expected) {
  EXPECT_EQ(bits(by_terms(terms)), bits(expected))
      << by_terms(terms) << " for " << expected << ", " << terms.size() << " terms";
  EXPECT_EQ(bits(by_table(terms)), bits(expected))
      << by_table(terms) << " for " << expected << ", " << terms.size() << " terms";
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  // Random digits, some of them 0 or 1 at the end, in [2^low, 2^high).
  double number(int low, int high) {
    std::uint64_t digits = (random_() >> 11) | std::uint64_t{1} << 52;
    if (below(2)) digits &= ~std::uint64_t{0} << below(53);
    const double v = std::ldexp(static_cast<double>(digits), static_cast<int>(low + below(high - low)) - 52);
    return below(2) ? v : -v;
  }
  std::vector<double> numbers(std::int64_t n, int low, int high) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& t : v) t = number(low, high);
    return v;
  }
  void shuffle(std::vector<double>& v) { std::shuffle(v.begin(), v.end(), random_); }

 private:
  std::mt19937_64 random_;
};

TEST(ExactSum, IsTheNearestDoubleOfTermsWithin66Binades) {
  Numbers random(1);
  for (int i = 0; i < 5000; ++i) {
    const int low = static_cast<int>(random.below(1900)) - 1060,
              high = std::min(1000, low + 1 + static_cast<int>(random.below(66)));
    const auto terms = random.numbers(1 + random.below(20), low, std::max(high, low + 1));
    expect_sum(terms, reference(terms));
    if (HasFailure()) return;
  }
}

// Sums that end in the middle between two doubles, or the least bit beside it.
TEST(ExactSum, BreaksTiesToEven) {
  const double half = 0x1p-53, less = 0x1p-100;
  for (const double one : {1.0, 1.0 + 0x1p-52, -1.0})
    for (const std::vector<double>& rest : {std::vector{half},
                                            {half, less},
                                            {half, -less},
                                            {-half},
                                            {-half / 2},
                                            {-half / 2, less},
                                            {-half / 2, -less},
                                            {-half, less},
                                            {half / 2, half / 2, less, -less}}) {
      std::vector<double> terms = rest;
      terms.push_back(one);
      expect_sum(terms, reference(terms));
    }
}

TEST(ExactSum, OfTwoTermsIsTheirAddition) {
  Numbers random(2);
  for (int i = 0; i < 30000; ++i) {
    const double a = random.number(-1080, 1023), b = random.number(-1080, 1023),
                 c = std::ldexp(b, std::ilogb(a) - std::ilogb(b) - static_cast<int>(random.below(120)));
    for (const auto& terms : {std::vector{a, b}, {a, c}, {a, -c}, {a}, {b}}) {
      EXPECT_EQ(bits(by_terms(terms)), bits(0.0 + std::accumulate(terms.begin(), terms.end(), 0.0)))
          << a << ", " << terms.back();
      EXPECT_EQ(bits(by_table(terms)), bits(by_terms(terms)));
    }
    if (HasFailure()) return;
  }
}

TEST(ExactSum, HasNoOrder) {
  Numbers random(3);
  for (const std::int64_t n : {3, 31, 32, 33, 1000}) {
    auto terms = random.numbers(n, -200, 40);   // beyond what is kept whole
    const double sum = by_terms(terms);
    BigSum exact;
    for (const double t : terms) exact.add(t);
    EXPECT_NEAR(sum, exact.value(), std::ldexp(static_cast<double>(n), 40 - 120));
    for (int i = 0; i < 50; ++i) {
      random.shuffle(terms);
      expect_sum(terms, sum);
    }
  }
}

TEST(ExactSum, OfPartsIsThatOfTheWhole) {
  Numbers random(4);
  const auto terms = random.numbers(500, -90, 10);
  ExactSum parts[3];
  for (const double t : terms)
    for (ExactSum& part : parts) part.largest = std::max(part.largest, magnitude_bits(t));
  for (std::size_t i = 0; i < terms.size(); ++i) parts[i * i % 3].add(terms[i]);
  parts[0].limbs.add(parts[1].limbs), parts[0].limbs.add(parts[2].limbs);
  EXPECT_EQ(bits(parts[0].value()), bits(by_terms(terms)));
}

TEST(ExactSum, CancelsExactly) {
  Numbers random(5);
  for (int i = 0; i < 1000; ++i) {
    auto terms = random.numbers(50, -20, 40);
    for (const double t : std::vector<double>(terms)) terms.push_back(-t);
    const double left = random.number(-24, -20);
    terms.push_back(left);
    random.shuffle(terms);
    expect_sum(terms, left);
  }
  expect_sum({1e300, 1.0, -1e300, 1e-10}, 0.0);   // less than 2^-120 of the largest
}

TEST(ExactSum, KeepsSmallNumbers) {
  Numbers random(6);
  for (int i = 0; i < 5000; ++i) {
    std::vector<double> terms(static_cast<std::size_t>(1 + random.below(10)));
    for (double& t : terms)
      t = static_cast<double>(random.below(2001) - 1000) * kLeast *
          static_cast<double>(std::int64_t{1} << random.below(50));
    expect_sum(terms, reference(terms));
  }
  expect_sum({kLeast, kLeast, kLeast}, 3 * kLeast);
  expect_sum({0x1p-1022, -kLeast, 0.0}, 0x1p-1022 - kLeast);
  expect_sum({0x1p-954, kLeast, -kLeast, kLeast}, 0x1p-954);
}

TEST(ExactSum, OfZerosIsPlusZero) {
  expect_sum({}, 0.0);
  expect_sum({0.0}, 0.0);
  expect_sum({-0.0}, 0.0);
  expect_sum({-0.0, -0.0, -0.0}, 0.0);
  expect_sum({1.5, 2.5, -4.0}, 0.0);
}

TEST(ExactSum, OverflowsAtTheEndAlone) {
  expect_sum({kMost, kMost, -kMost}, kMost);
  expect_sum({kMost, kMost, kMost}, kInfinity);
  expect_sum({-kMost, -kMost, -1.0}, -kInfinity);
  const double half = 0x1p970;   // of the largest's last bit
  expect_sum({kMost, half / 2, half / 4}, kMost);
  expect_sum({kMost, half / 2, half / 2}, kInfinity);
}

TEST(ExactSum, OfWhatIsNotFiniteIsTheOrderedSum) {
  const std::vector<double> kinds{kInfinity, -kInfinity, kNaN, -kNaN, 1.0, 0.0, 0x1p1000};
  for (const double a : kinds)
    for (const double b : kinds)
      for (const double c : kinds) {
        const std::vector<double> terms{a, 2.0, b, c, -1.0};
        const double ordered = std::accumulate(terms.begin(), terms.end(), 0.0);
        if (std::isfinite(a) && std::isfinite(b) && std::isfinite(c)) continue;
        for (const double sum : {by_terms(terms), by_table(terms)}) {
          EXPECT_EQ(std::isnan(sum), std::isnan(ordered)) << a << ", " << b << ", " << c;
          EXPECT_TRUE(std::isnan(ordered) || sum == ordered) << a << ", " << b << ", " << c;
        }
      }
  expect_sum({kMost, kMost, -kInfinity}, -kInfinity);   // where the ordered sum would be NaN
}

TEST(ExactSum, HoldsAsManyTermsAsItSays) {
  for (const double term :
       {std::bit_cast<double>(bits(1.0) - 1), -1.0, std::ldexp(0x1.0000008p0, -40), kMost / 0x1p30}) {
    ExactSum sum{magnitude_bits(term)};
    sum.add(term);
    sum.limbs = {sum.limbs.high * kMostTerms, sum.limbs.middle * kMostTerms, sum.limbs.low * kMostTerms};
    BigSum expected;
    expected.add(term, kMostTerms);
    EXPECT_EQ(bits(sum.value()), bits(expected.value())) << term;
  }
  std::vector<double> tiles(std::size_t{1} << 23, 0.1);   // two thousand million rows in tiles
  tiles.push_back(0x1p-60);
  BigSum expected;
  expected.add(0.1, 1 << 23), expected.add(0x1p-60);
  EXPECT_EQ(bits(by_table(tiles)), bits(expected.value()));
}

// Every width around the blocks, with the odd table left over; each column is a sum of its own.
TEST(ExactTables, AddEachEntryByItself) {
  Numbers random(7);
  for (const std::int64_t n : {0, 1, 2, 3, 7, 100})
    for (const std::int64_t entries : {1, 2, 3, 10, 31, 32, 33, 255, 256, 257, 700}) {
      auto tables = random.numbers(n * entries, -30, 30);
      if (n > 2)
        tables[static_cast<std::size_t>(2 * entries - 1)] = kInfinity,
                                                      tables[static_cast<std::size_t>(entries / 2)] = kNaN;
      std::vector<double> total(static_cast<std::size_t>(entries), 77.0), column(static_cast<std::size_t>(n));
      add_tables(tables.data(), n, entries, total.data());
      for (std::int64_t e = 0; e < entries; ++e) {
        for (std::int64_t t = 0; t < n; ++t)
          column[static_cast<std::size_t>(t)] = tables[static_cast<std::size_t>(t * entries + e)];
        const double sum = by_terms(column);
        ASSERT_EQ(bits(total[static_cast<std::size_t>(e)]), bits(sum)) << n << " x " << entries << " at " << e;
        ASSERT_TRUE(!std::isfinite(sum) || sum == reference(column)) << n << " x " << entries << " at " << e;
      }
    }
}

}   // namespace
}   // namespace kedge::engine
