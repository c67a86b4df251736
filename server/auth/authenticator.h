// Which caller a request comes from and what it may do: bearer tokens and client certificates.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "server/auth/rate.h"
#include "server/auth/token_store.h"
#include "server/http/gatekeeper.h"

namespace kedge::server::auth {

struct AuthOptions {
  std::filesystem::path data_dir;
  std::string token_sha256;         // of one more token, for tenant "default", that may do everything; empty: none
  bool certificates = false;        // clients have shown a certificate: its name is the tenant, and reads and submits
  double requests_per_second = 0;   // of one tenant; 0: no bound
  double failures_per_second = 0.2, failure_burst = 10;   // of one peer's wrong tokens
};

// Tokens are looked up in memory by their SHA-256. The file is read again when it has changed, which is looked up once
// a second, and when a token is not known, at most 20 times a second in all. Without tokens and certificates every
// caller may do everything: the server then listens on loopback alone. Used on one thread.
class Authenticator final : public http::Gatekeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // `report` hears of a file that cannot be read; the tokens known until then stay.
  Authenticator(AuthOptions options, std::function<void(std::string_view)> report);

  bool has_credentials();   // there are tokens or certificates, so callers can be distinguished
  void reload();            // now
  void set_token_sha256(std::string digest);   // as in AuthOptions
  void set_requests_per_second(double rate);   // of one tenant; 0: no bound

  http::Caller admit(const http::Request& request, const http::net::ip::address& peer, std::string_view certificate,
                     http::Access needed) override;
  bool still_valid(const http::Caller& caller) override;

 private:
  void refresh(Clock::time_point now);   // looks when the last look is a second old
  void look(Clock::time_point now);
  void take_given_token();
  http::Caller identify(const http::Request& request, const std::string& peer, std::string_view certificate);
  const TokenRow* find(std::string_view token) const;
  const TokenRow* find_or_look(std::string_view token, Clock::time_point now);

  AuthOptions options_;
  std::function<void(std::string_view)> report_;
  TokenStore store_;
  std::unordered_map<std::string, TokenRow> tokens_;   // by digest; live ones alone
  std::unordered_map<std::string, std::string> digests_;   // by id
  bool has_tokens_ = false;   // also when all are revoked: otherwise the last revocation would let every caller in
  Clock::time_point look_at_;
  RateLimiter failures_, requests_, looks_;
};

}  // namespace kedge::server::auth
