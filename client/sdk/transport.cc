// HTTP for the client.
#include "client/sdk/transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "client/sdk/backoff.h"
#include "client/sdk/transport_tls.h"
#include "schemas/codec.h"
#include "transfer/curl_handle.h"
#include "transfer/curl_loop.h"

namespace kedge {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kJson = "application/json";
constexpr std::chrono::seconds kLongCall{120}, kConnectTimeout{10};
constexpr std::chrono::milliseconds kLongestWait{1000};   // for curl's own timers and for silence; a stop ends a wait

const schema::Value* member(const schema::ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key) return &value;
  return nullptr;
}

std::string text_of(const schema::ValueMap& map, std::string_view key) {
  const schema::Value* value = member(map, key);
  const std::string* text = value ? std::get_if<std::string>(&value->data) : nullptr;
  return text ? *text : std::string();
}

// Answers that a later try may better.
bool means_later(long status) { return status == 429 || (status >= 502 && status <= 504) || status == 507; }

// The error that a problem+json body describes; any other body, such as a gateway's, is quoted.
Error problem(long status, const std::string& body) {
  try {
    const schema::Value value = schema::value_from_json(body);
    const auto& map = std::get<schema::ValueMap>(value.data);
    return Error(schema::error_code_from_name(text_of(map, "code")), text_of(map, "detail"), text_of(map, "where"));
  } catch (const std::exception&) {
    return Error(means_later(status) ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                 fmt::format("the server answered {}: {}", status, body.substr(0, 200)));
  }
}

Error stopped() { return Error(ErrorCode::kCancelled, "the call was stopped by its caller"); }

}  // namespace

struct Transport::Impl {
  std::string url, token;
  mutable TlsTrust trust = TlsTrust::from_environment();   // a handle notes in it which certificate it has refused
  transfer::Handle handle{kConnectTimeout};
  transfer::Loop loop;

  void prepare(transfer::Handle& to, std::string_view path) const {
    if (!token.empty()) to.add_header("Authorization: Bearer " + token);
    to.set(CURLOPT_URL, (url + std::string(path)).c_str());
    to.set(CURLOPT_PATH_AS_IS, 1L);   // a name that is ".." stays a name
    apply(trust, to.get());
  }

  // Of a server that is not trusted `where` names the setting; no further try will better that.
  Error unreachable(CURLcode code) const {
    if (const std::string why = distrust(trust, code); !why.empty())
      return Error(ErrorCode::kConnection, fmt::format("{}: {}", url, why), trust.pin.expected.empty() ? "KEDGE_CA" : "KEDGE_PIN");
    return Error(ErrorCode::kConnection,
                 fmt::format("{}: {}; is kedged running there? (KEDGE_URL or --url names the server)", url, curl_easy_strerror(code)));
  }

  struct Call {
    std::string_view path;
    const char* method = "GET";
    std::string_view body = {}, content_type = {}, accept = kJson;   // without a content type there is no body
    std::string_view key = {};
    std::chrono::seconds timeout{30};
    std::stop_token stop = {};
    bool may_repeat = true;
    std::FILE* file = nullptr;       // in place of a body: sent in pieces
    std::int64_t file_bytes = -1;    // unknown
    std::int64_t file_first = 0;     // the byte of the file that is sent first
    std::string range = {};          // Content-Range of a part, which has a connection of its own: curl would rewind to the begin
    long allowed = 0;                // a status of failure that is an answer
    const Sent* sent = nullptr;      // hears of the pieces of a file
    const Take* take = nullptr;      // gets the body of a good answer
  };
  struct Answer {
    HttpReply reply;
    std::optional<std::chrono::milliseconds> retry_after;
  };

  // One try. Error{kConnection} when no answer came.
  Answer attempt(const Call& call) {
    handle.reset();
    if (!call.accept.empty()) handle.add_header(fmt::format("Accept: {}", call.accept));
    if (!call.content_type.empty()) {
      handle.add_header(fmt::format("Content-Type: {}", call.content_type));
      handle.add_header("Expect:");
    }
    if (!call.range.empty()) {
      handle.add_header("Content-Range: " + call.range);
      handle.set(CURLOPT_FRESH_CONNECT, 1L);
    }
    if (!call.key.empty()) handle.add_header("Idempotency-Key: " + std::string(call.key));
    prepare(handle, call.path);
    handle.set(CURLOPT_CUSTOMREQUEST, call.method);
    handle.set(CURLOPT_TIMEOUT, static_cast<long>(call.timeout.count()));
    if (call.take) handle.set_lowest_speed(1, std::chrono::duration_cast<std::chrono::seconds>(kSilence));
    set_body(call);
    Answer answer;
    handle.on_header([&answer](std::string_view line) { note_offset(line, answer.reply); });
    bool has_begun = false;   // something was handed on
    handle.on_body([&](std::string_view data) {
      if (!call.take || handle.status() >= 300) {
        answer.reply.body.append(data);
        return;
      }
      has_begun = true;
      (*call.take)(data);
    });
    const std::optional<CURLcode> code = loop.finish(handle, call.stop, kLongestWait);
    if (!code) throw stopped();
    if (*code != CURLE_OK) {
      failures += was_reached(*code) ? 1 : kUnreached;
      handle.rethrow();
      has_handed_on = has_begun;
      throw unreachable(*code);
    }
    answer.reply.status = handle.status();
    if (const curl_off_t seconds = handle.info(CURLINFO_RETRY_AFTER); seconds > 0)
      answer.retry_after = std::chrono::seconds(seconds);
    return answer;
  }

  static void note_offset(std::string_view line, HttpReply& reply) {
    constexpr std::string_view kName = "upload-offset:";
    const bool is_it =
        line.size() > kName.size() &&
        std::ranges::equal(line.substr(0, kName.size()), kName, {}, [](unsigned char c) { return std::tolower(c); });
    if (!is_it) return;
    line.remove_prefix(kName.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::from_chars(line.data(), line.data() + line.size(), reply.upload_offset);
  }

  // A file on its way.
  struct Upload {
    std::FILE* file = nullptr;
    std::int64_t bytes = 0, total = 0;
    const Sent* sent = nullptr;
  };
  Upload upload{};   // of the call that is made

  // No exception may pass through libcurl; to show progress is not worth one.
  static std::size_t read_piece(char* to, std::size_t size, std::size_t count, void* self) noexcept {
    auto& upload = *static_cast<Upload*>(self);
    const std::size_t got = std::fread(to, 1, size * count, upload.file);
    if (got == 0 && std::ferror(upload.file)) return CURL_READFUNC_ABORT;
    upload.bytes += static_cast<std::int64_t>(got);
    if (upload.sent && *upload.sent) (*upload.sent)(upload.bytes, upload.total);
    return got;
  }

  void set_body(const Call& call) {
    if (call.file) {
      handle.set(CURLOPT_UPLOAD, 1L);
      upload = {.file = call.file,
                .bytes = call.file_first,
                .total = call.file_bytes < 0 ? 0 : call.file_first + call.file_bytes,
                .sent = call.sent};
      handle.set(CURLOPT_READFUNCTION, &read_piece);
      handle.set(CURLOPT_READDATA, &upload);
      if (call.file_bytes >= 0) handle.set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.file_bytes));
    } else if (!call.content_type.empty()) {
      handle.set_body(call.body);
    }
  }

  HttpReply perform(const Call& call) {
    has_handed_on = false;
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    for (Backoff backoff;;) {
      Error error;
      std::optional<std::chrono::milliseconds> asked;
      try {
        Answer answer = attempt(call);
        has_answered = true;
        if (answer.reply.status < 400 || answer.reply.status == call.allowed) return std::move(answer.reply);
        error = problem(answer.reply.status, answer.reply.body);
        if (!means_later(answer.reply.status)) throw error;
        asked = answer.retry_after;
      } catch (const Error& caught) {
        if (caught.code != ErrorCode::kConnection || !caught.where.empty()) throw;
        error = caught;
      }
      const auto pause = backoff.next(asked);
      if (call.stop.stop_requested()) throw stopped();
      if (!call.may_repeat || has_handed_on || is_absent(error) || std::chrono::steady_clock::now() + pause > give_up) throw error;
      if (!Backoff::sleep(pause, call.stop)) throw stopped();
    }
  }

  static bool was_reached(CURLcode code) {
    return code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_COULDNT_RESOLVE_PROXY && code != CURLE_OPERATION_TIMEDOUT;
  }

  // A server that never answered is most likely not there: a user wants to see that soon. Less soon if connections are
  // accepted and then lost, as by a bad network, but also by the proxy of a container that does not run.
  bool is_absent(const Error& error) const { return error.code == ErrorCode::kConnection && !has_answered && failures > kFailuresTaken; }
  static constexpr int kFailuresTaken = 9, kUnreached = 3;   // one for which no connection came about counts as three
  bool has_answered = false;
  bool has_handed_on = false;   // part of a body that broke off
  int failures = 0;
};

Transport::Transport(std::string url, std::string token) : impl_(std::make_unique<Impl>()) {
  while (url.ends_with('/')) url.pop_back();
  impl_->url = std::move(url);
  impl_->token = std::move(token);
}
Transport::~Transport() = default;

const std::string& Transport::url() const { return impl_->url; }

HttpReply Transport::get(std::string_view path, std::chrono::seconds timeout, std::stop_token stop) {
  return impl_->perform({.path = path, .timeout = timeout, .stop = std::move(stop)});
}
HttpReply Transport::post(std::string_view path, std::string_view json, std::string_view idempotency_key, std::stop_token stop) {
  return impl_->perform({.path = path, .method = "POST", .body = json, .content_type = kJson, .key = idempotency_key,
                         .timeout = kLongCall, .stop = std::move(stop)});
}
HttpReply Transport::exchange(const char* method, std::string_view path, std::string_view body, std::string_view content_type,
                              std::string_view accept) {
  return impl_->perform(
      {.path = path, .method = method, .body = body, .content_type = content_type, .accept = accept, .timeout = kLongCall,
       .may_repeat = std::string_view(method) != "POST"});
}

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}   // namespace

std::optional<std::uint64_t> Transport::missing_from(std::string_view path) {
  const HttpReply reply = impl_->perform({.path = path, .allowed = 404});
  return reply.status == 404 ? std::optional(reply.upload_offset) : std::nullopt;
}

HttpReply Transport::put_rest(std::string_view path, const std::string& name, std::uint64_t first, std::uint64_t size,
                              const Sent& sent) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(name.c_str(), "rb"));
  if (!file || ::fseeko(file.get(), static_cast<off_t>(first), SEEK_SET) != 0)
    throw Error(ErrorCode::kInvalidValue, fmt::format("{}: cannot be read", name));
  return impl_->perform({.path = path,
                         .method = "PUT",
                         .content_type = "application/octet-stream",
                         .timeout = std::chrono::seconds(0),
                         .may_repeat = false,
                         .file = file.get(),
                         .file_bytes = static_cast<std::int64_t>(size - first),
                         .file_first = static_cast<std::int64_t>(first),
                         .range = first == 0 ? "" : fmt::format("bytes {}-{}/{}", first, size - 1, size),
                         .sent = &sent});
}

HttpReply Transport::put_file(std::string_view path, const std::string& name, const Sent& sent) {
  std::unique_ptr<std::FILE, Close> owned(name == "-" ? nullptr : std::fopen(name.c_str(), "rb"));
  std::FILE* file = name == "-" ? stdin : owned.get();
  if (!file) throw Error(ErrorCode::kInvalidValue, fmt::format("{}: cannot be read", name));
  std::error_code unknown;
  const auto size = owned ? std::filesystem::file_size(name, unknown) : ~std::uintmax_t{0};
  return impl_->perform({.path = path,
                         .method = "PUT",
                         .content_type = "application/octet-stream",
                         .timeout = std::chrono::seconds(0),
                         .may_repeat = false,
                         .file = file,
                         .file_bytes = static_cast<std::int64_t>(size),
                         .sent = &sent});
}

void Transport::download(std::string_view path, const Take& take, std::string_view accept) {
  impl_->perform({.path = path, .accept = accept, .timeout = std::chrono::seconds(0), .take = &take});
}

HttpReply Transport::remove(std::string_view path) {
  return impl_->perform({.path = path, .method = "DELETE", .timeout = kLongCall});
}

// With the trust that this one was made with, whatever the environment says by now.
std::shared_ptr<Transport> Transport::another() const {
  auto other = std::make_shared<Transport>(impl_->url, impl_->token);
  other->impl_->trust = impl_->trust;
  return other;
}

struct Transport::Stream::Impl {
  transfer::Handle handle{kConnectTimeout};
  transfer::Loop loop;
  std::stop_token stop;
  std::string buffer;   // received, not yet handed out
  // Not by curl, which counts bytes a second: a quiet stream's heartbeats are fewer than one.
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  std::chrono::milliseconds silence{};
  bool done = false;
};

Transport::Stream::Stream(const Transport& transport, std::string_view path, std::string_view last_event_id,
                          std::stop_token stop, std::chrono::milliseconds silence)
    : impl_(std::make_unique<Impl>()) {
  impl_->stop = std::move(stop), impl_->silence = silence;
  transfer::Handle& handle = impl_->handle;
  handle.add_header("Accept: text/event-stream");
  if (!last_event_id.empty()) handle.add_header("Last-Event-ID: " + std::string(last_event_id));
  transport.impl_->prepare(handle, path);
  handle.on_body([own = impl_.get()](std::string_view data) {
    own->buffer.append(data);
    own->heard = std::chrono::steady_clock::now();
  });
  impl_->loop.begin(handle);
}
Transport::Stream::~Stream() = default;

std::optional<std::string> Transport::Stream::read() {
  const std::stop_callback wake(impl_->stop, [this] { impl_->loop.wake(); });
  long status = 0;
  while (!impl_->stop.stop_requested()) {
    status = impl_->handle.status();
    if (status < 400 && !impl_->buffer.empty()) return std::exchange(impl_->buffer, {});
    if (impl_->done) break;
    impl_->done = impl_->loop.step().has_value();
    if (impl_->done || !impl_->buffer.empty()) continue;
    if (std::chrono::steady_clock::now() - impl_->heard > impl_->silence) break;
    impl_->loop.wait(kLongestWait);
  }
  if (status >= 400) throw problem(status, impl_->buffer);
  return std::nullopt;
}

}  // namespace kedge
