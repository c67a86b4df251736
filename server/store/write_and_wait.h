// A write whose caller waits until it is on disk.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "server/store/store.h"

namespace kedge::server {

// Returns when the write is on disk. Errors: what it was refused with.
inline void write_and_wait(Store& store, std::function<void(StoreWriter&)> apply) {
  auto done = std::make_shared<std::promise<void>>();   // shared by the callbacks of one write
  store.enqueue(
      {.apply = std::move(apply),
       .committed = [done] { done->set_value(); },
       .refused = [done](const schema::Error& error) { done->set_exception(std::make_exception_ptr(error)); }});
  done->get_future().get();
}

}   // namespace kedge::server
