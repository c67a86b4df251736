// The log: lines to stderr.
#pragma once

#include <string_view>

namespace kedge::server {

// level: debug, info, warning, error or off.
void set_log_level(std::string_view level);
void log_info(std::string_view message);
void log_error(std::string_view message);

}  // namespace kedge::server
