// The rows of an exact boosting fit by column: in order, or as codes where a column has few values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/host/step_team.h"

namespace kedge::engine {

inline constexpr float kSameValue = 1e-7F;   // values that differ by no more are not cut apart

// work(piece, worker) for each piece, by the team or, without one, on this thread as worker 0.
template <class Work>
void in_pieces(StepTeam* team, std::int64_t n, const Work& work) {
  if (team && n > 1) return team->run(n, work);
  for (std::int64_t i = 0; i < n; ++i) work(i, 0);
}

// Made once for all trees of a fit. Values are float32, as scikit-learn's trees read them. n_rows < 2^31.
//
// A column is coded if it has at most 256 values, no more than 1 for 8 rows, and none of them nearly equal: the sums of
// a node's rows by code give all of its cuts, without an order of the rows. Every other column is listed: its rows are
// kept in the order of their values.
struct StageColumns {
  struct Cell {
    float value;
    std::uint32_t row;
  };
  static constexpr std::int64_t kMostCodes = 256;

  std::int64_t n_rows = 0, n_cols = 0, n_coded = 0, n_listed = 0;
  std::vector<std::int32_t> coded;    // by column: its place among the coded ones, or -1
  std::vector<std::int32_t> listed;   // by column: its place among the listed ones, or -1
  std::int64_t words = 0;             // of 8 codes, for a row
  std::vector<std::uint64_t> codes;   // n_rows x words; what is behind n_coded is 0
  std::vector<float> values;          // of the coded columns, one after another, each ascending
  std::vector<std::int64_t> first;    // n_coded + 1: where a column's values begin
  std::vector<Cell> sorted;           // n_listed x n_rows, each column ascending, equal values by row

  // values: n_rows x n_cols. O(n_cols * n_rows * log(n_rows)). team: may be null.
  StageColumns(std::span<const float> values, std::int64_t n_rows, std::int64_t n_cols, StepTeam* team);

  const std::uint8_t* codes_of(std::uint32_t row) const {
    return reinterpret_cast<const std::uint8_t*>(codes.data() + static_cast<std::int64_t>(row) * words);
  }
  std::int64_t n_codes(std::int32_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return first[at + 1] - first[at];
  }
  float value_of(std::int32_t place, std::int64_t code) const {
    return values[static_cast<std::size_t>(first[static_cast<std::size_t>(place)] + code)];
  }
};

}   // namespace kedge::engine
