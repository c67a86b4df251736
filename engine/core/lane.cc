// Which threads are lanes, and the locks by which they make things once.
#include "engine/core/lane.h"

#include <map>
#include <mutex>

namespace kedge::engine {
namespace {

constinit thread_local bool is_lane = false;

// The lock of one thing, which is there as long as a thread holds it or waits for it.
class LockOf {
 public:
  explicit LockOf(const void* of) {
    {
      const std::lock_guard lock(guard());
      at_ = all().try_emplace(of).first;
      ++at_->second.users;
    }
    at_->second.mutex.lock();
  }
  ~LockOf() {
    at_->second.mutex.unlock();
    const std::lock_guard lock(guard());
    if (--at_->second.users == 0) all().erase(at_);
  }
  LockOf(const LockOf&) = delete;
  LockOf& operator=(const LockOf&) = delete;

 private:
  struct Entry {
    std::mutex mutex;
    int users = 0;
  };
  using Entries = std::map<const void*, Entry>;
  static std::mutex& guard() {   // of all(); not of the entries' locks
    static std::mutex mutex;
    return mutex;
  }
  static Entries& all() {
    static Entries entries;
    return entries;
  }
  Entries::iterator at_;
};

}   // namespace

bool in_lane() {
  return is_lane;
}

LaneScope::LaneScope() : before_(is_lane) {
  is_lane = true;
}

LaneScope::~LaneScope() {
  is_lane = before_;
}

void make_once(const void* of, Memory& memory, const std::function<bool()>& is_made,
               const std::function<void()>& make) {
  if (!in_lane()) {
    if (!is_made()) make();
    return;
  }
  const LockOf lock(of);
  if (is_made()) return;
  make();
  memory.synchronize();
}

}   // namespace kedge::engine
