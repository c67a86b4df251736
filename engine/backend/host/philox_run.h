// Consecutive blocks of a Philox stream, several at once.
#pragma once

#include <cstdint>

namespace kedge::engine {

inline constexpr int kPhiloxRun = 8;

// The blocks first .. first + kPhiloxRun - 1 of the stream, four words each: what philox() gives one by one.
void philox_run(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint32_t* words);

}   // namespace kedge::engine
