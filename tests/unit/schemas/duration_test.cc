// Durations as people write them.
#include "schemas/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace kedge::schema {
namespace {

TEST(Duration, IsReadInEveryUnit) {
  const std::pair<const char*, double> cases[] = {{"500ms", 0.5}, {"90s", 90}, {"2m", 120}, {"1.5h", 5400},
                                                  {"7d", 604800}, {"0", 0},    {"0.05m", 3}};
  for (const auto& [text, seconds] : cases) EXPECT_DOUBLE_EQ(parse_duration(text).value_or(-1), seconds) << text;
}

TEST(Duration, WithoutAUnitCountsWhatTheCallerSays) {
  EXPECT_DOUBLE_EQ(parse_duration("15", 60).value_or(-1), 900);
  EXPECT_DOUBLE_EQ(parse_duration("15s", 60).value_or(-1), 15);
}

TEST(Duration, OfAnotherFormIsNone) {
  for (const char* text :
       {"", "m", "-1s", "-0", "+1s", "1 s", "1S", "1min", "1h30m", "1e3", "0x10", "nan", "inf", "1s ", "99999999999d"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Duration, IsWrittenInTheLargestWholeUnit) {
  const std::pair<double, const char*> cases[] = {{0, "0s"},    {0.5, "500ms"},   {3, "3s"},        {90, "90s"},
                                                  {600, "10m"}, {8 * 3600, "8h"}, {7 * 86400, "7d"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(duration_text(seconds), text);
}

}   // namespace
}   // namespace kedge::schema
