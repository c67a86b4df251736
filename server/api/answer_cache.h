// Answers that cannot change any more: what has ended is read, written as text and compressed once, for any number of
// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/http/message.h"

namespace kedge::server::api {

// Kept by path, form and coding, up to a number of bytes; the least recently requested is dropped first. `version` is a
// number that grows whenever something that an answer is about has been removed: all answers of an older one are
// forgotten. Used on the loop's thread.
class AnswerCache {
 public:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;

  explicit AnswerCache(std::size_t most_bytes = kBytes) : most_bytes_(most_bytes) {}

  // The answer to this request, if one is kept and its caller may see it.
  std::optional<http::Response> find(const http::Request& request, std::uint64_t version);

  // Compresses `response` as the request accepts, and keeps a copy. `version` is that before `response` was looked up,
  // `tenant` the owner of what it is about. Not kept if it would take more than a sixteenth of the room.
  void keep(const http::Request& request, std::string_view tenant, http::Response& response, std::uint64_t version);

  std::size_t bytes() const { return bytes_; }   // about; never more than `most_bytes`

 private:
  struct Answer {
    std::string key, tenant;
    http::Response response;
    std::size_t bytes = 0;
  };

  void advance(std::uint64_t version);
  void drop_oldest();

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
  std::list<Answer> answers_;                                                  // most recently requested at the front
  std::unordered_map<std::string_view, std::list<Answer>::iterator> by_key_;   // keys point into answers_
};

}   // namespace kedge::server::api
