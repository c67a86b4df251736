// How many bytes of answers the server holds for clients that have not taken them yet: in all, and for each client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace kedge::server::http {

class Bell;

// Used on the loop's thread. An answer larger than a client's bound counts as the bound, so that every answer can go alone.
class AnswerBudget {
 public:
  AnswerBudget(std::uint64_t total, std::uint64_t per_client) : total_(total), per_client_(per_client) {}
  AnswerBudget(const AnswerBudget&) = delete;

  struct Waiter {
    std::uint64_t bytes = 0;
    std::weak_ptr<Bell> bell;
    bool was_rung = false;
  };

  // What one answer holds, until it goes; nothing at first. The budget must live longer.
  class Share {
   public:
    explicit Share(AnswerBudget& budget) : budget_(budget) {}
    ~Share() { release(); }
    Share(const Share&) = delete;

    // True if `bytes`, in place of what this holds, keep within both bounds; otherwise this holds nothing.
    bool try_hold(const std::string& client, std::uint64_t bytes);
    void hold(const std::string& client,
              std::uint64_t bytes);   // for an answer to what has been done, which must be sent
    void release();
    // Rings once, when there may be room for so many bytes, unless this has them or is destroyed by then.
    void ring_when_free(const std::string& client, std::uint64_t bytes, std::weak_ptr<Bell> bell);

   private:
    AnswerBudget& budget_;
    std::string client_;
    std::uint64_t bytes_ = 0;
    std::shared_ptr<Waiter> waiter_;   // shared with the budget, which looks whether it is still wanted
  };

  bool is_full(const std::string& client) const;   // the client has taken so little that nothing more is done for it
  std::uint64_t held() const { return held_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t per_client() const { return per_client_; }

 private:
  struct Client {
    std::uint64_t held = 0;
    std::deque<std::weak_ptr<Waiter>> waiters;
  };
  bool fits(std::uint64_t of_client, std::uint64_t of_all, std::uint64_t bytes) const;
  void ring_those_that_fit();

  const std::uint64_t total_, per_client_;
  std::uint64_t held_ = 0;
  std::size_t waiting_ = 0;
  std::map<std::string, Client, std::less<>> clients_;   // those that hold something or wait
};

}   // namespace kedge::server::http
