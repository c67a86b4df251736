// One HTTP GET through libcurl: redirects, address check, gzip, progress, cancellation, going on with a broken body; no retries.
#include "server/data/fetch_transfer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "crypto/random.h"
#include "engine/faults/fail_point.h"
#include "server/data/fetch_answer.h"
#include "server/data/fetch_url.h"
#include "transfer/curl_handle.h"
#include "transfer/curl_loop.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
constexpr long kLowSpeedBytes = 1024;
constexpr std::chrono::seconds kLowSpeedTime{15};
constexpr int kLongestRetryAfterSeconds = 10;
// S3 wants the hash of the body in the signature; this libcurl adds it only if it is there.
constexpr const char* kEmptyBody =
    "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// The same trace, with an id of this request in the place of its cause: https://www.w3.org/TR/trace-context/
std::string child_of(const std::string& trace) {
  constexpr std::size_t kParentAt = 36, kParentSize = 16;
  return trace.substr(0, kParentAt) + crypto::random_hex(kParentSize / 2) + trace.substr(kParentAt + kParentSize);
}

class Transfer {
 public:
  Transfer(const FetchRequest& request, const TransferOptions& options, PartialBody& body, const BodyOutput& output)
      : request_(request), options_(options), body_(body), output_(output), handle_(options.limits.connect_timeout) {
    if (!body_.can_go_on()) body_ = {};
    asked_from_ = body_.wire_bytes;
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
      if (!request_.signing.token.empty() && split_url(next).host != split_url(request_.url).host)
        throw Error(ErrorCode::kDatasetUnavailable,
                    fmt::format("{}: the store redirects to another host, which must not get the session token",
                                request_.what));
      url = next;
    }
    throw AttemptFailure{ErrorCode::kDatasetUnavailable, fmt::format("more than {} redirects", options_.limits.max_redirects)};
  }

 private:
  void set_up() {
    handle_.set(CURLOPT_BUFFERSIZE, 262144L);
    handle_.set(CURLOPT_FOLLOWLOCATION, 0L);   // each hop is checked in run()
    handle_.set(CURLOPT_PROXY, "");            // a proxy from the environment would hide the address
    handle_.set(CURLOPT_NOPROXY, "*");
    handle_.set_lowest_speed(kLowSpeedBytes, kLowSpeedTime);
    handle_.set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options_.limits.max_bytes));
    handle_.set(CURLOPT_ERRORBUFFER, error_text_);
    handle_.on_header([this](std::string_view line) { answer_.read_line(line); });
    handle_.on_body([this](std::string_view bytes) { take_body(bytes); });
    handle_.set(CURLOPT_OPENSOCKETFUNCTION, &on_open_socket);
    handle_.set(CURLOPT_OPENSOCKETDATA, this);
    // The body is decoded here and not by libcurl, which does not notice when a gzip stream ends early.
    handle_.add_header("Accept-Encoding: gzip");
    if (!request_.signing.key_id.empty()) handle_.add_header(kEmptyBody);
    if (!request_.signing.token.empty()) handle_.add_header("x-amz-security-token: " + request_.signing.token);
    // A store gets no header of ours that would have to be signed.
    if (!request_.trace.empty() && request_.signing.key_id.empty()) handle_.add_header("traceparent: " + child_of(request_.trace));
    if (!request_.etag.empty()) handle_.add_header("If-None-Match: " + request_.etag);
    if (asked_from_ > 0) {
      handle_.add_header(fmt::format("Range: bytes={}-", asked_from_));
      handle_.add_header("If-Range: " + body_.validator);
    }
  }

  void get(const std::string& url) {
    const UrlParts parts = split_url(url);
    host_ = parts.host;
    name_allowed_ = options_.rules.allows_name(parts.host, parts.port);
    refused_.clear();
    answer_ = {};
    body_begun_ = false;
    error_text_[0] = 0;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline - Clock::now());
    if (left.count() <= 0) throw Error(ErrorCode::kDatasetUnavailable, fmt::format("{}: took too long altogether", request_.what));
    handle_.set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    handle_.set(CURLOPT_URL, url.c_str());
    sign(parts);
    floor_since_ = Clock::now(), floor_bytes_ = 0;
    check(loop_.finish(handle_, options_.stop, kProgressInterval, [this](bool has_ended) {
      report_progress(has_ended);
      if (!has_ended) keep_up(Clock::now());
    }));
  }

  // libcurl adds the hash of the body and the time, and signs the headers that are set here.
  void sign(const UrlParts& parts) {
    const RequestSigning& keys = request_.signing;
    const UrlParts first = split_url(request_.url);
    const bool is_for_it = !keys.key_id.empty() && parts.host == first.host && parts.port == first.port;
    const std::string form = fmt::format("aws:amz:{}:s3", keys.region), user = keys.key_id + ":" + keys.secret;
    handle_.set(CURLOPT_AWS_SIGV4, is_for_it ? form.c_str() : static_cast<const char*>(nullptr));
    handle_.set(CURLOPT_USERPWD, is_for_it ? user.c_str() : static_cast<const char*>(nullptr));
  }

  // A transfer that drips would hold its place for as long as it likes.
  void keep_up(Clock::time_point now) {
    const std::int64_t floor = options_.limits.floor;
    if (floor == 0 || now - floor_since_ < options_.limits.floor_time) return;
    const std::int64_t come = handle_.info(CURLINFO_SIZE_DOWNLOAD_T) - floor_bytes_;
    const double seconds = std::chrono::duration<double>(now - floor_since_).count(), rate = static_cast<double>(come) / seconds;
    if (rate < static_cast<double>(floor))
      throw Error(
          ErrorCode::kDatasetUnavailable,
          fmt::format("{}: came at {:.0f} bytes per second for {:.0f} s, slower than the {} that --fetch-floor demands",
                      request_.what, rate, seconds, floor));
    floor_since_ = now, floor_bytes_ += come;
  }

  void check(std::optional<CURLcode> code) {
    handle_.rethrow();
    if (!code || options_.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the job was cancelled");
    if (code == CURLE_OK) return;
    if (!refused_.empty() && code == CURLE_COULDNT_CONNECT)
      throw Error(ErrorCode::kInvalidValue, fmt::format("{}: {}: connections to it are not allowed (--allow-fetch permits them)",
                                                        request_.what, refused_));
    throw_failure(*code);
  }

  [[noreturn]] void throw_failure(CURLcode code) {
    const auto [done, total] = reached_bytes();
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
      if (!body_begun_) begin_body();
      if (body_.inflater && !body_.inflater->complete())
        start_over(ErrorCode::kDatasetUnavailable, "the answer ends in the middle of its gzip stream");
      return {status, answer_.etag};
    }
    if (status == 416 && asked_from_ > 0) start_over(ErrorCode::kDatasetUnavailable, "the server has no such rest of the file");
    if (status == 304 && !request_.etag.empty()) return {status, answer_.etag};
    if (status == 404 || status == 410)
      throw Error(ErrorCode::kDatasetNotFound, fmt::format("{}: '{}' does not exist (answer {})", request_.what, request_.url, status));
    if (status == 429 || status >= 500) {
      const int asked = std::clamp(std::atoi(answer_.retry_after.c_str()), 0, kLongestRetryAfterSeconds);
      throw AttemptFailure{ErrorCode::kDatasetUnavailable, fmt::format("the server answered {}", status), std::chrono::seconds(asked)};
    }
    const bool is_refused = (status == 400 || status == 401 || status == 403) && !request_.signing.key_id.empty();
    const char* const hint =
        is_refused ? ": the operator's keys for it are wrong, have expired, or do not cover it" : "";
    throw Error(ErrorCode::kDatasetUnavailable,
                fmt::format("{}: '{}' answered {}{}", request_.what, request_.url, status, hint));
  }

  struct Reached {
    std::int64_t done, total;   // total 0: unknown
  };
  Reached reached_bytes() {
    const std::int64_t earlier = answer_.status == 206 ? asked_from_ : 0;
    const std::int64_t announced = handle_.info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T);
    return {earlier + handle_.info(CURLINFO_SIZE_DOWNLOAD_T), announced > 0 ? earlier + announced : 0};
  }

  void report_progress(bool last) {
    const auto now = Clock::now();
    if (!options_.progress || !options_.wants_body(answer_.status) || (now < next_progress_ && !last)) return;
    next_progress_ = now + kProgressInterval;
    const auto [done, total] = reached_bytes();
    options_.progress(done, total);
  }

  // Drops what has come: the next attempt requests everything.
  [[noreturn]] void start_over(ErrorCode code, std::string cause) {
    body_ = {};
    throw AttemptFailure{code, std::move(cause)};
  }

  // Before the first byte of an answer that is wanted: continues the body or begins it.
  void begin_body() {
    body_begun_ = true;
    if (!answer_.is_plain() && !answer_.is_gzip())
      throw Error(ErrorCode::kDatasetUnavailable, fmt::format("{}: sent content coding '{}', which was not requested",
                                                              request_.what, answer_.content_encoding));
    if (answer_.status == 206) return check_rest();
    body_ = {.wire_bytes = 0, .validator = resume_validator(answer_), .inflater = nullptr};
    if (answer_.is_gzip()) body_.inflater = std::make_unique<Inflater>();
    output_.restart();
  }

  // The rest must fit what is there: a server that ignores If-Range may send the rest of another file.
  void check_rest() {
    const bool fits = asked_from_ > 0 && range_start(answer_) == asked_from_ && answer_.is_gzip() == (body_.inflater != nullptr);
    if (!fits)
      start_over(ErrorCode::kDatasetUnavailable, "the server sent another part of the file than the requested one");
    const std::string validator = resume_validator(answer_);
    if (!validator.empty() && validator != body_.validator && !KEDGE_CONTROL("mix-versions"))
      start_over(ErrorCode::kDatasetUnavailable, "the file changed while it was fetched");
  }

  void take_body(std::string_view bytes) {
    if (!options_.wants_body(answer_.status)) return;
    if (!body_begun_) begin_body();
    body_.wire_bytes += static_cast<std::int64_t>(bytes.size());
    if (!body_.inflater) return output_.write(bytes);
    try {
      body_.inflater->feed(bytes, output_.write);
    } catch (const InflateError& error) {
      start_over(ErrorCode::kDatasetCorrupt, "damaged on the way: " + error.what);
    }
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
  PartialBody& body_;
  const BodyOutput& output_;
  std::int64_t asked_from_ = 0;   // where the requested part begins; 0: everything
  transfer::Handle handle_;
  transfer::Loop loop_;
  HttpAnswer answer_;
  std::string host_, refused_;
  bool name_allowed_ = false, body_begun_ = false;
  Clock::time_point next_progress_{}, floor_since_{};
  std::int64_t floor_bytes_ = 0;   // that had come then
  char error_text_[CURL_ERROR_SIZE] = {};
};

}  // namespace

TransferResult transfer(const FetchRequest& request, const TransferOptions& options, PartialBody& body, const BodyOutput& output) {
  return Transfer(request, options, body, output).run();
}

}  // namespace kedge::server
