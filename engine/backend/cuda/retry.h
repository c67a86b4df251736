// The second try of an allocation that failed.
#pragma once

namespace kedge::engine {

// allocate() gives memory or null; once after a failure, trim() gives back what is kept of freed memory and allocate()
// is tried again.
template <class Allocate, class Trim>
void* allocate_or_trim(const Allocate& allocate, const Trim& trim) {
  if (void* const p = allocate()) return p;
  trim();
  return allocate();
}

}   // namespace kedge::engine
