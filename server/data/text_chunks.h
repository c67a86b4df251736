// Cutting a text at line ends and working on the pieces in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge::server {

struct TextChunk {
  const char* begin;
  const char* end;               // behind a line end, or the end of the text
  std::int64_t first_row = 0;    // rows of earlier chunks
};

// Pieces of about `chunk_bytes`. quoted: line ends inside double quotes do not count (CSV).
std::vector<TextChunk> cut_at_line_ends(std::string_view text, std::size_t chunk_bytes, bool quoted);

// A cell that cannot be read; becomes an Error once its line is known.
struct CellError {
  const char* at;
  std::string what;
};

struct ParallelOptions {
  int threads = 0;                                                    // 0: as many as the machine has
  std::function<void(std::int64_t done, std::int64_t total)> progress;   // bytes; called on the caller's thread
  std::stop_token stop;
};

// Calls work(i) for every chunk on several threads. The CellError of the earliest chunk is thrown as kDatasetCorrupt
// "FILE line N: what", where the text's lines are counted from `text`. Errors: that, kCancelled, what work() throws.
void for_each_chunk(const std::vector<TextChunk>& chunks, const ParallelOptions& options, std::string_view text,
                    const std::string& file, const std::function<void(std::size_t)>& work);

// "FILE line N: what" for a place in the text.
schema::Error corrupt_at(std::string_view text, const std::string& file, const char* at, const std::string& what);

}  // namespace kedge::server
