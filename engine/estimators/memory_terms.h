// Terms of the memory rules: parameters of a step, and what samples take in the usual forms. Each family has its rules in memory.h of its folder.
// The factors were measured: tests/unit/engine/estimators/memory_test.cc holds every estimator to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

inline constexpr std::int64_t kDouble = 8;
inline constexpr std::int64_t kMost = std::int64_t{1} << 31;   // of columns, and of what a parameter counts: more is refused elsewhere
inline constexpr std::int64_t kSparseBlock = std::int64_t{64} << 20;   // of sparse rows made dense, and of what is made of them
inline constexpr std::int64_t kBlockRows = 8192;                       // rows that are gathered or multiplied together

// A parameter as it was given, or as the catalogue has it; `otherwise` where it is no such value.
std::int64_t integer(const schema::Step& step, std::string_view name, std::int64_t otherwise = 0);
std::int64_t count(const schema::Step& step, std::string_view name, std::int64_t otherwise);   // of a list how many it has
bool flag(const schema::Step& step, std::string_view name);
std::string text(const schema::Step& step, std::string_view name);   // empty where it is none

std::int64_t block(const SampleShape& X);     // gathered rows of a pass in blocks, in double
std::int64_t doubles(const SampleShape& X);
std::int64_t answers(const SampleShape& X);   // predictions and what they are made of, on the device and on the host
std::int64_t square(std::int64_t side);
std::int64_t gram(const SampleShape& X, std::int64_t side);   // a Gram matrix of this side; sparse designs are not squared beyond a block

// A transformer that makes a matrix of `cols` columns and holds `work` more while it does.
MemoryNeed makes(const SampleShape& X, std::int64_t cols, std::int64_t work);
// The same for what leaves sparse samples sparse.
MemoryNeed makes_alike(const SampleShape& X, std::int64_t cols, std::int64_t work);

}  // namespace kedge::engine::memory
