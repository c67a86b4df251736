// Handing writes over with as few wake-ups as will do: see write_queue.h.
#include "server/store/write_queue.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kBatchSize = 512;   // writes in one transaction
constexpr timespec kSoon{.tv_sec = 0, .tv_nsec = 100'000};
constexpr std::chrono::milliseconds kMemoryPause{4};   // until some may have been freed

int checked(int fd) {
  if (fd < 0) throw Error(ErrorCode::kUnavailable, fmt::format("cannot make a descriptor: {}", std::generic_category().message(errno)));
  return fd;
}

}  // namespace

WriteQueue::WriteQueue()
    : now_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))), soon_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))) {}

WriteQueue::~WriteQueue() { ::close(now_), ::close(soon_); }

Error WriteQueue::closed_error() { return Error(ErrorCode::kUnavailable, "the server is stopping"); }

void WriteQueue::push(StoreWrite write) {
  Error error = closed_error();
  std::unique_lock lock(mutex_);
  if (is_closed_ || (failure_ && write.refused)) {
    if (failure_) error = *failure_;
    lock.unlock();
    if (write.refused) write.refused(error);
    return;
  }
  const bool wakes = !has_urgent_ && (is_urgent(write) || queue_.size() + 1 == kBatchSize), is_first = queue_.empty();
  queue_.push_back(std::move(write));
  has_urgent_ = has_urgent_ || wakes;
  lock.unlock();   // otherwise the woken thread would wait for it
  const itimerspec later{.it_interval = {}, .it_value = kSoon};
  if (wakes)
    ::eventfd_write(now_, 1);
  else if (is_first)
    ::timerfd_settime(soon_, 0, &later, nullptr);
}

std::size_t WriteQueue::size() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void WriteQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  ::eventfd_write(now_, 1);
  closing_.notify_all();
}

void WriteQueue::set_failure(std::optional<Error> failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

std::optional<Error> WriteQueue::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// True when there was something, or nothing will be.
bool WriteQueue::take_waiting(std::deque<StoreWrite>& batch) {
  std::unique_lock lock(mutex_);
  const bool is_done = !queue_.empty() || is_closed_;
  while (!queue_.empty() && batch.size() < kBatchSize) {
    try {
      batch.push_back(std::move(queue_.front()));
    } catch (const std::bad_alloc&) {   // what could not be taken is still in the queue
      if (!batch.empty()) break;
      closing_.wait_for(lock, kMemoryPause);
      continue;
    }
    queue_.pop_front();
  }
  has_urgent_ = std::ranges::any_of(queue_, is_urgent);
  return is_done;
}

// Until this thread is woken, or `until`.
void WriteQueue::wait(Clock::time_point until) {
  std::array<pollfd, 2> fds{{{.fd = now_, .events = POLLIN}, {.fd = soon_, .events = POLLIN}}};
  const auto left = std::max<Clock::duration>(until - Clock::now(), {});
  const timespec bound{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                       .tv_nsec = std::chrono::nanoseconds(left % std::chrono::seconds(1)).count()};
  ::ppoll(fds.data(), fds.size(), until == Clock::time_point::max() ? nullptr : &bound, nullptr);
  for (const pollfd& polled : fds) {
    std::uint64_t count = 0;
    if (polled.revents != 0) [[maybe_unused]] const ssize_t ignored = ::read(polled.fd, &count, sizeof count);
  }
}

std::deque<StoreWrite> WriteQueue::take() {
  std::deque<StoreWrite> batch;
  while (!take_waiting(batch)) wait(Clock::time_point::max());
  return batch;
}

bool WriteQueue::take_more(std::deque<StoreWrite>& batch, Clock::time_point until) {
  const std::size_t before = batch.size();
  while (batch.size() == before && before < kBatchSize && !take_waiting(batch) && Clock::now() < until) wait(until);
  return batch.size() > before;
}

void WriteQueue::put_back(std::deque<StoreWrite> writes) {
  const std::lock_guard lock(mutex_);
  queue_.insert(queue_.begin(), std::make_move_iterator(writes.begin()), std::make_move_iterator(writes.end()));
}

std::deque<StoreWrite> WriteQueue::take_rest() {
  const std::lock_guard lock(mutex_);
  return std::exchange(queue_, {});
}

bool WriteQueue::rest(Clock::duration duration) {
  std::unique_lock lock(mutex_);
  return closing_.wait_for(lock, duration, [this] { return is_closed_; });
}

}  // namespace kedge::server
