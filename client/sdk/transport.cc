// HTTP for the client, on libcurl.
#include "client/sdk/transport.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <cstdio>
#include <deque>
#include <filesystem>

#include "client/sdk/transport_tls.h"
#include "schemas/codec.h"

namespace kedge {
namespace {

using schema::Error;
using schema::ErrorCode;

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
using Headers = std::unique_ptr<curl_slist, ListDeleter>;

void add(Headers& headers, const std::string& line) { headers.reset(curl_slist_append(headers.release(), line.c_str())); }

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

// The error that a problem+json body describes; any other body is quoted.
Error problem(long status, const std::string& body) {
  try {
    const schema::Value value = schema::value_from_json(body);
    const auto& map = std::get<schema::ValueMap>(value.data);
    return Error(schema::error_code_from_name(text_of(map, "code")), text_of(map, "detail"), text_of(map, "where"));
  } catch (const std::exception&) {
    return Error(ErrorCode::kInternal, fmt::format("the server answered {}: {}", status, body.substr(0, 200)));
  }
}

}  // namespace

struct Transport::Impl {
  std::string url, token;
  TlsTrust trust = TlsTrust::from_environment();
  Easy easy{curl_easy_init()};

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

  Error unreachable(CURLcode code) const {
    return Error(ErrorCode::kConnection,
                 fmt::format("{}: {}; is kedged running there? (KEDGE_URL or --url names the server)", url, curl_easy_strerror(code)));
  }

  struct Request {
    const char* method = "GET";
    std::string_view body, content_type, accept = "application/json";
  };

  HttpReply perform(std::string_view path, const Request& request, std::chrono::seconds timeout) {
    return exchange(path, timeout, request.accept, [&](CURL* handle, Headers& headers) {
      if (!request.content_type.empty()) {
        add(headers, fmt::format("Content-Type: {}", request.content_type)), add(headers, "Expect:");
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
      }
      curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method);
    });
  }

  // `set_up` says what is sent beside a GET.
  template <class SetUp>
  HttpReply exchange(std::string_view path, std::chrono::seconds timeout, std::string_view accept, SetUp set_up) {
    CURL* handle = easy.get();
    curl_easy_reset(handle);
    HttpReply reply;
    Headers headers;
    if (!accept.empty()) add(headers, fmt::format("Accept: {}", accept));
    set_up(handle, headers);
    prepare(handle, path, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &reply.body);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, static_cast<long>(timeout.count()));
    if (const CURLcode code = curl_easy_perform(handle); code != CURLE_OK) throw unreachable(code);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
    if (reply.status >= 400) throw problem(reply.status, reply.body);
    return reply;
  }
};

Transport::Transport(std::string url, std::string token) : impl_(std::make_unique<Impl>()) {
  while (url.ends_with('/')) url.pop_back();
  impl_->url = std::move(url);
  impl_->token = std::move(token);
}
Transport::~Transport() = default;

const std::string& Transport::url() const { return impl_->url; }

HttpReply Transport::get(std::string_view path, std::chrono::seconds timeout) { return impl_->perform(path, {}, timeout); }
HttpReply Transport::post(std::string_view path, std::string_view json) {
  return impl_->perform(path, {.method = "POST", .body = json, .content_type = "application/json"}, std::chrono::seconds(120));
}
HttpReply Transport::exchange(const char* method, std::string_view path, std::string_view body, std::string_view content_type,
                              std::string_view accept) {
  const Impl::Request request{.method = method, .body = body, .content_type = content_type, .accept = accept};
  return impl_->perform(path, request, std::chrono::seconds(120));
}

HttpReply Transport::put_file(std::string_view path, const std::string& name) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> owned(name == "-" ? nullptr : std::fopen(name.c_str(), "rb"));
  std::FILE* file = name == "-" ? stdin : owned.get();
  if (!file) throw Error(ErrorCode::kInvalidValue, fmt::format("{}: cannot be read", name));
  std::error_code none;
  const auto size = owned ? std::filesystem::file_size(name, none) : ~std::uintmax_t{0};
  return impl_->exchange(path, std::chrono::seconds(0), "application/json", [&](CURL* handle, Headers& headers) {
    add(headers, "Content-Type: application/octet-stream");
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READDATA, file);
    if (size != ~std::uintmax_t{0}) curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  });
}

HttpReply Transport::remove(std::string_view path) {
  return impl_->perform(path, {.method = "DELETE"}, std::chrono::seconds(60));
}

struct Transport::Lines::Impl {
  Easy easy{curl_easy_init()};
  std::unique_ptr<CURLM, MultiDeleter> multi{curl_multi_init()};
  Headers headers;
  std::string buffer;   // received, not yet handed out
  CURLcode outcome = CURLE_OK;
  bool done = false;

  ~Impl() { curl_multi_remove_handle(multi.get(), easy.get()); }

  std::optional<std::string> take_line() {
    const std::size_t end = buffer.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer.substr(0, end);
    buffer.erase(0, end + 1);
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  void pump() {   // waits for more bytes or the end
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued))
      if (message->msg == CURLMSG_DONE) done = true, outcome = message->data.result;
    if (!done && buffer.find('\n') == std::string::npos) curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
  }
};

Transport::Lines::Lines(const Transport& transport, std::string_view path, std::string_view last_event_id)
    : impl_(std::make_unique<Impl>()) {
  add(impl_->headers, "Accept: text/event-stream");
  if (!last_event_id.empty()) add(impl_->headers, "Last-Event-ID: " + std::string(last_event_id));
  CURL* handle = impl_->easy.get();
  transport.impl_->prepare(handle, path, impl_->headers);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &impl_->buffer);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 45L);
  curl_multi_add_handle(impl_->multi.get(), handle);
}
Transport::Lines::~Lines() = default;

std::optional<std::string> Transport::Lines::next_line() {
  long status = 0;
  while (true) {
    curl_easy_getinfo(impl_->easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 400)
      if (auto line = impl_->take_line()) return line;
    if (impl_->done) break;
    impl_->pump();
  }
  if (status >= 400) throw problem(status, impl_->buffer);
  return std::nullopt;
}

}  // namespace kedge
