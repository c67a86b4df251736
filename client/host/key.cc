// The file of a HostKey: a line with the token, the certificate, its private key, and the certificate's fingerprint.
#include "client/host/key.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kToken = "kedge-host-token: ", kFingerprint = "kedge-host-fingerprint: ";
constexpr int kDays = 3650, kTokenBytes = 32;

// The text from `from` to `to`, with both; empty if it is not there.
std::string part(const std::string& text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  const std::size_t end = begin == std::string::npos ? begin : text.find(to, begin + from.size());
  return end == std::string::npos ? std::string() : text.substr(begin, end + to.size() - begin);
}

std::string value(const std::string& text, std::string_view name) {
  const std::string line = part(text, name, "\n");
  return line.empty() ? line : line.substr(name.size(), line.size() - name.size() - 1);
}

}   // namespace

HostKey make_host_key() {
  const crypto::SelfSigned made = crypto::make_self_signed({"kedge-host"}, kDays);
  return {.token = crypto::random_base64url(kTokenBytes),
          .certificate = made.certificate,
          .secret = made.key,
          .fingerprint = made.fingerprint};
}

std::string host_key_text(const HostKey& key) {
  return fmt::format("{}{}\n{}{}\n{}{}", kToken, key.token, kFingerprint, key.fingerprint, key.certificate, key.secret);
}

void write_host_key(const std::string& text, const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const bool is_there = fd < 0 && errno == EEXIST;
  const bool is_written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (is_there)
    throw Error(ErrorCode::kConflict, fmt::format("{} is there already; a key is not replaced", file.string()));
  if (!is_written)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("cannot write {}: {}", file.string(), std::generic_category().message(why)));
}

HostKey read_host_key(const std::filesystem::path& file) {
  struct stat status{};
  std::ifstream in(file, std::ios::binary);
  if (!in || ::stat(file.c_str(), &status) != 0)
    throw Error(ErrorCode::kNotFound,
                fmt::format("cannot read the key {}; `kedge host-agent --new-key FILE` makes one", file.string()));
  if ((status.st_mode & S_IRWXO) != 0)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("the key {} has the mode {:04o}, must be closed to others: chmod 600", file.string(),
                            status.st_mode & 07777U));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  HostKey key{.token = value(text, kToken),
              .certificate = part(text, "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----\n"),
              .secret = part(text, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n"),
              .fingerprint = value(text, kFingerprint)};
  if (key.token.empty() || key.certificate.empty() || key.secret.empty() || key.fingerprint.empty())
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("{} is no key of `kedge host-agent --new-key`, or a part of one", file.string()));
  return key;
}

}   // namespace kedge::host
