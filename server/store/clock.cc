// Times as the API shows them, and job ids that sort by time: see clock.h.
#include "server/store/clock.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

namespace kedge::server {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::string_view kPrefix = "job_";
constexpr std::size_t kUlidLength = 26;

unsigned __int128 decode_ulid(std::string_view id) {
  unsigned __int128 value = 0;
  if (!id.starts_with(kPrefix) || id.size() != kPrefix.size() + kUlidLength) return 0;
  for (const char c : id.substr(kPrefix.size())) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return 0;
    value = value << 5 | digit;
  }
  return value;
}

std::string encode_ulid(unsigned __int128 value) {
  std::string text(kPrefix.size() + kUlidLength, '0');
  std::copy(kPrefix.begin(), kPrefix.end(), text.begin());
  for (std::size_t i = text.size(); i > kPrefix.size(); --i, value >>= 5)
    text[i - 1] = kAlphabet[static_cast<std::size_t>(value & 31)];
  return text;
}

std::optional<double> parse_time(std::string_view text) {
  std::tm tm{};
  int milliseconds = 0;
  if (std::sscanf(std::string(text).c_str(), "%d-%d-%dT%d:%d:%d.%dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                  &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milliseconds) != 7)
    return std::nullopt;
  tm.tm_year -= 1900, tm.tm_mon -= 1;
  return static_cast<double>(timegm(&tm)) + milliseconds / 1000.0;
}

}  // namespace

// Digit by digit: each job has some ten of them.
std::string format_time(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(ms);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(ms - day);
  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&text](std::size_t end, std::int64_t number) {   // over the zeros before `end`
    for (; number > 0; number /= 10) text[--end] = static_cast<char>('0' + number % 10);
  };
  put(4, static_cast<int>(date.year())), put(7, static_cast<unsigned>(date.month())), put(10, static_cast<unsigned>(date.day()));
  put(13, clock.hours().count()), put(16, clock.minutes().count()), put(19, clock.seconds().count()), put(23, clock.subseconds().count());
  return text;
}

double seconds_between(std::string_view from, std::string_view to) {
  const std::optional<double> a = parse_time(from), b = parse_time(to);
  return a && b ? std::max(0.0, *b - *a) : 0.0;
}

JobIds::JobIds(std::string_view last_id) : last_(decode_ulid(last_id)) {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  random_.seed(seed);
}

bool JobIds::is_id(std::string_view text) { return decode_ulid(text) != 0; }

std::string JobIds::next(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  const unsigned __int128 random = static_cast<unsigned __int128>(random_() & 0xffff) << 64 | random_();
  last_ = std::max(last_ + 1, static_cast<unsigned __int128>(ms) << 80 | random);
  return encode_ulid(last_);
}

}  // namespace kedge::server
