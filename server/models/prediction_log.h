// Sampled requests to models and their answers, written behind: JSON lines, bounded in memory and on the disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>

namespace kedge::server {

// One question and its end.
struct LoggedCall {
  std::string model, output, content_type, accept;
  std::string body, answer;   // in these forms; the answer is empty of one that failed
  std::string error = {};     // what it failed with
  std::int64_t rows = 0;
  std::int64_t max_bytes = 0;   // that the model's log may take
  std::int64_t time_ms = 0;     // since 1970, of the question
};

// A model's log is two files, ID.log and ID.old: the first is renamed over the second when it has half of the bytes, so
// the newest entries stay. Thread safe; a thread of this object writes. No entry is synced: after a power cut the last
// ones may be gone, and half a line at the end is cut off.
class PredictionLog {
 public:
  static constexpr std::size_t kMostWaiting = 8 << 20;   // bytes of entries that are not written yet

  // sweep: called by the thread once a minute; may be empty. dropped: with the model of an entry that is not written.
  PredictionLog(std::filesystem::path folder, std::function<void()> sweep,
                std::function<void(const std::string& model)> dropped);
  ~PredictionLog();   // writes what waits

  bool samples(double fraction);   // whether the next one is to be logged
  // Returns at once. What does not fit into the memory or into half of the model's bytes is dropped and counted.
  void add(LoggedCall call);
  // The lines, the oldest first, with what was added before the call.
  std::string read(const std::string& model);
  void remove(const std::string& model) noexcept;   // what waits, too

 private:
  void loop(std::stop_token stop);
  void write(const LoggedCall& call);
  std::filesystem::path file(std::string_view model, const char* suffix) const;

  const std::filesystem::path folder_;
  const std::function<void()> sweep_;
  const std::function<void(const std::string&)> dropped_;
  std::mutex files_;                              // guards the files and what follows
  std::map<std::string, std::uintmax_t> sizes_;   // of the files that were written to since the start
  std::mutex mutex_;                              // guards what follows
  std::condition_variable_any changed_;
  std::mt19937_64 random_;
  std::deque<LoggedCall> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_writing_ = false;
  std::jthread thread_;   // last: it uses everything above
};

// One entry as a line of JSON. A body of JSON stands as it is, CSV is a text, NPY is base64.
std::string line_of(const LoggedCall& call);

}   // namespace kedge::server
