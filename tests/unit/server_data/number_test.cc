// Reading many short integers at once, compared with reading them one by one.
#include "server/data/number.h"

#include <gtest/gtest.h>

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
