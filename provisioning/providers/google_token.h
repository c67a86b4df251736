// Access tokens of a Google service account (RFC 7523): a signed claim is exchanged for a token of an hour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "provisioning/clock.h"
#include "provisioning/http/client.h"

namespace kedge::provisioning {

struct ServiceAccount {
  std::string email, private_key, token_uri, project;
};
// From the JSON file that Google hands out; nullopt when there is none or it is of another kind.
std::optional<ServiceAccount> read_service_account(const std::string& path);

// "header.claims.signature", RS256, good for an hour from `now`. schema::Error when the key is none.
std::string signed_claim(const ServiceAccount& account, std::int64_t now);

// Fetches tokens when they are needed, some minutes before the old one ends. Not thread safe.
class GoogleToken {
 public:
  // A token that another program fetched, taken as it is; or one for an account. References outlive this.
  GoogleToken(http::Client& http, Clock& clock, std::string fixed)
      : http_(http), clock_(clock), token_(std::move(fixed)), fixed_(true) {}
  GoogleToken(http::Client& http, Clock& clock, ServiceAccount account)
      : http_(http), clock_(clock), account_(std::move(account)) {}

  const std::string& get();   // ProviderError when it is refused

 private:
  http::Client& http_;
  Clock& clock_;
  ServiceAccount account_;
  std::string token_;
  bool fixed_ = false;
  std::int64_t ends_ = 0;
};

}   // namespace kedge::provisioning
