// The log: spdlog behind a few functions, because its headers cost five seconds a file.
#include "server/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

#include "schemas/codec.h"

namespace kedge::server {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("kedged", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *instance;
}

bool& as_json() {
  static bool json = false;
  return json;
}

// A log is ASCII: what clients send need not be UTF-8, which JSON must be.
std::string ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return out;
}

// Text from outside stays on its line.
std::string one_line(std::string_view message) {
  std::string line(message);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

// A value of more than one word is quoted, as JSON quotes it: so that none looks like several fields.
std::string field_text(std::string_view value) {
  const std::string line = one_line(value);
  return line.find_first_of(" \"=") == std::string::npos ? line : schema::value_to_json(schema::Value(ascii(line)));
}

std::string to_json(std::string_view level, std::string_view message, LogFields fields) {
  schema::ValueMap line;
  line.emplace_back("level", std::string(level));
  line.emplace_back("message", ascii(message));
  for (const auto& [name, value] : fields)
    if (!value.empty()) line.emplace_back(std::string(name), ascii(value));
  std::string text = schema::value_to_json(schema::Value(std::move(line)));
  return text.substr(1);   // the pattern begins the object with the time
}

void write(spdlog::level::level_enum level, std::string_view message, LogFields fields) {
  if (!logger().should_log(level)) return;
  if (as_json()) return logger().log(level, "{}", to_json(spdlog::level::to_string_view(level).data(), message, fields));
  std::string line = one_line(message);
  for (const auto& [name, value] : fields)
    if (!value.empty()) line += " " + std::string(name) + "=" + field_text(value);
  logger().log(level, "{}", line);
}

}  // namespace

void set_log_level(std::string_view level) {
  logger().set_level(spdlog::level::from_str(std::string(level)));
}
void set_log_json() {
  as_json() = true;
  logger().set_pattern("{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v", spdlog::pattern_time_type::utc);
}
void log_info(std::string_view message) {
  write(spdlog::level::info, message, {});
}
void log_error(std::string_view message) {
  write(spdlog::level::err, message, {});
}
void log_event(LogLevel level, std::string_view message, LogFields fields) {
  write(level == LogLevel::kDebug ? spdlog::level::debug : spdlog::level::info, message, fields);
}

}  // namespace kedge::server
