// Sums over rows that ranks with a device each divide: what the operations of a device ask of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/backend.h"

namespace kedge::engine {

// This rank among those that divide a sum; alone where it is not divided.
struct RankSeat {
  int rank = 0, size = 1;
  bool is_alone() const { return size == 1; }
};

// How the operations of a rank's device meet those of the others. Calls are collective and made by the thread that runs
// the fit, on host memory. Errors of what a rank does within a call are those of the lowest rank, on every rank.
class RowMeeting {
 public:
  virtual ~RowMeeting() = default;

  // Of this thread, now.
  virtual RankSeat seat() const = 0;
  // Exact sums (exact_sum.h) of what all ranks have. make() writes the largest magnitude_bits() of each entry of this
  // rank's terms, after which `largest` holds those of all; cut() writes for these the three integers of each entry
  // into `limbs`, which then holds the sums of all.
  virtual void add(std::span<std::int64_t> largest, std::span<std::int64_t> limbs, const std::function<void()>& make,
                   const std::function<void()>& cut) = 0;
  // The bytes that own() makes on each rank, one behind the other.
  virtual std::vector<std::byte> gather(const std::function<std::vector<std::byte>()>& own) = 0;
};

// What a device has beside Device where its operations divide sums over rows.
class RowSumsDevice {
 public:
  virtual ~RowSumsDevice() = default;
  // From now on operations ask `meeting`, which the device borrows, how sums over rows are divided; null: each makes
  // all. Returns what they asked before.
  virtual RowMeeting* meet_by(RowMeeting* meeting) noexcept = 0;
  // Whether they ask for sums over so many rows. The number alone decides, so that a rank's rows are the same in all.
  virtual bool asks_for(std::int64_t n_rows) const = 0;
};

// Null for a device that has its sums divided elsewhere, or not at all.
inline RowSumsDevice* row_sums_device(Device& device) {
  return dynamic_cast<RowSumsDevice*>(&device);
}
inline const RowSumsDevice* row_sums_device(const Device& device) {
  return dynamic_cast<const RowSumsDevice*>(&device);
}

}   // namespace kedge::engine
