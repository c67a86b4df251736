// Signature Version 4 on OpenSSL's HMAC.
#include "provisioning/providers/sigv4.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <map>
#include <sstream>
#include <vector>

#include "crypto/digest.h"


namespace kedge::provisioning {
namespace {

std::string hmac(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       digest.data(), &size);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

struct UrlParts {
  std::string scheme, host, path, query;
};

UrlParts split(const std::string& url) {
  UrlParts parts;
  const std::size_t scheme = url.find("://");
  parts.scheme = url.substr(0, scheme);
  const std::size_t host = scheme + 3, path = std::min(url.find_first_of("/?", host), url.size());
  parts.host = url.substr(host, path - host);
  const std::size_t query = std::min(url.find('?', path), url.size());
  parts.path = url.substr(path, query - path);
  if (query < url.size()) parts.query = url.substr(query + 1);
  const std::string_view standard = parts.scheme == "https" ? ":443" : ":80";
  if (parts.host.ends_with(standard)) parts.host.resize(parts.host.size() - standard.size());
  return parts;
}

// Without dot segments and doubled slashes; encoded once more, as every service but S3 requires it.
std::string canonical_path(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '/');) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const std::string& part : parts) out += "/" + http::url_encode(part);
  return out + (parts.empty() || path.ends_with('/') ? "/" : "");
}

std::string canonical_query(const std::string& query) {
  std::vector<std::pair<std::string, std::string>> fields;
  std::istringstream stream(query);
  for (std::string field; std::getline(stream, field, '&');) {
    const std::size_t equals = field.find('=');
    fields.emplace_back(field.substr(0, equals), equals == std::string::npos ? "" : field.substr(equals + 1));
  }
  std::ranges::sort(fields);
  std::string out;
  for (const auto& [name, value] : fields) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string single_spaced(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::map<std::string, std::string> signed_headers(const http::Request& request, const std::string& host) {
  std::map<std::string, std::string> headers{{"host", host}};
  for (const auto& [name, value] : request.headers) {
    const std::string key = lower(name);
    if (key == "user-agent" || key == "expect" || key == "transfer-encoding" || key == "connection") continue;
    if (auto [place, fresh] = headers.try_emplace(key, single_spaced(value)); !fresh && key != "host")
      place->second += "," + single_spaced(value);
  }
  return headers;
}

}  // namespace

std::string amz_date(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

void sign_aws(http::Request& request, const AwsKeys& keys, const std::string& region, const std::string& service,
              std::int64_t unix_seconds) {
  const std::string date = amz_date(unix_seconds), day = date.substr(0, 8);
  request.headers.emplace_back("X-Amz-Date", date);
  if (!keys.session.empty()) request.headers.emplace_back("X-Amz-Security-Token", keys.session);
  const UrlParts url = split(request.url);
  std::string header_lines, names;
  for (const auto& [name, value] : signed_headers(request, url.host)) {
    header_lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + canonical_path(url.path) + "\n" + canonical_query(url.query) + "\n" +
                                header_lines + "\n" + names + "\n" + crypto::sha256_hex(request.body);
  const std::string scope = day + "/" + region + "/" + service + "/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + crypto::sha256_hex(canonical);
  const std::string key = hmac(hmac(hmac(hmac("AWS4" + keys.secret, day), region), service), "aws4_request");
  request.headers.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=" + keys.access + "/" + scope +
                                                    ", SignedHeaders=" + names + ", Signature=" + crypto::to_hex(hmac(key, to_sign)));
}

}  // namespace kedge::provisioning
