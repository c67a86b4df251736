// X.509 by OpenSSL.
#include "crypto/certificate.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "crypto/digest.h"
#include "crypto/openssl_handles.h"
#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::crypto {
namespace {

constexpr long kDay = 24 * 3600;
constexpr int kSerialBytes = 7;   // positive in 64 bits

void require(bool done, const char* what) {
  if (!done) throw schema::Error(schema::ErrorCode::kInternal, std::string("OpenSSL cannot ") + what);
}

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

void add_extension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  require(extension != nullptr, "make a certificate extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

bool is_address(const std::string& host) {
  in6_addr buffer{};
  return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 || ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) names += (names.empty() ? "" : ",") + std::string(is_address(host) ? "IP:" : "DNS:") + host;
  return names;
}

// SHA-256 of the public key's DER form (SubjectPublicKeyInfo), in base64.
std::string public_key_pin(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  require(size > 0, "write a public key");
  const std::string digest = from_hex(sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  return "sha256//" + base64(digest);
}

}  // namespace

SelfSigned make_self_signed(const std::vector<std::string>& hosts, int days) {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const Certificate certificate(X509_new());
  require(key && certificate, "make a key");
  X509_set_version(certificate.get(), 2);   // which is called 3
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), std::stoull(random_hex(kSerialBytes), nullptr, 16));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), days * kDay);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("kedged"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  add_extension(certificate.get(), NID_subject_alt_name, alternative_names(hosts));
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), NID_ext_key_usage, "serverAuth");
  require(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "sign a certificate");
  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1, "write a certificate");
  require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return {text_of(certificate_text), text_of(key_text), fingerprint(certificate.get()), public_key_pin(certificate.get())};
}

std::string fingerprint(const x509_st* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  require(X509_digest(certificate, EVP_sha256(), digest, &size) == 1, "digest a certificate");
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

}  // namespace kedge::crypto
