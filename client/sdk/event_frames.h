// Server-sent events out of the bytes of a stream, however these arrive.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kedge {

struct EventFrame {
  std::string event;   // its type; empty: none was named
  std::string data;    // lines of it have "\n" between them
};

// Holds what was put and not yet taken. Lines end in "\n", "\r\n" or "\r"; comments, `id`, `retry` and unknown fields are passed
// over, and so are frames without data. What comes behind the last empty line is no frame.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
class EventFrames {
 public:
  static constexpr std::size_t kLongest = std::size_t{256} << 20;   // bytes of a frame or a line

  // Errors: kInternal when a line, or the data of a frame, is longer than kLongest.
  void put(std::string_view bytes);
  std::optional<EventFrame> next();

 private:
  std::optional<std::string_view> next_line();
  void take(std::string_view line);

  std::string waiting_;                           // received
  std::size_t taken_ = 0;                         // bytes of it that were handed out
  std::size_t searched_ = 0;                      // bytes of it in which there is no end of a line, from taken_ on
  bool begun_ = false, drop_line_feed_ = false;   // the "\n" of a "\r\n"
  EventFrame frame_;
  bool has_data_ = false;
};

}   // namespace kedge
