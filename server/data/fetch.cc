// Downloads with retries, digest and byte limit.
#include "server/data/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/background_sink.h"
#include "server/data/cell.h"
#include "server/data/fetch_transfer.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kMostTextBytes = std::size_t{32} << 20;   // of an API's answer

// The file that a download goes to; removed unless it is kept.
class OutputFile final : public BodySink {
 public:
  explicit OutputFile(const std::filesystem::path& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    engine::require(fd_ >= 0, engine::disk_error(errno), "{}: cannot be created: {}", engine::shown(path), std::strerror(errno));
  }
  OutputFile(const OutputFile&) = delete;
  ~OutputFile() override {
    ::close(fd_);
    if (!kept_) ::unlink(path_.c_str());
  }
  void restart() override {
    engine::require(::ftruncate(fd_, 0) == 0 && ::lseek(fd_, 0, SEEK_SET) == 0, engine::disk_error(errno), "{}: cannot be truncated: {}",
                    engine::shown(path_), std::strerror(errno));
  }
  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      engine::require(n > 0, engine::disk_error(n < 0 ? errno : ENOSPC), "{}: write failed: {}", engine::shown(path_), std::strerror(n < 0 ? errno : ENOSPC));
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  bool kept_ = false;
};

void pause(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

// Runs `attempt` until it succeeds, fails for good, or has failed often enough.
template <class Attempt>
auto with_retries(const FetchRequest& request, const FetchLimits& limits, std::stop_token stop, const Attempt& attempt) {
  auto wait = limits.first_pause;
  for (int n = 1;; ++n) {
    try {
      return attempt();
    } catch (const AttemptFailure& failure) {
      if (n >= limits.attempts)
        throw Error(failure.code, fmt::format("{}: {}, {} attempts", request.what, failure.cause, n));
      pause(std::max(wait, failure.wait), stop);
      wait *= 4;
    }
  }
}

bool is_success(long status) { return status >= 200 && status < 300; }

}  // namespace

// Passes a body on, within the limit of bytes, and computes its digest in another thread.
class CheckedBody {
 public:
  CheckedBody(const FetchRequest& request, const FetchLimits& limits, BodySink& sink) : request_(request), limits_(limits), sink_(sink) {}

  void restart() {
    hashing_.reset();
    digest_.emplace(request_.digest);
    bytes_ = 0;
    sink_.restart();
    hashing_.emplace([this](std::string_view bytes) { digest_->update(bytes); });
  }
  void write(std::string_view bytes) {
    bytes_ += static_cast<std::int64_t>(bytes.size());
    engine::require(bytes_ <= limits_.max_bytes, ErrorCode::kInvalidValue, "{}: larger than the limit of {} bytes", request_.what,
                    limits_.max_bytes);
    hashing_->push(bytes);
    sink_.write(bytes);
  }
  std::string finish() {   // the digest
    hashing_->finish();
    hashing_.reset();
    return digest_->hex();
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  const FetchRequest& request_;
  const FetchLimits& limits_;
  BodySink& sink_;
  std::int64_t bytes_ = 0;
  std::optional<crypto::Digest> digest_;
  std::optional<BackgroundSink> hashing_;   // uses digest_
};

FetchLibrary::FetchLibrary() {
  engine::require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, ErrorCode::kInternal, "libcurl cannot be initialised");
}
FetchLibrary::~FetchLibrary() { curl_global_cleanup(); }

Fetcher::Fetcher(AddressRules rules, FetchLimits limits, Observer observer)
    : rules_(std::move(rules)), limits_(limits), observer_(std::move(observer)) {}

Fetched Fetcher::to_sink(const FetchRequest& request, BodySink& sink, const Progress& progress, std::stop_token stop) const {
  CheckedBody checked(request, limits_, sink);
  const auto start = std::chrono::steady_clock::now();
  const auto tell = [&](std::string_view outcome) {
    if (observer_) observer_(outcome, checked.bytes(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  try {
    const Fetched fetched = fetch(request, checked, progress, stop);
    tell(fetched.not_modified ? "unchanged" : "ok");
    return fetched;
  } catch (...) {
    tell(stop.stop_requested() ? "cancelled" : "failed");
    throw;
  }
}

Fetched Fetcher::fetch(const FetchRequest& request, CheckedBody& checked, const Progress& progress, std::stop_token stop) const {
  const auto deadline = std::chrono::steady_clock::now() + limits_.deadline;
  const TransferOptions options{rules_, limits_, deadline, stop, progress, is_success};
  const BodyOutput output{[&] { checked.restart(); }, [&](std::string_view bytes) { checked.write(bytes); }};
  PartialBody body;
  return with_retries(request, limits_, stop, [&] {
    const auto result = transfer(request, options, body, output);
    Fetched fetched{.not_modified = result.status == 304, .etag = result.etag};
    if (fetched.not_modified) return fetched;
    body = {};
    fetched.digest = checked.finish();
    fetched.bytes = checked.bytes();
    if (!request.expected.empty() && !same_ignoring_case(request.expected, fetched.digest))
      throw AttemptFailure{ErrorCode::kDatasetCorrupt, fmt::format("checksum {} of the received file is not {}", fetched.digest,
                                                                   request.expected)};
    return fetched;
  });
}

Fetched Fetcher::to_file(const FetchRequest& request, const std::filesystem::path& path, const Progress& progress,
                         std::stop_token stop) const {
  OutputFile file(path);
  const Fetched fetched = to_sink(request, file, progress, std::move(stop));
  if (!fetched.not_modified) file.keep();
  return fetched;
}

FetchedText Fetcher::text(const FetchRequest& request, std::stop_token stop) const {
  const auto deadline = std::chrono::steady_clock::now() + limits_.deadline;
  const auto wants_body = [](long status) { return is_success(status) || status == 412; };
  const TransferOptions options{rules_, limits_, deadline, stop, {}, wants_body};
  return with_retries(request, limits_, stop, [&] {
    FetchedText answer;
    PartialBody body;   // small: each attempt requests all of it
    const auto append = [&](std::string_view bytes) {
      engine::require(answer.body.size() + bytes.size() <= kMostTextBytes, ErrorCode::kDatasetUnavailable,
                      "{}: an answer of more than {} bytes", request.what, kMostTextBytes);
      answer.body.append(bytes);
    };
    answer.status = transfer(request, options, body, {[&] { answer.body.clear(); }, append}).status;
    return answer;
  });
}

}  // namespace kedge::server
