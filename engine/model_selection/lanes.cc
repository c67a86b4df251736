// One thread a lane; the job's thread waits for the pieces in their order.
#include "engine/model_selection/lanes.h"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>

#include "engine/backend/lanes.h"
#include "engine/core/gpu_memory.h"
#include "engine/core/lane.h"
#include "engine/core/process_memory.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLargeTable = std::int64_t{512} << 20;   // a fit of so many bytes keeps a GPU busy
constexpr std::int64_t kOfLane = std::int64_t{128} << 20;       // libraries' handles, and what the pool rounds up
constexpr int kTimesOfTable = 4;                                // a fit takes, where nothing more is known

// What the variable says; nothing without it.
std::optional<int> wanted_lanes() {
  const char* const text = std::getenv(kLanesVariable);
  if (!text || !*text) return std::nullopt;
  const std::string_view value(text);
  int lanes = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), lanes);
  const bool is_number = error == std::errc{} && rest == value.data() + value.size();
  require(is_number && lanes >= 1 && lanes <= kMostLanes, schema::ErrorCode::kInvalidValue, "{} is {}, must be 1 to {}",
          kLanesVariable, value, kMostLanes);
  return lanes;
}

// How many fits the host's memory holds at once: many estimators do a part there, on copies of the table.
std::int64_t fits_on_host(const LaneLoad& load, std::int64_t most) {
  const std::int64_t free = available_memory(), of_fit = kTimesOfTable * load.table_bytes;
  return free == 0 || of_fit == 0 ? most : free / of_fit;
}

// The same of the device's memory; `most` where it is not known.
std::int64_t fits_in_memory(const Context& ctx, const LaneLoad& load, std::int64_t most) {
  const GpuMemory* const memory = gpu_memory(ctx.memory());
  const std::int64_t free = memory ? memory->free_bytes() : 0;
  if (free == 0) return most;
  const std::int64_t of_fit = load.fit_bytes > 0 ? load.fit_bytes : kTimesOfTable * load.table_bytes;
  return free / (of_fit + kOfLane);
}

enum class State { kWaits, kRuns, kMade, kFailed, kNoMemory };

struct Piece {
  State state = State::kWaits;
  std::stop_source stop;
  std::vector<std::byte> made;
  std::exception_ptr error;
};

class Team {
 public:
  Team(const Context& ctx, int n_lanes, const LaneWork& work)
      : ctx_(ctx), lanes_(*device_lanes(ctx.device)), work_(work), pieces_(static_cast<std::size_t>(work.n)) {
    const int threads = std::max(1, omp_get_max_threads() / n_lanes);
    for (int i = 0; i < n_lanes; ++i) lanes_.lane(i);
    ctx.memory().synchronize();   // lanes read what is there
    try {
      for (int i = 0; i < n_lanes; ++i) {
        threads_.emplace_back([this, i, threads] { run(i, threads); });
        const std::lock_guard lock(mutex_);
        ++at_work_;
      }
    } catch (const std::system_error&) {   // no more threads: those that are there do it
    } catch (...) {
      stop_from(0);
      throw;
    }
  }
  ~Team() { stop_from(0); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The result of a piece, or nothing where it has to be made without the lanes, which have ended then. Errors: its
  // own.
  std::optional<std::vector<std::byte>> wait(std::int64_t i) {
    constexpr std::chrono::milliseconds kInterval{20};
    Piece& piece = pieces_[static_cast<std::size_t>(i)];
    std::unique_lock lock(mutex_);
    for (;;) {
      if (piece.state == State::kMade) return std::move(piece.made);
      if (piece.state == State::kFailed) {
        lock.unlock();
        stop_from(i);
        threads_.clear();
        std::rethrow_exception(piece.error);
      }
      if (at_work_ == 0) break;
      changed_.wait_for(lock, kInterval);
      lock.unlock();
      if (work_.tell) work_.tell();
      lock.lock();
    }
    lock.unlock();
    threads_.clear();
    return std::nullopt;
  }

 private:
  // No piece from `first` on begins, and those that run are to end.
  void stop_from(std::int64_t first) noexcept {
    const std::lock_guard lock(mutex_);
    end_ = std::min(end_, first);
    for (auto i = static_cast<std::size_t>(first); i < pieces_.size(); ++i) pieces_[i].stop.request_stop();
  }

  void run(int lane, int threads) noexcept {
    omp_set_num_threads(threads);
    const LaneScope scope;
    bool goes_on = true;
    while (goes_on) {
      const std::optional<std::int64_t> i = next();
      if (!i) break;
      goes_on = make(lane, *i);
    }
    const std::lock_guard lock(mutex_);
    --at_work_;
    changed_.notify_all();
  }

  std::optional<std::int64_t> next() {
    const std::lock_guard lock(mutex_);
    if (next_ >= std::min(end_, work_.n)) return std::nullopt;
    pieces_[static_cast<std::size_t>(next_)].state = State::kRuns;
    return next_++;
  }

  // False where the lane is to end.
  bool make(int lane, std::int64_t i) noexcept {
    Piece& piece = pieces_[static_cast<std::size_t>(i)];
    std::vector<std::byte> made;
    std::exception_ptr error;
    State state = State::kFailed;
    try {
      made = made_by(lane, i, piece.stop.get_token());
      state = State::kMade;
    } catch (const schema::Error& failure) {
      error = std::current_exception();
      if (failure.code == schema::ErrorCode::kOutOfMemory) state = State::kNoMemory;
    } catch (const std::bad_alloc&) {
      state = State::kNoMemory;
    } catch (...) {
      error = std::current_exception();
    }
    if (state == State::kFailed) stop_from(i + 1);
    const std::lock_guard lock(mutex_);
    piece.state = state, piece.made = std::move(made), piece.error = error;
    changed_.notify_all();
    return state == State::kMade;
  }

  std::vector<std::byte> made_by(int lane, std::int64_t i, const std::stop_token& stop) {
    const StopScope scope(stop);
    lanes_.begin_lane(lane);
    const auto end = [this, lane](void*) noexcept { lanes_.end_lane(lane); };
    const std::unique_ptr<void, decltype(end)> ends(this, end);
    const Context of_lane{.device = lanes_.lane(lane), .seed = ctx_.seed, .stop = stop};
    return work_.make(of_lane, i);
  }

  const Context& ctx_;
  DeviceLanes& lanes_;
  const LaneWork& work_;
  std::mutex mutex_;   // guards all but the threads
  std::condition_variable changed_;
  std::vector<Piece> pieces_;
  std::int64_t next_ = 0, end_ = std::int64_t{1} << 62;   // pieces from end_ on are not begun
  int at_work_ = 0;                                       // lanes
  // A stop of the job stops the pieces.
  struct Stop {
    Team& team;
    void operator()() const noexcept { team.stop_from(0); }
  };
  std::stop_callback<Stop> by_context_{ctx_.stop, Stop{*this}};
  std::stop_callback<Stop> by_thread_{internal::job_stop ? *internal::job_stop : std::stop_token(), Stop{*this}};
  std::vector<std::jthread> threads_;
};

}   // namespace

int lanes_for(const Context& ctx, const LaneLoad& load) {
  const std::optional<int> wanted = wanted_lanes();
  DeviceLanes* const lanes = device_lanes(ctx.device);
  if (!lanes || in_lane() || omp_get_level() > 0 || load.pieces < 2) return 1;
  if (!wanted && load.table_bytes > kLargeTable) return 1;
  const std::int64_t most = std::min<std::int64_t>(load.pieces, wanted ? *wanted : lanes->usual_lanes());
  if (most < 2) return 1;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min({most, fits_in_memory(ctx, load, most), fits_on_host(load, most)})));
}

void deal_to_lanes(const Context& ctx, int n_lanes, const LaneWork& work) {
  Team team(ctx, n_lanes, work);
  for (std::int64_t i = 0; i < work.n; ++i) {
    std::optional<std::vector<std::byte>> made = team.wait(i);
    if (!made) {
      ctx.check_stop();
      check_job_stop();
      made = work.make(ctx, i);
    }
    if (work.tell) work.tell();
    work.take(i, *made);
  }
}

}   // namespace kedge::engine
