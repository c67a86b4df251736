// URLs, as libcurl understands them: what is checked is what is fetched.
#include "server/data/fetch_url.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <cstdlib>
#include <memory>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

UrlHandle parse_url(const std::string& url) {
  UrlHandle handle(curl_url(), &curl_url_cleanup);
  engine::require(handle && curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK, ErrorCode::kInvalidValue,
                  "'{}' is not a URL", url);
  return handle;
}

std::string part(const UrlHandle& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

UrlParts split_url(const std::string& url) {
  const UrlHandle handle = parse_url(url);
  UrlParts parts;
  parts.scheme = lower(part(handle, CURLUPART_SCHEME));
  engine::require(parts.scheme == "http" || parts.scheme == "https", ErrorCode::kInvalidValue,
                  "'{}': the scheme is '{}', must be http or https", url, parts.scheme);
  engine::require(part(handle, CURLUPART_USER).empty() && part(handle, CURLUPART_PASSWORD).empty(), ErrorCode::kInvalidValue,
                  "the URL must not carry a user name or password");
  parts.host = lower(without_brackets(part(handle, CURLUPART_HOST)));
  parts.port = std::atoi(part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT).c_str());
  return parts;
}

std::string resolve_url(const std::string& base, const std::string& location) {
  const UrlHandle handle = parse_url(base);
  engine::require(curl_url_set(handle.get(), CURLUPART_URL, location.c_str(), 0) == CURLUE_OK, ErrorCode::kInvalidValue,
                  "'{}' redirects to '{}', which is not a URL", base, location);
  const std::string url = part(handle, CURLUPART_URL);
  split_url(url);
  return url;
}

}  // namespace kedge::server
