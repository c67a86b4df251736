// The real clock, and the note that a signal leaves.
#include "provisioning/clock.h"

#include <csignal>
#include <thread>

#include "provisioning/interrupt.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

// Written by a signal handler, which can reach nothing else.
volatile std::sig_atomic_t signals_seen = 0;

void on_signal(int number) {
  signals_seen = signals_seen + 1;
  if (signals_seen < 3) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals_seen = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() {
  return signals_seen > 0;
}
void forget_interrupt() {
  signals_seen = 0;
}
void throw_if_interrupted() {
  if (interrupted()) throw schema::Error(schema::ErrorCode::kCancelled, "interrupted");
}

std::int64_t SystemClock::unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double SystemClock::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void SystemClock::sleep(std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds kSlice{50};  // how soon a Ctrl-C is noticed
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(kSlice, end - std::chrono::steady_clock::now()));
  }
  throw_if_interrupted();
}

}  // namespace kedge::provisioning
