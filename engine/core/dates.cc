// Reads dates by hand: the calendar is the standard library's.
#include "engine/core/dates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::array<std::pair<DatePart, const char*>, 5> kParts{{{DatePart::kAll, "parts"},
                                                                  {DatePart::kYear, "year"},
                                                                  {DatePart::kMonth, "month"},
                                                                  {DatePart::kDay, "day"},
                                                                  {DatePart::kWeekday, "weekday"}}};

// Takes a text from the left.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool is_done() const { return rest_.empty(); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<char> take_any(std::string_view of) {
    if (rest_.empty() || of.find(rest_[0]) == std::string_view::npos) return std::nullopt;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  // A whole number of `least` to `most` digits.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    int value = 0;
    while (n < rest_.size() && n < most && rest_[n] >= '0' && rest_[n] <= '9') value = 10 * value + (rest_[n++] - '0');
    if (n < least) return std::nullopt;
    rest_.remove_prefix(n);
    return value;
  }

 private:
  std::string_view rest_;
};

// Nothing unless three numbers with one kind of separator are a day of the calendar.
std::optional<double> take_day(Scanner& in, DateOrder order) {
  const bool is_year_first = order == DateOrder::kYearFirst;
  const auto first = is_year_first ? in.number(4, 4) : in.number(1, 2);
  const auto separator = in.take_any(is_year_first ? "-/" : "-/.");
  const auto second = in.number(1, 2);
  if (!first || !separator || !second || !in.take(*separator)) return std::nullopt;
  const auto third = is_year_first ? in.number(1, 2) : in.number(4, 4);
  if (!third) return std::nullopt;
  const int year = is_year_first ? *first : *third;
  const int month = order == DateOrder::kMonthFirst ? *first : *second;
  const int day = is_year_first ? *third : order == DateOrder::kMonthFirst ? *second : *first;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

// Seconds that "Z", "+02:00" or "-0530" is ahead of UTC; 0 where nothing is left.
std::optional<double> take_zone(Scanner& in) {
  if (in.is_done() || in.take('Z')) return in.is_done() ? std::optional(0.0) : std::nullopt;
  const auto sign = in.take_any("+-");
  const auto hours = in.number(2, 2);
  in.take(':');
  const auto minutes = in.is_done() ? std::optional(0) : in.number(2, 2);
  if (!sign || !hours || !minutes || *hours > 23 || *minutes > 59 || !in.is_done()) return std::nullopt;
  return (*sign == '-' ? -1.0 : 1.0) * (*hours * 3600 + *minutes * 60);
}

// Seconds since midnight UTC of "13:45[:30[.25]][zone]".
std::optional<double> take_time(Scanner& in) {
  const auto hours = in.number(1, 2);
  if (!hours || *hours > 23 || !in.take(':')) return std::nullopt;
  const auto minutes = in.number(2, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  double seconds = 0;
  if (in.take(':')) {
    const auto whole = in.number(2, 2);
    if (!whole || *whole > 60) return std::nullopt;
    seconds = *whole;
    double unit = 0.1;
    if (in.take('.'))
      for (auto digit = in.number(1, 1); digit; digit = in.number(1, 1), unit /= 10) seconds += *digit * unit;
  }
  const auto ahead = take_zone(in);
  if (!ahead) return std::nullopt;
  return *hours * 3600 + *minutes * 60 + seconds - *ahead;
}

}  // namespace

std::optional<DateType> date_type(std::string_view text) {
  constexpr std::string_view kDate = "date";
  if (!text.starts_with(kDate)) return std::nullopt;
  text.remove_prefix(kDate.size());
  DateType type;
  if (text.starts_with(":dmy")) type.order = DateOrder::kDayFirst;
  if (text.starts_with(":mdy")) type.order = DateOrder::kMonthFirst;
  if (type.order != DateOrder::kYearFirst) text.remove_prefix(4);
  if (text.empty()) return type;
  for (const auto& [part, name] : kParts) {
    if (text.substr(0, 1) != ":" || text.substr(1) != name) continue;
    type.part = part;
    return type;
  }
  return std::nullopt;
}

std::string to_text(const DateType& type) {
  std::string text = "date";
  if (type.order == DateOrder::kDayFirst) text += ":dmy";
  if (type.order == DateOrder::kMonthFirst) text += ":mdy";
  if (type.part != DatePart::kDays) text += std::string(":") + name_of(type.part);
  return text;
}

std::optional<double> days_of(std::string_view text, DateOrder order) {
  constexpr double kDaySeconds = 86400;
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  Scanner in(text);
  const auto day = take_day(in, order);
  if (!day || in.is_done()) return day;
  if (!in.take('T') && !in.take(' ')) return std::nullopt;
  const auto seconds = take_time(in);
  if (!seconds) return std::nullopt;
  return *day + *seconds / kDaySeconds;
}

double part_of(double days, DatePart part) {
  if (std::isnan(days) || part == DatePart::kDays || part == DatePart::kAll) return days;
  constexpr double kMost = 1e7;   // some 27,000 years, which the calendar can hold
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(std::floor(std::clamp(days, -kMost, kMost))))};
  const std::chrono::year_month_day date(day);
  if (part == DatePart::kYear) return static_cast<int>(date.year());
  if (part == DatePart::kMonth) return static_cast<unsigned>(date.month());
  if (part == DatePart::kDay) return static_cast<unsigned>(date.day());
  return std::chrono::weekday(day).iso_encoding() - 1;
}

std::vector<DateType> single_parts(const DateType& type) {
  if (type.part != DatePart::kAll) return {type};
  std::vector<DateType> parts;
  for (const DatePart part : {DatePart::kYear, DatePart::kMonth, DatePart::kDay, DatePart::kWeekday})
    parts.push_back({type.order, part});
  return parts;
}

const char* name_of(DatePart part) {
  const auto found = std::ranges::find(kParts, part, &std::pair<DatePart, const char*>::first);
  return found == kParts.end() ? "days" : found->second;
}

std::optional<DateOrder> order_of_dates(const std::vector<std::string>& texts) {
  for (const DateOrder order : {DateOrder::kYearFirst, DateOrder::kDayFirst, DateOrder::kMonthFirst})
    if (!texts.empty() && std::ranges::all_of(texts, [&](const std::string& text) { return days_of(text, order).has_value(); }))
      return order;
  return std::nullopt;
}

}  // namespace kedge::engine
