// Where a system keeps the certificates of its authorities.
#pragma once

#include <span>
#include <string>

namespace kedge::transfer {

// The file for CURLOPT_CAINFO: `chosen`; or empty, for libcurl's own, if that file is there; or else the first of
// `elsewhere` that is, or empty. Programs that were built on Debian run on other systems, too.
std::string authorities(const std::string& chosen, const std::string& built_in, std::span<const char* const> elsewhere);

// Of this system; SSL_CERT_FILE chooses, as for programs of OpenSSL.
std::string system_authorities();

}   // namespace kedge::transfer
