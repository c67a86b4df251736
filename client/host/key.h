// The key of a cluster's hosts: what kedge host-exec and kedge host-agent know each other by.
#pragma once

#include <filesystem>
#include <string>

namespace kedge::host {

// One for all hosts of a cluster. A program that has it can start the agents' programs on each.
struct HostKey {
  std::string token;         // 256 random bits in base64url, which the caller says
  std::string certificate;   // PEM, self-signed, which the agent shows
  std::string secret;        // PEM: the certificate's private key
  std::string fingerprint;   // of the certificate, which the caller pins

  friend bool operator==(const HostKey&, const HostKey&) = default;
};

HostKey make_host_key();

// As the file has it.
std::string host_key_text(const HostKey& key);

// A text file. Writing makes it readable for its owner alone, and does not replace a file. Reading refuses a file that
// everybody may read. Errors: kInvalidValue, kNotFound or kConflict with the file's name.
void write_host_key(const std::string& text, const std::filesystem::path& file);   // host_key_text()
HostKey read_host_key(const std::filesystem::path& file);

}   // namespace kedge::host
