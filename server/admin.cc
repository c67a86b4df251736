// Tokens and the first certificate, from the command line.
#include "server/admin.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <fstream>

#include "crypto/certificate.h"
#include "schemas/error.h"
#include "server/auth/token_store.h"
#include "server/private_directory.h"

namespace kedge::server {
namespace {

using auth::TokenRow;
using auth::TokenStore;
using schema::Error;
using schema::ErrorCode;

constexpr int kExitUsage = 64, kExitNotFound = 69, kExitStore = 74;
constexpr std::int64_t kDay = 24 * 3600;
constexpr int kCertificateDays = 3650;

struct Options {
  std::string data_dir, tenant = "default", name, scopes = "read,submit", expires, id;
  std::vector<std::string> hosts;
  bool is_started = false;   // the server starts by itself after this
};

// "30d", "12h" or empty for never, as a moment.
std::int64_t to_moment(const std::string& text) {
  if (text.empty()) return 0;
  char* unit = nullptr;
  const long long count = std::strtoll(text.c_str(), &unit, 10);
  const std::int64_t seconds = std::string(unit) == "d" ? kDay : std::string(unit) == "h" ? 3600 : 0;
  if (count < 1 || count > 36500 || seconds == 0)
    throw Error(ErrorCode::kInvalidValue, fmt::format("--expires is '{}', must be a number of days or hours such as 30d or 12h", text));
  return std::time(nullptr) + count * seconds;
}

std::string date(std::int64_t moment) {
  return moment == 0 ? "never" : fmt::format("{:%Y-%m-%dT%H:%MZ}", fmt::gmtime(static_cast<std::time_t>(moment)));
}

std::filesystem::path data_dir(const Options& options, const Environment& environment) {
  std::vector<std::string> arguments;
  if (!options.data_dir.empty()) arguments = {"--data-dir", options.data_dir};
  return load_config(arguments, environment).data_dir;
}

int create(const Options& options, const std::filesystem::path& directory) {
  if (options.tenant.empty() || options.tenant.size() > 64) throw Error(ErrorCode::kInvalidValue, "--tenant must have 1 to 64 characters");
  const TokenRow row{.tenant = options.tenant, .name = options.name, .scopes = auth::parse_scopes(options.scopes),
                     .expires = to_moment(options.expires)};
  const std::string token = TokenStore(directory).create(row);
  fmt::print(stderr, "This token is shown once; the server keeps its SHA-256 alone. It expires: {}.\n", date(row.expires));
  fmt::print("{}\n", token);
  return EXIT_SUCCESS;
}

int list(const std::filesystem::path& directory) {
  fmt::print("{:<29}{:<17}{:<19}{:<19}{:<19}{}\n", "ID", "TENANT", "SCOPES", "CREATED", "EXPIRES", "NAME");
  for (const TokenRow& token : TokenStore(directory).list())
    fmt::print("{:<29}{:<17}{:<19}{:<19}{:<19}{}\n", token.id, token.tenant, auth::to_string(token.scopes), date(token.created),
               token.revoked ? "revoked" : date(token.expires), token.name);
  return EXIT_SUCCESS;
}

// Readable by the owner alone from its first byte on (keep_new_files_private).
void write_private(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw Error(ErrorCode::kUnavailable, fmt::format("cannot write {}", file.string()));
}

std::vector<std::string> own_names() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return {"localhost", "127.0.0.1", "::1", name};
}

int init(const Options& options, const std::filesystem::path& directory, const std::string& listen) {
  const auto folder = directory / "tls", certificate = folder / "cert.pem", key = folder / "key.pem";
  std::filesystem::create_directories(folder);
  if (std::filesystem::exists(certificate))
    throw Error(ErrorCode::kConflict, fmt::format("{} is there already; remove it to make another", certificate.string()));
  std::vector<std::string> hosts = own_names();
  hosts.insert(hosts.end(), options.hosts.begin(), options.hosts.end());
  const crypto::SelfSigned made = crypto::make_self_signed(hosts, kCertificateDays);
  write_private(key, made.key);
  write_private(certificate, made.certificate);
  const std::string token = TokenStore(directory).create({.tenant = "default", .name = "init", .scopes = {true, true, true}});
  const std::string host = options.hosts.empty() ? hosts.back() : options.hosts.front();
  const std::string port = listen.substr(listen.rfind(':') + 1);
  fmt::print("A certificate is in {}; the token below is shown once and may do everything.\n", certificate.string());
  if (!options.is_started) fmt::print("\nStart the server:\n  kedged --listen {} --data-dir {}\n", listen, directory.string());
  fmt::print(R"(
Connect:
  export KEDGE_URL=https://{}:{}
  export KEDGE_PIN={}
  export KEDGE_TOKEN={}
  kedge doctor

curl, which takes this server's key and no other (or, with a copy of the certificate, --cacert cert.pem):
  curl -k --pinnedpubkey '{}' -H "Authorization: Bearer $KEDGE_TOKEN" $KEDGE_URL/v1/info
)",
             host, port, made.fingerprint, token, made.public_key_pin);
  return EXIT_SUCCESS;
}

}  // namespace

std::optional<int> run_admin_command(const std::vector<std::string>& arguments, const Environment& environment) {
  if (arguments.empty() || (arguments[0] != "token" && arguments[0] != "init")) return std::nullopt;
  CLI::App app{"Keeps the tokens and the certificate of a Kedge server.", "kedged"};
  app.require_subcommand(1);
  app.fallthrough();
  Options options;
  app.add_option("--data-dir", options.data_dir, "the server's data directory");
  CLI::App* init_command = app.add_subcommand("init", "Make a certificate and a first token, and say how to connect");
  init_command->add_option("--host", options.hosts, "name or address that clients will use; may be repeated");
  init_command->add_flag("--starts-now", options.is_started, "the server starts by itself: leave out how to start it");
  CLI::App* token = app.add_subcommand("token", "Create, list and revoke tokens; a running server takes a new one at once and ends a revoked one within a second");
  token->require_subcommand(1);
  token->fallthrough();
  CLI::App* create_command = token->add_subcommand("create", "Make a token and print it");
  create_command->add_option("--tenant", options.tenant, "the tenant that it belongs to (default: default)");
  create_command->add_option("--name", options.name, "a note for the list");
  create_command->add_option("--scopes", options.scopes, "of read, submit, admin (default: read,submit)");
  create_command->add_option("--expires", options.expires, "such as 30d or 12h (default: never)");
  CLI::App* list_command = token->add_subcommand("list", "Print what is known of each token");
  CLI::App* revoke_command = token->add_subcommand("revoke", "End a token; its streams end too");
  revoke_command->add_option("id", options.id, "as the list shows it")->required();
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : kExitUsage;
  }
  try {
    const std::filesystem::path directory = data_dir(options, environment);
    if (const std::string repaired = make_private(directory); !repaired.empty()) fmt::print(stderr, "kedged: {}\n", repaired);
    if (init_command->parsed()) return init(options, directory, environment("KEDGE_LISTEN").value_or("0.0.0.0:5334"));
    if (create_command->parsed()) return create(options, directory);
    if (list_command->parsed()) return list(directory);
    TokenStore(directory).revoke(options.id);
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    fmt::print(stderr, "kedged: {}\n", error.message);
    return error.code == ErrorCode::kInvalidValue ? kExitUsage : error.code == ErrorCode::kNotFound ? kExitNotFound : kExitStore;
  }
}

}  // namespace kedge::server
