// Signed claims, prices of the user, and keys that cannot be used.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <fstream>

#include "crypto/random.h"
#include "provisioning/json.h"
#include "provisioning/providers/google_token.h"
#include "provisioning/providers/list_prices.h"
#include "provisioning/ssh_key.h"
#include "tests/unit/provisioning/scripted_fake.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::provisioning {
namespace {

struct Key {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048});
  ~Key() { EVP_PKEY_free(key); }
  std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    const std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
  }
  bool signed_by(const std::string& text, const std::string& signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key);
    const auto bytes = [](const std::string& s) { return reinterpret_cast<const unsigned char*>(s.data()); };
    const int result = EVP_DigestVerify(context, bytes(signature), signature.size(), bytes(text), text.size());
    EVP_MD_CTX_free(context);
    return result == 1;
  }
};

std::string decoded(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (text.size() % 4 != 0) text += '=';
  return crypto::base64_decoded(text);
}

TEST(GoogleToken, AClaimIsSignedWithTheAccountsKeyAndGoodForAnHour) {
  const Key key, other;
  const ServiceAccount account{.email = "a@b", .private_key = key.pem(), .token_uri = "https://token", .project = "p"};
  const std::string claim = signed_claim(account, 1'000'000);
  const std::size_t first = claim.find('.'), last = claim.rfind('.');
  const std::string signature = decoded(claim.substr(last + 1));
  EXPECT_TRUE(key.signed_by(claim.substr(0, last), signature));
  EXPECT_FALSE(other.signed_by(claim.substr(0, last), signature));
  const json::Value claims = json::parse(decoded(claim.substr(first + 1, last - first - 1)));
  EXPECT_EQ(json::text(claims, "iss"), "a@b");
  EXPECT_EQ(json::text(claims, "aud"), "https://token");
  EXPECT_EQ(json::number(claims, "exp") - json::number(claims, "iat"), 3600);
}

TEST(GoogleToken, IsFetchedOnceAndAgainBeforeItEnds) {
  const Key key;
  VirtualClock clock;
  int asked = 0;
  ScriptedFake fake(
      [&](FakeMachines&, const http::Request& request, std::int64_t) {
        EXPECT_NE(request.body.find("assertion="), std::string::npos);
        return http::Response{.status = 200,
                              .body = R"({"access_token":"tok)" + std::to_string(++asked) + R"(","expires_in":3600})"};
      },
      clock);
  GoogleToken token(fake, clock,
                    ServiceAccount{.email = "a@b", .private_key = key.pem(), .token_uri = "https://token", .project = "p"});
  EXPECT_EQ(token.get(), "tok1");
  EXPECT_EQ(token.get(), "tok1");
  clock.sleep(std::chrono::seconds(3400));
  EXPECT_EQ(token.get(), "tok2");
}

TEST(GoogleToken, ARefusedClaimIsAProblemOfCredentials) {
  const Key key;
  VirtualClock clock;
  ScriptedFake fake(
      [](FakeMachines&, const http::Request&, std::int64_t) {
        return http::Response{.status = 400, .body = R"({"error":"invalid_grant","error_description":"Invalid JWT Signature."})"};
      },
      clock);
  GoogleToken token(fake, clock,
                    ServiceAccount{.email = "a@b", .private_key = key.pem(), .token_uri = "https://token", .project = "p"});
  try {
    token.get();
    FAIL();
  } catch (const ProviderError& error) {
    EXPECT_EQ(error.failure, Failure::kAuth);
    EXPECT_EQ(error.words, "Invalid JWT Signature.");
  }
}

TEST(GoogleToken, AnAccountIsReadFromItsFileAndOtherFilesAreNot) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "key.json")
      << R"({"type":"service_account","client_email":"a@b","private_key":"k","project_id":"p"})";
  std::ofstream(folder.path() / "user.json") << R"({"type":"authorized_user"})";
  EXPECT_EQ(read_service_account(folder.path() / "key.json")->project, "p");
  EXPECT_FALSE(read_service_account(folder.path() / "user.json"));
  EXPECT_FALSE(read_service_account(folder.path() / "nothing.json"));
}

TEST(ListPrices, WhatTheUserKnowsGoesBeforeTheList) {
  const ListPrices prices("g6.xlarge=0.5,a:spot=0.25");
  EXPECT_EQ(prices.of("g6.xlarge", 0.8, "list").usd_per_hour, 0.5);
  EXPECT_EQ(prices.of("g6.xlarge", 0.8, "list").source, "yours");
  EXPECT_EQ(prices.of("a:spot", 0.8, "list").usd_per_hour, 0.25);
  EXPECT_EQ(prices.of("a", 0.8, "list").source, "list");
  for (const char* wrong : {"a", "a=", "a=x", "a=0", "a=-1", "a=1x"}) EXPECT_THROW(ListPrices{wrong}, schema::Error) << wrong;
}

TEST(SshKey, HasTheFormOfOpenSshAndIsNeverTheSame) {
  const std::string key = unusable_ssh_key();
  ASSERT_TRUE(key.starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")) << key;
  EXPECT_EQ(crypto::base64_decoded(key.substr(12, key.rfind(' ') - 12)).size(), 4u + 11 + 4 + 32);
  EXPECT_NE(key, unusable_ssh_key());
}

}   // namespace
}   // namespace kedge::provisioning
