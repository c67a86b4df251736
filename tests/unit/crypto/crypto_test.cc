// Digests, random texts and certificates, against published values and OpenSSL's own reader.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <regex>

#include "crypto/certificate.h"
#include "crypto/digest.h"
#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::crypto {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate parse(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

TEST(Digests, AreThoseOfTheStandards) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");   // FIPS 180-4
  EXPECT_EQ(hex_digest(DigestKind::kMd5, "abc"), "900150983cd24fb0d6963f7d28e17f72");                 // RFC 1321
}

TEST(Digests, OfAStreamAreThoseOfItsWhole) {
  Digest digest(DigestKind::kSha256);
  digest.update("a"), digest.update(""), digest.update("bc");
  EXPECT_EQ(digest.hex(), sha256_hex("abc"));
}

TEST(Hex, GoesThereAndBack) {
  EXPECT_EQ(to_hex(std::string("\0\x7f\xff", 3)), "007fff");
  EXPECT_EQ(from_hex("007fff"), std::string("\0\x7f\xff", 3));
}

TEST(Base64, IsThatOfTheStandardAndBack) {   // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("\xfb\xff"), "-_8");
  for (const std::string text : {"", "f", "fo", "foo", "foobar"}) EXPECT_EQ(base64_decoded(base64(text)), text);
  EXPECT_THROW(base64_decoded("no base64!"), schema::Error);
}

TEST(RandomTexts, HaveTheirLengthAndDiffer) {
  EXPECT_TRUE(std::regex_match(random_hex(6), std::regex("[0-9a-f]{12}")));
  EXPECT_TRUE(std::regex_match(random_base64url(32), std::regex("[A-Za-z0-9_-]{43}")));
  EXPECT_NE(random_hex(16), random_hex(16));
}

TEST(EqualInConstantTime, ComparesLengthsAndBytes) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

TEST(SelfSignedCertificates, NameTheirHostsAndVerifyByThemselves) {
  const SelfSigned made = make_self_signed({"a.example", "127.0.0.1", "::1"}, 10);
  const Certificate certificate = parse(made.certificate);
  ASSERT_TRUE(certificate);
  EXPECT_EQ(X509_check_host(certificate.get(), "a.example", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(certificate.get(), "b.example", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "::1", 0), 1);
  EXPECT_EQ(X509_verify(certificate.get(), X509_get0_pubkey(certificate.get())), 1);
  EXPECT_EQ(made.fingerprint, fingerprint(certificate.get()));
}

TEST(SelfSignedCertificates, AreValidNowAndForTheirDays) {
  const Certificate certificate = parse(make_self_signed({"a"}, 10).certificate);
  ASSERT_TRUE(certificate);
  EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate.get())), 0);
  int days = 0, seconds = 0;
  ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(certificate.get()), X509_get0_notAfter(certificate.get()));
  EXPECT_EQ(days, 12);   // two of them have passed
}

TEST(SelfSignedCertificates, HaveTheirOwnKeyEachTime) {
  const SelfSigned one = make_self_signed({"a"}, 10), two = make_self_signed({"a"}, 10);
  EXPECT_NE(one.key, two.key);
  EXPECT_NE(one.fingerprint, two.fingerprint);
}

}  // namespace
}  // namespace kedge::crypto
