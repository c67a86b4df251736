// Sums over rows of this GPU that ranks with a GPU each divide: a rank makes the tables of its own tiles of rows, and
// their exact sums are added as integers, so that any number of ranks gives the bits of one GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/row_sums.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/view.h"

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
  // The numbers that own() makes on each rank, as many on each, in rank order. Errors: those of own(), on every rank.
  template <class V>
  std::vector<std::vector<V>> numbers_of_ranks(const std::function<std::vector<V>()>& own) {
    std::size_t count = 0;
    const std::vector<std::byte> bytes = meeting_->gather([&] {
      const std::vector<V> mine = own();
      count = mine.size();
      const auto bytes = std::as_bytes(std::span(mine));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    });
    std::vector<std::vector<V>> all(bytes.size() / (count * sizeof(V)), std::vector<V>(count));
    for (std::size_t r = 0; r < all.size(); ++r)
      std::memcpy(all[r].data(), bytes.data() + r * count * sizeof(V), count * sizeof(V));
    return all;
  }
  // Fills an array of numbers, of which each rank has those of its part: the parts lie one behind the other.
  template <class V>
  void give(const RankSeat& seat, const Part& own, V* numbers) {
    give_bytes(seat, {own.begin * kSize<V>, own.end * kSize<V>}, numbers);
  }
  // Each number becomes the largest that a rank has in its place.
  void give_largest(const RankSeat& seat, VectorView<std::int32_t> numbers);

 private:
  template <class V>
  static constexpr auto kSize = static_cast<std::int64_t>(sizeof(V));
  void give_bytes(const RankSeat& seat, const Part& own, void* array);

  CudaRuntime& runtime_;
  RowMeeting* meeting_ = nullptr;
};

}   // namespace kedge::engine
