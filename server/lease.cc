// The watch over a lease.
#include "server/lease.h"

#include <condition_variable>
#include <mutex>

#include "engine/core/memory_reserve.h"

namespace kedge::server {

Lease::Lease(LeaseOptions options, std::function<bool()> busy, std::function<void(std::string_view)> over)
    : options_(options), busy_(std::move(busy)), over_(std::move(over)) {
  if (options_.idle.count() > 0 || options_.life.count() > 0)
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

std::vector<http::Route> Lease::renewed_by(std::vector<http::Route> routes) {
  for (http::Route& route : routes) {
    if (!route.path.starts_with("/v1/")) continue;
    route.handler = [this, inner = std::move(route.handler)](http::Request request) {
      touch();
      return inner(std::move(request));
    };
  }
  return routes;
}

std::string_view Lease::reason() {
  const Clock::time_point now = Clock::now();
  if (options_.life.count() > 0 && now - start_ >= options_.life) return "its life is over";
  if (options_.idle.count() == 0 || now - last_use_.load() < options_.idle) return {};
  if (!busy_()) return "it is not used";
  touch();   // the time counts from the end of the last job
  return {};
}

void Lease::watch(const std::stop_token& stop) {
  const engine::UsesReserve reserve;
  constexpr std::chrono::milliseconds kPeriod{500};
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, kPeriod, [&stop] { return stop.stop_requested(); })) {
    if (const std::string_view why = reason(); !why.empty()) return over_(why);
  }
}

}  // namespace kedge::server
