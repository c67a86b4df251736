// Fail points: see fail_point.h.
#include "engine/faults/fail_point.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "schemas/error.h"

namespace kedge::faults {
namespace {

constexpr int kExitCode = 86;   // distinguishes a death on purpose from any other

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What KEDGE_FAIL_POINT requests.
struct Plan {
  std::string name, action;
  int from_hit = 1;
  std::chrono::milliseconds wait{0};

  Plan() {
    std::string text = environment("KEDGE_FAIL_POINT");
    if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
      from_hit = std::atoi(text.c_str() + at + 1);
      text.resize(at);
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return;
    name = text.substr(0, equals), action = text.substr(equals + 1);
    if (action.starts_with("sleep:")) wait = std::chrono::milliseconds(std::atoi(action.c_str() + 6));
  }
};

}  // namespace

void pass(std::size_t point) {
  static const Plan plan;   // read once; the environment does not change
  static std::atomic<int> hits = 0;
  if (plan.name.empty() || kNames[point] != plan.name || ++hits < plan.from_hit) return;
  if (plan.action == "abort") ::syscall(SYS_exit_group, kExitCode);   // not _exit(), on which sanitizers hang their last words
  if (plan.action == "error") throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("fail point {}", plan.name));
  while (plan.action == "pause") ::pause();
  std::this_thread::sleep_for(plan.wait);
}

bool is_on(std::size_t control) {
  static const std::string on = environment("KEDGE_CONTROL");
  return on == kControls[control];
}

}  // namespace kedge::faults
