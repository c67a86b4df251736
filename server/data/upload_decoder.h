// The bytes of an upload as they are meant: gzip, zstd and bzip2 are decoded, known by their first bytes; everything
// else passes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::server {

// Not thread safe. Errors, of feed() and finish(): kDatasetCorrupt for a damaged stream, kInvalidValue for one that
// becomes more than kMostInflation times as large as it is (beyond 64 MiB) or needs a window of more than 16 MiB.
class UploadDecoder {
 public:
  using Sink = std::function<void(std::string_view)>;

  explicit UploadDecoder(std::string name);   // for messages
  ~UploadDecoder();
  void feed(std::string_view bytes, const Sink& sink);
  void finish(const Sink& sink);   // all bytes have come

 private:
  struct Codec;
  class Gzip;
  class Zstd;
  class Bzip2;
  void decode(std::string_view bytes, const Sink& sink);

  const std::string name_;
  std::string head_;        // until the kind is known
  bool is_known_ = false;
  std::unique_ptr<Codec> codec_;   // null: bytes pass as they are
};

// By gzip, zstd or bzip2.
bool is_packed(std::string_view head);

// The beginning of such bytes, decoded: at most 64 KiB, empty where they are damaged.
std::string decoded_head(std::string_view bytes);

// "csv", "arff", "libsvm", "npy", "npz", "parquet" or "arrow", by the beginning of the (decoded) content; empty where
// it could be anything.
std::string format_of_content(std::string_view head);

// A file name without .gz, .zst or .bz2 at its end.
std::string_view without_coding(std::string_view file_name);

}  // namespace kedge::server
