// Issuing certificates by OpenSSL.
#include "tests/support/test_ca.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace kedge::tests {
namespace {

std::shared_ptr<EVP_PKEY> new_key() { return {EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free}; }

void extend(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::shared_ptr<X509> new_certificate(const std::string& name, EVP_PKEY* key, int from_day, int to_day) {
  static long serial = 1;
  std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 86400L * from_day);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400L * to_day);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

template <class Write>
std::string to_pem(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

}  // namespace

TestCa::TestCa() : key_(new_key()), certificate_(new_certificate("a test authority", key_.get(), -10, 10)) {
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), key_.get(), EVP_sha256());
}

std::string TestCa::certificate() const {
  return to_pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate_.get()); });
}

Issued TestCa::issue(const std::string& name, const char* usage, int from_day, int to_day) const {
  const auto key = new_key();
  const auto certificate = new_certificate(name, key.get(), from_day, to_day);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate.get(), NID_ext_key_usage, usage);
  X509_sign(certificate.get(), key_.get(), EVP_sha256());
  return {to_pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); }),
          to_pem([&](BIO* bio) { PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); })};
}

}  // namespace kedge::tests
