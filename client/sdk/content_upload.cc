// Uploads by content that go on behind a break: see content_upload.h.
#include "client/sdk/content_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "client/sdk/backoff.h"
#include "crypto/digest.h"
#include "schemas/error.h"

namespace kedge {
namespace {

using schema::Error;
using schema::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilence{12};   // after which the server knows that a connection has broken
constexpr std::chrono::seconds kPause{1};

std::string content_name(const std::string& file, const std::string& format) {
  std::ifstream in(file, std::ios::binary);
  crypto::Digest digest(crypto::DigestKind::kSha256);
  digest.update(format + "\n");
  std::string piece(std::size_t{1} << 20, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    digest.update(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())));
  if (!in.eof()) throw Error(ErrorCode::kInvalidValue, fmt::format("{}: cannot be read", file));
  return "sha256:" + digest.hex();
}

// What a later try may better: no answer, another connection that still sends, a server that has no room or time.
bool is_worth_it(const Error& error) {
  if (error.code == ErrorCode::kConnection) return error.where.empty();
  const int status = schema::http_status(error.code);
  return status == 409 || status == 429 || (status >= 502 && status <= 504) || status == 507;
}

}   // namespace

std::string format_of_file(const std::string& name) {
  std::string_view rest = name;
  for (const std::string_view coding : {".gz", ".zst", ".bz2"})
    if (rest.ends_with(coding)) rest.remove_suffix(coding.size());
  for (const std::string_view format : {"csv", "arff", "libsvm", "npy", "npz", "parquet", "arrow"})
    if (rest.ends_with("." + std::string(format))) return std::string(format);
  return {};
}

std::string send_content(Transport& transport, const std::string& file, const std::string& format,
                         const Transport::Sent& sent) {
  const std::string name = content_name(file, format), path = "/v1/datasets/" + name;
  const std::uint64_t size = std::filesystem::file_size(file);
  std::optional<std::uint64_t> most;   // that has arrived so far
  Clock::time_point give_up;
  Backoff backoff;
  std::optional<std::uint64_t> begin = transport.missing_from(path);
  while (begin) {
    if (!most || *begin > *most) most = *begin, give_up = Clock::now() + Transport::kPatience, backoff.reset();
    try {
      transport.put_rest(path + "?format=" + format, file, std::min(*begin, size), size, sent);
      return name;
    } catch (const Error& error) {
      const auto pause = backoff.next();
      if (!is_worth_it(error) || Clock::now() + pause > give_up) throw;
      Backoff::sleep(pause, {});
    }
    // The server may take some seconds to know that the connection is gone.
    const auto known = Clock::now() + kSilence;
    while ((begin = transport.missing_from(path)) == 0U && Clock::now() < known) Backoff::sleep(kPause, {});
  }
  return name;
}

}   // namespace kedge
