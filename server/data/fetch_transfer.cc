// One HTTP GET through libcurl: redirects, address check, gzip, progress and cancellation; no retries.
#include "server/data/fetch_transfer.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "server/data/cell.h"
#include "server/data/fetch_url.h"
#include "server/data/inflate.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
constexpr int kPollMs = 100;
constexpr long kLowSpeedBytes = 1024, kLowSpeedSeconds = 15;
constexpr int kLongestRetryAfterSeconds = 10;

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// The headers of one answer that matter here.
struct Answer {
  long status = 0;
  std::string etag, location, content_encoding, retry_after;

  void read_line(std::string_view line) {
    if (line.starts_with("HTTP/")) {   // a new answer: interim ones come first
      *this = Answer{};
      const std::size_t space = line.find(' ');
      if (space != std::string_view::npos) status = std::strtol(std::string(line.substr(space + 1, 3)).c_str(), nullptr, 10);
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.remove_suffix(1);
    const auto is = [&](std::string_view name) { return same_ignoring_case(line.substr(0, colon), name); };
    if (is("etag")) etag = trimmed(value);
    if (is("location")) location = trimmed(value);
    if (is("content-encoding")) content_encoding = trimmed(value);
    if (is("retry-after")) retry_after = trimmed(value);
  }
};

struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

class Transfer {
 public:
  Transfer(const FetchRequest& request, const TransferOptions& options, const std::function<void(std::string_view)>& sink)
      : request_(request), options_(options), sink_(sink), easy_(curl_easy_init()), multi_(curl_multi_init()) {
    if (!easy_ || !multi_) throw Error(ErrorCode::kInternal, "libcurl has no memory");
    set_up();
  }

  TransferResult run() {
    std::string url = request_.url;
    for (int hop = 0; hop <= options_.limits.max_redirects; ++hop) {
      get(url);
      const bool redirect = answer_.status >= 300 && answer_.status < 400 && answer_.status != 304;
      if (!redirect || answer_.location.empty()) return finish();
      const std::string next = resolve_url(url, answer_.location);
      if (split_url(url).scheme == "https" && split_url(next).scheme == "http")
        throw Error(ErrorCode::kInvalidValue, fmt::format("{}: '{}' redirects from https to http", request_.what, url));
      url = next;
    }
    throw AttemptFailure{ErrorCode::kDatasetUnavailable, fmt::format("more than {} redirects", options_.limits.max_redirects)};
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }

  void set_up() {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_BUFFERSIZE, 262144L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);   // each hop is checked in run()
    set(CURLOPT_PROXY, "");            // a proxy from the environment would hide the address
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_USERAGENT, "kedge");
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.limits.connect_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, kLowSpeedBytes);
    set(CURLOPT_LOW_SPEED_TIME, kLowSpeedSeconds);
    set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options_.limits.max_bytes));
    set(CURLOPT_ERRORBUFFER, error_text_);
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_OPENSOCKETFUNCTION, &on_open_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    // The body is decoded here and not by libcurl, which does not notice when a gzip stream ends early.
    add_header("Accept-Encoding: gzip");
    if (!request_.etag.empty()) add_header("If-None-Match: " + request_.etag);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  void add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (!longer) throw Error(ErrorCode::kInternal, "libcurl has no memory");
    headers_.release();
    headers_.reset(longer);
  }

  void get(const std::string& url) {
    const UrlParts parts = split_url(url);
    host_ = parts.host;
    name_allowed_ = options_.rules.allows_name(parts.host, parts.port);
    refused_.clear();
    answer_ = {};
    inflater_.reset();
    error_text_[0] = 0;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline - Clock::now());
    if (left.count() <= 0) throw Error(ErrorCode::kDatasetUnavailable, fmt::format("{}: took too long altogether", request_.what));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    set(CURLOPT_URL, url.c_str());
    curl_multi_add_handle(multi_.get(), easy_.get());
    const CURLcode code = drive();
    curl_multi_remove_handle(multi_.get(), easy_.get());
    check(code);
  }

  // The multi interface, because it can be woken up for cancellation.
  CURLcode drive() {
    const std::stop_callback wake(options_.stop, [this] { curl_multi_wakeup(multi_.get()); });
    for (int running = 1; running > 0;) {
      if (options_.stop.stop_requested()) return CURLE_ABORTED_BY_CALLBACK;
      curl_multi_perform(multi_.get(), &running);
      report_progress(running == 0);
      if (running > 0) curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
    }
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi_.get(), &left);
    return message ? message->data.result : CURLE_FAILED_INIT;
  }

  void check(CURLcode code) {
    if (sink_failure_) std::rethrow_exception(sink_failure_);
    if (options_.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the job was cancelled");
    if (code == CURLE_OK) return;
    if (!refused_.empty() && code == CURLE_COULDNT_CONNECT)
      throw Error(ErrorCode::kInvalidValue, fmt::format("{}: {}: connections to it are not allowed (--allow-fetch permits them)",
                                                        request_.what, refused_));
    throw_failure(code);
  }

  [[noreturn]] void throw_failure(CURLcode code) {
    const auto done = info(CURLINFO_SIZE_DOWNLOAD_T), total = info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T);
    const std::string reached = total > 0 ? fmt::format("{} of {}", human_bytes(done), human_bytes(total)) : human_bytes(done);
    const auto fail = [](std::string cause) { throw AttemptFailure{ErrorCode::kDatasetUnavailable, std::move(cause)}; };
    switch (code) {
      case CURLE_PARTIAL_FILE:
      case CURLE_RECV_ERROR:
      case CURLE_GOT_NOTHING:
      case CURLE_HTTP2_STREAM:
        fail("connection closed after " + reached);
        break;
      case CURLE_FILESIZE_EXCEEDED:
        throw Error(ErrorCode::kInvalidValue, fmt::format("{}: larger than the limit of {}", request_.what,
                                                          human_bytes(options_.limits.max_bytes)));
      case CURLE_COULDNT_RESOLVE_HOST: fail(fmt::format("host '{}' is not known", host_)); break;
      case CURLE_OPERATION_TIMEDOUT: fail(fmt::format("{} (after {})", error_text_, reached)); break;
      case CURLE_PEER_FAILED_VERIFICATION:
        throw Error(ErrorCode::kDatasetUnavailable, fmt::format("{}: the certificate of '{}' is not valid: {}", request_.what,
                                                                host_, error_text_));
      default: break;
    }
    throw AttemptFailure{ErrorCode::kDatasetUnavailable, error_text_[0] ? error_text_ : curl_easy_strerror(code)};
  }

  TransferResult finish() {
    const long status = answer_.status;
    if (options_.wants_body(status)) {
      if (inflater_ && !inflater_->complete())
        throw AttemptFailure{ErrorCode::kDatasetUnavailable, "the answer ends in the middle of its gzip stream"};
      return {status, answer_.etag};
    }
    if (status == 304 && !request_.etag.empty()) return {status, answer_.etag};
    if (status == 404 || status == 410)
      throw Error(ErrorCode::kDatasetNotFound, fmt::format("{}: '{}' does not exist (answer {})", request_.what, request_.url, status));
    if (status == 429 || status >= 500) {
      const int asked = std::clamp(std::atoi(answer_.retry_after.c_str()), 0, kLongestRetryAfterSeconds);
      throw AttemptFailure{ErrorCode::kDatasetUnavailable, fmt::format("the server answered {}", status), std::chrono::seconds(asked)};
    }
    throw Error(ErrorCode::kDatasetUnavailable, fmt::format("{}: '{}' answered {}", request_.what, request_.url, status));
  }

  curl_off_t info(CURLINFO which) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy_.get(), which, &value);
    return value;
  }

  void report_progress(bool last) {
    const auto now = Clock::now();
    if (!options_.progress || !options_.wants_body(answer_.status) || (now < next_progress_ && !last)) return;
    next_progress_ = now + kProgressInterval;
    options_.progress(info(CURLINFO_SIZE_DOWNLOAD_T), std::max<curl_off_t>(0, info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)));
  }

  void take_body(std::string_view bytes) {
    if (!options_.wants_body(answer_.status)) return;
    if (answer_.content_encoding.empty() || same_ignoring_case(answer_.content_encoding, "identity")) return sink_(bytes);
    if (!same_ignoring_case(answer_.content_encoding, "gzip") && !same_ignoring_case(answer_.content_encoding, "x-gzip"))
      throw Error(ErrorCode::kDatasetUnavailable,
                  fmt::format("{}: sent content coding '{}', which was not asked for", request_.what, answer_.content_encoding));
    if (!inflater_) inflater_ = std::make_unique<Inflater>();
    try {
      inflater_->feed(bytes, sink_);
    } catch (const InflateError& error) {
      throw AttemptFailure{ErrorCode::kDatasetCorrupt, "damaged on the way: " + error.what};
    }
  }

  // Exceptions must not pass through libcurl: they wait in sink_failure_.
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    try {
      transfer.take_body({data, size * count});
      return size * count;
    } catch (...) {
      transfer.sink_failure_ = std::current_exception();
      return CURL_WRITEFUNC_ERROR;
    }
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Transfer*>(self)->answer_.read_line({data, size * count});
    return size * count;
  }

  static curl_socket_t on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (!transfer.name_allowed_ && !transfer.options_.rules.allows_address(address->addr)) {
      transfer.refused_ = fmt::format("'{}' is {}, a {} address", transfer.host_, to_string(address->addr),
                                      special_purpose(address->addr));
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  const FetchRequest& request_;
  const TransferOptions& options_;
  const std::function<void(std::string_view)>& sink_;
  std::unique_ptr<curl_slist, ListDeleter> headers_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;   // ends before the handle that it may still hold
  std::unique_ptr<Inflater> inflater_;
  Answer answer_;
  std::string host_, refused_;
  bool name_allowed_ = false;
  std::exception_ptr sink_failure_;
  Clock::time_point next_progress_{};
  char error_text_[CURL_ERROR_SIZE] = {};
};

}  // namespace

TransferResult transfer(const FetchRequest& request, const TransferOptions& options,
                        const std::function<void(std::string_view)>& sink) {
  return Transfer(request, options, sink).run();
}

}  // namespace kedge::server
