// Keeping counts of what models were asked: see drift_book.h.
#include "server/models/drift_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/jobs/job_files.h"
#include "server/models/drift.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPause{1};   // between two writes
constexpr const char* kSuffix = ".drift";

std::string now() {
  return format_time(std::chrono::system_clock::now());
}

// Nothing for a file that is not there or damaged.
std::optional<schema::DriftCounts> counts_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.empty()) return std::nullopt;
  try {
    schema::DriftCounts counts = schema::from_json<schema::DriftCounts>(text);
    const bool is_whole = counts.profile && counts.rows >= 0 && counts.counts.size() == bins_of(*counts.profile);
    return is_whole ? std::optional(std::move(counts)) : std::nullopt;
  } catch (const schema::Error&) {
    return std::nullopt;
  }
}

}   // namespace

DriftBook::DriftBook(fs::path folder) : folder_(std::move(folder)) {
  thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
}

DriftBook::~DriftBook() {
  thread_.request_stop();
  thread_.join();
}

DriftBook::Entry& DriftBook::entry(const std::string& model) {
  const auto [found, is_new] = entries_.try_emplace(model);
  Entry& entry = found->second;
  entry.used = ++uses_;
  if (!is_new) return entry;
  if (std::optional<schema::DriftCounts> counts = counts_in(file_of(model)))
    entry.counts = std::move(*counts), entry.is_known = true;
  if (entries_.size() > kMostInMemory && !std::exchange(has_changes_, true)) changed_.notify_all();
  return entry;
}

// Of another profile nothing was counted yet. A model's never changes, but its file here may have been damaged.
void DriftBook::set_profile(Entry& entry, std::optional<schema::ModelProfile> profile) {
  entry.is_known = true;
  if (entry.counts.profile == profile) return;
  entry.counts = {.profile = std::move(profile)};
  if (entry.counts.profile) entry.counts.counts.resize(bins_of(*entry.counts.profile));
}

void DriftBook::note_change(Entry& entry) {
  entry.is_changed = true;
  if (!std::exchange(has_changes_, true)) changed_.notify_all();
}

void DriftBook::note(const std::string& model, const schema::AnswerReport& report) {
  if (!report.profile && report.bins.empty()) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = this->entry(model);
  if (report.profile) set_profile(entry, report.profile);
  schema::DriftCounts& counts = entry.counts;
  const auto is_bin = [&](std::int64_t bin) { return bin >= 0 && bin < std::ssize(counts.counts); };
  if (report.bins.size() != report.counts.size() || !std::ranges::all_of(report.bins, is_bin)) return;
  if (counts.since.empty()) counts.since = now();
  counts.rows += report.rows;
  for (std::size_t i = 0; i < report.bins.size(); ++i)
    counts.counts[static_cast<std::size_t>(report.bins[i])] += report.counts[i];
  note_change(entry);
}

void DriftBook::learn(const std::string& model, std::optional<schema::ModelProfile> profile) {
  const std::lock_guard lock(mutex_);
  set_profile(entry(model), std::move(profile));
}

std::optional<schema::DriftCounts> DriftBook::find(const std::string& model) {
  const std::lock_guard lock(mutex_);
  const Entry& found = entry(model);
  return found.is_known ? std::optional(found.counts) : std::nullopt;
}

void DriftBook::reset(const std::string& model) {
  const std::lock_guard lock(mutex_);
  Entry& entry = this->entry(model);
  if (!entry.counts.profile) return;   // nothing was counted
  std::ranges::fill(entry.counts.counts, 0);
  entry.counts.rows = 0, entry.counts.since = now();
  note_change(entry);
}

void DriftBook::forget(const std::string& model) noexcept {
  const std::lock_guard files(files_);
  const std::lock_guard lock(mutex_);
  entries_.erase(model);
  std::error_code ignored;   // the next start removes what is left
  fs::remove(file_of(model), ignored);
}

void DriftBook::sweep(const std::function<bool(const std::string& model)>& has_model) {
  std::vector<std::string> models;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [model, entry] : entries_) models.push_back(model);
  }
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().extension() == kSuffix) models.push_back(entry.path().stem());
  for (const std::string& model : models)
    if (!has_model(model)) forget(model);
}

std::optional<double> DriftBook::largest_index(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(model);
  return found == entries_.end() ? std::nullopt : server::largest_index(found->second.counts);
}

void DriftBook::loop(std::stop_token stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return has_changes_; });
      changed_.wait_for(lock, stop, kPause, [] { return false; });
      has_changes_ = false;
    }
    write_changed();
    shrink();
  }
  write_changed();   // what came meanwhile
}

// One at a time, so that a deleted model waits for no other's file.
void DriftBook::write_changed() {
  std::vector<std::string> models;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [model, entry] : entries_)
      if (entry.is_changed) models.push_back(model);
  }
  for (const std::string& model : models) {
    const std::lock_guard files(files_);
    schema::DriftCounts counts;
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(model);
      if (found == entries_.end() || !std::exchange(found->second.is_changed, false)) continue;
      counts = found->second.counts;
    }
    write(model, counts);
  }
}

// A full disk must not end the server: the next change writes all.
void DriftBook::write(const std::string& model, const schema::DriftCounts& counts) noexcept try {
  const fs::path file = file_of(model), part = file.string() + ".part";
  write_file(part, schema::to_json(counts));
  fs::rename(part, file);
} catch (const std::exception&) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(model); found != entries_.end()) found->second.is_changed = true;
}

void DriftBook::shrink() {
  const std::lock_guard lock(mutex_);
  while (entries_.size() > kMostInMemory) {
    const auto rank = [](const auto& item) { return std::pair(item.second.is_changed, item.second.used); };
    const auto oldest = std::ranges::min_element(entries_, {}, rank);
    if (oldest->second.is_changed) return;   // not written yet
    entries_.erase(oldest);
  }
}

fs::path DriftBook::file_of(std::string_view model) const {
  return folder_ / fmt::format("{}{}", model, kSuffix);
}

}   // namespace kedge::server
