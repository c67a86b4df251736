// gzip by ISA-L, zstd and bzip2 by their own libraries, piece by piece and within a bound on what they become.
#include "server/data/upload_decoder.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "schemas/error.h"
#include "server/data/arrow.h"
#include "server/data/cell.h"
#include "server/data/inflate.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kMagicBytes = 4, kHeadBytes = std::size_t{64} << 10;
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr std::size_t kBzip2MagicBytes =
    10;   // "BZh", the size of a block, and how a block or the end of an empty stream begins
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;   // that any stream may become
constexpr int kWindowLog = 24;   // 16 MiB: what levels up to 19 use, and twice that

bool looks_like_bzip2(std::string_view head) {
  constexpr std::size_t kLevel = 3, kBlock = 4;
  return head.size() >= kBzip2MagicBytes && head.starts_with("BZh") && head[kLevel] >= '1' && head[kLevel] <= '9' &&
         (head.substr(kBlock).starts_with("1AY&SY") || head.substr(kBlock).starts_with("\x17rE8P\x90"));
}

void require_not_bomb(std::uint64_t made, std::uint64_t taken) {
  if (made > kFreeBytes && made / kMostInflation > taken)
    throw InflateError{fmt::format("it becomes more than {} times as large as it is", kMostInflation)};
}

bool starts_with_word(std::string_view line, std::string_view word) {
  return line.size() >= word.size() && same_ignoring_case(line.substr(0, word.size()), word);
}

// "1 3:0.5 7:2" or "-1 qid:3 1:0": a number, then pairs.
bool is_libsvm(std::string_view line) {
  const std::size_t pair = line.find_first_of(" \t");
  if (pair == std::string_view::npos || pair == 0) return false;
  const std::string_view rest = trimmed(line.substr(pair));
  const std::size_t colon = rest.find(':');
  const bool is_index = colon != std::string_view::npos && colon > 0 && std::ranges::all_of(rest.substr(0, colon), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
  const auto is_number = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e'; };
  return is_index && std::ranges::all_of(line.substr(0, pair), is_number);
}

// A ZIP whose first member is an array.
bool is_npz(std::string_view head) {
  constexpr std::size_t kNameLength = 26, kName = 30;   // in the head of a member
  if (!head.starts_with("PK\x03\x04") || head.size() < kName) return false;
  const std::size_t length = static_cast<unsigned char>(head[kNameLength]) +
                             std::size_t{256} * static_cast<unsigned char>(head[kNameLength + 1]);
  return head.substr(kName, length).ends_with(".npy");
}

}  // namespace

struct UploadDecoder::Codec {
  virtual ~Codec() = default;
  virtual void feed(std::string_view bytes, const Sink& sink) = 0;
  virtual bool complete() const = 0;
  virtual const char* name() const = 0;
};

class UploadDecoder::Gzip final : public Codec {
 public:
  void feed(std::string_view bytes, const Sink& sink) override { inflater_.feed(bytes, sink); }
  bool complete() const override { return inflater_.complete(); }
  const char* name() const override { return "gzip"; }

 private:
  Inflater inflater_;
};

class UploadDecoder::Zstd final : public Codec {
 public:
  Zstd() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream), piece_(ZSTD_DStreamOutSize()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }
  void feed(std::string_view bytes, const Sink& sink) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool is_full = false;
    while (in.pos < in.size || is_full) {
      ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
      const std::size_t before = in.pos;
      left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(left_)) throw InflateError{ZSTD_getErrorName(left_)};
      taken_ += in.pos - before;
      made_ += out.pos;
      require_not_bomb(made_, taken_);
      if (out.pos > 0) sink({piece_.data(), out.pos});
      is_full = out.pos == out.size && left_ != 0;
    }
  }
  bool complete() const override { return left_ == 0 && taken_ > 0; }
  const char* name() const override { return "zstd"; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  std::vector<char> piece_;
  std::size_t left_ = 1;                // 0: a frame has ended and no other begun
  std::uint64_t taken_ = 0, made_ = 0;
};

// Several streams in a row count as one, as bzip2's own tool reads them and parallel ones write them.
class UploadDecoder::Bzip2 final : public Codec {
 public:
  Bzip2() : piece_(kPieceBytes) {}
  ~Bzip2() override { end(); }
  Bzip2(const Bzip2&) = delete;
  void feed(std::string_view bytes, const Sink& sink) override {
    std::string in(bytes);   // the library wants it writable
    stream_.next_in = in.data();
    stream_.avail_in = static_cast<unsigned>(in.size());
    bool is_full = false;
    while (stream_.avail_in > 0 || is_full) {
      begin();
      const unsigned before = stream_.avail_in;
      stream_.next_out = piece_.data();
      stream_.avail_out = static_cast<unsigned>(piece_.size());
      const int status = BZ2_bzDecompress(&stream_);
      if (status == BZ_MEM_ERROR) throw std::bad_alloc();
      if (status != BZ_OK && status != BZ_STREAM_END)
        throw InflateError{status == BZ_DATA_ERROR ? "its checksum or a block is wrong"
                                                   : "no bzip2 stream where one should begin"};
      taken_ += before - stream_.avail_in;
      const std::size_t made = piece_.size() - stream_.avail_out;
      made_ += made;
      require_not_bomb(made_, taken_);
      if (made > 0) sink({piece_.data(), made});
      is_full = status == BZ_OK && stream_.avail_out == 0;
      if (status == BZ_STREAM_END) end();
    }
  }
  bool complete() const override { return !is_open_ && taken_ > 0; }
  const char* name() const override { return "bzip2"; }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
  void begin() {
    if (is_open_) return;
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
    is_open_ = true;
  }
  void end() {
    if (is_open_) BZ2_bzDecompressEnd(&stream_);
    is_open_ = false;
  }

  bz_stream stream_{};
  std::vector<char> piece_;
  bool is_open_ = false;
  std::uint64_t taken_ = 0, made_ = 0;
};

UploadDecoder::UploadDecoder(std::string name) : name_(std::move(name)) {}
UploadDecoder::~UploadDecoder() = default;

void UploadDecoder::feed(std::string_view bytes, const Sink& sink) {
  if (is_known_) return decode(bytes, sink);
  head_.append(bytes);
  if (head_.size() < (head_.starts_with("BZh") ? kBzip2MagicBytes : kMagicBytes)) return;
  if (looks_like_gzip(head_)) codec_ = std::make_unique<Gzip>();
  if (looks_like_bzip2(head_)) codec_ = std::make_unique<Bzip2>();
  if (head_.starts_with(kZstdMagic)) codec_ = std::make_unique<Zstd>();
  is_known_ = true;
  decode(std::exchange(head_, {}), sink);
}

void UploadDecoder::decode(std::string_view bytes, const Sink& sink) {
  if (!codec_) return sink(bytes);
  try {
    codec_->feed(bytes, sink);
  } catch (const InflateError& error) {
    throw Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: damaged {} file: {}", name_, codec_->name(), error.what));
  }
}

void UploadDecoder::finish(const Sink& sink) {
  if (!is_known_ && !head_.empty()) sink(head_);
  if (codec_ && !codec_->complete())
    throw Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: damaged {} file: it ends early", name_, codec_->name()));
}

bool is_packed(std::string_view head) {
  return looks_like_gzip(head) || head.starts_with(kZstdMagic) || looks_like_bzip2(head);
}

std::string decoded_head(std::string_view bytes) {
  std::string head;
  UploadDecoder decoder("");
  try {
    decoder.feed(bytes.substr(0, kHeadBytes), [&](std::string_view piece) {
      head.append(piece.substr(0, kHeadBytes - std::min(head.size(), kHeadBytes)));
    });
    if (head.empty() && bytes.size() < kMagicBytes) head = bytes;
  } catch (const Error&) {
    return {};   // the upload will say it
  }
  return head;
}

std::string format_of_content(std::string_view head) {
  if (head.starts_with("\x93NUMPY")) return "npy";
  if (is_npz(head)) return "npz";
  if (const std::string_view format = arrow_format_of(head); !format.empty()) return std::string(format);
  if (head.find('\0') != std::string_view::npos) return {};
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = trimmed(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.empty() || line.starts_with('%')) continue;   // of ARFF a comment
    if (starts_with_word(line, "@relation")) return "arff";
    if (is_libsvm(line)) return "libsvm";
    return line.find(',') != std::string_view::npos ? "csv" : "";
  }
  return {};
}

std::string_view without_coding(std::string_view file_name) {
  for (const std::string_view coding : {".gz", ".zst", ".bz2"})
    if (file_name.ends_with(coding)) return file_name.substr(0, file_name.size() - coding.size());
  return file_name;
}

}  // namespace kedge::server
