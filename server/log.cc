// The log: spdlog behind three functions, because its headers cost five seconds a file.
#include "server/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

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

// Text from outside stays on its line.
std::string one_line(std::string_view message) {
  std::string line(message);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

}  // namespace

void set_log_level(std::string_view level) {
  logger().set_level(spdlog::level::from_str(std::string(level)));
}
void log_info(std::string_view message) {
  logger().info("{}", one_line(message));
}
void log_error(std::string_view message) {
  logger().error("{}", one_line(message));
}

}  // namespace kedge::server
