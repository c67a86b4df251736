// gzip by ISA-L, zstd by its own library, both piece by piece and within a bound on what they become.
#include "server/data/upload_decoder.h"

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
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;   // that any stream may become
constexpr int kWindowLog = 24;   // 16 MiB: what levels up to 19 use, and twice that

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
      if (made_ > kFreeBytes && made_ / kMostInflation > taken_)
        throw InflateError{fmt::format("it becomes more than {} times as large as it is", kMostInflation)};
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

UploadDecoder::UploadDecoder(std::string name) : name_(std::move(name)) {}
UploadDecoder::~UploadDecoder() = default;

void UploadDecoder::feed(std::string_view bytes, const Sink& sink) {
  if (is_known_) return decode(bytes, sink);
  head_.append(bytes);
  if (head_.size() < kMagicBytes) return;
  if (looks_like_gzip(head_)) codec_ = std::make_unique<Gzip>();
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
  return looks_like_gzip(head) || head.starts_with(kZstdMagic);
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
  for (const std::string_view coding : {".gz", ".zst"})
    if (file_name.ends_with(coding)) return file_name.substr(0, file_name.size() - coding.size());
  return file_name;
}

}  // namespace kedge::server
