// Reading once for many: see shared_reads.h.
#include "server/api/shared_reads.h"

#include <boost/asio/as_tuple.hpp>
#include <utility>

namespace kedge::server::api {

namespace net = http::net;

net::awaitable<std::shared_ptr<const EventText>> SharedReads::get(std::shared_ptr<http::Peer> peer, Key key,
                                                                  const std::function<EventText()>& read) {
  if (const auto held = large_.find(key); held != large_.end())
    if (const std::shared_ptr<const Reading> reading = held->second.lock()) co_return std::shared_ptr<const EventText>(reading, &reading->text);
  Lane& lane = lanes_[key];
  std::shared_ptr<Reading> mine = lane.next;
  if (mine) {
    while (!mine->is_done) co_await mine->done.async_wait(net::as_tuple(net::use_awaitable));
  } else {
    mine = std::make_shared<Reading>(peer->executor());
    if (const std::shared_ptr<Reading> now = lane.now) {
      lane.next = mine;
      while (!now->is_done) co_await now->done.async_wait(net::as_tuple(net::use_awaitable));
      lane.next = nullptr;   // the lane stays while there is a next one
    }
    lane.now = mine;
    co_await run(*peer, key, *mine, read);
  }
  if (mine->error) std::rethrow_exception(mine->error);
  if (mine->text.text.size() > kLarge) {
    std::erase_if(large_, [](const auto& entry) { return entry.second.expired(); });
    large_[key] = mine;
  }
  co_return std::shared_ptr<const EventText>(mine, &mine->text);
}

net::awaitable<void> SharedReads::run(http::Peer& peer, const Key& key, Reading& reading,
                                      const std::function<EventText()>& read) {
  try {
    reading.text = co_await peer.offload([&read] { return read(); });
  } catch (...) {
    reading.error = std::current_exception();
  }
  reading.is_done = true;
  reading.done.cancel();
  if (!lanes_.at(key).next) lanes_.erase(key);
}

}   // namespace kedge::server::api
