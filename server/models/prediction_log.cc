// Writing what models were asked: see prediction_log.h.
#include "server/models/prediction_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "crypto/random.h"
#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using schema::Value;
using schema::ValueMap;

constexpr std::chrono::seconds kSweep{60}, kReadWait{5};

std::size_t size_of(const LoggedCall& call) {
  return sizeof call + call.body.size() + call.answer.size();
}

Value content_of(std::string_view type, const std::string& body) {
  if (type.starts_with("application/x-npy")) return crypto::base64(body);
  if (!type.starts_with("application/json")) return body;
  try {
    return schema::value_from_json(body);
  } catch (const schema::Error&) {   // a body that was refused
    return body;
  }
}

// Whole lines: a crash may have cut the last one off.
std::string whole_lines(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  text.resize(text.rfind('\n') + 1);
  return text;
}

}   // namespace

std::string line_of(const LoggedCall& call) {
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds(call.time_ms)};
  ValueMap entry{{"time", format_time(time)},
                 {"output", call.output},
                 {"rows", call.rows},
                 {"contentType", call.content_type},
                 {"input", content_of(call.content_type, call.body)}};
  if (call.error.empty()) {
    entry.emplace_back("accept", call.accept);
    entry.emplace_back("answer", content_of(call.accept, call.answer));
  } else {
    entry.emplace_back("error", call.error);
  }
  return schema::value_to_json(entry) + "\n";
}

PredictionLog::PredictionLog(fs::path folder, std::function<void()> sweep,
                             std::function<void(const std::string& model)> dropped)
    : folder_(std::move(folder)),
      sweep_(std::move(sweep)),
      dropped_(std::move(dropped)),
      random_(std::random_device{}()) {
  thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
}

PredictionLog::~PredictionLog() {
  thread_.request_stop();
  thread_.join();
}

bool PredictionLog::samples(double fraction) {
  if (fraction <= 0) return false;
  if (fraction >= 1) return true;
  const std::lock_guard lock(mutex_);
  return std::uniform_real_distribution<>()(random_) < fraction;
}

void PredictionLog::add(LoggedCall call) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t size = size_of(call);
    if (waiting_bytes_ + size <= kMostWaiting) {
      waiting_.push_back(std::move(call));
      waiting_bytes_ += size;
      changed_.notify_all();
      return;
    }
  }
  if (dropped_) dropped_(call.model);
}

void PredictionLog::loop(std::stop_token stop) {
  auto sweep_at = std::chrono::steady_clock::now() + kSweep;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_until(lock, stop, sweep_at, [this] { return !waiting_.empty(); });
    if (waiting_.empty() && stop.stop_requested()) return;
    if (!waiting_.empty()) {
      const LoggedCall call = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= size_of(call);
      is_writing_ = true;
      lock.unlock();
      write(call);
      lock.lock();
      is_writing_ = false;
      changed_.notify_all();
    }
    if (!sweep_ || std::chrono::steady_clock::now() < sweep_at) continue;
    lock.unlock();
    sweep_();
    lock.lock();
    sweep_at = std::chrono::steady_clock::now() + kSweep;
  }
}

// The first write since the start cuts off half a line that a crash has left.
void PredictionLog::write(const LoggedCall& call) try {
  const std::string line = line_of(call);
  const auto most = static_cast<std::uintmax_t>(call.max_bytes) / 2;
  const fs::path now = file(call.model, ".log");
  const std::lock_guard lock(files_);
  if (line.size() > most) return dropped_ ? dropped_(call.model) : void();
  if (!sizes_.contains(call.model)) {
    const std::uintmax_t whole = fs::exists(now) ? whole_lines(now).size() : 0;
    if (fs::exists(now)) fs::resize_file(now, whole);
    sizes_[call.model] = whole;
  }
  std::uintmax_t& size = sizes_[call.model];
  if (size + line.size() > most) {
    fs::rename(now, file(call.model, ".old"));
    size = 0;
  }
  std::ofstream out(now, std::ios::binary | std::ios::app);
  out << line << std::flush;
  if (!out) throw fs::filesystem_error("write", now, std::make_error_code(std::errc::io_error));
  size += line.size();
} catch (const std::exception& error) {   // a full disk must not end the server
  const std::lock_guard lock(files_);
  sizes_.erase(call.model);   // looked up again: half a line may be there
  if (dropped_) dropped_(call.model);
}

std::string PredictionLog::read(const std::string& model) {
  {
    std::unique_lock lock(mutex_);
    const auto is_of_model = [&](const LoggedCall& call) { return call.model == model; };
    changed_.wait_for(lock, kReadWait, [&] { return !is_writing_ && std::ranges::none_of(waiting_, is_of_model); });
  }
  const std::lock_guard lock(files_);
  return whole_lines(file(model, ".old")) + whole_lines(file(model, ".log"));
}

void PredictionLog::remove(const std::string& model) noexcept {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kReadWait, [this] { return !is_writing_; });   // it might write one of this model
    std::erase_if(waiting_, [&](const LoggedCall& call) {
      if (call.model == model) waiting_bytes_ -= size_of(call);
      return call.model == model;
    });
  }
  const std::lock_guard lock(files_);
  sizes_.erase(model);
  std::error_code ignored;   // the next start removes what is left
  fs::remove(file(model, ".log"), ignored);
  fs::remove(file(model, ".old"), ignored);
}

fs::path PredictionLog::file(std::string_view model, const char* suffix) const {
  return folder_ / fmt::format("{}{}", model, suffix);
}

}   // namespace kedge::server
