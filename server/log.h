// The log: lines to stderr, for people or as JSON.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

namespace kedge::server {

// level: debug, info, warning, error or off.
void set_log_level(std::string_view level);
// One JSON object a line, with "time", "level", "message" and the fields of log_event(). Call it before the first line.
void set_log_json();
void log_info(std::string_view message);
void log_error(std::string_view message);

enum class LogLevel { kDebug, kInfo };
using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// Fields without a value are left out.
void log_event(LogLevel level, std::string_view message, LogFields fields);

}  // namespace kedge::server
