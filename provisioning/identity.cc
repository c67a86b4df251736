// Certificates, tokens and digests, on OpenSSL.
#include "provisioning/identity.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free>>;

void require(bool done, const char* what) {
  if (!done) throw schema::Error(schema::ErrorCode::kInternal, std::string("OpenSSL: cannot ") + what);
}

std::string contents(const Memory& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string random_bytes(int count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  require(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), count) == 1, "draw random bytes");
  return bytes;
}

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

void add_extension(X509* certificate, int id, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
  require(extension != nullptr, "make a certificate extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(EVP_PKEY* key, const std::string& name) {
  constexpr long kDay = 24 * 3600;
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), std::stoull(random_hex(7), nullptr, 16));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 365 * kDay);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const std::string common = name.substr(0, 64);  // the standard's bound
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  add_extension(certificate.get(), NID_subject_alt_name, ("DNS:" + common).c_str());
  add_extension(certificate.get(), NID_ext_key_usage, "serverAuth");
  require(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "sign a certificate");
  return certificate;
}

}  // namespace

Identity make_identity(const std::string& name) {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  require(key != nullptr, "make a key");
  const Certificate certificate = make_certificate(key.get(), name);
  const Memory certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem())), der(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1, "write a certificate");
  require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  require(i2d_X509_bio(der.get(), certificate.get()) == 1, "encode a certificate");
  std::string token = base64(random_bytes(32));
  std::ranges::replace(token, '+', '-');
  std::ranges::replace(token, '/', '_');
  while (token.ends_with('=')) token.pop_back();
  return {contents(certificate_text), contents(key_text), sha256_hex(contents(der)), token};
}

std::string sha256_hex(std::string_view bytes) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  require(
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(), nullptr) == 1,
      "digest");
  return hex(std::string_view(digest).substr(0, size));
}

std::string random_hex(int bytes) {
  return hex(random_bytes(bytes));
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the encoder ends with a zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string base64_decoded(std::string_view text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) throw schema::Error(schema::ErrorCode::kMalformed, "not base64");
  std::size_t length = static_cast<std::size_t>(size);
  for (std::size_t i = text.size(); i > 0 && text[i - 1] == '=' && length > 0; --i) --length;
  out.resize(length);
  return out;
}

}  // namespace kedge::provisioning
