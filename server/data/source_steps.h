// Steps that the sources share: timed download, timed parse, progress, choice of the target.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/core/dataset_file.h"
#include "server/data/parse.h"
#include "server/data/sources.h"

namespace kedge::server {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Removes a file when the scope ends.
struct RemovedFile {
  std::filesystem::path path;
  ~RemovedFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

Fetcher::Progress download_progress(const Emit& emit);
ParallelOptions parse_options(const SourceContext& context);

// Parses the text as `format`, "csv", "arff" or "libsvm", in any case of letters. Errors: also kInvalidValue, with its name, for an
// archive and for what is not text.
void parse_text(std::string_view text, const std::string& format, const ParseRequest& request);

// The same of a file, which may be Parquet or Arrow (by its content, too) or packed by gzip, zstd or bzip2. Within
// options.max_download_bytes.
void parse_file(const std::filesystem::path& file, const std::string& format, const ParseRequest& request,
                const SourceContext& context);

// The last part of an address's path, for messages: "train.csv".
std::string base_name(const std::string& url);

// The column that the user named, or the last. Errors: kInvalidValue at `where` with the nearest name.
void set_target(engine::DatasetMeta& meta, const std::string& wanted, const std::string& where);

void log(const Emit& emit, const char* level, std::string message);

}  // namespace kedge::server
