// Lanes: fits of one job that run at the same time on one device, each on a thread of its own, and read the same
// tables.
#pragma once

#include <functional>

#include "engine/core/device.h"

namespace kedge::engine {

// Whether this thread fits beside others: what it has not made itself is read by them, too.
bool in_lane();

// While it lives in_lane() is true on this thread. Scopes nest.
class LaneScope {
 public:
  LaneScope();
  ~LaneScope();
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

 private:
  const bool before_;
};

// make(), unless is_made() says that `of` has what it makes. In a lane one thread does so at a time for each `of`, and
// what it has made with `memory` is there, on the device as well, when others go on. Neither may make anything once of
// the same `of`. Errors: those of make(); then another lane tries.
void make_once(const void* of, Memory& memory, const std::function<bool()>& is_made, const std::function<void()>& make);

}   // namespace kedge::engine
