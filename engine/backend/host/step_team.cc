// Pieces are taken from a counter. A helper without work spins for a while, then sleeps until the next loop.
#include "engine/backend/host/step_team.h"

#include <omp.h>

#include <thread>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/first_error.h"

namespace kedge::engine {
namespace {

constexpr std::uint64_t kPieceMask = 0xFFFFFFFF;   // as a piece: no loop
constexpr int kSpins = 4000;                       // some 50 us

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}   // namespace

void StepTeam::take_pieces(int worker) {
  for (;;) {
    std::uint64_t seen = next_.load(std::memory_order_acquire);
    const std::uint64_t pieces = pieces_.load(std::memory_order_relaxed), piece = seen & kPieceMask;
    const auto* const work = work_.load(std::memory_order_relaxed);
    if (piece >= pieces) return;
    if (!next_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
    (*work)(static_cast<std::int64_t>(piece), worker);
    done_.fetch_add(1, std::memory_order_release);
  }
}

void StepTeam::run(std::int64_t pieces, const Work& work) {
  FirstError error;
  const Work guarded = [&](std::int64_t i, int worker) { error.run([&] { work(i, worker); }); };
  const std::uint64_t loop = (next_.load(std::memory_order_relaxed) >> 32) + 1,
                      all = static_cast<std::uint64_t>(pieces);
  // The last loop left next_ without a piece, so no helper reads these before next_ is stored.
  done_.store(0, std::memory_order_relaxed);
  work_.store(&guarded, std::memory_order_relaxed);
  pieces_.store(all, std::memory_order_relaxed);
  next_.store(loop << 32, std::memory_order_release);
  next_.notify_all();
  take_pieces(0);
  for (int spins = 0; done_.load(std::memory_order_acquire) < all; ++spins) {
    if (spins < kSpins) relax();
    else std::this_thread::yield();
  }
  next_.store(loop << 32 | kPieceMask, std::memory_order_release);
  error.rethrow();
}

void StepTeam::help(int worker) {
  std::uint64_t seen = next_.load(std::memory_order_acquire);
  while (!closed_.load(std::memory_order_acquire)) {
    take_pieces(worker);
    for (int spins = 0; spins < kSpins && next_.load(std::memory_order_acquire) >> 32 == seen >> 32; ++spins) relax();
    const std::uint64_t now = next_.load(std::memory_order_acquire);
    if (now >> 32 == seen >> 32) next_.wait(now, std::memory_order_acquire);
    seen = now;
  }
}

void StepTeam::close() {
  closed_.store(true, std::memory_order_release);
  next_.fetch_add(std::uint64_t{1} << 32, std::memory_order_release);
  next_.notify_all();
}

void with_step_team(const std::function<void(StepTeam&)>& drive) {
  StepTeam team(host_threads());
  FirstError error;
#pragma omp parallel num_threads(team.size())
  {
    if (omp_get_thread_num() != 0) {
      team.help(omp_get_thread_num());
    } else {
      error.run([&] { drive(team); });
      team.close();
    }
  }
  error.rethrow();
}

}   // namespace kedge::engine
