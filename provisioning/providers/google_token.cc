// JWTs, signed with OpenSSL.
#include "provisioning/providers/google_token.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "crypto/random.h"
#include "provisioning/errors.h"
#include "provisioning/json.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr std::int64_t kLife_s = 3600, kMargin_s = 300;
constexpr const char* kScope = "https://www.googleapis.com/auth/compute";

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::string sign_rs256(const std::string& key_text, const std::string& text) {
  const std::unique_ptr<BIO, Deleter> bio(BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size())));
  const std::unique_ptr<EVP_PKEY, Deleter> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Deleter> context(EVP_MD_CTX_new());
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (!key || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    throw ProviderError(Failure::kAuth, "gcp: service account", "its private key cannot be used");
  std::vector<unsigned char> signature(size);
  if (EVP_DigestSign(context.get(), signature.data(), &size, bytes, text.size()) != 1)
    throw ProviderError(Failure::kAuth, "gcp: service account", "its private key does not sign");
  return {signature.begin(), signature.begin() + static_cast<std::ptrdiff_t>(size)};
}

}   // namespace

std::optional<ServiceAccount> read_service_account(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const json::Value value = json::parse(text);
  if (json::text(value, "type") != "service_account") return std::nullopt;
  return ServiceAccount{.email = json::text(value, "client_email"),
                        .private_key = json::text(value, "private_key"),
                        .token_uri = json::text(value, "token_uri", "https://oauth2.googleapis.com/token"),
                        .project = json::text(value, "project_id")};
}

std::string signed_claim(const ServiceAccount& account, std::int64_t now) {
  const std::string header = json::write(json::ValueMap{{"alg", "RS256"}, {"typ", "JWT"}});
  const std::string claims = json::write(json::ValueMap{
      {"iss", account.email}, {"scope", kScope}, {"aud", account.token_uri}, {"iat", now}, {"exp", now + kLife_s}});
  const std::string text = crypto::base64url(header) + "." + crypto::base64url(claims);
  return text + "." + crypto::base64url(sign_rs256(account.private_key, text));
}

const std::string& GoogleToken::get() {
  const std::int64_t now = clock_.unix_seconds();
  if (fixed_ || now < ends_) return token_;
  http::Request request{.method = "POST", .url = account_.token_uri};
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = http::form_encode(
      {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", signed_claim(account_, now)}});
  const http::Response response = http_.send(request);
  const json::Value answer = json::parse(response.body);
  token_ = json::text(answer, "access_token");
  if (response.status < 300 && !token_.empty()) {
    ends_ = now + static_cast<std::int64_t>(json::number(answer, "expires_in", kLife_s)) - kMargin_s;
    return token_;
  }
  // 400 is Google's way to say that the claim is wrong: key revoked, account gone, or our clock off.
  const Failure failure = response.status == 400 ? Failure::kAuth : failure_of_status(response.status);
  throw ProviderError(failure, "gcp: token",
                      json::text(answer, "error_description", json::text(answer, "error", response.body.substr(0, 200))),
                      response.status);
}

}   // namespace kedge::provisioning
