// The rules of the gate, one function each.
#include "server/http/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "server/http/message.h"
#include "server/http/refusal.h"

namespace kedge::server::http {
namespace {

using std::string_view;

// Those of kNowhere are known, so that the answer is 405 with what is offered, not 501; the connection ends with it.
constexpr std::array<string_view, 9> kMethods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"};
constexpr std::array<string_view, 2> kNowhere{"TRACE", "QUERY"};

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_token_char(char c) {
  return is_alnum(c) || string_view("!#$%&'*+-.^_`|~").find(c) != string_view::npos;
}
bool is_token(string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), is_token_char);
}
bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}
bool is_value_char(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}
bool is_host_char(char c) {
  return is_alnum(c) || string_view("-._~:[]%").find(c) != string_view::npos;
}

string_view trimmed(string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// True for HTTP/1.0.
bool check_version(string_view version) {
  if (version == "HTTP/1.1") return false;
  if (version == "HTTP/1.0") return true;
  const bool well_formed = version.size() == 8 && version.substr(0, 5) == "HTTP/" && version[6] == '.' &&
                           std::isdigit(static_cast<unsigned char>(version[5])) &&
                           std::isdigit(static_cast<unsigned char>(version[7]));
  if (well_formed) throw Refusal(505, fmt::format("{} is not offered; use HTTP/1.1 or HTTP/1.0", version));
  throw Refusal(400, "the request line does not end with a version such as HTTP/1.1");
}

// True for HTTP/1.0.
bool check_request_line(string_view line, const Limits& limits) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == string_view::npos || first == last)
    throw Refusal(400, "the request line needs a method, a target and a version");
  const string_view method = line.substr(0, first);
  const string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(method)) throw Refusal(400, "the method is not a token");
  const bool is_http_1_0 = check_version(line.substr(last + 1));
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end())
    throw Refusal(501, "the method is not offered; use one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  if (target.size() > limits.target_bytes)
    throw Refusal(414, fmt::format("the target has {} bytes, at most {} are accepted", target.size(),
                                   limits.target_bytes));
  if (!std::all_of(target.begin(), target.end(), is_visible) || target.find('#') != string_view::npos)
    throw Refusal(400, "the target has a character that must be percent-encoded");
  if (!(target.starts_with('/') || (target == "*" && method == "OPTIONS")))
    throw Refusal(400, "the target does not start with '/'");
  return is_http_1_0;
}

std::uint64_t parse_length(string_view value) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (value.empty() || error != std::errc() || end != value.data() + value.size())
    throw Refusal(400, "Content-Length is not a number of bytes");
  return length;
}

void check_connection(string_view value, Framing& framing) {
  while (!value.empty()) {
    const auto comma = value.find(',');
    if (same_name(trimmed(value.substr(0, comma)), "close")) framing.close = true;
    value = comma == string_view::npos ? string_view() : value.substr(comma + 1);
  }
}

// Counts what must not come twice.
struct Seen {
  int host = 0, length = 0, coding = 0;
};

void check_meaning(string_view name, string_view value, Seen& seen, Framing& framing) {
  if (same_name(name, "Host")) {
    if (++seen.host > 1) throw Refusal(400, "there are two Host fields");
    if (value.empty() || !std::all_of(value.begin(), value.end(), is_host_char))
      throw Refusal(400, "Host is not a host name");
  } else if (same_name(name, "Content-Length")) {
    if (++seen.length > 1) throw Refusal(400, "there are two Content-Length fields");
    framing.content_length = parse_length(value);
  } else if (same_name(name, "Transfer-Encoding")) {
    if (++seen.coding > 1) throw Refusal(400, "there are two Transfer-Encoding fields");
    if (!same_name(value, "chunked"))
      throw Refusal(501, "the only transfer coding that is offered is chunked");
    framing.chunked = true;
  } else if (same_name(name, "Connection")) {
    check_connection(value, framing);
  } else if (same_name(name, "Expect")) {
    if (!same_name(value, "100-continue"))
      throw Refusal(417, "the only expectation that is met is 100-continue");
    framing.expects_continue = true;
  } else if (same_name(name, "Content-Encoding")) {
    if (!same_name(value, "identity"))
      throw Refusal(415, "Content-Encoding: a body is taken as it is, without a coding", schema::ErrorCode::kUnsupportedMediaType);
  }
}

void check_field(string_view line, Seen& seen, Framing& framing) {
  if (line.front() == ' ' || line.front() == '\t') throw Refusal(400, "a header line is folded");
  const auto colon = line.find(':');
  if (colon == string_view::npos) throw Refusal(400, "a header line has no colon");
  const string_view name = line.substr(0, colon);
  if (!is_token(name)) throw Refusal(400, "a header name is not a token");
  if (name.find('_') !=
      string_view::npos)  // gateways write '-' as '_', so the two would be confused behind one
    throw Refusal(400, "a header name has an underscore");
  const string_view value = trimmed(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), is_value_char))
    throw Refusal(400, "a header value has a control character");
  check_meaning(name, value, seen, framing);
}

// The next line without its CRLF; a CR or LF on its own is refused.
string_view take_line(string_view& rest) {
  const auto end = rest.find('\n');
  if (end == string_view::npos || end == 0 || rest[end - 1] != '\r')
    throw Refusal(400, "a line does not end with CR LF");
  const string_view line = rest.substr(0, end - 1);
  if (line.find('\r') != string_view::npos) throw Refusal(400, "a line has a CR inside");
  rest.remove_prefix(end + 1);
  return line;
}

}  // namespace

Framing check_head(string_view head, const Limits& limits) {
  Framing framing;
  Seen seen;
  framing.close = std::ranges::count(kNowhere, head.substr(0, head.find(' '))) > 0;
  framing.is_http_1_0 = check_request_line(take_line(head), limits);
  std::size_t fields = 0;
  for (string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    if (++fields > limits.fields)
      throw Refusal(431, fmt::format("there are more than {} header fields", limits.fields));
    check_field(line, seen, framing);
  }
  if (!head.empty()) throw Refusal(400, "the header block has an empty line inside");
  if (framing.is_http_1_0) {
    if (framing.chunked) throw Refusal(400, "Transfer-Encoding comes with HTTP/1.0, which has none");
    framing.close = true, framing.expects_continue = false;   // 100 is for clients that know it (RFC 9110 10.1.1)
    return framing;
  }
  if (seen.host == 0) throw Refusal(400, "there is no Host field");
  if (framing.chunked && framing.content_length)
    throw Refusal(400, "Content-Length comes with Transfer-Encoding");
  return framing;
}

}  // namespace kedge::server::http
