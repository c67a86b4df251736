// Cutting a text at line ends and working on the pieces in parallel.
#include "server/data/text_chunks.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace kedge::server {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

const char* behind_line_end(const char* p, const char* end) {
  const void* found = p == end ? nullptr : std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return found ? static_cast<const char*>(found) + 1 : end;
}

// As above, starting inside or outside quotes. A doubled quote leaves and enters again, so parity is enough (RFC 4180).
const char* behind_record_end(const char* p, const char* end, bool inside) {
  for (; p != end; ++p) {
    if (*p == '"') inside = !inside;
    if (*p == '\n' && !inside) return p + 1;
  }
  return end;
}

// What the threads share.
class Run {
 public:
  Run(const std::vector<TextChunk>& chunks, std::stop_token stop, const std::function<void(std::size_t)>& work)
      : chunks_(chunks), stop_(std::move(stop)), work_(work), last_wanted_(chunks.size()) {}

  // Chunks are taken in order, so every chunk before a failed one is still worked on, and the earliest failure is always found.
  void work() {
    for (;;) {
      const std::size_t i = next_++;
      if (i >= chunks_.size() || i > last_wanted_) break;
      if (stop_.stop_requested()) {
        fail(i, std::make_exception_ptr(schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled")));
        break;
      }
      try {
        work_(i);
      } catch (...) {
        fail(i, std::current_exception());
      }
      done_bytes_ += chunks_[i].end - chunks_[i].begin;
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  bool wait_finished(int threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kProgressInterval, [&] { return finished_ == threads; });
  }
  std::int64_t done_bytes() const { return done_bytes_; }
  std::exception_ptr first_failure() const { return failures_.empty() ? nullptr : failures_.begin()->second; }

 private:
  void fail(std::size_t chunk, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failures_[chunk] = std::move(failure);
    last_wanted_ = std::min<std::size_t>(last_wanted_, chunk);
  }

  const std::vector<TextChunk>& chunks_;
  const std::stop_token stop_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_{0}, last_wanted_;
  std::atomic<std::int64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int finished_ = 0;                                    // guarded by mutex_, as the next
  std::map<std::size_t, std::exception_ptr> failures_;
};

}  // namespace

std::vector<TextChunk> cut_at_line_ends(std::string_view text, std::size_t chunk_bytes, bool quoted) {
  std::vector<TextChunk> chunks;
  const char* const end = text.data() + text.size();
  for (const char* begin = text.data(); begin != end;) {
    const char* const middle = begin + std::min<std::size_t>(chunk_bytes, static_cast<std::size_t>(end - begin));
    const bool inside = quoted && std::count(begin, middle, '"') % 2 != 0;   // a chunk starts outside quotes
    const char* const next = quoted ? behind_record_end(middle, end, inside) : behind_line_end(middle, end);
    chunks.push_back({begin, next});
    begin = next;
  }
  return chunks;
}

void for_each_chunk(const std::vector<TextChunk>& chunks, const ParallelOptions& options, std::string_view text,
                    const std::string& file, const std::function<void(std::size_t)>& work) {
  if (chunks.empty()) return;
  const int wanted = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  const int threads = std::clamp(wanted, 1, static_cast<int>(std::min<std::size_t>(chunks.size(), 256)));
  const std::int64_t total = chunks.back().end - chunks.front().begin;
  Run run(chunks, options.stop, work);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) workers.emplace_back([&] { run.work(); });
    while (!run.wait_finished(threads))
      if (options.progress) options.progress(run.done_bytes(), total);
  }
  if (const auto failure = run.first_failure()) {
    try {
      std::rethrow_exception(failure);
    } catch (const CellError& error) {
      throw corrupt_at(text, file, error.at, error.what);
    }
  }
  if (options.progress) options.progress(total, total);
}

schema::Error corrupt_at(std::string_view text, const std::string& file, const char* at, const std::string& what) {
  const auto line = 1 + std::count(text.data(), at, '\n');
  return schema::Error(schema::ErrorCode::kDatasetCorrupt, fmt::format("{} line {}: {}", file, line, what));
}

}  // namespace kedge::server
