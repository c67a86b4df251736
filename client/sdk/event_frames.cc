// Server-sent events out of the bytes of a stream.
#include "client/sdk/event_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "schemas/error.h"

namespace kedge {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void check_length(std::size_t bytes) {
  if (bytes > EventFrames::kLongest)
    throw schema::Error(schema::ErrorCode::kInternal,
                        fmt::format("an event of the stream is longer than {} bytes", EventFrames::kLongest));
}

}   // namespace

void EventFrames::put(std::string_view bytes) {
  waiting_.erase(0, taken_);
  searched_ -= taken_;
  taken_ = 0;
  check_length(waiting_.size() + bytes.size());
  waiting_ += bytes;
}

std::optional<std::string_view> EventFrames::next_line() {
  if (!begun_) {
    if (waiting_.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(waiting_)) return std::nullopt;
    if (waiting_.starts_with(kByteOrderMark)) taken_ = searched_ = kByteOrderMark.size();
    begun_ = true;
  }
  if (drop_line_feed_ && taken_ < waiting_.size()) {
    if (waiting_[taken_] == '\n') ++taken_;
    drop_line_feed_ = false;
  }
  const std::size_t end = waiting_.find_first_of("\r\n", std::max(searched_, taken_));
  if (end == std::string::npos) {
    searched_ = waiting_.size();
    return std::nullopt;
  }
  const std::string_view line = std::string_view(waiting_).substr(taken_, end - taken_);
  drop_line_feed_ = waiting_[end] == '\r';
  taken_ = searched_ = end + 1;
  return line;
}

void EventFrames::take(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") frame_.event = value;
  if (field != "data") return;
  check_length(frame_.data.size() + value.size());
  if (has_data_) frame_.data += '\n';
  frame_.data += value;
  has_data_ = true;
}

std::optional<EventFrame> EventFrames::next() {
  while (const auto line = next_line()) {
    if (!line->empty()) {
      take(*line);
      continue;
    }
    EventFrame whole = std::exchange(frame_, {});
    if (std::exchange(has_data_, false)) return whole;
  }
  return std::nullopt;
}

}   // namespace kedge
