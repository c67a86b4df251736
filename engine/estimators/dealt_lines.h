// The log lines of work that ranks share, so that they come in the order of one process.
#pragma once

#include <vector>

#include "engine/comm/bytes.h"
#include "engine/core/context.h"

namespace kedge::engine {

// Keeps what a rank's share of the work says.
class KeptLines {
 public:
  explicit KeptLines(const Context& ctx);   // borrows it
  KeptLines(const KeptLines&) = delete;
  KeptLines& operator=(const KeptLines&) = delete;

  const Context& context() const { return own_; }   // for the work
  void write(ByteWriter& out);                      // those since the last time

 private:
  Context own_;
  std::vector<schema::LogEvent> lines_;
};

// Says what write() has written. Errors: kInternal for bytes that are none.
void tell_lines(const Context& ctx, ByteReader& in);

}   // namespace kedge::engine
