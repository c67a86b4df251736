// Sums over rows of this GPU that ranks with a GPU each divide: a rank makes the tables of its own tiles of rows, and
// their exact sums are added as integers, so that any number of ranks gives the bits of one GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/row_sums.h"
#include "engine/comm/dealt_blocks.h"

namespace kedge::engine {

// Of n consecutive tiles, and of n rows, those that are this rank's. Rows are dealt as on processors, so that what is
// made for each row, such as a label, has one owner.
inline Part own_tiles(const RankSeat& seat, std::int64_t n) {
  return part_of_rank(seat.rank, seat.size, n);
}
inline Part own_rows(const RankSeat& seat, std::int64_t n) {
  return rows_of_rank(seat.rank, seat.size, n);
}
// The rows of such tiles.
inline Part rows_of_tiles(const Part& tiles, std::int64_t tile_rows, std::int64_t n) {
  return {std::min(n, tiles.begin * tile_rows), std::min(n, tiles.end * tile_rows)};
}

// Tables of doubles in the GPU's memory, one behind the other. Borrowed.
struct DeviceTables {
  const double* data;
  std::int64_t count;
};

// What the bodies of a device's ops share. Borrows the runtime, and the meeting while it has one.
class DealtSums {
 public:
  explicit DealtSums(CudaRuntime& runtime) : runtime_(runtime) {}

  RowMeeting* meet_by(RowMeeting* meeting) { return std::exchange(meeting_, meeting); }
  bool asks_for(std::int64_t n_rows) const;
  // This rank among those that divide sums over n rows now.
  RankSeat seat(std::int64_t n_rows) const { return asks_for(n_rows) ? meeting_->seat() : RankSeat{}; }

  // total[e] = the exact sum of entry e of all tables of all ranks, rounded once; own() makes those of this rank, and
  // is called once. Alone nothing waits. Errors: those of own(), on every rank.
  void add(const RankSeat& seat, std::int64_t entries, const std::function<DeviceTables()>& own, double* total);
  // As sum_values() of sums.cuh: each rank sums own_rows().
  void add_values(const RankSeat& seat, const double* values, std::int64_t n, double* total);
  // The sum of what own() says on each rank.
  std::int64_t add_number(const RankSeat& seat, const std::function<std::int64_t()>& own);
  // Fills an array of whose n numbers each rank has those of its part: the parts lie one behind the other.
  void give(const RankSeat& seat, const Part& own, std::int32_t* numbers);

 private:
  CudaRuntime& runtime_;
  RowMeeting* meeting_ = nullptr;
};

}   // namespace kedge::engine
