// Log lines as bytes and back.
#include "engine/estimators/dealt_lines.h"

#include <utility>

namespace kedge::engine {

KeptLines::KeptLines(const Context& ctx) : own_(ctx) {
  own_.emit = [this](schema::EventBody body) {
    if (auto* line = std::get_if<schema::LogEvent>(&body)) lines_.push_back(std::move(*line));
  };
}

void KeptLines::write(ByteWriter& out) {
  out.number<std::uint64_t>(lines_.size());
  for (const schema::LogEvent& line : lines_) out.text(line.level), out.text(line.message);
  lines_.clear();
}

void tell_lines(const Context& ctx, ByteReader& in) {
  for (auto lines = in.number<std::uint64_t>(); lines > 0; --lines) {
    schema::LogEvent line;
    line.level = in.text(), line.message = in.text();
    if (ctx.emit) ctx.emit(std::move(line));
  }
}

}   // namespace kedge::engine
