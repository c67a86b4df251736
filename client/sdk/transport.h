// HTTP for the client: requests, and a response that is read line by line as it arrives. The only place with curl.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge {

struct HttpReply {
  long status = 0;
  std::string body;
};

// One server. Keeps its connection open between requests. Errors: Error{kConnection} when no answer came; an answer of 400
// or above becomes the Error of its problem body.
class Transport {
 public:
  Transport(std::string url, std::string token);
  ~Transport();

  // `path` starts with "/". timeout 0: none.
  HttpReply get(std::string_view path, std::chrono::seconds timeout = std::chrono::seconds(30));
  HttpReply post(std::string_view path, std::string_view json);
  // Any body and any form of answer, by their media types; an empty type is left out.
  HttpReply exchange(const char* method, std::string_view path, std::string_view body, std::string_view content_type, std::string_view accept);
  // Sends a file, or stdin for "-", in pieces: it may be larger than the memory.
  HttpReply put_file(std::string_view path, const std::string& file);
  HttpReply remove(std::string_view path);   // DELETE

  const std::string& url() const;

  // Lines of a text/event-stream. next_line() blocks; nullopt at the end of the answer or when the connection broke or was
  // silent for 45 s (the server sends a comment every 15 s).
  class Lines {
   public:
    Lines(const Transport& transport, std::string_view path, std::string_view last_event_id);
    ~Lines();
    std::optional<std::string> next_line();

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge
