// One connection, from its first byte to its last.
#include "server/http/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "server/http/accept.h"
#include "server/http/compress.h"
#include "server/http/problem.h"
#include "server/http/rate_limit.h"
#include "server/http/response_head.h"
#include "server/http/session_bodies.h"
#include "server/http/trace.h"
#include "server/http/url.h"

namespace kedge::server::http {
namespace {

constexpr std::size_t kHeadRead = 1024;   // more than most have; what a connection keeps that waits for its next request
constexpr const char* kNoMemory = "the server has not enough memory for this request now";
constexpr std::size_t kBodyRead = 64 * 1024;
constexpr std::size_t kSmallBody = 4 * 1024;     // of an answer: less is not counted
constexpr std::size_t kLargeBody = 256 * 1024;   // to compress it takes about a millisecond

// Counts the bytes of a body towards the server's total for as long as the request is being served.
class BodyShare {
 public:
  explicit BodyShare(std::uint64_t& total) : total_(total) {}
  ~BodyShare() { total_ -= mine_; }
  void set(std::uint64_t bytes) {
    total_ += bytes - mine_;
    mine_ = bytes;
  }

 private:
  std::uint64_t& total_;
  std::uint64_t mine_ = 0;
};

bool comes_in_pieces(const Route& route, const Request& head) {
  return route.body == BodyForm::kPieces ||
         (route.body == BodyForm::kPiecesOfMultipart && is_media_type(head.field("Content-Type"), "multipart/form-data"));
}

bool is_plain_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

void Shared::tell(std::string_view what, const std::exception& error) const noexcept {
  try {
    report(fmt::format("http: {}: {}", what, error.what()));
  } catch (const std::exception&) {   // there is no memory for words
  }
}

Session::Session(Stream stream, Shared& shared) : stream_(std::move(stream)), shared_(shared) {
  shared_.sessions.insert(this);
}

Session::~Session() {
  shared_.sessions.erase(this);
  if (shared_.sessions.empty() && shared_.on_last_session) shared_.on_last_session();
}

net::awaitable<void> Session::run(std::shared_ptr<Session> session) {
  try {
    bool goes_on = co_await session->greet();
    while (goes_on) goes_on = co_await session->serve_one();
  } catch (const boost::system::system_error&) {
    // The client disconnected, or a deadline closed the connection: there is nothing to report.
  } catch (const std::exception& e) {
    session->shared_.tell("a session ended with", e);
  }
  session->stream_.close();
}

// Does the handshake where the server speaks TLS. A client that does not speak it gets an answer that says so.
net::awaitable<bool> Session::greet() {
  const std::shared_ptr<const TlsContext> tls = shared_.tls;  // may be replaced meanwhile
  if (!tls) co_return true;
  set_deadline(shared_.deadlines.handshake);
  const Stream::Greeting greeting = co_await stream_.greet(*tls);
  if (greeting == Stream::Greeting::kTls) co_return true;
  if (greeting == Stream::Greeting::kPlain) {
    Refusal refusal(400, "this port speaks TLS: use https://");
    co_await refuse(std::move(refusal));
  }
  co_return false;
}

void Session::stop() {
  if (between_requests_) stream_.close();
  drop_stream("shutdown");
  if (peer_) peer_->set_stopping();
}

// Counts once for each stream, for the first reason.
void Session::drop_stream(std::string_view reason) {
  if (std::exchange(streams_, false)) shared_.stream_dropped(reason);
}

void Session::close_if_late(Clock::time_point now) {
  if (now < deadline_) return;
  drop_stream("slow_reader");
  if (writes_) stream_.reset();
  else stream_.close();
}

void Session::close_if_revoked() {
  if (!current_.caller || !shared_.gatekeeper || shared_.gatekeeper->still_valid(*current_.caller)) return;
  drop_stream("revoked");
  if (peer_) peer_->set_gone();
  stream_.close();
}

void Session::close_if_gone(Clock::time_point now) {
  const auto patience = shared_.deadlines.acknowledgement;
  const auto silence = stream_.silence();
  owed_since_ = silence.count() > 0 ? std::min(owed_since_, now) : Clock::time_point::max();
  if (silence < patience || now - patience < owed_since_) return;   // its last word may be older than what it owes
  if (peer_) peer_->set_gone();
  stream_.reset();
}

// The request is freed before its answer is sent, because the answer may be a long stream, one of ten thousand.
net::awaitable<bool> Session::serve_one() {
  std::optional<Reply> reply = co_await next_reply();
  if (!reply) co_return false;
  co_await send(reply->response, reply->head_only, reply->keep_alive);
  observe(reply->response.status);
  peer_.reset();
  current_.caller.reset();
  if (reply->lingers) co_await linger();
  co_return reply->keep_alive && !shared_.stopping;
}

// Empty when there is none: the client closed the connection, or was refused.
net::awaitable<std::optional<Session::Reply>> Session::next_reply() {
  std::optional<Refusal> refusal;
  try {
    current_ = {};
    const std::size_t head_size = co_await read_head();
    if (head_size == 0) co_return std::nullopt;
    current_.start = Clock::now();
    const std::string_view head = std::string_view(in_).substr(0, head_size);
    Framing framing = check_head(head, shared_.limits);
    current_.is_http_1_0 = framing.is_http_1_0;
    RequestParser parser(shared_.limits);
    if (parser.put(head) != head_size) throw Refusal(400, "the header block is malformed");
    in_.erase(0, head_size);
    Reply reply = co_await serve_request(parser, framing);
    co_return reply;
  } catch (const Refusal& e) {
    refusal = e;
  } catch (const std::bad_alloc&) {
    refusal = Refusal(503, kNoMemory, schema::ErrorCode::kUnavailable);
  }
  co_await refuse(*refusal);
  co_return std::nullopt;
}

// Returns the size of the header block at the front of in_, or 0 if the client closed between requests.
net::awaitable<std::size_t> Session::read_head() {
  between_requests_ = in_.empty();
  request_id_.clear();
  set_deadline(between_requests_ ? shared_.deadlines.idle : shared_.deadlines.header);
  for (std::size_t searched = 0;;) {
    const auto end = in_.find("\r\n\r\n", searched);
    if (end != std::string::npos && end + 4 <= shared_.limits.head_bytes) co_return end + 4;
    if (in_.size() >= shared_.limits.head_bytes)
      throw Refusal(431, fmt::format("the header block is larger than {} bytes", shared_.limits.head_bytes));
    searched = in_.size() < 3 ? 0 : in_.size() - 3;
    const std::size_t n = co_await fill(kHeadRead);
    if (n == 0) co_return 0;
    if (between_requests_) {
      between_requests_ = false;
      set_deadline(shared_.deadlines.header);
    }
  }
}

net::awaitable<Session::Reply> Session::serve_request(RequestParser& parser, Framing framing) {
  Request& head = parser.request();
  prepare(head, co_await net::this_coro::executor);
  const bool head_only = head.method == "HEAD";
  Match match;
  std::optional<Response> response = turn_away(head, match);
  if (!response && framing.has_body() && shared_.answers.is_full(client())) response = too_much_unread();   // before anything is done for it
  // The body of a request that is refused is not read, so the connection must close.
  bool keep_alive = !framing.close && !(response && framing.has_body());
  if (!response) {
    const bool in_pieces = comes_in_pieces(*match.route, head);
    if (match.route->body != BodyForm::kPieces && !head.field("Content-Range").empty())   // RFC 9110, 14.5
      throw Refusal(400, "Content-Range: a body is taken whole, not in parts");
    const std::uint64_t most = in_pieces ? shared_.limits.upload_bytes : shared_.limits.body_bytes;
    if (framing.content_length.value_or(0) > most)
      throw Refusal(413, fmt::format("the body has {} bytes, at most {} are accepted", *framing.content_length, most),
                    schema::ErrorCode::kBodyTooLarge);
    parser.limit_body(most, in_pieces);
    response = co_await answer(parser, framing, *match.route);
    keep_alive = keep_alive && (!framing.has_body() || parser.done());
  }
  // A client that sends more than the server reads would lose its answer when the connection is closed at once.
  const bool has_more = !keep_alive && !in_.empty();
  if (current_.rate) add_quota(*response, *current_.rate);
  for (const auto& [name, value] : response->fields)
    if (name == "Location") current_.subject = value.substr(value.rfind('/') + 1);
  co_return Reply{.response = std::move(*response),
                  .head_only = head_only,
                  .keep_alive = keep_alive && !shared_.stopping,
                  .lingers = has_more || (framing.has_body() && !parser.done())};
}

// An answer to a request for what does not exist or belongs to another caller; empty if it may go on. Decided before
// the body is read.
std::optional<Response> Session::turn_away(Request& head, Match& match) {
  try {
    split_target(head.target, head.path, head.query);
    match = shared_.router.find(head.method, head.path);
    current_.path = head.path;
    if (std::optional<Response> refused = turn_away_strangers(head, match)) return refused;
    head.captures = std::move(match.captures);
    if (!match.route) return without_route(head, match.allow);
    current_.route = match.route->path;
    if (!head.captures.empty()) current_.subject = head.captures.front().second;
    if (!shared_.gatekeeper) return std::nullopt;
    head.caller = shared_.gatekeeper->admit(head, stream_.peer_address(), stream_.peer_name(), match.route->access);
    current_.tenant = head.caller.tenant, current_.rate = head.caller.rate;
    if (!head.caller.token.empty()) current_.caller = head.caller;
    return std::nullopt;
  } catch (const schema::Error& e) {
    Response response = problem(e, request_id_);
    if (e.code == schema::ErrorCode::kUnauthenticated) response.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"kedge\"");
    return response;
  }
}

// Requests for another server, and those that a page of another site sends through a browser. HTTP/1.0 knows no Host.
std::optional<Response> Session::turn_away_strangers(const Request& head, const Match& match) const {
  const std::string_view host = head.field("Host");
  if (!host.empty() && !shared_.hosts.admits(host)) return wrong_host(head);
  if (!shared_.sites.admits(head)) return other_site(head);
  if (!current_.origin.empty() && is_preflight(head) && !match.allow.empty()) return preflight(head, match.allow);
  return std::nullopt;
}

// Reads the body, or lets the handler read it, and calls the handler.
net::awaitable<Response> Session::answer(RequestParser& parser, const Framing& framing, const Route& route) {
  BodyShare share(shared_.body_bytes);
  std::optional<UploadReader> reader;
  Request& head = parser.request();
  if (comes_in_pieces(route, head)) {
    reader.emplace(*this, parser, framing);
    head.body_reader = &*reader;
  } else if (framing.has_body()) {
    co_await read_body(parser, framing);
    share.set(head.body.size());
  }
  clear_deadline();
  peer_ = head.peer;
  co_return co_await call(route.handler, std::move(head), request_id_);
}

// Fills in what the parser does not know.
void Session::prepare(Request& request, net::any_io_executor loop) {
  request_id_ = request_id(request.field("X-Request-Id"));
  request.id = request_id_;
  request.trace = traceparent(request.field("traceparent"));
  request.peer = Peer::make(loop, shared_.pool, [this] { watch(); });
  current_.method = request.method;
  current_.trace = request.trace;
  current_.accept_encoding = request.field("Accept-Encoding");
  if (const std::string_view origin = request.field("Origin"); shared_.sites.allows(origin)) current_.origin = origin;
}

void Session::observe(int status) {
  if (!shared_.observe) return;
  const std::string peer = stream_.peer_address().to_string();
  shared_.observe({.method = current_.method,
                   .path = current_.path,
                   .route = current_.route,
                   .status = status,
                   .took = Clock::now() - current_.start,
                   .request_id = request_id_,
                   .trace_id = std::string_view(current_.trace).substr(std::min<std::size_t>(current_.trace.size(), 3), 32),
                   .tenant = current_.tenant,
                   .peer = peer,
                   .subject = current_.subject});
}

std::string Session::request_id(std::string_view wanted) {
  if (is_plain_id(wanted)) return std::string(wanted);
  return fmt::format("{}-{:x}", shared_.id_prefix, ++shared_.requests);
}

net::awaitable<void> Session::send_continue(const Framing& framing) {
  if (framing.expects_continue && in_.empty()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
}

net::awaitable<void> Session::read_body(RequestParser& parser, const Framing& framing) {
  co_await send_continue(framing);
  const auto start = Clock::now();
  BodyShare share(shared_.body_bytes);
  while (true) {
    in_.erase(0, parser.put(in_));
    const std::uint64_t received = parser.request().body.size();
    share.set(received);
    if (parser.done()) co_return;
    if (shared_.body_bytes > shared_.limits.body_bytes_total)
      throw Refusal(503, "too many large requests at once", schema::ErrorCode::kUnavailable);
    co_await read_more(received, start);
  }
}

// Waits for more of a body of which `received` bytes have come.
net::awaitable<void> Session::read_more(std::uint64_t received, Clock::time_point start) {
  if (in_.size() > shared_.limits.chunk_head_bytes)
    throw Refusal(400, "a chunk's header or the trailers are too long");
  expect_body(received, start);
  const std::size_t n = co_await fill(kBodyRead);
  if (n == 0) throw Refusal(400, "the body ends early");
}

// The pace that a client must keep.
void Session::expect_body(std::uint64_t received, Clock::time_point start) {
  const auto& rules = shared_.deadlines;
  deadline_ = start + rules.body_grace + std::chrono::milliseconds(received * 1000 / rules.body_bytes_per_second);
}

net::awaitable<Response> Session::call(const Handler& handler, Request request, std::string id) {
  Response failure;
  try {
    co_return co_await handler(std::move(request));
  } catch (const schema::Error& e) {
    failure = problem(e, id);
  } catch (const boost::system::system_error&) {
    throw;  // the connection broke while the handler read the body
  } catch (const Refusal&) {
    throw;
  } catch (const std::bad_alloc&) {
    failure = problem(schema::Error(schema::ErrorCode::kUnavailable, kNoMemory), id);
  } catch (const std::exception& e) {
    shared_.tell(fmt::format("request {} failed with", id), e);
    failure = problem(schema::Error(schema::ErrorCode::kInternal, "the server failed to answer; its log says more under this request's id"), id);
  }
  co_return failure;
}

// Large answers are compressed where it keeps no other connection waiting.
net::awaitable<void> Session::compress_body(Response& response) {
  if (response.body.size() <= kLargeBody) {
    compress(response, current_.accept_encoding);
    co_return;
  }
  auto work = [&] { compress(response, current_.accept_encoding); };
  co_await Peer::offload_to(shared_.pool, work);
}

// A tenant where there are tenants, otherwise an address.
std::string Session::client() const { return current_.tenant.empty() ? stream_.peer_address().to_string() : current_.tenant; }

Response Session::too_much_unread() const {
  const AnswerBudget& answers = shared_.answers;
  const bool is_own = answers.held() + kLargeBody < answers.total();
  const schema::Error error(is_own ? schema::ErrorCode::kTooManyRequests : schema::ErrorCode::kUnavailable,
                            fmt::format("{} not been read yet hold {} MiB, no more may; read them, or ask again later",
                                        is_own ? "answers of yours that have" : "answers that have",
                                        (is_own ? answers.per_client() : answers.total()) >> 20));
  return problem(error, request_id_);
}

// A read is refused when there is no room for its answer. The answer to a call that has changed something is sent even then.
void Session::hold_answer(Response& response, AnswerBudget::Share& share) {
  const std::uint64_t bytes = response.stream ? (response.is_live ? 0 : kPieceBytes) : response.body.size();
  if (bytes <= kSmallBody || share.try_hold(client(), bytes)) return;
  if (current_.method == "GET")
    response = too_much_unread();
  else
    share.hold(client(), bytes);
}

net::awaitable<void> Session::send(Response& response, bool head_only, bool keep_alive) {
  AnswerBudget::Share share(shared_.answers);
  if (response.content_type == kProblemType && current_.path.starts_with("/v2")) as_inference_error(response);
  if (!head_only) hold_answer(response, share);
  co_await compress_body(response);
  if (!current_.origin.empty()) add_cors(response, current_.origin);
  if (stream_.is_tls()) response.fields.emplace_back("Strict-Transport-Security", "max-age=31536000");
  std::string head = response_head(response, request_id_, keep_alive, !current_.is_http_1_0);
  if (head_only || response.status == 204 || response.status == 304) {
    co_await write(head);
  } else if (response.stream) {
    co_await send_stream(response, head, share);
  } else {
    co_await write(head, response.body);
  }
  clear_deadline();
}

net::awaitable<void> Session::send_stream(Response& response, std::string& head, AnswerBudget::Share& share) {
  if (in_.empty()) in_.shrink_to_fit();  // ten thousand of these may be open
  co_await write(head);
  head.clear(), head.shrink_to_fit();   // assigning an empty one would keep the memory
  response.fields.clear(), response.fields.shrink_to_fit();
  const bool is_plain = response.stream_bytes || current_.is_http_1_0;
  PlainWriter plain(*this, share, response.stream_bytes);
  ChunkWriter chunks(*this, share);
  BodyWriter& writer = is_plain ? static_cast<BodyWriter&>(plain) : chunks;
  streams_ = response.is_live;
  co_await response.stream(writer);
  streams_ = false;
  if (response.stream_bytes && plain.left() > 0) throw boost::system::system_error(net::error::eof);   // the client must see that the body is incomplete
  if (peer_ && peer_->gone()) throw boost::system::system_error(net::error::connection_reset);
  if (!is_plain) co_await write("0\r\n\r\n");
}

// Answers and closes.
net::awaitable<void> Session::refuse(Refusal refusal) {
  if (request_id_.empty()) request_id_ = request_id({});
  // gcc 12 destroys temporaries of a co_await expression twice in places, so there are none here.
  const schema::Error error(refusal.code, refusal.what());
  Response response = problem(refusal.status, error, request_id_);
  co_await send(response, false, false);
  observe(refusal.status);
  co_await linger();
}

// What the client still sends is read for a while and thrown away, then left where it is: closing at once could destroy
// the answer on its way. A client that sends everything before it reads gets its answer if the system's buffers take
// the rest.
net::awaitable<void> Session::linger() {
  stream_.shutdown_send();
  set_deadline(shared_.deadlines.linger);
  for (std::size_t left = shared_.limits.linger_bytes; left > 0;) {
    in_.clear();
    const std::size_t n = co_await fill(kBodyRead);
    if (n == 0) co_return;
    left -= std::min(left, n);
  }
  in_.clear(), in_.shrink_to_fit();
  co_await stream_.wait_for_hangup();
}

// Reads at most `size` bytes behind in_; returns how many, 0 at the end.
net::awaitable<std::size_t> Session::fill(std::size_t size) {
  const std::size_t before = in_.size();
  in_.resize(before + size);
  std::size_t n = 0;
  try {
    n = co_await stream_.read_some(net::buffer(in_.data() + before, size));
  } catch (...) {
    in_.resize(before);
    throw;
  }
  in_.resize(before + n);
  co_return n;
}

net::awaitable<void> Session::write(std::string_view first, std::string_view second, std::string_view third) {
  WriteBuffers buffers{net::buffer(first), net::buffer(second), net::buffer(third)};
  writes_ = true;
  while (net::buffer_size(buffers) > 0) {
    set_deadline(shared_.deadlines.write_stall);
    std::size_t n = co_await stream_.write_some(buffers);
    for (auto& buffer : buffers) {
      const std::size_t taken = std::min(n, buffer.size());
      buffer += taken;
      n -= taken;
    }
  }
  writes_ = false;
  clear_deadline();
}

// While a handler waits, nothing reads from the connection; this notices when the client disconnects.
void Session::watch() {
  stream_.call_at_end(peer_, [self = shared_from_this(), weak = std::weak_ptr<Peer>(peer_)] {
    if (const auto peer = weak.lock()) peer->set_gone();
  });
}

}  // namespace kedge::server::http
