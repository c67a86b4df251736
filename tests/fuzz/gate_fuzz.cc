// Feeds any bytes to the gate and, where it lets them pass, to the parser: no crash, and what is served is the same
// however they arrive.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/http/gate.h"
#include "server/http/parser.h"
#include "server/http/refusal.h"

namespace {

using namespace kedge::server::http;

struct Verdict {
  int status = 0;           // of the refusal; 0: passed
  bool complete = false;    // the body too
  std::size_t used = 0;     // bytes that belong to the request
  std::string body;
  friend bool operator==(const Verdict&, const Verdict&) = default;

  bool waits() const { return status == 0 && !complete; }
};

// Of a body that is not whole the parser may hold back what could be the begin of its last chunk: one way it is refused, another it waits.
bool agree(const Verdict& a, const Verdict& b) {
  return a == b || (a.waits() && !b.complete) || (b.waits() && !a.complete);
}

const Limits& limits() {
  static const Limits small{.body_bytes = 4096, .upload_bytes = 4096};
  return small;
}

// The body arrives in pieces of `step` bytes, as Session reads it.
Verdict judge(std::string_view bytes, std::size_t step) {
  Verdict verdict;
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return verdict;
  const std::string_view head = bytes.substr(0, end + 4);
  try {
    const Framing framing = check_head(head, limits());
    if (framing.is_http_1_0 && (framing.chunked || !framing.close || framing.expects_continue)) {
      std::fputs("HTTP/1.0 passes with what it does not have\n", stderr);
      std::abort();
    }
    RequestParser parser(limits());
    if (parser.put(head) != head.size()) throw Refusal(400, "");
    parser.limit_body(limits().body_bytes, false);
    verdict.used = head.size();
    std::string waiting;
    for (std::size_t at = head.size(); framing.has_body() && !parser.done();) {
      const std::size_t used = parser.put(waiting);
      waiting.erase(0, used);
      verdict.used += used;
      if (parser.done() || at == bytes.size()) break;
      const std::string_view piece = bytes.substr(at, step);
      waiting += piece, at += piece.size();
    }
    verdict.complete = !framing.has_body() || parser.done();
    if (!verdict.complete) return {};
    verdict.body = parser.request().body;
  } catch (const Refusal& refusal) {
    return {.status = refusal.status};
  }
  return verdict;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Verdict whole = judge(bytes, bytes.size() + 1);
  for (const std::size_t step : {1, 7}) {
    if (agree(judge(bytes, step), whole)) continue;
    std::fputs("the verdict depends on how the bytes arrive\n", stderr);
    std::abort();
  }
  return 0;
}
