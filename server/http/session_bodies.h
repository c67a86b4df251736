// How a session's bodies come and go in pieces: the reader of uploads and the writers of streams. Part of session.cc.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "server/http/session.h"

namespace kedge::server::http {

// What both writers are: an answer that goes out in pieces, of which the server holds no more than it may.
class Session::Writer : public BodyWriter {
 public:
  Writer(Session& session, AnswerBudget::Share& share) : session_(session), share_(share) {}
  bool reserve(std::uint64_t bytes) final {
    const std::string client = session_.client();
    if (share_.try_hold(client, bytes)) return true;
    if (session_.peer_) share_.ring_when_free(client, bytes, session_.peer_->bell());
    return false;
  }

 protected:
  Session& session_;

 private:
  AnswerBudget::Share& share_;
};

// Writes pieces as chunks.
class Session::ChunkWriter final : public Writer {
 public:
  using Writer::Writer;
  net::awaitable<void> write(std::string_view piece) override {
    if (piece.empty()) co_return;  // an empty chunk would end the body
    std::array<char, 20> size;
    const char* end = fmt::format_to(size.data(), "{:x}\r\n", piece.size());
    co_await session_.write({size.data(), end}, piece, "\r\n");
  }
};

// Writes pieces as they are, up to the length that the header block has promised; without one, until the connection ends.
class Session::PlainWriter final : public Writer {
 public:
  PlainWriter(Session& session, AnswerBudget::Share& share, std::optional<std::uint64_t> bytes)
      : Writer(session, share), left_(bytes.value_or(std::numeric_limits<std::uint64_t>::max())) {}
  net::awaitable<void> write(std::string_view piece) override {
    piece = piece.substr(0, left_);
    left_ -= piece.size();
    co_await session_.write(piece);
  }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

// Reads a body as the handler takes it: one without chunks straight from the socket to its place.
class Session::UploadReader final : public BodyReader {
 public:
  UploadReader(Session& session, RequestParser& parser, const Framing& framing)
      : session_(session), parser_(parser), framing_(framing), left_(framing.content_length.value_or(0)) {}

  net::awaitable<std::size_t> read_into(std::span<char> space) override {
    if (!framing_.has_body() || space.empty()) co_return 0;
    if (!started_) co_await start();
    std::size_t n = 0;
    if (framing_.content_length)
      n = co_await read_plain(space.first(std::min<std::uint64_t>(space.size(), left_)));
    else
      n = co_await read_chunked(space);
    received_ += n;
    session_.clear_deadline();  // what the handler does with it is not the client's time
    co_return n;
  }

 private:
  net::awaitable<void> start() {
    started_ = true;
    start_ = Clock::now();
    if (framing_.content_length) parser_.leave_body();
    co_await session_.send_continue(framing_);
  }

  net::awaitable<std::size_t> read_plain(std::span<char> space) {
    if (space.empty()) co_return 0;
    std::size_t n = std::min(session_.in_.size(), space.size());
    std::copy_n(session_.in_.begin(), n, space.begin());
    session_.in_.erase(0, n);
    if (n == 0) {
      session_.expect_body(received_, start_);
      n = co_await session_.stream_.read_some(net::buffer(space.data(), space.size()));
      if (n == 0) throw Refusal(400, "the body ends early");
    }
    left_ -= n;
    parser_.put(std::string_view(space.data(), n));
    co_return n;
  }

  net::awaitable<std::size_t> read_chunked(std::span<char> space) {
    std::string& piece = parser_.request().body;
    while (taken_ == piece.size()) {
      piece.clear(), taken_ = 0;
      if (parser_.done()) co_return 0;
      session_.in_.erase(0, parser_.put(session_.in_));
      if (piece.empty() && !parser_.done()) co_await session_.read_more(received_, start_);
    }
    const std::size_t n = std::min(space.size(), piece.size() - taken_);
    std::copy_n(piece.data() + taken_, n, space.data());
    taken_ += n;
    co_return n;
  }

  Session& session_;
  RequestParser& parser_;
  const Framing& framing_;
  std::uint64_t left_;          // of a body without chunks
  std::size_t taken_ = 0;       // of the parser's piece of one with chunks
  bool started_ = false;
  std::uint64_t received_ = 0;
  Clock::time_point start_;
};

}   // namespace kedge::server::http
