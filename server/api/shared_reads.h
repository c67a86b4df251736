// Many streams of one job read its log once: those that stand at the same place share what was read and written as text. A large text is
// held once for all that write it, however far apart they came.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "server/http/peer.h"

namespace kedge::server::api {

// The events behind a place in a job's log, as they go on the wire.
struct EventText {
  std::string text;
  std::int64_t next = 0;   // the place behind them
  bool ended = false;      // the last of them ends the job
  bool more = false;       // others may be there already
};

// Used on the loop's thread; only the reading itself is elsewhere.
class SharedReads {
 public:
  // A place: the job, the last event that was seen, the form. Forms are distinguished by address.
  using Key = std::tuple<std::string, std::int64_t, const void*>;

  // What `read` returns, in a call that begins after this one: so no event is missed that was there before. Or a large text that others
  // hold, which has the first events behind the place. `read` runs where it
  // may block; it and what it refers to must live until this returns. Throws what `read` throws.
  http::net::awaitable<std::shared_ptr<const EventText>> get(std::shared_ptr<http::Peer> peer, Key key,
                                                             const std::function<EventText()>& read);

 private:
  struct Reading {
    explicit Reading(const http::net::any_io_executor& loop) : done(loop, http::Peer::Clock::time_point::max()) {}
    http::net::steady_timer done;   // cancelled at the end
    bool is_done = false;
    EventText text;
    std::exception_ptr error;
  };
  // A caller that comes while one reading is under way joins the next, which begins when that one ends.
  struct Lane {
    std::shared_ptr<Reading> now, next;   // shared with those that wait
  };

  http::net::awaitable<void> run(http::Peer& peer, const Key& key, Reading& reading, const std::function<EventText()>& read);

  static constexpr std::size_t kLarge = 64 << 10;
  std::map<Key, Lane> lanes_;
  std::map<Key, std::weak_ptr<const Reading>> large_;   // texts that some stream may still write
};

}   // namespace kedge::server::api
