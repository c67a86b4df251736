// JSON over HTTP with one provider: the part that all of their clients share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/json.h"

namespace kedge::provisioning {

class Rest {
 public:
  // Refines what a status says by the provider's own words: "out of stock" behind a 400 is no capacity.
  using Classify = std::function<Failure(long status, const std::string& body)>;

  Rest(http::Client& client, std::string provider, std::string base, http::Headers headers, Classify classify = {});

  // Throw ProviderError for a status of 400 and above; maybe_done after 5xx and broken connections of a POST.
  json::Value get(std::string_view path) const { return call("GET", path, nullptr); }
  json::Value post(std::string_view path, const json::Value& body) const { return call("POST", path, &body); }
  json::Value put(std::string_view path, const json::Value& body) const { return call("PUT", path, &body); }
  json::Value patch(std::string_view path, const json::Value& body) const { return call("PATCH", path, &body); }
  json::Value patch_text(std::string_view path, const std::string& text) const;   // the body as it is, text/plain
  json::Value remove(std::string_view path) const { return call("DELETE", path, nullptr); }
  // nullopt: there is no such thing.
  std::optional<json::Value> get_if_there(std::string_view path) const;
  void remove_if_there(std::string_view path) const;

  void set_header(const std::string& name, const std::string& value);   // replaces, or adds

 private:
  json::Value call(const std::string& method, std::string_view path, const json::Value* body) const;
  json::Value send(const http::Request& request, std::string_view path) const;

  http::Client& client_;   // outlives this
  std::string provider_, base_;
  http::Headers headers_;
  Classify classify_;
};

// true when a call ended with "there is no such thing": 404 or 410.
bool says_gone(const ProviderError& error);

// What the call gives; nullopt when it ends with "there is no such thing".
template <class Call>
std::optional<json::Value> if_there(Call call) {
  try {
    return call();
  } catch (const ProviderError& error) {
    if (!says_gone(error)) throw;
    return std::nullopt;
  }
}

// Looks for any of the words, ignoring case.
bool mentions(std::string_view text, std::initializer_list<std::string_view> words);
// kNoCapacity, kQuota and kAuth by the words that many providers use, otherwise by status.
Failure usual_failure(long status, const std::string& body);

}   // namespace kedge::provisioning
