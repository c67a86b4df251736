// Two comparisons that Cap'n Proto 0.9's headers use and leave to C++20's rewriting rules, which newer clangs
// have narrowed (P2468). Comes before any Cap'n Proto header, generated ones included.
#pragma once

#if defined(__clang__) && __clang_major__ >= 16
#include <kj/string.h>

namespace kj {
inline bool operator==(const char* a, const StringPtr& b) {
  return b == StringPtr(a);
}
inline bool operator!=(const char* a, const StringPtr& b) {
  return !(b == StringPtr(a));
}
}  // namespace kj
#endif
