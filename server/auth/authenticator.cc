// Looking tokens up.
#include "server/auth/authenticator.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server::auth {
namespace {

using http::Access;
using http::Caller;
using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::seconds kLook{1};
constexpr double kLooksForUnknown = 20;   // in a second, besides kLook: a flood of wrong tokens costs no more
constexpr std::string_view kGivenToken = "environment";   // id of the one token that no file holds

std::string_view scope_name(Access access) {
  return access == Access::kRead ? "read" : access == Access::kSubmit ? "submit" : "admin";
}

bool is_over(const TokenRow& token) {
  return token.expires != 0 && token.expires <= std::time(nullptr);
}

// The token of "Bearer TOKEN". Errors: kUnauthenticated for another scheme, and for two fields, because a proxy may
// have read the other one.
std::string_view bearer_token(const http::Request& request) {
  std::string_view value;
  int count = 0;
  for (const auto& [name, text] : request.fields)
    if (http::same_name(name, "Authorization")) value = text, ++count;
  if (count == 0) return {};
  const auto space = value.find(' ');
  if (count > 1 || space == std::string_view::npos || !http::same_name(value.substr(0, space), "Bearer"))
    throw Error(ErrorCode::kUnauthenticated, "Authorization must be one field of the form 'Bearer TOKEN'");
  value.remove_prefix(std::min(value.find_first_not_of(' ', space), value.size()));
  return value;
}

}  // namespace

Authenticator::Authenticator(AuthOptions options, std::function<void(std::string_view)> report)
    : options_(std::move(options)),
      report_(std::move(report)),
      store_(options_.data_dir),
      failures_(options_.failures_per_second, options_.failure_burst),
      requests_(options_.requests_per_second, 2 * options_.requests_per_second),
      looks_(kLooksForUnknown, kLooksForUnknown) {
  reload();
}

void Authenticator::reload() {
  look(Clock::now());
}

// The last token was taken away to lock its user out, not to let all callers in.
void Authenticator::set_token_sha256(std::string digest) {
  if (digest == options_.token_sha256) return;
  has_tokens_ = has_tokens_ || !options_.token_sha256.empty();
  if (const auto old = digests_.find(std::string(kGivenToken)); old != digests_.end()) {
    tokens_.erase(old->second);
    digests_.erase(old);
  }
  options_.token_sha256 = std::move(digest);
  take_given_token();
}

void Authenticator::set_requests_per_second(double rate) {
  if (rate == options_.requests_per_second) return;   // what was used counts on
  options_.requests_per_second = rate;
  requests_ = RateLimiter(rate, 2 * rate);
}

void Authenticator::refresh(Clock::time_point now) {
  if (now >= look_at_) look(now);
}

void Authenticator::look(Clock::time_point now) {
  look_at_ = now + kLook;
  try {
    if (!store_.changed()) return;
    tokens_.clear(), digests_.clear();
    for (TokenRow& row : store_.list()) {
      has_tokens_ = true;
      if (row.revoked) continue;
      digests_[row.id] = row.digest;
      tokens_[row.digest] = std::move(row);
    }
  } catch (const Error& error) {
    report_(fmt::format("auth: the tokens cannot be read: {}", error.message));
  }
  take_given_token();
}

void Authenticator::take_given_token() {
  if (!options_.token_sha256.empty()) {
    tokens_[options_.token_sha256] = {.id = std::string(kGivenToken), .digest = options_.token_sha256, .tenant = "default",
                                      .scopes = {true, true, true}};
    digests_[std::string(kGivenToken)] = options_.token_sha256;
  }
}

bool Authenticator::has_credentials() {
  refresh(Clock::now());
  return has_tokens_ || !options_.token_sha256.empty() || options_.certificates;
}

const TokenRow* Authenticator::find(std::string_view token) const {
  const std::string digest = crypto::sha256_hex(token);
  const auto found = tokens_.find(digest);
  return found != tokens_.end() && crypto::equal_in_constant_time(found->second.digest, digest) && !is_over(found->second)
             ? &found->second
             : nullptr;
}

// A token that is not known may be younger than the last look.
const TokenRow* Authenticator::find_or_look(std::string_view token, Clock::time_point now) {
  if (const TokenRow* row = find(token)) return row;
  if (!looks_.take({}, now)) return nullptr;
  look(now);
  return find(token);
}

Caller Authenticator::identify(const http::Request& request, const std::string& peer, std::string_view certificate) {
  const auto now = Clock::now();
  const std::string_view token = bearer_token(request);
  if (token.empty() && !certificate.empty())
    return {.tenant = std::string(certificate), .read = true, .submit = true, .admin = false};
  if (token.empty())
    throw Error(ErrorCode::kUnauthenticated, "this server needs a token: send 'Authorization: Bearer TOKEN' (KEDGE_TOKEN)");
  if (!failures_.has(peer, now))
    throw schema::QuotaExceeded("too many wrong tokens came from this address; wait a while", *failures_.quota(peer, "wrong-tokens", now));
  const TokenRow* row = find_or_look(token, now);
  if (!row) {
    failures_.take(peer, now);
    throw Error(ErrorCode::kUnauthenticated, "the token is not known, or was revoked, or has expired");
  }
  return {.tenant = row->tenant, .token = row->id, .read = row->scopes.read, .submit = row->scopes.submit, .admin = row->scopes.admin};
}

Caller Authenticator::admit(const http::Request& request, const http::net::ip::address& peer, std::string_view certificate,
                            Access needed) {
  refresh(Clock::now());
  if (needed == Access::kPublic) return {.read = false, .submit = false, .admin = false};
  if (!has_credentials()) return {};
  Caller caller = identify(request, peer.to_string(), certificate);
  if (!caller.may(needed) && !KEDGE_CONTROL("ignore-scopes"))
    throw Error(ErrorCode::kForbidden, fmt::format("the token's scopes do not cover this call, which needs '{}'", scope_name(needed)));
  const auto now = Clock::now();
  const bool may_go_on = requests_.take(caller.tenant, now);
  caller.rate = requests_.quota(caller.tenant, "requests", now);
  if (!may_go_on)
    throw schema::QuotaExceeded(fmt::format("more than {} requests a second came from this tenant", options_.requests_per_second), *caller.rate);
  return caller;
}

bool Authenticator::still_valid(const Caller& caller) {
  if (caller.token.empty()) return true;
  refresh(Clock::now());
  const auto digest = digests_.find(caller.token);
  if (digest == digests_.end()) return false;
  const auto row = tokens_.find(digest->second);
  return row != tokens_.end() && !is_over(row->second);
}

}  // namespace kedge::server::auth
