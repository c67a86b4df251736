// Reading many short integers at once, compared with reading them one by one.
#include "server/data/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace kedge::server {
namespace {

constexpr std::size_t kNoLimit = 1000;

// Cells of one to `most_digits` digits, each with its comma.
std::string random_cells(std::mt19937& random, int count, int most_digits) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (int digits = 1 + static_cast<int>(random() % static_cast<unsigned>(most_digits)); digits > 0; --digits)
      text += static_cast<char>('0' + random() % 10);
    text += ',';
  }
  return text;
}

template <class T>
void expect_the_same_one_by_one(const std::string& text) {
  std::vector<T> values(text.size());
  const char* const end = text.data() + text.size();
  const ScannedRun run = scan_short_integers(text.data(), end, values.data(), kNoLimit);
  const char* p = text.data();
  for (std::size_t i = 0; i < run.n; ++i) {
    const auto number = scan_number<T>(p, end);
    ASSERT_NE(number.next, nullptr) << text;
    ASSERT_EQ(*number.next, ',') << text;
    ASSERT_EQ(values[i], number.value) << text;
    p = number.next + 1;
  }
  EXPECT_EQ(run.next, p) << text;
}

TEST(ShortIntegers, AreWhatTheyAreOneByOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_cells(random, 1 + static_cast<int>(random() % 120), 1 + round % 5);
    expect_the_same_one_by_one<float>(text);
    expect_the_same_one_by_one<double>(text);
  }
}

TEST(ShortIntegers, AreReadAsFarAsTheEndIsFar) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "0,255,";
  std::vector<float> values(200);
  const ScannedRun run = scan_short_integers(text.data(), text.data() + text.size(), values.data(), kNoLimit);
  EXPECT_GT(run.n, 170u);   // all but those of the last 71 characters
  EXPECT_EQ(values[run.n - 1], run.n % 2 == 1 ? 0.0f : 255.0f);
}

TEST(ShortIntegers, EndBeforeAnyOtherCell) {
  for (const std::string other :
       {"", " ", "-1", "+1", "1.5", "1e3", "12345", "?", "'1'", "x", "1 ", " 1", "1\r", "\x80", "/", ":", "9a", "\xfa\xfa"}) {
    const std::string text = "1,22,333,4444,5,6,7,8,9,0," + other + "," + std::string(100, '0');
    std::vector<double> values(200);
    const ScannedRun run = scan_short_integers(text.data(), text.data() + text.size(), values.data(), kNoLimit);
    EXPECT_EQ(run.n, 10u) << other;
    EXPECT_EQ(run.next, text.data() + text.find(other + ",", 26)) << other;
    EXPECT_EQ(values[3], 4444) << other;
  }
}

TEST(ShortIntegers, AreNoMoreThanAsked) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "7,";
  for (std::size_t most = 0; most < 40; ++most) {
    std::vector<float> values(most + 8, -1.0f);
    const ScannedRun run = scan_short_integers(text.data(), text.data() + text.size(), values.data(), most);
    EXPECT_EQ(run.n, most);
    EXPECT_EQ(run.next, text.data() + 2 * most);
    EXPECT_EQ(values[most], -1.0f);   // and nothing behind them is touched
  }
}

template <class T>
void expect_as_by_fast_float(const std::string& text) {
  const char *const p = text.data(), *const end = p + text.size();
  const ScannedNumber<T> fast = scan_number<T>(p, end), right = scan_any_number<T>(p, end);
  ASSERT_EQ(fast.next, right.next) << text;
  if (!right.next) return;
  ASSERT_EQ(std::memcmp(&fast.value, &right.value, sizeof(T)), 0) << text;
  ASSERT_EQ(fast.exact, right.exact) << text;
}

void expect_both_as_by_fast_float(const std::string& text) {
  expect_as_by_fast_float<float>(text);
  expect_as_by_fast_float<double>(text);
}

std::string random_digits(std::mt19937& random, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>('0' + random() % 10);
  return text;
}

TEST(Decimals, AreTheBitsOfFastFloat) {
  std::mt19937 random(3);
  const std::vector<std::string> behind{"", ",", " ", "\r", "e3", "E-7", "e", "x", ".", ".5", "-", ",12345678,"};
  for (int before = 0; before <= 9; ++before)
    for (int after = 0; after <= 18; ++after)
      for (const std::string& rest : behind)
        for (const char* sign : {"", "-", "+", "--"})
          for (int i = 0; i < 6; ++i)
            expect_both_as_by_fast_float(sign + random_digits(random, before) + "." + random_digits(random, after) +
                                         rest);
}

TEST(Decimals, OfFifteenDigitsAndOfZeroAreTheBitsOfFastFloat) {
  for (const char* text : {"0.0",
                           "-0.0",
                           "-0.000000000",
                           "9999999.99999999",
                           "9999999.9999999",
                           "1.00000000000000",
                           "1.000000000000001",
                           "0.1",
                           "0.3",
                           "1234567.12345678",
                           "00.50",
                           "0000000.1",
                           "1.",
                           "-1.",
                           ".",
                           "-.",
                           "1..2",
                           "1.e5",
                           "16777217.0",
                           "1.12345678",
                           "1.1234567",
                           "1.123456789"})
    expect_both_as_by_fast_float(text);
}

// Each cell that a run reads is what scan_number makes of it, and it stops only at cells that it may leave.
template <class T>
void expect_run_one_by_one(const std::string& text, bool all) {
  std::vector<T> values(text.size());
  const char* const end = text.data() + text.size();
  const ScannedRun run = scan_short_decimals(text.data(), end, values.data(), kNoLimit);
  const char* p = text.data();
  for (std::size_t i = 0; i < run.n; ++i) {
    const auto number = scan_any_number<T>(p, end);
    ASSERT_NE(number.next, nullptr) << text;
    ASSERT_EQ(*number.next, ',') << text;
    ASSERT_EQ(std::memcmp(&values[i], &number.value, sizeof(T)), 0) << text;
    ASSERT_TRUE(number.exact) << text;
    p = number.next + 1;
  }
  EXPECT_EQ(run.next, p) << text;
  if (all) {
    EXPECT_LT(end - p, 64 + 9) << text;
  }
}

TEST(ShortDecimals, AreWhatTheyAreOneByOne) {
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 80; ++i) {
      const int digits = 1 + static_cast<int>(random() % 7), before = static_cast<int>(random() % 8u);
      std::string cell = random_digits(random, digits);
      if (before <= digits) cell.insert(static_cast<std::size_t>(before), ".");
      text += (random() % 2 ? "-" : "") + cell + ",";
    }
    expect_run_one_by_one<double>(text, true);
    expect_run_one_by_one<float>(text, false);
  }
}

TEST(ShortDecimals, EndBeforeAnyOtherCell) {
  for (const std::string other :
       {"",   " ",  "-",     "--1",  "+1",   ".", "-.",  "1.2.3", "1e3",       "123456789", "?",   "'1'",      "x",
        "1 ", " 1", "1.5\r", "1\n2", "\x80", "/", "1/5", "1:",    "\xfa.\xfa", "1.\xff",    "nan", "1.2345678"}) {
    const std::string text = "1,-2.5,.5,5.,-0," + other + "," + std::string(100, '0');
    std::vector<double> values(200);
    const ScannedRun run = scan_short_decimals(text.data(), text.data() + text.size(), values.data(), kNoLimit);
    EXPECT_EQ(run.n, 5u) << other;
    EXPECT_EQ(values[1], -2.5);
    EXPECT_TRUE(std::signbit(values[4]));
  }
  const std::string text = "0.5,0.1," + std::string(100, '0');
  std::vector<float> values(200);
  EXPECT_EQ(scan_short_decimals(text.data(), text.data() + text.size(), values.data(), kNoLimit).n, 1u)
      << "0.1 is not exact in float32";
  EXPECT_EQ(scan_short_decimals(text.data(), text.data() + text.size(), values.data(), 0).n, 0u);
}

TEST(Commas, AreMarkedEquallyByEveryMethod) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    std::string text(64, '\0');
    for (char& c : text)
      c = random() % 3 == 0 ? ','
                            : static_cast<char>(random() % 4 == 0 ? ',' ^ 0x80 ^ static_cast<int>(random() % 3)
                                                                  : static_cast<int>(random() % 256));
    std::uint64_t expected = 0;
    for (int i = 0; i < 64; ++i) expected |= std::uint64_t{text[static_cast<std::size_t>(i)] == ','} << i;
    EXPECT_EQ(mark_commas_by_words(text.data()), expected);
    EXPECT_EQ(mark_commas(text.data()), expected);
  }
}

}   // namespace
}   // namespace kedge::server
