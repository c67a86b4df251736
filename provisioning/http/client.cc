// Retries and encodings.
#include "provisioning/http/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "provisioning/errors.h"

namespace kedge::provisioning::http {
namespace {

bool repeatable(const Request& request) {
  return request.method == "GET" || request.method == "DELETE";
}

bool worth_repeating(const Request& request, const Response& response) {
  return response.status == 429 || (repeatable(request) && response.status >= 500);
}

}  // namespace

std::string Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Response RetryingClient::send(const Request& request) {
  std::chrono::milliseconds wait{1000};
  for (int left = kTries - 1;; --left) {
    std::chrono::milliseconds pause = wait;
    try {
      Response response = inner_.send(request);
      if (left == 0 || !worth_repeating(request, response)) return response;
      const double asked = std::strtod(response.header("retry-after").c_str(), nullptr);
      if (asked > 0) pause = std::chrono::milliseconds(static_cast<std::int64_t>(std::min(asked, 3600.0) * 1000));
    } catch (const ProviderError&) {
      if (left == 0 || !repeatable(request)) throw;
    }
    clock_.sleep(std::min<std::chrono::milliseconds>(pause, kMaxWait));
    wait *= 2;
  }
}

std::int64_t parse_date(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return end ? timegm(&parts) : -1;
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '_' || byte == '.' || byte == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string form_encode(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields) out += (out.empty() ? "" : "&") + url_encode(name) + "=" + url_encode(value);
  return out;
}

}  // namespace kedge::provisioning::http
