// From the text of a data set to its mapped file: what the parsers of ARFF, CSV and libsvm have in common.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dataset_file.h"
#include "server/data/text_chunks.h"

namespace kedge::server {

struct ParseRequest {
  std::string source;              // names the text in messages: "mnist_784.arff"
  std::filesystem::path output;    // the file to write
  // Given name and columns, sets name, target, ignored. Its error ends the parsing before any row is read.
  std::function<void(engine::DatasetMeta&)> describe;
  // May be empty. Called when all values are read, to change columns before they are written.
  std::function<void(engine::DatasetMeta&)> complete;
  ParallelOptions parallel;
  // Of Parquet and Arrow, which can leave columns out: read only these, and the target that describe() has set or,
  // without it, the last column. Empty: all. Where one is not there, `needs_columns` makes that an error, and otherwise
  // all are read.
  std::vector<std::string> columns = {};
  bool needs_columns = false;
  std::function<void(std::string)> note = {};   // may be empty; what a user may want to know, in words
};

// All write request.output, all or nothing. Values are float32 when every number is exact in it, otherwise float64.
// Errors: kDatasetCorrupt "mnist.arff line 17: attribute 3 ('x'): 'abc' is not a number"; kCancelled; kInternal (disk).

// ARFF as Weka and OpenML write it, dense and sparse rows (whose values are stored sparse if few of them are there); string and date attributes keep their name only.
engine::DatasetMeta parse_arff(std::string_view text, const ParseRequest& request);

// libsvm (svmlight) text, stored sparse. Columns: one for each index, named as it, then "qid" where rows have one (ignored as a
// feature), then "label".
engine::DatasetMeta parse_libsvm(std::string_view text, const ParseRequest& request);

// CSV with a header line (RFC 4180). A column is numeric when all its cells are numbers or missing (empty, or a text of
// missing_text.h), otherwise nominal with its categories sorted: missing are then an empty cell, and NA, nan and ? without quotes.
engine::DatasetMeta parse_csv(std::string_view text, const ParseRequest& request);

// Bytes of text that one task works on: small enough for progress and balance, large enough not to matter.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// A value did not fit float32: the parser starts again with float64.
struct NeedsFloat64 {};

}  // namespace kedge::server
