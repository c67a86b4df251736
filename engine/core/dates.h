// Dates as numbers: days since 1970-01-01, or their year, month, day and weekday.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

enum class DateOrder { kYearFirst, kDayFirst, kMonthFirst };
enum class DatePart { kDays, kAll, kYear, kMonth, kDay, kWeekday };

// How a column of dates is read: "date", then ":dmy" or ":mdy" where day or month come first, then ":parts", ":year", ":month",
// ":day" or ":weekday". kAll is ":parts": a column for each of the four.
struct DateType {
  DateOrder order = DateOrder::kYearFirst;
  DatePart part = DatePart::kDays;
  friend bool operator==(const DateType&, const DateType&) = default;
};

std::optional<DateType> date_type(std::string_view text);   // nothing for what is no such type
std::string to_text(const DateType& type);

// "2024-05-31", "2024/5/31", also with a time: "2024-05-31T13:45:00.5+02:00", "2024-05-31 13:45" (UTC unless it says otherwise);
// day or month first with '.', '/' or '-': "31.05.2024". Days since 1970-01-01, the time as a fraction. Nothing for anything else.
std::optional<double> days_of(std::string_view text, DateOrder order = DateOrder::kYearFirst);

// A part of days_of(): the year, the month (1 to 12), the day of the month, the weekday (0: Monday); kDays and kAll: the days. NaN stays NaN.
double part_of(double days, DatePart part);

// What one date becomes: one or, for kAll, four types, each of one part.
std::vector<DateType> single_parts(const DateType& type);
const char* name_of(DatePart part);   // "year"

// The order in which every text is a date, the first that fits; nothing where there is none, and for no texts.
std::optional<DateOrder> order_of_dates(const std::vector<std::string>& texts);

}  // namespace kedge::engine
