// Dates as days since 1970-01-01 and as parts.
#include "engine/core/dates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

TEST(Dates, CountsDaysSince1970) {
  EXPECT_EQ(days_of("1970-01-01"), 0);
  EXPECT_EQ(days_of("1969-12-31"), -1);
  EXPECT_EQ(days_of("2024-02-29"), 19782);   // date -u -d 2024-02-29 +%s, over 86400
  EXPECT_EQ(days_of(" 2024/2/29 "), 19782);
}

TEST(Dates, TakesATimeAsAFractionInUtc) {
  EXPECT_EQ(days_of("1970-01-02T12:00"), 1.5);
  EXPECT_EQ(days_of("1970-01-02 06:00:00Z"), 1.25);
  EXPECT_EQ(days_of("1970-01-02T12:00:00.5+12:00"), 1 + 0.5 / 86400);
  EXPECT_EQ(days_of("1970-01-02T12:00:00-0600"), 1.75);
}

TEST(Dates, TakesTheDayOrTheMonthFirstAsTheTypeSays) {
  EXPECT_EQ(days_of("2.1.1970", DateOrder::kDayFirst), 1);
  EXPECT_EQ(days_of("01/02/1970", DateOrder::kMonthFirst), 1);
  EXPECT_EQ(order_of_dates({"31.01.2024", "01.02.2024"}), DateOrder::kDayFirst);
  EXPECT_EQ(order_of_dates({"01/31/2024", "02/01/2024"}), DateOrder::kMonthFirst);
  EXPECT_EQ(order_of_dates({}), std::nullopt);
}

TEST(Dates, RefusesWhatIsNoDayOfTheCalendar) {
  for (const char* text : {"2023-02-29", "2024-13-01", "24-01-01", "2024-01", "2024-01-01x", "2024-01/01", "2024-01-01T25:00", "unknown", "",
                           "20240101", "2024-01-01T12:00+99:00"})
    EXPECT_EQ(days_of(text), std::nullopt) << text;
}

TEST(Dates, HasParts) {
  const double day = *days_of("2024-02-29T23:59");   // a Thursday
  EXPECT_EQ(part_of(day, DatePart::kYear), 2024);
  EXPECT_EQ(part_of(day, DatePart::kMonth), 2);
  EXPECT_EQ(part_of(day, DatePart::kDay), 29);
  EXPECT_EQ(part_of(day, DatePart::kWeekday), 3);
  EXPECT_EQ(part_of(-0.5, DatePart::kYear), 1969);
  EXPECT_TRUE(std::isnan(part_of(std::numeric_limits<double>::quiet_NaN(), DatePart::kYear)));
  EXPECT_TRUE(std::isfinite(part_of(1e300, DatePart::kYear)));
}

TEST(Dates, ReadsTypesAndWritesThemBack) {
  for (const char* text : {"date", "date:parts", "date:dmy", "date:mdy:parts", "date:dmy:year", "date:weekday"})
    EXPECT_EQ(to_text(date_type(text).value()), text);
  for (const char* text : {"dates", "date:", "date:ydm", "date:partsx", "number", ""}) EXPECT_EQ(date_type(text), std::nullopt) << text;
  EXPECT_EQ(single_parts(*date_type("date:dmy:parts")).size(), 4U);
}

}  // namespace
}  // namespace kedge::engine
