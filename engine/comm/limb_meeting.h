// Exact sums over ranks: two meetings, one for the largest magnitudes of the terms and one for the integers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/comm/ranks.h"

namespace kedge::engine {

// make() writes the magnitude of the largest term of each entry that this rank has, as the bits of a double without
// sign; afterwards `largest` holds, of those of all ranks, the exponents, which decide how terms become integers; 0
// only where all are 0. Errors: those of make(), on every rank.
void meet_for_largest(Ranks& ranks, std::span<std::int64_t> largest, const std::function<void()>& make);

// Adds the integers of all ranks, three an entry. Those of entries that are 0 everywhere, such as what lies above the
// diagonal of a Gram matrix, stay at home. In place, and made directly after share(), because it brings no errors.
void meet_for_limbs(Ranks& ranks, std::span<const std::int64_t> largest, std::span<std::int64_t> limbs);

// The same after cut() has written this rank's integers, which may fail: few travel with its error, in one meeting.
// Errors: those of cut(), on every rank.
void meet_for_limbs(Ranks& ranks, std::span<const std::int64_t> largest, std::span<std::int64_t> limbs,
                    const std::function<void()>& cut);

}   // namespace kedge::engine
