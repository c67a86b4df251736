// HTTP for the client: requests, and a response that is read as it arrives. The only place with curl.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge {

struct HttpReply {
  long status = 0;
  std::string body;
  std::uint64_t upload_offset = 0;   // bytes of a content that wait for the rest
};

// One server. Keeps its connection open between requests. Errors: Error{kConnection} when no answer came; an answer of 400
// or above becomes the Error of its problem body.
class Transport {
 public:
  Transport(std::string url, std::string token);
  ~Transport();

  // `path` starts with "/". Both are tried again for as long as kPatience while no answer comes, or one that says "later" (429, 502
  // to 504, 507), after Retry-After and a pause with full jitter. Error{kCancelled} soon after a stop.
  static constexpr std::chrono::seconds kPatience{60};
  HttpReply get(std::string_view path, std::chrono::seconds timeout = std::chrono::seconds(30), std::stop_token stop = {});
  // With a key the server does a repeated call once; without one, only give what may be done twice.
  HttpReply post(std::string_view path, std::string_view json, std::string_view idempotency_key = {}, std::stop_token stop = {});

  // Any body and any form of answer, by their media types; an empty type is left out. A POST is not tried again.
  HttpReply exchange(const char* method, std::string_view path, std::string_view body, std::string_view content_type,
                     std::string_view accept);

  // Sends a file, or stdin for "-", in pieces: it may be larger than the memory. Not tried again. `sent` hears of each
  // piece: bytes so far, and of all (0: unknown).
  using Sent = std::function<void(std::int64_t bytes, std::int64_t total)>;
  HttpReply put_file(std::string_view path, const std::string& file, const Sent& sent = {});
  // Of a content: from which byte on the server misses it; nullopt: it has all. Tried again as get().
  std::optional<std::uint64_t> missing_from(std::string_view path);
  // Sends a file of `size` bytes from its byte `first` on, as a part where that is not the first. Not tried again.
  HttpReply put_rest(std::string_view path, const std::string& file, std::uint64_t first, std::uint64_t size,
                     const Sent& sent = {});
  HttpReply remove(std::string_view path);   // DELETE

  // GET of what may be larger than the memory: `take` gets it in pieces, in order. Tried again until the first of them has come.
  using Take = std::function<void(std::string_view piece)>;
  void download(std::string_view path, const Take& take, std::string_view accept = {});   // empty: any type

  // Another connection to the same server, for another thread.
  std::shared_ptr<Transport> another() const;

  const std::string& url() const;

  // The bytes of a text/event-stream as they arrive. read() blocks; nullopt at the end of the answer or when the
  // connection broke or was silent for so long (the server sends a comment every 15 s), or a stop.
  static constexpr std::chrono::milliseconds kSilence{45'000};
  class Stream {
   public:
    Stream(const Transport& transport, std::string_view path, std::string_view last_event_id, std::stop_token stop = {},
           std::chrono::milliseconds silence = kSilence);
    ~Stream();
    std::optional<std::string> read();

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge
