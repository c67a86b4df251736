// One connection: reads requests, passes the gate, calls handlers, writes answers, over and over.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "server/http/answer_budget.h"
#include "server/http/gate.h"
#include "server/http/gatekeeper.h"
#include "server/http/host_rules.h"
#include "server/http/limits.h"
#include "server/http/message.h"
#include "server/http/observer.h"
#include "server/http/parser.h"
#include "server/http/peer.h"
#include "server/http/refusal.h"
#include "server/http/router.h"
#include "server/http/site_rules.h"
#include "server/http/stream.h"

namespace kedge::server::http {

class Session;

// What all sessions of a server share. Used on the loop's thread only.
struct Shared {
  const Router& router;
  const Limits limits;
  const Deadlines deadlines;
  std::function<void(std::string_view)> report;
  net::thread_pool& pool;
  const HostRules hosts;
  const SiteRules sites;
  std::shared_ptr<const TlsContext> tls;   // of new connections, shared with those that shake hands; null: plain HTTP
  Gatekeeper* gatekeeper = nullptr;        // null: every caller may do everything
  Observer observe;                        // may be empty
  std::function<void(std::string_view)> stream_dropped;
  std::unordered_set<Session*> sessions;
  std::uint64_t body_bytes = 0;  // held by requests in progress
  AnswerBudget answers{limits.answer_bytes_total, limits.answer_bytes_per_client};
  std::uint64_t requests = 0;
  std::string id_prefix;  // makes request ids differ between runs
  bool stopping = false;
  std::function<void()> on_last_session;

  void tell(std::string_view what, const std::exception& error) const noexcept;   // reports it, if that can be done
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;

  Session(Stream stream, Shared& shared);
  ~Session();

  static net::awaitable<void> run(std::shared_ptr<Session> session);   // from the first byte to the last
  void stop();  // finish the request in progress, then close
  void close_if_late(Clock::time_point now);
  void close_if_revoked();
  void close_if_gone(Clock::time_point now);
  void close() { stream_.close(); }
  bool is_idle() const { return between_requests_; }
  net::ip::address peer_address() const { return stream_.peer_address(); }

 private:
  class Writer;
  class ChunkWriter;
  class PlainWriter;
  class UploadReader;

  // What is sent for a request, and what becomes of the connection then.
  struct Reply {
    Response response;
    bool head_only = false, keep_alive = false, lingers = false;
  };

  net::awaitable<bool> greet();
  net::awaitable<bool> serve_one();
  net::awaitable<std::optional<Reply>> next_reply();
  net::awaitable<std::size_t> read_head();
  net::awaitable<Reply> serve_request(RequestParser& parser, Framing framing);
  std::optional<Response> turn_away(Request& head, Match& match);
  std::optional<Response> turn_away_strangers(const Request& head, const Match& match) const;
  net::awaitable<Response> answer(RequestParser& parser, const Framing& framing, const Route& route);
  net::awaitable<void> read_body(RequestParser& parser, const Framing& framing);
  net::awaitable<void> read_more(std::uint64_t received, Clock::time_point start);
  void expect_body(std::uint64_t received, Clock::time_point start);
  net::awaitable<void> send_continue(const Framing& framing);
  net::awaitable<Response> call(const Handler& handler, Request request, std::string id);
  net::awaitable<void> send(Response& response, bool head_only, bool keep_alive);
  net::awaitable<void> compress_body(Response& response);
  void hold_answer(Response& response, AnswerBudget::Share& share);
  std::string client() const;
  Response too_much_unread() const;
  void observe(int status);
  net::awaitable<void> send_stream(Response& response, std::string& head, AnswerBudget::Share& share);
  net::awaitable<void> refuse(Refusal refusal);
  net::awaitable<void> linger();
  net::awaitable<std::size_t> fill(std::size_t size);
  net::awaitable<void> write(std::string_view first, std::string_view second = {}, std::string_view third = {});
  void prepare(Request& request, net::any_io_executor loop);
  void watch();
  void drop_stream(std::string_view reason);
  void set_deadline(std::chrono::milliseconds from_now) { deadline_ = Clock::now() + from_now; }
  void clear_deadline() { deadline_ = Clock::time_point::max(); }
  std::string request_id(std::string_view wanted);

  Stream stream_;
  Shared& shared_;
  std::string in_;  // read and not yet used
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point owed_since_ = Clock::time_point::max();   // an acknowledgement, at each look
  std::shared_ptr<Peer> peer_;  // of the request in progress
  std::string request_id_;
  // Of the request in progress, for the observer and for the answer.
  struct Current {
    Clock::time_point start;
    std::string method, path, trace, tenant, subject, accept_encoding;
    std::string origin;   // of the page that may read the answer; empty: none asks
    bool is_http_1_0 = false;
    std::string_view route;
    std::optional<Caller> caller;
    std::optional<schema::Quota> rate;
  };
  Current current_;
  bool between_requests_ = true;
  bool streams_ = false;  // the answer in progress is live
  bool writes_ = false;
};

}  // namespace kedge::server::http
