// One piece of work that several callers wait for; each sees its events and gets its result.
#include "server/data/flight.h"

#include <fmt/core.h>

#include <exception>
#include <new>
#include <system_error>

#include "engine/core/disk_error.h"
#include "engine/core/memory_reserve.h"

namespace kedge::server {

schema::Error current_data_error() {
  try {
    throw;
  } catch (const schema::Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return schema::Error(schema::ErrorCode::kOutOfMemory, "the server's memory does not suffice to get the data set");
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return schema::Error(schema::ErrorCode::kInternal, fmt::format("getting the data set failed: {}", engine::shown(error)));
    return schema::Error(schema::ErrorCode::kOutOfMemory, "the system gives the server no thread to get the data set");
  } catch (const std::exception& error) {
    return schema::Error(schema::ErrorCode::kInternal, fmt::format("getting the data set failed: {}", engine::shown(error)));
  }
}

FlightDeck::~FlightDeck() {
  for (const auto& flight : flights_) flight->thread.request_stop();
  flights_.clear();   // joins
}

AcquiredDataset FlightDeck::fly(const std::string& key, const Work& work, const Emit& emit, std::stop_token stop) {
  Flight& flight = join_or_start(key, work);
  struct Leave {
    FlightDeck& deck;
    Flight& flight;
    ~Leave() { deck.leave(flight); }
  } leave{*this, flight};
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    flight.changed.wait(lock, stop, [&] { return flight.done || seen < flight.events.size(); });
    if (stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
    const std::vector<schema::EventBody> fresh(flight.events.begin() + static_cast<std::ptrdiff_t>(seen), flight.events.end());
    seen = flight.events.size();
    if (fresh.empty()) break;
    lock.unlock();
    if (emit) for (const schema::EventBody& event : fresh) emit(event);
    lock.lock();
  }
  if (flight.error) throw *flight.error;
  return *flight.result;
}

FlightDeck::Flight& FlightDeck::join_or_start(const std::string& key, const Work& work) {
  const std::lock_guard lock(mutex_);
  remove_landed();
  for (const auto& flight : flights_)
    if (flight->key == key && !flight->abandoned && !flight->done) return ++flight->waiters, *flight;
  Flight& flight = *flights_.emplace_back(std::make_unique<Flight>());
  try {
    flight.key = key;
    flight.waiters = 1;
    flight.thread = std::jthread([this, &flight, work](std::stop_token stop) { run(flight, work, stop); });
  } catch (...) {   // so that no call waits for it
    flights_.pop_back();
    throw;
  }
  return flight;
}

void FlightDeck::run(Flight& flight, const Work& work, std::stop_token stop) {
  const Emit emit = [&](schema::EventBody event) {
    const std::lock_guard lock(mutex_);
    flight.events.push_back(std::move(event));
    flight.changed.notify_all();
  };
  std::optional<AcquiredDataset> result;
  std::optional<schema::Error> error;
  try {
    result = work(emit, stop);
  } catch (...) {
    const engine::UsesReserve reserve;
    error = current_data_error();
  }
  const std::lock_guard lock(mutex_);
  flight.result = std::move(result);
  flight.error = std::move(error);
  flight.done = true;
  flight.changed.notify_all();
}

void FlightDeck::leave(Flight& flight) {
  const std::lock_guard lock(mutex_);
  if (--flight.waiters > 0) return;
  flight.result.reset();   // and its hold
  if (flight.done) return;
  flight.abandoned = true;
  flight.thread.request_stop();
}

// The thread of a flight that is done has only to return, so joining it under the lock is quick.
void FlightDeck::remove_landed() {
  std::erase_if(flights_, [](const auto& flight) { return flight->done && flight->waiters == 0; });
}

}  // namespace kedge::server
