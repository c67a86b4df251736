// Reads one request from bytes, with Beast's parser behind it: the one place where Beast is instantiated.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "server/http/limits.h"
#include "server/http/message.h"

namespace kedge::server::http {

// Feed it the header block, which must have passed check_head(), then the body. Trailers are read over and
// dropped: merged into the fields, as Beast does it, they could overwrite what was checked before the body
// came.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);   // which must live as long
  explicit RequestParser(Limits&&) = delete;
  // After the header block: the body may have so many bytes; of an upload, more chunks when they are not tiny.
  void limit_body(std::uint64_t bytes, bool is_upload);
  ~RequestParser();

  // Takes as much as it can and returns how much that was; the rest must be offered again with more behind
  // it. Throws Refusal: 400 for what is malformed, 413 when the body is too large.
  std::size_t put(std::string_view bytes);
  // From now on the body's bytes are counted, and left where they are: for a body without chunks, which are all that there is.
  void leave_body();
  bool done() const;  // header block and body are complete
  Request& request();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server::http
