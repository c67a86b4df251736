// Loops over rows on the host's threads; what a block makes does not depend on how many there are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/host/step_team.h"

namespace kedge::engine {

inline constexpr std::int64_t kRowBlock = 256;
inline std::int64_t row_blocks(std::int64_t n) { return (n + kRowBlock - 1) / kRowBlock; }

// body(begin, end) for each block of rows [0, n).
template <class Body>
void for_row_blocks(std::int64_t n, const Body& body) {
  side_by_side(row_blocks(n), [&](std::int64_t block) {
    body(block * kRowBlock, std::min(n, (block + 1) * kRowBlock));
  });
}

// The same on a team.
template <class Body>
void for_row_blocks(StepTeam& team, std::int64_t n, const Body& body) {
  team.run(row_blocks(n),
           [&](std::int64_t block, int) { body(block * kRowBlock, std::min(n, (block + 1) * kRowBlock)); });
}

}   // namespace kedge::engine
