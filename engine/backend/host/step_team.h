// Many short loops, one after another, on threads that stay awake between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace kedge::engine {

// Threads that help one thread, the driver, with its loops. The driver takes pieces itself and waits for those alone
// that a helper has begun, never for a helper that has not come: where other programs hold the cores, it does all of
// them.
class StepTeam {
 public:
  explicit StepTeam(int size) : size_(size) {}
  StepTeam(const StepTeam&) = delete;
  StepTeam& operator=(const StepTeam&) = delete;

  int size() const { return size_; }   // the driver counted
  // For the driver: work(i, worker) once for each i in [0, pieces), in any order; worker in [0, size()) names the
  // thread, 0 being the driver. What it makes must not depend on either. pieces: below 2^32 - 1. After an exception no
  // further piece starts, and the first exception is thrown here; kCancelled where the driver's stop is requested.
  using Work = std::function<void(std::int64_t, int)>;
  void run(std::int64_t pieces, const Work& work);

 private:
  friend void with_step_team(const std::function<void(StepTeam&)>& drive);

  void take_pieces(int worker);   // until none is left
  void help(int worker);          // until close()
  void close();

  int size_;
  // The number of the loop in the upper half, the next piece in the lower one. A helper takes a piece by adding 1 to
  // what it read, which fails if the loop has ended since: so the work that it read is that of the loop.
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> pieces_{0}, done_{0};
  std::atomic<const Work*> work_{nullptr};
  std::atomic<bool> closed_{false};
};

// drive(team) on the calling thread, with the threads of the ops as helpers. Ops that drive() calls have one thread;
// within side_by_side() there are no helpers. What drive() throws is thrown here.
void with_step_team(const std::function<void(StepTeam&)>& drive);

}   // namespace kedge::engine
