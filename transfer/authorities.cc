// Certificates of authorities: Debian's place, and those of other systems.
#include "transfer/authorities.h"

#include <curl/curl.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace kedge::transfer {
namespace {

bool is_there(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

std::string built_in_authorities() {
  const curl_version_info_data* const info = curl_version_info(CURLVERSION_NOW);
  return info->cainfo ? info->cainfo : "";
}

}   // namespace

std::string authorities(const std::string& chosen, const std::string& built_in,
                        std::span<const char* const> elsewhere) {
  if (!chosen.empty() || built_in.empty() || is_there(built_in)) return chosen;
  for (const char* file : elsewhere)
    if (is_there(file)) return file;
  return {};
}

std::string system_authorities() {
  constexpr std::array kElsewhere{
      "/etc/ssl/certs/ca-certificates.crt",   // Debian, Ubuntu, Arch
      "/etc/pki/tls/certs/ca-bundle.crt",     // Fedora, Red Hat
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/ssl/ca-bundle.pem",   // SUSE
  };
  const char* const chosen = std::getenv("SSL_CERT_FILE");
  return authorities(chosen ? chosen : "", built_in_authorities(), kElsewhere);
}

}   // namespace kedge::transfer
