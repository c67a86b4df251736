// Subscribers to the events of jobs: see subscriptions.h.
#include "server/jobs/subscriptions.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace kedge::server {
namespace {

struct Subscriber {
  std::function<void()> wake;
  std::recursive_mutex mutex;   // recursive: a call may destroy its own handle
  bool active = true;
};

using Subscribers = std::multimap<std::string, std::shared_ptr<Subscriber>, std::less<>>;   // by job; places in it stay

}  // namespace

struct Subscriptions::Table {
  // What a caller holds.
  struct Handle {
    Handle(std::shared_ptr<Table> of, Subscribers::iterator at) : table(std::move(of)), place(at) {}
    Handle(const Handle&) = delete;
    ~Handle() {
      const std::shared_ptr<Subscriber> subscriber = table->take(place);
      const std::lock_guard guard(subscriber->mutex);   // waits for a call in progress
      subscriber->active = false;
    }
    const std::shared_ptr<Table> table;   // shared with the service, which may go first
    const Subscribers::iterator place;
  };

  std::shared_ptr<Subscriber> take(Subscribers::iterator place) {
    const std::lock_guard guard(mutex);
    return std::move(subscribers.extract(place).mapped());
  }

  std::mutex mutex;
  Subscribers subscribers;
};

Subscriptions::Subscriptions() : table_(std::make_shared<Table>()) {}
Subscriptions::~Subscriptions() = default;

std::shared_ptr<void> Subscriptions::add(std::string_view job, std::function<void()> wake) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->wake = std::move(wake);
  const std::lock_guard guard(table_->mutex);
  const Subscribers::iterator place = table_->subscribers.emplace(job, std::move(subscriber));
  return std::make_shared<Table::Handle>(table_, place);
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
