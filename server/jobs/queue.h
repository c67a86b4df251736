// The order in which jobs get their data and their worker: first in, first out among those with the same device wish.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

// Job ids sort by time of submission, so the smallest id is the oldest job. Not thread safe.
class JobQueue {
 public:
  // So many jobs of one wish have their data ready ahead of a worker; more would only pin data sets.
  static constexpr std::size_t kReadyAhead = 4;

  void push(const std::string& job, const std::string& wish);         // waits for its data
  void push_ready(const std::string& job, const std::string& wish);   // waits for a worker
  void remove(const std::string& job, const std::string& wish);       // from either

  // Takes the oldest job that should fetch its data now.
  std::optional<std::string> take_to_fetch();
  // Takes the oldest ready job whose wish `serves` accepts.
  std::optional<std::string> take_ready(const std::function<bool(std::string_view wish)>& serves);

  std::vector<std::string> wishes() const;                         // of the jobs that wait
  std::vector<std::string> jobs_of(const std::string& wish) const;

 private:
  struct Lane {
    std::set<std::string> waiting, ready;
  };
  void drop_if_empty(std::map<std::string, Lane>::iterator lane);

  std::map<std::string, Lane> lanes_;   // by wish
};

}  // namespace kedge::server
