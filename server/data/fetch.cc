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
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    engine::require(fd_ >= 0, ErrorCode::kInternal, "{}: cannot be created: {}", path.string(), std::strerror(errno));
  }
  OutputFile(const OutputFile&) = delete;
  ~OutputFile() {
    ::close(fd_);
    if (!kept_) ::unlink(path_.c_str());
  }
  void restart() {
    engine::require(::ftruncate(fd_, 0) == 0 && ::lseek(fd_, 0, SEEK_SET) == 0, ErrorCode::kInternal, "{}: cannot be truncated: {}",
                    path_.string(), std::strerror(errno));
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      engine::require(n > 0, ErrorCode::kInternal, "{}: write failed: {}", path_.string(), std::strerror(n < 0 ? errno : ENOSPC));
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

FetchLibrary::FetchLibrary() {
  engine::require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, ErrorCode::kInternal, "libcurl cannot be initialised");
}
FetchLibrary::~FetchLibrary() { curl_global_cleanup(); }

Fetcher::Fetcher(AddressRules rules, FetchLimits limits) : rules_(std::move(rules)), limits_(limits) {}

Fetched Fetcher::to_file(const FetchRequest& request, const std::filesystem::path& path, const Progress& progress,
                         std::stop_token stop) const {
  OutputFile file(path);
  const auto deadline = std::chrono::steady_clock::now() + limits_.deadline;
  const TransferOptions options{rules_, limits_, deadline, stop, progress, is_success};
  const auto attempt = [&] {
    Digest digest(request.digest);
    Fetched fetched;
    file.restart();
    BackgroundSink checked_file([&](std::string_view bytes) {
      digest.update(bytes);
      file.write(bytes);
    });
    const auto result = transfer(request, options, [&](std::string_view bytes) {
      fetched.bytes += static_cast<std::int64_t>(bytes.size());
      engine::require(fetched.bytes <= limits_.max_bytes, ErrorCode::kInvalidValue, "{}: larger than the limit of {} bytes",
                      request.what, limits_.max_bytes);
      checked_file.push(bytes);
    });
    checked_file.finish();
    fetched.not_modified = result.status == 304;
    fetched.etag = result.etag;
    fetched.digest = digest.hex();
    if (!fetched.not_modified && !request.expected.empty() && !same_ignoring_case(request.expected, fetched.digest))
      throw AttemptFailure{ErrorCode::kDatasetCorrupt, fmt::format("checksum {} of the received file is not {}", fetched.digest,
                                                                   request.expected)};
    return fetched;
  };
  const Fetched fetched = with_retries(request, limits_, stop, attempt);
  if (!fetched.not_modified) file.keep();
  return fetched;
}

FetchedText Fetcher::text(const FetchRequest& request, std::stop_token stop) const {
  const auto deadline = std::chrono::steady_clock::now() + limits_.deadline;
  const auto wants_body = [](long status) { return is_success(status) || status == 412; };
  const TransferOptions options{rules_, limits_, deadline, stop, {}, wants_body};
  return with_retries(request, limits_, stop, [&] {
    FetchedText answer;
    const auto result = transfer(request, options, [&](std::string_view bytes) {
      engine::require(answer.body.size() + bytes.size() <= kMostTextBytes, ErrorCode::kDatasetUnavailable,
                      "{}: an answer of more than {} bytes", request.what, kMostTextBytes);
      answer.body.append(bytes);
    });
    answer.status = result.status;
    return answer;
  });
}

}  // namespace kedge::server
