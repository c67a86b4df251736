// Hands pieces of a stream to a consumer in another thread, so that receiving and checksumming overlap.
#include "server/data/background_sink.h"

#include <utility>

namespace kedge::server {
namespace {
constexpr std::size_t kMostQueued = 16;   // pieces of at most 256 KiB
}

BackgroundSink::BackgroundSink(Consumer consume) : consume_(std::move(consume)), thread_([this] { run(); }) {}

BackgroundSink::~BackgroundSink() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closed_ = dropped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundSink::push(std::string_view piece) {
  if (piece.empty()) return;
  std::string copy = spare_.take();
  copy.assign(piece);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || queue_.size() < kMostQueued; });
  if (failure_) std::rethrow_exception(failure_);
  queue_.push_back(std::move(copy));
  lock.unlock();
  changed_.notify_all();
}

void BackgroundSink::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void BackgroundSink::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    if (queue_.empty() || dropped_) return;
    std::string piece = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    changed_.notify_all();
    try {
      consume_(piece);
      spare_.give(std::move(piece));
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      lock.unlock();
      changed_.notify_all();
      return;
    }
  }
}

}  // namespace kedge::server
