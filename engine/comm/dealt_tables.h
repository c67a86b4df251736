// Tables of doubles that ranks make and all of them add in one order.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/dealt_blocks.h"

namespace kedge::engine {

// Calls add(table) for each of n tables in order, on every rank; make(part, take) calls take(table) for those of the
// part in order, and is called for this rank's. Without ranks it is called for all, with `add` itself. For tables that
// are few or small: all of them go to all ranks, and a sum has the bits of one process. Errors: those of make(), on
// every rank.
template <class Make, class Add>
void add_in_order(Ranks* ranks, std::int64_t n, const Make& make, const Add& add) {
  if (!ranks) return make(Part{0, n}, add);
  const PartedBytes shares = ranks->share([&] {
    ByteWriter out;
    make(own_part(ranks, n), [&](const std::vector<double>& table) { out.numbers(table); });
    return out.take();
  });
  for (int from = 0; from < shares.size(); ++from)
    for (ByteReader in(shares.part(from)); !in.at_end();) add(in.numbers<double>());
}

}   // namespace kedge::engine
