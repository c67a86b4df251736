// Who wants to know of new events of which job: see subscriptions.h.
#include "server/jobs/subscriptions.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace kedge::server {
namespace {

struct Subscriber {
  std::function<void()> wake;
  std::recursive_mutex mutex;   // recursive: a call may destroy its own handle
  bool active = true;
};

}  // namespace

struct Subscriptions::Table {
  std::mutex mutex;
  std::unordered_multimap<std::string, std::shared_ptr<Subscriber>> subscribers;

  void remove(const std::string& job, const std::shared_ptr<Subscriber>& subscriber) {
    const std::lock_guard guard(mutex);
    auto [first, last] = subscribers.equal_range(job);
    for (; first != last; ++first) {
      if (first->second != subscriber) continue;
      subscribers.erase(first);
      return;
    }
  }
};

namespace {

// What a caller holds.
struct Handle {
  std::function<void()> remove;
  std::shared_ptr<Subscriber> subscriber;
  ~Handle() {
    remove();
    const std::lock_guard guard(subscriber->mutex);   // waits for a call in progress
    subscriber->active = false;
  }
};

}  // namespace

Subscriptions::Subscriptions() : table_(std::make_shared<Table>()) {}
Subscriptions::~Subscriptions() = default;

std::shared_ptr<void> Subscriptions::add(std::string_view job, std::function<void()> wake) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->wake = std::move(wake);
  {
    const std::lock_guard guard(table_->mutex);
    table_->subscribers.emplace(job, subscriber);
  }
  auto handle = std::make_shared<Handle>();
  handle->subscriber = subscriber;
  handle->remove = [table = table_, job = std::string(job), subscriber] { table->remove(job, subscriber); };
  return handle;
}

void Subscriptions::notify(const std::string& job) {
  std::vector<std::shared_ptr<Subscriber>> found;
  {
    const std::lock_guard guard(table_->mutex);
    auto [first, last] = table_->subscribers.equal_range(job);
    for (; first != last; ++first) found.push_back(first->second);
  }
  for (const std::shared_ptr<Subscriber>& subscriber : found) {
    const std::lock_guard guard(subscriber->mutex);
    if (subscriber->active) subscriber->wake();
  }
}

}  // namespace kedge::server
