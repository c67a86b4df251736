// The one place of this layer that knows curl.
#include <algorithm>
#include <cctype>

#include "crypto/pin.h"
#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/interrupt.h"
#include "transfer/curl_handle.h"

namespace kedge::provisioning::http {
namespace {

constexpr std::chrono::seconds kConnectTimeout{15};
constexpr std::size_t kLongestBody = 64u << 20;   // a catalogue is a few MB

void append_header(std::string_view line, Headers& headers) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon)), value(line.substr(colon + 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  value.erase(0, value.find_first_not_of(" \t"));
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.pop_back();
  headers.emplace_back(std::move(name), std::move(value));
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

ProviderError unanswered(const Request& request, CURLcode code) {
  return ProviderError(Failure::kRetryLater, host_of(request.url), curl_easy_strerror(code), 0, !nothing_sent(code));
}

void set_trust(transfer::Handle& handle, const Request& request, crypto::Pin& pin) {
  if (request.any_certificate || !request.pin.empty()) {   // reading the 140 authorities would take most of a short call
    handle.set(CURLOPT_CAINFO, nullptr);
    handle.set(CURLOPT_CAPATH, nullptr);
  }
  if (request.any_certificate) {
    handle.set(CURLOPT_SSL_VERIFYHOST, 0L);
    handle.set(CURLOPT_SSL_VERIFYPEER, 0L);
  }
  if (request.pin.empty()) return;
  handle.set(CURLOPT_SSL_VERIFYHOST, 0L);   // the name does not matter: the key is the identity
  handle.set(CURLOPT_SSL_CTX_FUNCTION, check_certificate);
  handle.set(CURLOPT_SSL_CTX_DATA, &pin);
}

}   // namespace

Response CurlClient::send(const Request& request) {
  transfer::Handle handle(kConnectTimeout);
  for (const auto& [name, value] : request.headers) handle.add_header(name + ": " + value);
  handle.add_header("Expect:");
  handle.set(CURLOPT_URL, request.url.c_str());
  handle.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") handle.set_body(request.body);
  handle.set(CURLOPT_TIMEOUT, static_cast<long>(request.timeout.count()));
  handle.set(CURLOPT_NOPROGRESS, 0L);
  handle.set(CURLOPT_XFERINFOFUNCTION, stop_asking);
  handle.set(CURLOPT_XFERINFODATA, &request);
  crypto::Pin pin{.expected = request.pin};
  set_trust(handle, request, pin);
  Response response;
  handle.on_header([&](std::string_view line) { append_header(line, response.headers); });
  handle.on_body([&](std::string_view data) {
    if (response.body.size() + data.size() > kLongestBody) throw unanswered(request, CURLE_WRITE_ERROR);
    response.body.append(data);
  });
  const CURLcode code = curl_easy_perform(handle.get());
  handle.rethrow();
  if (code == CURLE_ABORTED_BY_CALLBACK) throw_if_interrupted();
  if (code != CURLE_OK) throw unanswered(request, code);
  response.status = handle.status();
  return response;
}

}   // namespace kedge::provisioning::http
