// HTTP for the client, on libcurl.
#include "client/sdk/transport.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

#include "client/sdk/backoff.h"
#include "client/sdk/transport_tls.h"
#include "schemas/codec.h"

namespace kedge {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kJson = "application/json";
constexpr std::chrono::seconds kLongCall{120};

struct EasyDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct MultiDeleter {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using Headers = std::unique_ptr<curl_slist, ListDeleter>;

void add(Headers& headers, const std::string& line) { headers.reset(curl_slist_append(headers.release(), line.c_str())); }

// A transfer without a byte for so long is broken.
void set_lowest_speed(CURL* handle) {
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 45L);
}

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

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

// Hands the body of a good answer on in pieces, and gathers that of another.
struct Receiver {
  CURL* handle;
  const Transport::Take* take;   // null: everything is gathered
  std::string* body;
  bool has_begun = false;        // something was handed on
  std::exception_ptr refused;    // by the taker

  static std::size_t receive(char* data, std::size_t size, std::size_t count, void* to) {
    return static_cast<Receiver*>(to)->piece({data, size * count});
  }
  std::size_t piece(std::string_view data) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (!take || status >= 300) return body->append(data), data.size();
    has_begun = true;
    try {
      (*take)(data);
      return data.size();
    } catch (...) {   // not through curl, which is C
      refused = std::current_exception();
      return 0;
    }
  }
};

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

// A transfer that a stop ends at once.
class Transfer {
 public:
  Transfer(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) { curl_multi_add_handle(multi_, easy_); }
  ~Transfer() { curl_multi_remove_handle(multi_, easy_); }
  Transfer(const Transfer&) = delete;

  CURLcode finish(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [multi = multi_] { curl_multi_wakeup(multi); });
    while (!stop.stop_requested()) {
      int running = 0, queued = 0;
      curl_multi_perform(multi_, &running);
      while (const CURLMsg* message = curl_multi_info_read(multi_, &queued))
        if (message->msg == CURLMSG_DONE) return message->data.result;
      curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
    throw stopped();
  }

 private:
  CURLM* multi_;
  CURL* easy_;
};

}  // namespace

struct Transport::Impl {
  std::string url, token;
  mutable TlsTrust trust = TlsTrust::from_environment();   // a handle notes in it which certificate it has refused
  Easy easy{curl_easy_init()};
  Multi multi{curl_multi_init()};

  void prepare(CURL* handle, std::string_view path, Headers& headers) const {
    if (!token.empty()) add(headers, "Authorization: Bearer " + token);
    curl_easy_setopt(handle, CURLOPT_URL, (url + std::string(path)).c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "kedge");
    apply(trust, handle);
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
    const Take* take = nullptr;      // gets the body of a good answer
  };
  struct Answer {
    HttpReply reply;
    std::optional<std::chrono::milliseconds> retry_after;
  };

  // One try. Error{kConnection} when no answer came.
  Answer attempt(const Call& call) {
    CURL* handle = easy.get();
    curl_easy_reset(handle);
    Answer answer;
    Headers headers;
    if (!call.accept.empty()) add(headers, fmt::format("Accept: {}", call.accept));
    if (!call.content_type.empty()) add(headers, fmt::format("Content-Type: {}", call.content_type)), add(headers, "Expect:");
    if (!call.key.empty()) add(headers, "Idempotency-Key: " + std::string(call.key));
    prepare(handle, call.path, headers);
    Receiver receiver{.handle = handle, .take = call.take, .body = &answer.reply.body};
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, Receiver::receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &receiver);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, static_cast<long>(call.timeout.count()));
    if (call.take) set_lowest_speed(handle);
    if (call.file) {
      curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(handle, CURLOPT_READDATA, call.file);
      if (call.file_bytes >= 0) curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.file_bytes));
    } else if (!call.content_type.empty()) {
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.data() ? call.body.data() : "");
    }
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method);
    if (const CURLcode code = Transfer(multi.get(), handle).finish(call.stop); code != CURLE_OK) {
      failures += was_reached(code) ? 1 : kUnreached;
      if (receiver.refused) std::rethrow_exception(receiver.refused);
      has_handed_on = receiver.has_begun;
      throw unreachable(code);
    }
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.reply.status);
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
      answer.retry_after = std::chrono::seconds(seconds);
    return answer;
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
        if (answer.reply.status < 400) return std::move(answer.reply);
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

  // A server that never answered is most likely not there: who starts a program wants to hear that soon. Less soon where somebody takes
  // connections and loses them, as a bad network does, but also the proxy of a container that does not run.
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

HttpReply Transport::put_file(std::string_view path, const std::string& name) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> owned(name == "-" ? nullptr : std::fopen(name.c_str(), "rb"));
  std::FILE* file = name == "-" ? stdin : owned.get();
  if (!file) throw Error(ErrorCode::kInvalidValue, fmt::format("{}: cannot be read", name));
  std::error_code unknown;
  const auto size = owned ? std::filesystem::file_size(name, unknown) : ~std::uintmax_t{0};
  return impl_->perform({.path = path, .method = "PUT", .content_type = "application/octet-stream", .timeout = std::chrono::seconds(0),
                         .may_repeat = false, .file = file, .file_bytes = static_cast<std::int64_t>(size)});
}

void Transport::download(std::string_view path, const Take& take) {
  impl_->perform({.path = path, .accept = {}, .timeout = std::chrono::seconds(0), .take = &take});
}

HttpReply Transport::remove(std::string_view path) {
  return impl_->perform({.path = path, .method = "DELETE", .timeout = kLongCall});
}

std::shared_ptr<Transport> Transport::another() const { return std::make_shared<Transport>(impl_->url, impl_->token); }

struct Transport::Stream::Impl {
  Easy easy{curl_easy_init()};
  Multi multi{curl_multi_init()};
  std::stop_token stop;
  Headers headers;
  std::string buffer;   // received, not yet handed out
  CURLcode outcome = CURLE_OK;
  bool done = false;

  ~Impl() { curl_multi_remove_handle(multi.get(), easy.get()); }

  void pump() {   // waits for more bytes or the end
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued))
      if (message->msg == CURLMSG_DONE) done = true, outcome = message->data.result;
    if (!done && buffer.empty()) curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
  }
};

Transport::Stream::Stream(const Transport& transport, std::string_view path, std::string_view last_event_id, std::stop_token stop)
    : impl_(std::make_unique<Impl>()) {
  impl_->stop = std::move(stop);
  add(impl_->headers, "Accept: text/event-stream");
  if (!last_event_id.empty()) add(impl_->headers, "Last-Event-ID: " + std::string(last_event_id));
  CURL* handle = impl_->easy.get();
  transport.impl_->prepare(handle, path, impl_->headers);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &impl_->buffer);
  set_lowest_speed(handle);
  curl_multi_add_handle(impl_->multi.get(), handle);
}
Transport::Stream::~Stream() = default;

std::optional<std::string> Transport::Stream::read() {
  const std::stop_callback wake(impl_->stop, [multi = impl_->multi.get()] { curl_multi_wakeup(multi); });
  long status = 0;
  while (!impl_->stop.stop_requested()) {
    curl_easy_getinfo(impl_->easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 400 && !impl_->buffer.empty()) return std::exchange(impl_->buffer, {});
    if (impl_->done) break;
    impl_->pump();
  }
  if (status >= 400) throw problem(status, impl_->buffer);
  return std::nullopt;
}

}  // namespace kedge
