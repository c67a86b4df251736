// Subscribers to the events of jobs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::server {

// Thread safe. Handles may outlive this object.
class Subscriptions {
 public:
  Subscriptions();
  ~Subscriptions();

  // `wake` is called by notify(job), until the handle is destroyed; destroying it waits for a call in progress in another
  // thread. `wake` may itself destroy the handle.
  std::shared_ptr<void> add(std::string_view job, std::function<void()> wake);
  void notify(const std::string& job);

 private:
  struct Table;
  std::shared_ptr<Table> table_;   // shared with the handles, which remove themselves
};

}  // namespace kedge::server
