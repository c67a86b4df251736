// Deals the folds of a job to the lanes of its device (engine/backend/lanes.h), where small fits leave it idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

// Overrules the choice of lanes_for(): "1" turns lanes off.
inline constexpr const char* kLanesVariable = "KEDGE_GPU_LANES";
inline constexpr int kMostLanes = 32;

// What fits of a job take, which tells how many of them gain by running at the same time.
struct LaneLoad {
  std::int64_t pieces = 0;        // that can be dealt
  std::int64_t table_bytes = 0;   // the values that they read
  std::int64_t fit_bytes = 0;     // of device memory that one fit may take beside them; 0: not known
};

// At most one a piece; 1 where the device has no lanes, where a fit has values enough to keep it busy, in a lane, and
// where the free memory, of the device or the host, does not hold two fits. Errors: kInvalidValue for a KEDGE_GPU_LANES
// that is no number from 1 to kMostLanes.
int lanes_for(const Context& ctx, const LaneLoad& load);

// Pieces of work, each by itself, and what becomes of their results.
struct LaneWork {
  std::int64_t n = 0;
  // Makes piece i with the context: of a lane, on its thread, or that of the job. Its events are not told.
  std::function<std::vector<std::byte>(const Context&, std::int64_t i)> make;
  // Takes what make() has made, on the thread of the job, in ascending order.
  std::function<void(std::int64_t i, std::span<const std::byte>)> take;
  // On the thread of the job, now and then while it waits; may be empty.
  std::function<void()> tell = {};
};

// Lanes take the pieces in order. A piece that a lane has no memory for is made again with the job's own device, when
// all lanes have ended; that lane takes none after it. Errors: that of the first piece that fails, when those before it
// were taken; kCancelled when the job is stopped, within the time that a fit takes to see it.
void deal_to_lanes(const Context& ctx, int n_lanes, const LaneWork& work);

}   // namespace kedge::engine
