// Counting answers in flight: see answer_budget.h.
#include "server/http/answer_budget.h"

#include <algorithm>
#include <utility>

#include "engine/faults/fail_point.h"
#include "server/http/peer.h"

namespace kedge::server::http {

bool AnswerBudget::fits(std::uint64_t of_client, std::uint64_t of_all, std::uint64_t bytes) const {
  return (of_client + bytes <= per_client_ && of_all + bytes <= total_) || KEDGE_CONTROL("unbounded-answers");
}

bool AnswerBudget::is_full(const std::string& client) const {
  const auto found = clients_.find(client);
  return !fits(found == clients_.end() ? 0 : found->second.held, held_, 1);
}

bool AnswerBudget::Share::try_hold(const std::string& client, std::uint64_t bytes) {
  release();
  bytes = std::min(bytes, budget_.per_client_);
  const auto found = budget_.clients_.find(client);
  if (!budget_.fits(found == budget_.clients_.end() ? 0 : found->second.held, budget_.held_, bytes)) return false;
  hold(client, bytes);
  return true;
}

void AnswerBudget::Share::hold(const std::string& client, std::uint64_t bytes) {
  release();
  waiter_.reset();
  if (bytes == 0) return;
  bytes = std::min(bytes, budget_.per_client_);
  client_ = client;
  budget_.clients_[client].held += bytes;
  budget_.held_ += bytes;
  bytes_ = bytes;
}

void AnswerBudget::Share::release() {
  if (bytes_ == 0) return;
  const auto found = budget_.clients_.find(client_);
  found->second.held -= bytes_;
  budget_.held_ -= std::exchange(bytes_, 0);
  if (budget_.waiting_ > 0)
    budget_.ring_those_that_fit();
  else if (found->second.held == 0)
    budget_.clients_.erase(found);
}

void AnswerBudget::Share::ring_when_free(const std::string& client, std::uint64_t bytes, std::weak_ptr<Bell> bell) {
  bytes = std::min(bytes, budget_.per_client_);
  if (waiter_ && !waiter_->was_rung) {
    waiter_->bytes = bytes;
    return;
  }
  waiter_ = std::make_shared<Waiter>(Waiter{.bytes = bytes, .bell = std::move(bell)});
  budget_.clients_[client].waiters.push_back(waiter_);
  ++budget_.waiting_;
}

// Each as if those before it took what they wait for.
void AnswerBudget::ring_those_that_fit() {
  std::uint64_t of_all = held_;
  for (auto& [name, client] : clients_) {
    std::uint64_t of_client = client.held;
    while (!client.waiters.empty()) {
      const std::shared_ptr<Waiter> waiter = client.waiters.front().lock();
      const auto bell = waiter ? waiter->bell.lock() : nullptr;
      if (bell && !fits(of_client, of_all, waiter->bytes)) break;
      client.waiters.pop_front();
      --waiting_;
      if (!bell) continue;
      of_client += waiter->bytes, of_all += waiter->bytes;
      waiter->was_rung = true;
      bell->ring();
    }
  }
  std::erase_if(clients_, [](const auto& entry) { return entry.second.held == 0 && entry.second.waiters.empty(); });
}

}   // namespace kedge::server::http
