// The one place of this layer that knows curl.
#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "crypto/pin.h"
#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/interrupt.h"

namespace kedge::provisioning::http {
namespace {

struct EasyDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t append_body(char* data, std::size_t size, std::size_t count, void* to) {
  constexpr std::size_t kLongest = 64u << 20;   // a catalogue is a few MB
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size * count > kLongest) return 0;
  body.append(data, size * count);
  return size * count;
}

std::size_t append_header(char* data, std::size_t size, std::size_t count, void* to) {
  const std::string_view line(data, size * count);
  if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string name(line.substr(0, colon)), value(line.substr(colon + 1));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    value.erase(0, value.find_first_not_of(" \t"));
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.pop_back();
    static_cast<Headers*>(to)->emplace_back(std::move(name), std::move(value));
  }
  return size * count;
}

CURLcode check_certificate(CURL*, void* context, void* pin) {
  crypto::pin_certificate(static_cast<ssl_ctx_st*>(context), *static_cast<crypto::Pin*>(pin));
  return CURLE_OK;
}

// Nothing can have had an effect when no connection stood.
bool nothing_sent(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return true;
    default:
      return false;
  }
}

// A question may go unanswered after a Ctrl-C; what changes something is waited for, so that one knows what there is.
int stop_asking(void* request, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupted() && static_cast<const Request*>(request)->method == "GET" ? 1 : 0;
}

std::string host_of(const std::string& url) {
  const std::size_t start = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  return url.substr(start, url.find_first_of("/?", start) - start);
}

}   // namespace

Response CurlClient::send(const Request& request) {
  const std::unique_ptr<CURL, EasyDeleter> handle(curl_easy_init());
  std::unique_ptr<curl_slist, ListDeleter> headers;
  const auto add = [&](const std::string& line) { headers.reset(curl_slist_append(headers.release(), line.c_str())); };
  for (const auto& [name, value] : request.headers) add(name + ": " + value);
  add("Expect:");
  Response response;
  crypto::Pin pin{.expected = request.pin};
  curl_easy_setopt(handle.get(), CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_CONNECTTIMEOUT, 15L);
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, stop_asking);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &request);
  curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, "kedge");
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, append_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &response.body);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERFUNCTION, append_header);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERDATA, &response.headers);
  if (request.any_certificate || !request.pin.empty()) {   // reading the 140 authorities would take most of a short call
    curl_easy_setopt(handle.get(), CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(handle.get(), CURLOPT_CAPATH, nullptr);
  }
  if (request.any_certificate) {
    curl_easy_setopt(handle.get(), CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(handle.get(), CURLOPT_SSL_VERIFYPEER, 0L);
  }
  if (!request.pin.empty()) {   // the name does not matter: the key is the identity
    curl_easy_setopt(handle.get(), CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(handle.get(), CURLOPT_SSL_CTX_FUNCTION, check_certificate);
    curl_easy_setopt(handle.get(), CURLOPT_SSL_CTX_DATA, &pin);
  }
  const CURLcode code = curl_easy_perform(handle.get());
  if (code == CURLE_ABORTED_BY_CALLBACK) throw_if_interrupted();
  if (code != CURLE_OK)
    throw ProviderError(Failure::kRetryLater, host_of(request.url), curl_easy_strerror(code), 0, !nothing_sent(code));
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &response.status);
  return response;
}

}   // namespace kedge::provisioning::http
