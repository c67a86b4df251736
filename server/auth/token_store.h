// The tokens of a server on disk: of each its SHA-256, its tenant, what it may do and until when.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kedge::server::auth {

struct Scopes {
  bool read = false, submit = false, admin = false;   // admin may do everything, for every tenant
  friend bool operator==(const Scopes&, const Scopes&) = default;
};
// "read,submit" and back. Errors: kInvalidValue for another word, or none.
Scopes parse_scopes(const std::string& text);
std::string to_string(const Scopes& scopes);

struct TokenRow {
  std::string id, digest, tenant, name;   // digest: SHA-256 of the token, in hex
  Scopes scopes;
  std::int64_t created = 0, expires = 0;   // seconds since 1970; expires 0: never
  bool revoked = false;
};

// One file, auth.db, which a running server and `kedged token` use at the same time. For one thread at a time. Errors:
// kUnavailable when the disk fails.
class TokenStore {
 public:
  explicit TokenStore(const std::filesystem::path& directory);   // created if absent; readable by the owner alone
  ~TokenStore();

  // Returns the token itself, which is shown once and kept nowhere. `row` gives tenant, name, scopes and expires.
  std::string create(TokenRow row);
  std::vector<TokenRow> list();
  void revoke(const std::string& id);   // kNotFound, with the nearest id
  bool changed();                       // since the last call, by any process; true at first

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server::auth
