// Downloads: the only place that knows libcurl. Everything fetched is bounded, checked and either whole or an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "crypto/digest.h"
#include "server/data/address_rules.h"

namespace kedge::server {

struct FetchLimits {
  std::int64_t max_bytes = std::int64_t{4} << 30;       // of the decoded body
  int attempts = 3;
  std::chrono::milliseconds first_pause{300};           // before the second attempt; then four times as long each
  std::chrono::seconds connect_timeout{15};
  std::chrono::seconds deadline{3600};                  // for all attempts together
  int max_redirects = 5;
  std::int64_t floor = 0;                               // bytes per second; 0: none. What comes slower for floor_time ends for good
  std::chrono::seconds floor_time{30};
};

// Keeps libcurl initialised while it lives. Reference-counted by libcurl.
class FetchLibrary {
 public:
  FetchLibrary();
  ~FetchLibrary();
  FetchLibrary(const FetchLibrary&) = delete;
};

// Keys with which requests are signed as Amazon's S3 wants it (AWS Signature Version 4). Empty key_id: not signed.
struct RequestSigning {
  std::string region = "us-east-1", key_id, secret, token;   // token: of keys that expire
  friend bool operator==(const RequestSigning&, const RequestSigning&) = default;
};

struct FetchRequest {
  std::string what;        // begins every message: "openml"
  std::string url;
  crypto::DigestKind digest = crypto::DigestKind::kSha256;
  std::string expected;    // hexadecimal, of the decoded body; empty: no check
  std::string etag;        // the body is wanted only if it has another
  std::string trace;       // traceparent (W3C) of what it is done for, sent along with an id of its own; empty: none
  RequestSigning signing = {};   // for the host of `url` alone, not for what it redirects to
};

struct Fetched {
  bool not_modified = false;
  std::string digest;      // of the decoded body
  std::string etag;
  std::int64_t bytes = 0;  // decoded
};

// An answer of an API, small and in memory.
struct FetchedText {
  long status = 0;
  std::string body;
};

// Takes a decoded body as it arrives. Both are called on the fetching thread; what they throw ends the fetch.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual void restart() = 0;                        // before the first byte, and again when what came is void
  virtual void write(std::string_view bytes) = 0;
};

class CheckedBody;

// Thread safe. A fetch retries failed connections, answers of 429 and 5xx, short, damaged and wrong bodies, with
// pauses. After a broken connection it continues where it stopped, if the server can promise that the file is the same
// (If-Range), and starts over otherwise; the checksum is of the whole in any case. Only http and https, no proxy, no
// credentials but those that sign; redirects are followed hop by hop and each connection is checked against the rules.
// Errors: kDatasetUnavailable with the last cause and the number of attempts, kDatasetCorrupt (wrong digest, damaged
// gzip), kDatasetNotFound (404, 410), kInvalidValue (address not allowed, bad URL, too large), kCancelled, kInternal
// (disk).
class Fetcher {
 public:
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;   // bytes on the wire; total 0: unknown

  // Called at the end of each to_sink() and to_file(): "ok", "unchanged", "failed" or "cancelled", the decoded bytes
  // that have come (of the last attempt) and the seconds of all attempts.
  using Observer = std::function<void(std::string_view outcome, std::int64_t bytes, double seconds)>;

  Fetcher(AddressRules rules, FetchLimits limits, Observer observer = {});

  // Hands the decoded body to `sink`. What the sink got is right only once this has returned, and nothing if not_modified.
  Fetched to_sink(const FetchRequest& request, BodySink& sink, const Progress& progress, std::stop_token stop) const;

  // Writes the decoded body to `path`; on any error nothing is left there. The file is not flushed to disk: it is for the parser.
  Fetched to_file(const FetchRequest& request, const std::filesystem::path& path, const Progress& progress,
                  std::stop_token stop) const;

  // Any answer of 2xx or 412, which is how OpenML says that it has nothing.
  FetchedText text(const FetchRequest& request, std::stop_token stop) const;

 private:
  Fetched fetch(const FetchRequest& request, CheckedBody& checked, const Progress& progress, std::stop_token stop) const;

  AddressRules rules_;
  FetchLimits limits_;
  Observer observer_;
};

}  // namespace kedge::server
