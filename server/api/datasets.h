// What data set calls and jobs that bring their data share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

// "csv", "arff", "libsvm", "npy", "npz", "parquet" or "arrow" by the ending of a file's name (".gz" and ".zst" behind
// it are left out), otherwise by its media type; empty if neither says it.
std::string format_of(std::string_view file_name, std::string_view content_type);

// Throws kUnavailable where no uploads are taken.
Uploads& uploads(const Api& api);

// A body, or a part of one, a piece at a time. Borrows it.
class BodyPieces {
 public:
  explicit BodyPieces(http::BodyReader& body) : body_(body), piece_(std::make_unique_for_overwrite<char[]>(kPiece)) {}
  http::net::awaitable<void> next();                                   // the piece is empty behind the last
  std::string_view piece() const { return {piece_.get(), filled_}; }   // until the next one

 private:
  static constexpr std::size_t kPiece = 1 << 20;   // what goes to disk at once: a hop to another thread for each
  http::BodyReader& body_;
  std::unique_ptr<char[]> piece_;
  std::size_t filled_ = 0;
};

// Takes a body, or a part of one, to disk piece by piece, the current one first; one piece is in memory. `write` runs
// on another thread.
using WritePiece = std::function<void(std::string_view)>;
http::net::awaitable<void> receive(BodyPieces& pieces, http::Peer& peer, const WritePiece& write);
http::net::awaitable<void> receive(http::BodyReader& body, http::Peer& peer, Uploads::Upload& upload);
// Does the slow part of an upload that has come: parses it. Errors: those of the parser.
http::net::awaitable<void> finish(const Api& api, http::Peer& peer, const std::function<void()>& work);

}  // namespace kedge::server::api
