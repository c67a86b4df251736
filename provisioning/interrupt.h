// Ctrl-C as an error at the next safe point, so that what was rented is on record before the program leaves.
#pragma once

namespace kedge::provisioning {

// While one lives, SIGINT and SIGTERM are noted and sleeping ends early; a third signal kills the program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
};

bool interrupted();
void forget_interrupt();      // the user chose to go on
void throw_if_interrupted();  // schema::Error{kCancelled}

}  // namespace kedge::provisioning
