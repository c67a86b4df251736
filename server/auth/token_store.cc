// auth.db.
#include "server/auth/token_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "schemas/error.h"
#include "server/store/sqlite.h"

namespace kedge::server::auth {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr const char* kSchema = R"sql(
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    revoked INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql";

// Made before SQLite opens it, so that there is no moment in which others could read it.
std::filesystem::path private_file(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const std::filesystem::path file = directory / "auth.db";
  const mode_t before = ::umask(0077);
  SqliteConnection(file, SqliteConnection::Mode::kReadWrite).execute(kSchema);
  ::umask(before);
  return file;
}

}  // namespace

Scopes parse_scopes(const std::string& text) {
  Scopes scopes;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string word = text.substr(start, comma - start);
    if (word == "read")
      scopes.read = true;
    else if (word == "submit")
      scopes.submit = true;
    else if (word == "admin")
      scopes.admin = true;
    else
      throw Error(ErrorCode::kInvalidValue, fmt::format("scopes: '{}' is not one of read, submit, admin", word), "scopes");
    start = comma + 1;
  }
  return scopes;
}

std::string to_string(const Scopes& scopes) {
  std::string text;
  for (const auto& [has, word] : {std::pair(scopes.read, "read"), {scopes.submit, "submit"}, {scopes.admin, "admin"}})
    if (has) text += (text.empty() ? "" : ",") + std::string(word);
  return text;
}

struct TokenStore::Impl {
  explicit Impl(const std::filesystem::path& directory)
      : connection(private_file(directory), SqliteConnection::Mode::kReadWrite) {
    connection.execute(kSchema);
  }

  std::int64_t version() {   // another connection's commit changes it
    SqliteStatement statement(connection, "PRAGMA data_version");
    auto rows = statement.open();
    return rows.next() ? rows.integer(0) : 0;
  }

  SqliteConnection connection;
  std::int64_t seen_version = -1;
  bool changed_here = false;
};

TokenStore::TokenStore(const std::filesystem::path& directory) : impl_(std::make_unique<Impl>(directory)) {}
TokenStore::~TokenStore() = default;

std::string TokenStore::create(TokenRow row) {
  const std::string token = "kdg_" + crypto::random_base64url(32);
  SqliteStatement insert(impl_->connection,
                         "INSERT INTO tokens (id, digest, tenant, name, scopes, created, expires) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  insert.run("tok_" + crypto::random_hex(12), crypto::sha256_hex(token), row.tenant, row.name, to_string(row.scopes),
             static_cast<std::int64_t>(std::time(nullptr)), row.expires);
  impl_->changed_here = true;
  return token;
}

std::vector<TokenRow> TokenStore::list() {
  SqliteStatement select(impl_->connection,
                         "SELECT id, digest, tenant, name, scopes, created, expires, revoked FROM tokens ORDER BY created, id");
  std::vector<TokenRow> tokens;
  auto rows = select.open();
  while (rows.next())
    tokens.push_back({.id = rows.text(0),
                      .digest = rows.text(1),
                      .tenant = rows.text(2),
                      .name = rows.text(3),
                      .scopes = parse_scopes(rows.text(4)),
                      .created = rows.integer(5),
                      .expires = rows.integer(6),
                      .revoked = rows.integer(7) != 0});
  return tokens;
}

void TokenStore::revoke(const std::string& id) {
  std::vector<std::string> ids;
  for (const TokenRow& token : list()) ids.push_back(token.id);
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
    const std::vector<std::string_view> known(ids.begin(), ids.end());
    const std::string_view near = schema::nearest_name(id, known);
    throw Error(ErrorCode::kNotFound,
                fmt::format("there is no token '{}'{}", id, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  SqliteStatement(impl_->connection, "UPDATE tokens SET revoked = 1 WHERE id = ?1").run(id);
  impl_->changed_here = true;
}

bool TokenStore::changed() {
  const std::int64_t version = impl_->version();
  const bool changed = version != impl_->seen_version || impl_->changed_here;
  impl_->seen_version = version, impl_->changed_here = false;
  return changed;
}

}  // namespace kedge::server::auth
