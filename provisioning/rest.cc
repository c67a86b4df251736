// REST calls and the sorting of their errors.
#include "provisioning/rest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace kedge::provisioning {
namespace {

// The sentence inside an error body, in any of the places where providers put it; otherwise the body's beginning.
std::string words_of(const std::string& body) {
  constexpr std::size_t kLongest = 300;
  const json::Value value = json::parse(body);
  for (const char* path : {"error.message", "error_reason", "message", "error", "detail", "msg", "errors.0.message", "errors.0"})
    if (std::string text = json::text(value, path); !text.empty()) return text.substr(0, kLongest);
  return body.substr(0, kLongest);
}

}   // namespace

bool says_gone(const ProviderError& error) {
  return error.status == 404 || error.status == 410;
}

bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::ranges::any_of(words, [&](std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
  });
}

Failure usual_failure(long status, const std::string& body) {
  if (mentions(body, {"insufficient-capacity", "insufficient capacity", "no capacity", "not enough capacity", "out of stock",
                      "out_of_stock", "no longer available", "not available", "no available", "resource_exhausted"}))
    return Failure::kNoCapacity;
  if (mentions(body,
               {"quota", "limit exceeded", "insufficient balance", "insufficient funds", "insufficient credit", "payment"}) &&
      status != 429)
    return Failure::kQuota;
  return failure_of_status(status);
}

Rest::Rest(http::Client& client, std::string provider, std::string base, http::Headers headers, Classify classify)
    : client_(client),
      provider_(std::move(provider)),
      base_(std::move(base)),
      headers_(std::move(headers)),
      classify_(classify ? std::move(classify) : usual_failure) {
  while (base_.ends_with('/')) base_.pop_back();
}

void Rest::set_header(const std::string& name, const std::string& value) {
  for (auto& [key, old] : headers_)
    if (key == name) {
      old = value;
      return;
    }
  headers_.emplace_back(name, value);
}

json::Value Rest::call(const std::string& method, std::string_view path, const json::Value* body) const {
  http::Request request{.method = method, .url = base_ + std::string(path), .headers = headers_};
  request.headers.emplace_back("Accept", "application/json");
  if (body) {
    request.body = json::write(*body);
    request.headers.emplace_back("Content-Type", "application/json");
  }
  return send(request, path);
}

std::optional<json::Value> Rest::get_if_there(std::string_view path) const {
  return if_there([&] { return get(path); });
}

void Rest::remove_if_there(std::string_view path) const {
  if_there([&] { return remove(path); });
}

json::Value Rest::patch_text(std::string_view path, const std::string& text) const {
  http::Request request{.method = "PATCH", .url = base_ + std::string(path), .headers = headers_, .body = text};
  request.headers.emplace_back("Content-Type", "text/plain");
  return send(request, path);
}

json::Value Rest::send(const http::Request& request, std::string_view path) const {
  const http::Response response = client_.send(request);
  if (response.status < 400) return json::parse(response.body);
  const std::string doing = fmt::format("{}: {} {}", provider_, request.method, path.substr(0, path.find('?')));
  throw ProviderError(classify_(response.status, response.body), doing, words_of(response.body), response.status,
                      request.method != "GET" && request.method != "DELETE" && response.status >= 500);
}

}   // namespace kedge::provisioning
