// Keeping answers: see answer_cache.h.
#include "server/api/answer_cache.h"

#include <utility>

#include "server/api/answer.h"
#include "server/http/accept.h"
#include "server/http/compress.h"

namespace kedge::server::api {
namespace {

constexpr std::size_t kLargest = 16;   // of so many the largest answer is one part
constexpr std::size_t kNodes = 160;    // bytes of an answer in list and table, about, in addition to its parts

// Empty when the client takes no form that is kept.
std::string key_of(const http::Request& request) {
  const std::string_view form = http::choose_media_type(request.field("Accept"), {kJson, kCapnp});
  if (form.empty()) return {};
  std::string key;
  key.reserve(request.path.size() + form.size() + 8);
  return key.append(request.path)
      .append(" ")
      .append(form)
      .append(" ")
      .append(http::choose_encoding(request.field("Accept-Encoding")));
}

std::size_t size_of(const http::Response& response) {
  std::size_t bytes = response.content_type.size() + response.body.size();
  for (const auto& [name, value] : response.fields) bytes += sizeof response.fields[0] + name.size() + value.size();
  return bytes;
}

}   // namespace

std::optional<http::Response> AnswerCache::find(const http::Request& request, std::uint64_t version) {
  advance(version);
  const auto found = by_key_.find(key_of(request));
  if (found == by_key_.end()) return std::nullopt;
  const auto answer = found->second;
  if (!request.caller.admin && answer->tenant != request.caller.tenant) return std::nullopt;
  answers_.splice(answers_.begin(), answers_, answer);
  return answer->response;
}

void AnswerCache::keep(const http::Request& request, std::string_view tenant, http::Response& response, std::uint64_t version) {
  advance(version);
  Answer answer{.key = key_of(request), .tenant = std::string(tenant), .response = {}};
  if (version != version_ || answer.key.empty() || by_key_.contains(answer.key)) return;
  http::compress(response, request.field("Accept-Encoding"));
  answer.bytes = sizeof answer + kNodes + answer.key.size() + answer.tenant.size() + size_of(response);
  if (answer.bytes > most_bytes_ / kLargest) return;
  answer.response = response;
  bytes_ += answer.bytes;
  answers_.push_front(std::move(answer));
  by_key_.emplace(answers_.front().key, answers_.begin());
  while (bytes_ > most_bytes_) drop_oldest();
}

void AnswerCache::advance(std::uint64_t version) {
  if (version <= version_) return;
  version_ = version;
  by_key_.clear();
  answers_.clear();
  bytes_ = 0;
}

void AnswerCache::drop_oldest() {
  bytes_ -= answers_.back().bytes;
  by_key_.erase(answers_.back().key);
  answers_.pop_back();
}

}   // namespace kedge::server::api
