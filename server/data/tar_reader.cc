// Headers of the forms that tar programs have written since 1979: V7, ustar and GNU's.
#include "server/data/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "engine/core/require.h"
#include "server/data/upload_decoder.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::size_t kBlock = 512;

// Of a header: its texts end at a zero byte or with their field.
std::string_view field(std::string_view header, std::size_t begin, std::size_t size) {
  const std::string_view all = header.substr(begin, size);
  return all.substr(0, std::min(all.find('\0'), all.size()));
}

std::string name_of(std::string_view header) {
  std::string name(field(header, 0, 100));
  // GNU's headers have "ustar " and times in the place of the prefix.
  if (field(header, 257, 6) == "ustar" && header[345] != '\0') name = std::string(field(header, 345, 155)) + "/" + name;
  return name.starts_with("./") ? name.substr(2) : name;
}

// Keeps no more than one header.
class TarReader {
 public:
  TarReader(std::string_view archive, const TarSinks& sinks) : archive_(archive), sinks_(sinks) {}
  void feed(std::string_view bytes);
  void finish() const;   // all bytes have come

 private:
  void begin_file();

  const std::string_view archive_;
  const TarSinks& sinks_;
  std::string header_;          // until it is whole
  std::uint64_t content_ = 0;   // bytes of the file that are still to come
  std::uint64_t padding_ = 0;   // bytes behind it, to the next header
  bool is_wanted_ = false;
  bool has_ended_ = false;   // a header of zeros came
};

void TarReader::feed(std::string_view bytes) {
  const auto take = [&](std::uint64_t most) {
    const std::string_view taken =
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes.size())));
    bytes.remove_prefix(taken.size());
    return taken;
  };
  while (!bytes.empty() && !has_ended_) {
    if (content_ > 0) {
      const std::string_view piece = take(content_);
      content_ -= piece.size();
      if (is_wanted_) sinks_.content(piece);
    } else if (padding_ > 0) {
      padding_ -= take(padding_).size();
    } else {
      header_ += take(kBlock - header_.size());
      if (header_.size() == kBlock) begin_file(), header_.clear();
    }
  }
}

void TarReader::begin_file() {
  has_ended_ = header_[0] == '\0';
  if (has_ended_) return;
  const std::string name = name_of(header_);
  std::string_view digits = field(header_, 124, 12);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), content_, 8);
  require(error == std::errc() && (end == digits.data() + digits.size() || *end == ' '), ErrorCode::kDatasetCorrupt,
          "{}: no tar archive: the header of '{}' has no size", archive_, name.substr(0, 40));
  const char kind = header_[156];
  const bool is_link = kind == '1' || kind == '2', is_file = kind == '0' || kind == '\0' || is_link;
  is_wanted_ = is_file && !name.ends_with('/') && sinks_.wants(name);
  require(!is_wanted_ || !is_link, ErrorCode::kDatasetCorrupt, "{}: {} is a link, must be a file", archive_, name);
  padding_ = (kBlock - content_ % kBlock) % kBlock;
}

void TarReader::finish() const {
  require(content_ == 0 && padding_ == 0 && header_.empty(), ErrorCode::kDatasetCorrupt,
          "{}: the tar archive ends within a file", archive_);
}

}   // namespace

void read_tar(std::string_view archive, std::string_view bytes, const TarSinks& sinks) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  TarReader tar(archive, sinks);
  UploadDecoder decoder{std::string(archive)};
  const UploadDecoder::Sink feed = [&](std::string_view piece) { tar.feed(piece); };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size())))
    decoder.feed(bytes.substr(0, kPiece), feed);
  decoder.finish(feed);
  tar.finish();
}

}   // namespace kedge::server
